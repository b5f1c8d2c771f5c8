//! Control flow: `if` as a value, short circuits, loops of few turns, what a loop carries, axes of length 1 and 0.

use crate::support::*;
use tilewright::prelude::*;

#[kernel]
fn arms(x: View<f32, 1>, n: Scalar<i32>, y: ViewMut<f32, 2>, #[comptime] flag: bool) {
    let u = if flag { 1.0 } else { 2.0 };
    for i in 0..n {
        let above = x.at(i).get() > 0.0;
        let v = if above { scalar(1.0f32) } else { scalar(0.0f32) };
        let (a, b) = if above { (scalar::<i32>(3), scalar(true)) } else { (scalar::<i32>(4), scalar(false)) };
        let nested = if above {
            if x.at(i).get() > 5.0 { scalar::<u32>(7) } else { scalar::<u32>(8) }
        } else {
            scalar::<u32>(9)
        };
        y.at(0, i).set(v * u);
        y.at(1, i).set(a.cast::<f32>());
        y.at(2, i).set(b.cast::<f32>());
        y.at(3, i).set(nested.cast::<f32>());
    }
}
#[test]
fn arms_that_are_literals_follow_the_data() {
    let x = vector(vec![1.0, -1.0, 0.0, f32::NAN, 9.0]);
    for (flag, u) in [(true, 1.0), (false, 2.0)] {
        for mut on in targets() {
            let mut y = Tensor::uninit([4, 5]);
            run(arms(&x, 5, &mut y, flag), &mut on);
            let want: [[f32; 5]; 4] = [
                [u, 0.0, 0.0, 0.0, u],
                [3.0, 4.0, 4.0, 4.0, 3.0],
                [1.0, 0.0, 0.0, 0.0, 1.0],
                [8.0, 9.0, 9.0, 9.0, 7.0],
            ];
            assert_eq!(y.elements(), want.concat());
        }
    }
}

#[kernel]
fn arms_in_while(x: View<f32, 1>, n: Scalar<i32>, y: ViewMut<i32, 1>) {
    let mut i = scalar(0);
    while i < n {
        let (v, go) = if x.at(i).get() > 0.0 { (scalar(1), scalar(true)) } else { (scalar(0), scalar(false)) };
        y.at(i).set(v);
        i += if go { scalar(1) } else { scalar(2) };
    }
}
#[test]
fn arms_that_are_literals_follow_the_data_inside_while() {
    let x = vector(vec![1.0, -1.0, 5.0, f32::NAN, 9.0, 2.0]);
    for mut on in targets() {
        let mut y = vector(vec![-1; 6]);
        run(arms_in_while(&x, 6, &mut y), &mut on);
        assert_eq!(y.elements(), [1, 0, -1, 0, -1, 1]);
    }
}

#[kernel]
fn runs_of_equals(
    x: View<i32, 1>,
    n: Scalar<i32>,
    head: ViewMut<i32, 1>,
    first: ViewMut<i32, 1>,
    #[comptime] on: bool,
) {
    for i in 0..n {
        if i == 0 || x.at(i - 1).get() != x.at(i).get() {
            head.at(i).set(scalar(1));
        } else {
            head.at(i).set(scalar(0));
        }
    }
    let mut j = scalar(0);
    while on && j < n && x.at(j).get() < 3 && x.at(j).get() >= 0 {
        j += 1;
    }
    first.at(0).set(j);
}
#[test]
fn a_guarded_load_runs_only_behind_its_guard() {
    for x in [vec![], vec![5], vec![1, 1, 2, 2, 2, 7], vec![0, 1, 2]] {
        let n = x.len();
        let heads: Vec<i32> = (0..n).map(|i| i32::from(i == 0 || x[i - 1] != x[i])).collect();
        let first = x.iter().take_while(|v| **v < 3).count() as i32;
        for mut on in targets() {
            let (mut head, mut found) = (Tensor::uninit([n]), Tensor::uninit([1]));
            run(runs_of_equals(&vector(x.clone()), n as i32, &mut head, &mut found, true), &mut on);
            assert_eq!((head.elements(), found.elements()), (&heads[..], &[first][..]));
            // No pass lifts a load out of its guard, in front of the first or behind the last element.
            let (mut head, mut found) = (Tensor::uninit([n]), Tensor::uninit([1]));
            let mut strict = on.check_races();
            run_optimised(runs_of_equals(&vector(x.clone()), n as i32, &mut head, &mut found, true), &mut strict);
            assert_eq!((head.elements(), found.elements()), (&heads[..], &[first][..]));
        }
    }
}

