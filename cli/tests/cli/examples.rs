//! Launches of `.tir` texts that say how: `// launch: CUBESxPES depth D ARGUMENTS`, and `// time: …` if they are timed
//! without values. Tensors are zeros.

use tilewright_core::check::{self, Shape, check};
use tilewright_core::data::Data;
use tilewright_core::diag::{Color, Diagnostic, Diagnostics, render};
use tilewright_core::interp::{self, Mesh, Options};
use tilewright_core::ir::text::parse;
use tilewright_core::ir::{Literal, Module, Type, verify};
use tilewright_core::launch::{Arg, Grid, LaunchConfig, Ready};
use tilewright_core::passes;
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_core::unwritten::Unwritten;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::{Limits, Operand, User, time};
use tilewright_sim::units::Ps;

/// Small enough for an example that does not end.
const LIMITS: Limits = Limits { time: Ps::from_ns(1_000_000_000), steps: 100_000, free_turns: 10_000 };

enum Given {
    Tensor(AnyTensor),
    Scalar(i32),
}

/// What is said of a launch; empty if nothing is wrong.
pub fn launched(text: &str) -> String {
    let module = match parse(text, "kernel.tir") {
        Ok(module) => module,
        Err(fault) => return render(&fault.diagnostic(text, "kernel.tir"), Color::Never),
    };
    let found = verify(&module).err().or_else(|| wrong(text, &module)).unwrap_or_default();
    let draw = |d: Diagnostic| render(&d.source("kernel.tir", text), Color::Never);
    found.0.into_iter().map(draw).collect::<Vec<_>>().join("\n")
}

fn wrong(text: &str, module: &Module) -> Option<Diagnostics> {
    let (config, mut given) = launch(text, module);
    if text.lines().any(|line| line.starts_with("// time: ")) {
        let args = given.iter().map(|g| match g {
            Given::Tensor(t) => Operand::View(t),
            Given::Scalar(v) => Operand::Scalar((*v).into()),
        });
        let user = User { module, args: args.collect(), config, first_cube: 0, start: Ps::ZERO, trace: None };
        return time(&Machine::ahbm(), &[user], LIMITS).err();
    }
    let params = given.iter().map(|g| match g {
        Given::Tensor(t) => check::Param::View(t.dims.clone()),
        Given::Scalar(v) => check::Param::Scalar((*v).into()),
    });
    let depth = config.queue_depth.unwrap_or(4);
    let shape = Shape {
        module: passes::expand(module),
        grid: config.grid,
        mesh: Mesh::default(),
        depth,
        params: params.collect(),
    };
    let errors = check(&shape, &check::Limits::default()).errors;
    if !errors.0.is_empty() {
        return Some(errors);
    }
    let types: Vec<Type> = module.params.iter().map(|v| module.ty(*v)).collect();
    let args = given.iter_mut().zip(&types).map(|(g, ty)| match (g, ty) {
        (Given::Scalar(v), _) => Arg::Scalar((*v).into()),
        (Given::Tensor(t), ty) => {
            let written = matches!(ty, Type::View(view) if view.writable);
            if written { Arg::ViewMut(t) } else { Arg::View(t) }
        }
    });
    let ready = Ready { module: module.clone().into(), args: args.collect(), config };
    interp::run(ready, &Options { check_races: true, ..Options::default() }).err()
}

fn launch(text: &str, module: &Module) -> (LaunchConfig, Vec<Given>) {
    let line = text.lines().find_map(|l| l.strip_prefix("// launch: ")).expect("a launch line");
    let mut words = line.split(' ');
    let (cubes, pes) = words.next().and_then(|w| w.split_once('x')).expect("CUBESxPES");
    let number = |w: &str| w.parse::<usize>().expect("a number");
    let depth = words.nth(1).map(|w| w.parse().expect("a depth"));
    let grid = Grid::cubes(number(cubes)).pes(number(pes));
    let timed = text.contains("\n// time: ");
    let given = words.zip(&module.params).map(|(word, param)| match word.split_once('[') {
        None => Given::Scalar(word.parse().expect("an i32")),
        Some((_, lengths)) => {
            let dims: Vec<usize> = lengths.trim_end_matches('?').trim_end_matches(']').split(',').map(number).collect();
            let elem = module.ty(*param).elem();
            let len = dims.iter().product();
            let data = (!timed).then(|| Data::splat(Literal::zero(elem), len));
            let mut tensor = AnyTensor::new(elem, dims, data, Placement::at(0, 0));
            if word.ends_with('?') {
                tensor.unwritten = Unwritten::all(len);
            }
            Given::Tensor(tensor)
        }
    });
    (LaunchConfig { grid, queue_depth: depth, ..LaunchConfig::default() }, given.collect())
}
