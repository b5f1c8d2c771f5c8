//! What the language promises construct by construct: each combination that a reader of the reference may try, run by
//! the interpreter and by the machine model.

use tilewright::Runtime;
use tilewright::prelude::*;

fn targets() -> [Runtime; 2] {
    [Runtime::reference(), Runtime::sim()]
}
fn run(launch: Launch<'_>, on: &mut Runtime) {
    if let Err(e) = launch.run(on) {
        panic!("{e}");
    }
}

/// `&&` and `||` over host and device conditions, in every mix.
#[kernel]
fn joined(y: ViewMut<i32, 2>, a: Scalar<bool>, b: Scalar<bool>, #[comptime] p: bool, #[comptime] q: bool) {
    let device = [a && b, a || b, p && a, p || a, a && p, a || p, !a && (p || b), a && b || p];
    for (i, c) in device.into_iter().enumerate() {
        y.at(0, i).set(select(c, 1, 0));
    }
    let host = [p && q, p || q, !p && q];
    for (i, c) in host.into_iter().enumerate() {
        if c {
            y.at(1, i).set(1);
        }
    }
}
#[test]
fn conditions_join_over_host_and_device_alike() {
    for bits in 0..16 {
        let [a, b, p, q] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        let device = [a && b, a || b, p && a, p || a, a && p, a || p, !a && (p || b), a && b || p];
        let host = [p && q, p || q, !p && q];
        let mut want = [0; 16];
        device.into_iter().enumerate().for_each(|(i, c)| want[i] = i32::from(c));
        host.into_iter().enumerate().for_each(|(i, c)| want[8 + i] = i32::from(c));
        for mut on in targets() {
            let mut y = Tensor::zeros([2, 8]);
            run(joined(&mut y, a, b, p, q), &mut on);
            assert_eq!(y.elements(), want, "{a} {b} {p} {q}");
        }
    }
}

/// The right side of `||` reads past the end of `x` where it is not skipped.
#[kernel]
fn first_zero(x: View<i32, 1>, y: ViewMut<i32, 1>) {
    let n = x.len(Axis::<0>);
    let mut i = scalar(0);
    while !(i >= n || x.at(i).get() == 0) {
        i += 1;
    }
    y.at(0).set(i);
}
#[test]
fn the_right_side_of_or_runs_only_where_the_left_does_not_hold() {
    for (data, want) in [(vec![3, 0, 1], 1), (vec![1, 2], 2)] {
        let x = Tensor::from_vec([data.len()], data).expect("a vector");
        for mut on in targets() {
            let mut y = Tensor::zeros([1]);
            run(first_zero(&x, &mut y), &mut on);
            assert_eq!(y.elements(), [want]);
        }
    }
}

/// A guard and a condition beside `let` are host values; what the device decides is an `if` inside.
#[kernel]
fn guarded(y: ViewMut<i32, 1>, n: Scalar<i32>, #[comptime] size: Option<usize>) {
    let v = match size {
        Some(s) if s > 4 && s != 6 => n * s,
        Some(s) => {
            if n > 2 {
                n + s
            } else {
                n
            }
        }
        None => scalar(-1),
    };
    y.at(0).set(v);
    if let Some(s) = size
        && (s > 5 || s == 2)
    {
        if n > 2 {
            y.at(1).set(v * 2);
        }
    }
}
#[test]
fn patterns_are_decided_on_the_host_and_hold_device_branches() {
    let of = |n, size| {
        let all = targets().map(|mut on| {
            let mut y = Tensor::zeros([2]);
            run(guarded(&mut y, n, size), &mut on);
            y.elements().to_vec()
        });
        assert_eq!(all[0], all[1]);
        all[0].clone()
    };
    assert_eq!([of(3, Some(5)), of(3, Some(6)), of(1, Some(6))], [[15, 0], [9, 18], [1, 0]]);
    assert_eq!([of(3, Some(2)), of(3, None)], [[5, 10], [-1, 0]]);
}

