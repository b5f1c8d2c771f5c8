//! What each op does to one element, against oracles that share nothing with it: i128, Rust's `as`, formulas of the fp8
//! standard, searches over all codes.

use half::{bf16, f16};
use tilewright_core::elem::{Class, ElemType, F8E4M3, F8E5M2, Kind};
use tilewright_core::half;
use tilewright_core::interp::{RecordKind, scalar};
use tilewright_core::ir::ops::{self, Pred, ResultType};
use tilewright_core::ir::{Element, Literal, Op, Type, ValueId};

const A: ValueId = ValueId(0);
const B: ValueId = ValueId(1);
const C: ValueId = ValueId(2);

fn eval(op: impl Into<Op>, operands: &[Literal]) -> Literal {
    let op = op.into();
    let ty = match &op {
        Op::Cast(o) => o.to.0,
        Op::Bitcast(o) => o.to.0,
        Op::Cmp(_) => Type::BOOL,
        Op::Select(_) => Type::Scalar(operands[1].elem),
        _ => Type::Scalar(operands[0].elem),
    };
    scalar::eval(&op, operands, ty).unwrap_or_else(|| panic!("{op:?} of {operands:?}")).value
}
fn cast(x: impl Into<Literal>, to: ElemType) -> Literal {
    eval(ops::Cast { x: A, to: ResultType(Type::Scalar(to)) }, &[x.into()])
}

/// Integers to try: small ones, the ends of each type, and their neighbours.
fn integers(elem: ElemType) -> Vec<i128> {
    let ends = (0..64).step_by(1).flat_map(|n| [1i128 << n, -(1i128 << n), (1i128 << n) - 1]);
    let small = [-7, -6, -3, -2, -1, 0, 1, 2, 3, 5, 6, 7, 100, -100];
    let mut all: Vec<i128> = small.into_iter().chain(ends).filter(|v| Literal::int(elem, *v).is_some()).collect();
    all.sort();
    all.dedup();
    all
}
/// `v` in two's complement of the element's width.
fn wrapped(elem: ElemType, v: i128) -> Literal {
    let bits = elem.bits();
    let low = v & ((1i128 << bits) - 1);
    let v = if elem.kind() == Kind::Signed && low >> (bits - 1) == 1 { low - (1i128 << bits) } else { low };
    Literal::int(elem, v).unwrap()
}

#[test]
fn integers_wrap_truncate_and_survive_zero_and_min() {
    for &elem in ElemType::ALL.iter().filter(|e| e.is(Class::Int)) {
        let (values, width) = (integers(elem), i128::from(elem.bits()));
        let lit = |v: i128| Literal::int(elem, v).unwrap();
        for &a in &values {
            assert_eq!(eval(ops::Neg { x: A }, &[lit(a)]), wrapped(elem, -a));
            assert_eq!(eval(ops::Abs { x: A }, &[lit(a)]), wrapped(elem, a.abs()));
            assert_eq!(eval(ops::Not { x: A }, &[lit(a)]), wrapped(elem, !a));
            for &b in &values {
                let two = |op: Op| eval(op, &[lit(a), lit(b)]);
                // The product of two 64-bit numbers may not fit i128 as unsigned; its bits do.
                let product = a.wrapping_mul(b);
                let high =
                    if elem.kind() == Kind::Unsigned { (product as u128 >> width) as i128 } else { product >> width };
                let over = !(0..width).contains(&b);
                let table: [(Op, i128); 13] = [
                    (ops::Add { a: A, b: B }.into(), a + b),
                    (ops::Sub { a: A, b: B }.into(), a - b),
                    (ops::Mul { a: A, b: B }.into(), product),
                    (ops::MulHi { a: A, b: B }.into(), high),
                    (ops::Div { a: A, b: B }.into(), a.checked_div(b).unwrap_or(0)),
                    (ops::Rem { a: A, b: B }.into(), a.checked_rem(b).unwrap_or(0)),
                    (ops::Maximum { a: A, b: B }.into(), a.max(b)),
                    (ops::Minimum { a: A, b: B }.into(), a.min(b)),
                    (ops::And { a: A, b: B }.into(), a & b),
                    (ops::Or { a: A, b: B }.into(), a | b),
                    (ops::Xor { a: A, b: B }.into(), a ^ b),
                    (ops::Shl { a: A, n: B }.into(), if over { 0 } else { a.wrapping_shl(b as u32) }),
                    (ops::Shr { a: A, n: B }.into(), a >> if over { 64 } else { b }),
                ];
                for (op, want) in table {
                    assert_eq!(two(op.clone()), wrapped(elem, want), "{op:?} of {a} and {b} in {elem}");
                }
            }
        }
    }
}

