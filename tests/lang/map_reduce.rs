//! `map_reduce`: what it traces to, what it computes, and what cannot stand in it.

use insta::assert_snapshot;
use tilewright::Runtime;
use tilewright::ir::text::print;
use tilewright::prelude::*;

/// A partial maximum, where it is, and how many elements were looked at.
#[derive(Value)]
struct Best {
    value: Scalar<f32>,
    at: Scalar<i32>,
    seen: Scalar<i32>,
}
impl Best {
    #[device]
    fn of(x: Tile<f32, D1<4>>, first: Scalar<i32>) -> Best {
        let value = x.max(Axis::<0>);
        let places = select(x == value, iota::<i32, D1<4>>(Axis::<0>), 4);
        Best { value, at: first + places.min(Axis::<0>), seen: scalar(4) }
    }
    #[device]
    fn better(self, other: Best) -> Best {
        let mut at = self.at;
        if other.value > self.value {
            at = other.at;
        }
        Best { value: maximum(self.value, other.value), at, seen: self.seen + other.seen }
    }
}
#[kernel]
fn best_of(x: View<f32, 1>, y: ViewMut<i32, 1>, from: Scalar<i32>) {
    let best = map_reduce((from..x.len(Axis::<0>)).step_by(4).stages(3), |i| Best::of(x.at(i).load(), i), Best::better);
    y.at(0).set(best.at);
    y.at(1).set(best.seen);
}

#[test]
fn the_ir_has_the_names_of_the_source() {
    let (x, mut y) = (Tensor::shape_only([16]), Tensor::shape_only([2]));
    assert_snapshot!(print(&best_of(&x, &mut y, 0).trace().unwrap()));
}

#[test]
fn a_struct_is_found_over_all_tiles_on_every_target() {
    let elements: Vec<f32> = (0..32).map(|i| ((i * 7) % 23) as f32).collect();
    let x = Tensor::from_vec([32], elements).unwrap();
    for mut on in [Runtime::reference(), Runtime::sim()] {
        for (from, best) in [(0, 13), (20, 26), (28, 29)] {
            let mut y = Tensor::from_vec([2], vec![0i32; 2]).unwrap();
            best_of(&x, &mut y, from).run(&mut on).unwrap();
            assert_eq!(y.elements(), [best, 32 - from], "from {from}");
        }
    }
}

/// A merge whose order shows: the interpreter and the simulator take it in increasing order.
#[kernel]
fn differences(y: ViewMut<i64, 1>, n: Scalar<i64>) {
    let d = map_reduce((2..n).step_by(3), |i| i * i, |left, right| left - right);
    y.at(0).set(d);
    let (low, pair) = map_reduce(0..4, |t| (t, [t, t + 1]), |a, b| (minimum(a.0, b.0), [a.1[0] + b.1[0], b.1[1]]));
    y.at(1).set((low + pair[0] + pair[1]).cast::<i64>());
}
#[test]
fn turns_are_merged_in_increasing_order() {
    for mut on in [Runtime::reference(), Runtime::sim()] {
        for (n, d) in [(3, 4), (5, 4), (6, 4 - 25), (12, 4 - 25 - 64 - 121)] {
            let mut y = Tensor::from_vec([2], vec![0i64; 2]).unwrap();
            differences(&mut y, n).run(&mut on).unwrap();
            assert_eq!(y.elements(), [d, 6 + 4], "to {n}");
        }
    }
}

#[test]
fn no_turn_is_an_error_of_its_line_on_every_target() {
    for mut on in [Runtime::reference(), Runtime::sim()] {
        let mut y = Tensor::from_vec([2], vec![0i64; 2]).unwrap();
        let told = differences(&mut y, 2).run(&mut on).unwrap_err();
        assert_eq!((told.0.len(), told.0[0].code), (1, "TW-E0309"));
        let place = &told.0[0].labels[0].place;
        assert_eq!((&*place.file, place.line), ("tests/lang/map_reduce.rs", 60));
    }
}

#[kernel]
fn with_effects(x: View<f32, 1>, y: ViewMut<f32, 1>, n: Scalar<i32>) {
    let stored = map_reduce(
        0..n,
        |i| {
            y.at(i).set(1.0);
            x.at(i).get()
        },
        |a, b| a + b,
    );
    let loaded = map_reduce(0..n, |i| x.at(i).get(), |a, b| a + b * x.at(0).get());
    let nested = map_reduce(0..n, |i| map_reduce(0..i, |j| j, |a, b| a + b), |a, b| a + b);
    let nothing = map_reduce(0..n, |_| (), |(), ()| ());
    keep((stored, loaded, nested, nothing));
}
#[test]
fn what_has_effects_is_told_with_both_lines() {
    let (x, mut y) = (Tensor::shape_only([16]), Tensor::shape_only([16]));
    let told = with_effects(&x, &mut y, 3).trace().unwrap_err();
    let line = |d: &tilewright::diag::Diagnostic| format!("{} {} | {}", d.code, d.message, d.labels[0].place);
    assert_snapshot!(told.0.iter().map(line).collect::<Vec<_>>().join("\n"));
}
