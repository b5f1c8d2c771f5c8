//! Whether a kernel's output agrees with its reference: the one table of tolerances, and the comparison.
//!
//! A rule is a row of the table. A row-wise rule holds if, for every output row (the last axis),
//! `‖out - ref‖ <= c ‖ref‖` and `max|out - ref| <= c max|ref|`. The f64 reference starts from the same rounded inputs.
//! NaN agrees with nothing, and neither does a wrong shape, or a tensor without elements or with some that nobody wrote.

use ndarray::{ArrayD, ArrayView2};
use std::fmt;
use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::interp::convert;
use tilewright_core::ir::Literal;
use tilewright_core::tensor::AnyTensor;

/// What a kernel computes, as far as its rounding errors are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Copies, integers: equal to the bit of the value.
    Exact,
    /// Each element by a few operations of its own.
    Elementwise,
    /// Rows that are divided by the sum of their exponentials, summed up in f32.
    Softmax,
    /// Rows that are centred and scaled by their mean and variance, summed up in f32.
    Normalised,
    /// Sums of products, accumulated in `acc`.
    Matmul { acc: ElemType },
    /// Softmax of products times values, with running sums in `acc`.
    Attention { acc: ElemType },
}

/// How far an output may be from its reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    Exact,
    /// Units in the last place of the output's element type, from the rounded reference.
    Ulp(u64),
    /// The `c` of the row-wise rule.
    Row(f64),
}

impl Rule {
    /// The table. `out`: the element type of the output.
    pub fn tolerance(self, out: ElemType) -> Tolerance {
        match self {
            Rule::Exact => Tolerance::Exact,
            Rule::Elementwise if out.kind() == Kind::Float => Tolerance::Ulp(1),
            Rule::Elementwise => Tolerance::Exact,
            Rule::Softmax => Tolerance::Row(rounding(out).max(1e-6)),
            // The errors of two sums, of which the second starts from what the first left.
            Rule::Normalised => Tolerance::Row(rounding(out).max(2.0 * matmul(ElemType::F32))),
            Rule::Matmul { acc } if acc.kind() == Kind::Float => Tolerance::Row(matmul(acc).max(rounding(out))),
            Rule::Matmul { .. } => Tolerance::Exact,
            Rule::Attention { acc } => Tolerance::Row(attention(acc).max(rounding(out))),
        }
    }
}

/// ARCHITECTURE 8.
fn attention(acc: ElemType) -> f64 {
    match precision(acc) {
        Precision::Half => 5e-3,
        Precision::Single | Precision::Double | Precision::Whole => 1e-3,
    }
}

/// Errors of a sum of products grow like the square root of their number; these hold up to some thousand an element.
fn matmul(acc: ElemType) -> f64 {
    match precision(acc) {
        Precision::Half => 5e-3,
        Precision::Single => 1e-5,
        Precision::Double => 1e-12,
        Precision::Whole => 0.0,
    }
}

enum Precision {
    Half,
    Single,
    Double,
    /// Not a float: no error at all.
    Whole,
}

fn precision(elem: ElemType) -> Precision {
    use ElemType::*;
    match elem {
        F16 | BF16 | F8E4M3 | F8E5M2 => Precision::Half,
        F32 => Precision::Single,
        F64 => Precision::Double,
        I1 | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 => Precision::Whole,
    }
}

/// One unit in the last place of the output, of a row's largest element.
fn rounding(out: ElemType) -> f64 {
    use ElemType::*;
    match out {
        F16 => 1.0 / 1024.0,
        BF16 => 1.0 / 128.0,
        F32 => 1.0 / (1u64 << 23) as f64,
        F64 => 1.0 / (1u64 << 52) as f64,
        F8E4M3 => 1.0 / 8.0,
        F8E5M2 => 1.0 / 4.0,
        I1 | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 => 0.0,
    }
}

/// One output beside its reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// The kernel's name for it.
    pub output: String,
    pub tolerance: Tolerance,
    /// The largest deviation, in the unit of the tolerance (ULP, or the ratio that `c` bounds); NaN if the two could
    /// not be compared at some element.
    pub worst: f64,
    /// Where and how they disagree first; `None`: they agree.
    pub fault: Option<String>,
    /// Rows that were compared (of the last axis), and rows that there are.
    pub rows: [usize; 2],
}

