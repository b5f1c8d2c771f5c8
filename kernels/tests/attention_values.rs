//! Values of the attention kernels on the simulator against f64: every tier and form, every mapping and number of cubes, both
//! accumulators, head lengths of 64, 128 and 256, causal and not, contexts and shares that end inside a tile.

use rayon::prelude::*;
use tilewright::Runtime;
use tilewright::registry::{Agreement, Inputs};

/// The outputs of this instance that disagree, or why there are none.
fn wrong(word: &str) -> Option<String> {
    let all = tilewright_kernels::all();
    let run = || {
        let mut on = Runtime::sim();
        let mut case = all.instance(word)?.case(Inputs::Random { seed: 3 }, &on.limits())?;
        case.launch()?.run(&mut on)?;
        case.check()
    };
    match run() {
        Ok(outputs) if outputs.iter().all(Agreement::agrees) => None,
        Ok(outputs) => Some(format!("{word}: {outputs:?}")),
        Err(e) => Some(format!("{word}: {e}")),
    }
}
#[track_caller]
fn all_agree(words: Vec<String>) {
    let found: Vec<String> = words.par_iter().filter_map(|word| wrong(word)).collect();
    assert!(found.is_empty() && words.len() > 8, "{}", found.join("\n"));
}
const MODES: [&str; 4] = ["A1", "A2", "A4", "B"];
const TIERS: [&str; 3] = ["baseline", "composite", "composite-fused"];
const ACCS: [&str; 2] = ["f16", "f32"];

/// All combinations, in words.
fn words<A: Copy, B: Copy, C: Copy>(a: &[A], b: &[B], c: &[C], word: impl Fn(A, B, C) -> String) -> Vec<String> {
    let mut out = Vec::new();
    for &a in a {
        for &b in b {
            out.extend(c.iter().map(|&c| word(a, b, c)));
        }
    }
    out
}

