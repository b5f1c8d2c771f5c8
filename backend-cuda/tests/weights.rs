//! Powers that are read as weights alone, by products with 16 bits and by sums: the short form, and how far it is from the
//! exact value in what is read (docs/gpu-math.md, docs/decisions/0033).

mod common;

use common::{Value, both, tensor};
use tilewright_core::data::Data;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::Literal;
use tilewright_core::launch::Grid;
use tilewright_core::tensor::AnyTensor;
use tilewright_cuda::{Options, Target, compile};

const ROWS: usize = 512;
const COLUMNS: usize = 16;

/// Weights of each row times the unit matrix, which are the weights as a product reads them, and their sums.
fn weights(power: &str, elem: ElemType) -> String {
    format!(
        "kernel @weights(%x: view<?x?xf32>, %one: view<?x?x{elem}>, %y: view_mut<?x?xf32>, %l: view_mut<?xf32>) {{
  for %i in 0..{ROWS} step 32 {{
    %s = load %x[%i, 0] : tile<32x{COLUMNS}xf32>
    %unit = load %one[0, 0] : tile<{COLUMNS}x{COLUMNS}x{elem}>
    %p = {power} %s : tile<32x{COLUMNS}xf32>
    %sum = reduce_sum %p axis 1 : tile<32xf32>
    %short = cast %p : tile<32x{COLUMNS}x{elem}>
    %out = dot %short, %unit : tile<32x{COLUMNS}xf32>
    store %y[%i, 0], %out
    store %l[%i], %sum
  }}
}}
"
    )
}
fn text(tir: &str) -> String {
    compile(&common::parse(tir), &Options::new(Target::Sm90a, 32)).unwrap_or_else(|e| panic!("{e}")).printed.text
}

#[test]
fn a_weight_is_one_product_and_one_instruction_and_of_two_the_instruction() {
    for elem in [ElemType::F16, ElemType::BF16] {
        let (exp, exp2) = (text(&weights("exp", elem)), text(&weights("exp2", elem)));
        assert!(exp.contains("ex2.approx.ftz.f32") && !exp.contains("min.f32"), "{exp}");
        assert!(exp2.contains("ex2.approx.ftz.f32") && !exp2.contains("ex2.approx.f32"), "{exp2}");
        assert_eq!(exp.matches("mul.rn.f32").count(), exp2.matches("mul.rn.f32").count() + 32 * COLUMNS / 32);
    }
}
#[test]
fn a_power_that_something_else_reads_keeps_all_its_digits() {
    let read = [
        // Stored as it is, divided, read by a product as f32, rounded for no product.
        ("store %l[%i], %sum", "store %l[%i], %sum\n    store %y[%i, 0], %p"),
        ("%short = cast %p", "%half = div %p, %s : tile<32x16xf32>\n    keep %half\n    %short = cast %p"),
        ("dot %short, %unit", "dot %short, %unit, %p"),
        ("store %y[%i, 0], %out", "keep %short"),
    ];
    for (from, to) in read {
        let tir = weights("exp", ElemType::F16);
        assert!(tir.contains(from), "{from}");
        assert!(text(&tir.replace(from, to)).contains("min.f32"), "{to}");
    }
}

/// Half of them near 0, in no order.
fn arguments(range: std::ops::Range<f64>) -> AnyTensor {
    let mut data = Data::zeros(ElemType::F32, ROWS * COLUMNS);
    for i in 0..ROWS * COLUMNS {
        let part = ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1u64 << 53) as f64;
        let x = range.start + part * (range.end - range.start);
        let x = if i % 2 == 0 { x } else { x / 16.0 };
        data.set(i, Literal::float(ElemType::F32, x).expect("a float"));
    }
    tensor(ElemType::F32, &[ROWS, COLUMNS], data)
}
fn unit_matrix(elem: ElemType) -> AnyTensor {
    let mut data = Data::zeros(elem, COLUMNS * COLUMNS);
    (0..COLUMNS).for_each(|i| data.set(i * COLUMNS + i, Literal::float(elem, 1.0).expect("a float")));
    tensor(elem, &[COLUMNS, COLUMNS], data)
}
fn float(of: &AnyTensor, i: usize) -> f64 {
    of.data.as_ref().and_then(|data| data.get(i).as_float()).expect("a float")
}

/// In units of the 16-bit type, from the exact value; and of sums, in units of f32 and of the largest argument's size.
#[test]
fn weights_are_rounded_nearly_once_and_their_sums_are_within_the_error_of_their_terms() {
    for (power, exact) in [("exp", libm::exp as fn(f64) -> f64), ("exp2", libm::exp2)] {
        // As far as the type's normal numbers go; below them a weight may be 0.
        for (elem, mantissa, least, range) in [
            (ElemType::F16, 10, -14, -9.0..0.0),
            (ElemType::F16, 10, -14, -9.0..11.0),
            (ElemType::BF16, 7, -126, -86.0..86.0),
        ] {
            let x = arguments(range.clone());
            let outputs = [&[ROWS, COLUMNS][..], &[ROWS]].map(|dims| {
                Value::Tensor(tensor(ElemType::F32, dims, Data::zeros(ElemType::F32, dims.iter().product())))
            });
            let args: Vec<Value> =
                [x.clone(), unit_matrix(elem)].map(Value::Tensor).into_iter().chain(outputs).collect();
            let (_, emulated) = both(&weights(power, elem), Grid::cubes(1), 32, &args);
            for row in 0..ROWS {
                let mut sum = (0.0, 0.0);
                for i in row * COLUMNS..(row + 1) * COLUMNS {
                    let (at, found) = (float(&x, i), float(&emulated[2], i));
                    let right = exact(at);
                    let unit = libm::ldexp(1.0, libm::ilogb(right).max(least) - mantissa);
                    let error = (found - right).abs() / unit;
                    assert!(error <= 0.51, "{power} of {at} in {elem} is {found}, not {right}: {error:.3} units");
                    sum = (sum.0 + right, sum.1 + right * (2.5 + 1.5 * at.abs() + COLUMNS as f64));
                }
                let found = float(&emulated[3], row);
                let error = (found - sum.0).abs();
                assert!(error <= sum.1 / f64::from(1u32 << 23), "{power} in row {row}: {found}, not {}", sum.0);
            }
        }
    }
}
