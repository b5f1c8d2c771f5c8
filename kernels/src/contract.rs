//! Launch contracts: the codes of what a kernel refuses before anything runs (05xx), and the texts that explain them.

use std::fmt::Debug;
use std::ops::RangeBounds;
use tilewright::diag::{CodePage, Diagnostic};

macro_rules! contract_codes {
    ($($Name:ident = $code:literal, $title:literal, $page:literal;)*) => {
        /// A clause of a launch contract.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Clause { $(#[doc = $title] $Name,)* }
        impl Clause {
            pub fn code(self) -> &'static str { match self { $(Clause::$Name => $code,)* } }
        }
        /// The pages of `tilewright explain`.
        pub const CODES: &[CodePage] = &[$(CodePage { code: $code, title: $title, page: $page }),*];
    };
}

contract_codes! {
    KvPerCube = "TW-E0551", "KV heads per cube must be 1, 2, 4 or 8",
        "A cube has 8 PEs. The mappings A1, A2, A4 and B give each KV head 8, 4, 2 or 1 of them, so a cube holds 1, 2, 4 or 8 KV heads. Choose a mapping with `--mode A1|A2|A4|B`.";
    Cubes = "TW-E0553", "the number of cubes must be the KV heads divided by the KV heads per cube",
        "Each cube works on `kv_per_cube` KV heads, so h_kv heads need exactly h_kv / kv_per_cube cubes. Leave `--cubes` out to get that number.";
    QueryHeads = "TW-E0554", "the query heads must be a multiple of the KV heads",
        "In grouped-query attention every KV head serves the same number of query heads, G = h_q / h_kv.";
    Scratch = "TW-E0556", "the tiles do not fit into a PE's scratch",
        "Query, key and value tile, scores and partials of one step must lie in the scratch of a PE at the same time. Choose a shorter tile (`--tile`) or a machine with more scratch (`--set scratch.capacity=...`).";
    Sizes = "TW-E0557", "a size is zero or too large",
        "Every length of a tensor and of a tile is at least 1, a tile has at most 4194304 elements, and a tensor at most 2^40.";
    Accumulator = "TW-E0559", "the accumulator cannot hold the product",
        "f16 products accumulate in f16 or f32, bf16 products in f32. An accumulator with fewer bits of fraction than the sum needs loses the small terms of a long one, and the machine has no such product. `--acc` chooses the accumulator, `--elem` the element type of the operands.";
    CausalRows = "TW-E0561", "a causal query token must see a token",
        "Under a causal mask the last query token sees all S_kv tokens and each one before it one less, so the first of T_q query tokens sees S_kv - T_q + 1. With fewer tokens than query tokens some would see none.";
    SubMesh = "TW-E0562", "long-context decode runs on 1 to 16 cubes of 1, 2, 4 or 8 PEs, in 1 to 64 SIPs",
        "The tokens of one KV head are cut over the cubes of a SIP, which has 16, or of several SIPs, and over the PEs of each cube, whose partials meet along the cube's rows of four and then down its first column. Any number of cubes works; other numbers of PEs have no such lines.";
    Branches = "TW-E0563", "the agents' rows do not go over the prefix as asked",
        "The query tokens of an agent are the last of its own tokens, so `--suffix` is at least `--t-q`. With `--policy distributed` every cube of one SIP takes the rows of as many agents, so `--agents` is a multiple of `--cubes`; the cubes of another SIP cannot be read from.";
    Number = "TW-E0560", "a number lies outside its range",
        "A probability of dropout lies from 0 up to, but without, 1: what is kept is divided by 1 - p. The epsilon of a norm is positive, or a constant row would be divided by zero. Any other number must be finite in f32, the type in which kernels take it.";
}

/// An error of this clause.
pub fn refuse(clause: Clause, message: String, next: impl Into<String>) -> Diagnostic {
    Diagnostic::new(clause.code(), message).next(next)
}

/// What is wrong with a length of the model or of a tile; `what` is its name, whose flag is written with dashes.
pub fn size(what: &str, n: usize) -> Option<Diagnostic> {
    const MOST: usize = 1 << 31;
    let message = format!("{what} is {n}, it must lie in 1..={MOST}");
    let flag = what.to_lowercase().replace('_', "-");
    (n == 0 || n > MOST).then(|| refuse(Clause::Sizes, message, format!("choose `--{flag}` in that range")))
}

/// bf16 with an accumulator of f16.
pub fn bf16_in_f16() -> Diagnostic {
    refuse(
        Clause::Accumulator,
        "a product of bf16 cannot be accumulated in f16".to_string(),
        "use `--acc f32` with `--elem bf16`",
    )
}

/// The number as a kernel takes it.
///
/// # Errors
/// It lies outside `range`, before or after rounding to f32.
pub fn number(flag: &str, v: f64, range: impl RangeBounds<f64> + Debug) -> Result<f32, Diagnostic> {
    if range.contains(&v) && range.contains(&f64::from(v as f32)) {
        return Ok(v as f32);
    }
    Err(refuse(
        Clause::Number,
        format!("{flag} is {v:?}, it must lie in {range:?}"),
        format!("choose `--{flag}` in that range"),
    ))
}

/// Whether tiles fit into a PE's scratch.
///
/// # Errors
/// They do not: `what` needs `bytes`; `next` says what to choose instead.
pub fn scratch(what: &str, bytes: u64, limit: u64, next: impl Into<String>) -> Result<(), Diagnostic> {
    if bytes <= limit {
        return Ok(());
    }
    Err(refuse(Clause::Scratch, format!("{what} need {bytes} B of scratch, a PE has {limit} B"), next))
}
