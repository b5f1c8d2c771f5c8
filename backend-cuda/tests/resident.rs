//! Launches over tensors that lie on a device, and what is remembered from one launch to the next; on the emulator.

#[macro_use]
mod common;

use std::sync::Arc;
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::{Module, text};
use tilewright_core::launch::{Arg, Grid, LaunchConfig, Ready};
use tilewright_core::tensor::{Resident, Tensor};
use tilewright_cuda::emulator::{Emulator, Loaded};
use tilewright_cuda::launch::{Address, Ctas, Device, Variants, execute};
use tilewright_cuda::{Compiled, Target};

/// The emulator, with counts of what it was asked.
struct Counted {
    emulator: Emulator,
    loads: usize,
    allocs: usize,
    waits: usize,
}

/// The number that memory of the emulator says it lies on.
const HERE: u64 = 7;

impl Counted {
    fn new() -> Counted {
        Counted { emulator: Emulator::new(Target::Sm90a), loads: 0, allocs: 0, waits: 0 }
    }
    /// `[loads, allocs, waits]` since the last call.
    fn asked(&mut self) -> [usize; 3] {
        [&mut self.loads, &mut self.allocs, &mut self.waits].map(std::mem::take)
    }
}

impl Device for Counted {
    as_the_emulator_does!();
    fn load(&mut self, compiled: Arc<Compiled>) -> Result<Loaded, Diagnostics> {
        self.loads += 1;
        self.emulator.load(compiled)
    }
    fn alloc(&mut self, bytes: u64) -> Result<Address, Diagnostics> {
        self.allocs += 1;
        self.emulator.alloc(bytes)
    }
    fn wait(&mut self) -> Result<(), Diagnostics> {
        self.waits += 1;
        Ok(())
    }
    fn is(&self, id: u64) -> bool {
        id == HERE
    }
}

#[derive(Debug)]
struct At(Address, u64);
impl Resident for At {
    fn device(&self) -> u64 {
        self.1
    }
    fn address(&self) -> u64 {
        self.0.0
    }
}

const SCALE: &str = "kernel @scale(%x: view<?xf32>, %y: view_mut<?xf32>, %a: f32) {
  %0 = program_id : i32
  %1 = mul %0, 64 : i32
  %2 = load %x[%1] else 0.0 : tile<64xf32>
  %3 = splat %a : tile<64xf32>
  %4 = mul %2, %3 : tile<64xf32>
  store inside %y[%1], %4
}
";

fn module() -> Arc<Module> {
    Arc::new(text::parse(SCALE, "scale.tir").unwrap_or_else(|e| panic!("{e:?}")))
}
fn scale(
    device: &mut Counted,
    variants: &mut Variants<Loaded>,
    module: &Arc<Module>,
    (x, y, a): (&Tensor<f32, 1>, &mut Tensor<f32, 1>, f32),
) -> Result<(), Diagnostics> {
    let args = vec![Arg::View(x.as_any()), Arg::ViewMut(y.as_any_mut()), Arg::Scalar(a.into())];
    let config = LaunchConfig { grid: Grid::cubes(4), threads: Some(64), ..LaunchConfig::default() };
    execute(device, variants, Ready { module: module.clone(), args, config }).map(|_| ())
}
/// A tensor on the device, with these elements.
fn upload(device: &mut Counted, elements: &[f32]) -> (Tensor<f32, 1>, Address) {
    let bytes: Vec<u8> = elements.iter().flat_map(|v| v.to_le_bytes()).collect();
    let at = device.alloc(bytes.len() as u64).unwrap_or_else(|e| panic!("{e}"));
    device.write(at, &bytes).unwrap_or_else(|e| panic!("{e}"));
    (Tensor::resident([elements.len()], Arc::new(At(at, HERE))), at)
}
fn download(device: &mut Counted, at: Address, len: usize) -> Vec<f32> {
    let mut bytes = vec![0; 4 * len];
    device.read(at, &mut bytes).unwrap_or_else(|e| panic!("{e}"));
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}
fn ok<T>(result: Result<T, Diagnostics>) -> T {
    result.unwrap_or_else(|e| panic!("{e}"))
}
fn headline<T>(result: Result<T, Diagnostics>) -> String {
    result.err().map_or("no error".into(), |e| e.0.iter().map(|d| format!("{}: {}", d.code, d.message)).collect())
}

