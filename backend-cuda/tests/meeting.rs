//! Barriers between programs: values in any order of blocks, as often as a launch is made; what is missing is caught; who
//! waits in vain is told in the words of the interpreter; and what cannot run at once is refused.

#[macro_use]
mod common;

use common::{Value, difference, interpreted, on, parse, some, tensor};
use insta::assert_snapshot;
use std::sync::Arc;
use tilewright_core::data::Data;
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_core::launch::{Arg, Grid, LaunchConfig, Ready};
use tilewright_cuda::emulator::{Emulator, Loaded, Schedule};
use tilewright_cuda::launch::{Address, Ctas, Device, Outcome, Variants, execute};
use tilewright_cuda::{Compiled, Target};

/// Programs write a part each, meet, and read what the others wrote, several times in a loop.
fn rounds(scope: &str) -> String {
    format!(
        "kernel @rounds(%n: i32, %x: view_mut<?xi32>, %y: view_mut<?xi32>) {{
  %me = pe_id : i32
  %all = num_pes : i32
  %cube = cube_id : i32
  %first = mul %cube, %all : i32
  %0 = add %first, %me : i32
  %mine = mul %0, 64 : i32
  %1 = add %me, 1 : i32
  %2 = rem %1, %all : i32
  %3 = add %first, %2 : i32
  %next = mul %3, 64 : i32
  for %i in 0..%n {{
    %tile = load %y[%mine] : tile<64xi32>
    %4 = splat %i : tile<64xi32>
    %5 = add %tile, %4 : tile<64xi32>
    store %x[%mine], %5
    barrier {scope}
    %6 = load %x[%next] : tile<64xi32>
    %7 = add %6, %tile : tile<64xi32>
    store %y[%mine], %7
    barrier {scope}
  }}
}}
"
    )
}
fn of_programs(programs: usize) -> [Value; 3] {
    let view = || Value::Tensor(some(ElemType::I32, &[64 * programs]));
    [Value::Scalar(3i32.into()), view(), view()]
}
fn schedules() -> impl Iterator<Item = Schedule> {
    std::iter::once(Schedule::InOrder).chain((1..4).map(Schedule::Random))
}
fn emulator(schedule: Schedule) -> Emulator {
    let mut device = Emulator::new(Target::Sm90a);
    device.limits.schedule = schedule;
    device
}

#[test]
fn programs_that_meet_read_what_the_others_wrote_in_any_order() {
    let grids = [Grid::cubes(1), Grid::cubes(5), Grid::cubes(2).pes(3), Grid::cubes(4).pes(8)];
    for (scope, grid) in ["cube", "launch"].iter().flat_map(|scope| grids.map(|grid| (*scope, grid))) {
        let (tir, args) = (rounds(scope), of_programs(grid.cubes * grid.pes));
        let wanted = interpreted(&tir, grid, 64, &args);
        assert!(wanted.errors.is_none(), "{:?}", wanted.errors);
        for (schedule, threads) in schedules().zip([32, 64, 128, 64]) {
            let ran = on(&mut emulator(schedule), &tir, grid, threads, &args);
            assert!(ran.errors.is_none(), "{scope}, {grid}, {schedule:?}: {}", ran.errors.unwrap_or_default());
            for (a, b) in wanted.tensors.iter().zip(&ran.tensors) {
                assert_eq!(difference(a, b, 0), None, "{scope}, {grid}, {schedule:?}");
            }
        }
    }
}

/// The emulator, with a change to the text of each kernel.
struct Changed {
    emulator: Emulator,
    /// What is replaced, and by what.
    change: (&'static str, &'static str),
    changed: usize,
}
impl Device for Changed {
    as_the_emulator_does!();
    fn load(&mut self, compiled: Arc<Compiled>) -> Result<Loaded, Diagnostics> {
        let (mut compiled, (from, to)) = ((*compiled).clone(), self.change);
        self.changed += compiled.printed.text.matches(from).count();
        compiled.printed.text = compiled.printed.text.replace(from, to);
        self.emulator.load(Arc::new(compiled))
    }
    fn alloc(&mut self, bytes: u64) -> Result<Address, Diagnostics> {
        self.emulator.alloc(bytes)
    }
}

#[test]
fn an_arrival_an_order_or_a_barrier_of_the_block_that_is_missing_is_caught_in_any_order() {
    let planted = [
        // Nobody arrives, so that nobody is let go.
        (("atom.release.gpu.global.add.u32", "atom.release.gpu.global.or.b32"), "TW-E0615"),
        // What was written is not published, or not learnt.
        (("atom.release.gpu", "atom.relaxed.gpu"), "TW-E0660"),
        (("ld.acquire.gpu", "ld.relaxed.gpu"), "TW-E0660"),
        // The first thread arrives before the others have written, or they go on before it has met the other programs.
        (("    bar.sync 0;\n", ""), "TW-E0660"),
        (("bar.red.or.pred %p", "setp.ne.u32 %p"), "TW-E0660"),
    ];
    let (grid, args) = (Grid::cubes(1).pes(4), of_programs(4));
    for scope in ["cube", "launch"] {
        for ((change, code), schedule) in planted.iter().flat_map(|fault| schedules().map(move |s| (fault, s))) {
            let mut device = Changed { emulator: emulator(schedule), change: *change, changed: 0 };
            // Four warps, so that the threads of a block are not in step.
            let ran = on(&mut device, &rounds(scope), grid, 128, &args);
            assert!(device.changed >= 2, "{change:?}");
            let told = ran.errors.unwrap_or_else(|| panic!("{change:?} is not caught, {schedule:?}"));
            assert!(told.0.iter().any(|d| d.code == *code), "{change:?}, {schedule:?}: {told}");
        }
    }
}

