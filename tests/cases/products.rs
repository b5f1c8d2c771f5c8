//! Products: precision, accumulators, lengths that no hardware tile has, poison around.

use crate::support::*;
use tilewright::prelude::*;

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
fn sized_product<T: DotInto<A>, A: Num>(a: View<T, 2>, b: View<T, 2>, c: ViewMut<A, 2>, #[comptime] mkn: [usize; 3]) {
    let [m, k, n] = mkn;
    let x = a.at(1, 1).load_sized::<D2<ANY, ANY>>([m, k]);
    let y = b.at(1, 1).load_sized::<D2<ANY, ANY>>([k, n]);
    c.at(1, 1).store(dot(x, y));
}
#[test]
fn random_products_of_f32_are_within_f32s_own_error() {
    for k in [256, 1024] {
        let (m, n) = (9, 5);
        // A generator of its own: the upper bits of a product by an odd constant.
        let random = |len: usize, seed: u64| -> Vec<f32> {
            let unit = |i: usize| (((i as u64 + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f32) / 8388608.0;
            (0..len).map(|i| unit(i) - 1.0).collect()
        };
        let (a, b) = (
            tensor([m + 1, k + 1], random((m + 1) * (k + 1), 1)),
            tensor([k + 1, n + 1], random((k + 1) * (n + 1), 7)),
        );
        let at = |r: usize, c: usize| -> f64 {
            (1..=k).map(|i| f64::from(a.elements()[r * (k + 1) + i]) * f64::from(b.elements()[i * (n + 1) + c])).sum()
        };
        let want: Vec<f64> = (0..m * n).map(|i| at(1 + i / n, 1 + i % n)).collect();
        let limit = 2e-6 * (k as f64).sqrt() * want.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for mut on in targets() {
            let mut c = Tensor::<f32, 2>::uninit([m + 1, n + 1]);
            run(sized_product::<f32, f32>(&a, &b, &mut c, [m, k, n]), &mut on);
            for (i, want) in want.iter().enumerate() {
                let got = f64::from(c.elements()[(1 + i / n) * (n + 1) + 1 + i % n]);
                assert!((got - want).abs() <= limit, "K = {k}: {got}, not {want}");
            }
        }
    }
}
#[test]
fn products_accumulated_in_f16_by_request_are_summed_in_f32_and_rounded_once() {
    // 2048 and 63 ones: a sum in f16 stays at 2048, one in f32 is 2111, which rounds to 2112.
    let half = |v: f64| f16::from_f64(v);
    let a = tensor([2, 65], (0..130).map(|i| half(if i == 66 { 2048.0 } else { 1.0 })).collect());
    let b = tensor([65, 2], vec![half(1.0); 130]);
    for mut on in targets() {
        let mut c = Tensor::<f16, 2>::uninit([2, 2]);
        run(sized_product::<f16, f16>(&a, &b, &mut c, [1, 64, 1]), &mut on);
        assert_eq!(c.elements()[3], half(2112.0));
    }
}

/// Whole numbers in -4..4 inside a ring of poison.
fn ringed(rows: usize, cols: usize, seed: usize) -> (Vec<i64>, Vec<bool>) {
    let inside = |i: usize| (1..=rows).contains(&(i / (cols + 2))) && (1..=cols).contains(&(i % (cols + 2)));
    let len = (rows + 2) * (cols + 2);
    ((0..len).map(|i| ((i * 37 + i / 8 + seed) % 8) as i64 - 4).collect(), (0..len).map(inside).collect())
}
/// Two operands of so many elements take more than the 99 KiB that a program may have on any GPU.
fn gpu_is_too_small<T: Elem>([m, k, n]: [usize; 3]) -> bool {
    let padded = |n: usize| n.next_power_of_two().max(32);
    (padded(m) * padded(k) + padded(k) * padded(n)) * T::ELEM.bytes() as usize > 99 << 10
}
fn exact<T: DotInto<A>, A: Num>([m, k, n]: [usize; 3], of: fn(i64) -> T, to: fn(i64) -> A, poison: T) {
    let ((a, in_a), (b, in_b)) = (ringed(m, k, 1), ringed(k, n, 5));
    let poisoned = |v: &[i64], inside: &[bool]| -> Vec<T> {
        v.iter().zip(inside).map(|(v, inside)| if *inside { of(*v) } else { poison }).collect()
    };
    let (ta, tb) = (tensor([m + 2, k + 2], poisoned(&a, &in_a)), tensor([k + 2, n + 2], poisoned(&b, &in_b)));
    for mut on in targets() {
        let mut c = Tensor::<A, 2>::uninit([m + 2, n + 2]);
        let untouched = bits(&c);
        match sized_product::<T, A>(&ta, &tb, &mut c, [m, k, n]).run(&mut on) {
            Ok(_) => {}
            // Operands that no GPU's shared memory holds are refused with what they need and what there is.
            Err(why) if gpu_is_too_small::<T>([m, k, n]) && told(&why).starts_with("TW-E0613 the kernel needs ") => {
                continue;
            }
            Err(why) => panic!("{}, {} {m}x{k}x{n}: {why}", on.target(), T::ELEM),
        }
        for (i, got) in bits(&c).into_iter().enumerate() {
            let (row, col) = (i / (n + 2), i % (n + 2));
            let inside = (1..=m).contains(&row) && (1..=n).contains(&col);
            let sum = || (1..=k).map(|k| a[row * (a.len() / (m + 2)) + k] * b[k * (n + 2) + col]).sum();
            let want = if inside { to(sum()).to_bits() } else { untouched[i] };
            assert_eq!(got, want, "{} {m}x{k}x{n} at {row}, {col}", T::ELEM);
        }
    }
}
#[test]
fn products_of_any_lengths_are_exact_and_stay_in_their_place() {
    const LENGTHS: [usize; 12] = [1, 2, 3, 5, 8, 9, 15, 16, 17, 24, 33, 160];
    for (i, length) in LENGTHS.into_iter().enumerate() {
        // Each length as each of the three, beside two others that change.
        let (other, third) = (LENGTHS[(i * 5 + 3) % 12], LENGTHS[(i * 7 + 5) % 11]);
        for sizes in [[length, other, third], [third, length, other], [other, third, length]] {
            exact::<f16, f32>(sizes, |v| f16::of(v as f64), |v| v as f32, f16::NAN);
            exact::<bf16, f32>(sizes, |v| bf16::of(v as f64), |v| v as f32, bf16::NAN);
            exact::<f32, f32>(sizes, |v| v as f32, |v| v as f32, f32::NAN);
            exact::<f64, f64>(sizes, |v| v as f64, |v| v as f64, f64::NAN);
            exact::<i8, i32>(sizes, |v| v as i8, |v| v as i32, 77);
        }
    }
    exact::<f32, f32>([160, 160, 160], |v| v as f32, |v| v as f32, f32::NAN);
    // -128 * -128 at every step: nothing saturates.
    let lowest = tensor([161, 161], vec![i8::MIN; 161 * 161]);
    for mut on in targets() {
        let mut c = Tensor::<i32, 2>::uninit([2, 2]);
        run(sized_product::<i8, i32>(&lowest, &lowest, &mut c, [1, 160, 1]), &mut on);
        assert_eq!(c.elements()[3], 160 * 16384);
    }
}

#[kernel]
fn chained<T: Float + DotInto<f32>, const N: usize>(q: View<T, 2>, k: View<T, 2>, v: View<T, 2>, y: ViewMut<f32, 2>) {
    let (q, k, v) = (q.at(0, 0).load::<D2<N, N>>(), k.at(0, 0).load::<D2<N, N>>(), v.at(0, 0).load::<D2<N, N>>());
    let s: Tile<f32, D2<N, N>> = dot(q, k.trans());
    y.at(0, 0).store(dot(s.cast::<T>(), v));
}
#[kernel]
fn batched<const B: usize, const N: usize>(a: View<f32, 3>, b: View<f32, 3>, y: ViewMut<f32, 3>) {
    for i in 0..B {
        y.at(i, 0, 0).store(dot(a.at(i, 0, 0).load::<D2<N, N>>(), b.at(i, 0, 0).load::<D2<N, N>>()));
    }
}
#[test]
fn chained_and_batched_small_products_are_exact() {
    fn matmul(a: &[i64], b: impl Fn(usize, usize) -> i64, n: usize) -> Vec<i64> {
        (0..n * n).map(|i| (0..n).map(|k| a[i / n * n + k] * b(k, i % n)).sum()).collect()
    }
    // -1, 0, 1: sums of 16 are whole in f16 and bf16.
    let small =
        |len: usize, seed: usize| -> Vec<i64> { (0..len).map(|i| ((i * 7 + i / 5 + seed) % 3) as i64 - 1).collect() };
    fn chain<T: Real + DotInto<f32>>(q: &[i64], k: &[i64], v: &[i64], want: &[f32]) {
        let [q, k, v] = [q, k, v].map(|x| tensor([16, 16], x.iter().map(|v| T::of(*v as f64)).collect()));
        for mut on in targets() {
            let mut y = Tensor::uninit([16, 16]);
            run(chained::<T, 16>(&q, &k, &v, &mut y), &mut on);
            assert_eq!(y.elements(), want, "{}", T::ELEM);
        }
    }
    let (q, k, v) = (small(256, 0), small(256, 1), small(256, 2));
    let s = matmul(&q, |r, c| k[c * 16 + r], 16);
    let want: Vec<f32> = matmul(&s, |r, c| v[r * 16 + c], 16).into_iter().map(|v| v as f32).collect();
    chain::<f16>(&q, &k, &v, &want);
    chain::<bf16>(&q, &k, &v, &want);
    chain::<f32>(&q, &k, &v, &want);

    let (a, b) = (small(5 * 9, 3), small(5 * 9, 4));
    let want: Vec<f32> =
        (0..5).flat_map(|i| matmul(&a[i * 9..][..9], |r, c| b[i * 9 + r * 3 + c], 3)).map(|v| v as f32).collect();
    let [a, b] = [a, b].map(|x| tensor([5, 3, 3], x.into_iter().map(|v| v as f32).collect()));
    for mut on in targets() {
        let mut y = Tensor::uninit([5, 3, 3]);
        run(batched::<5, 3>(&a, &b, &mut y), &mut on);
        assert_eq!(y.elements(), want);
    }
}
