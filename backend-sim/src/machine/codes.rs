//! Pages of the machine file codes, `TW-E04xx`.

use tilewright_core::diag::CodePage;

macro_rules! pages {
    ($($NAME:ident = $code:literal, $title:literal, $page:literal;)+) => {
        $(pub(super) const $NAME: &str = $code;)+
        /// Every code of machine files.
        pub const CODES: &[CodePage] = &[$(CodePage { code: $code, title: $title, page: $page }),+];
    };
}

pages! {
    UNREADABLE = "TW-E0401", "a machine file cannot be read",
        "A machine is a shipped name (`ahbm`) or the path of a TOML file in UTF-8. Paths are relative to the current \
         directory; the path after `extends` is relative to the file that says it.";
    TOO_BIG = "TW-E0402", "a machine file is over 1 MiB",
        "A machine file has about a hundred lines. One over 1 MiB is not read, so that a wrong path cannot fill the memory.";
    SYNTAX = "TW-E0403", "a machine file is not TOML",
        "The text does not follow TOML. The usual cause is a value with a unit but without quotes: write \
         `slice_rate = \"256 GB/s\"`. The error shows the line and column at which the reader gave up.";
    DUPLICATE = "TW-E0404", "a key stands twice",
        "Each key and each section stands once in a file, so that which value holds does not depend on the order. \
         To change a value of another file, `extends` that file and set the value again.";
    UNKNOWN_KEY = "TW-E0405", "a key that no machine has",
        "Every section and every field is known (docs/machine.md lists them), so a misspelt key is an error and never a \
         value that is silently not used.";
    WRONG_TYPE = "TW-E0406", "a value of the wrong type",
        "Quantities are strings with a unit (`\"13 ns\"`); counts and factors are bare numbers (`4`, `0.5`). Either may \
         stand alone or with its status: `{ value = \"13 ns\", status = \"derived\" }`.";
    UNIT = "TW-E0407", "a unit is missing or does not fit",
        "Sizes are in B, rates in B/s, elem/s and FLOP/s, with SI (`k M G T`) or IEC (`Ki Mi Gi Ti`) prefixes; times in ps, \
         ns, us, ms, s; CPU costs in cycles; the clock in Hz. Case counts: `GB/s`. Bits are refused, since `Gb/s` and \
         `GB/s` differ by 8 and one letter.";
    NUMBER = "TW-E0408", "a number that does not count",
        "A value is a finite number that is not negative, exact in its base unit: picoseconds for times, bytes, units a \
         second for rates, millionths for factors. Nothing is rounded silently.";
    RANGE = "TW-E0409", "a value out of range",
        "Each field has a smallest and a largest value (docs/machine.md). A rate or a count of zero would stop the machine \
         for ever; times over 1 s and rates under 1 MB/s would overflow a long run.";
    EXTENDS_CYCLE = "TW-E0410", "machine files that extend each other",
        "A file takes all values of the file it `extends` and changes some. In a circle no file has values of its own to begin \
         with. The last one of a chain extends `ahbm` or sets every field.";
    EXTENDS_DEEP = "TW-E0411", "too many files extend each other",
        "At most 8 files may follow each other through `extends`. Which value holds is hard to see in longer chains, and a \
         limit keeps a wrong one from being read for ever. Put the changes of several files into one; \
         `tilewright machine show` prints the values in effect.";
    INCOMPLETE = "TW-E0412", "a machine file leaves values out",
        "A file either sets every field or says which file the others come from: `extends = \"ahbm\"` stands for the \
         shipped machine.";
    SET_FORM = "TW-E0413", "--set is not FIELD=VALUE",
        "A field is `section.name`, a value is written as in a machine file, quotes may be left out: \
         `--set hbm.slice_rate=\"512 GB/s\"`.";
    CONSISTENCY = "TW-E0414", "values that do not go together",
        "Each value is in its range, but together they make no machine that can be simulated: the PEs of all SIPs are at most \
         65536, so that every table of the model stays small. Lower one of `topology`'s numbers.";
}
