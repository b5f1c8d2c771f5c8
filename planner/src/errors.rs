//! What can be wrong with what the planner is asked: one variant a fault, its text written here and nowhere else. The
//! command line turns a [`Fault`] into a diagnostic; the planner itself knows neither terminals nor the simulator.

use std::path::PathBuf;

/// A place in a file that the user gave; line and column count from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    pub file: String,
    pub text: String,
    pub line: u32,
    pub col: u32,
}

impl Spot {
    /// The place of a byte of `text`.
    pub fn at(file: &str, text: &str, byte: usize) -> Spot {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let col = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Spot { file: file.to_string(), text: text.to_string(), line: count(line), col: count(col) }
    }
    /// Of the first time that `key` is set in TOML or JSON; the start of the file if it is not.
    pub fn of_key(file: &str, text: &str, key: &str) -> Spot {
        let starts = |line: &str| {
            let line = line.trim_start().trim_start_matches('"');
            line.strip_prefix(key).is_some_and(|rest| rest.trim_start_matches('"').trim_start().starts_with(['=', ':']))
        };
        let mut byte = 0;
        for line in text.split_inclusive('\n') {
            if starts(line) {
                return Spot::at(file, text, byte + line.len() - line.trim_start().len());
            }
            byte += line.len();
        }
        Spot::at(file, text, 0)
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    UnknownModel {
        name: String,
        nearest: Option<String>,
        count: usize,
    },
    ModelValue {
        field: &'static str,
        value: String,
        needs: String,
        at: Option<Spot>,
    },
    Unreadable {
        path: PathBuf,
        cause: String,
    },
    Degree {
        name: &'static str,
        value: u64,
        limit: u64,
    },
    Tokens {
        flag: &'static str,
        value: u64,
        limit: u64,
    },
    MachineValue {
        name: &'static str,
        value: f64,
        needs: &'static str,
    },
    Choice {
        what: &'static str,
        found: String,
        known: Vec<String>,
    },
    ModelFile {
        cause: String,
        at: Spot,
    },
    MissingKey {
        key: &'static str,
        also: &'static str,
        at: Spot,
    },
    TooManyPes {
        pes: u128,
        limit: u64,
    },
    /// `intra` ranks are placed on the `pes` PEs of a cube.
    Placement {
        tp: u64,
        cp: u64,
        intra: u64,
        pes: u64,
        next: String,
    },
    /// What a flag was given is no number of its kind.
    Number {
        flag: String,
        found: String,
        needs: &'static str,
    },
    /// A count or a time that a query (sizing, fan-out) cannot work with.
    Query {
        flag: &'static str,
        value: String,
        needs: String,
    },
}

/// What `tilewright explain` says of a code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page {
    pub code: &'static str,
    pub title: &'static str,
    pub page: &'static str,
}

