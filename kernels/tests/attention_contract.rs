//! Clauses of the launch contracts of prefill and long decode that are theirs alone, with the text a user gets, and the
//! plans that the published configurations give.

use insta::assert_snapshot;
use tilewright::prelude::*;
use tilewright_kernels::attention::{Heads, Tier};
use tilewright_kernels::fan_out::{self, Branches, Policy, Seers};
use tilewright_kernels::long_decode::{Form, Sizes, Split};
use tilewright_kernels::{gqa_prefill, long_decode};

const HEADS: Heads = Heads { h_q: 64, h_kv: 8, kv_per_cube: 8, cubes: None };
const PREFILL: gqa_prefill::Problem =
    gqa_prefill::Problem { heads: HEADS, sips: 1, d_head: 64, t_q: 8, s_kv: 8192, tile: 1024, causal: false };
const LONG: long_decode::Problem = long_decode::Problem {
    rows: 8,
    d_head: 128,
    s_kv: 131_072,
    sips: 1,
    cubes: 8,
    pes: 8,
    form: Form::Composite,
    tile: 1024,
};

fn prefill(p: gqa_prefill::Problem) -> String {
    let plan = p.check(ElemType::F16, ElemType::F16, 1 << 20);
    plan.map_or_else(|e| e.to_string(), |plan| format!("accepted: {plan:?}"))
}
fn long(p: long_decode::Problem, acc: ElemType) -> Result<long_decode::Plan, String> {
    p.check(ElemType::F16, acc, 1 << 20).map_err(|e| e.to_string())
}

