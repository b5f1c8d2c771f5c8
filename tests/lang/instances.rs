//! Every kernel of `kernels/` in the instances the project needs: each traces, and prints what it reads back from.

use crate::kernels::*;
use std::sync::Arc;
use tilewright::diag::Diagnostics;
use tilewright::ir::Module;
use tilewright::ir::text::{parse, print};
use tilewright::prelude::*;
use tilewright_test_attn::{Group, SubMesh, Tier};

type Traced = Result<Arc<Module>, Diagnostics>;

fn t<T: Elem, const R: usize>(dims: [usize; R]) -> Tensor<T, R> {
    Tensor::shape_only(dims)
}

pub fn decode(kv_per_cube: usize, tier: Tier) -> Traced {
    let (q, kv, mut o) = (t::<f16, 3>([8, 8, 64]), t::<f16, 3>([8, 65536, 64]), t::<f16, 3>([8, 8, 64]));
    let group = Group::of_heads(kv_per_cube);
    decode::gqa_decode::<f16, f16, 8, 1024, 64>(&q, &kv, &kv, &mut o, 8, group, tier)
        .grid(Grid::cubes(8 / kv_per_cube).pes(8))
        .trace()
}
fn prefill(kv_per_cube: usize, tier: Tier) -> Traced {
    let (q, kv, mut o) = (t::<f16, 3>([8, 64, 64]), t::<f16, 3>([8, 8192, 64]), t::<f16, 3>([8, 64, 64]));
    let group = Group::of_heads(kv_per_cube);
    prefill::gqa_prefill::<f16, f32, 64, 1024, 64>(&q, &kv, &kv, &mut o, 8, group, tier)
        .grid(Grid::cubes(8).pes(8))
        .trace()
}
fn long(cubes: usize, tier: Tier) -> Traced {
    let (q, kv, mut o) = (t::<f16, 2>([8, 128]), t::<f16, 2>([131072, 128]), t::<f16, 2>([8, 128]));
    let (mesh, local) = (SubMesh { cubes }, 131072 / (cubes * 8));
    long_decode::long_decode::<f16, f32, 8, 128>(&q, &kv, &kv, &mut o, mesh, local, tier)
        .grid(Grid::cubes(cubes).pes(8))
        .trace()
}
fn attention(causal: bool) -> Traced {
    let (q, kv, mut o) = (t::<f16, 3>([8, 64, 64]), t::<f16, 3>([8, 8192, 64]), t::<f16, 3>([8, 64, 64]));
    attention::attention::<f16, 64, 32, 64>(&q, &kv, &kv, &mut o, 0.125, causal).trace()
}
fn shared_prefix() -> Traced {
    let (q, kv, mut o) = (t::<f16, 2>([160, 128]), t([64, 64, 128]), t([160, 128]));
    let (branches, mesh) = (fan_out::Branches { suffix: 20, heads: 1 }, SubMesh { cubes: 4 });
    fan_out::shared_prefix::<f16, f32, 160, 64, 128>(&q, &kv, &kv, &t([64]), &mut o, 32, 3, branches, mesh).trace()
}
pub fn matmul() -> Traced {
    let (a, mut c) = (t::<f16, 2>([64, 256]), t([64, 256]));
    matmul::matmul_leaky_relu::<_, 64, 64, 32>(&a, &a, &mut c, 0.01).trace()
}

pub fn all() -> Vec<(&'static str, Traced)> {
    let (x, mut y) = (t::<f32, 1>([4096]), t::<f32, 1>([4096]));
    let (x2, mut y2, v) = (t::<f16, 2>([64, 256]), t::<f16, 2>([64, 256]), t::<f16, 1>([256]));
    let (w, s) = (t([64, 1024]), t([64, 64]));
    vec![
        ("vector_add", basics::vector_add::<f32, 512>(&x, &x, &mut y).trace()),
        ("row_softmax", basics::row_softmax::<_, 256>(&x2, &mut y2, 8).trace()),
        ("layer_norm", basics::layer_norm::<_, 4, 256>(&x2, &v, &v, &mut y2, 1e-5).trace()),
        ("dropout", basics::dropout::<_, 256>(&x, &mut y, 0.1, 7).trace()),
        ("matmul", matmul()),
        ("attention", attention(false)),
        ("attention_causal", attention(true)),
        ("shared_prefix", shared_prefix()),
        ("gemv", gemv::gemv_2bit::<8, 256, 64, 4>(&w, &s, &t([4096]), &mut t([64])).trace()),
        ("read_contiguous", probe::read_contiguous::<1024, 4, 4>(&x, 1 << 33).trace()),
        ("read_slabs", probe::read_slabs::<1024, 4, 4>(&x, &t([405]), 3_670_016, 4).trace()),
        ("decode_a1", decode(1, Tier::Plain)),
        ("decode_a2_composite", decode(2, Tier::Composite)),
        ("decode_a4_fused", decode(4, Tier::Fused)),
        ("decode_b", decode(8, Tier::Plain)),
        ("prefill", prefill(1, Tier::Plain)),
        ("prefill_b_fused", prefill(8, Tier::Fused)),
        ("long_8", long(8, Tier::Plain)),
        ("long_5_composite", long(5, Tier::Composite)),
        ("long_7_fused", long(7, Tier::Fused)),
        ("long_1_fused", long(1, Tier::Fused)),
        ("long_16_composite", long(16, Tier::Composite)),
    ]
}

#[test]
fn every_kernel_traces_and_reads_back_as_printed() {
    for (name, traced) in all() {
        let m = traced.unwrap_or_else(|e| panic!("{name}: {e}"));
        let text = print(&m);
        let again = parse(&text, "printed.tir").unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        assert!(again == *m, "{name} changes when it is read back:\n{text}");
    }
}

#[test]
fn decode_reads_as_its_source() {
    insta::assert_snapshot!(print(&decode(1, Tier::Plain).unwrap()));
}
#[test]
fn fused_decode_reads_as_its_source() {
    insta::assert_snapshot!(print(&decode(4, Tier::Fused).unwrap()));
}
#[test]
fn prefill_reads_as_its_source() {
    insta::assert_snapshot!(print(&prefill(1, Tier::Plain).unwrap()));
}
/// Line and column of every op, through the calls it was inlined at.
#[test]
fn every_op_of_matmul_has_its_place() {
    insta::assert_snapshot!(tilewright::ir::text::print_with_locs(&matmul().unwrap()));
}
#[test]
fn every_op_of_every_kernel_has_a_place_in_the_users_source() {
    for (name, traced) in all() {
        let m = traced.unwrap_or_else(|e| panic!("{name}: {e}"));
        m.each_op(&mut |op| {
            let chain = m.locs.chain(m.op(op).loc);
            let own = |p: &tilewright::ir::loc::Place| p.file.contains("tests/") && p.col > 1;
            assert!(!chain.is_empty() && chain.iter().all(own), "{name}: {chain:?}");
        });
    }
}
