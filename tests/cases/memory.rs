//! Memory: odd pitches, ragged edges, host arrays of any strides, atomics.

use crate::support::*;
use ndarray::{Array2, ArrayD, ArrayView2, s};
use tilewright::prelude::*;

#[kernel]
fn copy<T: Elem, const N: usize, const VEC: usize>(x: View<T, 2>, y: ViewMut<T, 2>) {
    let step = N;
    for row in 0..x.len(Axis::<0>) {
        for col in (0..x.len(Axis::<1>)).step_by(step) {
            let tile = x.at(row, col).vec_width(VEC).load_or::<D1<N>>(zero::<T>());
            y.at(row, col).vec_width(VEC).store_inside(tile);
        }
    }
}
#[test]
fn a_hint_of_wide_accesses_never_changes_values() {
    fn check<T: Elem>(make: fn(usize) -> T, rows: usize, cols: usize) {
        let elements: Vec<T> = (0..rows * cols).map(make).collect();
        let x = tensor([rows, cols], elements);
        for mut on in targets() {
            for launch in [copy::<T, 32, 1>, copy::<T, 32, 4>, copy::<T, 32, 16>] {
                let mut y = Tensor::uninit([rows, cols]);
                run(launch(&x, &mut y), &mut on);
                assert_eq!(bits(&y), bits(&x), "{} {rows} x {cols}", T::ELEM);
            }
        }
    }
    // An even pitch first: what is cached for it serves the odd ones after it.
    check(|i| i as f32, 3, 64);
    check(|i| i as f32, 3, 1185);
    for cols in [33, 63, 65] {
        check(|i| f16::from_f64(i as f64), 3, cols);
        check(|i| i as u8, 3, cols);
    }
}

#[kernel]
fn edge<T: Elem>(
    x: View<T, 2>,
    at: View<i32, 1>,
    fill: Scalar<T>,
    limit: Scalar<i32>,
    y: ViewMut<T, 2>,
    z: ViewMut<T, 2>,
) {
    let (i, j) = (at.at(0).get(), at.at(1).get());
    let tile = x.at(i, j).limit(Axis::<1>, limit).load_or::<D2<8, 8>>(fill);
    y.at(0, 0).store(tile);
    z.at(i, j).limit(Axis::<1>, limit).store_inside(full::<T, D2<8, 8>>(fill));
}
#[test]
fn what_lies_outside_reads_as_the_fill_and_keeps_its_bits() {
    const N: i64 = 7;
    fn check<T: Elem>(make: fn(i64) -> T, fills: &[T]) {
        let x = tensor([7, 7], (0..N * N).map(make).collect());
        let places = [(0, 0), (-3, -3), (4, 4), (6, 6), (7, 0), (-8, 0), (1 << 20, 0), (0, -1), (i32::MAX, i32::MIN)];
        for ((i, j), limit) in places.iter().flat_map(|p| [0, 1, 5, 8, 1000, -1].map(|l| (*p, l))) {
            for (fill, mut on) in fills.iter().flat_map(|f| targets().into_iter().map(move |t| (*f, t))) {
                let (mut y, mut z) = (Tensor::<T, 2>::uninit([8, 8]), x.clone());
                run(edge::<T>(&x, &vector(vec![i, j]), fill, limit, &mut y, &mut z), &mut on);
                let exists = |r: i64, c: i64| (0..N).contains(&r) && (0..N).contains(&c);
                let (i, j, limit) = (i64::from(i), i64::from(j), i64::from(limit));
                for n in 0..64 {
                    let (r, c) = (n / 8, n % 8);
                    let read = exists(i + r, j + c) && c < limit;
                    let want = if read { make((i + r) * N + j + c) } else { fill };
                    assert_eq!(y.elements()[n as usize].to_bits(), want.to_bits(), "{i}, {j} limit {limit}: {r}, {c}");
                }
                for n in 0..N * N {
                    let (r, c) = (n / N - i, n % N - j);
                    let written = (0..8).contains(&r) && (0..8).contains(&c) && c < limit;
                    let want = if written { fill } else { make(n) };
                    assert_eq!(z.elements()[n as usize].to_bits(), want.to_bits(), "{i}, {j} limit {limit}: {n}");
                }
            }
        }
    }
    check(|v| v as f32, &[-99.0, f32::MIN, f32::NEG_INFINITY, f32::NAN]);
    check(|v| f16::from_f64(v as f64), &[f16::NEG_INFINITY]);
    check(|v| v as i8, &[-128]);
    check(|v| F8E4M3(v as u8), &[F8E4M3(0xFE)]);
}

