//! Options that change searches, sizing and reports; agents.

use super::support::{B, decode, near, of, with};
use tilewright_planner::cost::CostModel;
use tilewright_planner::effects::{effects, step_figures};
use tilewright_planner::explore::explore;
use tilewright_planner::fanin::{Join, ladder};
use tilewright_planner::fanout::{Agents, crossover, fanout};
use tilewright_planner::hardware::{Depth, Query, Search, search};
use tilewright_planner::machine::Machine;
use tilewright_planner::memory::{Axis, curve};
use tilewright_planner::model::named;
use tilewright_planner::options::{Opt, Options};
use tilewright_planner::replication::duplicates;
use tilewright_planner::roofline::roofline;
use tilewright_planner::sensitivity::parallelism;
use tilewright_planner::size::{Demand, Sizing, size, size_sharded};
use tilewright_planner::spec_search;
use tilewright_planner::suggest::{SLACK, suggest};
use tilewright_planner::topology::{Phase, Topology, Work};

fn hardware(model: &str, s_kv: u64, b: u64, depth: Depth, cost: CostModel, options: Options) -> Search {
    let model = named(model).expect("a preset");
    let work = Work::new(Phase::Decode, s_kv);
    search(&Query { model: &model, base: &Machine::default(), work, b, depth, cost, options })
}

#[test]
fn sizing_asks_the_sharded_replica() {
    let model = named("Llama 3.1 70B").expect("a preset");
    let demand = Demand { users: 64, context: 8192, tpot_goal_s: 0.1 };
    let machine = Machine::default();
    // The baseline never meets 0.1 s on one PE, and sizes a replica for each user.
    assert_eq!((size(&model, &machine, &demand).batch_at_goal, size(&model, &machine, &demand).replicas), (0, 64));
    let Sizing::Found(s) = size_sharded(&model, &machine, &demand, Options::refined()) else { panic!("reachable") };
    assert!(s.tpot_s <= 0.1 && s.topology.b * s.replicas >= 64, "{s:?}");
    assert!(s.total_pes < size(&model, &machine, &demand).total_pes, "{s:?}");
    let hasty = Demand { tpot_goal_s: 1e-6, ..demand };
    let Sizing::Unreachable(Some((_, fastest))) = size_sharded(&model, &machine, &hasty, Options::refined()) else {
        panic!("a microsecond is too little")
    };
    assert!(fastest > 1e-6);
    // More users never take fewer PEs.
    let pes = |users| match size_sharded(&model, &machine, &Demand { users, ..demand }, Options::refined()) {
        Sizing::Found(s) => s.total_pes,
        Sizing::Unreachable(_) => panic!("reachable"),
    };
    assert!(pes(1) <= pes(64) && pes(64) <= pes(1000));
}

#[test]
fn cost_weighs_knobs_and_caps_the_search() {
    let o = with(Opt::Cost);
    let free = hardware("Llama 3 8B", 4096, 1, Depth::Balanced, CostModel::ASSUMED, o);
    let capped =
        hardware("Llama 3 8B", 4096, 1, Depth::Balanced, CostModel { cap: Some(8.0), ..CostModel::ASSUMED }, o);
    assert!(free.bests[0].cost > 8.0 && capped.bests.iter().all(|j| j.cost <= 8.0));
    // HBM bandwidth, the knob that decode needs, is the one that the cap leaves room for.
    near(capped.bests[0].machine.hbm_bytes_per_s, 512e9);
    assert!(capped.bests[0].point.latency_s >= free.bests[0].point.latency_s);
    // Deployments are searched again: a doubling gains at least what it gains with the deployment kept.
    let kept = hardware("Llama 3 8B", 4096, 1, Depth::Balanced, CostModel::ASSUMED, B);
    let gain = |s: &Search| s.sensitivity.iter().map(|d| d.speedup).fold(0.0, f64::max);
    assert!(gain(&free) >= gain(&kept) && free.sensitivity.iter().all(|d| d.halved_latency_s >= Some(d.latency_s)));
    assert!(kept.sensitivity.iter().all(|d| d.halved_latency_s.is_none()));
}

#[test]
fn feasible_suggests_what_the_searches_accept() {
    let model = named("Llama 3.1 70B").expect("a preset");
    let work = Work::new(Phase::Decode, 8192);
    let at = |o| suggest(&model, &Machine::default(), 1, &work, SLACK, o);
    // tp 16 on the 8 PEs of a cube.
    assert!(!at(B).placed.valid && at(B).topology.tp == 16);
    let better = at(with(Opt::Feasible));
    assert!(better.placed.valid && better.fits && better.memory.used_bytes <= 6e9);
    // Where nothing fits, the closest is told, not the smallest.
    let tiny = Machine { hbm_bytes: 1e6, ..Machine::default() };
    let at = |o| suggest(&model, &tiny, 1, &work, SLACK, o);
    assert_eq!((at(B).fits, at(B).topology.total_pes()), (false, 1));
    assert!(at(with(Opt::Feasible)).topology.total_pes() > 1000);
}

