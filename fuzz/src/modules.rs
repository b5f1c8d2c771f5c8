//! Modules: random ones, damaged in memory, through all that takes a module: the verifier, and, if it accepts, printer,
//! parser, passes, check, interpreter and timing. Where it accepts, passes must also keep the values of a run.

use crate::{Answer, Input};
use std::sync::LazyLock;
use tilewright_core::check;
use tilewright_core::diag::{Color, Diagnostics, render};
use tilewright_core::interp::Options;
use tilewright_core::ir::builder::renumber;
use tilewright_core::ir::text::{parse, print};
use tilewright_core::ir::{Module, verify};
use tilewright_core::launch::{DEFAULT_QUEUE_DEPTH, Grid};
use tilewright_core::passes;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::{self, User};
use tilewright_sim::units::Ps;
use tilewright_test_random::{Given, Purpose, Source, damage, module, run, steps_after};

/// Ops that the programs of a launch may run: what is found is found in the first few.
const MAX_STEPS: u64 = 1500;
/// What a timing run may take.
const LIMITS: timing::Limits = timing::Limits { time: Ps::from_ns(1_000_000), steps: 20_000, free_turns: 2_000 };

static MACHINE: LazyLock<Machine> = LazyLock::new(Machine::ahbm);

pub fn input(from: &mut Source<'_>) -> Input {
    let len = from.below(500);
    let bytes = from.some_bytes(len);
    let purpose = from.one_of(&[Purpose::Reading, Purpose::Running, Purpose::RunningTogether]);
    let (mut m, whole) = (module(&bytes, purpose), from.once_in(8));
    if !whole {
        damage(&mut m, from);
    }
    let grid = match (purpose, from.once_in(4)) {
        (Purpose::RunningTogether, _) | (_, true) => Grid::cubes(2).pes(2),
        (_, false) => Grid::cubes(1),
    };
    // A damaged module may have no text.
    Input { shown: format!("{grid}, {purpose:?}, {bytes:?}"), check: Box::new(move || check(m, grid)) }
}

fn check(m: Module, grid: Grid) -> Result<Answer, String> {
    if let Err(refused) = verify(&m) {
        coded("the verifier", &refused, "TW-E02")?;
        return if refused.is_empty() { Err("refused without a reason".into()) } else { Ok(Answer::Refused) };
    }
    // In text order, as builders leave it.
    let m = renumber(&m, &mut |_| true);
    let text = print(&m);
    match parse(&text, "k.tir") {
        Ok(again) if again == m => {}
        Ok(_) => return Err(format!("reads back as another module:\n{text}")),
        Err(e) => return Err(format!("{e}: its own text is refused:\n{text}")),
    }
    through_passes(&m, grid).and_then(|()| timed(&m, grid)).map_err(|fault| format!("{fault}\n{text}"))?;
    Ok(Answer::Accepted)
}

fn through_passes(m: &Module, grid: Grid) -> Result<(), String> {
    let optimised = match passes::optimise(m, &passes::Options::default()) {
        Ok(optimised) => Some(optimised),
        Err(e) if m.deny.in_kernel_checks => coded("what is denied", &e, "TW-E0250").map(|()| None)?,
        Err(e) => return Err(format!("nothing is denied: {e}")),
    };
    for remark in optimised.iter().flat_map(|o| &o.remarks) {
        let _ = remark.to_string();
    }
    let options = Options { max_steps: MAX_STEPS, ..Options::default() };
    let before = run(m, grid, options);
    coded("the interpreter", &before.errors, "TW-E0")?;
    let checked = run(m, grid, Options { check_races: true, ..options });
    coded("the check for races", &checked.errors, "TW-E0")?;
    for after in optimised.map(|o| o.module).into_iter().chain([passes::for_timing(m)]) {
        verify(&after).map_err(|e| format!("a pass breaks the module: {e}\n{}", print(&after)))?;
        // With races, or without an end, a run proves nothing.
        if before.ended() && checked.ended() {
            let options = Options { max_steps: steps_after(MAX_STEPS, &after), ..options };
            if let Some(difference) = before.difference(&run(&after, grid, options)) {
                return Err(format!("passes change values: {difference}\n{}", print(&after)));
            }
        }
    }
    Ok(())
}

fn timed(m: &Module, grid: Grid) -> Result<(), String> {
    let m = passes::for_timing(m);
    let options = Options { max_steps: MAX_STEPS, ..Options::default() };
    let ran = run(&m, grid, options);
    let mut given = Given::of(&m, grid);
    let ready = given.ready(&m);
    let shape = check::Shape::of(&ready, options.mesh, DEFAULT_QUEUE_DEPTH);
    let found = check::check(&shape, &check::Limits { max_steps: 10 * MAX_STEPS, max_programs: 64 });
    coded("the check before a run", &found.errors, "TW-E0")?;
    if ran.ended() && !found.errors.is_empty() {
        return Err(format!("the check before a run finds faults where the run has none: {}", found.errors));
    }
    let trace = ran.ended().then_some(&ran.control);
    match timing::time(&MACHINE, &[User { trace, ..User::alone(&m, &ready) }], LIMITS) {
        Ok(_) => Ok(()),
        Err(e) if e.is_empty() => Err("timing fails without a reason".into()),
        Err(e) => coded("timing", &e, "TW-E0"),
    }
}

/// Every error has a code of this kind, and can be drawn.
fn coded(who: &str, found: &Diagnostics, prefix: &str) -> Result<(), String> {
    for d in &found.0 {
        let text = render(d, Color::Never);
        if !text.starts_with(&format!("error[{prefix}")) || d.message.is_empty() {
            return Err(format!("{who} refuses without a code of its own:\n{text}"));
        }
    }
    Ok(())
}
