//! What holds for every model, deployment and machine.

use super::support::B;
use proptest::prelude::*;
use tilewright_planner::explore::{explore, grid};
use tilewright_planner::hardware::Knob;
use tilewright_planner::inputs::Inputs;
use tilewright_planner::machine::Machine;
use tilewright_planner::model::{Model, presets};
use tilewright_planner::options::{Opt, Options};
use tilewright_planner::step::step;
use tilewright_planner::topology::{Phase, Topology, Work};

fn any_model() -> impl Strategy<Value = &'static Model> {
    (0..presets().len()).prop_map(|i| &presets()[i])
}
fn any_topology() -> impl Strategy<Value = Topology> {
    let all = grid(&presets()[0], 1);
    (0..all.len(), 0..5u32, 0..4u32).prop_map(move |(i, b, ep)| Topology { b: 1 << b, ep: 1 << ep, ..all[i] })
}
fn any_work() -> impl Strategy<Value = Work> {
    let tokens = prop_oneof![Just(1u64), Just(17), Just(4096), Just(8192), Just(131_072)];
    (tokens, any::<bool>()).prop_map(|(s, decode)| Work::new(if decode { Phase::Decode } else { Phase::Prefill }, s))
}
fn any_options() -> impl Strategy<Value = Options> {
    prop_oneof![
        Just(B),
        Just(Options::refined()),
        (0..Opt::ALL.len()).prop_map(|i| B.with(Opt::ALL[i])),
        (0..Opt::ALL.len()).prop_map(|i| Options::refined().without(Opt::ALL[i])),
    ]
}

/// The baseline may count more hops than a ring has (option `placement`): then what hides them is worth more than it costs,
/// and less work takes longer.
fn ring_is_a_ring(model: &Model, t: &Topology, work: &Work, o: Options) -> bool {
    let placed = step(&Inputs::new(model, &Machine::default(), t, work), o).placed;
    placed.ring_hops_inter + placed.ring_hops_sip <= (t.cp - 1) as f64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, max_global_rejects: 60_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_faster_knob_never_makes_a_step_slower(
        model in any_model(), t in any_topology(), work in any_work(), o in any_options(), knob in 0usize..6,
    ) {
        let base = Machine::default();
        let mut better = base;
        Knob::ALL[knob].scale(&mut better, 2.0);
        prop_assume!(ring_is_a_ring(model, &t, &work, o));
        let latency = |m: &Machine| step(&Inputs::new(model, m, &t, &work), o).latency_s;
        let (slow, fast) = (latency(&base), latency(&better));
        prop_assert!(fast <= slow * (1.0 + 1e-12), "{} {:?} {}: {slow} {fast}", Knob::ALL[knob].name(), t, o.label());
    }

    #[test]
    fn more_context_or_requests_never_take_less_memory_or_time(
        model in any_model(), t in any_topology(), s in 1u64..200_000, decode in any::<bool>(), o in any_options(),
    ) {
        let phase = if decode { Phase::Decode } else { Phase::Prefill };
        let run = |s: u64, b: u64| {
            step(&Inputs::new(model, &Machine::default(), &Topology { b, ..t }, &Work::new(phase, s)), o)
        };
        prop_assume!(ring_is_a_ring(model, &t, &Work::new(phase, s), o));
        let (one, longer, more) = (run(s, t.b), run(2 * s, t.b), run(s, 2 * t.b));
        for other in [longer, more] {
            prop_assert!(other.memory.kv_bytes >= one.memory.kv_bytes);
            prop_assert!(other.memory.used_bytes >= one.memory.used_bytes);
            prop_assert!(other.latency_s >= one.latency_s * (1.0 - 1e-12), "{} {} {} {t:?} {s} {phase:?}", one.latency_s, other.latency_s, o.label());
        }
    }

    #[test]
    fn equal_tiers_make_placement_irrelevant_to_sums_of_the_same_group(
        model in any_model(), t in any_topology(), work in any_work(),
    ) {
        // With one kind of link, a flat ring does not care which ranks lie where.
        let mut machine = Machine::default();
        machine.inter = machine.intra;
        machine.intersip = machine.intra;
        let moved = Topology { tp_placement: t.cp_placement, cp_placement: t.tp_placement, ..t };
        let latency = |t: &Topology| step(&Inputs::new(model, &machine, t, &work), B.with(Opt::Placement)).latency_s;
        let (here, there) = (latency(&t), latency(&moved));
        prop_assert!((here - there).abs() <= 1e-9 * here, "{here} {there}");
    }

    #[test]
    fn figures_are_finite_and_shares_are_shares(
        model in any_model(), t in any_topology(), work in any_work(), o in any_options(),
    ) {
        let s = step(&Inputs::new(model, &Machine::default(), &t, &work), o);
        prop_assert!(s.latency_s > 0.0 && s.latency_s < 1e6);
        for share in [s.compute_use, s.hbm_use, s.efficiency] {
            prop_assert!((0.0..=1.0).contains(&share), "{share}");
        }
        let [busiest, sum] = s.bounds_s;
        prop_assert!(busiest <= s.latency_s * (1.0 + 1e-12) && s.latency_s <= sum * (1.0 + 1e-12));
        for row in s.rows.all() {
            for x in [row.flops, row.mem_bytes, row.comm_bytes, row.compute_s, row.memory_s, row.comm_s, row.visible_s] {
                prop_assert!(x.is_finite() && x >= 0.0, "{:?} {x}", row.id);
            }
        }
    }
}

#[test]
fn points_of_a_frontier_do_not_dominate_each_other() {
    for o in [B, Options::refined()] {
        let x = explore(&presets()[20], &Machine::default(), 1, &Work::new(Phase::Decode, 8192), o);
        let four = o.has(Opt::Throughput);
        let axes = |i: &usize| {
            let p = &x.points[*i];
            [p.latency_s, p.pes_used, -p.efficiency, if four { -p.throughput_tok_per_s } else { 0.0 }]
        };
        let points: Vec<[f64; 4]> = x.pareto.iter().map(axes).collect();
        assert!(points.len() > 3);
        for a in &points {
            assert!(!points.iter().any(|b| a != b && (0..4).all(|k| b[k] <= a[k])), "{a:?}");
        }
    }
}