#[test]
fn division_by_an_integer_zero_gives_zero_and_a_record() {
    for &elem in ElemType::ALL.iter().filter(|e| e.is(Class::Num)) {
        let (one, zero) = (cast(1i32, elem), Literal::zero(elem));
        let fault = |op: Op, b| scalar::eval(&op, &[one, b], Type::Scalar(elem)).map(|e| e.fault);
        let record = elem.is(Class::Int).then_some(RecordKind::DivisionByZero);
        assert_eq!(fault(ops::Div { a: A, b: B }.into(), zero), Some(record), "{elem}");
        assert_eq!(fault(ops::Div { a: A, b: B }.into(), one), Some(None));
        if elem.is(Class::Int) {
            assert_eq!(fault(ops::Rem { a: A, b: B }.into(), zero), Some(record));
            assert_eq!(fault(ops::Mul { a: A, b: B }.into(), zero), Some(None));
        }
    }
}

#[test]
fn truth_values_combine_and_compare() {
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        let two = |op: Op| eval(op, &[a.into(), b.into()]);
        assert_eq!(two(ops::And { a: A, b: B }.into()), (a && b).into());
        assert_eq!(two(ops::Or { a: A, b: B }.into()), (a || b).into());
        assert_eq!(two(ops::Xor { a: A, b: B }.into()), (a != b).into());
        assert_eq!(two(ops::Cmp { pred: Pred::Eq, a: A, b: B }.into()), (a == b).into());
        assert_eq!(eval(ops::Not { x: A }, &[a.into()]), (!a).into());
        assert_eq!(
            eval(ops::Select { mask: A, a: B, b: C }, &[a.into(), 7i32.into(), 9i32.into()]),
            if a { 7 } else { 9 }.into()
        );
    }
}

/// Float to integer, by Rust's `as`, which truncates, saturates and gives 0 for NaN (N01).
#[test]
fn floats_become_integers_as_rust_converts_them() {
    let big = [2f64.powi(31), 2f64.powi(32), 2f64.powi(63), 1e300, -1e300];
    let small = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 510.0, -200.0, 0.9, -0.9, -1.0, 127.5, 255.5, -128.9, 1e9];
    for v in small.into_iter().chain(big) {
        for from in [ElemType::F16, ElemType::BF16, ElemType::F32, ElemType::F64] {
            let x = cast(v, from);
            let v = x.as_float().unwrap();
            let want: [Literal; 8] = [
                (v as i8).into(),
                (v as i16).into(),
                (v as i32).into(),
                (v as i64).into(),
                (v as u8).into(),
                (v as u16).into(),
                (v as u32).into(),
                (v as u64).into(),
            ];
            want.into_iter().for_each(|want| assert_eq!(cast(x, want.elem), want, "{v} of {from}"));
        }
    }
    let eight = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 510.0, -200.0, 0.9, -0.9, -1.0];
    assert_eq!(eight.map(|v| cast(v, ElemType::I8).as_int().unwrap()), [127, -128, 0, 127, -128, 0, 0, -1]);
    assert_eq!(eight.map(|v| cast(v, ElemType::U8).as_int().unwrap()), [255, 0, 0, 255, 0, 0, 0, 0]);
}

