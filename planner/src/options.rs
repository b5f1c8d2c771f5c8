//! Departures from the baseline model, each with a name. `--method baseline` has none of them, `refined` all.

use crate::errors::Fault;
use std::fmt;

macro_rules! options {
    ($($variant:ident $name:literal $baseline:literal $better:literal;)*) => {
        /// One departure from the baseline model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Opt { $(#[doc = $better] $variant),* }
        impl Opt {
            pub const ALL: &[Opt] = &[$(Opt::$variant),*];
            pub const fn name(self) -> &'static str {
                match self { $(Opt::$variant => $name),* }
            }
            /// What the baseline does.
            pub const fn baseline(self) -> &'static str {
                match self { $(Opt::$variant => $baseline),* }
            }
            /// What the option does instead.
            pub const fn better(self) -> &'static str {
                match self { $(Opt::$variant => $better),* }
            }
        }
    };
}

options! {
    KvRead "kv-read"
        "S5 and S7 read no K and V from HBM; S6 is charged for scores, which stay on chip"
        "one fused attention stage that reads K and V once";
    Feasible "feasible"
        "ranks that do not fit a cube spill over and are scored; the smallest deployment ignores placement and wants slack"
        "one test everywhere: memory fits and placement is valid; where nothing fits, the least overflow wins";
}

impl fmt::Display for Opt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Opt {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Opt, Fault> {
        let found = Opt::ALL.iter().find(|o| o.name() == text);
        found.copied().ok_or_else(|| Fault::Choice {
            what: "--with and --without",
            found: text.to_string(),
            known: Opt::ALL.iter().map(|o| o.name().to_string()).collect(),
        })
    }
}

/// The options that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Options(u64);

impl Options {
    pub const BASELINE: Options = Options(0);

    pub fn refined() -> Options {
        Opt::ALL.iter().fold(Options::BASELINE, |options, o| options.with(*o))
    }
    #[inline(always)]
    pub const fn has(self, option: Opt) -> bool {
        self.0 & 1 << option as u64 != 0
    }
    #[must_use]
    pub const fn with(self, option: Opt) -> Options {
        Options(self.0 | 1 << option as u64)
    }
    #[must_use]
    pub const fn without(self, option: Opt) -> Options {
        Options(self.0 & !(1 << option as u64))
    }
    pub fn iter(self) -> impl Iterator<Item = Opt> {
        Opt::ALL.iter().copied().filter(move |o| self.has(*o))
    }
    /// `baseline`, `refined`, or which are on.
    pub fn label(self) -> String {
        let names = |options: Options| options.iter().map(Opt::name).collect::<Vec<_>>().join(", ");
        let missing = Options(Options::refined().0 & !self.0);
        match (self.iter().count(), missing.iter().count()) {
            (0, _) => "baseline".into(),
            (_, 0) => "refined".into(),
            (on, off) if off < on => format!("refined without {}", names(missing)),
            _ => format!("baseline with {}", names(self)),
        }
    }
}
