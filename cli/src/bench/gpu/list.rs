//! What `bench` times where no kernel is named: groups of rows by the name of their operation, at the shapes that the peers
//! measure; and the filters of its flags.

use super::work::{DECODE, EXTEND, GEMM, PREFILL, Shape, Work};
use crate::errors;
use clap::ArgMatches;
use tilewright_core::diag::Diagnostics;
use tilewright_harness::registry::{Instance, Kernels};

/// What only streams.
pub const STREAM: &str = "stream";
/// What launches and messages cost: no work of a kernel.
const LAUNCH: &str = "launch";
pub const GROUPS: [&str; 6] = [STREAM, DECODE, EXTEND, PREFILL, GEMM, LAUNCH];

/// What a command line asks for.
pub struct Chosen {
    pub works: Vec<Work>,
    /// Whether launches and messages are timed, too.
    pub launches: bool,
}

/// The sizes at which the peers of `stream` run.
const STREAMS: [&str; 12] = [
    "vector_add:n=16777216,elem=f32",
    "vector_add:n=67108864,elem=f32",
    "vector_add:n=67108864,elem=f16",
    "vector_add:n=67108863,elem=f32",
    "row_softmax:rows=4096,columns=4096,elem=f32",
    "row_softmax:rows=16384,columns=4096,elem=f32",
    "row_softmax:rows=4096,columns=4096,elem=f16",
    "row_softmax:rows=16384,columns=4096,elem=f16",
    "layer_norm:rows=4096,columns=4096,elem=f32",
    "layer_norm:rows=16384,columns=4096,elem=f32",
    "layer_norm:rows=4096,columns=4096,elem=f16",
    "layer_norm:rows=16384,columns=4096,elem=f16",
];

/// Query and KV heads of one request.
const HEADS: [usize; 2] = [64, 8];
/// Requests, and tokens of each.
const DECODES: [[usize; 2]; 7] = [[1, 8192], [1, 16384], [1, 32768], [1, 65536], [1, 131_072], [16, 8192], [64, 8192]];
/// Query tokens, tokens.
const EXTENDS: [[usize; 2]; 2] = [[8, 8192], [8, 65536]];
const PREFILLS: [([usize; 2], &str); 5] =
    [([512, 8192], "yes"), ([4096, 4096], "yes"), ([4096, 4096], "no"), ([8192, 8192], "yes"), ([16384, 16384], "yes")];
/// Rows, columns, depth.
const GEMMS: [[usize; 3]; 4] = [[4096; 3], [8192; 3], [2048, 8192, 8192], [512, 8192, 8192]];

/// The rows of a group.
fn group(name: &str) -> Vec<(String, usize)> {
    let [hq, hkv] = HEADS;
    let attention = |elem: &str, d: usize, [tq, s]: [usize; 2], causal: &str| {
        format!("fused_attention:h-q={hq},h-kv={hkv},t-q={tq},s-kv={s},d-head={d},causal={causal},elem={elem}")
    };
    let mut rows = Vec::new();
    for elem in ["f16", "bf16"] {
        for d in [128, 64] {
            match name {
                DECODE => rows.extend(DECODES.map(|[b, s]| {
                    // From about a hundred heads on each has a program of its own; fewer are shared out (PTX, decode).
                    let mode = if b * hkv >= 100 { "B" } else { "A1" };
                    let (hq, hkv) = (b * hq, b * hkv);
                    let word =
                        format!("gqa_decode:mode={mode},h-q={hq},h-kv={hkv},s-kv={s},d-head={d},elem={elem},acc=f32");
                    (word, b)
                })),
                EXTEND => rows.extend(EXTENDS.map(|[tq, s]| {
                    let word = format!(
                        "gqa_decode:mode=A1,h-q={hq},h-kv={hkv},t-q={tq},s-kv={s},d-head={d},elem={elem},acc=f32"
                    );
                    (word, 1)
                })),
                PREFILL => rows.extend(PREFILLS.map(|(sizes, causal)| (attention(elem, d, sizes, causal), 1))),
                _ => {}
            }
        }
        if name == GEMM {
            rows.extend(GEMMS.map(|[m, n, k]| (format!("matmul:m={m},n={n},k={k},elem={elem}"), 1)));
        }
    }
    if name == STREAM {
        rows.extend(STREAMS.map(|word| (word.to_string(), 1)));
    }
    rows
}

/// What the words and filters of a command line ask for; all groups without a word.
///
/// # Errors
/// A word that names no group, kernel or instance; a filter that is not written as one, or leaves nothing.
pub fn chosen(matches: &ArgMatches, kernels: &Kernels) -> Result<Chosen, Diagnostics> {
    let words: Vec<&String> = matches.get_many("kernel").unwrap_or_default().collect();
    let filters: Vec<&String> = matches.get_many("shape").unwrap_or_default().collect();
    let wanted: Vec<Shape> = filters.iter().map(|text| shape(text)).collect::<Result<_, _>>()?;
    let names: Vec<&str> = if words.is_empty() { GROUPS.to_vec() } else { words.iter().map(|w| w.as_str()).collect() };

    let mut works = Vec::new();
    for (i, name) in names.iter().enumerate() {
        if GROUPS.contains(name) {
            for (word, batch) in group(name) {
                works.push(Work::of(kernels.instance(&word)?, batch)?);
            }
        } else {
            let instances: Vec<Instance> = kernels.chosen(&words[i..=i])?;
            for instance in instances {
                works.push(Work::of(instance, 1)?);
            }
        }
    }
    let shapes = works.first().map(|work| work.shape.to_string()).unwrap_or_default();
    works.retain(|work| wanted.is_empty() || wanted.iter().any(|wanted| work.shape.has(wanted)));
    // They have no shape.
    let launches = wanted.is_empty() && names.contains(&LAUNCH);
    if works.is_empty() && !launches {
        let filters: Vec<&str> = filters.iter().map(|f| f.as_str()).collect();
        return Err(errors::no_such_shape(&filters.join(" or "), &shapes).into());
    }
    Ok(Chosen { works, launches })
}

/// Reads `s=8192,d=128`.
///
/// # Errors
/// A part that is not an assignment.
pub fn shape(text: &str) -> Result<Shape, Diagnostics> {
    let pair = |part: &str| part.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
    let pairs: Option<Vec<_>> = text.split(',').map(pair).collect();
    pairs.map(Shape).ok_or_else(|| errors::no_filter(text).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_every_group_is_an_instance_that_its_kernel_takes() {
        use tilewright_harness::registry::{Arch, Inputs, Limits, Target};
        let kernels = tilewright_kernels::all();
        for name in GROUPS.into_iter().filter(|name| *name != LAUNCH) {
            let rows = group(name);
            assert!(!rows.is_empty(), "{name}");
            for (word, batch) in rows {
                let instance = kernels.instance(&word).unwrap_or_else(|e| panic!("{word}: {e}"));
                for arch in Arch::ALL {
                    let case = instance.case(Inputs::ShapesOnly, &Limits::gpu(Target::Cuda, arch));
                    let mut case = case.unwrap_or_else(|e| panic!("{word}: {e}"));
                    assert!(case.launch().is_ok(), "{word}");
                }
                let work = Work::of(instance, batch).unwrap();
                assert!(work.op == name || name == STREAM, "{word} is {}", work.op);
            }
        }
    }
}