#[kernel]
fn sums<const BK: usize, const STAGES: usize>(a: View<f32, 2>, b: View<f32, 2>, c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32, D2<4, 4>>();
    for k in (0..a.len(Axis::<1>)).step_by(BK).stages(STAGES) {
        acc = dot_acc(a.at(0, k).load_or::<D2<4, BK>>(0.0), b.at(k, 0).load_or::<D2<BK, 4>>(0.0), acc);
    }
    c.at(0, 0).store_inside(acc);
}
#[test]
fn loops_of_few_turns_and_many_stages_equal_the_plain_loop() {
    for k in [0, 1, 7, 8, 16, 25] {
        let (a, b) = ((0..4 * k).map(|i| (i % 5) as f32).collect(), (0..4 * k).map(|i| (i % 3) as f32).collect());
        let (a, b) = (tensor([4, k], a), tensor([k, 4], b));
        let want: Vec<f32> =
            (0..16).map(|i| (0..k).map(|n| a.elements()[i / 4 * k + n] * b.elements()[n * 4 + i % 4]).sum()).collect();
        for launch in [sums::<8, 1>, sums::<8, 2>, sums::<8, 3>, sums::<8, 4>, sums::<8, 5>] {
            for mut on in targets() {
                let mut c = Tensor::uninit([4, 4]);
                run(launch(&a, &b, &mut c), &mut on);
                assert_eq!(c.elements(), want, "k = {k}");
            }
        }
    }
}

/// Two loops of other depths over one tile, inside a loop whose turns the data decides.
#[kernel]
fn two_loops<const FIRST: usize, const SECOND: usize>(x: View<i32, 1>, n: Scalar<i32>, y: ViewMut<i32, 1>) {
    let mut acc = zeros::<i32, D1<4>>();
    let mut left = n;
    while left > 0 {
        for k in (0..x.len(Axis::<0>)).step_by(4).stages(FIRST) {
            acc += x.at(k).load_or::<D1<4>>(0);
        }
        for k in (0..x.len(Axis::<0>) - 4).step_by(8).stages(SECOND) {
            acc = acc * 2 - x.at(k).load_or::<D1<4>>(0);
        }
        left -= 1;
    }
    y.at(0).store(acc);
}
#[test]
fn loops_of_any_stages_share_tiles_in_sequence() {
    for (len, n) in [0, 3, 4, 9, 20].into_iter().flat_map(|len| [0, 1, 3].map(|n| (len, n))) {
        let x: Vec<i32> = (1..=len).collect();
        let mut want = [0; 4];
        let at = |k: i32, i: usize| x.get(k as usize + i).copied().unwrap_or(0);
        for _ in 0..n {
            (0..len).step_by(4).for_each(|k| (0..4).for_each(|i| want[i] += at(k, i)));
            (0..len - 4).step_by(8).for_each(|k| (0..4).for_each(|i| want[i] = want[i] * 2 - at(k, i)));
        }
        for launch in [two_loops::<1, 1>, two_loops::<2, 5>, two_loops::<4, 3>] {
            for mut on in targets() {
                let mut y = Tensor::uninit([4]);
                run(launch(&vector(x.clone()), n, &mut y), &mut on);
                assert_eq!(y.elements(), want, "{len} elements, {n} turns");
            }
        }
    }
}

