//! Mutants that no detector catches, each shown to compute what the unchanged program computes.

use super::change::{Kind, Mutant};
use super::subject::{Change, FILE, Subject, Whole};
use std::sync::Arc;
use tilewright::core_api::interp::Order;
use tilewright::core_api::passes::for_timing;
use tilewright::ir::Module;
use tilewright::ir::text::{print, read};

/// Mutants whose outputs are the same for a reason that is told here and shown by comparing bits.
const REASONS: &[Reason] = &[
    Reason::of("matmul_leaky_relu", "cmp ge %acc'3", "0 is 0 with and without the slope"),
    Reason::of("dropout", "store inside %y[%mutant]", "the program's next store overwrites it"),
    Reason::of("fused_attention", "sub %whole, 1", "`whole` is a multiple of the step"),
    Reason::of("fused_attention", "cmp ge %m'2", "before `whole` every row sees every token"),
    Reason::of(
        "fused_attention",
        "%16 = minimum %2, 0",
        "the last loop takes tiles without a mask as the first one does",
    ),
    Reason::of("fused_attention", "in %whole..%2 step %mutant", "without a mask the last loop takes one turn at most"),
    Reason::of("fused_attention", "%49 = cmp ge %m'3", "without a mask every row sees a token"),
    Reason::of("fused_attention", "%65 = cmp ge %part.m'4", "without a mask every row sees a token"),
    Reason::of("fused_attention, causal", "%18 = maximum", "a tile of which no row sees anything adds nothing"),
    Reason::of("fused_attention, causal", "%19 = add %18, 1", "a tile of which no row sees anything adds nothing"),
    Reason::of(
        "fused_attention, causal",
        "%21 = minimum %16, 0",
        "the last loop takes tiles without a mask as the first one does, and values before the first token are 0",
    ),
    Reason::of("grouped_gemm", "= load %a[%12, %k'2] limit 1: %10 else", "rows behind the last are not stored"),
    Reason::of("grouped_gemm", "= load %a[%12, %k'2] limit 0: %9 else", "the other factor is 0 there"),
    Reason::of("grouped_gemm", "= load %b[%13, %8] limit 1: %11 else", "the other factor is 0 there"),
    Reason::of("grouped_gemm", "= load %b[%13, %8] limit 0: %10 else", "columns behind the last are not stored"),
    Reason::of("grouped_gemm", "%9 = add %m, %6", "rows behind the last are not stored"),
    Reason::of("grouped_gemm", "%11 = add %n, %8", "columns behind the last are not stored"),
    Reason::of("grouped_gemm", "limit 0: %9 limit 1: %10 :", "the limits end inside the slabs"),
    Reason::of("grouped_gemm", "limit 0: %10 limit 1: %11 :", "the limits end inside the slabs"),
    Reason::of("grouped_gemm", "store %c[%16, %8]", "the limits end inside the slabs"),
    Reason::of("grouped_gemm", "%15 = add %n, %8", "columns behind the last are 0 in the slab, and in the product"),
    Reason::of(
        "grouped_gemm",
        "%8] limit 0: %14, %acc'3",
        "columns behind the last are 0 in the slab, and in the product",
    ),
    Reason::of("prefix_sum", "%2 = add %1, 1", "any share that is large enough gives the same sums").but("sums"),
    Reason::of("prefix_sum", "%mutant = sub %end, 1 : i32 %total", "nobody reads the last sum").but("sums"),
    Reason::of("prefix_sum", "limit 0: %11 else 0 : tile<256xi32>", "the limit says how many places there are"),
    Reason::of("", "limit 0: ", "places past a limit are 0 without a fill, too").only(Kind::NoFill),
    Reason::of("gqa_decode", "= add %end, %first", NO_TILE),
    Reason::of("gqa_decode", "= add %all, ", NO_TILE),
    Reason::of("gqa_decode", "= add %end, %token", NOT_OF_THE_PE),
    Reason::of("gqa_decode", "= add %tokens, %token", NOT_OF_THE_PE),
    // A tile that all see in full is not masked, to save time.
    Reason::of("gqa_decode", "= cmp le %", UNMASKED),
    Reason::of("gqa_prefill", "%whole = minimum", UNMASKED),
    Reason::of("gqa_prefill A2, causal", "%15 = rem %first, 2", UNMASKED),
    Reason::of("gqa_prefill A2, causal", "%16 = sub %ahead", UNMASKED),
    Reason::of("gqa_prefill", "= load %q[%4, %first, 0] else", "rows behind a PE's own are not stored"),
    Reason::of("gqa_prefill", "%4, %46, 0] :", "tiles before the last lie inside the context").only(Kind::NoFill),
    Reason::of("gqa_prefill", "store %o[", "the limit ends inside the rows").only(Kind::NotInside),
    Reason::of("long_decode", "= cmp le %5, ", UNMASKED),
    Reason::of("fan_out", "= cmp le %prefix.1, ", UNMASKED),
    Reason::of("", "0] else 0.0", NOT_OF_THE_PE).only(Kind::NoLimit),
    Reason::of("long_decode", "= add %5, ", NOT_OF_THE_PE).only(Kind::Arithmetic),
    Reason::of("fan_out", "= add %prefix.1, ", NOT_OF_THE_PE).only(Kind::Arithmetic),
    Reason::of("fan_out, stationary", "= add 49, ", NOT_OF_THE_PE),
    Reason::of("fan_out, stationary", "= add %53, 3", NOT_OF_THE_PE),
    Reason::of("long_decode", "0] :", "every PE's share lies inside the context").only(Kind::NoFill),
    Reason::of("long_decode, composite", "= sub %first, 0", "0 more is 0 less"),
    Reason::of("fan_out, stationary", "= cmp le %index'2", "no PE has all tokens up to the last tile, and not those"),
    Reason::of("fan_out, distributed", "= cmp le %index", OF_OTHER_AGENTS),
    Reason::of("fan_out, distributed", "= add 14, %in_cube'2", OF_OTHER_AGENTS),
    Reason::of("fan_out, distributed", "%of_cube'2 = maximum", OF_OTHER_AGENTS),
    Reason::of("fan_out, distributed", "= add 42, %first'2", OF_OTHER_AGENTS),
    Reason::of("fan_out, distributed", "= maximum %of_cube'2", OF_OTHER_AGENTS),
    Reason::of("fan_out, distributed", "= add 14, %in_cube", ALL_OF_IT),
    Reason::of("fan_out, distributed", "%of_cube = maximum", ALL_OF_IT),
    Reason::of("fan_out, distributed", "= add 14, %first", ALL_OF_IT),
    Reason::of("fan_out, distributed", "%prefix.1 = maximum", ALL_OF_IT),
    Reason::of("", "= cmp ne ", "no place in the line is before the first"),
];

