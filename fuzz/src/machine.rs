//! Machine files and `--set`: the shipped machine damaged, small files that extend it, and values of every spelling.

use crate::{Answer, Input};
use std::path::PathBuf;
use std::sync::LazyLock;
use tilewright_sim::machine::{FieldId, Machine};
use tilewright_test_random::Source;

const AHBM: &str = include_str!("../../machines/ahbm.toml");
const WORDS: [&str; 44] = [
    "extends = \"ahbm\"\n",
    "extends = \"my.toml\"",
    "name = ",
    "[hbm]\n",
    "[topology]\n",
    "[queue]\n",
    "[cpu]\n",
    "[[hbm]]\n",
    "slice_rate = ",
    "depth = ",
    "hbm.slice_rate = ",
    "value = ",
    "status = ",
    "{",
    "}",
    "\"stated\"",
    "\"set\"",
    "\"256 GB/s\"",
    "\"256 Gb/s\"",
    "\"256 GiB/s\"",
    "\" GB/s\"",
    "\"1e400 GB/s\"",
    "\"nan GB/s\"",
    "\"-1 ns\"",
    "\"4 KiB\"",
    "\"1 GHz\"",
    "\"9 cycles\"",
    "\"0 ns\"",
    "\"1 Gelem/s\"",
    "\"64 TFLOP/s\"",
    "true",
    "1979-05-27",
    "\"\"\"",
    "'''",
    "#",
    "=",
    ".",
    ",",
    "[1, 2]",
    "\\u0000",
    "_",
    "+",
    "e9",
    "\n",
];
const UNITS: [&str; 24] = [
    "", " ", "ns", " ns", " µs", " ms", " s", " ps", " GB/s", " GiB/s", " Gb/s", " TB/s", " B/s", " B", " KiB", " GiB",
    " GHz", " Hz", " cycles", " Gelem/s", " TFLOP/s", " GB/ns", " gb/s", " \"",
];
/// Every field with its shipped value as a text.
static FIELDS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let ahbm = Machine::ahbm();
    FieldId::all().map(|id| (id.path(), ahbm.show(id))).collect()
});

pub fn input(from: &mut Source<'_>) -> Input {
    let text = if from.once_in(2) {
        let base = if from.once_in(3) { "extends = \"ahbm\"\n[hbm]\nslice_rate = \"256 GB/s\"\n" } else { AHBM };
        Some(from.damaged(base, &WORDS))
    } else {
        None
    };
    let sets: Vec<String> = (0..from.below(3) + usize::from(text.is_none())).map(|_| set(from)).collect();
    let shown = format!("{}\n--set {sets:?}", text.as_deref().unwrap_or("ahbm"));
    Input { shown, check: Box::new(move || check(text.as_deref(), &sets)) }
}

/// `section.field=value`, more or less.
fn set(from: &mut Source<'_>) -> String {
    let (field, shipped) = &FIELDS[from.below(FIELDS.len())];
    let other = format!("{}{}", from.number(), from.one_of(&UNITS));
    let plain = format!("{field}={}", if from.once_in(2) { shipped } else { &other });
    if from.once_in(3) { from.damaged(&plain, &WORDS) } else { plain }
}

/// What loads reads back as it is written; what is refused says so with a code.
pub fn check(text: Option<&str>, sets: &[String]) -> Result<Answer, String> {
    let path = file();
    let machine = match text {
        None => Machine::load("ahbm", sets),
        Some(text) => {
            std::fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
            Machine::load(&path.display().to_string(), sets)
        }
    };
    match machine {
        Ok(machine) => {
            std::fs::write(&path, machine.to_toml()).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
            let again = Machine::load(&path.display().to_string(), &[]).map_err(|e| format!("its own text: {e}"))?;
            let same = FieldId::all().all(|id| again.value(id) == machine.value(id));
            if same { Ok(Answer::Accepted) } else { Err("reads back as another machine".into()) }
        }
        Err(refused) => {
            let text = refused.to_string();
            let coded = !refused.0.is_empty() && refused.0.iter().all(|d| d.code.starts_with("TW-E04"));
            if coded { Ok(Answer::Refused) } else { Err(format!("refused without a code of machine files:\n{text}")) }
        }
    }
}
/// One file for this process and thread.
fn file() -> PathBuf {
    let thread = format!("{:?}", std::thread::current().id());
    let name = format!("tilewright-fuzz-{}-{}.toml", std::process::id(), thread.replace(['(', ')'], "-"));
    std::env::temp_dir().join(name)
}
