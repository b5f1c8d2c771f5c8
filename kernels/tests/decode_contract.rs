//! Every clause of the decode kernel's launch contract, with the text a user gets.

use insta::assert_snapshot;
use tilewright::prelude::*;
use tilewright_kernels::attention::Heads;
use tilewright_kernels::gqa_decode::{Deal, Problem};

const HEADS: Heads = Heads { h_q: 64, h_kv: 8, kv_per_cube: 1, cubes: None };
const GOOD: Problem =
    Problem { heads: HEADS, d_head: 64, batch: 1, t_q: 1, causal: false, s_kv: 8192, tile: 1024, deal: Deal::Ranges };

fn of_heads(heads: Heads) -> Problem {
    Problem { heads, ..GOOD }
}
fn refused(p: Problem) -> String {
    refused_with(p, 1 << 20)
}
fn refused_with(p: Problem, scratch: u64) -> String {
    match p.check(ElemType::F16, ElemType::F16, scratch) {
        Ok(plan) => format!("accepted: {plan:?}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn the_published_configurations_are_accepted() {
    for (kv_per_cube, pes) in [(1, 8), (2, 4), (4, 2), (8, 1)] {
        for s_kv in [8192, 16384, 32768, 65536] {
            let plan = Problem { heads: Heads { kv_per_cube, ..HEADS }, s_kv, ..GOOD }
                .check(ElemType::F16, ElemType::F16, 1 << 20)
                .unwrap();
            assert_eq!((plan.group.pes, plan.cubes), (pes, 8 / kv_per_cube));
            assert_eq!(plan.tiles as usize * plan.group.pes * 1024, s_kv);
        }
    }
}
#[test]
fn three_kv_heads_per_cube_are_refused() {
    assert_snapshot!(refused(of_heads(Heads { kv_per_cube: 3, ..HEADS })));
}
#[test]
fn a_causal_token_that_sees_none_is_refused() {
    assert_snapshot!(refused(Problem { t_q: 9, s_kv: 8, causal: true, ..GOOD }));
}
#[test]
fn another_number_of_cubes_is_refused() {
    assert_snapshot!(refused(of_heads(Heads { cubes: Some(4), ..HEADS })));
}
#[test]
fn kv_heads_that_do_not_fill_the_cubes_are_refused() {
    assert_snapshot!(refused(of_heads(Heads { h_kv: 4, kv_per_cube: 8, ..HEADS })));
}
#[test]
fn query_heads_that_do_not_divide_are_refused() {
    assert_snapshot!(refused(of_heads(Heads { h_q: 65, ..HEADS })));
}
#[test]
fn a_context_of_partial_tiles_is_cut_into_what_a_pe_needs() {
    let of = |s_kv| {
        let plan = Problem { s_kv, ..GOOD }.check(ElemType::F16, ElemType::F16, 1 << 20).unwrap();
        (plan.tiles, plan.sizes.cut.tile, plan.sizes.cut.even)
    };
    assert_eq!([8192, 4096, 16384].map(of), [(1, 1024, true), (1, 512, true), (2, 1024, true)]);
    assert_eq!([8193, 8191, 1].map(of), [(2, 640, false), (1, 1024, false), (1, 16, false)]);
}
#[test]
fn too_little_scratch_is_refused_with_the_largest_tile() {
    assert_snapshot!(refused_with(GOOD, 200_000));
    assert_snapshot!(refused_with(GOOD, 512));
}
#[test]
fn sizes_of_zero_are_refused_all_at_once() {
    assert_snapshot!(refused(Problem {
        heads: Heads { h_q: 0, kv_per_cube: 5, ..HEADS },
        tile: 0,
        d_head: 0,
        t_q: 0,
        ..GOOD
    }));
}
