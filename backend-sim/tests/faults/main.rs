//! Kernels that cannot be timed, launches that do not fit, runs that stop: the text of each error.
//!
//! `messages`: programs that wait for ever. `loops`: those that never end, and ranges that are none. `data`: what time depends on,
//! and what a PE has room for. `launches`: grids, queues, arguments.

mod data;
mod launches;
mod loops;
mod messages;

use tilewright_core::diag::{Color, render};
use tilewright_core::ir::text::parse;
use tilewright_core::ir::verify::verify;
use tilewright_core::ir::{Literal, Module, Type};
use tilewright_core::launch::{Grid, LaunchConfig};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::{Limits, Operand, User, time};
use tilewright_sim::units::Ps;

fn module(text: &str) -> Module {
    let m = parse(text, "k.tir").unwrap_or_else(|f| panic!("{}", render(&f.diagnostic(text, "k.tir"), Color::Never)));
    verify(&m).unwrap_or_else(|e| panic!("{e}"));
    m
}
/// Every view 8 x 1024, in PE 0 of cube 0; every scalar 3.
fn args(m: &Module) -> Vec<Arg> {
    let arg = |ty: Type| match ty {
        Type::View(v) => {
            Arg::View(AnyTensor::new(v.elem, [8, 1024][2 - v.rank as usize..].to_vec(), None, Placement::at(0, 0)))
        }
        ty => Arg::Scalar(Literal::int(ty.elem(), 3).unwrap()),
    };
    m.params.iter().map(|p| arg(m.ty(*p))).collect()
}
enum Arg {
    View(AnyTensor),
    Scalar(Literal),
}
fn user<'a>(m: &'a Module, args: &'a [Arg], grid: Grid) -> User<'a> {
    let args = args.iter().map(|a| match a {
        Arg::View(t) => Operand::View(t),
        Arg::Scalar(s) => Operand::Scalar(*s),
    });
    let config = LaunchConfig { grid, ..LaunchConfig::default() };
    User { module: m, args: args.collect(), config, first_cube: 0, start: Ps::ZERO, trace: None }
}
const SMALL: Limits = Limits { time: Ps::from_ns(1_000_000), steps: 100_000, free_turns: 10_000 };

/// What is wrong with a kernel body on a cube of two PEs.
fn fault(body: &str) -> String {
    let head = "kernel @k(%x: view<?x?xf16>, %y: view_mut<?x?xf16>, %i: view<?xi32>, %n: i32) {\n";
    let text = format!("{head}{body}}}\n");
    let m = module(&text);
    let args = args(&m);
    match time(&Machine::ahbm(), &[user(&m, &args, Grid::cubes(1).pes(2))], SMALL) {
        Ok(t) => format!("no fault, {}", t.wall),
        Err(found) => show(found.0, &text),
    }
}
fn show(found: Vec<tilewright_core::diag::Diagnostic>, text: &str) -> String {
    let drawn: Vec<String> = found.into_iter().map(|d| render(&d.source("k.tir", text), Color::Never)).collect();
    drawn.join("\n")
}