impl Agreement {
    /// Compares an output with its reference.
    pub fn of(output: &str, out: &AnyTensor, reference: &ArrayD<f64>, rule: Rule) -> Agreement {
        let pairs = if out.dims == reference.shape() {
            elements(out, 0..rows(out), reference.iter().copied())
        } else {
            Err(format!("shape {:?}, the reference has {:?}", out.dims, reference.shape()))
        };
        Agreement::judged(output, out, pairs, rule)
    }
    /// Compares some rows of an output, by their numbers in row-major order, with the rows of a reference.
    pub fn of_rows(output: &str, out: &AnyTensor, some: &[usize], reference: ArrayView2<f64>, rule: Rule) -> Agreement {
        let pairs = if reference.dim() == (some.len(), width(out)) && some.iter().all(|row| *row < rows(out)) {
            elements(out, some.iter().copied(), reference.iter().copied())
        } else {
            Err(format!("shape {:?}, the reference has {} rows of {}", out.dims, some.len(), reference.ncols()))
        };
        Agreement::judged(output, out, pairs, rule)
    }
    fn judged(output: &str, out: &AnyTensor, pairs: Result<Vec<Pair>, String>, rule: Rule) -> Agreement {
        let tolerance = rule.tolerance(out.elem);
        let compared = pairs.as_ref().map_or(0, |pairs| pairs.len() / width(out));
        let (worst, fault) = match pairs {
            Err(fault) => (f64::NAN, Some(fault)),
            Ok(pairs) => match tolerance {
                Tolerance::Exact => by_element(out, &pairs, 0.0, difference),
                Tolerance::Ulp(ulp) => by_element(out, &pairs, ulp as f64, ulps),
                Tolerance::Row(c) => by_row(out, &pairs, c),
            },
        };
        Agreement { output: output.to_string(), tolerance, worst, fault, rows: [compared, rows(out)] }
    }
    pub fn agrees(&self) -> bool {
        self.fault.is_none()
    }
}

/// `most` of the numbers below `of`, spread evenly from the first to the last; all of them if there are no more.
pub fn spread(most: usize, of: usize) -> Vec<usize> {
    if of <= most {
        return (0..of).collect();
    }
    (0..most).map(|i| (i as u128 * (of as u128 - 1) / (most as u128 - 1).max(1)) as usize).collect()
}

/// An element of the output, where it is in row-major order, and what it should be.
struct Pair {
    at: usize,
    found: Literal,
    want: f64,
}

/// Elements of a row, the last axis.
fn width(out: &AnyTensor) -> usize {
    out.dims.last().copied().unwrap_or(1).max(1)
}
fn rows(out: &AnyTensor) -> usize {
    out.len() / width(out)
}

fn elements(
    out: &AnyTensor,
    rows: impl Iterator<Item = usize>,
    reference: impl Iterator<Item = f64>,
) -> Result<Vec<Pair>, String> {
    let data = out.data.as_ref().ok_or("the output has no elements")?;
    if let Some(first) = out.unwritten.ranges().next() {
        return Err(format!(
            "{} of {} elements were never written, the first is {}",
            out.unwritten.len(),
            out.len(),
            place(out, first.start)
        ));
    }
    let places = rows.flat_map(|row| (0..width(out)).map(move |column| row * width(out) + column));
    Ok(places.zip(reference).map(|(at, want)| Pair { at, found: data.get(at), want }).collect())
}

fn by_element(
    out: &AnyTensor,
    pairs: &[Pair],
    bound: f64,
    deviation: fn(Literal, f64) -> f64,
) -> (f64, Option<String>) {
    let (mut worst, mut fault) = (0.0, None);
    for &Pair { at, found, want } in pairs {
        let d = deviation(found, want);
        worst = worse(worst, d);
        if exceeds(d, bound) && fault.is_none() {
            fault = Some(format!("{} is {found}, the reference {want}", place(out, at)));
        }
    }
    (worst, fault)
}

