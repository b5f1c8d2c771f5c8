//! What kernel authors write besides the examples: odd but natural Rust, run by the interpreter against plain sums.

use tilewright::prelude::*;
use tilewright::{Runtime, diag::Diagnostics};

fn ran<R>(result: Result<R, Diagnostics>) {
    if let Err(e) = result {
        panic!("{e}");
    }
}
fn out<const N: usize>(run: impl FnOnce(&mut Tensor<i32, 1>, &mut Runtime) -> Result<(), Diagnostics>) -> [i32; N] {
    let mut y = Tensor::zeros([N]);
    ran(run(&mut y, &mut Runtime::reference()));
    y.elements().try_into().unwrap_or_else(|_| panic!("{N} elements"))
}

#[kernel]
fn nested_arms(y: ViewMut<i32, 1>, n: Scalar<i32>) {
    let (a, b) = if n > 2 { if n > 5 { (n, n * 2) } else { (n + 1, scalar(7)) } } else { (scalar(0), n) };
    y.at(0).set(a);
    y.at(1).set(b);
}
#[test]
fn arms_in_arms_yield_tuples() {
    let of = |n| out::<2>(|y, rt| nested_arms(y, n).run(rt).map(drop));
    assert_eq!([of(9), of(4), of(1)], [[9, 18], [5, 7], [0, 1]]);
}

/// The length of the run of equal elements at the start, looked at no further than there are elements.
#[kernel]
fn run_length(x: View<i32, 1>, y: ViewMut<i32, 1>) {
    let first = x.at(0).get();
    let mut i = scalar(1);
    while i < x.len(Axis::<0>) && x.at(i).get() == first {
        i += 1;
    }
    y.at(0).set(i);
}
#[test]
fn the_right_side_of_a_loop_condition_reads_only_where_the_left_allows() {
    for (data, want) in [(vec![4, 4, 4, 1, 4], 3), (vec![2; 6], 6), (vec![1, 2], 1)] {
        let x = Tensor::from_vec([data.len()], data).expect("a vector");
        assert_eq!(out::<1>(|y, rt| run_length(&x, y).run(rt).map(drop)), [want]);
    }
}

#[derive(Value)]
struct Extent<T: Num, const N: usize> {
    lo: Tile<T, D1<N>>,
    hi: Tile<T, D1<N>>,
}
#[device]
fn including<T: Num, const N: usize>(e: &Extent<T, N>, x: Tile<T, D1<N>>) -> Extent<T, N> {
    Extent { lo: minimum(e.lo, x), hi: maximum(e.hi, x) }
}
#[device]
fn joined<T: Num, const N: usize>(all: &[Extent<T, N>]) -> Extent<T, N> {
    let mut e = all[0];
    for other in &all[1..] {
        e = including(&including(&e, other.lo), other.hi);
    }
    e
}
#[kernel]
fn extents(x: View<i32, 2>, y: ViewMut<i32, 1>) {
    let row = |r: Scalar<i32>| x.at(r, 0).load::<D1<2>>();
    let mut parts = [Extent { lo: row(scalar(0)), hi: row(scalar(0)) }; 2];
    for r in (0..x.len(Axis::<0>)).step_by(2) {
        for (u, part) in [0, 1].into_iter().zip(parts) {
            parts[u] = including(&part, row(r + u));
        }
    }
    let Extent { lo, hi } = joined(&parts);
    y.at(0).store(lo);
    y.at(2).store(hi);
}
#[test]
fn structs_go_into_generic_functions_by_reference_and_in_slices() {
    let x = Tensor::from_vec([4, 2], vec![3, 0, -2, 9, 5, 5, 1, 1]).expect("4 x 2");
    assert_eq!(out::<4>(|y, rt| extents(&x, y).run(rt).map(drop)), [-2, 0, 5, 9]);
}

