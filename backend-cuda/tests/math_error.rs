//! How far the functions of *Math* are from the exact values, in units of the last place, over arguments of every size:
//! the emulator runs the emitted PTX, with its approximate instructions correctly rounded. `docs/gpu-math.md` states the
//! same bounds, and what the instructions of a GPU add.

mod common;

use common::{Value, both, tensor};
use tilewright_core::data::Data;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::Literal;
use tilewright_core::launch::Grid;

struct Function {
    name: &'static str,
    exact: fn(f64) -> f64,
    /// Largest error in f32 on the emulator, and on a GPU, whose approximate instructions are not correctly rounded.
    f32: f64,
    gpu: f64,
    /// In f64, against libm, which is within one unit itself.
    f64: f64,
}

const FUNCTIONS: &[Function] = &[
    Function { name: "exp", exact: libm::exp, f32: 1.1, gpu: 2.5, f64: 2.0 },
    Function { name: "exp2", exact: libm::exp2, f32: 0.51, gpu: 2.5, f64: 2.0 },
    Function { name: "log", exact: libm::log, f32: 1.5, gpu: 1.5, f64: 2.0 },
    Function { name: "log2", exact: libm::log2, f32: 2.0, gpu: 2.0, f64: 2.5 },
    Function { name: "sqrt", exact: libm::sqrt, f32: 0.5, gpu: 0.5, f64: 0.5 },
    Function { name: "rsqrt", exact: |x| 1.0 / libm::sqrt(x), f32: 0.51, gpu: 2.0, f64: 1.0 },
    Function { name: "tanh", exact: libm::tanh, f32: 2.0, gpu: 2.5, f64: 3.0 },
    Function { name: "erf", exact: libm::erf, f32: 1.5, gpu: 2.0, f64: 2.5 },
    Function { name: "sin", exact: libm::sin, f32: 2.0, gpu: 2.5, f64: 2.5 },
    Function { name: "cos", exact: libm::cos, f32: 2.0, gpu: 2.5, f64: 2.5 },
];

const STEP: usize = 1024;
const ARGUMENTS: usize = 16 * STEP;

fn run(name: &str, elem: ElemType, arguments: Data) -> Data {
    let n = arguments.len();
    let tir = format!(
        "kernel @{name}(%x: view<?x{elem}>, %y: view_mut<?x{elem}>) {{
  for %i in 0..{n} step {STEP} {{
    %0 = load %x[%i] : tile<{STEP}x{elem}>
    %1 = {name} %0 : tile<{STEP}x{elem}>
    store %y[%i], %1
  }}
}}
"
    );
    let args = [tensor(elem, &[n], arguments), tensor(elem, &[n], Data::zeros(elem, n))].map(Value::Tensor);
    let (_, emulated) = both(&tir, Grid::cubes(1).pes(1), 128, &args);
    emulated.last().and_then(|t| t.data.clone()).expect("the tensor has data")
}

