//! `fast_math`: what it changes in the text, how far its functions are, and that a launch with it never runs the code of
//! one without.

mod common;

use common::{Value, bind, tensor, tensors};
use std::sync::Arc;
use tilewright_core::data::Data;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::{Literal, Module};
use tilewright_core::launch::{Grid, LaunchConfig, Ready};
use tilewright_cuda::emulator::{Emulator, Loaded};
use tilewright_cuda::launch::{Variants, execute};
use tilewright_cuda::{Options, Target, compile};

const N: usize = 1024;

fn text(op: &str, elem: &str, fast_math: bool) -> String {
    let t = format!("tile<128x{elem}>");
    let tir = format!(
        "kernel @k(%x: view<?x{elem}>, %y: view_mut<?x{elem}>) {{
  %a = load %x[0] : {t}
  %b = load %x[128] : {t}
{op}
  store %y[0], %r
}}
"
    )
    .replace("TILE", &t);
    let options = Options { fast_math, ..Options::new(Target::Sm90a, 128) };
    compile(&common::parse(&tir), &options).unwrap_or_else(|e| panic!("{e}")).printed.text
}

#[test]
fn a_product_and_a_sum_may_become_one_only_if_asked() {
    for elem in ["f16", "f32", "f64"] {
        let op = "  %p = mul %a, %b : TILE\n  %r = add %p, %a : TILE";
        let (plain, fast) = (text(op, elem, false), text(op, elem, true));
        assert!(plain.contains(&format!("mul.rn.{elem}")) && plain.contains(&format!("add.rn.{elem}")), "{plain}");
        // Without a rounding modifier ptxas may contract the two (PTX ISA, `mul`, `add`).
        assert!(fast.contains(&format!("mul.{elem}")) && fast.contains(&format!("add.{elem}")), "{fast}");
        assert!(!fast.contains("mul.rn") && !fast.contains("add.rn"), "{fast}");
    }
    let op = "  %p = mul %a, %b : TILE\n  %r = add %p, %a : TILE";
    // Its products and sums are `fma` as they are, each with a rounding of its own.
    assert_eq!(text(op, "bf16", true), text(op, "bf16", false));
}

#[test]
fn functions_are_one_instruction_of_the_hardware() {
    let ops = [
        ("exp", "ex2.approx.f32"),
        ("exp2", "ex2.approx.f32"),
        ("log", "lg2.approx.f32"),
        ("log2", "lg2.approx.f32"),
        ("tanh", "tanh.approx.f32"),
        ("sin", "sin.approx.f32"),
        ("cos", "cos.approx.f32"),
        ("sqrt", "sqrt.approx.f32"),
        ("rsqrt", "rsqrt.approx.f32"),
    ];
    for (op, instruction) in ops {
        let line = format!("  %r = {op} %a : TILE");
        let fast = text(&line, "f32", true);
        // Of each element that a thread holds, and no polynomial beside it.
        assert_eq!(fast.matches(instruction).count(), 4, "{op}: {fast}");
        assert!(!fast.contains("fma.rn"), "{op}: {fast}");
        // f64 has no such instruction.
        assert_eq!(text(&line, "f64", true), text(&line, "f64", false), "{op}");
    }
    let quotient = "  %r = div %a, %b : TILE";
    assert!(text(quotient, "f32", true).contains("div.full.f32"));
    let branches = |fast_math| text(quotient, "f32", fast_math).matches("bra").count();
    assert_eq!(branches(true) + 1, branches(false), "none for what is out of range");
    assert!(!text(quotient, "f32", false).contains("div.full"));
}

/// One device with the variants that it has, and one kernel: a function of `N` f32.
struct Kernel {
    emulator: Emulator,
    variants: Variants<Loaded>,
    module: Arc<Module>,
}
impl Kernel {
    fn of(op: &str) -> Kernel {
        let tir = format!(
            "kernel @{op}(%x: view<?xf32>, %y: view_mut<?xf32>) {{
  %0 = load %x[0] : tile<{N}xf32>
  %1 = {op} %0 : tile<{N}xf32>
  store %y[0], %1
}}
"
        );
        let (emulator, variants) = (Emulator::new(Target::Sm90a), Variants::default());
        Kernel { emulator, variants, module: common::parse(&tir) }
    }
    fn run(&mut self, x: &Data, fast_math: bool) -> Vec<f64> {
        let config = LaunchConfig { grid: Grid::cubes(1), threads: Some(128), fast_math, ..LaunchConfig::default() };
        let of = [x.clone(), Data::zeros(ElemType::F32, N)].map(|data| tensor(ElemType::F32, &[N], data));
        let mut values: Vec<Value> = of.into_iter().map(Value::Tensor).collect();
        let ready = Ready { module: self.module.clone(), args: bind(&self.module, &mut values), config };
        let outcome = execute(&mut self.emulator, &mut self.variants, ready).unwrap_or_else(|e| panic!("{e}"));
        outcome.errors.finish().unwrap_or_else(|e| panic!("{e}"));
        let y = tensors(values).pop().and_then(|t| t.data).expect("the tensor has data");
        (0..N).filter_map(|i| y.get(i).as_float()).collect()
    }
}
/// From `-size` to `size`, or above 0.
fn arguments(size: f64, positive: bool) -> Data {
    let mut data = Data::zeros(ElemType::F32, N);
    for i in 0..N {
        let x = (i as f64 + 0.5) / N as f64;
        let x = if positive { x * size } else { (2.0 * x - 1.0) * size };
        data.set(i, Literal::float(ElemType::F32, x).expect("a float"));
    }
    data
}

/// The rows of `docs/gpu-math.md` where the formula adds to the error of the instruction: `exp` in units of the last place
/// for each unit of the argument, `log` in units.
#[test]
fn what_the_formulas_add_is_within_their_bounds() {
    let unit = |y: f64| libm::ldexp(1.0, libm::ilogb(y).max(-126) - 23);
    let x = arguments(80.0, false);
    for (i, y) in Kernel::of("exp").run(&x, true).into_iter().enumerate() {
        let at = x.get(i).as_float().expect("a float");
        let exact = libm::exp(at);
        assert!((y - exact).abs() <= (0.6 + 1.5 * at.abs()) * unit(exact), "exp of {at}: {y}, not {exact}");
    }
    let x = arguments(1e4, true);
    for (i, y) in Kernel::of("log").run(&x, true).into_iter().enumerate() {
        let at = x.get(i).as_float().expect("a float");
        let exact = libm::log(at);
        assert!((y - exact).abs() <= 2.0 * unit(exact), "log of {at}: {y}, not {exact}");
    }
}

#[test]
fn a_launch_with_fast_math_has_code_of_its_own() {
    let (mut exp, x) = (Kernel::of("exp"), arguments(80.0, false));
    let (exact, fast) = (exp.run(&x, false), exp.run(&x, true));
    assert_ne!(exact, fast, "far from 0 the short formula loses digits");
    assert_eq!(exp.run(&x, false), exact);
    assert_eq!(exp.run(&x, true), fast);
}