const NO_TILE: &str = "turns behind a PE's last tile are masked: they weigh 0";
const UNMASKED: &str = "a mask of a tile that every row sees changes nothing";
const OF_OTHER_AGENTS: &str = "rows of a cube see no token of another cube's agents";
const ALL_OF_IT: &str =
    "a cube that has all of the prefix ends where the prefix does, and a PE goes through a share at most";
const NOT_OF_THE_PE: &str = "tokens that are not the PE's are masked: they weigh 0";

struct Reason {
    program: &'static str,
    /// A part of the changed line; `*` stands for any text.
    code: &'static str,
    why: &'static str,
    /// Of these changes only.
    kind: Option<Kind>,
    /// A tensor that only the kernel itself reads, and that may differ.
    but: &'static str,
}

impl Reason {
    const fn of(program: &'static str, code: &'static str, why: &'static str) -> Reason {
        Reason { program, code, why, kind: None, but: "" }
    }
    const fn only(self, kind: Kind) -> Reason {
        Reason { kind: Some(kind), ..self }
    }
    const fn but(self, but: &'static str) -> Reason {
        Reason { but, ..self }
    }
}

/// Why a mutant may survive, as far as a test shows it.
pub fn shown(subject: &Subject, whole: (&Arc<Module>, &[Whole]), mutant: &Mutant, change: &Change) -> Option<String> {
    let (module, sizes) = whole;
    if print(&for_timing(&change.module)) == print(&for_timing(module)) {
        return Some("nothing uses what is changed: the optimised program is the same".to_string());
    }
    if mutant.probe.as_ref().is_some_and(|probe| same_scalar(subject, probe, sizes)) {
        return Some("the value is the same wherever it is computed".to_string());
    }
    let of_kind = |r: &Reason| r.kind.is_none_or(|kind| kind == mutant.kind);
    let known = |r: &&Reason| of_kind(r) && subject.name().starts_with(r.program) && has(mutant.code(), r.code);
    let reason = REASONS.iter().find(known)?;
    same_bits(subject, (module, sizes), change, reason.but)
        .then(|| format!("{}: the outputs are the same bits", reason.why))
}

/// Whether a line has the parts of a pattern, one behind the other.
fn has(line: &str, pattern: &str) -> bool {
    let mut rest = line;
    pattern.split('*').all(|part| {
        let behind = rest.find(part).map(|at| &rest[at + part.len()..]);
        rest = behind.unwrap_or("");
        behind.is_some()
    })
}

/// Reasons that no survivor has.
pub fn stale<'a>(survivors: impl Iterator<Item = &'a str> + Clone) -> Vec<&'static str> {
    let unused = |r: &&Reason| !survivors.clone().any(|why| why.starts_with(r.why));
    REASONS.iter().filter(unused).map(|r| r.why).collect()
}

/// Whether the assertion that a scalar is what it was holds in all programs, at all sizes.
fn same_scalar(subject: &Subject, probe: &str, sizes: &[Whole]) -> bool {
    // Inside of a composite no assertion can stand.
    let Ok(module) = read(probe, FILE).map(Arc::new) else { return false };
    let holds = |(size, whole): (usize, &Whole)| {
        let change = Change { module: Arc::clone(&module), depth: None, max_steps: whole.steps * 8 };
        subject.outputs(size, 1, Order::Ascending, &change).is_ok()
    };
    sizes.iter().enumerate().all(holds)
}

/// Whether all outputs are the same, at all sizes, of several inputs, in two orders.
fn same_bits(subject: &Subject, whole: (&Arc<Module>, &[Whole]), change: &Change, but: &str) -> bool {
    let (module, sizes) = whole;
    let written = module.params.iter().filter(|v| module.ty(**v).to_string().starts_with("view_mut"));
    let names: Vec<&str> = written.map(|v| module.value(*v).name.as_deref().unwrap_or("")).collect();
    let unchanged = Change { module: Arc::clone(module), depth: None, ..change.clone() };
    (0..sizes.len()).all(|size| {
        [1, 2, 3].iter().all(|seed| {
            let run = |change: &Change, order| {
                let all = subject.outputs(size, *seed, order, change).ok()?;
                Some(names.iter().zip(all).filter(|(name, _)| **name != but).map(|(_, data)| data).collect::<Vec<_>>())
            };
            let right = run(&unchanged, Order::Ascending);
            right.is_some() && right == run(change, Order::Ascending) && right == run(change, Order::Shuffled(*seed))
        })
    })
}
