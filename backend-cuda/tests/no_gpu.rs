//! The driver's interface against a driver without a GPU, which says and fails what a test asks: each failure arrives as a
//! coded error. The stub is built with the compiler that builds this; each test runs itself again with the stub in place.
#![cfg(all(feature = "cuda", target_os = "linux"))]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::text;
use tilewright_core::passes::facts::Known;
use tilewright_core::tensor::Tensor;
use tilewright_cuda::cache::{Cache, MAX_BYTES};
use tilewright_cuda::driver::{Gpu, Loaded, Origin};
use tilewright_cuda::launch::{Ctas, Device};
use tilewright_cuda::{Options, Target, compile};

/// Set in the process that has the stub.
const INSIDE: &str = "STUB_INSIDE";

/// The folder with the stub.
fn stub() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("stub");
        std::fs::create_dir_all(&dir).unwrap_or_else(|e| panic!("{e}"));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/libcuda.rs");
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let flags = ["--edition", "2024", "--crate-type", "cdylib", "-C", "panic=abort", "-o"];
        // Under a name of its own first: other tests of this run may read the file.
        let (new, library) = (dir.join(format!("{}.so", std::process::id())), dir.join("libcuda.so"));
        let built = Command::new(rustc).args(flags).arg(&new).arg(source).output().unwrap_or_else(|e| panic!("{e}"));
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        std::fs::rename(new, library).unwrap_or_else(|e| panic!("{e}"));
        dir
    })
}

/// Runs the test `name` again in a process where the stub is the driver and says this; there, does the work.
fn with_stub(name: &str, says: &[(&str, i32)], work: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return work();
    }
    let exe = std::env::current_exe().unwrap_or_else(|e| panic!("{e}"));
    let mut child = Command::new(exe);
    child.args(["--exact", name, "--nocapture"]).env("LD_LIBRARY_PATH", stub()).env(INSIDE, "1");
    child.envs(says.iter().map(|(name, value)| (format!("STUB_{name}"), value.to_string())));
    let out = child.output().unwrap_or_else(|e| panic!("{e}"));
    assert!(out.status.success(), "{}\n{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
}

fn open() -> Result<Gpu, Diagnostics> {
    Gpu::open_with(0, Cache::off())
}
fn ok<T>(result: Result<T, Diagnostics>) -> T {
    result.unwrap_or_else(|e| panic!("{e}"))
}
/// The text of an error has all of these.
fn says<T>(result: Result<T, Diagnostics>, parts: &[&str]) {
    let text = result.err().map_or_else(|| "no error".to_string(), |e| e.to_string());
    parts.iter().for_each(|part| assert!(text.contains(part), "`{part}` is not in\n{text}"));
}
fn load(gpu: &mut Gpu) -> Result<Loaded, Diagnostics> {
    let tir = "kernel @copy(%x: view<?xf32>, %y: view_mut<?xf32>) {
  %0 = load %x[0] else 0.0 : tile<128xf32>
  store inside %y[0], %0
}
";
    let module = text::parse(tir, "copy.tir").unwrap_or_else(|e| panic!("{e:?}"));
    let (target, known) = (gpu.target(), Known::default());
    let options = Options { known, ..Options::new(target, 128) };
    gpu.load(Arc::new(ok(compile(&module, &options))))
}