#[test]
fn rows_that_do_not_fit_beside_a_tile_are_refused_with_the_tile_that_does() {
    assert_snapshot!(prefill(gqa_prefill::Problem { t_q: 64, ..PREFILL }), @r"
    error[TW-E0556]: 512 query rows with tiles of 1024 tokens need 3084288 B of scratch, a PE has 1048576 B
     |
     = next: use `--tile 256`, the largest power of two that fits
     = more: tilewright explain TW-E0556
    ");
    assert_snapshot!(prefill(gqa_prefill::Problem { t_q: 4096, ..PREFILL }), @r"
    error[TW-E0556]: 32768 query rows with tiles of 1024 tokens need 180879360 B of scratch, a PE has 1048576 B
     |
     = next: use fewer query tokens (`--t-q`), or a mapping with fewer KV heads per cube
     = more: tilewright explain TW-E0556
    ");
}
#[test]
fn cubes_of_heads_that_do_not_go_over_the_sips_are_refused_with_a_number_that_does() {
    let heads = Heads { kv_per_cube: 1, ..HEADS };
    assert_snapshot!(prefill(gqa_prefill::Problem { heads, sips: 3, ..PREFILL }), @r"
    error[TW-E0553]: 8 cubes of KV heads do not go over 3 SIPs
     |
     = next: use `--sips 2`
     = more: tilewright explain TW-E0553
    ");
    assert_snapshot!(prefill(gqa_prefill::Problem { heads, sips: 0, ..PREFILL }), @r"
    error[TW-E0553]: 8 cubes of KV heads do not go over 0 SIPs
     |
     = next: use `--sips 1`
     = more: tilewright explain TW-E0553
    ");
    assert_snapshot!(
        prefill(gqa_prefill::Problem { heads, sips: 2, ..PREFILL }),
        @"accepted: Plan { group: Group { pes: 8 }, sips: 2, cubes: 4, sizes: Sizes { rows: 8, tile: 1024, d_head: 64, heads: 8 } }"
    );
}
#[test]
fn causal_rows_that_would_see_nothing_are_refused() {
    assert_snapshot!(prefill(gqa_prefill::Problem { s_kv: 7, causal: true, ..PREFILL }), @r"
    error[TW-E0561]: 8 query tokens, but a context of 7: the first would see none
     |
     = next: use `--t-q 7`, or `--causal no`
     = more: tilewright explain TW-E0561
    ");
}
#[test]
fn other_numbers_of_cubes_and_pes_are_refused_at_once() {
    assert_snapshot!(long(long_decode::Problem { sips: 65, cubes: 17, pes: 3, ..LONG }, ElemType::F16).unwrap_err(), @r"
    error[TW-E0562]: 65 SIPs: a KV head lies on 1 to 64
     |
     = next: use `--sips 64`
     = more: tilewright explain TW-E0562
    error[TW-E0562]: 17 cubes: a KV head lies on 1 to 16 of a SIP
     |
     = next: use `--cubes 16`
     = more: tilewright explain TW-E0562
    error[TW-E0562]: 3 PEs of a cube: 1, 2, 4 or 8 share its tokens
     |
     = next: use `--pes 8`
     = more: tilewright explain TW-E0562
    ");
}
#[test]
fn head_vectors_that_no_tile_has_room_for_are_refused() {
    assert_snapshot!(long(long_decode::Problem { d_head: 1 << 16, ..LONG }, ElemType::F16).unwrap_err(), @r"
    error[TW-E0556]: 8 query heads with tiles of 1 tokens need 3145832 B of scratch, a PE has 1048576 B
     |
     = next: use a shorter `--d-head` or fewer query heads (`--h-q`)
     = more: tilewright explain TW-E0556
    ");
}
#[test]
fn a_composite_takes_all_tokens_of_a_pe_or_as_many_as_have_room() {
    let sizes = |p, acc| long(p, acc).map(|plan| plan.sizes);
    let of = |first, step| Ok(Sizes { rows: 8, d_head: 128, first, step });
    assert_eq!(sizes(LONG, ElemType::F16), of(2048, 2048));
    let million = long_decode::Problem { s_kv: 1 << 20, ..LONG };
    assert_eq!(sizes(million, ElemType::F16), of(16384, 16384));
    // Scores and weights of f32 are twice as large.
    assert_eq!(sizes(million, ElemType::F32), of(8192, 8192));
    assert_eq!(sizes(long_decode::Problem { form: Form::Extended, ..LONG }, ElemType::F16), of(64, 2048));
    assert_eq!(sizes(long_decode::Problem { form: Form::Primitive, s_kv: 8192, ..LONG }, ElemType::F16), of(128, 128));
}
#[test]
fn seven_cubes_share_a_context_that_they_do_not_divide() {
    let plan = long(long_decode::Problem { cubes: 7, ..LONG }, ElemType::F16).unwrap();
    assert_eq!(plan.split, Split { tokens: 131_072, sips: 1, cubes: 7, pes: 8 });
    assert!(plan.split.ragged() && plan.split.share() == 2341);
}

fn agents(policy: Policy, tokens: usize, suffixes: &[usize]) -> Result<fan_out::Plan, String> {
    let branches = Branches { agents: suffixes.len(), tokens, heads: 8 };
    let (tier, suffixes) = (Tier::Plain, suffixes.to_vec());
    let p = fan_out::Problem {
        policy,
        tier,
        branches,
        suffixes,
        d_head: 128,
        prefix: 8192,
        sips: 1,
        cubes: 2,
        pes: 8,
        tile: 0,
    };
    p.check(ElemType::F16, ElemType::F32, 1 << 20).map_err(|e| e.to_string())
}
#[test]
fn each_agent_needs_tokens_of_its_own_for_its_query_tokens() {
    assert_snapshot!(agents(Policy::Stationary, 3, &[7, 2, 5]).unwrap_err(), @r"
    error[TW-E0563]: 3 query tokens of an agent whose own tokens are 2
     |
     = next: use `--suffix 3`
     = more: tilewright explain TW-E0563
    ");
    assert_snapshot!(agents(Policy::Stationary, 1, &[7, 0, 5]).unwrap_err(), @r"
    error[TW-E0557]: suffix is 0, it must lie in 1..=2147483648
     |
     = next: choose `--suffix` in that range
     = more: tilewright explain TW-E0557
    ");
    assert_snapshot!(agents(Policy::Stationary, 1, &[1 << 26, 1]).unwrap_err(), @r"
    error[TW-E0557]: the agents' own tokens are more than 67108864
     |
     = next: use fewer agents, or a shorter `--suffix`
     = more: tilewright explain TW-E0557
    ");
}
#[test]
fn only_suffixes_of_several_lengths_need_a_table() {
    let plan = |suffixes: &[usize]| agents(Policy::Distributed, 1, suffixes).unwrap();
    let equal = plan(&[5, 5, 5, 5]);
    assert!(matches!(equal.seers, Seers::Equal(5)) && equal.share.suffix.tokens == 20);
    let own = plan(&[5, 4, 1, 5]);
    assert!(matches!(own.seers, Seers::Table(_)) && own.share.suffix.tokens == 18);
}
