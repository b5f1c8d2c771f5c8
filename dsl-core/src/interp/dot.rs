//! Products of matrices. Operands are converted once to the accumulator's type; products are added to `c` (or zero) in
//! ascending `k`, so results are the same on every host; the sum is rounded once to the result's element.

use super::convert;
use super::number::quiet;
use crate::data::Data;
use crate::elem::ElemType;
use crate::ir::ops::Precision;

/// The lengths of `[m, k] . [k, n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lens {
    pub m: usize,
    pub k: usize,
    pub n: usize,
}

/// `None` where the operands are not what the op takes.
pub(super) fn dot(
    a: &Data,
    b: &Data,
    c: Option<&Data>,
    precision: Precision,
    lens: Lens,
    to: ElemType,
) -> Option<Data> {
    let fits = a.len() == lens.m * lens.k && b.len() == lens.k * lens.n;
    let fits_c = c.is_none_or(|c| c.len() == lens.m * lens.n && c.elem() == to);
    (fits && fits_c).then_some(())?;
    match a.elem() {
        ElemType::F64 => {
            let (Data::F64(a), Data::F64(b)) = (a, b) else { return None };
            let mut acc = match c {
                Some(Data::F64(c)) => c.clone(),
                Some(_) => return None,
                None => vec![0.0; lens.m * lens.n],
            };
            multiply(a, b, &mut acc, lens);
            acc.iter_mut().for_each(|x| *x = quiet(*x));
            Some(Data::F64(acc))
        }
        ElemType::I8 | ElemType::U8 => {
            let (Data::I32(a), Data::I32(b)) = (convert::tile(a, ElemType::I32), convert::tile(b, ElemType::I32))
            else {
                return None;
            };
            let mut acc = match c {
                Some(Data::I32(c)) => c.clone(),
                Some(_) => return None,
                None => vec![0; lens.m * lens.n],
            };
            multiply(&a, &b, &mut acc, lens);
            Some(Data::I32(acc))
        }
        ElemType::F16 | ElemType::BF16 | ElemType::F32 | ElemType::F8E4M3 | ElemType::F8E5M2 => {
            let (a, b) = (operand(a, precision)?, operand(b, precision)?);
            let mut acc = match c {
                Some(c) => operand(c, Precision::Full)?,
                None => vec![0.0; lens.m * lens.n],
            };
            multiply(&a, &b, &mut acc, lens);
            Some(convert::tile(&Data::F32(acc), to))
        }
        ElemType::I1
        | ElemType::I16
        | ElemType::I32
        | ElemType::I64
        | ElemType::U16
        | ElemType::U32
        | ElemType::U64 => None,
    }
}

/// The elements in f32, with the bits that the precision keeps.
fn operand(x: &Data, precision: Precision) -> Option<Vec<f32>> {
    let mut x = match convert::tile(x, ElemType::F32) {
        Data::F32(x) => x,
        _ => return None,
    };
    match precision {
        Precision::Full => {}
        Precision::Tf32 => x.iter_mut().for_each(|x| *x = tf32(*x)),
    }
    Some(x)
}
/// Rounded to 10 mantissa bits, ties to even; a carry goes into the exponent, as it should.
fn tf32(x: f32) -> f32 {
    if !x.is_finite() {
        return x;
    }
    let bits = x.to_bits();
    let half = 0x0FFF + ((bits >> 13) & 1);
    f32::from_bits(bits.wrapping_add(half) & !0x1FFF)
}

/// A type that products are summed in.
trait Acc: Copy {
    fn plus(self, a: Self, b: Self) -> Self;
}
impl Acc for f32 {
    #[inline]
    fn plus(self, a: f32, b: f32) -> f32 {
        self + a * b
    }
}
impl Acc for f64 {
    #[inline]
    fn plus(self, a: f64, b: f64) -> f64 {
        self + a * b
    }
}
impl Acc for i32 {
    #[inline]
    fn plus(self, a: i32, b: i32) -> i32 {
        self.wrapping_add(a.wrapping_mul(b))
    }
}

/// Columns of `b` and `c` that are worked on together, so that four rows of `b` and one of `c` stay in the cache.
const COLUMNS: usize = 512;

fn multiply<T: Acc>(a: &[T], b: &[T], c: &mut [T], Lens { m, k, n }: Lens) {
    for left in (0..n).step_by(COLUMNS) {
        let right = (left + COLUMNS).min(n);
        let row = |at: usize| &b[at * n + left..at * n + right];
        let mut at = 0;
        while at + 4 <= k {
            let (b0, b1, b2, b3) = (row(at), row(at + 1), row(at + 2), row(at + 3));
            for i in 0..m {
                let a = &a[i * k + at..i * k + at + 4];
                let c = &mut c[i * n + left..i * n + right];
                add_four([a[0], a[1], a[2], a[3]], [b0, b1, b2, b3], c);
            }
            at += 4;
        }
        for at in at..k {
            for i in 0..m {
                let (a, c) = (a[i * k + at], &mut c[i * n + left..i * n + right]);
                c.iter_mut().zip(row(at)).for_each(|(c, b)| *c = c.plus(a, *b));
            }
        }
    }
}
/// Four steps of `k` at once, so that a row of `c` is read and written once for four products.
fn add_four<T: Acc>(a: [T; 4], b: [&[T]; 4], c: &mut [T]) {
    let n = c.len();
    let [b0, b1, b2, b3] = b.map(|b| &b[..n]);
    for j in 0..n {
        c[j] = c[j].plus(a[0], b0[j]).plus(a[1], b1[j]).plus(a[2], b2[j]).plus(a[3], b3[j]);
    }
}
