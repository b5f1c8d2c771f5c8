//! Parameters that attention kernels have in common.

use crate::contract::bf16_in_f16;
use tilewright::diag::Diagnostics;
use tilewright::registry::{Param, Settings};

pub const MODE: Param =
    Param::one_of("mode", &["A1", "A2", "A4", "B"], "A1", "how KV heads map to cubes: 1, 2, 4 or 8 KV heads a cube");
pub const TIER: Param = Param::one_of(
    "tier",
    &["baseline", "composite", "composite-fused"],
    "baseline",
    "commands the accelerator is given",
);
pub const S_KV: Param = Param::integer("s-kv", 0..=1 << 40, "8192", "context length in tokens");
pub const H_Q: Param = Param::integer("h-q", 0..=1 << 20, "64", "query heads");
pub const H_KV: Param = Param::integer("h-kv", 0..=1 << 20, "8", "KV heads");
pub const D_HEAD: Param = Param::integer("d-head", 0..=1 << 20, "64", "length of a head vector");
pub const TILE: Param = Param::integer("tile", 0..=1 << 30, "0", "tokens of a KV tile (0: the target's configuration)");
pub const ELEM: Param = Param::one_of("elem", &["f16", "bf16"], "f16", "element type of the tensors");
pub const ACC: Param =
    Param::one_of("acc", &["f16", "f32"], "f16", "element type of scores, sums and outputs on the way");

/// What is made for the element types asked for: tensors of f16 with sums in f16, or in f32; tensors of bf16 with sums in f32.
///
/// # Errors
/// bf16 with sums in f16.
pub fn by_types<M: Copy>(s: &Settings, [f16_in_f16, f16_in_f32, bf16_in_f32]: [M; 3]) -> Result<M, Diagnostics> {
    let (in_f16, in_f32) = s.pick("elem", &[("f16", (Some(f16_in_f16), f16_in_f32)), ("bf16", (None, bf16_in_f32))])?;
    s.pick("acc", &[("f16", in_f16), ("f32", Some(in_f32))])?.ok_or_else(|| bf16_in_f16().into())
}