#[kernel]
fn stepped(step: Scalar<i32>, n: Scalar<i32>, y: ViewMut<i32, 1>) {
    let mut turns = scalar(0);
    for _ in (0..n).step_by(step) {
        turns += 1;
    }
    for _ in 5..3 {
        turns += 100;
    }
    for i in 0..n {
        for _ in i..i {
            turns += 1000;
        }
    }
    let mut left = n;
    while left > 0 {
        for _ in 0..2 {
            turns += 10;
        }
        left -= 1;
    }
    y.at(0).set(turns);
}
#[test]
fn a_step_that_does_not_count_up_is_told_and_empty_loops_carry_through() {
    for mut on in targets() {
        let mut y = Tensor::uninit([1]);
        for (step, n, turns) in [(1, 3, 63), (2, 5, 103), (7, 5, 101), (i32::MAX, 5, 101), (1, 0, 0), (1, -3, 0)] {
            run(stepped(step, n, &mut y), &mut on);
            assert_eq!(y.elements(), [turns], "step {step}, n {n}");
        }
        for step in [0, -1, i32::MIN] {
            let told = stepped(step, 5, &mut y).run(&mut on).unwrap_err().to_string();
            assert!(told.contains("flow.rs") && told.contains("step"), "{told}");
        }
    }
}
#[kernel]
fn no_stages<const STAGES: usize>(y: ViewMut<i32, 1>) {
    for i in (0..4).stages(STAGES) {
        y.at(i).set(i);
    }
}
#[test]
fn a_loop_of_no_stages_is_told_with_its_line() {
    for mut on in targets() {
        let mut y = Tensor::uninit([4]);
        run(no_stages::<1>(&mut y), &mut on);
        let told = no_stages::<0>(&mut y).run(&mut on).unwrap_err().to_string();
        assert!(told.contains("flow.rs") && told.contains("stages"), "{told}");
    }
}

#[derive(Value)]
struct Part {
    m: Scalar<i32>,
    l: Scalar<i32>,
}
#[kernel]
#[allow(dead_code, clippy::self_assignment, reason = "a self-assignment carries its variable")]
fn carried(y: ViewMut<i32, 1>, n: Scalar<i32>) {
    let (mut a, mut b, i) = (scalar(0), scalar(10), scalar(7));
    for i in 0..4 {
        a = a;
        if i > 1 {
            b += i;
        } else {
            a = b;
        }
    }
    let (mut p, mut q) = (scalar(0), scalar(1));
    for _ in 0..10 {
        (p, q) = (q, p + q);
    }
    let mut part = Part { m: scalar(1), l: scalar(2) };
    let mut acc = [scalar(0), scalar(0), scalar(0)];
    let mut inner = scalar(0);
    for j in 0..n {
        part.m = part.m + j;
        for u in unroll(0..3) {
            acc[u] += j * u;
        }
        for k in 0..j {
            inner += k;
        }
        if j > 1 {
            let part = j * 100;
            keep(part);
        }
    }
    for (at, v) in [a, b, i, p, q, part.m, part.l, acc[0], acc[1], acc[2], inner].into_iter().enumerate() {
        y.at(at).set(v);
    }
}
#[test]
fn a_loop_carries_what_it_assigns_and_nothing_else() {
    for mut on in targets() {
        let mut y = Tensor::uninit([11]);
        run(carried(&mut y, 4), &mut on);
        assert_eq!(y.elements(), [10, 15, 7, 55, 89, 7, 2, 0, 6, 12, 4]);
    }
}