#[test]
fn a_barrier_where_all_wait_and_none_goes_on_is_no_fault_of_the_kernel() {
    let change = ("atom.release.gpu.global.add.u32", "atom.release.gpu.global.or.b32");
    let mut device = Changed { emulator: emulator(Schedule::InOrder), change, changed: 0 };
    let ran = on(&mut device, &rounds("launch"), Grid::cubes(1).pes(4), 128, &of_programs(4));
    assert_snapshot!(ran.errors.unwrap_or_default().to_string(), @r"
    error[TW-E0615]: all programs came to a barrier, and none of them went on
    --> test.tir:17:5
     = note: here, or at a later barrier
     = note: on a GPU a program waits 2^34 cycles, about 9 s, before it gives up
     = next: please report it, with the kernel and the GPU
     = more: tilewright explain TW-E0615
    ");
}

/// A launch again and again, with the variants and the memory that the first one left.
fn again(
    device: &mut Emulator,
    variants: &mut Variants<Loaded>,
    module: &Arc<tilewright_core::ir::Module>,
    n: i32,
    grid: Grid,
) -> String {
    let mut y = tensor(ElemType::I32, &[8], Data::zeros(ElemType::I32, 8));
    let config = LaunchConfig { grid, threads: Some(64), ..LaunchConfig::default() };
    let args = vec![Arg::Scalar(n.into()), Arg::ViewMut(&mut y)];
    let done = execute(device, variants, Ready { module: module.clone(), args, config }).and_then(Outcome::checked);
    done.map_or_else(
        |e| e.to_string(),
        |_| format!("{:?}", y.data.map(|d| (0..8).map(|i| d.get(i).bits).collect::<Vec<_>>())),
    )
}
const SOME_WAIT: &str = "kernel @some_wait(%n: i32, %y: view_mut<?xi32>) {
  %me = pe_id : i32
  %0 = cmp lt %me, %n : i1
  if %0 {
    barrier cube
  }
  store %y[%me], %me
}
";

#[test]
fn who_waits_in_vain_is_told_as_the_interpreter_does_and_the_next_launch_is_well() {
    let (mut device, mut variants) = (emulator(Schedule::InOrder), Variants::default());
    let module = parse(SOME_WAIT);
    let grid = Grid::cubes(1).pes(8);
    let well = "Some([0, 1, 2, 3, 4, 5, 6, 7])";
    assert_eq!(again(&mut device, &mut variants, &module, 0, grid), well);
    assert_snapshot!(again(&mut device, &mut variants, &module, 3, grid), @r"
    error[TW-E0305]: a barrier that not all programs reach
    --> test.tir:5:5
     = note: PEs 0 to 2 wait here
     = note: PEs 3 to 7 ended without reaching it
     = note: on a GPU a program waits 2^34 cycles, about 9 s, before it gives up
     = next: let all programs of the scope pass the same number of barriers
     = more: tilewright explain TW-E0305
    ");
    let args = [Value::Scalar(3i32.into()), Value::Tensor(some(ElemType::I32, &[8]))];
    let interpreted = interpreted(SOME_WAIT, grid, 64, &args).errors.unwrap_or_default().to_string();
    let headline = |text: &str| text.lines().take(4).collect::<Vec<_>>().join("\n");
    assert_eq!(headline(&again(&mut device, &mut variants, &module, 3, grid)), headline(&interpreted));
    // All of them, none of them, and fewer programs than before meet where some have given up.
    for (n, grid) in [(8, grid), (0, grid), (8, grid), (4, Grid::cubes(2).pes(4))] {
        assert!(again(&mut device, &mut variants, &module, n, grid).starts_with("Some([0, 1, 2, 3"));
    }
}

#[test]
fn a_barrier_of_a_cube_and_one_of_the_launch_that_wait_for_each_other_are_a_deadlock() {
    let tir = "kernel @crossed(%y: view_mut<?xi32>) {
  %me = pe_id : i32
  %0 = cmp eq %me, 0:i32 : i1
  if %0 {
    barrier cube
    barrier launch
  } else {
    barrier launch
    barrier cube
  }
  store %y[%me], %me
}
";
    let args = [Value::Tensor(some(ElemType::I32, &[2]))];
    let told = |ran: common::Ran| ran.errors.unwrap_or_default().0.iter().map(|d| d.code).collect::<Vec<_>>();
    let grid = Grid::cubes(1).pes(2);
    assert_eq!(told(interpreted(tir, grid, 32, &args)), ["TW-E0301"]);
    for schedule in schedules() {
        assert_eq!(told(on(&mut emulator(schedule), tir, grid, 32, &args)), ["TW-E0301"]);
    }
}