/// Ends of device loops: host and device, i32 and i64, either side; steps of both kinds; loops without a turn.
#[kernel]
fn loops(y: ViewMut<i64, 1>, n: Scalar<i32>, wide: Scalar<i64>, #[comptime] k: usize) {
    let mut sums = [zero::<i64>(); 6];
    for i in 0..k {
        sums[0] += i.cast::<i64>();
    }
    for i in 1..n {
        sums[1] += i.cast::<i64>();
    }
    for i in n..k {
        sums[2] += i.cast::<i64>();
    }
    for i in (wide..wide + 7).step_by(wide - 1) {
        sums[3] += i;
    }
    for i in (0..wide).step_by(k) {
        sums[4] += i;
    }
    for _ in n..n {
        sums[5] += 1;
    }
    for (u, sum) in sums.into_iter().enumerate() {
        y.at(u).set(sum);
    }
}
#[test]
fn ends_of_loops_are_host_or_device_integers() {
    for mut on in targets() {
        let mut y = Tensor::zeros([6]);
        run(loops(&mut y, 4, 3, 6), &mut on);
        assert_eq!(y.elements(), [15, 6, 4 + 5, 3 + 5 + 7 + 9, 0, 0]);
    }
}

/// Every kind of port inside a launch: neighbours of a cube, of cubes, any PE of the cube.
#[kernel]
fn ports(y: ViewMut<i32, 2>) {
    let me = full::<i32, D1<1>>(program_id());
    let (pe, cube) = (pe_id(), cube_id());
    if pe == 0 {
        send(Port::peer(1), me);
        let other: Tile<i32, D1<1>> = recv(Port::peer(1));
        y.at(program_id(), 0).store(other);
    } else {
        send(Port::peer(0), me);
        y.at(program_id(), 0).store(recv::<Tile<i32, D1<1>>>(Port::peer(0)));
    }
    if cube == 0 {
        send(Port::cube(Dir::East), (me, me * 10));
    } else {
        let (a, b): (Tile<i32, D1<1>>, Tile<i32, D1<1>>) = recv(Port::cube(Dir::West));
        y.at(program_id(), 1).store(a + b);
    }
    barrier(Scope::Launch);
}
#[test]
fn what_is_sent_east_arrives_from_west_and_a_peer_is_named_by_its_rank() {
    for mut on in targets() {
        let mut y = Tensor::zeros([4, 2]).placed(Placement::over_cubes(0, 2));
        run(ports(&mut y).grid(Grid::cubes(2).pes(2)), &mut on);
        assert_eq!(y.elements(), [1, 0, 0, 0, 3, 0, 2, 11]);
    }
}

/// The product of each pair of elements that the table allows, accumulated in each.
#[kernel]
fn products<T: DotInto<A>, A: Num>(x: View<T, 2>, y: ViewMut<A, 2>) {
    let x = x.at(0, 0).load::<D2<2, 2>>();
    let once: Tile<A, _> = dot(x, x.trans());
    y.at(0, 0).store(dot_acc(x, x.trans(), once));
}
#[test]
fn each_product_of_the_table_accumulates_in_the_type_it_names() {
    macro_rules! all {
        ($($t:ty => $a:ty: $of:expr, $back:expr;)*) => {$(
            for mut on in targets() {
                let x = Tensor::<$t, 2>::from_vec([2, 2], [1.0f32, -2.0, 3.0, 4.0].map($of).to_vec()).expect("2 x 2");
                let mut y = Tensor::<$a, 2>::zeros([2, 2]);
                run(products::<$t, $a>(&x, &mut y), &mut on);
                let got: Vec<f64> = y.elements().iter().copied().map($back).collect();
                assert_eq!(got, [10.0, -10.0, -10.0, 50.0], "{} into {}", stringify!($t), stringify!($a));
            }
        )*};
    }
    all! {
        f16 => f16: f16::from_f32, f16::to_f64;
        f16 => f32: f16::from_f32, f64::from;
        bf16 => f32: bf16::from_f32, f64::from;
        f32 => f32: |v| v, f64::from;
        f64 => f64: f64::from, |v| v;
        i8 => i32: |v| v as i8, f64::from;
    }
}