#[test]
fn decode_agrees_in_every_tier_and_mapping() {
    all_agree(words(&TIERS, &MODES, &ACCS, |tier, mode, acc| {
        format!("gqa_decode:tier={tier},mode={mode},acc={acc},h-q=24,s-kv=1536,tile=64")
    }));
    all_agree(words(&TIERS, &MODES, &[128, 256], |tier, mode, d| {
        format!("gqa_decode:tier={tier},mode={mode},acc=f32,d-head={d},h-q=8,s-kv=768,tile=32")
    }));
}
#[test]
fn prefill_agrees_in_every_tier_and_mapping_for_any_context_and_rows() {
    all_agree(words(&TIERS, &MODES, &ACCS, |tier, mode, acc| {
        format!("gqa_prefill:tier={tier},mode={mode},acc={acc},h-q=16,t-q=9,s-kv=321,tile=64")
    }));
    all_agree(words(&TIERS, &MODES, &[64, 128, 256], |tier, mode, d| {
        format!("gqa_prefill:tier={tier},mode={mode},acc=f32,d-head={d},h-q=8,t-q=3,s-kv=70,tile=32")
    }));
}
#[test]
fn causal_prefill_agrees_in_every_tier_and_mapping() {
    // Rows of several tiles' worth of tokens: tiles that some rows see in part, some not at all.
    all_agree(words(&TIERS, &MODES, &[(70, 70), (33, 200), (1, 5)], |tier, mode, (t_q, s_kv)| {
        format!("gqa_prefill:causal=yes,tier={tier},mode={mode},acc=f32,h-q=24,t-q={t_q},s-kv={s_kv},tile=32")
    }));
}
#[test]
fn long_decode_agrees_in_every_form_on_every_number_of_cubes() {
    const FORMS: [&str; 4] = ["primitive", "primitive_tiled", "composite", "composite_extended"];
    let cubes: Vec<usize> = (1..=16).collect();
    // Shares of 79 to 1250 tokens, most of them ragged.
    all_agree(words(&FORMS, &cubes, &["sharded"], |form, cubes, addressing| {
        format!("long_decode:form={form},cubes={cubes},addressing={addressing},acc=f32,s-kv=10000,tile=128,h-q=7")
    }));
    all_agree(words(&FORMS, &[1, 7, 12], &[(1, 64), (8, 128), (2, 256)], |form, cubes, (pes, d)| {
        format!("long_decode:form={form},cubes={cubes},pes={pes},d-head={d},acc=f32,s-kv=1500,tile=64,h-q=3")
    }));
    // Several SIPs, the root in each of two or three.
    all_agree(words(&FORMS, &[1, 3, 7, 16], &[2, 3, 4], |form, cubes, sips| {
        format!("long_decode:form={form},sips={sips},cubes={cubes},acc=f32,s-kv=5000,tile=64,h-q=3,d-head=64")
    }));
    // Fewer tokens than PEs, and values where all of them read one slice.
    all_agree(words(&FORMS, &[3, 8, 16], &["sharded", "published"], |form, cubes, addressing| {
        format!("long_decode:form={form},cubes={cubes},addressing={addressing},acc=f16,s-kv=99")
    }));
}
#[test]
fn agents_over_one_prefix_agree_in_every_tier() {
    all_agree(words(
        &TIERS,
        &[("stationary", 3), ("distributed", 2)],
        &[(1, 1), (3, 41)],
        |tier, (policy, cubes), (t_q, suffix)| {
            let sizes = format!("agents=6,t-q={t_q},suffix={suffix},s-kv=1000,h-q=3,d-head=64,tile=32");
            format!("fan_out:policy={policy},tier={tier},acc=f32,cubes={cubes},{sizes}")
        },
    ));
}
#[test]
fn agents_over_one_prefix_agree_for_both_policies_on_any_cubes() {
    // Query tokens that see their own suffix in part, shares that end inside a tile, PEs without a token.
    all_agree(words(&[1, 3, 7, 12], &[1, 3], &[(1, 1), (3, 5), (4, 40)], |cubes, agents, (t_q, suffix)| {
        let sizes = format!("agents={agents},t-q={t_q},suffix={suffix},s-kv=1000,h-q=3,d-head=64,tile=32");
        format!("fan_out:policy=stationary,acc=f32,cubes={cubes},{sizes}")
    }));
    all_agree(words(&[1, 2, 3, 8], &[8, 4, 1], &[(1, 9), (2, 2)], |cubes, pes, (t_q, suffix)| {
        let sizes = format!("agents={},t-q={t_q},suffix={suffix},s-kv=700,h-q=5,d-head=64,tile=64", 2 * cubes);
        format!("fan_out:policy=distributed,acc=f32,cubes={cubes},pes={pes},{sizes}")
    }));
}
#[test]
fn agents_with_suffixes_of_their_own_lengths_agree_in_every_tier_and_policy() {
    // Where rows stay with cubes, agents of the last cube have most, and places of the others' are nobody's.
    all_agree(words(
        &TIERS,
        &[("stationary", 3, 8), ("stationary", 4, 1), ("distributed", 2, 4), ("distributed", 6, 2)],
        &[(1, 1, 1), (3, 3, 50), (2, 40, 7)],
        |tier, (policy, cubes, pes), (t_q, suffix, step)| {
            let own = format!("agents=6,t-q={t_q},suffix={suffix},suffix-step={step}");
            let sizes = format!("cubes={cubes},pes={pes},s-kv=300,h-q=3,d-head=64,tile=32");
            format!("fan_out:policy={policy},tier={tier},acc=f32,{own},{sizes}")
        },
    ));
}
#[test]
fn some_rows_are_checked_by_whole_kv_heads() {
    let rows = |word: &str, rows: usize| {
        let mut on = Runtime::sim();
        let mut case = tilewright_kernels::all().instance(word)?.case(Inputs::Random { seed: 3 }, &on.limits())?;
        case.launch()?.run(&mut on)?;
        let checked = case.check_some(rows)?;
        Ok::<_, tilewright::diag::Diagnostics>((checked[0].agrees(), checked[0].rows))
    };
    let prefill = "gqa_prefill:mode=A1,acc=f32,h-q=16,h-kv=8,t-q=3,s-kv=70,tile=32";
    assert_eq!([1, 7].map(|n| rows(prefill, n)), [Ok((true, [6, 48])), Ok((true, [12, 48]))]);
    let decode = "gqa_decode:mode=A2,acc=f32,h-q=24,s-kv=96,tile=16";
    assert_eq!([4, 1000].map(|n| rows(decode, n)), [Ok((true, [6, 24])), Ok((true, [24, 24]))]);
}
