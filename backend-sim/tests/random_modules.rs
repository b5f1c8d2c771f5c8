//! Random modules on the machine model: the values and the printed lines are the interpreter's, and the timing run comes
//! to an end or says with a code why it does not.

#[path = "../../dsl-core/tests/common/mod.rs"]
mod common;

use common::runnable;
use proptest::prelude::*;
use std::sync::Arc;
use tilewright_core::data::Data;
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_core::interp::{Interp, Options, Printed};
use tilewright_core::ir::text::print;
use tilewright_core::ir::{Element, Literal, Module, Type};
use tilewright_core::launch::{Arg, Backend, Grid, LaunchConfig, Ready};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_core::with_elem;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::{Limits, SimBackend};
use tilewright_sim::units::Ps;

/// Faults after which a program goes on.
const RECORDS: [&str; 4] = ["TW-E0310", "TW-E0311", "TW-E0313", "TW-E0314"];
const STEPS: u64 = 4_000;
const LIMITS: Limits = Limits { time: Ps::from_ns(10_000_000), steps: 200_000, free_turns: 20_000 };

/// Some bits for the `n`-th element of the `i`-th argument: small numbers, and every third one anything.
fn some(ty: ElemType, i: usize, n: usize) -> Literal {
    let small = ((i * 5 + n * 3) % 7) as i128 - 1;
    let bits = (i as u64 * 31 + n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let any = with_elem!(ty, T => Literal { elem: ty, bits: Element::to_bits(<T as Element>::from_bits(bits)) });
    let number = Literal::int(ty, small.max(0)).or_else(|| Literal::float(ty, small as f64));
    if n % 3 == 2 { any } else { number.unwrap_or(any) }
}

enum Given {
    Tensor(AnyTensor, bool),
    Scalar(Literal),
}

fn given(m: &Module) -> Vec<Given> {
    let one = |(i, p): (usize, &_)| match m.ty(*p) {
        Type::View(view) => {
            let dims: Vec<usize> = (0..view.rank as usize).map(|axis| 1 + (i + axis * 2) % 4).collect();
            let mut data = Data::zeros(view.elem, dims.iter().product());
            (0..data.len()).for_each(|n| data.set(n, some(view.elem, i, n)));
            Given::Tensor(AnyTensor::new(view.elem, dims, Some(data), Placement::default()), view.writable)
        }
        Type::Scalar(elem) | Type::Tile(elem, _) => Given::Scalar(some(elem, i, i)),
    };
    m.params.iter().enumerate().map(one).collect()
}

#[derive(PartialEq)]
struct Values {
    /// Bits, tensor by tensor.
    tensors: Vec<Vec<u64>>,
    lines: Vec<String>,
}

/// A launch on a backend: the codes of its errors, and what it left behind.
fn run<B: Backend>(m: &Module, grid: Grid, on: &mut B, prints: fn(&B) -> &[Printed]) -> (Vec<&'static str>, Values) {
    let mut given = given(m);
    let args = given.iter_mut().map(|g| match g {
        Given::Tensor(t, true) => Arg::ViewMut(t),
        Given::Tensor(t, false) => Arg::View(t),
        Given::Scalar(lit) => Arg::Scalar(*lit),
    });
    let config = LaunchConfig { grid, ..LaunchConfig::default() };
    let result = on.execute(Ready { module: Arc::new(m.clone()), args: args.collect(), config });
    let codes = result.err().map_or(Vec::new(), |Diagnostics(found)| found.iter().map(|d| d.code).collect());
    let bits = |data: Data| (0..data.len()).map(|i| data.get(i).bits).collect();
    let tensors = given.into_iter().filter_map(|g| match g {
        Given::Tensor(t, _) => t.data.map(bits),
        Given::Scalar(_) => None,
    });
    let tensors = tensors.collect();
    (codes, Values { tensors, lines: prints(on).iter().map(|line| format!("{}: {}", line.who, line.text)).collect() })
}

/// What happened to a module on the model.
#[derive(Default)]
struct Happened {
    computed: bool,
    timed: bool,
}

fn check(m: &Module, grid: Grid) -> Result<Happened, String> {
    let options = Options { max_steps: STEPS, ..Options::default() };
    let (codes, values) = run(m, grid, &mut Interp::new(options), Interp::prints);
    let mut sim = SimBackend::new(Machine::ahbm());
    (sim.limits, sim.options.max_steps) = (LIMITS, STEPS);
    let (sim_codes, sim_values) = run(m, grid, &mut sim, SimBackend::prints);
    let (timing_codes, _) = run(m, grid, &mut sim.clone().timing_only(), SimBackend::prints);
    if let Some(odd) = sim_codes.iter().chain(&timing_codes).find(|code| !code.starts_with("TW-E03")) {
        return Err(format!("{odd}: neither the run nor its timing is at fault"));
    }
    let computed = codes.iter().all(|code| RECORDS.contains(code));
    if !computed {
        return Ok(Happened { computed, timed: timing_codes.is_empty() });
    }
    let is_timing = |code: &&str| code.starts_with("TW-E035");
    if let Some(new) = sim_codes.iter().find(|code| !codes.contains(code) && !is_timing(code)) {
        return Err(format!("{new} comes with the model alone, the interpreter says {codes:?}"));
    }
    if sim_values.lines != values.lines {
        return Err(format!("printed {:?}, the interpreter {:?}", sim_values.lines, values.lines));
    }
    if sim_values != values {
        return Err(format!("{:?}, the interpreter has {:?}", sim_values.tensors, values.tensors));
    }
    Ok(Happened { computed, timed: sim_codes.is_empty() || timing_codes.is_empty() })
}

fn grid(m: &Module) -> Grid {
    Grid::cubes(1).pes(1 + m.num_ops() % 2)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_values_of_random_modules_are_the_interpreters(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
        let m = runnable(&bytes);
        if let Err(found) = check(&m, grid(&m)) {
            prop_assert!(false, "{}\n{}", found, print(&m));
        }
    }
}

/// The property above says something: most random modules run to their end, and are timed.
#[test]
fn most_random_modules_are_computed_and_timed() {
    let (mut computed, mut timed, mut state) = (0, 0, 1u64);
    for _ in 0..60 {
        let bytes: Vec<u8> = (0..600)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        let m = runnable(&bytes);
        let happened = check(&m, grid(&m)).unwrap_or_else(|found| panic!("{found}\n{}", print(&m)));
        computed += usize::from(happened.computed);
        timed += usize::from(happened.timed);
    }
    assert!(computed >= 30 && timed >= 20, "of 60 modules {computed} were computed and {timed} timed");
}