/// One page per code.
pub const CODES: &[Page] = &[
    Page {
        code: "TW-E0701",
        title: "no such model",
        page: "`--model` takes a preset (`tilewright plan models` lists them; what stands in brackets may be left out), a TOML \
               file with the shape of a model of your own, or a Hugging Face `config.json`. A name that ends in neither \
               `.toml` nor `.json` is taken for a preset.",
    },
    Page {
        code: "TW-E0702",
        title: "a model cannot have this value",
        page: "Every dimension of a model is a count above zero and below a limit far above any model; KV heads divide \
               the query heads, since each serves a group of the same size; the experts that a token visits are among \
               those there are. The figures of such a model would mean nothing, so it is refused before any formula runs.",
    },
    Page {
        code: "TW-E0703",
        title: "a model's file cannot be read",
        page: "The file of `--model` is read when the command starts. The path is relative to the folder that the command \
               runs in; a folder stands for the `config.json` inside it. A file above 1 MiB is no description of a model.",
    },
    Page {
        code: "TW-E0704",
        title: "a degree of parallelism is out of range",
        page: "`--cp`, `--tp`, `--pp`, `--dp` and `--ep` count ranks and are at least 1; `--b` counts requests, where 0 \
               counts as 1. Each is at most 65536. A degree above what the model has (tp above the heads, pp above the \
               layers) is allowed: its figures show why it does not pay.",
    },
    Page {
        code: "TW-E0705",
        title: "a number of tokens is out of range",
        page: "`--s-kv` counts the tokens of context, those of the step among them, so it is at least 1; the limit of 2^32 is \
               a thousand times the longest of today. `--t-q`, the new tokens of a step, is at least 1 and at most the \
               context.",
    },
    Page {
        code: "TW-E0706",
        title: "the planner cannot work with this machine",
        page: "Every bandwidth and rate divides something, so it is above zero; latencies and capacities may be zero. The \
               values come from the machine file, and from the flags that stand for what it does not hold: the HBM of a PE \
               and the part of its peak that products reach.",
    },
    Page {
        code: "TW-E0707",
        title: "not one of the choices",
        page: "Flags with named choices take the names that the planner prints in its results, in upper or lower case: \
               `--kv-shard-mode split`, `--ffn-shard-scope TP+CP`. Options of the model are named as `tilewright plan \
               explain options` lists them.",
    },
    Page {
        code: "TW-E0708",
        title: "a model's file is malformed",
        page: "A model of your own is a TOML file with `hidden`, `ffn_dim`, `q_heads`, `kv_heads`, `d_head` and `layers`, and \
               perhaps `bytes_per_elem`, `ffn_kind`, `vocab`, `tied_head` and the tables `experts`, `latent`, `window`. \
               A `config.json` is JSON with the keys of Hugging Face. The line says what the reader did not expect.",
    },
    Page {
        code: "TW-E0709",
        title: "a configuration lacks a dimension",
        page: "A Hugging Face `config.json` has to give the hidden size, the number of layers and of attention heads: nothing \
               can stand for them. Others have the defaults of the library (as many KV heads as query heads, a head \
               dimension of hidden over heads, an FFN of four times the hidden size). A multimodal configuration is read \
               from its `text_config`.",
    },
    Page {
        code: "TW-E0710",
        title: "more PEs than any machine has",
        page: "A deployment takes cp x tp x pp x dp PEs. Each degree is within its range, but their product is above 2^32. \
               Lower one of them; `tilewright plan explore` lists deployments that fit the model.",
    },
    Page {
        code: "TW-E0711",
        title: "the ranks do not fit a cube",
        page: "Ranks of tp and cp that are placed on PEs share one cube, so their product is at most its PEs. The baseline \
               model lets them spill over further cubes and says `placement_valid: false`; with the option `feasible` such \
               a deployment is refused, as the searches refuse it.",
    },
    Page {
        code: "TW-E0712",
        title: "a query cannot work with this value",
        page: "Sizing, fan-out and fan-in ask for counts of users, agents and tokens, which are at least 1, and for goals in \
               seconds, which are above 0. Fractions lie between 0 and 1. What a flag needs is said beside it.",
    },
    Page {
        code: "TW-E0713",
        title: "a flag's value is not a number of its kind",
        page: "Counts (degrees, tokens, requests, heads) are whole numbers without a sign, up to 2^64; bandwidths, capacities and \
               times are decimal numbers in the unit that the flag's name ends with: `--bw-hbm-gb-per-s 512`, `--tpot-slo-s \
               0.05`. Units and separators are not written.",
    },
];

