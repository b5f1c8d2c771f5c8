//! One module on the reference interpreter and on the emulator: the same tensors, compared element by element.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::Write;
use std::sync::Arc;
use tilewright_core::data::Data;
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_core::interp::{Interp, Printed};
use tilewright_core::ir::{Literal, Module, Type, text};
use tilewright_core::launch::{Arg, Backend, Grid, LaunchConfig, Ready};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_cuda::Target;
#[cfg(feature = "cuda")]
use tilewright_cuda::driver::Gpu;
use tilewright_cuda::emulator::{Emulator, Schedule};
use tilewright_cuda::launch::{Device, Variants, execute};

pub fn parse(tir: &str) -> Arc<Module> {
    Arc::new(text::parse(tir, "test.tir").unwrap_or_else(|e| panic!("{e:?}")))
}
/// A tensor with these elements.
pub fn tensor(elem: ElemType, dims: &[usize], data: Data) -> AnyTensor {
    AnyTensor::new(elem, dims.to_vec(), Some(data), Placement::default())
}
/// Numbers of a small range that every element type holds, different at neighbouring places.
pub fn some(elem: ElemType, dims: &[usize]) -> AnyTensor {
    let len = dims.iter().product();
    let mut data = Data::zeros(elem, len);
    for i in 0..len {
        let n = (i * 7919 % 101) as i128 - 50;
        let literal = Literal::float(elem, n as f64 / 8.0).or(Literal::int(elem, n)).or(Literal::int(elem, n + 50));
        data.set(i, literal.unwrap_or(Literal { elem, bits: (n & 1) as u64 }));
    }
    tensor(elem, dims, data)
}

/// What a run leaves.
#[derive(Debug)]
pub struct Ran {
    /// What the views hold.
    pub tensors: Vec<AnyTensor>,
    pub prints: Vec<Printed>,
    pub errors: Option<Diagnostics>,
}

/// A run on the interpreter, and one on the emulator.
pub fn runs(tir: &str, grid: Grid, threads: u32, args: &[Value]) -> (Ran, Ran) {
    (interpreted(tir, grid, threads, args), on(&mut Emulator::new(Target::Sm90a), tir, grid, threads, args))
}
pub fn interpreted(tir: &str, grid: Grid, threads: u32, args: &[Value]) -> Ran {
    ran(tir, grid, threads, args, |ready| {
        let mut interp = Interp::default();
        let errors = interp.execute(ready).err();
        (interp.prints().to_vec(), errors)
    })
}
pub fn on<D: Device>(device: &mut D, tir: &str, grid: Grid, threads: u32, args: &[Value]) -> Ran {
    ran(tir, grid, threads, args, |ready| match execute(device, &mut Variants::default(), ready) {
        Ok(outcome) => (outcome.prints, outcome.errors.finish().err()),
        Err(e) => (Vec::new(), Some(e)),
    })
}
type Told = (Vec<Printed>, Option<Diagnostics>);