/// Half spread over all bit patterns, half over what is near: the same numbers in every run.
fn arguments(elem: ElemType, n: usize) -> Data {
    let mut data = Data::zeros(elem, n);
    for i in 0..n {
        let spread = (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let near = (spread >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
        let sizes = [0.01, 1.0, 4.0, 16.0, 100.0, 1500.0, 1e5, 1e7];
        let literal = match i % 2 {
            0 => Literal { elem, bits: spread >> (64 - elem.bits()) },
            _ => Literal::float(elem, near * sizes[i / 2 % sizes.len()]).expect("a float type"),
        };
        data.set(i, literal);
    }
    data
}
/// All of a 16-bit type.
fn all(elem: ElemType) -> Data {
    let mut data = Data::zeros(elem, 1 << 16);
    (0..1 << 16).for_each(|i| data.set(i, Literal { elem, bits: i as u64 }));
    data
}

/// The spacing of the type's numbers at this size.
fn unit(elem: ElemType, exact: f64) -> f64 {
    let (mantissa, least) = match elem {
        ElemType::F16 => (10, -14),
        ElemType::BF16 => (7, -126),
        ElemType::F32 => (23, -126),
        _ => (52, -1022),
    };
    let exponent = if exact == 0.0 { least } else { libm::ilogb(exact).max(least) };
    libm::ldexp(1.0, exponent - mantissa)
}
/// The largest error and its argument.
fn worst(f: &Function, elem: ElemType, arguments: Data) -> (f64, String) {
    let results = run(f.name, elem, arguments.clone());
    let mut worst = (0.0, String::new());
    for i in 0..arguments.len() {
        let (x, y) = (arguments.get(i), results.get(i));
        let (Some(x), Some(found)) = (x.as_float(), y.as_float()) else { continue };
        let exact = (f.exact)(x);
        // What rounds to infinity is a large number more than infinity is.
        let rounded = Literal::float(elem, exact).and_then(|l| l.as_float()).unwrap_or(exact);
        let same = found == rounded && (found != 0.0 || found.is_sign_negative() == rounded.is_sign_negative());
        let error = match () {
            () if same || found.is_nan() && exact.is_nan() => (found - exact).abs() / unit(elem, exact),
            () if found.is_nan() || exact.is_nan() || !exact.is_finite() => f64::INFINITY,
            () if found == 0.0 && rounded == 0.0 => f64::INFINITY,
            () => (found - exact).abs() / unit(elem, exact),
        };
        let error = if error.is_nan() || same && !found.is_finite() { 0.0 } else { error };
        if error > worst.0 {
            worst = (error, format!("{} of {x:e} is {found:e}, not {exact:e}", f.name));
        }
    }
    worst
}

fn within(elem: ElemType, bound: fn(&Function) -> f64, arguments: fn() -> Data) {
    let mut wrong = Vec::new();
    for f in FUNCTIONS {
        let (error, at) = worst(f, elem, arguments());
        println!("{:<6} {elem}: {error:.3}", f.name);
        if error > bound(f) {
            wrong.push(format!("{error:.3} units of {elem}: {at}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn f32_functions_are_within_their_bounds() {
    within(ElemType::F32, |f| f.f32, || arguments(ElemType::F32, ARGUMENTS));
}
#[test]
fn f64_functions_are_within_their_bounds() {
    within(ElemType::F64, |f| f.f64, || arguments(ElemType::F64, ARGUMENTS));
}
/// Through f32 and rounded once: for every argument the exact result rounded, but where that is nearly a tie.
#[test]
fn f16_functions_are_rounded_nearly_once_for_every_argument() {
    within(ElemType::F16, |_| 0.501, || all(ElemType::F16));
}
#[test]
fn bf16_functions_are_rounded_nearly_once_for_every_argument() {
    within(ElemType::BF16, |_| 0.501, || all(ElemType::BF16));
}

/// The largest error of an f32 function over every f32, as the f64 function of the same kernel sees it.
fn over_all_f32(name: &str) -> String {
    let t = |elem: &str| format!("tile<{STEP}x{elem}>");
    let (f32s, f64s, i32s, i64s, i1s) = (t("f32"), t("f64"), t("i32"), t("i64"), t("i1"));
    let blocks = (1u64 << 32) / STEP as u64;
    format!(
        "kernel @{name}(%out: view_mut<?xf64>) {{
  %first = program_id : i32
  %n = num_programs : i32
  %worst = for %k in %first..{blocks} step %n carry (%most = 0.0:f64) {{
    %block = mul %k, {STEP} : i32
    %blocks = splat %block : {i32s}
    %place = iota axis 0 : {i32s}
    %bits = add %blocks, %place : {i32s}
    %x = bitcast %bits : {f32s}
    %y = {name} %x : {f32s}
    %wide = cast %x : {f64s}
    %exact = {name} %wide : {f64s}
    %found = cast %y : {f64s}
    %lost = sub %found, %exact : {f64s}
    %size = abs %lost : {f64s}
    %fields = bitcast %exact : {i64s}
    %mask = splat 9218868437227405312:i64 : {i64s}
    %exponent = and %fields, %mask : {i64s}
    %power = bitcast %exponent : {f64s}
    %least = splat 1.1754943508222875e-38:f64 : {f64s}
    %at = maximum %power, %least : {f64s}
    %units = div %size, %at : {f64s}
    %places = splat 8388608.0:f64 : {f64s}
    %error = mul %units, %places : {f64s}
    %nearest = cast %exact : {f32s}
    %same = cmp eq %y, %nearest : {i1s}
    %half = splat 0.5:f64 : {f64s}
    %small = minimum %error, %half : {f64s}
    %e1 = select %same, %small, %error : {f64s}
    %nan1 = cmp ne %y, %y : {i1s}
    %nan2 = cmp ne %exact, %exact : {i1s}
    %differ = xor %nan1, %nan2 : {i1s}
    %wrong = splat 0x7ff0000000000000:f64 : {f64s}
    %e2 = select %differ, %wrong, %e1 : {f64s}
    %m = reduce_max %e2 axis 0 : f64
    %next = maximum %most, %m : f64
    yield %next
  }}
  store %out[%first], %worst
}}
"
    )
}

#[cfg(feature = "cuda")]
#[test]
fn a_gpu_is_within_its_bounds_for_every_f32() {
    let Some(mut gpu) = common::gpu("functions of every f32 on a GPU") else { return };
    let (cubes, pes) = (132, 8);
    let programs = cubes * pes;
    let mut wrong = Vec::new();
    for f in FUNCTIONS {
        let out = Value::Tensor(tensor(ElemType::F64, &[programs], Data::zeros(ElemType::F64, programs)));
        let ran = common::on(&mut gpu, &over_all_f32(f.name), Grid::cubes(cubes).pes(pes), 128, &[out]);
        assert!(ran.errors.is_none(), "{:?}", ran.errors);
        let data = ran.tensors[0].data.as_ref().expect("the tensor has data");
        let error = (0..programs).filter_map(|i| data.get(i).as_float()).fold(0.0, f64::max);
        println!("{:<6} every f32: {error:.3}", f.name);
        if error > f.gpu {
            wrong.push(format!("{}: {error:.3} units, bound {}", f.name, f.gpu));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
/// The kernel of that test, where it can be checked: a few programs of it agree with the interpreter.
#[test]
fn the_kernel_that_measures_errors_means_what_it_says() {
    let tir = over_all_f32("sqrt").replace(&format!("{}", (1u64 << 32) / STEP as u64), "4");
    let out = Value::Tensor(tensor(ElemType::F64, &[2], Data::zeros(ElemType::F64, 2)));
    let (reference, emulated) = both(&tir, Grid::cubes(2).pes(1), 128, &[out]);
    assert_eq!(common::difference(&reference[0], &emulated[0], 0), None);
    let error = reference[0].data.as_ref().and_then(|data| data.get(0).as_float());
    assert!(error.is_some_and(|e| e > 0.4 && e <= 0.5), "{error:?}");
}
#[test]
fn the_bounds_are_those_of_the_documentation() {
    let page = include_str!("../../docs/gpu-math.md");
    for f in FUNCTIONS {
        let row = format!("| `{}` | {} | {} | {} |", f.name, f.f32, f.gpu, f.f64);
        assert!(page.contains(&row), "docs/gpu-math.md lacks {row}");
    }
}
