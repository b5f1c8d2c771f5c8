//! No run can tell a module from what a pass makes of it: the same bits in memory and the same lines printed, by the
//! interpreter. A fault may go with an op that nothing needs; none may come.

use proptest::prelude::*;
use tilewright_core::interp::Options;
use tilewright_core::ir::text::{parse, print};
use tilewright_core::ir::{Module, verify};
use tilewright_core::launch::Grid;
use tilewright_core::passes::facts::Known;
use tilewright_core::passes::{self, Optimised};
use tilewright_test_random::{Purpose, Ran, Source, module, run, steps_after};

const ONE: Grid = Grid::cubes(1);
const FOUR: Grid = Grid::cubes(2).pes(2);

/// Ops that the programs of a launch may run.
const STEPS: u64 = 4_000;

fn ran(m: &Module, grid: Grid, max_steps: u64) -> Ran {
    run(m, grid, Options { max_steps, ..Options::default() })
}

fn optimised(m: &Module) -> Optimised {
    passes::optimise(m, &passes::Options::default()).expect("nothing is denied")
}

type Pass<'a> = (&'a str, fn(&Module) -> Module);
const PASSES: [Pass<'static>; 8] = [
    ("expand", |m| passes::expand(m).into_owned()),
    ("fold", passes::fold),
    ("dce", passes::dce),
    ("canonicalise", |m| passes::canonicalise(m).0),
    ("cse", |m| passes::cse(m).0),
    ("licm", |m| passes::licm(m, &Known::default()).0),
    ("ahead", |m| passes::ahead(m).0),
    ("optimise", |m| optimised(m).module),
];

fn check(m: &Module, grid: Grid) -> Result<(), TestCaseError> {
    let before = ran(m, grid, STEPS);
    for (name, pass) in PASSES {
        let after = pass(m);
        prop_assert!(verify(&after).is_ok(), "{name}: {}\n{}", verify(&after).unwrap_err(), print(&after));
        if !before.ended() {
            continue;
        }
        if let Some(difference) = before.difference(&ran(&after, grid, steps_after(STEPS, &after))) {
            prop_assert!(false, "{name}: {difference}\n{}\n{}", print(m), print(&after));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn passes_keep_every_bit_of_random_modules(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
        check(&module(&bytes, Purpose::Running), ONE)?;
    }
    #[test]
    fn passes_keep_every_bit_of_programs_that_talk(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
        check(&module(&bytes, Purpose::RunningTogether), FOUR)?;
    }
}

/// A guard each turn for loads ahead, and ops of a loop without a turn that run before it, are no fault of a run that would
/// just have ended.
#[test]
fn a_pass_may_lengthen_a_run_that_ends_close_to_its_limit() {
    let loads = "  for %i in 0..1300 stages 2 {\n    %v = load %x[0] : tile<4xf32>\n  }\n";
    let invariant: String = (0..60).map(|n| format!("      %v{n} = add %i, {n} : i32\n      keep %v{n}\n")).collect();
    let hoisted = format!("  for %i in 0..1900 {{\n    for %j in 0..%none {{\n{invariant}    }}\n  }}\n");
    let ahead: Pass = (loads, |m| passes::ahead(m).0);
    let licm: Pass = (&hoisted, |m| passes::licm(m, &Known::default()).0);
    for (body, pass) in [ahead, licm] {
        let text = format!("kernel @close(%x: view<?xf32>) {{\n  %none = cube_id : i32\n{body}}}\n");
        let m = parse(&text, "close.tir").unwrap();
        let within = |m: &Module| ran(m, ONE, STEPS).ended();
        assert!(within(&m) && !within(&pass(&m)), "the run no longer ends close to its limit:\n{}", print(&pass(&m)));
        check(&m, ONE).unwrap();
    }
}

/// The property above says something: most random modules run to their end, and the passes find work in them.
#[test]
fn random_modules_run_and_give_the_passes_work() {
    for (purpose, grid) in [(Purpose::Running, ONE), (Purpose::RunningTogether, FOUR)] {
        let (mut ended, mut changed) = (0, 0);
        for seed in 0..100 {
            let m = module(&Source::seeded(seed).some_bytes(600), purpose);
            ended += usize::from(ran(&m, grid, STEPS).ended());
            changed += usize::from(optimised(&m).remarks.iter().any(|r| r.verdict == passes::Verdict::Applied));
        }
        assert!(ended >= 50 && changed >= 50, "{purpose:?}: {ended} of 100 ended, {changed} changed");
    }
}