#[test]
fn integer_casts_wrap_and_truth_is_nonzero() {
    for &from in ElemType::ALL.iter().filter(|e| e.is(Class::Int)) {
        for v in integers(from) {
            let x = Literal::int(from, v).unwrap();
            for &to in ElemType::ALL.iter().filter(|e| e.is(Class::Int)) {
                assert_eq!(cast(x, to), wrapped(to, v), "{v} of {from} to {to}");
            }
            assert_eq!(cast(x, ElemType::I1), (v != 0).into());
            assert_eq!(cast(x, ElemType::F32), (v as f32).into(), "{v}");
            assert_eq!(cast(x, ElemType::F64), (v as f64).into());
        }
    }
    assert_eq!(cast(true, ElemType::F8E4M3), F8E4M3(0x38).into());
    assert_eq!(cast(f64::NAN, ElemType::I1), true.into());
    assert_eq!(cast(-0.0f32, ElemType::I1), false.into());
}

/// The code of a narrow float nearest to `v`, ties to the even code, by looking at all of them. `limit` is where rounding
/// leaves the finite codes; `beyond` is what stands there.
fn nearest(v: f64, codes: &[(f64, u64)], limit: f64, beyond: u64) -> u64 {
    let sign = if v.is_sign_negative() { codes.len() as u64 } else { 0 };
    if v.abs() >= limit {
        return sign | beyond;
    }
    // `codes` ascends: the two around |v|.
    let above = codes.partition_point(|(x, _)| *x < v.abs());
    let around = codes[above.saturating_sub(1)..(above + 1).min(codes.len())].iter();
    let best = around.min_by(|(x, i), (y, j)| {
        // Exact: both differences of neighbours need few bits.
        (x - v.abs()).abs().total_cmp(&(y - v.abs()).abs()).then((i & 1).cmp(&(j & 1)))
    });
    sign | best.unwrap().1
}
/// Numbers between, at and near the halves of neighbouring codes.
fn probes(codes: &[(f64, u64)]) -> Vec<f64> {
    let between = codes.windows(2).flat_map(|w| {
        let half = w[0].0 + (w[1].0 - w[0].0) / 2.0;
        [w[0].0, half, half.next_up(), half.next_down(), w[0].0 + (w[1].0 - w[0].0) * 0.75]
    });
    between.flat_map(|v| [v, -v]).collect()
}

#[test]
fn a_sign_changes_no_other_bit_not_of_a_signalling_nan_either() {
    let of = |elem: ElemType, bits: u64| Literal { elem, bits };
    for elem in [ElemType::F16, ElemType::BF16] {
        for bits in 0..1 << 16 {
            assert_eq!(eval(ops::Neg { x: A }, &[of(elem, bits)]), of(elem, bits ^ 0x8000));
            assert_eq!(eval(ops::Abs { x: A }, &[of(elem, bits)]), of(elem, bits & 0x7FFF));
        }
    }
    assert_eq!(eval(ops::Neg { x: A }, &[of(ElemType::F32, 0x7F80_0001)]), of(ElemType::F32, 0xFF80_0001));
}

#[test]
fn every_f64_rounds_to_f16_once() {
    let codes: Vec<(f64, u64)> = (0..0x7C00).map(|b| (f64::from(f16::from_bits(b)), u64::from(b))).collect();
    let probes = probes(&codes);
    for v in probes.iter().copied().chain([65519.99, 65520.0, 1e10, f64::INFINITY, 0.1, -0.0, 5e-324]) {
        let got = cast(v, ElemType::F16).bits;
        let sign = if v.is_sign_negative() { 0x8000 } else { 0 };
        let want = sign | (nearest(v.abs(), &codes, 65520.0, 0x7C00) & 0x7FFF);
        assert_eq!(got, want, "{v:e}");
    }
    // As f64 arithmetic would round it through f32, this one comes out one code lower.
    assert_eq!(cast(1.0 + 2f64.powi(-11) + 2f64.powi(-40), ElemType::F16).bits, 0x3C01);
}