#[test]
fn a_driver_that_is_too_old_is_told_with_both_versions() {
    with_stub("a_driver_that_is_too_old_is_told_with_both_versions", &[("VERSION", 11000)], || {
        says(open(), &["TW-E0633", "of CUDA 11.0", "CUDA 12.0 or later"]);
    });
}
#[test]
fn a_driver_without_devices_and_one_that_does_not_start_say_so() {
    let name = "a_driver_without_devices_and_one_that_does_not_start_say_so";
    for says_so in [("COUNT", 0), ("INIT", 100)] {
        with_stub(name, &[says_so], || says(open(), &["TW-E0631", "finds no GPU"]));
    }
}
#[test]
fn a_gpu_that_is_too_old_is_told_by_its_name() {
    with_stub("a_gpu_that_is_too_old_is_told_by_its_name", &[("MAJOR", 7), ("MINOR", 5)], || {
        says(open(), &["TW-E0634", "Stub GPU has compute capability 7.5"]);
    });
}
#[test]
fn a_later_gpu_gets_code_that_runs_there() {
    with_stub("a_later_gpu_gets_code_that_runs_there", &[("MAJOR", 10), ("MINOR", 3), ("PTX", 218)], || {
        let mut gpu = ok(open());
        assert_eq!(gpu.target(), Target::Sm80);
        says(load(&mut gpu), &["TW-E0639", "refused .target sm_80"]);
    });
}
#[test]
fn ptx_that_is_refused_is_told_with_the_log_and_both_lines() {
    with_stub("ptx_that_is_refused_is_told_with_the_log_and_both_lines", &[("PTX", 218)], || {
        let parts = ["TW-E0639", "copy.tir:", "refused .target sm_90a", "of the PTX: ", "(218): as the test asked"];
        says(load(&mut ok(open())), &parts);
    });
}
#[test]
fn ptx_that_is_too_new_for_the_driver_says_what_reads_it() {
    with_stub("ptx_that_is_too_new_for_the_driver_says_what_reads_it", &[("PTX", 222)], || {
        says(load(&mut ok(open())), &["TW-E0633", "of CUDA 12.8", "this kernel's PTX 8.0 needs a driver of CUDA 12.0"]);
    });
}
#[test]
fn memory_that_is_not_there_is_told_in_mib() {
    with_stub("memory_that_is_not_there_is_told_in_mib", &[("ALLOC", 2)], || {
        says(ok(open()).alloc(5 << 30), &["TW-E0635", "for 5120 MiB", "3072 MiB of 81920 MiB are free"]);
    });
}
#[test]
fn a_refused_launch_and_a_failed_one_are_told_with_their_shape() {
    let name = "a_refused_launch_and_a_failed_one_are_told_with_their_shape";
    let shape = "`copy`: 9 blocks x 128 threads";
    for (call, code) in [("LAUNCH", 701), ("SYNCHRONIZE", 700)] {
        with_stub(name, &[(call, code)], || {
            let mut gpu = ok(open());
            let kernel = ok(load(&mut gpu));
            let launched = gpu.launch(&kernel, Ctas::apart(9), &[0; 64]);
            if std::env::var_os("STUB_LAUNCH").is_some() {
                return says(launched, &["TW-E0636", "copy.tir:", shape]);
            }
            ok(launched);
            says(gpu.wait(), &["TW-E0637", "copy.tir:", shape, "everything that this process has on the GPU is lost"]);
            says(gpu.wait(), &["TW-E0638"]);
        });
    }
}
#[test]
fn machine_code_is_kept_and_read_by_the_next_load() {
    with_stub("machine_code_is_kept_and_read_by_the_next_load", &[], || {
        let dir = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
        let mut gpu = ok(Gpu::open_with(0, Cache::at(dir.path(), MAX_BYTES)));
        let origins = [ok(load(&mut gpu)).origin(), ok(load(&mut gpu)).origin()];
        assert_eq!(origins, [Origin::Assembled, Origin::Cache]);
    });
}
#[test]
fn tensors_go_to_the_device_and_come_back() {
    with_stub("tensors_go_to_the_device_and_come_back", &[], || {
        let gpu = ok(open());
        let host = Tensor::from(ndarray::array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]].t());
        let mut there = ok(gpu.upload(&host));
        assert_eq!(there.dims(), [3, 2]);
        assert_eq!(ok(there.to_host()).elements(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        ok(there.write(&Tensor::from(ndarray::array![[0.5f32, 1.5], [2.5, 3.5], [4.5, 5.5]])));
        assert_eq!(ok(there.to_array())[[2, 0]], 4.5);
        says(there.write(&Tensor::zeros([2, 3])), &["TW-E0626", "lengths [2, 3]", "one of [3, 2]"]);
        says(there.write(&Tensor::shape_only([3, 2])), &["TW-E0622"]);
        assert_eq!(ok(ok(gpu.zeros::<i64, 1>([100])).to_host()).elements(), [0; 100]);
        assert!(ok(ok(gpu.uninit::<f32, 2>([0, 7])).to_host()).elements().is_empty());
    });
}
