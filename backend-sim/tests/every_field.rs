//! Every machine field moves some result: a field that nothing reads would be a silent fallback.

use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::Literal;
use tilewright_core::ir::text::read;
use tilewright_core::launch::{Grid, LaunchConfig};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_sim::engine::Engine;
use tilewright_sim::machine::{FieldId, Kind, Machine, quantity};
use tilewright_sim::timing::{Limits, Operand, Timing, User, time};
use tilewright_sim::units::Ps;

/// A kernel with its grid; every kernel takes `%x` (f16, in PE 0 of cube 0), `%y` to write (the same), `%n` = 3.
struct Case {
    grid: Grid,
    body: &'static str,
}

const ONE: Grid = Grid::cubes(1);

const CASES: &[Case] = &[
    // Scalars, control, elementwise commands, reductions, shapes.
    Case {
        grid: ONE,
        body: "%pe = pe_id : i32
               %row = mul %pe, %n : i32
               %a = load %x[%row, 0] : tile<64x64xf16>
               %one = load %x[0, 0] : f16
               %e = exp %a : tile<64x64xf16>
               %s = sqrt %e : tile<64x64xf16>
               %b = add %s, %a : tile<64x64xf16>
               %mask = cmp lt %a, %b : tile<64x64xi1>
               %c = select %mask, %a, %b : tile<64x64xf16>
               %w = cast %c : tile<64x64xf32>
               %m = reduce_max %w axis 1 : tile<64xf32>
               %p = reduce_with %w axis 1 (%l, %r) { %t = mul %l, %r : f32 yield %t }
               %q = broadcast %m axis 1 : tile<64x64xf32>
               %i = iota axis 1 : tile<64x64xi32>
               %f = splat 1.0:f32 : tile<64x64xf32>
               %h = reshape %q : tile<32x128xf32>
               %tr = trans %a : tile<64x64xf16>
               %u = add %tr, %a : tile<64x64xf16>
               %last = for %k in 0..%n carry (%run = %u) { %next = add %run, %a : tile<64x64xf16> yield %next }
               %yes = cmp eq %pe, 0:i32 : i1
               if %yes { keep %last }
               keep %p keep %i keep %f keep %h keep %one
               atomic_add %y[0, 0], %one
               store %y[0, 0], %last",
    },
    // Products of every width, one with a transposed operand.
    Case {
        grid: ONE,
        body: "%a = load %x[0, 0] : tile<64x64xf16>
               %at = trans %a : tile<64x64xf16>
               %d = dot %a, %at : tile<64x64xf16>
               %w = cast %d : tile<64x64xf32>
               %dw = dot %w, %w : tile<64x64xf32>
               %v = cast %dw : tile<64x64xf64>
               %dv = dot %v, %v : tile<64x64xf64>
               %b = cast %dv : tile<64x64xi8>
               %db = dot %b, %b : tile<64x64xi32>
               keep %db",
    },
    // Two cubes read and write slices of others, near and far, whole units and small ones, and wait for each other.
    Case {
        grid: Grid::cubes(2).pes(8),
        body: "%a = load %x[0, 0] : tile<1024x64xf16>
               %b = load %x[0, 0] : tile<8x64xf16>
               %c = add %b, %b : tile<8x64xf16>
               barrier cube
               store %y[0, 0], %c
               keep %a
               barrier launch
               %d = add %c, %c : tile<8x64xf16>
               keep %d",
    },
    // One far reader: what is under way between port and egress counts.
    Case { grid: Grid::cubes(2), body: "%a = load %x[0, 0] : tile<1024x64xf16> keep %a" },
    // More messages than a queue holds: the sender cannot go on before the receiver begins.
    Case {
        grid: Grid::cubes(1).pes(2),
        body: "%a = load %x[0, 0] : tile<256x64xf16>
               %pe = pe_id : i32
               %left = cmp eq %pe, 0:i32 : i1
               if %left {
                 for %i in 0..12 { send pe.east, %a }
                 for %j in 0..20 { %e = exp %a : tile<256x64xf16> keep %e }
               } else {
                 for %k in 0..40 { %f = exp %a : tile<256x64xf16> keep %f }
                 for %l in 0..12 { %g = recv pe.west : tile<256x64xf16> keep %g }
               }",
    },
    // A launch that needs the third row of cubes.
    Case { grid: Grid::cubes(9), body: "%a = load %x[0, 0] : tile<3x64xf16> %b = exp %a : tile<3x64xf16> keep %b" },
    // A composite that its PE waits for.
    Case {
        grid: ONE,
        body: "%q = load %x[0, 0] : tile<8x64xf16>
               %k = load %x[0, 0] : tile<64x64xf16>
               %s = composite {
                 %p = exp %q : tile<8x64xf16>
                 %d = dot %p, %k : tile<8x64xf16>
                 yield %d
               }
               %e = exp %s : tile<8x64xf16>
               keep %e",
    },
    // Between cubes, and between SIPs.
    Case {
        grid: Grid::cubes(2),
        body: "%a = load %x[0, 0] : tile<256x64xf16>
               %cube = cube_id : i32
               %left = cmp eq %cube, 0:i32 : i1
               if %left { send cube.east, %a } else { %g = recv cube.west : tile<256x64xf16> keep %g }",
    },
    Case {
        grid: Grid::cubes(1).sips(3),
        body: "%a = splat 1.0:f16 : tile<256x64xf16>
               send sip.east, %a
               %g = recv sip.west : tile<256x64xf16>
               barrier launch
               %e = exp %g : tile<256x64xf16>
               keep %e",
    },
    // Composites: operands on chip, streamed, streamed from another cube; with a prologue and an epilogue.
    Case {
        grid: Grid::cubes(2),
        body: "%q = load %x[0, 0] : tile<8x64xf16>
               %k = load %x[0, 0] : tile<64x1024xf16>
               %s = composite { %ds = dot %q, %k : tile<8x1024xf16> yield %ds }
               %r = composite { %b = load %x[0, 0] : tile<64x1024xf16> %dr = dot %q, %b : tile<8x1024xf16> yield %dr }
               %v = load %x[0, 0] : tile<1024x64xf16>
               %m = load %x[0, 0] : tile<8xf16>
               %o, %l = composite {
                 %mw = broadcast %m axis 1 : tile<8x1024xf16>
                 %t = sub %s, %mw : tile<8x1024xf16>
                 %p = exp %t : tile<8x1024xf16>
                 %lm = exp %m : tile<8xf16>
                 %d = dot %p, %v : tile<8x64xf16>
                 %e = add %d, %q : tile<8x64xf16>
                 yield %e, %lm
               }
               %z = composite {
                 %mw.2 = broadcast %m axis 1 : tile<8x1024xf16>
                 %t.2 = sub %r, %mw.2 : tile<8x1024xf16>
                 %p.2 = exp %t.2 : tile<8x1024xf16>
                 %w = load %x[0, 0] : tile<1024x64xf16>
                 %d.2 = dot %p.2, %w : tile<8x64xf16>
                 yield %d.2
               }
               keep %o keep %z",
    },
    // All of the scratch is live at once.
    Case {
        grid: ONE,
        body: "%a = load %x[0, 0] : tile<4096x64xf16>
               %b = exp %a : tile<4096x64xf16>
               keep %b",
    },
];