#[test]
fn floats_and_integers_round_to_bf16_once() {
    let v = 1.0 + 2f64.powi(-8);
    assert_eq!(cast(v, ElemType::BF16).bits, 0x3F80, "a tie goes to even");
    assert_eq!(cast(v + 2f64.powi(-50), ElemType::BF16).bits, 0x3F81, "and the lowest bit of an f64 breaks it");
    // 2^62 + 2^54 is a tie of bf16; one more is above it, though f64 cannot tell them apart.
    assert_eq!(cast((1i64 << 62) + (1 << 54), ElemType::BF16).bits, 0x5E80);
    assert_eq!(cast((1i64 << 62) + (1 << 54) + 1, ElemType::BF16).bits, 0x5E81);
    assert_eq!(cast(-(1i64 << 62) - (1 << 54) - 1, ElemType::BF16).bits, 0xDE81);
    for bits in [0x7FFF8C22u32, 0x7F800001, 0xFFFF8C22] {
        assert_eq!(cast(f32::from_bits(bits), ElemType::BF16).bits, 0x7FC0, "a NaN stays a NaN, without payload");
    }
    assert_eq!(cast(f32::from_bits(0x7F7FFFFF), ElemType::BF16).bits, 0x7F80);
    assert_eq!(cast(u64::MAX, ElemType::F16).bits, 0x7C00);
}

/// The value of an fp8 code by the formula of the standard.
fn fp8(code: u8, exponent_bits: u32) -> f64 {
    let mantissa_bits = 7 - exponent_bits;
    let (sign, e) =
        (if code >> 7 == 1 { -1.0 } else { 1.0 }, i32::from(code >> mantissa_bits) & ((1 << exponent_bits) - 1));
    let m = f64::from(code & ((1 << mantissa_bits) - 1)) / f64::from(1 << mantissa_bits);
    let bias = (1 << (exponent_bits - 1)) - 1;
    match (exponent_bits, e, code & 0x7F) {
        (4, _, 0x7F) => f64::NAN,
        (5, 31, c) => {
            if c == 0x7C {
                sign * f64::INFINITY
            } else {
                f64::NAN
            }
        }
        (_, 0, _) => sign * m * 2f64.powi(1 - bias),
        _ => sign * (1.0 + m) * 2f64.powi(e - bias),
    }
}

#[test]
fn every_fp8_code_decodes_by_formula_and_encodes_to_itself() {
    for (elem, exponent_bits) in [(ElemType::F8E4M3, 4), (ElemType::F8E5M2, 5)] {
        for code in 0..=255u8 {
            let x = eval(ops::Bitcast { x: A, to: ResultType(Type::Scalar(elem)) }, &[code.into()]);
            let want = fp8(code, exponent_bits);
            for to in [ElemType::F16, ElemType::BF16, ElemType::F32, ElemType::F64] {
                let got = cast(x, to);
                let same = got.as_float().unwrap().to_bits() == want.to_bits()
                    || (want.is_nan() && got.as_float().unwrap().is_nan());
                assert!(same, "{code:02x} to {to}: {got:?}, not {want}");
                match () {
                    () if want.is_nan() => assert_eq!(cast(got, elem).bits, 0x7F),
                    () if want.is_infinite() => assert_eq!(cast(got, elem).bits, u64::from(code) - 1, "saturates"),
                    () => assert_eq!(cast(got, elem).bits, u64::from(code)),
                }
            }
        }
    }
    let e4m3 = |code| fp8(code, 4);
    assert_eq!((e4m3(0x7E), e4m3(0x01)), (448.0, 2f64.powi(-9)));
    assert_eq!((fp8(0x7B, 5), fp8(0x01, 5)), (57344.0, 2f64.powi(-16)));
}

