//! Numbers: conversions, division, NaN, IEEE arithmetic that no pass may change, products.

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
        ($($i:ty)*) => {$( check::<f16, $i>(|v| v as $i); check::<bf16, $i>(|v| v as $i); check::<f32, $i>(|v| v as $i); )*};
    }
    all!(i8 u8 i16 u16 i32 u32 i64 u64);
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
    let told = targets().map(|mut on| {
        let (mut q, mut r) = (Tensor::uninit([2, 3]), Tensor::uninit([2, 3]));
        let told = faults(quotients::<i32, 3>(&a, &b, &mut q, &mut r), &mut on);
        assert_eq!(q.elements(), [0, i32::MIN, 0, 0, i32::MIN, 0]);
        assert_eq!(r.elements(), [0; 6]);
        told
    });
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0].lines().count(), 4, "{}", told[0]);
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
    }
}

#[kernel]
fn ones_dot(v: View<f32, 2>, product: ViewMut<f32, 2>, sum: ViewMut<f32, 1>) {
    let v = v.at(0, 0).load::<D2<64, 4>>();
    product.at(0, 0).store(dot(full::<f32, D2<16, 64>>(1.0), v));
    sum.at(0).store(v.sum(Axis::<0>));
}
#[test]
fn products_of_f32_keep_all_their_bits() {
    let v = tensor([64, 4], vec![1.0 + 1.0 / 4096.0; 256]);
    for mut on in targets() {
        let (mut product, mut sum) = (Tensor::<f32, 2>::uninit([16, 4]), Tensor::<f32, 1>::uninit([4]));
        run(ones_dot(&v, &mut product, &mut sum), &mut on);
        assert_eq!(product.elements(), [64.015625; 64]);
        assert_eq!(sum.elements(), [64.015625; 4]);
    }
}

#[kernel]
fn product<T: DotInto<A>, A: Num, const M: usize, const K: usize, const N: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    c: ViewMut<A, 2>,
) {
    c.at(1, 1).store(dot(a.at(1, 1).load::<D2<M, K>>(), b.at(1, 1).load::<D2<K, N>>()));
}
/// Whole numbers in -4..4 inside a ring of poison.
fn ringed(rows: usize, cols: usize, seed: usize) -> (Vec<i64>, Vec<bool>) {
    let inside = |i: usize| (1..=rows).contains(&(i / (cols + 2))) && (1..=cols).contains(&(i % (cols + 2)));
    let len = (rows + 2) * (cols + 2);
    ((0..len).map(|i| ((i * 37 + seed) % 8) as i64 - 4).collect(), (0..len).map(inside).collect())
}
fn exact<T: DotInto<A>, A: Num, const M: usize, const K: usize, const N: usize>(
    of: fn(i64) -> T,
    to: fn(i64) -> A,
    poison: T,
) {
    let ((a, in_a), (b, in_b)) = (ringed(M, K, 1), ringed(K, N, 5));
    let poisoned = |v: &[i64], inside: &[bool]| -> Vec<T> {
        v.iter().zip(inside).map(|(v, inside)| if *inside { of(*v) } else { poison }).collect()
    };
    let (ta, tb) = (tensor([M + 2, K + 2], poisoned(&a, &in_a)), tensor([K + 2, N + 2], poisoned(&b, &in_b)));
    for mut on in targets() {
        let mut c = Tensor::<A, 2>::uninit([M + 2, N + 2]);
        let untouched = bits(&c);
        run(product::<T, A, M, K, N>(&ta, &tb, &mut c), &mut on);
        for (i, got) in bits(&c).into_iter().enumerate() {
            let (row, col) = (i / (N + 2), i % (N + 2));
            let inside = (1..=M).contains(&row) && (1..=N).contains(&col);
            let sum = || (1..=K).map(|k| a[row * (K + 2) + k] * b[k * (N + 2) + col]).sum();
            let want = if inside { to(sum()).to_bits() } else { untouched[i] };
            assert_eq!(got, want, "{} {M}x{K}x{N} at {row}, {col}", T::ELEM);
        }
    }
}
#[test]
fn products_of_any_lengths_are_exact_and_stay_in_their_place() {
    fn all<const M: usize, const K: usize, const N: usize>() {
        exact::<f16, f32, M, K, N>(|v| f16::of(v as f64), |v| v as f32, f16::NAN);
        exact::<bf16, f32, M, K, N>(|v| bf16::of(v as f64), |v| v as f32, bf16::NAN);
        exact::<f32, f32, M, K, N>(|v| v as f32, |v| v as f32, f32::NAN);
        exact::<f64, f64, M, K, N>(|v| v as f64, |v| v as f64, f64::NAN);
        exact::<i8, i32, M, K, N>(|v| v as i8, |v| v as i32, 77);
    }
    all::<1, 1, 1>();
    all::<1, 33, 2>();
    all::<17, 1, 3>();
    all::<5, 15, 160>();
    all::<24, 9, 8>();
    all::<16, 16, 16>();
}