fn by_row(out: &AnyTensor, pairs: &[Pair], c: f64) -> (f64, Option<String>) {
    let (mut worst, mut fault) = (0.0, None);
    for row in pairs.chunk_by(|a, b| a.at / width(out) == b.at / width(out)) {
        let d = row_deviation(row);
        worst = worse(worst, d);
        if exceeds(d, c) && fault.is_none() {
            fault = Some(format!("row {}: deviates by {d:.2e}, allowed {c:.2e}", place(out, row[0].at)));
        }
    }
    (worst, fault)
}

/// The larger of `‖out - ref‖ / ‖ref‖` and `max|out - ref| / max|ref|`; 0 where both rows are zero.
fn row_deviation(row: &[Pair]) -> f64 {
    let (mut error, mut norm, mut max_error, mut max) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
    for &Pair { found, want, .. } in row {
        let e = difference(found, want);
        if !e.is_finite() || !want.is_finite() {
            return f64::NAN;
        }
        (error, norm) = (error + e * e, norm + want * want);
        (max_error, max) = (max_error.max(e), max.max(want.abs()));
    }
    if max_error == 0.0 { 0.0 } else { (error / norm).sqrt().max(max_error / max) }
}

/// NaN exceeds every bound.
fn exceeds(deviation: f64, bound: f64) -> bool {
    deviation.is_nan() || deviation > bound
}

/// NaN stays: a comparison that failed once is worse than any number.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn difference(found: Literal, want: f64) -> f64 {
    match found.as_int() {
        // An i64 above 2^53 is not an f64: compare as integers what the reference could hold.
        Some(n) if want == want.trunc() => (n - want as i128).unsigned_abs() as f64,
        _ => (value(found) - want).abs(),
    }
}

/// Steps between the output and the reference rounded to the output's type.
fn ulps(found: Literal, want: f64) -> f64 {
    if value(found).is_nan() || want.is_nan() {
        return f64::NAN;
    }
    match Literal::float(found.elem, want) {
        Some(want) => (step(found) - step(want)).unsigned_abs() as f64,
        None => difference(found, want),
    }
}

/// The position of a float among all floats of its type, 0 for both zeros.
fn step(x: Literal) -> i128 {
    let sign = 1u64 << (x.elem.bits() - 1);
    let magnitude = i128::from(x.bits & (sign - 1));
    if x.bits & sign == 0 { magnitude } else { -magnitude }
}

fn value(x: Literal) -> f64 {
    convert::literal(x, ElemType::F64).get()
}

