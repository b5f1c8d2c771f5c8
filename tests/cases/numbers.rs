//! Numbers: conversions, division, NaN, IEEE arithmetic that no pass may change.

use crate::support::*;
use tilewright::prelude::*;

#[kernel]
fn to_int<F: Float, I: Int, const N: usize>(x: View<F, 1>, tiles: ViewMut<I, 1>, scalars: ViewMut<I, 1>) {
    tiles.at(0).store(x.at(0).load::<D1<N>>().cast::<I>());
    for i in 0..N {
        scalars.at(i).set(x.at(i).get().cast::<I>());
    }
}
const HARD: [f64; 11] = [
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    510.0,
    -200.0,
    0.9,
    -0.9,
    -1.0,
    2147483648.0,
    4294967296.0,
    9223372036854775808.0,
];
#[test]
fn floats_become_integers_by_truncation_and_saturation() {
    fn check<F: Real, I: Int>(as_rust: fn(f64) -> I) {
        let x: Vec<F> = HARD.iter().map(|v| F::of(*v)).collect();
        let want: Vec<u64> = x.iter().map(|v| as_rust(v.get()).to_bits()).collect();
        let x = vector(x);
        for mut on in targets() {
            let (mut tiles, mut scalars) = (Tensor::<I, 1>::uninit([11]), Tensor::<I, 1>::uninit([11]));
            run(to_int::<F, I, 11>(&x, &mut tiles, &mut scalars), &mut on);
            assert_eq!(bits(&tiles), want, "{} to {}", F::ELEM, I::ELEM);
            assert_eq!(bits(&scalars), want, "{} to {}", F::ELEM, I::ELEM);
        }
    }
    macro_rules! all {
        ($($i:ty)*) => {$( check::<f16, $i>(|v| v as $i); check::<bf16, $i>(|v| v as $i); check::<f32, $i>(|v| v as $i);
            check::<f64, $i>(|v| v as $i); )*};
    }
    all!(i8 u8 i16 u16 i32 u32 i64 u64);
    let mut y = [Tensor::<i8, 1>::uninit([11]), Tensor::uninit([11])];
    let mut z = [Tensor::<u8, 1>::uninit([11]), Tensor::uninit([11])];
    for mut on in targets() {
        let x = vector(HARD.to_vec());
        let ([t, s], [u, v]) = (&mut y, &mut z);
        run(to_int::<f64, i8, 11>(&x, t, s), &mut on);
        run(to_int::<f64, u8, 11>(&x, u, v), &mut on);
        assert_eq!(t.elements()[..8], [127, -128, 0, 127, -128, 0, 0, -1]);
        assert_eq!(u.elements()[..8], [255, 0, 0, 255, 0, 0, 0, 0]);
    }
}

#[kernel]
fn literal_to_int(y: ViewMut<i8, 1>) {
    y.at(0).store(full::<f32, D1<2>>(510.0).cast::<i8>());
    y.at(2).set(scalar::<f32>(-200.0).cast::<i8>());
}
#[test]
fn a_folded_literal_converts_as_a_value_does() {
    for mut on in targets() {
        let mut y = Tensor::uninit([3]);
        run(literal_to_int(&mut y), &mut on);
        assert_eq!(y.elements(), [127, 127, -128]);
    }
}