fn ran(tir: &str, grid: Grid, threads: u32, args: &[Value], run: impl FnOnce(Ready<'_>) -> Told) -> Ran {
    let module = parse(tir);
    let config = LaunchConfig { grid, threads: Some(threads), ..LaunchConfig::default() };
    let mut values: Vec<Value> = args.to_vec();
    let (prints, errors) = run(Ready { module: module.clone(), args: bind(&module, &mut values), config });
    Ran { tensors: tensors(values), prints, errors }
}
/// One block on the emulator, in an order of its warps.
pub fn emulated(module: &Arc<Module>, threads: u32, schedule: Schedule, args: &[Value]) -> Vec<AnyTensor> {
    let mut device = Emulator::new(Target::Sm90a);
    device.limits.schedule = schedule;
    let mut values = args.to_vec();
    let config = LaunchConfig { grid: Grid::cubes(1), threads: Some(threads), ..LaunchConfig::default() };
    let ready = Ready { module: module.clone(), args: bind(module, &mut values), config };
    let outcome = execute(&mut device, &mut Variants::default(), ready).unwrap_or_else(|e| panic!("{e}"));
    outcome.errors.finish().unwrap_or_else(|e| panic!("{e}"));
    tensors(values)
}
/// The first GPU. Without one says that `what` was skipped, where a test's own output is not caught: CI counts the line.
#[cfg(feature = "cuda")]
pub fn gpu(what: &str) -> Option<Gpu> {
    let why = match Gpu::open(0) {
        Ok(gpu) => return Some(gpu),
        Err(why) => why,
    };
    skipped(&format!("{what} ({})", why.0.first().map_or("", |d| d.message.as_str())));
    None
}
pub fn skipped(what: &str) {
    let _ = writeln!(std::io::stdout(), "\nskipped: {what}");
}
/// What the views hold after a run on the interpreter, and after one on the emulator.
pub fn both(tir: &str, grid: Grid, threads: u32, args: &[Value]) -> (Vec<AnyTensor>, Vec<AnyTensor>) {
    let (reference, emulated) = runs(tir, grid, threads, args);
    if let Some(e) = reference.errors {
        panic!("interpreter: {e}");
    }
    if let Some(e) = emulated.errors {
        panic!("emulator: {e}");
    }
    (reference.tensors, emulated.tensors)
}

#[derive(Clone, Debug)]
pub enum Value {
    Tensor(AnyTensor),
    Scalar(Literal),
}

pub fn bind<'a>(m: &Module, values: &'a mut [Value]) -> Vec<Arg<'a>> {
    fn arg(ty: Type, value: &mut Value) -> Arg<'_> {
        match value {
            Value::Tensor(t) => match ty {
                Type::View(view) if view.writable => Arg::ViewMut(t),
                _ => Arg::View(t),
            },
            Value::Scalar(lit) => Arg::Scalar(*lit),
        }
    }
    m.params.iter().zip(values).map(|(param, value)| arg(m.ty(*param), value)).collect()
}
pub fn tensors(values: Vec<Value>) -> Vec<AnyTensor> {
    let tensor = |value| match value {
        Value::Tensor(t) => Some(t),
        Value::Scalar(_) => None,
    };
    values.into_iter().filter_map(tensor).collect()
}

/// The first element that differs in more than `ulps`, if there is one.
pub fn difference(a: &AnyTensor, b: &AnyTensor, ulps: u64) -> Option<String> {
    let (a, b) = (a.data.as_ref()?, b.data.as_ref()?);
    let far = |i: usize| {
        let (x, y) = (a.get(i), b.get(i));
        let nan = |l: Literal| l.as_float().is_some_and(f64::is_nan);
        x.bits.abs_diff(y.bits) > ulps && !(nan(x) && nan(y))
    };
    (0..a.len()).find(|i| far(*i)).map(|i| format!("element {i}: {:?}, the interpreter has {:?}", b.get(i), a.get(i)))
}

/// What a device that wraps the emulator leaves to it.
#[macro_export]
macro_rules! as_the_emulator_does {
    () => {
        type Loaded = tilewright_cuda::emulator::Loaded;
        fn target(&self) -> Target {
            self.emulator.target()
        }
        fn name(&self) -> String {
            self.emulator.name()
        }
        fn free(&mut self, at: Address) {
            self.emulator.free(at);
        }
        fn write(&mut self, at: Address, bytes: &[u8]) -> Result<(), Diagnostics> {
            self.emulator.write(at, bytes)
        }
        fn read(&mut self, at: Address, bytes: &mut [u8]) -> Result<(), Diagnostics> {
            self.emulator.read(at, bytes)
        }
        fn at_once(&mut self, kernel: &Self::Loaded) -> Result<u32, Diagnostics> {
            self.emulator.at_once(kernel)
        }
        fn launch(&mut self, kernel: &Self::Loaded, ctas: Ctas, params: &[u8]) -> Result<(), Diagnostics> {
            self.emulator.launch(kernel, ctas, params)
        }
    };
}