#[kernel]
fn arrays(x: View<i32, 1>, y: ViewMut<i32, 1>, turns: Scalar<i32>) {
    let mut acc = [zeros::<i32, D1<2>>(); 3];
    for t in 0..turns {
        for u in unroll(0..3) {
            acc[u] += x.at(t * 6 + u * 2).load();
            if t > 0 {
                acc[u] *= 2;
            }
        }
        [acc[0], acc[2]] = [acc[2], acc[0]];
    }
    let [a, b, c] = acc;
    for (i, tile) in [a, b, c].iter().enumerate() {
        y.at(i * 2).store(*tile);
    }
}
#[test]
fn arrays_of_tiles_are_carried_indexed_and_taken_apart() {
    let x = Tensor::from_vec([12], (0..12).collect()).expect("12");
    let mut want = [[0i32; 2]; 3];
    for t in 0..2 {
        for (i, number) in want.as_flattened_mut().iter_mut().enumerate() {
            *number += (t * 6 + i) as i32;
            *number *= if t > 0 { 2 } else { 1 };
        }
        want.swap(0, 2);
    }
    assert_eq!(out::<6>(|y, rt| arrays(&x, y, 2).run(rt).map(drop)).to_vec(), want.concat());
}

#[kernel]
fn shadows(y: ViewMut<i32, 1>, n: Scalar<i32>) {
    let x = n;
    let mut sum = x;
    for x in 0..x {
        let x = x + 10;
        let sum_here = {
            let sum = x * 2;
            sum + 1
        };
        sum += sum_here;
    }
    let x = {
        let mut x = x;
        if n > 1 {
            x = sum;
        }
        x
    };
    y.at(0).set(x);
}
#[test]
fn shadowed_names_keep_their_own_values() {
    let want = |n: i32| if n > 1 { n + (0..n).map(|x| (x + 10) * 2 + 1).sum::<i32>() } else { n };
    for n in [0, 1, 3] {
        assert_eq!(out::<1>(|y, rt| shadows(y, n).run(rt).map(drop)), [want(n)]);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Scale {
    None,
    By(i32),
    Table([i32; 2]),
}
#[kernel]
fn chosen(y: ViewMut<i32, 1>, n: Scalar<i32>, #[comptime] scale: Scale, #[comptime] more: Option<i32>) {
    let mut v = match scale {
        Scale::None => n,
        Scale::By(k) if k > 10 => n * 10,
        Scale::By(k) => n * k,
        Scale::Table([a, _]) | Scale::Table([_, a]) if a > 0 => n * a,
        Scale::Table(_) => scalar(0),
    };
    let Some(more) = more else {
        y.at(0).set(v);
        return;
    };
    if let Scale::By(k) = scale
        && k < more
    {
        v += k;
    }
    let mut rest = [1, more].into_iter();
    while let Some(k) = rest.next() {
        v += if matches!(scale, Scale::Table(_)) { scalar(k) } else { n };
    }
    y.at(0).set(v);
}
#[test]
fn host_enums_and_options_choose_while_tracing() {
    let of = |scale, more| out::<1>(|y, rt| chosen(y, 5, scale, more).run(rt).map(drop))[0];
    assert_eq!([of(Scale::None, None), of(Scale::By(11), None), of(Scale::By(3), None)], [5, 50, 15]);
    assert_eq!([of(Scale::By(3), Some(4)), of(Scale::Table([2, 0]), Some(4))], [15 + 3 + 10, 10 + 5]);
    assert_eq!(of(Scale::Table([0, -1]), Some(4)), 5);
}

#[derive(Value)]
struct Tally {
    odd: Scalar<i32>,
    seen: [Scalar<i32>; 2],
}
impl Tally {
    #[device]
    fn with(mut self, v: Scalar<i32>) -> Self {
        if v % 2 != 0 {
            self.odd += 1;
            self.seen[1] = v;
        } else {
            self.seen[0] = v;
        }
        self
    }
}
#[kernel]
fn tallied(x: View<i32, 1>, y: ViewMut<i32, 1>) {
    let mut t = Tally { odd: scalar(0), seen: [scalar(-1); 2] };
    for i in (0..x.len(Axis::<0>)).step_by(4) {
        for u in unroll(0..4) {
            if i + u < x.len(Axis::<0>) {
                t = t.with(x.at(i + u).get());
                t.odd += if u == 3 { 100 } else { 0 };
            }
        }
    }
    y.at(0).set(t.odd);
    (y.at(1), y.at(2)).0.set(t.seen[0]);
    y.at(2).set(t.seen[1]);
}
#[test]
fn fields_and_their_elements_are_carried_through_unrolled_bodies() {
    let x = Tensor::from_vec([6], vec![3, 8, 5, 2, 7, 6]).expect("6");
    assert_eq!(out::<3>(|y, rt| tallied(&x, y).run(rt).map(drop)), [103, 6, 7]);
}

#[kernel]
fn places(x: View<i32, 2>, y: ViewMut<i32, 1>, n: Scalar<i32>) {
    let here = x.at(0, 2).limit(Axis::<0>, n - 1).vec_width(2).cache(Cache::Keep);
    let t = here.load_or::<D2<2, 4>>(9).trans().trans();
    let rows = [t.rows::<1>(0), t.rows::<1>(1)].map(|r| r.reshape::<D1<4>>());
    y.at(0).store(rows[0].rows::<2>(0) + rows[1].rows::<2>(2));
    y.at(1 + n).limit(Axis::<0>, 1).store_inside(rows[0].rows::<2>(1));
}
#[test]
fn places_are_values_with_methods_in_a_row() {
    let x = Tensor::from_vec([2, 4], (0..8).collect()).expect("2 x 4");
    assert_eq!(out::<4>(|y, rt| places(&x, y, 2).run(rt).map(drop)), [2 + 9, 3 + 9, 0, 3]);
}

#[kernel]
fn compound(y: ViewMut<i32, 1>, n: Scalar<i32>) {
    let mut v = n;
    let on = !(n > 3) || n == 9;
    for _ in 0..3 {
        v <<= 1;
        v ^= 5;
        v &= 127;
        v %= 50;
        v |= 1;
        v -= if on { scalar(1) } else { scalar(2) };
    }
    const LAST: usize = 1;
    fn twice(x: Scalar<i32>) -> Scalar<i32> {
        x * 2
    }
    let twice = |x| twice(twice(x));
    y.at(0).set(v);
    y.at(LAST).set(twice(v) / 3 - -n);
}
#[test]
fn compound_operators_items_and_closures_of_functions() {
    for n in [2, 5, 9] {
        let mut v = n;
        for _ in 0..3 {
            v = ((((v << 1) ^ 5) & 127) % 50) | 1;
            v -= if n <= 3 || n == 9 { 1 } else { 2 };
        }
        assert_eq!(out::<2>(|y, rt| compound(y, n).run(rt).map(drop)), [v, v * 4 / 3 + n]);
    }
}

/// `&mut` of a variable in a region is an assignment like any other.
fn bump(x: &mut Scalar<i32>, by: i32) {
    *x += by;
}
#[kernel]
fn borrowed(y: ViewMut<i32, 1>, n: Scalar<i32>) {
    let mut v = n;
    let mut pair = (n, [n, n]);
    if n > 2 {
        bump(&mut v, 10);
        bump(&mut pair.1[1], 1);
    }
    for _ in 0..n {
        bump(&mut v, 1);
    }
    y.at(0).set(v);
    y.at(1).set(pair.0 + pair.1[1]);
}
#[test]
fn what_a_region_lends_for_change_is_carried() {
    let of = |n| out::<2>(|y, rt| borrowed(y, n).run(rt).map(drop));
    assert_eq!([of(3), of(1)], [[16, 7], [2, 2]]);
}

#[kernel]
fn messages(y: ViewMut<i32, 1>) {
    let mut sum = full::<i32, D1<1>>(pe_id() + 1);
    if pe_id() > 0 {
        sum += recv_like(Port::pe(Dir::West), sum);
    }
    if pe_id() < num_pes() - 1 {
        send(Port::pe(Dir::East), sum);
    } else {
        y.at(0).store(sum);
    }
}
#[test]
fn a_message_beside_an_operator_is_like_what_it_meets() {
    assert_eq!(out::<1>(|y, rt| messages(y).grid(Grid::cubes(1).pes(4)).run(rt).map(drop)), [10]);
}
