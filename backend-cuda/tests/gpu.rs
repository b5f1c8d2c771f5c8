//! The driver end to end, where there is a GPU; elsewhere they say that they were skipped.
#![cfg(feature = "cuda")]
#![allow(unsafe_code)] // borrowed pointers

use std::io::Write;
use std::sync::{Arc, Once};
use tilewright_core::ir::text;
use tilewright_core::launch::{Arg, Grid, LaunchConfig, Ready};
use tilewright_core::tensor::Tensor;
use tilewright_cuda::cache::{Cache, MAX_BYTES};
use tilewright_cuda::driver::{Gpu, Loaded, Origin};
use tilewright_cuda::launch::{Address, Bound, Ctas, Device, Outcome, Places, Variants, bytes_of, execute};
use tilewright_cuda::{Compiled, Options, compile};

/// Runs `test` on the first GPU. Without one says so, once and where a test's own output is not caught: CI counts the line.
fn on_gpu(test: impl FnOnce(Gpu)) {
    static SAID: Once = Once::new();
    let why = match Gpu::open(0) {
        Ok(gpu) => return test(gpu),
        Err(why) => why,
    };
    SAID.call_once(|| {
        let tests = include_str!("gpu.rs").lines().filter(|line| *line == "#[test]").count();
        let why = why.0.first().map_or("", |d| d.message.as_str());
        let _ = writeln!(std::io::stdout(), "\nskipped: {tests} GPU tests ({why})");
    });
}

const ADD: &str = "kernel @add(%x: view<?xf32>, %y: view<?xf32>, %z: view_mut<?xf32>) {
  %0 = program_id : i32
  %1 = mul %0, 256 : i32
  %2 = len %x axis 0 : i32
  %3 = num_programs : i32
  %4 = mul %3, 256 : i32
  for %i in %1..%2 step %4 {
    %5 = load %x[%i] else 0.0 : tile<256xf32>
    %6 = load %y[%i] else 0.0 : tile<256xf32>
    %sum = add %5, %6 : tile<256xf32>
    store inside %z[%i], %sum
  }
}
";

