//! Random modules on the machine model: the values and the printed lines are the interpreter's, and the timing run comes
//! to an end or says with a code why it does not.

use proptest::prelude::*;
use tilewright_core::interp::Options;
use tilewright_core::ir::Module;
use tilewright_core::ir::text::{parse, print};
use tilewright_core::launch::Grid;
use tilewright_core::passes::for_timing;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::{Limits, SimBackend};
use tilewright_sim::units::Ps;
use tilewright_test_random::{Purpose, Source, module, run, run_on, steps_after};

const STEPS: u64 = 4_000;
const LIMITS: Limits = Limits { time: Ps::from_ns(10_000_000), steps: 200_000, free_turns: 20_000 };

/// What happened to a module on the model.
#[derive(Default)]
struct Happened {
    computed: bool,
    timed: bool,
}

fn check(m: &Module, grid: Grid) -> Result<Happened, String> {
    let before = run(m, grid, Options { max_steps: STEPS, ..Options::default() });
    let mut sim = SimBackend::new(Machine::ahbm());
    (sim.limits, sim.options.max_steps) = (LIMITS, steps_after(STEPS, &for_timing(m)));
    let (_, mut on_sim) = run_on(m, grid, &mut sim, SimBackend::prints);
    let (_, timing) = run_on(m, grid, &mut sim.clone().timing_only(), SimBackend::prints);
    let (sim_codes, timing_codes) = (on_sim.codes(), timing.codes());
    if let Some(odd) = sim_codes.iter().chain(&timing_codes).find(|code| !code.starts_with("TW-E03")) {
        return Err(format!("{odd}: neither the run nor its timing is at fault"));
    }
    if !before.ended() {
        return Ok(Happened { computed: false, timed: timing_codes.is_empty() });
    }
    // What only timing can find.
    on_sim.errors.0.retain(|d| !d.code.starts_with("TW-E035"));
    match before.difference(&on_sim) {
        Some(difference) => Err(format!("not the interpreter's: {difference}")),
        None => Ok(Happened { computed: true, timed: sim_codes.is_empty() || timing_codes.is_empty() }),
    }
}

fn grid(m: &Module, purpose: Purpose) -> Grid {
    if purpose == Purpose::RunningTogether { Grid::cubes(2).pes(2) } else { Grid::cubes(1).pes(1 + m.num_ops() % 2) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_values_of_random_modules_are_the_interpreters(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
        for purpose in [Purpose::Running, Purpose::RunningTogether] {
            let m = module(&bytes, purpose);
            if let Err(found) = check(&m, grid(&m, purpose)) {
                prop_assert!(false, "{}\n{}", found, print(&m));
            }
        }
    }
}

/// The model takes a `map_reduce` turn by turn, which is more ops; no fault of a run that would just have ended.
#[test]
fn a_run_that_ends_close_to_its_limit_ends_on_the_model_too() {
    let text = "kernel @close(%n: i32) {
  for %i in 0..990 {
    %sum = map_reduce %j in %n..1 {
      yield %j
    } merge (%a, %b) {
      yield %a
    }
    keep %sum
  }
}
";
    let m = parse(text, "close.tir").unwrap_or_else(|e| panic!("{e}"));
    let ended = |m: &Module| run(m, Grid::cubes(1), Options { max_steps: STEPS, ..Options::default() }).ended();
    assert!(ended(&m) && !ended(&for_timing(&m)), "the run no longer ends close to its limit");
    assert!(check(&m, Grid::cubes(1)).is_ok_and(|happened| happened.computed));
}

/// The property above says something: most random modules run to their end, and are timed.
#[test]
fn most_random_modules_are_computed_and_timed() {
    for purpose in [Purpose::Running, Purpose::RunningTogether] {
        let (mut computed, mut timed) = (0, 0);
        for seed in 0..60 {
            let m = module(&Source::seeded(seed).some_bytes(600), purpose);
            let happened =
                check(&m, grid(&m, purpose)).unwrap_or_else(|found| panic!("seed {seed}: {found}\n{}", print(&m)));
            computed += usize::from(happened.computed);
            timed += usize::from(happened.timed);
        }
        let least = computed >= 30 && timed >= 20;
        assert!(least, "{purpose:?}: of 60 modules {computed} were computed and {timed} timed");
    }
}
