//! Arguments for any module, and what a run of it leaves.

use std::sync::Arc;
use tilewright_core::data::Data;
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_core::interp::{ControlTrace, Interp, Options, Printed};
use tilewright_core::ir::{Element, Literal, Module, Type};
use tilewright_core::launch::{Arg, Backend, Grid, LaunchConfig, Ready};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_core::with_elem;

/// Faults after which a program goes on.
pub const FAULTS_THAT_GO_ON: [&str; 4] = ["TW-E0310", "TW-E0311", "TW-E0313", "TW-E0314"];

/// Arguments of a launch.
#[derive(Clone, Debug)]
pub struct Given {
    pub grid: Grid,
    args: Vec<One>,
}
#[derive(Clone, Debug)]
enum One {
    Tensor(AnyTensor, bool),
    Scalar(Literal),
}

impl Given {
    /// Short tensors with an element at least for each program along the first axis; small numbers, and every third
    /// element any bits.
    pub fn of(m: &Module, grid: Grid) -> Given {
        let rows = grid.num_programs().unwrap_or(1);
        let one = |(i, ty): (usize, Type)| match ty {
            Type::View(view) => {
                let len = |axis: usize| 1 + (i + axis * 2) % 4;
                let dims: Vec<usize> = (0..view.rank as usize)
                    .map(|axis| if axis == 0 { len(axis).max(rows) } else { len(axis) })
                    .collect();
                let mut data = Data::zeros(view.elem, dims.iter().product());
                (0..data.len()).for_each(|n| data.set(n, some(view.elem, i, n)));
                // In one place: what several cubes write must not lie in each of them.
                One::Tensor(AnyTensor::new(view.elem, dims, Some(data), Placement::at(0, 0)), view.writable)
            }
            Type::Scalar(elem) | Type::Tile(elem, _) => One::Scalar(some(elem, i, i)),
        };
        Given { grid, args: m.params.iter().map(|p| m.ty(*p)).enumerate().map(one).collect() }
    }
    pub fn ready(&mut self, m: &Module) -> Ready<'_> {
        let args = self.args.iter_mut().map(|g| match g {
            One::Tensor(t, true) => Arg::ViewMut(t),
            One::Tensor(t, false) => Arg::View(t),
            One::Scalar(lit) => Arg::Scalar(*lit),
        });
        let config = LaunchConfig { grid: self.grid, ..LaunchConfig::default() };
        Ready { module: Arc::new(m.clone()), args: args.collect(), config }
    }
}
/// Some bits for the `n`-th element of the `i`-th argument.
fn some(elem: ElemType, i: usize, n: usize) -> Literal {
    let small = ((i * 5 + n * 3) % 7) as i128 - 1;
    let bits = (i as u64 * 31 + n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let any = with_elem!(elem, T => Literal { elem, bits: Element::to_bits(<T as Element>::from_bits(bits)) });
    let number = Literal::int(elem, small.max(0)).or_else(|| Literal::float(elem, small as f64));
    if n % 3 == 2 { any } else { number.unwrap_or(any) }
}

/// What a run leaves.
#[derive(Clone, Debug)]
pub struct Ran {
    pub errors: Diagnostics,
    tensors: Vec<Data>,
    prints: Vec<String>,
    /// What timing needs; empty after an error.
    pub control: ControlTrace,
}

/// Ops that a run of `made` may take, which a pass made of a module whose own run takes `steps` at most. For each region
/// that a run enters it counts a step, and in a loop that takes no turn a pass may have found ops to run before it: so a
/// right run can be as many times longer as there are ops, and twice that where a turn looks ahead at the next.
pub fn steps_after(steps: u64, made: &Module) -> u64 {
    2 * steps * (1 + made.num_ops() as u64)
}

/// A run of the interpreter.
pub fn run(m: &Module, grid: Grid, options: Options) -> Ran {
    let mut interp = Interp::new(options);
    let (outcome, ran) = run_on(m, grid, &mut interp, Interp::prints);
    Ran { control: outcome.map_or(ControlTrace::default(), |o| o.control), ..ran }
}
/// A run of any backend, and what it tells besides.
pub fn run_on<B: Backend>(
    m: &Module,
    grid: Grid,
    on: &mut B,
    prints: fn(&B) -> &[Printed],
) -> (Option<B::Report>, Ran) {
    let mut given = Given::of(m, grid);
    let (outcome, errors) = match on.execute(given.ready(m)) {
        Ok(outcome) => (Some(outcome), Diagnostics::default()),
        Err(errors) => (None, errors),
    };
    let tensors = given.args.into_iter().filter_map(|g| match g {
        One::Tensor(t, _) => t.data,
        One::Scalar(_) => None,
    });
    let prints = prints(on).iter().map(|p| format!("{}: {}", p.who, p.text)).collect();
    (outcome, Ran { errors, tensors: tensors.collect(), prints, control: ControlTrace::default() })
}

impl Ran {
    pub fn codes(&self) -> Vec<&'static str> {
        self.errors.0.iter().map(|d| d.code).collect()
    }
    /// Whether every program got to its end.
    pub fn ended(&self) -> bool {
        self.errors.0.iter().all(|d| FAULTS_THAT_GO_ON.contains(&d.code))
    }
    /// What tells this run, which ended, from another that should mean the same; the other may have fewer faults.
    pub fn difference(&self, other: &Ran) -> Option<String> {
        let mine = self.codes();
        if let Some(new) = other.codes().iter().find(|code| !mine.contains(code)) {
            return Some(format!("{new} is new"));
        }
        let same = |a: &Data, b: &Data| a.len() == b.len() && (0..a.len()).all(|i| a.get(i) == b.get(i));
        if let Some(i) = self.tensors.iter().zip(&other.tensors).position(|(a, b)| !same(a, b)) {
            return Some(format!("tensor {i}: {:?} and {:?}", self.tensors[i], other.tensors[i]));
        }
        (self.prints != other.prints).then(|| format!("printed {:?} and {:?}", self.prints, other.prints))
    }
}