fn add(gpu: &Gpu) -> Compiled {
    let options = Options::new(gpu.target(), 128);
    let module = text::parse(ADD, "add.tir").unwrap_or_else(|e| panic!("{e:?}"));
    compile(&module, &options).unwrap_or_else(|e| panic!("{e}"))
}
fn params(kernel: &Loaded, at: [Address; 3], len: usize) -> Vec<u8> {
    let bound = at.map(|at| Bound::View { at, dims: vec![len] });

    bytes_of(&kernel.compiled().abi, &bound, Grid::cubes(1), Places::default()).unwrap_or_else(|| panic!("parameters"))
}
fn ok<T>(result: Result<T, tilewright_core::diag::Diagnostics>) -> T {
    result.unwrap_or_else(|e| panic!("{e}"))
}
fn code<T>(result: Result<T, tilewright_core::diag::Diagnostics>) -> &'static str {
    result.err().and_then(|e| e.0.first().map(|d| d.code)).unwrap_or("no error")
}
fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn host_tensors_go_to_the_gpu_and_come_back() {
    on_gpu(|mut gpu| {
        let mut variants = Variants::default();
        for len in [1, 255, 256, 100_003] {
            let x = Tensor::from_vec([len], (0..len).map(|i| i as f32).collect()).unwrap_or_else(|| panic!("lengths"));
            let y = Tensor::from_vec([len], (0..len).map(|i| 0.5 * i as f32).collect())
                .unwrap_or_else(|| panic!("lengths"));
            let mut z = Tensor::<f32, 1>::uninit([len]);
            let module = Arc::new(text::parse(ADD, "add.tir").unwrap_or_else(|e| panic!("{e:?}")));
            let args = vec![Arg::View(x.as_any()), Arg::View(y.as_any()), Arg::ViewMut(z.as_any_mut())];
            let config = LaunchConfig { grid: Grid::cubes(8).pes(4), ..Default::default() };
            ok(execute(&mut gpu, &mut variants, Ready { module, args, config }).and_then(Outcome::checked));
            assert!((0..len).all(|i| z.elements()[i] == 1.5 * i as f32), "{len} elements");
        }
    });
}
#[test]
fn a_recorded_launch_runs_again_at_each_replay_and_events_time_it() {
    on_gpu(|mut gpu| {
        let len = 1 << 20;
        let kernel = ok(gpu.load(Arc::new(add(&gpu))));
        let [x, y, z] = std::array::from_fn(|_| ok(gpu.alloc(4 * len as u64)));
        ok(gpu.write(x, &bytes(&vec![1.0; len])));
        ok(gpu.write(y, &bytes(&vec![2.0; len])));
        // Each launch adds x to y: y = x + y.
        let params = params(&kernel, [x, y, y], len);
        let stream = ok(gpu.new_stream());
        let graph = ok(gpu.capture(&stream, |stream| {
            (0..5).try_for_each(|_| gpu.launch_on(stream, &kernel, Ctas::apart(264), &params))
        }));
        let (begin, end) = (ok(gpu.event()), ok(gpu.event()));
        ok(begin.record(&stream));
        ok(stream.replay(&graph));
        ok(stream.replay(&graph));
        ok(end.record(&stream));
        ok(stream.copy(y, z, 4 * len as u64));
        ok(stream.synchronize());
        let ms = ok(begin.elapsed_ms(&end));
        assert!(ms > 0.0 && ms < 1000.0, "{ms} ms");
        let mut out = vec![0; 4 * len];
        ok(gpu.read(z, &mut out));
        assert!(out == bytes(&vec![12.0; len]));
        [x, y, z].into_iter().for_each(|at| gpu.free(at));
    });
}
#[test]
fn tensors_on_the_gpu_are_launched_over_without_copies_and_at_any_element() {
    on_gpu(|mut gpu| {
        let mut variants = Variants::default();
        let module = Arc::new(text::parse(ADD, "add.tir").unwrap_or_else(|e| panic!("{e:?}")));
        let config = LaunchConfig { grid: Grid::cubes(8), ..Default::default() };
        let host = Tensor::from_vec([1000], (0..1000).map(|i| i as f32).collect()).unwrap_or_else(|| panic!("lengths"));
        let x = ok(gpu.upload(&host));
        let mut sum = ok(gpu.upload(&host));
        let mut next = ok(gpu.uninit([1000]));
        // Each launch reads what the one before wrote: 1, 2, 3, .. times x, and none is waited for.
        for _ in 0..10 {
            let args = vec![Arg::View(x.as_any()), Arg::View(sum.as_any()), Arg::ViewMut(next.as_any_mut())];
            ok(execute(&mut gpu, &mut variants, Ready { module: module.clone(), args, config })
                .and_then(|o| o.checked()));
            std::mem::swap(&mut sum, &mut next);
        }
        assert_eq!(ok(sum.to_array())[[999]], 11.0 * 999.0);
        for first in 0..5u64 {
            // SAFETY: inside `x`, which lives longer and is only read.
            let part = unsafe { gpu.borrow::<f32, 1>(Address(x.address().0 + 4 * first), [900]) };
            let mut out = ok(gpu.zeros::<f32, 1>([900]));
            let args = vec![Arg::View(part.as_any()), Arg::View(part.as_any()), Arg::ViewMut(out.as_any_mut())];
            ok(execute(&mut gpu, &mut variants, Ready { module: module.clone(), args, config })
                .and_then(|o| o.checked()));
            let out = ok(out.to_host());
            assert!((0..900).all(|i| out.elements()[i] == 2.0 * (i as f32 + first as f32)), "from element {first}");
        }
    });
}
#[test]
fn machine_code_is_assembled_once_and_then_read() {
    on_gpu(|_| {
        let dir = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let cache = Cache::at(dir.path(), MAX_BYTES);
        let origin = || {
            let mut gpu = ok(Gpu::open_with(0, cache.clone()));
            let kernel = Arc::new(add(&gpu));
            ok(gpu.load(kernel)).origin()
        };
        assert_eq!([origin(), origin()], [Origin::Assembled, Origin::Cache]);
        for entry in cache.entries().unwrap_or_default() {
            assert!(entry.label().is_some_and(|label| label.starts_with("add, sm_")));
            std::fs::write(entry.path, b"damaged").unwrap_or_else(|e| panic!("{e}"));
        }
        assert_eq!([origin(), origin()], [Origin::Assembled, Origin::Cache]);
    });
}
#[test]
fn more_memory_than_there_is_says_how_much_there_is() {
    on_gpu(|mut gpu| {
        let refused = gpu.alloc(1 << 50);
        assert_eq!(code(refused), "TW-E0635");
        let at = ok(gpu.alloc(0));
        gpu.free(at);
    });
}
#[test]
fn a_gpu_that_is_not_there_is_told() {
    on_gpu(|_| assert_eq!(code(Gpu::open(1000)), "TW-E0632"));
}
#[test]
fn text_that_the_driver_refuses_is_told_with_its_line() {
    on_gpu(|mut gpu| {
        let mut kernel = add(&gpu);
        kernel.printed.text = kernel.printed.text.replace("add.rn.f32", "addd.rn.f32");
        let Err(e) = gpu.load(Arc::new(kernel)) else { panic!("the driver read nonsense") };
        let text = e.to_string();
        assert!(text.contains("TW-E0639") && text.contains("addd.rn.f32") && text.contains("add.tir"), "{text}");
    });
}
#[test]
fn a_launch_of_no_blocks_is_refused_with_its_shape() {
    on_gpu(|mut gpu| {
        let kernel = ok(gpu.load(Arc::new(add(&gpu))));
        let params = params(&kernel, [Address(0); 3], 0);
        assert_eq!(code(gpu.launch_on(gpu.stream(), &kernel, Ctas::apart(0), &params)), "TW-E0636");
        assert_eq!(code(gpu.launch_on(gpu.stream(), &kernel, Ctas::apart(1), &params[..8])), "TW-E0636");
    });
}
#[test]
fn a_kernel_that_fails_is_told_once_and_then_that_the_gpu_is_lost() {
    const CHILD: &str = "TILEWRIGHT_TEST_LOSES_THE_GPU";
    on_gpu(|mut gpu| {
        if std::env::var_os(CHILD).is_none() {
            // Everything on the GPU is lost to the process that does this: another one does.
            let name = "a_kernel_that_fails_is_told_once_and_then_that_the_gpu_is_lost";
            let exe = std::env::current_exe().unwrap_or_else(|e| panic!("{e}"));
            let child = std::process::Command::new(exe).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output();
            let child = child.unwrap_or_else(|e| panic!("{e}"));
            assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
            return;
        }
        let kernel = ok(gpu.load(Arc::new(add(&gpu))));
        let params = params(&kernel, [Address(1 << 46); 3], 1 << 20);
        // A launch does not wait: whoever waits next is told.
        let told = gpu.launch(&kernel, Ctas::apart(7), &params).and_then(|()| gpu.synchronize());
        let Err(e) = told else { panic!("no error") };
        let text = e.to_string();
        assert!(
            text.contains("TW-E0637") && text.contains("7 blocks x 128 threads") && text.contains("add.tir"),
            "{text}"
        );
        assert_eq!(code(gpu.synchronize()), "TW-E0638");
        assert_eq!(code(gpu.alloc(16)), "TW-E0638");
    });
}
