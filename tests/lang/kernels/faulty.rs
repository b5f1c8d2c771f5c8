//! Kernels with a mistake that only tracing or launching can see. `faults.rs` holds what is said of each, by line.

use std::cell::Cell;
use std::sync::Mutex;
use tilewright::prelude::*;

#[device]
fn tail(x: View<f16, 2>, n: usize) -> Tile<f16, D2<ANY, 16>> {
    x.at(0, 0).load_sized([n])
}

#[device]
fn both(x: View<f16, 2>) -> Tile<f16, D2<ANY, 16>> {
    tail(x, 8) + tail(x, 9)
}

#[kernel]
pub fn several(x: View<f16, 2>, y: ViewMut<f32, 2>, n: Scalar<i32>) {
    let a = x.at(0, 0).load::<D2<16, 16>>();
    let sum = both(x);
    keep(sum * 2.0);
    let two: Tile<f32, _> = composite(|| dot(a, dot(a, a)));
    y.at(n, 0).store(two);
    keep(zeros::<f32, D2<ANY, 4>>());
    keep(zeros::<f32, D1<0>>());
    keep(x.at(0, 0).load_sized::<D2<ANY, ANY>>([4]));
    let _: Tile<f32, D1<ANY>> = recv(Port::pe(Dir::East));
    y.at(0, 0).vec_width(3).store(zeros::<f32, D2<16, 16>>());
    send(Port::sip(Dir::North), n);
    for _ in (0..n).step_by(0).stages(0) {}
    keep(n + 3_000_000_000u32);
    keep(a * 1e6);
    assert_k!(1 > 2, "host");
    print_k!("{} {}", n);
}

#[kernel]
pub fn leaks(x: View<f16, 2>, y: ViewMut<f32, 2>, n: Scalar<i32>) {
    let leak = Cell::new(n);
    if n > 2 {
        leak.set(n + 1);
    }
    for i in 0..n {
        leak.set(leak.get() + i);
    }
    y.at(leak.get(), 0).set(0.0);
    keep(x.at(0, 0).get());
}

static KEPT: Mutex<Option<Scalar<i32>>> = Mutex::new(None);

#[kernel]
pub fn remembers(n: Scalar<i32>, #[comptime] first: bool) {
    match first {
        true => *KEPT.lock().unwrap() = Some(n),
        false => {
            let old = KEPT.lock().unwrap().unwrap_or(n);
            keep(old * 2);
            keep(old);
        }
    }
}

#[device]
fn deeper(n: Scalar<i32>) -> Scalar<i32> {
    if n > 0 { deeper(n - 1) } else { n }
}

#[device]
fn endless(n: Scalar<i32>) -> Scalar<i32> {
    endless(n) + 1
}

#[expect(unconditional_recursion)]
fn plain(n: Scalar<i32>) -> Scalar<i32> {
    plain(n + 1) + 1
}

#[kernel]
pub fn recursion(n: Scalar<i32>, #[comptime] kind: &'static str) {
    keep(match kind {
        "nested" => deeper(n),
        "device" => endless(n),
        _ => plain(n),
    });
}

#[kernel]
pub fn huge(n: Scalar<i32>) {
    let mut sum = n;
    for _ in unroll(0..2_000_000) {
        sum += n;
    }
    keep(sum);
}

#[device]
fn entry(list: &[usize], at: usize) -> usize {
    list[at]
}

#[kernel]
pub fn panics(n: Scalar<i32>, #[comptime] list: Vec<usize>) {
    let m = n * 2;
    keep(m + entry(&list, 7));
}

static CALLS: Mutex<usize> = Mutex::new(0);

#[kernel]
pub fn impure(n: Scalar<i32>) {
    let mut calls = CALLS.lock().unwrap();
    *calls += 1;
    let _ = n + 1;
    keep(n * *calls);
}

#[kernel]
pub fn warm(n: Scalar<i32>, #[comptime] counter: Counter) {
    *counter.0.lock().unwrap() += 1;
    keep(n);
}

/// Equal to all others, so that it can count the traces of one specialisation.

#[derive(Clone, Debug)]
pub struct Counter(pub std::sync::Arc<Mutex<usize>>);

impl PartialEq for Counter {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Counter {}

impl std::hash::Hash for Counter {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

#[kernel]
pub fn lengths(x: View<i8, 2>, y: ViewMut<i8, 2>) {
    keep(x.len(Axis::<1>));
    keep(x.len(Axis::<0>) + y.len(Axis::<1>));
}

#[kernel]
pub fn blameless(n: Scalar<i32>) {
    keep(n);
}

#[kernel]
pub fn open_message(n: Scalar<i32>) {
    let (a, b): (Tile<f32, D1<ANY>>, Tile<f32, D2<ANY, 4>>) = recv(Port::pe(Dir::East));
    keep(b - a.col());
    keep(b.reshape::<D2<8, 4>>() + full::<f32, D2<8, 4>>(1.0));
    keep(n);
}