#[test]
fn fp8_encodes_to_the_nearest_code_and_saturates() {
    for (elem, exponent_bits, max) in [(ElemType::F8E4M3, 4, 0x7Eu8), (ElemType::F8E5M2, 5, 0x7B)] {
        let codes: Vec<(f64, u64)> = (0..=max).map(|c| (fp8(c, exponent_bits), u64::from(c))).collect();
        let top = fp8(max, exponent_bits);
        for v in probes(&codes).into_iter().chain([top + 16.0, 1e9, f64::INFINITY, -f64::INFINITY, -0.0]) {
            let sign = if v.is_sign_negative() { 0x80 } else { 0 };
            assert_eq!(cast(v, elem).bits, sign | nearest(v.abs(), &codes, top, u64::from(max)), "{v} to {elem}");
        }
    }
    let e4m3 = |v: f64| cast(cast(v, ElemType::F8E4M3), ElemType::F64).as_float().unwrap();
    assert_eq!(
        [464.0, 500.0, 126.24, 2f64.powi(-10), 3.0 * 2f64.powi(-10)].map(e4m3),
        [448.0, 448.0, 128.0, 0.0, 2f64.powi(-8)]
    );
    assert_eq!(cast(61440f32, ElemType::F8E5M2).bits, 0x7B);
    let codes = [F8E4M3(0x7E).to_bits(), F8E5M2(0x7B).to_bits()];
    assert_eq!(codes, [0x7E, 0x7B]);
}

#[test]
fn max_and_min_ignore_nan_and_order_the_zeros() {
    for elem in [ElemType::F16, ElemType::BF16, ElemType::F32, ElemType::F64] {
        let lit = |v: f64| Literal::float(elem, v).unwrap();
        let (nan, pos, neg) = (cast(f64::NAN, elem), lit(0.0), lit(-0.0));
        let max = |a, b| eval(ops::Maximum { a: A, b: B }, &[a, b]);
        let min = |a, b| eval(ops::Minimum { a: A, b: B }, &[a, b]);
        for (a, b) in [(nan, lit(1.0)), (lit(1.0), nan)] {
            assert_eq!((max(a, b), min(a, b)), (lit(1.0), lit(1.0)));
            assert_eq!(eval(ops::MaxNan { a: A, b: B }, &[a, b]), nan);
            assert_eq!(eval(ops::MinNan { a: A, b: B }, &[a, b]), nan);
        }
        assert_eq!((max(nan, nan), min(nan, nan)), (nan, nan));
        assert_eq!((max(neg, pos), max(pos, neg), max(neg, neg)), (pos, pos, neg));
        assert_eq!((min(neg, pos), min(pos, neg), min(pos, pos)), (neg, neg, pos));
        assert_eq!(max(lit(f64::NEG_INFINITY), nan), lit(f64::NEG_INFINITY));
        assert_eq!(eval(ops::MaxNan { a: A, b: B }, &[lit(2.0), lit(3.0)]), lit(3.0));
    }
}

/// Folding and running must not use identities that IEEE numbers do not have (N07).
#[test]
fn float_arithmetic_is_ieee() {
    let f = |v: f32| Literal::from(v);
    let (inf, nan) = (f(f32::INFINITY), f(f32::NAN));
    assert_eq!(eval(ops::Mul { a: A, b: B }, &[inf, f(0.0)]), nan);
    assert_eq!(eval(ops::Sub { a: A, b: B }, &[inf, inf]), nan);
    assert_eq!(eval(ops::Add { a: A, b: B }, &[f(-0.0), f(0.0)]), f(0.0));
    assert_eq!(eval(ops::Sub { a: A, b: B }, &[f(0.0), f(0.0)]), f(0.0));
    assert_eq!(eval(ops::Neg { x: A }, &[f(0.0)]), f(-0.0));
    assert_eq!(eval(ops::Div { a: A, b: B }, &[f(0.0), f(0.0)]), nan);
    assert_eq!(eval(ops::Div { a: A, b: B }, &[f(1.0), f(-0.0)]), f(f32::NEG_INFINITY));
    assert_eq!(eval(ops::Floor { x: A }, &[f(8388608.5)]), f(8388608.0));
    let tenth = cast(Literal::float(ElemType::F16, 0.1).unwrap(), ElemType::F32);
    assert_eq!(tenth, f(0.099_975_586));
    let exp = eval(ops::Exp { x: A }, &[f(200.0)]);
    assert_eq!(eval(ops::Div { a: A, b: B }, &[f(1.0), eval(ops::Add { a: A, b: B }, &[f(1.0), exp])]), f(0.0));
    let subnormal = f(f32::from_bits(1));
    assert_eq!(eval(ops::Add { a: A, b: B }, &[subnormal, subnormal]), f(f32::from_bits(2)), "subnormals stay");
    for pred in Pred::ALL {
        let yes = eval(ops::Cmp { pred: *pred, a: A, b: B }, &[nan, nan]);
        assert_eq!(yes, (*pred == Pred::Ne).into(), "{pred} of NaN");
    }
}