fn run(machine: &Machine, case: &Case) -> Result<Timing, Diagnostics> {
    let text = format!("kernel @k(%x: view<?x?xf16>, %y: view_mut<?x?xf16>, %n: i32) {{\n{}\n}}\n", case.body);
    let module = read(&text, "case.tir").unwrap_or_else(|e| panic!("{e}"));
    let tensor = |dims: [usize; 2]| AnyTensor::new(ElemType::F16, dims.to_vec(), None, Placement::at(0, 0));
    let (x, y) = (tensor([4096, 1024]), tensor([4096, 64]));
    let args = vec![Operand::View(&x), Operand::View(&y), Operand::Scalar(Literal::from(3i32))];
    let config = LaunchConfig { grid: case.grid, ..LaunchConfig::default() };
    let user = User { module: &module, args, config, first_cube: 0, start: Ps::ZERO, trace: None };
    time(machine, &[user], Limits::default())
}

/// Everything that a run tells, or why there was none.
fn outcome(machine: &Machine, case: &Case) -> String {
    match run(machine, case) {
        Ok(timing) => format!("{} {:?}", timing.wall, timing.sums),
        Err(errors) => format!("{errors}"),
    }
}

fn outcomes(machine: &Machine) -> Vec<String> {
    let starts = [(16, 1), (4, 4)].map(|(users, cubes)| format!("{:?}", machine.user_starts(users, cubes)));
    CASES.iter().map(|case| outcome(machine, case)).chain(starts).collect()
}

/// The shipped machine with one value changed; `None` if the value is out of range.
fn with(id: FieldId, value: u64) -> Option<Machine> {
    Machine::load("ahbm", &[format!("{id}={}", quantity::show(id.row().kind, value))]).ok()
}

#[test]
fn every_field_moves_a_result() {
    let ahbm = Machine::ahbm();
    let usual = outcomes(&ahbm);
    for text in &usual {
        assert!(!text.starts_with("error"), "{text}");
    }
    let idle: Vec<FieldId> = FieldId::all()
        .filter(|id| {
            let value = ahbm.value(*id);
            // What is nothing becomes ten cycles, or ten nanoseconds.
            let changed = if value == 0 { [10, 10_000] } else { [value * 2, value / 2] };
            !changed.iter().filter_map(|v| with(*id, *v)).any(|machine| outcomes(&machine) != usual)
        })
        .collect();
    assert_eq!(idle, []);
}

/// Slowest and fastest, smallest and largest: a run ends with a finite time whose shares are whole, or it is given up.
#[test]
fn every_field_at_its_ends_gives_a_finite_time_or_an_error() {
    for id in FieldId::all() {
        let (min, max) = id.row().range;
        for machine in [min, max].into_iter().filter_map(|value| with(id, value)) {
            for case in CASES {
                let Ok(timing) = run(&machine, case) else { continue };
                assert!(timing.wall <= Ps::from_ns(1_000_000_000_000_000), "{id}: {}", timing.wall);
                for (pe, engine) in timing.pes.iter().flat_map(|pe| Engine::ALL.map(|engine| (pe, engine))) {
                    assert_eq!(pe.stalls.total(engine), timing.wall, "{id} {engine:?}");
                }
            }
        }
    }
}

#[test]
fn half_a_rate_never_makes_a_run_faster() {
    let ahbm = Machine::ahbm();
    let rate = |kind: Kind| match kind {
        Kind::ByteRate | Kind::ElemRate | Kind::FlopRate | Kind::Clock | Kind::Factor => true,
        Kind::Count | Kind::Cycles | Kind::Time | Kind::Size => false,
    };
    for id in FieldId::all().filter(|id| rate(id.row().kind)) {
        let slow = with(id, ahbm.value(id) / 2).unwrap();
        for (i, case) in CASES.iter().enumerate() {
            let [slow, usual] = [&slow, &ahbm].map(|m| run(m, case).unwrap_or_else(|e| panic!("{e}")).wall);
            assert!(slow >= usual, "{id}, case {i}: {slow}, at the full rate {usual}");
        }
    }
}