#[kernel]
fn quotients<I: Int, const N: usize>(a: View<I, 1>, b: View<I, 1>, q: ViewMut<I, 2>, r: ViewMut<I, 2>) {
    let (x, y) = (a.at(0).load::<D1<N>>(), b.at(0).load::<D1<N>>());
    q.at(0, 0).store(x / y);
    r.at(0, 0).store(x % y);
    for i in 0..N {
        q.at(1, i).set(a.at(i).get() / b.at(i).get());
        r.at(1, i).set(a.at(i).get() % b.at(i).get());
    }
}
#[test]
fn quotients_truncate_as_rusts_do() {
    fn check<I: Int>(a: [I; 6], b: [I; 6], div: fn(I, I) -> I, rem: fn(I, I) -> I) {
        let of = |f: fn(I, I) -> I| -> Vec<u64> { a.iter().zip(&b).map(|(a, b)| f(*a, *b).to_bits()).collect() };
        for mut on in targets() {
            let (mut q, mut r) = (Tensor::uninit([2, 6]), Tensor::uninit([2, 6]));
            let (a, b) = (vector(a.to_vec()), vector(b.to_vec()));
            run(quotients::<I, 6>(&a, &b, &mut q, &mut r), &mut on);
            assert_eq!(bits(&q), of(div).repeat(2), "{}", I::ELEM);
            assert_eq!(bits(&r), of(rem).repeat(2), "{}", I::ELEM);
        }
    }
    macro_rules! all {
        ($($i:ty)*) => {$({
            let minus = |n: $i| (0 as $i).wrapping_sub(n);
            let (a, b) = ([<$i>::MIN, 6, 7, <$i>::MAX, minus(7), <$i>::MIN], [minus(1), minus(3), 2, 3, 2, 3]);
            check(a, b, <$i>::wrapping_div, <$i>::wrapping_rem);
        })*};
    }
    all!(i8 u8 i16 u16 i32 u32 i64 u64);
}
#[test]
fn a_quotient_by_zero_is_zero_with_one_error_for_all_elements() {
    let (a, b) = (vector(vec![7, i32::MIN, 0]), vector(vec![0, -1, 0]));
    let tell = |mut on| {
        let (mut q, mut r) = (Tensor::uninit([2, 3]), Tensor::uninit([2, 3]));
        let told = faults(quotients::<i32, 3>(&a, &b, &mut q, &mut r), &mut on);
        assert_eq!(q.elements(), [0, i32::MIN, 0, 0, i32::MIN, 0]);
        assert_eq!(r.elements(), [0; 6]);
        told
    };
    let told: Vec<String> = targets().into_iter().map(tell).collect();
    assert!(told.iter().all(|other| *other == told[0]), "{told:#?}");
    assert_eq!(told[0].lines().count(), 4, "{}", told[0]);
    let (mut q, mut r) = (Tensor::uninit([2, 3]), Tensor::uninit([2, 3]));
    let text = quotients::<i32, 3>(&a, &b, &mut q, &mut r).run(&mut targets()[0]).unwrap_err().to_string();
    insta::assert_snapshot!(text.split("error").nth(1).unwrap_or(""), @"
    [TW-E0313]: division by zero, 2 times
      --> tests/cases/numbers.rs:73:22
       |
    73 |     q.at(0, 0).store(x / y);
       |                      ^ first by PE 0 at [0]
       |
       = note: in `%2 = div %0, %1 : tile<3xi32>`; the result is 0
       = next: guard the line, or divide by `select(b == 0, 1, b)`
       = more: tilewright explain TW-E0313
    ");
}

/// Pairs that only the folder sees: both sides are literals.
#[kernel]
fn folded(y: ViewMut<i32, 2>, #[comptime] pairs: Vec<(i32, i32)>) {
    for (i, (a, b)) in pairs.iter().enumerate() {
        let (a, b) = (scalar::<i32>(*a), scalar::<i32>(*b));
        y.at(i, 0).set(a / b);
        y.at(i, 1).set(a % b);
    }
}
#[test]
fn literal_quotients_are_those_of_run_time_and_by_zero_still_an_error() {
    let pairs: Vec<(i32, i32)> =
        [-7, 7, -6, 0, i32::MIN].iter().flat_map(|a| [3, -3, 2, -1].map(|b| (*a, b))).collect();
    let want: Vec<i32> = pairs.iter().flat_map(|(a, b)| [a.wrapping_div(*b), a.wrapping_rem(*b)]).collect();
    for mut on in targets() {
        let mut y = Tensor::uninit([pairs.len(), 2]);
        run(folded(&mut y, pairs.clone()), &mut on);
        assert_eq!(y.elements(), want);
        run_optimised(folded(&mut y, pairs.clone()), &mut on);
        assert_eq!(y.elements(), want);
        let mut y = Tensor::uninit([1, 2]);
        let told = faults(folded(&mut y, vec![(7, 0)]), &mut on);
        assert_eq!((y.elements(), told.lines().count()), (&[0, 0][..], 2), "{told}");
    }
}

#[kernel]
fn index_quotients(q: ViewMut<i32, 2>) {
    let p = program_id() - 5;
    q.at(program_id(), 0).set(p / 3);
    q.at(program_id(), 1).set(p % 3);
    q.at(program_id(), 2).set(scalar::<i32>(-7) / 2);
    q.at(program_id(), 3).set(scalar::<i32>(-7) % 2);
}
#[test]
fn index_arithmetic_and_literals_truncate_too() {
    let want: Vec<i32> = (0..16).flat_map(|p| [(p - 5) / 3, (p - 5) % 3, -3, -1]).collect();
    for mut on in targets() {
        let mut q = output([16, 4]);
        run(index_quotients(&mut q).grid(Grid::cubes(2).pes(8)), &mut on);
        assert_eq!(q.elements(), want);
    }
}

#[kernel]
fn largest<T: Float, const N: usize>(x: View<T, 1>, top: ViewMut<T, 1>, arg: ViewMut<i32, 1>) {
    let (x, i) = (x.at(0).load::<D1<N>>(), iota::<i32, D1<N>>(Axis::<0>));
    let m = x.max(Axis::<0>);
    top.at(0).set(m);
    arg.at(0).set(select(x == m, i, N as i32).min(Axis::<0>));
}
#[kernel]
fn running<T: Float>(x: View<T, 1>, n: Scalar<i32>, top: ViewMut<T, 1>) {
    let mut m = x.at(0).get();
    for i in 1..n {
        m = maximum(m, x.at(i).get());
    }
    top.at(0).set(m);
    top.at(1).set(max_nan(x.at(0).get(), m));
}
#[test]
fn maxima_pass_over_nan_and_the_first_of_equals_is_found() {
    fn check<T: Real, const N: usize>(x: [f64; N], top: f64, arg: i32) {
        let x = vector(x.map(T::of).to_vec());
        for mut on in targets() {
            let (mut t, mut a) = (Tensor::<T, 1>::uninit([1]), Tensor::uninit([1]));
            run(largest::<T, N>(&x, &mut t, &mut a), &mut on);
            let got = t.elements()[0].get();
            assert!(got == top || got.is_nan() && top.is_nan(), "{}: {got}, not {top}", T::ELEM);
            assert_eq!(a.elements(), [arg]);
        }
    }
    fn all<T: Real>() {
        let nan = f64::NAN;
        check::<T, 3>([nan, 6.0, 8.0], 8.0, 2);
        check::<T, 4>([3.0, 7.0, 7.0, 1.0], 7.0, 1);
        check::<T, 2>([nan, nan], nan, 2);
        check::<T, 2>([nan, f64::NEG_INFINITY], f64::NEG_INFINITY, 1);
        check::<T, 3>([-5.0, -3.0, -4.0], -3.0, 1);
        check::<T, 1>([-5.0], -5.0, 0);
    }
    all::<f16>();
    all::<bf16>();
    all::<f32>();
    all::<f64>();
}

#[kernel]
fn both_axes<T: Float, const M: usize, const N: usize>(
    x: View<T, 2>,
    down: ViewMut<T, 1>,
    across: ViewMut<T, 1>,
    arg: ViewMut<i32, 1>,
) {
    let x = x.at(0, 0).load::<D2<M, N>>();
    let top = x.max(Axis::<1>);
    down.at(0).store(x.max(Axis::<0>));
    across.at(0).store(top);
    arg.at(0).store(select(x == top.col(), iota::<i32, D2<M, N>>(Axis::<1>), N as i32).min(Axis::<1>));
}
#[test]
fn maxima_of_any_length_are_found_along_both_axes() {
    fn check<T: Real, const M: usize, const N: usize>() {
        // Small, so that every row has equal maxima; some are NaN, and one row is nothing else.
        let number = |i: usize| if i / N == 1 || i % 7 == 3 { f64::NAN } else { -((i * 31 % 11) as f64) };
        let x: Vec<f64> = (0..M * N).map(number).collect();
        let max = |a: f64, b: f64| a.max(b);
        let across: Vec<f64> = x.chunks(N).map(|row| row.iter().copied().fold(f64::NAN, max)).collect();
        let down: Vec<f64> = (0..N).map(|c| (0..M).map(|r| x[r * N + c]).fold(f64::NAN, max)).collect();
        let first = |(row, top): (&[f64], &f64)| row.iter().position(|v| v == top).unwrap_or(N) as i32;
        let args: Vec<i32> = x.chunks(N).zip(&across).map(first).collect();
        let x = tensor([M, N], x.into_iter().map(T::of).collect());
        let same = |got: &Tensor<T, 1>, want: &[f64]| {
            assert!(got.elements().iter().zip(want).all(|(g, w)| g.get() == *w || g.get().is_nan() && w.is_nan()));
        };
        for mut on in targets() {
            let (mut d, mut a, mut i) = (Tensor::uninit([N]), Tensor::uninit([M]), Tensor::uninit([M]));
            run(both_axes::<T, M, N>(&x, &mut d, &mut a, &mut i), &mut on);
            same(&d, &down);
            same(&a, &across);
            assert_eq!(i.elements(), args, "{} {M} x {N}", T::ELEM);
        }
    }
    fn all<T: Real>() {
        check::<T, 1, 1>();
        check::<T, 3, 2>();
        check::<T, 31, 33>();
        check::<T, 2, 1024>();
        check::<T, 1024, 3>();
    }
    all::<f16>();
    all::<bf16>();
    all::<f32>();
    all::<f64>();
}
#[test]
fn a_running_maximum_recovers_from_nan() {
    let x = vector(vec![f32::NAN, f32::NAN, -2.0, 1.0, f32::NAN]);
    for mut on in targets() {
        let mut top = Tensor::<f32, 1>::uninit([2]);
        run(running(&x, 5, &mut top), &mut on);
        assert_eq!(top.elements()[0], 1.0);
        assert!(top.elements()[1].is_nan());
    }
}

#[kernel]
fn identities<const N: usize>(x: View<f32, 1>, y: ViewMut<f32, 2>) {
    let x = x.at(0).load::<D1<N>>();
    y.at(0, 0).store(x * 0.0);
    y.at(1, 0).store(x - x);
    y.at(2, 0).store(x + 0.0);
    y.at(3, 0).store(0.0 - x);
    y.at(4, 0).store(-x);
    y.at(5, 0).store(x / x);
    y.at(6, 0).store(1.0 / (1.0 + exp(-x)));
    y.at(7, 0).store(floor(full::<f32, D1<N>>(8388608.5)));
    y.at(8, 0).store(full::<f16, D1<N>>(0.1).cast::<f32>());
}
#[test]
fn no_algebra_replaces_ieee_arithmetic() {
    let x = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -0.0, 0.0, 1.0, -200.0];
    let rows: [fn(f32) -> f32; 9] = [
        |x| x * 0.0,
        |x| x - x,
        |x| x + 0.0,
        |x| 0.0 - x,
        |x| -x,
        |x| x / x,
        |x| 1.0 / (1.0 + (-x).exp()),
        |_| 8388608.0,
        |_| 0.099975586, // 0.1 rounded to f16
    ];
    for mut on in targets() {
        let mut y = Tensor::<f32, 2>::uninit([9, 7]);
        run(identities::<7>(&vector(x.to_vec()), &mut y), &mut on);
        for (r, row) in rows.iter().enumerate() {
            for (c, x) in x.iter().enumerate() {
                let (got, want) = (y.elements()[r * 7 + c], row(*x));
                let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(same || r == 6 && (got - want).abs() < 1e-6, "row {r} of {x}: {got}, not {want}");
            }
        }
        let traced = bits(&y);
        run_optimised(identities::<7>(&vector(x.to_vec()), &mut y), &mut on);
        assert_eq!(bits(&y), traced, "all passes keep every bit");
    }
}