/// f16 and bf16: the f64 result rounded once is right for these, as f64 holds their exact sums, products and quotients
/// closely enough.
#[test]
fn half_arithmetic_rounds_once() {
    let values = [0.1, 1.0, 1.0009765625, 3.0, 0.333, 2048.0, 1e-5, 60000.0, -7.5, 0.00006];
    for elem in [ElemType::F16, ElemType::BF16] {
        let lits: Vec<Literal> = values.iter().map(|v| Literal::float(elem, f64::from(*v as f32)).unwrap()).collect();
        for (&x, &y) in lits.iter().flat_map(|x| lits.iter().map(move |y| (x, y))) {
            let (a, b) = (x.as_float().unwrap(), y.as_float().unwrap());
            let table: [(Op, f64); 4] = [
                (ops::Add { a: A, b: B }.into(), a + b),
                (ops::Sub { a: A, b: B }.into(), a - b),
                (ops::Mul { a: A, b: B }.into(), a * b),
                (ops::Div { a: A, b: B }.into(), a / b),
            ];
            for (op, want) in table {
                assert_eq!(eval(op, &[x, y]), cast(want, elem), "{a} and {b}");
            }
        }
    }
}

#[test]
fn fma_rounds_once_in_every_float_type() {
    let fma = |a: Literal, b: Literal, c: Literal| eval(ops::Fma { a: A, b: B, c: C }, &[a, b, c]);
    // (1 + 2^-10)^2 = 1 + 2^-9 + 2^-20: the last bit is lost when the product is rounded first.
    let x = Literal::from(f16::from_bits(0x3C01));
    assert_eq!(fma(x, x, f16::from_f32(-1.0).into()), f16::from_f32(2f32.powi(-9) + 2f32.powi(-20)).into());
    // 2^11 + 1 is a tie of f16; the tiny product breaks it, though an f32 sum would drop it.
    let tiny = Literal::from(f16::from_bits(1));
    assert_eq!(fma(tiny, tiny, f16::from_f32(2048.0).into()), f16::from_f32(2048.0).into());
    let one = Literal::from(f16::from_f32(1.0));
    let sum = fma(f16::from_f32(2f32.powi(-11)).into(), Literal::from(f16::from_bits(0x3C01)), one);
    assert_eq!(sum, f16::from_bits(0x3C01).into(), "1 + 2^-11 + 2^-21 lies above the tie");
    let x = 1.0 + 2f64.powi(-30);
    assert_eq!(fma(x.into(), x.into(), (-1.0f64).into()), (2f64.powi(-29) + 2f64.powi(-60)).into());
    let x = 1.0 + 2f32.powi(-13);
    assert_eq!(fma(x.into(), x.into(), (-1.0f32).into()), (2f32.powi(-12) + 2f32.powi(-26)).into());
    let x = Literal::from(bf16::from_bits(0x3F81));
    assert_eq!(fma(x, x, bf16::from_f32(-1.0).into()), bf16::from_f32(2f32.powi(-6) + 2f32.powi(-14)).into());
}

