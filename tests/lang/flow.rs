//! Control flow: what runs while tracing, what becomes a region, and what a region carries.

use insta::assert_snapshot;
use tilewright::ir::Module;
use tilewright::ir::text::print;
use tilewright::prelude::*;

fn ir(launch: Launch<'_>) -> String {
    let m: std::sync::Arc<Module> = launch.trace().unwrap_or_else(|e| panic!("{e}"));
    print(&m)
}

#[derive(Value, Debug)]
struct Best {
    at: Scalar<i32>,
    value: Scalar<f32>,
}
#[device]
fn centred<S: DropAxis<A>, const A: usize>(x: Tile<f32, S>, axis: Axis<A>) -> Tile<f32, S> {
    x - x.spread(axis, x.max(axis))
}
#[kernel]
fn flow<const U: usize>(
    x: View<f32, 1>,
    hits: ViewMut<i32, 1>,
    n: Scalar<i32>,
    on: Scalar<bool>,
    #[comptime] log: bool,
) {
    let mut stages = 2;
    if U > 1 {
        stages = stages + 2; // host
    }
    let step = if U > 2 { 30 } else { 50 }; // host value
    let mut best = Best { at: scalar(-1), value: scalar(f64::NEG_INFINITY) };
    let mut i = scalar(0);
    while i < n && x.at(i).get() > 0.0 {
        // the load is guarded
        let v = x.at(i).get();
        if v > best.value {
            best.at = i;
            best.value = v;
        } else if on {
            best.at += 1;
        }
        {
            let i = 5;
            let _ = i; // shadowing is no assignment
        }
        if log {
            print_k!("i {} v {}", i, v);
        }
        i += step;
    }
    let mut pair = (i, best.at);
    for k in unroll([1usize, 2, stages]) {
        for j in 0..k {
            (pair.0, pair.1) = (pair.1 + j, pair.0);
        }
    }
    if (n > 3 || on) && U > 1 {
        assert_k!(pair.0 >= 0, "negative");
    }
    let mut last = x.at(0).load::<D1<8>>();
    for j in (0..n).step_by(2).stages(3) {
        if j > 4 {
            last = x.at(j).load();
        }
    }
    let square = last.col().broadcast::<D2<8, 4>>();
    hits.at(0).atomic_add(select(centred(square, Axis::<0>) < centred(square, Axis::<1>), 1, 0).sum(Axis::<0>));
    hits.at(1).atomic_max(square.reduce_with(Axis::<0>, |a, b| maximum(a, b) + a * b).cast::<i32>());
    comptime! { assert!("a" < "b") }
}

#[test]
fn host_conditions_run_and_device_conditions_become_regions() {
    let (x, mut hits) = (Tensor::shape_only([64]), Tensor::shape_only([4]));
    assert_snapshot!(ir(flow::<4>(&x, &mut hits, 64, true, true)));
}
