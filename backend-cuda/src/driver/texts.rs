//! What each failure of the driver looks like to the user; no GPU needed.

use super::errors::{self, Launched};
use super::fault::{Fault, Kind, LIBRARY_MISSING};
use super::jit;
use super::raw::Shape;
use crate::compile::{Compiled, Options, compile};
use crate::target::Target;
use insta::assert_snapshot;
use std::sync::Arc;
use tilewright_core::diag::{Diagnostic, Diagnostics};
use tilewright_core::ir::text;

fn fault(call: &'static str, code: u32, name: &str, text: &str) -> Fault {
    Fault { call, code, name: name.into(), text: text.into() }
}
/// What is printed, without the pointer to the page.
fn told(d: Diagnostic) -> String {
    let text = Diagnostics::from(d).to_string();
    text.lines().map(str::trim_end).filter(|line| !line.contains("tilewright explain")).collect::<Vec<_>>().join("\n")
}
fn kernel() -> Arc<Compiled> {
    let tir = "kernel @scale(%x: view_mut<?xf32>) {
  %0 = load %x[0] else 0.0 : tile<128xf32>
  %1 = mul %0, 2.0 : tile<128xf32>
  store inside %x[0], %1
}
";
    let module = text::parse(tir, "scale.tir").unwrap_or_else(|e| panic!("{e:?}"));
    let options = Options::new(Target::Sm90a, 128);
    Arc::new(compile(&module, &options).unwrap_or_else(|e| panic!("{e}")))
}
fn launched(blocks: u32) -> Launched {
    Launched { kernel: kernel(), shape: Shape { blocks, threads: 128, shared_bytes: 4096, together: false } }
}