/// Within one unit in the last place of f32 of the host's f64 function.
#[test]
fn functions_are_close_to_their_f64_values() {
    type F64Fn = fn(f64) -> f64;
    let table: [(Op, F64Fn); 11] = [
        (ops::Exp { x: A }.into(), f64::exp),
        (ops::Exp2 { x: A }.into(), f64::exp2),
        (ops::Log { x: A }.into(), f64::ln),
        (ops::Log2 { x: A }.into(), f64::log2),
        (ops::Sqrt { x: A }.into(), f64::sqrt),
        (ops::Rsqrt { x: A }.into(), |x| 1.0 / x.sqrt()),
        (ops::Tanh { x: A }.into(), f64::tanh),
        (ops::Erf { x: A }.into(), erf),
        (ops::Sin { x: A }.into(), f64::sin),
        (ops::Cos { x: A }.into(), f64::cos),
        (ops::Floor { x: A }.into(), f64::floor),
    ];
    for (op, f) in &table {
        for x in [-80.0, -3.7, -1.0, -0.1, 0.0, 1e-3, 0.25, 0.9, 1.0, 2.5, 10.0, 80.0f32] {
            let (got, want) = (eval(op.clone(), &[x.into()]).get::<f32>(), f(f64::from(x)));
            let close = (f64::from(got) - want).abs() <= 2f64.powi(-22) * want.abs() + 1e-44;
            assert!(close || (got.is_nan() && want.is_nan()) || f64::from(got) == want, "{op:?} of {x}: {got}, {want}");
            let wide = eval(op.clone(), &[f64::from(x).into()]).get::<f64>();
            assert!((wide - want).abs() <= 1e-14 * want.abs() + 1e-300 || wide.is_nan() == want.is_nan());
        }
    }
    let of = |op: Op, x: f32| eval(op, &[x.into()]).get::<f32>();
    assert!(of(ops::Log { x: A }.into(), -1.0).is_nan() && of(ops::Sqrt { x: A }.into(), -1.0).is_nan());
    assert_eq!(of(ops::Log { x: A }.into(), 0.0), f32::NEG_INFINITY);
    assert_eq!(of(ops::Rsqrt { x: A }.into(), 0.0), f32::INFINITY);
}

/// The f32 and the f64 of a function are two programs: one is the other's oracle. f16 and bf16 are the f32 rounded.
#[test]
fn functions_of_a_float_agree_in_all_widths() {
    let steps = (0..2000).map(|i| (i - 1000) as f32 * 0.03125);
    let ends = [1e-30, 1e-3, 1e6, 8388608.5, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NAN];
    let xs: Vec<f32> = steps.chain(ends.into_iter().flat_map(|x| [x, -x])).collect();
    for row in Op::ROWS.iter().filter(|row| row.class == Some(Class::Float)) {
        let Some(op) = row.unary.map(|make| make(A)) else { continue };
        for &x in &xs {
            let narrow = eval(op.clone(), &[x.into()]).get::<f32>();
            let wide = eval(op.clone(), &[f64::from(x).into()]).get::<f64>();
            let close = (f64::from(narrow) - wide).abs() <= 2f64.powi(-22) * wide.abs() + 1e-44;
            let same = narrow == wide as f32 || (narrow.is_nan() && wide.is_nan());
            assert!(close || same, "{} of {x:e}: {narrow:e} in f32, {wide:e} in f64", row.mnemonic);
            for half in [Literal::from(f16::from_f32(x)), bf16::from_f32(x).into()] {
                let through = eval(op.clone(), &[cast(half, ElemType::F32)]);
                assert_eq!(eval(op.clone(), &[half]), cast(through, half.elem), "{} of {half:?}", row.mnemonic);
            }
        }
    }
}

/// By its power series, good to 1e-15 for |x| < 3, and 1 beyond 6.
fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[test]
fn ops_that_scalars_do_not_decide_are_left_alone() {
    let one = Literal::from(1i32);
    let none = |op: Op, operands: &[Literal]| assert_eq!(scalar::eval(&op, operands, Type::I32), None, "{op:?}");
    none(ops::PeId {}.into(), &[]);
    none(ops::Keep { x: A }.into(), &[one]);
    none(ops::Add { a: A, b: B }.into(), &[one]);
    none(ops::Add { a: A, b: B }.into(), &[one, 1.0f32.into()]);
    none(ops::Exp { x: A }.into(), &[one]);
    none(ops::Fma { a: A, b: B, c: C }.into(), &[one, one, one]);
    none(ops::Bitcast { x: A, to: ResultType(Type::I32) }.into(), &[1.0f64.into()]);
    none(ops::Select { mask: A, a: B, b: C }.into(), &[one, one, one]);
}
