//! What the cases share: the targets, and how faults are told.

use std::sync::Arc;
use tilewright::Runtime;
use tilewright::core_api::launch::{Backend, Ready};
use tilewright::core_api::passes;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;

/// Every target that computes values: a GPU too, where there is one.
pub fn targets() -> Vec<Runtime> {
    models().into_iter().chain(gpus()).collect()
}
/// Those that run the IR.
pub fn models() -> [Runtime; 2] {
    [Runtime::reference(), Runtime::sim()]
}
/// Those that run PTX.
pub fn gpus() -> Vec<Runtime> {
    let emulated = tilewright::registry::Arch::ALL.map(Runtime::ptx_emu);
    emulated.into_iter().chain(gpu()).collect()
}
/// The first GPU. One runtime is kept, so that the driver does not start anew for each test.
fn gpu() -> Option<Runtime> {
    use std::sync::{Mutex, PoisonError};
    static KEPT: Mutex<Option<Runtime>> = Mutex::new(None);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.is_none() {
        *kept = Some(Runtime::cuda().ok()?);
    }
    Runtime::cuda().ok()
}

/// Runs a launch; its faults fail the test.
#[track_caller]
pub fn run(launch: Launch<'_>, on: &mut Runtime) {
    let target = on.target();
    launch.run(on).unwrap_or_else(|e| panic!("{target}: {e}"));
}

/// Runs a launch after all passes; its faults fail the test.
#[track_caller]
pub fn run_optimised(launch: Launch<'_>, on: &mut Runtime) {
    let ready = launch.ready().unwrap_or_else(|e| panic!("{e}"));
    let optimised = passes::optimise(&ready.module, &passes::Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let target = on.target();
    on.execute(Ready { module: Arc::new(optimised.module), ..ready }).unwrap_or_else(|e| panic!("{target}: {e}"));
}

/// The codes and messages of a launch's faults, one a line, without the places.
pub fn faults(launch: Launch<'_>, on: &mut Runtime) -> String {
    launch.run(on).map_or_else(|e| told(&e), |_| "no fault".to_string())
}
pub fn told(found: &Diagnostics) -> String {
    found.0.iter().map(|d| format!("{} {}", d.code, d.message)).collect::<Vec<_>>().join("\n")
}

pub fn tensor<T: Elem, const R: usize>(dims: [usize; R], elements: Vec<T>) -> Tensor<T, R> {
    Tensor::from_vec(dims, elements).expect("as many elements as the lengths say")
}
pub fn vector<T: Elem>(elements: Vec<T>) -> Tensor<T, 1> {
    tensor([elements.len()], elements)
}
/// For a kernel to write, in one memory that every cube reaches.
pub fn output<T: Elem, const R: usize>(dims: [usize; R]) -> Tensor<T, R> {
    Tensor::uninit(dims).placed(Placement::at(0, 0))
}
/// Elements as bits, so that NaN and -0 count.
pub fn bits<T: Elem, const R: usize>(t: &Tensor<T, R>) -> Vec<u64> {
    t.elements().iter().map(|v| v.to_bits()).collect()
}

/// A float element type and its conversions, as the crates behind it do them.
pub trait Real: Float {
    fn of(v: f64) -> Self;
    fn get(self) -> f64;
}
macro_rules! reals {
    ($($t:ty: $of:expr, $get:expr;)*) => {$(
        impl Real for $t {
            fn of(v: f64) -> Self { $of(v) }
            fn get(self) -> f64 { $get(self) }
        }
    )*};
}
reals! {
    f16: f16::from_f64, f16::to_f64;
    bf16: bf16::from_f64, bf16::to_f64;
    f32: |v| v as f32, f64::from;
    f64: |v| v, |v| v;
}