#[test]
fn carry_keeps_the_requests_of_a_two_stage_search() {
    let at = |o| hardware("Llama 3.1 70B", 131_072, 8, Depth::TwoStage, CostModel::EQUAL, o);
    assert_eq!(at(B).bests.len(), 0);
    assert_eq!(at(with(Opt::Carry).with(Opt::Feasible)).bests.len(), 1);
    let model = named("Mixtral 8x7B").expect("a preset");
    let around = Topology { b: 8, ep: 4, ..Topology::default() };
    let work = Work::new(Phase::Decode, 8192);
    let at = |o| parallelism(&model, &Machine::default(), &around, &work, o).around;
    assert_eq!((at(B).b, at(B).ep), (1, 1));
    assert_eq!((at(with(Opt::Carry)).b, at(with(Opt::Carry)).ep), (8, 4));
}

#[test]
fn dedup_scores_every_deployment_once_and_counts_the_rest() {
    let model = named("Llama 3 8B").expect("a preset");
    let at = |o| explore(&model, &Machine::default(), 1, &Work::new(Phase::Decode, 4096), o);
    let (all, once) = (at(B), at(with(Opt::Dedup)));
    let feasible =
        |x: &tilewright_planner::explore::Exploration| -> u64 { x.ranked.iter().map(|i| x.points[*i].count).sum() };
    assert_eq!((feasible(&all), feasible(&once)), (15_724, 15_724));
    assert_eq!(once.points.iter().map(|p| p.count).sum::<u64>(), 28_800);
    // Every distinct result of the whole grid is still there, and no point of the frontier is lost.
    let distinct = |x: &tilewright_planner::explore::Exploration, at: &[usize]| {
        let key = |p: &tilewright_planner::explore::Point| {
            [p.latency_s, p.pes_used, p.efficiency, p.hbm_utilization].map(f64::to_bits)
        };
        let mut keys: Vec<_> = at.iter().map(|i| key(&x.points[*i])).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    assert_eq!(distinct(&all, &all.ranked), distinct(&once, &once.ranked));
    assert_eq!(distinct(&all, &all.pareto), distinct(&once, &once.pareto));
    assert!(once.ranked.len() < 6000 && once.pareto.len() < all.pareto.len(), "{}", once.ranked.len());
}

#[test]
fn roofline_util_counts_on_what_stages_reach_and_on_sparsity() {
    let i = decode("Mixtral 8x7B", "single_pe", 1024);
    let (off, on) = (roofline(&i, 1.0, B), roofline(&i, 1.0, with(Opt::RooflineUtil)));
    near(on.arithmetic_intensity, 0.8 * off.arithmetic_intensity);
    let sparsity = 46_439_333_888.0 / 12_616_466_432.0;
    near(on.critical_batch, 0.8 * off.critical_batch * sparsity);
    // One request reads two experts, 64 read all.
    near(on.weight_s, off.weight_s);
    near(roofline(&i.with_requests(64.0), 1.0, with(Opt::RooflineUtil)).weight_s, {
        let missed = 0.75f64.powi(64);
        (46_439_333_888.0 - 45_097_156_608.0 * missed) * 2.0 / 256e9
    });
}

#[test]
fn dup_report_names_a_tensor_and_its_holders_once() {
    let i = decode("Llama 3.1 70B", "dp4_scope_tp", 131_072);
    let names =
        |o| -> Vec<(&str, f64)> { duplicates(&i, &of(&i, o), o).iter().map(|d| (d.tensor, d.copies)).collect() };
    assert_eq!(names(B), [("attention_weights", 4.0), ("ffn_weights", 16.0), ("whole_replica", 4.0)]);
    assert_eq!(names(with(Opt::DupReport)), [("attention_weights", 16.0), ("ffn_weights", 16.0)]);
}

#[test]
fn transient_memory_moves_along_its_curve() {
    let i = decode("Llama 3 8B", "base", 8192);
    let at = |o| curve(&i, Axis::Requests, 8192, &[1, 4096], o);
    assert_eq!(at(B)[0].transient_bytes, at(B)[1].transient_bytes);
    assert!(at(with(Opt::Transient))[0].transient_bytes < at(with(Opt::Transient))[1].transient_bytes);
}

#[test]
fn effects_name_each_option_that_moved_a_figure_and_by_how_much() {
    let i = decode("Llama 3.1 70B", "base", 131_072);
    let o = with(Opt::KvRead).with(Opt::DupReport);
    let found = effects(o, |o| step_figures(&i, o));
    assert!(found.iter().all(|e| e.option == Opt::KvRead), "{found:?}");
    let latency = found.iter().find(|e| e.figure == "full_model_latency_ns").expect("latency moved");
    near(latency.without, of(&i, B).latency_s * 1e9);
    near(latency.with, of(&i, o).latency_s * 1e9);
}

const AGENTS: Agents<f64> =
    Agents { agents: 8.0, tokens: 20.0, cubes: 4.0, groups: 2.0, remap_bytes: 0.0, table_s: 100e-9 };

/// 8 agents of 20 tokens over 8192: 160 rows a head, 640 over a KV head of four query heads, 256 positions a PE.
#[test]
fn stationary_kv_adds_up_its_closed_forms() {
    let i = decode("Llama 3 8B", "base", 8192);
    let f = fanout(&i, &AGENTS);
    assert_eq!((f.rows_per_head, f.pes), (160.0, 32.0));
    let q = 640.0 * 128.0 * 2.0;
    near(f.q_multicast_s, q / 128e9 + 2.0 * 100e-9 + q / 512e9 + 20e-9);
    // 640 rows fill their tiles: products at the sustained rate outlast K and V of 256 positions.
    near(f.local_s, 4.0 * 640.0 * 128.0 * 256.0 / 6.4e12);
    let r = 640.0 * 130.0 * 4.0;
    let merges = 5.0 * 6.0 * 640.0 * 130.0 / 256e9;
    near(f.reduce_s, 3.0 * (r / 512e9 + 20e-9) + 2.0 * (r / 128e9 + 100e-9) + merges);
    near(f.stationary_s, f.q_multicast_s + f.local_s + f.reduce_s);
    // Work does not grow with the copies of Q: 32 PEs, each its positions.
    near(32.0 * 640.0 * 128.0 * (8192.0 / 32.0), 640.0 * 128.0 * 8192.0);
    assert!(f.independent_s > f.stationary_s);
}

#[test]
fn distributed_q_pays_for_remote_kv_and_wins_with_many_rows_only() {
    let i = decode("Llama 3 8B", "base", 8192);
    let f = fanout(&i, &AGENTS);
    near(f.remote_kv_s, 2.0 * 8192.0 * 128.0 * 2.0 / 32.0 / 128e9);
    let one_group = fanout(&i, &Agents { groups: 1.0, ..AGENTS });
    assert_eq!(one_group.remote_kv_s, 0.0);
    if let Some(rows) = crossover(&i, &AGENTS) {
        let at = |m: f64| fanout(&i, &Agents { agents: m, tokens: 1.0, ..AGENTS });
        assert!(at(rows as f64).distributed_s < at(rows as f64).stationary_s);
        assert!(rows == 1 || at(rows as f64 - 1.0).distributed_s >= at(rows as f64 - 1.0).stationary_s);
    }
    assert_eq!(Agents { groups: 33.0, ..AGENTS }.check(8.0).expect_err("32 PEs").code(), "TW-E0712");
}

#[test]
fn the_ladder_of_joining_counts_tokens() {
    let model = named("Llama 3 8B").expect("a preset");
    let rungs = ladder(&model, &Machine::default(), &Topology::default(), 8192, &Join::default(), Options::refined());
    let tokens: Vec<(&str, u64)> = rungs.iter().map(|r| (r.name, r.tokens)).collect();
    let expected =
        [("full text", 8000), ("schema", 400), ("merged", 280), ("handles", 720), ("reducers", 100), ("latent", 128)];
    assert_eq!(tokens, expected);
    near(rungs[0].kv_bytes, 8000.0 * 131_072.0);
    // Reading the full text takes longer than anything else does.
    assert!(rungs[1..].iter().all(|r| r.join_s < rungs[0].join_s));
    let sixteen = Join { agents: 16, ..Join::default() };
    let rungs = ladder(&model, &Machine::default(), &Topology::default(), 8192, &sixteen, Options::refined());
    assert_eq!(rungs[4].tokens, 4 * 50);
}

#[test]
fn a_search_of_four_rates_finds_where_more_stops_paying() {
    let model = named("Llama 3 8B").expect("a preset");
    let run = |gain| {
        spec_search::search(&model, &Machine::default(), &Topology::default(), 8192, &AGENTS, gain, Options::refined())
    };
    let found = run(0.05);
    assert_eq!(found.specs.len(), 625);
    let base = found.specs.iter().find(|s| s.factors == [1.0; 4]).expect("the base is in the grid");
    near(base.latency_ratio, 1.0);
    assert!(found.doubled.iter().all(|ratio| *ratio <= 1.0 + 1e-12), "{:?}", found.doubled);
    // Prefill and fan-out multiply: products pay most.
    assert!(found.doubled[0] < 0.9, "{:?}", found.doubled);
    // Where a doubling has to gain much, a small machine is enough; that gains of 5 % end is beyond the grid.
    let area = |gain| run(gain).balanced.map(|i| found.specs[i].area_ratio);
    assert!(area(0.45).is_some() && area(0.45) <= area(0.4), "{:?} {:?}", area(0.45), area(0.4));
    assert_eq!(found.balanced, None);
}