#[kernel]
fn outside(x: View<f32, 1>, y: ViewMut<f32, 1>, at: Scalar<i32>) {
    y.at(at).store(x.at(at).load::<D1<8>>());
}
#[test]
fn a_plain_access_outside_is_one_error_for_the_load_and_one_for_the_store() {
    let x = vector(vec![1.0; 10]);
    for at in [-1, 5, i32::MAX, i32::MIN] {
        let tell = |mut on| {
            let mut y = Tensor::uninit([10]);
            faults(outside(&x, &mut y, at), &mut on)
        };
        let told: Vec<String> = targets().into_iter().map(tell).collect();
        assert!(told.iter().all(|other| *other == told[0]), "{at}: {told:#?}");
        assert_eq!(told[0].lines().count(), 2, "{}", told[0]);
    }
    let mut y = Tensor::uninit([10]);
    let text = outside(&x, &mut y, 5).grid(Grid::cubes(1).pes(2)).run(&mut targets()[1]).unwrap_err().to_string();
    insta::assert_snapshot!(text.split("error").nth(1).unwrap_or(""), @"
    [TW-E0310]: 6 elements loaded outside the view
      --> tests/cases/memory.rs:88:29
       |
    88 |     y.at(at).store(x.at(at).load::<D1<8>>());
       |                             ^^^^^^ first by PE 0 at [10]
       |
       = note: in `%0 = load %x[%at] : tile<8xf32>`; they were read as 0
       = next: use `load_or`, or `.limit(axis, n)`
       = more: tilewright explain TW-E0310
    ");
}

/// A tile at an odd place of rows of any pitch.
#[kernel]
fn inset<T: Elem>(x: View<T, 2>, y: ViewMut<T, 2>) {
    let tile = x.at(0, 0).vec_width(4).load_or::<D2<32, 32>>(zero::<T>());
    y.at(0, 1).vec_width(4).store_inside(tile);
}
#[test]
fn a_tile_stored_at_an_odd_place_moves_every_element_and_no_neighbour() {
    fn check<T: Elem>(make: fn(usize) -> T) {
        for (cols, mut on) in [31, 32, 33, 63, 65].into_iter().flat_map(|c| targets().into_iter().map(move |t| (c, t)))
        {
            let x = tensor([32, cols], (0..32 * cols).map(make).collect());
            let mut y = Tensor::<T, 2>::uninit([33, cols]);
            let (untouched, source) = (bits(&y), bits(&x));
            run(inset::<T>(&x, &mut y), &mut on);
            for (i, got) in bits(&y).into_iter().enumerate() {
                let (r, c) = (i / cols, i % cols);
                let want = if r < 32 && (1..33).contains(&c) { source[r * cols + c - 1] } else { untouched[i] };
                assert_eq!(got, want, "{} of {cols} columns at {r}, {c}", T::ELEM);
            }
        }
    }
    check(|i| i as f32);
    check(|i| f16::from_f64(i as f64));
    check(|i| i as u8);
}

fn doubled(x: &Tensor<f32, 2>, on: &mut tilewright::Runtime) -> Tensor<f32, 2> {
    let mut y = Tensor::uninit(x.dims());
    run(double(x, &mut y), on);
    y
}
#[kernel]
fn double(x: View<f32, 2>, y: ViewMut<f32, 2>) {
    for row in 0..x.len(Axis::<0>) {
        for col in 0..x.len(Axis::<1>) {
            y.at(row, col).set(x.at(row, col).get() * 2.0);
        }
    }
}
#[test]
fn arrays_of_any_strides_are_read_and_written_in_their_own_order() {
    let a = Array2::from_shape_fn((3, 4), |(r, c)| (r * 10 + c) as f32);
    let row = a.slice(s![1..2, ..]);
    let fortran = {
        let mut f = Array2::zeros(ndarray::ShapeBuilder::f((3, 4)));
        f.assign(&a);
        f
    };
    let views: [ArrayView2<'_, f32>; 8] = [
        a.view(),
        a.t(),
        a.slice(s![..;-1, ..]),
        a.slice(s![..;-1, ..;-2]),
        a.slice(s![.., ..;2]),
        row.broadcast((8, 4)).expect("one row is any number of rows"),
        a.slice(s![1..1, ..]),
        fortran.view(),
    ];
    for (view, mut on) in views.iter().flat_map(|v| targets().into_iter().map(move |t| (v, t))) {
        let x = Tensor::from(*view);
        assert_eq!(x.to_array(), view.to_owned().into_dyn());
        let y = doubled(&x, &mut on);
        let want: ArrayD<f32> = view.mapv(|v| v * 2.0).into_dyn();
        assert_eq!(y.to_array(), want);
        assert_eq!(doubled(&Tensor::from(view.to_owned()), &mut on).elements(), y.elements());
        // Back into arrays of other strides than the tensor's.
        let mut back = Array2::<f32>::zeros((view.ncols(), view.nrows()));
        back.view_mut().reversed_axes().assign(&y.to_array());
        assert_eq!(back.t().into_dyn(), want);
    }
}

#[kernel]
fn count<T: Num>(y: ViewMut<T, 1>, one: Scalar<T>, n: Scalar<i32>) {
    for _ in 0..n {
        y.at(3).atomic_add(one);
    }
}
#[test]
fn atomics_round_each_time_and_touch_no_neighbour() {
    fn check<T: Elem + Num>(one: T, zero: T, neighbour: T, programs: usize, want: T) {
        // A NaN with a payload: not what arithmetic makes.
        for mut on in targets() {
            // As many programs as there are additions, where a launch may have so many.
            let many = on.target() != tilewright::registry::Target::Sim;
            let grid = if many { Grid::cubes(programs) } else { Grid::cubes(10).pes(5) };
            let turns = programs / (grid.cubes * grid.pes);
            let mut y = vector(vec![neighbour; 5]).placed(Placement::at(0, 0));
            y.elements_mut()[3] = zero;
            run(count(&mut y, one, turns as i32).grid(grid), &mut on);
            let around = neighbour.to_bits();
            assert_eq!(bits(&y), [around, around, around, want.to_bits(), around], "{}", T::ELEM);
        }
    }
    let (half, brain) = (|v| f16::from_f64(v), |v| bf16::from_f64(v));
    check(brain(1.0), brain(0.0), bf16::from_bits(0x7FC5), 300, brain(256.0));
    check(half(1.0), half(0.0), f16::from_bits(0x7E05), 3000, half(2048.0));
    check(1.0, 0.0, f32::from_bits(0x7FC0_0005), 300, 300.0);
    check(1, 0, i32::MIN, 300, 300);
    check(1u8, 0, 0xA5, 300, 44);
    check(1u32, 0, 7, 300, 300);
}
/// Two places of the first tile exist, one of the second is within its limit, none of the third.
#[kernel]
fn add_at_edge<T: Num>(y: ViewMut<T, 1>, one: Scalar<T>) {
    y.at(3).limit(Axis::<0>, y.len(Axis::<0>) - 3).atomic_add(full::<T, D1<4>>(one));
    y.at(1).limit(Axis::<0>, 1).atomic_add(full::<T, D1<4>>(one));
    y.at(0).limit(Axis::<0>, -1).atomic_add(full::<T, D1<4>>(one));
}
#[test]
fn an_atomic_tile_at_the_edge_adds_only_where_places_exist() {
    fn check<T: Real>() {
        for mut on in targets() {
            let mut y = vector([10.0, 20.0, 30.0, 40.0, 50.0].map(T::of).to_vec()).placed(Placement::at(0, 0));
            run(add_at_edge(&mut y, T::of(1.0)).grid(Grid::cubes(1).pes(2)), &mut on);
            let got: Vec<f64> = y.elements().iter().map(|v| v.get()).collect();
            assert_eq!(got, [10.0, 22.0, 30.0, 42.0, 52.0], "{}", T::ELEM);
        }
    }
    check::<f16>();
    check::<bf16>();
    check::<f32>();
}
#[kernel]
fn add_outside(y: ViewMut<i32, 1>) {
    y.at(-1).atomic_add(full::<i32, D1<4>>(1));
}
#[test]
fn an_atomic_outside_is_told_with_what_an_atomic_has() {
    for mut on in targets() {
        let mut y = vector(vec![5; 2]).placed(Placement::at(0, 0));
        let text = add_outside(&mut y).run(&mut on).unwrap_err().to_string();
        assert_eq!(y.elements(), [6, 6]);
        assert!(text.contains("2 elements") && text.contains("at [-1]") && text.contains(".limit(axis, n)"), "{text}");
        assert!(!text.contains("store_inside"), "{text}");
    }
}

#[kernel]
fn raise(y: ViewMut<f32, 1>, x: View<f32, 1>) {
    y.at(0).atomic_max(x.at(program_id()).get());
}
#[test]
fn an_atomic_maximum_orders_negatives_and_the_zeros() {
    for mut on in targets() {
        for (x, start, want) in [([-3.0, -1.5], f32::NEG_INFINITY, -1.5f32), ([-0.0, 0.0], -1.0, 0.0)] {
            let mut y = vector(vec![start]).placed(Placement::at(0, 0));
            run(raise(&mut y, &vector(x.to_vec())).grid(Grid::cubes(2)), &mut on);
            assert_eq!(bits(&y), [u64::from(want.to_bits())]);
        }
    }
}