#[kernel]
fn thin<const M: usize, const N: usize>(
    x: View<f32, 2>,
    sums: ViewMut<f32, 1>,
    tops: ViewMut<f32, 1>,
    soft: ViewMut<f32, 2>,
) {
    let x = x.at(0, 0).load::<D2<M, N>>();
    sums.at(0).store(x.sum(Axis::<0>));
    let top = x.max(Axis::<1>);
    tops.at(0).store(top);
    let e = exp(x - top.col());
    soft.at(0, 0).store(e / e.sum(Axis::<1>).col());
}
#[test]
fn reductions_over_one_are_the_identity() {
    fn check<const M: usize, const N: usize>() {
        let x: Vec<f32> = (0..M * N).map(|i| i as f32 - 2.0).collect();
        for mut on in targets() {
            let (mut sums, mut tops) = (Tensor::<f32, 1>::uninit([N]), Tensor::<f32, 1>::uninit([M]));
            let mut soft = Tensor::<f32, 2>::uninit([M, N]);
            run(thin::<M, N>(&tensor([M, N], x.clone()), &mut sums, &mut tops, &mut soft), &mut on);
            let sum = |c| (0..M).map(|r| x[r * N + c]).sum::<f32>();
            let top = |r: usize| x[r * N..][..N].iter().copied().fold(f32::MIN, f32::max);
            assert_eq!(sums.elements(), (0..N).map(sum).collect::<Vec<_>>());
            assert_eq!(tops.elements(), (0..M).map(top).collect::<Vec<_>>());
            assert!(N > 1 || soft.elements().iter().all(|v| *v == 1.0), "a softmax of one column is 1");
        }
    }
    check::<1, 5>();
    check::<5, 1>();
    check::<1, 1>();
    check::<3, 3>();
}
#[kernel]
fn col_and_row<const N: usize>(v: View<i32, 1>, y: ViewMut<i32, 3>) {
    let (v, zero) = (v.at(0).load::<D1<N>>(), zeros::<i32, D2<N, N>>());
    y.at(0, 0, 0).store(zero + v.col());
    y.at(1, 0, 0).store(zero + v.row());
}
#[test]
fn a_column_and_a_row_of_a_square_differ() {
    for mut on in targets() {
        let mut y = Tensor::uninit([2, 2, 2]);
        run(col_and_row::<2>(&vector(vec![1, 2]), &mut y), &mut on);
        assert_eq!(y.elements(), [1, 1, 2, 2, 1, 2, 1, 2]);
    }
}
#[kernel]
fn nothing(x: View<f32, 2>, y: ViewMut<f32, 2>) {
    let tile = x.at(0, 0).load_or::<D2<4, 4>>(3.0);
    y.at(0, 0).store_inside(tile);
    y.at(0, 0).limit(Axis::<0>, 0).store_inside(tile * 2.0);
}
#[test]
fn tensors_of_no_elements_read_as_the_fill_and_take_no_store() {
    for (dims, mut on) in [[0, 4], [4, 0], [0, 0]].into_iter().flat_map(|d| targets().into_iter().map(move |t| (d, t)))
    {
        let (empty, mut four) = (Tensor::zeros(dims), Tensor::uninit([4, 4]));
        run(nothing(&empty, &mut four), &mut on);
        assert_eq!(four.elements(), [3.0; 16]);
        let mut none = Tensor::zeros(dims);
        run(nothing(&four, &mut none), &mut on);
        assert!(none.elements().is_empty());
    }
}

#[kernel]
fn leaky(a: View<f32, 2>, b: View<f32, 2>, c: ViewMut<f32, 2>, #[comptime] k: usize) {
    let acc = dot(
        a.at(0, 0).load_sized_or::<D2<4, ANY>>([k.max(1)], 0.0),
        b.at(0, 0).load_sized_or::<D2<ANY, 4>>([k.max(1)], 0.0),
    );
    c.at(0, 0).store_inside(select(acc > 0.0, acc, acc * 0.01));
}
#[test]
fn products_without_an_extent_are_zero_or_nothing() {
    for ([m, k, n], mut on) in [[4, 0, 4], [0, 3, 4], [4, 3, 0], [0, 0, 0], [3, 1, 2]]
        .into_iter()
        .flat_map(|sizes| targets().into_iter().map(move |t| (sizes, t)))
    {
        let (a, b) = (tensor([m, k], vec![1.0; m * k]), tensor([k, n], vec![2.0; k * n]));
        let mut c = Tensor::uninit([m, n]);
        run(leaky(&a, &b, &mut c, k), &mut on);
        assert_eq!(c.elements(), vec![2.0 * k as f32; m * n]);
    }
}
#[kernel]
fn sized(x: View<f32, 1>, y: ViewMut<f32, 1>, #[comptime] n: usize) {
    let x = x.at(0).load_sized::<D1<ANY>>([n]);
    y.at(0).set(x.sum(Axis::<0>) + x.max(Axis::<0>));
}
#[test]
fn an_open_length_of_one_is_the_element_and_of_zero_is_told() {
    for mut on in targets() {
        let mut y = Tensor::uninit([1]);
        run(sized(&vector(vec![3.0]), &mut y, 1), &mut on);
        assert_eq!(y.elements(), [6.0]);
        let told = sized(&vector(vec![3.0]), &mut y, 0).run(&mut on).unwrap_err().to_string();
        assert!(told.contains("TW-E0") && told.contains("flow.rs"), "{told}");
    }
}
#[test]
fn what_a_loop_carries_reads_back_as_it_prints() {
    let mut y = Tensor::uninit([11]);
    let (x, mut z) = (vector(vec![0]), vector(vec![0; 4]));
    for launch in [carried(&mut y, 4), two_loops::<2, 5>(&x, 2, &mut z)] {
        let module = launch.trace().unwrap_or_else(|e| panic!("{e}"));
        let text = tilewright::ir::text::print(&module);
        let read = tilewright::ir::text::read(&text, "carried.tir").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(tilewright::ir::text::print(&read), text);
    }
}
