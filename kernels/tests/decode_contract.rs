//! Every clause of the decode kernel's launch contract, with the text a user gets.

use insta::assert_snapshot;
use tilewright::prelude::*;
use tilewright_kernels::attention::Heads;
use tilewright_kernels::gqa_decode::Problem;

const HEADS: Heads = Heads { h_q: 64, h_kv: 8, kv_per_cube: 1, cubes: None };
const GOOD: Problem = Problem { heads: HEADS, d_head: 64, t_q: 1, s_kv: 8192, tile: 1024 };

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
fn two_query_tokens_are_refused() {
    assert_snapshot!(refused(Problem { t_q: 2, ..GOOD }));
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
fn a_context_of_partial_tiles_is_refused() {
    assert_snapshot!(refused(Problem { s_kv: 8193, ..GOOD }));
    assert_snapshot!(refused(Problem { s_kv: 4096, ..GOOD }));
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
