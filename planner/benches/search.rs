//! Speed of the searches, on one core: `cargo bench -p tilewright-planner`. Goals: 28,800 points in 30 ms; 729 machines with 1,440
//! points each in 5 s.

use divan::Bencher;
use divan::counter::ItemsCount;
use tilewright_planner::cost::CostModel;
use tilewright_planner::explore::explore;
use tilewright_planner::hardware::{Depth, Query, search};
use tilewright_planner::machine::Machine;
use tilewright_planner::model::{Model, named};
use tilewright_planner::options::{Opt, Options};
use tilewright_planner::topology::{Phase, Work};

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first pool of the process");
    divan::main();
}

fn model() -> Model {
    named("Llama 3 8B").expect("a preset")
}
fn options(method: &str) -> Options {
    match method {
        "baseline" => Options::BASELINE,
        // As many points as the baseline scores.
        "refined, every point" => Options::refined().without(Opt::Dedup),
        _ => Options::refined(),
    }
}

#[divan::bench(args = ["baseline", "refined, every point", "refined"])]
fn full_search(bencher: Bencher<'_, '_>, method: &str) {
    let (model, machine, work, o) = (model(), Machine::default(), Work::new(Phase::Prefill, 8192), options(method));
    bencher.counter(ItemsCount::new(28_800usize)).bench(|| explore(&model, &machine, 1, &work, o));
}

#[divan::bench(args = ["baseline", "refined"], sample_count = 5)]
fn joint_search_of_729_machines(bencher: Bencher<'_, '_>, method: &str) {
    let (model, machine, o) = (model(), Machine::default(), options(method));
    let work = Work::new(Phase::Decode, 8192);
    let query =
        Query { model: &model, base: &machine, work, b: 1, depth: Depth::Coarse, cost: CostModel::EQUAL, options: o };
    bencher.counter(ItemsCount::new(729usize * 1440)).bench(|| search(&query));
}