impl Fault {
    pub fn code(&self) -> &'static str {
        match self {
            Fault::UnknownModel { .. } => "TW-E0701",
            Fault::ModelValue { .. } => "TW-E0702",
            Fault::Unreadable { .. } => "TW-E0703",
            Fault::Degree { .. } => "TW-E0704",
            Fault::Tokens { .. } => "TW-E0705",
            Fault::MachineValue { .. } => "TW-E0706",
            Fault::Choice { .. } => "TW-E0707",
            Fault::ModelFile { .. } => "TW-E0708",
            Fault::MissingKey { .. } => "TW-E0709",
            Fault::TooManyPes { .. } => "TW-E0710",
            Fault::Placement { .. } => "TW-E0711",
            Fault::Query { .. } => "TW-E0712",
            Fault::Number { .. } => "TW-E0713",
        }
    }
    /// What is wrong, in a line.
    pub fn message(&self) -> String {
        match self {
            Fault::UnknownModel { name, .. } => format!("no model `{name}`"),
            Fault::ModelValue { field, value, .. } => format!("`{field}` of a model cannot be {value}"),
            Fault::Unreadable { path, cause } => format!("cannot read {}: {cause}", path.display()),
            Fault::Degree { name, value, .. } => format!("`--{name} {value}` is out of range"),
            Fault::Tokens { flag, value, .. } => format!("`{flag} {value}` is out of range"),
            Fault::MachineValue { name, value, .. } => format!("`{name}` of the machine cannot be {value}"),
            Fault::Choice { what, found, .. } => format!("{what} cannot be `{found}`"),
            Fault::ModelFile { cause, .. } => format!("the model's file is malformed: {cause}"),
            Fault::MissingKey { key, .. } => format!("the model's file has no `{key}`"),
            Fault::TooManyPes { pes, .. } => format!("the deployment takes {pes} PEs"),
            Fault::Placement { tp, cp, intra, pes, .. } => {
                format!("{intra} ranks (tp {tp}, cp {cp}) are placed on the {pes} PEs of a cube")
            }
            Fault::Query { flag, value, .. } => format!("`{flag} {value}` is out of range"),
            Fault::Number { flag, found, .. } => format!("`--{flag} {found}` is not a number"),
        }
    }
    /// What the message rests on.
    pub fn note(&self) -> Option<String> {
        match self {
            Fault::UnknownModel { count, .. } => Some(format!("the library has {count} models")),
            Fault::ModelValue { needs, .. } => Some(format!("it needs {needs}")),
            Fault::Degree { name: "b", limit, .. } => Some(format!("0 to {limit}")),
            Fault::Degree { limit, .. } | Fault::Tokens { limit, .. } => Some(format!("1 to {limit}")),
            Fault::MachineValue { needs, .. } => Some(format!("it needs {needs}")),
            Fault::Choice { known, .. } => Some(format!("choices: {}", known.join(", "))),
            Fault::MissingKey { also, .. } if !also.is_empty() => Some(format!("also read: {also}")),
            Fault::TooManyPes { limit, .. } => Some(format!("at most {limit}")),
            Fault::Query { needs, .. } => Some(format!("it needs {needs}")),
            Fault::Number { needs, .. } => Some(format!("it needs {needs}")),
            Fault::Unreadable { .. } | Fault::ModelFile { .. } | Fault::MissingKey { .. } | Fault::Placement { .. } => {
                None
            }
        }
    }
    /// Something to type.
    pub fn next(&self) -> String {
        match self {
            Fault::UnknownModel { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Fault::UnknownModel { .. } => "tilewright plan models".into(),
            Fault::ModelValue { field, .. } => {
                format!("give `{field}` the value of the model's published configuration")
            }
            Fault::Unreadable { .. } => "name a .toml file or a config.json that exists".into(),
            Fault::Degree { name, value, limit } => format!("--{name} {}", (*value).clamp(1, *limit)),
            Fault::Tokens { flag, value, limit } => format!("{flag} {}", (*value).clamp(1, *limit)),
            Fault::MachineValue { name, .. } => format!("--{name} with a value above 0, or leave it out"),
            Fault::Choice { found, known, .. } => {
                let score = |k: &&String| strsim::jaro_winkler(&k.to_lowercase(), &found.to_lowercase());
                let nearest = known.iter().max_by(|a, b| score(a).total_cmp(&score(b)));
                nearest.map_or_else(String::new, |nearest| format!("did you mean `{nearest}`?"))
            }
            Fault::ModelFile { .. } => {
                "one `name = value` a line; `tilewright explain TW-E0708` lists the names".into()
            }
            Fault::MissingKey { key, .. } => format!("add `\"{key}\": N`"),
            Fault::TooManyPes { .. } => "lower --dp, --pp, --cp or --tp".into(),
            Fault::Placement { next, .. } => next.clone(),
            Fault::Query { flag, .. } => format!("give {flag} a value in its range"),
            Fault::Number { flag, .. } => format!("--{flag} 4"),
        }
    }
    /// The user's line, where the fault is in a file.
    pub fn spot(&self) -> Option<&Spot> {
        match self {
            Fault::ModelValue { at, .. } => at.as_ref(),
            Fault::ModelFile { at, .. } | Fault::MissingKey { at, .. } => Some(at),
            Fault::UnknownModel { .. }
            | Fault::Unreadable { .. }
            | Fault::Degree { .. }
            | Fault::Tokens { .. }
            | Fault::MachineValue { .. }
            | Fault::Choice { .. }
            | Fault::TooManyPes { .. }
            | Fault::Placement { .. }
            | Fault::Number { .. }
            | Fault::Query { .. } => None,
        }
    }
}