#[test]
fn tensors_on_the_device_are_neither_copied_nor_waited_for() {
    let (mut device, mut variants, module) = (Counted::new(), Variants::default(), module());
    let elements: Vec<f32> = (0..200).map(|i| i as f32).collect();
    let (x, _) = upload(&mut device, &elements);
    let (mut y, at) = upload(&mut device, &[0.0; 200]);
    device.asked();
    ok(scale(&mut device, &mut variants, &module, (&x, &mut y, 2.0)));
    assert_eq!(device.asked(), [1, 0, 0]);
    ok(scale(&mut device, &mut variants, &module, (&x, &mut y, 3.0)));
    assert_eq!(device.asked(), [0, 0, 0]);
    assert_eq!(download(&mut device, at, 200), elements.iter().map(|v| v * 3.0).collect::<Vec<_>>());
    // A host tensor beside one on the device: it is copied, and the launch ends before the copy back.
    let mut host = Tensor::uninit([200]);
    ok(scale(&mut device, &mut variants, &module, (&x, &mut host, 0.5)));
    assert_eq!(device.asked(), [0, 1, 1]);
    assert_eq!(host.elements()[199], 99.5);
}
#[test]
fn launches_of_one_class_share_a_variant_and_another_class_does_not() {
    let (mut device, mut variants, module) = (Counted::new(), Variants::default(), module());
    let mut run = |device: &mut Counted, module: &Arc<Module>, len: usize| {
        let (x, _) = upload(device, &vec![1.0; len]);
        let (mut y, at) = upload(device, &vec![0.0; len]);
        device.asked();
        ok(scale(device, &mut variants, module, (&x, &mut y, 4.0)));
        let loads = device.asked()[0];
        assert_eq!(download(device, at, len), vec![4.0; len]);
        loads
    };
    // What divides a length counts, up to 16; other numbers do not.
    assert_eq!([64, 128, 192, 200, 72, 201, 203].map(|len| run(&mut device, &module, len)), [1, 0, 0, 1, 0, 1, 0]);
    // Another trace of the same kernel is another module.
    let other = Arc::new(Module::clone(&module));
    assert_eq!(run(&mut device, &other, 64), 1);
}
#[test]
fn memory_of_another_device_is_refused() {
    let (mut device, mut variants, module) = (Counted::new(), Variants::default(), module());
    let elsewhere = Tensor::<f32, 1>::resident([64], Arc::new(At(Address(4096), HERE + 1)));
    let (mut y, _) = upload(&mut device, &[0.0; 64]);
    let refused = scale(&mut device, &mut variants, &module, (&elsewhere, &mut y, 1.0));
    assert_eq!(headline(refused), "TW-E0624: a tensor lies on another device than the one the launch runs on");
}
#[test]
fn memory_that_is_written_and_shared_is_refused() {
    let (mut device, mut variants, module) = (Counted::new(), Variants::default(), module());
    let (x, at) = upload(&mut device, &[1.0; 256]);
    let shared = "TW-E0625: parameter 2 is written and shares its memory with parameter 1";
    let refused = scale(&mut device, &mut variants, &module, (&x, &mut x.clone(), 1.0));
    assert_eq!(headline(refused), shared);
    let part = |from: u64, len| Tensor::<f32, 1>::resident([len], Arc::new(At(Address(at.0 + 4 * from), HERE)));
    assert_eq!(headline(scale(&mut device, &mut variants, &module, (&part(0, 65), &mut part(64, 64), 1.0))), shared);
    // Neighbours share nothing.
    ok(scale(&mut device, &mut variants, &module, (&part(0, 64), &mut part(64, 64), 5.0)));
    assert_eq!(download(&mut device, at, 256)[63..66], [1.0, 5.0, 5.0]);
}
#[test]
fn memory_at_any_element_is_read_as_wide_as_its_address_allows() {
    let (mut device, mut variants, module) = (Counted::new(), Variants::default(), module());
    let elements: Vec<f32> = (0..256).map(|i| i as f32).collect();
    let (_, from) = upload(&mut device, &elements);
    let (_, to) = upload(&mut device, &[0.0; 256]);
    let part = |at: Address, from: u64| Tensor::<f32, 1>::resident([64], Arc::new(At(Address(at.0 + 4 * from), HERE)));
    device.asked();
    for (first, new) in [(0, 1), (1, 1), (2, 1), (3, 1), (4, 0), (64, 0)] {
        ok(scale(&mut device, &mut variants, &module, (&part(from, first), &mut part(to, first + 1), 2.0)));
        assert_eq!(device.asked()[0], new, "from element {first}");
        let scaled = &download(&mut device, to, 256)[first as usize + 1..][..64];
        assert_eq!(scaled, (first..first + 64).map(|i| 2.0 * i as f32).collect::<Vec<_>>());
    }
}
#[test]
fn elements_that_are_not_aligned_for_their_type_are_refused() {
    let (mut device, mut variants, module) = (Counted::new(), Variants::default(), module());
    let (mut y, _) = upload(&mut device, &[0.0; 64]);
    let odd = Tensor::<f32, 1>::resident([64], Arc::new(At(Address(4098), HERE)));
    let refused = scale(&mut device, &mut variants, &module, (&odd, &mut y, 1.0));
    assert_eq!(headline(refused), "TW-E0627: a tensor of f32 begins at address 0x1002, which is no multiple of 4");
}