/// Shifts, remainders and comparisons follow the signedness of the element.
#[kernel]
fn signs(y: ViewMut<i64, 1>, a: Scalar<i32>, b: Scalar<u32>) {
    let all = [a >> 1, a % 7, a / 2].map(|v| v.cast::<i64>());
    let unsigned = [b >> 1, b % 7, b / 2, mul_hi(b, 0xFFFF_FFFFu32)].map(|v| v.cast::<i64>());
    for (i, v) in all.into_iter().chain(unsigned).enumerate() {
        y.at(i).set(v);
    }
    y.at(7).set(select(a < 0, 1, 0) + select(b < 0, 10, 0));
}
#[test]
fn shifts_and_remainders_follow_the_sign_of_the_element() {
    let (a, b) = (-9i32, u32::MAX - 8);
    let signed = [a >> 1, a % 7, a / 2].map(i64::from);
    let high = ((u64::from(b) * 0xFFFF_FFFF) >> 32) as u32;
    let unsigned = [b >> 1, b % 7, b / 2, high].map(i64::from);
    for mut on in targets() {
        let mut y = Tensor::zeros([8]);
        run(signs(&mut y, a, b), &mut on);
        assert_eq!(y.elements(), [&signed[..], &unsigned[..], &[1]].concat());
    }
}

/// Sums of columns, of as many as the launch says.
#[kernel]
fn column_sums<const N: usize>(x: View<i32, 2>, y: ViewMut<i32, 1>, #[comptime] n: usize) {
    let mut sums = zeros_sized::<i32, D1<N>>([n]);
    for i in 0..x.len(Axis::<0>) {
        sums += x.at(i, 0).load_sized::<D1<N>>([n]);
    }
    y.at(0).store(sums);
}
#[test]
fn zeros_of_an_open_length_start_a_sum() {
    let x = Tensor::from_vec([2, 3], vec![1, 2, 3, 40, 50, 60]).expect("2 x 3");
    for mut on in targets() {
        let mut y = Tensor::from_vec([3], vec![7; 3]).expect("3");
        run(column_sums::<ANY>(&x, &mut y, 3), &mut on);
        assert_eq!(y.elements(), [41, 52, 63]);
    }
}

/// What only tracing can see of an open length: every operation that needs it closed.
#[kernel]
fn open<const N: usize>(x: View<f32, 2>, n: Scalar<i32>) {
    keep(n + N);
    keep(x.at(0, 0).load::<D2<N, 4>>());
    keep(full::<f32, D1<N>>(1.0));
    keep(iota::<i32, D1<N>>(Axis::<0>));
    let sized = x.at(0, 0).load_sized::<D2<N, 4>>([6]);
    keep(sized.reshape::<D2<4, N>>());
    keep(sized.rows::<2>(4));
    keep(sized.rows::<2>(5));
    keep(sized.sum(Axis::<1>).col().broadcast::<D2<N, 3>>());
}
#[test]
fn what_needs_all_lengths_says_so_of_an_open_one() {
    let Err(found) = open::<ANY>(&Tensor::shape_only([6, 4]), 1).trace() else { panic!("an open length was taken") };
    let line = |d: &tilewright::diag::Diagnostic| {
        format!("{} {} {}", d.code, d.labels.first().map_or(0, |l| l.place.line) - open_at(), d.message)
    };
    insta::assert_snapshot!(found.0.iter().map(line).collect::<Vec<_>>().join("\n"));
}
/// The line of the kernel above.
fn open_at() -> u32 {
    let found = include_str!("constructs.rs").lines().position(|l| l.starts_with("fn open<"));
    found.map_or(0, |i| i as u32 + 1)
}