#[test]
fn without_a_driver_the_text_says_what_to_install() {
    assert_snapshot!(told(errors::missing(&fault("dlopen", LIBRARY_MISSING, "libcuda", ""))), @r"
    error[TW-E0630]: there is no NVIDIA driver on this machine
     |
     = note: its library (libcuda.so.1, nvcuda.dll) was not found; nothing else of CUDA is needed
     = next: install the NVIDIA driver, or run the same PTX on the CPU: --target ptx-emu
    ");
}
#[test]
fn a_driver_without_a_gpu_says_where_to_look() {
    let fault = fault("cuInit", 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected");
    assert_snapshot!(told(errors::missing(&fault)), @r"
    error[TW-E0631]: the NVIDIA driver finds no GPU
     |
     = note: cuInit said CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected
     = next: nvidia-smi should list one; CUDA_VISIBLE_DEVICES may hide it
    ");
}
#[test]
fn a_number_that_no_gpu_has_is_told_with_those_there_are() {
    assert_snapshot!(told(errors::ordinal(3, 1)), @r"
    error[TW-E0632]: there is no GPU 3
     |
     = note: this machine has one, number 0
     = next: GPU 0
    ");
    assert_snapshot!(told(errors::ordinal(9, 8)), @r"
    error[TW-E0632]: there is no GPU 9
     |
     = note: this machine has 8, numbers 0 to 7
     = next: GPU 0
    ");
}
#[test]
fn an_old_driver_is_told_with_the_version_it_would_take() {
    assert_snapshot!(told(errors::driver_too_old((11, 4))), @r"
    error[TW-E0633]: the NVIDIA driver is of CUDA 11.4, which is too old
     |
     = note: running kernels needs a driver of CUDA 12.0 or later
     = next: install a newer NVIDIA driver
    ");
    assert_snapshot!(told(errors::ptx_too_new((12, 4), (8, 7))), @r"
    error[TW-E0633]: the NVIDIA driver is of CUDA 12.4, which is too old
     |
     = note: this kernel's PTX 8.7 needs a driver of CUDA 12.8 or later
     = next: install a newer NVIDIA driver
    ");
    assert_snapshot!(told(errors::ptx_too_new((12, 8), (9, 0))), @r"
    error[TW-E0633]: the NVIDIA driver is of CUDA 12.8, which is too old
     |
     = note: this kernel's PTX 9.0 needs a driver of CUDA 13.0 or later
     = next: install a newer NVIDIA driver
    ");
}
#[test]
fn an_old_gpu_is_told_with_its_capability() {
    assert_snapshot!(told(errors::device_too_old("Tesla V100-SXM2-16GB", (7, 0))), @r"
    error[TW-E0634]: Tesla V100-SXM2-16GB has compute capability 7.0, which is too old
     |
     = note: kernels need 8.0 (A100) or later
     = next: --target ptx-emu runs the same PTX on the CPU
    ");
}
#[test]
fn memory_that_is_not_there_is_told_with_what_was_asked_and_what_is_free() {
    assert_snapshot!(told(errors::out_of_memory(64 << 30, (3 << 30) + 1, 80 << 30)), @r"
    error[TW-E0635]: the GPU has no memory left for 65536 MiB
     |
     = note: 3073 MiB of 81920 MiB are free
     = next: choose smaller tensors, or free memory: nvidia-smi lists who holds it
    ");
}
#[test]
fn a_refused_launch_is_told_with_its_shape() {
    let fault =
        fault("cuLaunchKernelEx", 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch");
    assert_snapshot!(told(errors::refused(&launched(7), &fault)), @r"
    error[TW-E0636]: the driver refuses the launch of `scale`: 7 blocks x 128 threads, 4096 bytes of shared memory a block
    --> scale.tir:2:3
     = note: in this kernel
     = note: cuLaunchKernelEx said CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701): too many resources requested for launch
     = next: fewer threads, or smaller tiles
    ");
}
#[test]
fn a_kernel_that_failed_is_told_with_its_line_and_shape() {
    let fault =
        fault("cuStreamSynchronize", 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered");
    assert_snapshot!(told(errors::failed(&[launched(1)], &fault)), @r"
    error[TW-E0637]: the GPU failed in `scale`: 1 block x 128 threads, 4096 bytes of shared memory a block
    --> scale.tir:2:3
     = note: in this kernel
     = note: cuStreamSynchronize said CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered
     = note: everything that this process has on the GPU is lost
     = next: --target ptx-emu says which access it was
    ");
    assert_snapshot!(told(errors::failed(&[launched(1), launched(2)], &fault)), @r"
    error[TW-E0637]: the GPU failed in `scale`: 2 blocks x 128 threads, 4096 bytes of shared memory a block, or in an earlier launch
    --> scale.tir:2:3
     = note: in this kernel
     = note: cuStreamSynchronize said CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered
     = note: before it: `scale`: 1 block x 128 threads, 4096 bytes of shared memory a block
     = note: everything that this process has on the GPU is lost
     = next: CUDA_LAUNCH_BLOCKING=1 tells which launch it was
    ");
}
#[test]
fn ptx_that_the_driver_refuses_is_told_with_its_line_and_the_kernels() {
    let kernel = kernel();
    let line = kernel.printed.text.lines().position(|line| line.contains("mul")).map(|at| at + 1);
    let line = line.unwrap_or_else(|| panic!("no product:\n{}", kernel.printed.text));
    let log = format!(
        "ptxas application ptx input, line {line}; error   : Arguments mismatch for instruction 'mul'\n\
                       ptxas fatal   : Ptx assembly aborted due to errors\n\n"
    );
    let fault = fault("cuLinkAddData", 218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed");
    let product = kernel.printed.text.lines().nth(line - 1).map_or("", str::trim);
    let told = told(jit::refused(&kernel, &fault, &log)).replace(&format!("line {line}"), "line N");
    let told = told.replace(product, "mul.rn.f32 …;");
    assert_snapshot!(told, @r"
    error[TW-E0639]: the driver refuses the PTX of `scale`
    --> scale.tir:3:3
     = note: compiled from here
     = note: ptxas application ptx input, line N; error   : Arguments mismatch for instruction 'mul'
     = note: line N of the PTX: mul.rn.f32 …;
     = note: ptxas fatal   : Ptx assembly aborted due to errors
     = note: cuLinkAddData said CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed
     = next: please report the kernel with this message; `ir KERNEL --stage ptx` prints its PTX
    ");
}
#[test]
fn a_log_without_lines_is_shown_as_it_is() {
    let fault = fault("cuLinkAddData", 300, "CUDA_ERROR_INVALID_SOURCE", "device kernel image is invalid");
    assert_snapshot!(told(jit::refused(&kernel(), &fault, "no line here; line x; error")), @r"
    error[TW-E0639]: the driver refuses the PTX of `scale`
     |
     = note: no line here; line x; error
     = note: cuLinkAddData said CUDA_ERROR_INVALID_SOURCE (300): device kernel image is invalid
     = next: please report the kernel with this message; `ir KERNEL --stage ptx` prints its PTX
    ");
}
#[test]
fn a_copy_between_tensors_of_other_lengths_says_both() {
    let told = crate::launch_errors::lengths(&[1000], &[1024]).to_string();
    assert!(told.contains("a tensor of lengths [1000] is copied to one of [1024]"), "{told}");
}
#[test]
fn what_is_done_about_a_failure_depends_on_the_drivers_number() {
    let kind = |call, code| fault(call, code, "", "").kind();
    assert_eq!(kind("cuLaunchKernelEx", 1), Kind::Refused);
    assert_eq!(kind("cuMemcpyHtoDAsync", 1), Kind::Other);
    assert_eq!(kind("cuMemAlloc", 2), Kind::OutOfMemory);
    assert_eq!(kind("cuLinkAddData", 222), Kind::DriverTooOld);
    for code in [700, 702, 714, 715, 716, 717, 718, 719] {
        assert_eq!(kind("cuStreamSynchronize", code), Kind::Sticky);
    }
}