/// The coordinates of an element: `[1, 7]`.
fn place(out: &AnyTensor, index: usize) -> String {
    let at = out.strides().into_iter().zip(&out.dims).map(|(s, d)| index / s.max(1) % d);
    format!("{:?}", at.collect::<Vec<_>>())
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tolerance::Exact => f.write_str("exact"),
            Tolerance::Ulp(n) => write!(f, "{n} ULP"),
            Tolerance::Row(c) => write!(f, "{c:.1e} per row"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::arr2;
    use tilewright_core::half::f16;
    use tilewright_core::tensor::Tensor;

    const ATTENTION: Rule = Rule::Attention { acc: ElemType::F32 };
    const MATMUL: Rule = Rule::Matmul { acc: ElemType::F32 };

    fn fault(rule: Rule, out: [[f32; 2]; 2], reference: [[f64; 2]; 2]) -> String {
        let out: Tensor<f32, 2> = arr2(&out).into();
        let got = Agreement::of("o", out.as_any(), &arr2(&reference).into_dyn(), rule);
        got.fault.unwrap_or_else(|| "agrees".to_string())
    }

    #[test]
    fn a_row_is_judged_by_its_norm_and_by_its_largest_element() {
        let out = [[1.0, 0.0], [0.0, 100.0]];
        assert_eq!(fault(ATTENTION, out, [[1.0009, 0.0], [0.0, 100.09]]), "agrees");
        // An error of 0.01 is small beside row 1 but not in its own row.
        let text = "row [0, 0]: deviates by 9.90e-3, allowed 1.00e-3";
        assert_eq!(fault(ATTENTION, out, [[1.01, 0.0], [0.0, 100.0]]), text);
    }
    #[test]
    fn a_zero_row_agrees_with_zero_alone() {
        assert_eq!(fault(ATTENTION, [[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]), "agrees");
        assert!(fault(ATTENTION, [[1e-30, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]).starts_with("row [0, 0]"));
    }
    #[test]
    fn some_rows_are_judged_alone_and_named_by_their_own_place() {
        let out: Tensor<f32, 2> = arr2(&[[1.0, 0.0], [7.0, 7.0], [0.0, 2.0]]).into();
        let of = |rows: &[usize], reference: &[[f64; 2]]| {
            let reference = arr2(reference);
            Agreement::of_rows("o", out.as_any(), rows, reference.view(), ATTENTION)
        };
        let got = of(&[0, 2], &[[1.0, 0.0], [0.0, 2.0]]);
        assert_eq!((got.fault, got.rows), (None, [2, 3]));
        let got = of(&[0, 2], &[[1.0, 0.0], [0.0, 3.0]]);
        assert_eq!(got.fault.as_deref(), Some("row [2, 0]: deviates by 3.33e-1, allowed 1.00e-3"));
        let got = of(&[3], &[[1.0, 0.0]]);
        assert_eq!(got.fault.as_deref(), Some("shape [3, 2], the reference has 1 rows of 2"));
        assert_eq!(Agreement::of("o", out.as_any(), &ndarray::Array2::zeros([3, 2]).into_dyn(), MATMUL).rows, [3, 3]);
    }
    #[test]
    fn a_spread_holds_the_first_and_the_last_and_each_once() {
        assert_eq!(spread(4, 3), [0, 1, 2]);
        assert_eq!(spread(4, 100), [0, 33, 66, 99]);
        assert_eq!(spread(1, 100), [0]);
        let many = spread(64, 32768);
        assert!(many.len() == 64 && many.windows(2).all(|w| w[0] < w[1]), "{many:?}");
    }
    #[test]
    fn nan_agrees_with_nothing() {
        for rule in [Rule::Exact, Rule::Elementwise, Rule::Softmax, Rule::Normalised, MATMUL, ATTENTION] {
            let nan = [[0.0, 0.0], [f32::NAN, 0.0]];
            assert_ne!(fault(rule, nan, [[0.0, 0.0], [f64::NAN, 0.0]]), "agrees", "{rule:?}");
            assert_ne!(fault(rule, nan, [[0.0; 2]; 2]), "agrees", "{rule:?}");
            assert_ne!(fault(rule, [[0.0; 2]; 2], [[0.0, 0.0], [f64::NAN, 0.0]]), "agrees", "{rule:?}");
        }
    }
    #[test]
    fn elementwise_counts_steps_of_the_output_type() {
        let one_up = f32::from_bits(1.0f32.to_bits() + 1);
        let two_up = f32::from_bits(1.0f32.to_bits() + 2);
        assert_eq!(fault(Rule::Elementwise, [[one_up, -0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]), "agrees");
        assert!(fault(Rule::Elementwise, [[two_up, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]).contains("[0, 0]"));
        assert!(fault(Rule::Elementwise, [[0.0, 1.0], [0.0, 0.0]], [[0.0, -1.0], [0.0, 0.0]]).contains("[0, 1]"));
    }
    #[test]
    fn integers_are_exact_beyond_the_range_of_f64() {
        let out = Tensor::<i64, 1>::from_vec([1], vec![(1 << 53) + 1]).unwrap();
        let got = Agreement::of("o", out.as_any(), &ndarray::arr1(&[(1u64 << 53) as f64]).into_dyn(), Rule::Exact);
        assert_eq!((got.agrees(), got.worst), (false, 1.0));
    }
    #[test]
    fn a_wrong_shape_and_a_tensor_without_its_elements_do_not_agree() {
        let reference = ndarray::arr1(&[0.0, 0.0]).into_dyn();
        let short = Tensor::<f16, 1>::zeros([1]);
        let got = Agreement::of("o", short.as_any(), &reference, Rule::Exact);
        assert_eq!(got.fault.as_deref(), Some("shape [1], the reference has [2]"));
        let unwritten = Agreement::of("o", Tensor::<f32, 1>::uninit([2]).as_any(), &reference, Rule::Exact);
        assert_eq!(unwritten.fault.as_deref(), Some("2 of 2 elements were never written, the first is [0]"));
        let empty = Tensor::<f16, 1>::shape_only([2]);
        assert!(!Agreement::of("o", empty.as_any(), &reference, Rule::Exact).agrees());
    }
}
