//! Random modules as PTX on the emulator: values, printed lines and faults are the interpreter's. Modules with approximated
//! functions or float sums, whose bits may differ, have to run all the same.

use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::Kind;
use tilewright_core::interp::{Options, Printed};
use tilewright_core::ir::ops::family;
use tilewright_core::ir::text::print;
use tilewright_core::ir::{Module, Op};
use tilewright_core::launch::{Backend, Grid, Ready};
use tilewright_cuda::Target;
use tilewright_cuda::emulator::Emulator;
use tilewright_cuda::launch::{Outcome, Variants, execute};
use tilewright_test_random::{Purpose, Source, module, run, run_on};

/// The emulator as a backend.
struct Emulated {
    device: Emulator,
    variants: Variants<<Emulator as tilewright_cuda::launch::Device>::Loaded>,
    threads: u32,
    prints: Vec<Printed>,
}

impl Backend for Emulated {
    type Report = Outcome;
    fn execute(&mut self, mut launch: Ready<'_>) -> Result<Outcome, Diagnostics> {
        launch.config.threads = Some(self.threads);
        let mut outcome = execute(&mut self.device, &mut self.variants, launch)?;
        self.prints = std::mem::take(&mut outcome.prints);
        if outcome.errors.is_empty() { Ok(outcome) } else { Err(outcome.errors) }
    }
}

/// Not lowered, too large for registers or shared memory: told with a code, and nothing more to compare.
const DECLINED: [&str; 4] = ["TW-E0610", "TW-E0611", "TW-E0613", "TW-E0614"];

/// Whether a result may differ, most often in its last bits.
fn is_rounded_otherwise(m: &Module) -> bool {
    let mut any = false;
    m.each_op(&mut |op| {
        let data = m.op(op);
        let float = data.results.get(0).is_some_and(|v| m.ty(v).elem().kind() == Kind::Float);
        any |= match &data.op {
            Op::Sqrt(_) | Op::Floor(_) | Op::RoundEven(_) => false,
            family::math!() => true,
            // A random merge keeps no promise that turns may be grouped otherwise.
            Op::MapReduce(_) => true,
            Op::ReduceSum(_) | Op::ScanSum(_) | Op::ReduceWith(_) | Op::ScanWith(_) | Op::Dot(_) => float,
            _ => false,
        };
    });
    any
}

/// What became of one module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Became {
    Declined,
    /// Its run in the interpreter did not end.
    Stuck,
    Ran,
    Compared,
}

fn check(seed: u64, threads: u32) -> Result<Became, String> {
    let m = module(&Source::seeded(seed).some_bytes(300), Purpose::Running);
    let grid = Grid::cubes(1);
    let before = run(&m, grid, Options { max_steps: 4_000, ..Options::default() });
    if !before.ended() {
        return Ok(Became::Stuck);
    }
    let mut device = Emulator::new(Target::Sm90a);
    device.limits.steps = 200_000_000;
    let mut emulated = Emulated { device, variants: Variants::default(), threads, prints: Vec::new() };
    let (_, after) = run_on(&m, grid, &mut emulated, |emulated| &emulated.prints);
    let codes = after.codes();
    if codes.iter().any(|code| DECLINED.contains(code)) {
        return Ok(Became::Declined);
    }
    let known = before.codes();
    if let Some(new) = codes.iter().find(|code| !known.contains(code)) {
        return Err(format!("seed {seed}, {threads} threads: {new} is new\n{}\n{}", after.errors, print(&m)));
    }
    if is_rounded_otherwise(&m) {
        return Ok(Became::Ran);
    }
    match before.difference(&after) {
        None => Ok(Became::Compared),
        Some(difference) => Err(format!("seed {seed}, {threads} threads: {difference}\n{}", print(&m))),
    }
}

/// `TILEWRIGHT_RANDOM_MODULES`: how many more than with the tests.
#[test]
fn random_modules_are_what_the_interpreter_says() {
    let more = std::env::var("TILEWRIGHT_RANDOM_MODULES").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let seeds = 0..200 + more;
    let count = seeds.end;
    let all = seeds.map(|seed| check(seed, if seed % 2 == 0 { 32 } else { 128 }));
    let (became, wrong): (Vec<_>, Vec<_>) = all.partition(Result::is_ok);
    let wrong: Vec<String> = wrong.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{} of {count} are wrong, the first:\n{}", wrong.len(), wrong[0]);
    let number = |what: Became| became.iter().filter(|b| **b == Ok(what)).count() as u64;
    let (compared, ran) = (number(Became::Compared), number(Became::Ran));
    assert!(compared * 20 >= count && (compared + ran) * 5 >= count, "of {count}, {compared} compared and {ran} ran");
}