#[test]
fn more_programs_than_run_at_once_are_refused_where_they_meet_and_only_there() {
    let meets = |scope: &str| {
        format!("kernel @meets(%y: view_mut<?xi32>) {{\n  barrier {scope}\n  store inside %y[0], 1:i32\n}}\n")
    };
    let mut device = emulator(Schedule::InOrder);
    let mut told = |scope: &str, grid: Grid| {
        let args = [Value::Tensor(some(ElemType::I32, &[1]))];
        on(&mut device, &meets(scope), grid, 1024, &args).errors.map_or("ran".to_string(), |e| e.to_string())
    };
    assert_snapshot!(told("launch", Grid::cubes(34).pes(8)), @r"
    error[TW-E0629]: 34 cubes x 8 PEs wait for each other, and the GPU runs 264 of these programs at once
    --> test.tir:2:3
     = note: they wait here
     = note: a program has 1024 threads
     = next: 264 programs or fewer, each with a larger share
     = more: tilewright explain TW-E0629
    ");
    assert!(told("cube", Grid::cubes(133).pes(2)).starts_with("error[TW-E0629]"));
    // Nobody waits for another.
    assert_eq!(told("cube", Grid::cubes(266)), "ran");
}

#[test]
fn a_loop_that_does_not_count_up_ends_its_program_with_the_interpreters_words() {
    let tir = "kernel @stepped(%step: i32, %y: view_mut<?xi32>) {
  %me = program_id : i32
  for %i in 0..5 step %step {
    store %y[%me], %i
  }
  store %y[%me], 7:i32
}
";
    for step in [0i32, -1, i32::MIN] {
        let args = [Value::Scalar(step.into()), Value::Tensor(some(ElemType::I32, &[1]))];
        let (wanted, ran) = common::runs(tir, Grid::cubes(1), 64, &args);
        let text = |errors: Option<Diagnostics>| errors.unwrap_or_default().to_string();
        assert_eq!(text(ran.errors), text(wanted.errors));
        assert_eq!(difference(&wanted.tensors[0], &ran.tensors[0], 0), None);
    }
    let args = [Value::Scalar((-2i32).into()), Value::Tensor(some(ElemType::I32, &[4]))];
    let ran = on(&mut emulator(Schedule::InOrder), tir, Grid::cubes(2).pes(2), 64, &args);
    assert_snapshot!(ran.errors.unwrap_or_default().to_string(), @r"
    error[TW-E0308]: the step of this loop is -2
    --> test.tir:3:3
     = note: reached by cube 0, PE 0 and 3 more
     = next: a step is at least 1
     = more: tilewright explain TW-E0308
    ");
}

/// On a GPU: the interpreter's values, launch after launch; the words of who waits in vain; as many programs as fit; and
/// what a barrier takes, for the eye.
#[cfg(feature = "cuda")]
#[test]
fn on_a_gpu_programs_meet_as_on_the_emulator() {
    use std::io::Write;
    use std::time::Instant;
    let Some(mut gpu) = common::gpu("programs that meet on a GPU") else { return };
    let sms = gpu.properties().sms as usize;
    for (scope, grid) in
        [("launch", Grid::cubes(sms)), ("cube", Grid::cubes(sms / 4).pes(8)), ("launch", Grid::cubes(2).pes(3))]
    {
        let (tir, args) = (rounds(scope), of_programs(grid.cubes * grid.pes));
        let wanted = interpreted(&tir, grid, 64, &args);
        for threads in [32, 256] {
            let ran = on(&mut gpu, &tir, grid, threads, &args);
            assert!(ran.errors.is_none(), "{scope}, {grid}: {}", ran.errors.unwrap_or_default());
            for (a, b) in wanted.tensors.iter().zip(&ran.tensors) {
                assert_eq!(difference(a, b, 0), None, "{scope}, {grid}");
            }
        }
    }
    let (grid, args) = (Grid::cubes(1).pes(8), [Value::Scalar(3i32.into()), Value::Tensor(some(ElemType::I32, &[8]))]);
    let (emulated, ran) =
        (on(&mut emulator(Schedule::InOrder), SOME_WAIT, grid, 64, &args), on(&mut gpu, SOME_WAIT, grid, 64, &args));
    assert_eq!(ran.errors.unwrap_or_default().to_string(), emulated.errors.unwrap_or_default().to_string());
    for scope in ["cube", "launch"] {
        let grid = Grid::cubes(sms / 8).pes(8);
        let mut took = [100i32, 20_100].map(|n| {
            let mut args = of_programs(grid.cubes * grid.pes);
            args[0] = Value::Scalar(n.into());
            let start = Instant::now();
            let ran = on(&mut gpu, &rounds(scope), grid, 64, &args);
            assert!(ran.errors.is_none());
            start.elapsed()
        });
        took.sort_unstable();
        let each = (took[1] - took[0]).as_nanos() / 40_000;
        let _ = writeln!(std::io::stdout(), "\n{scope}: {each} ns from barrier to barrier, {grid}");
    }
}
