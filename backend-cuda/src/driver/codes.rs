//! The codes of the driver, with what `explain` says of each.

use tilewright_core::diag::CodePage;

pub const NO_DRIVER: &str = "TW-E0630";
pub const NO_DEVICE: &str = "TW-E0631";
pub const ORDINAL: &str = "TW-E0632";
pub const DRIVER_TOO_OLD: &str = "TW-E0633";
pub const DEVICE_TOO_OLD: &str = "TW-E0634";
pub const OUT_OF_MEMORY: &str = "TW-E0635";
pub const LAUNCH_REFUSED: &str = "TW-E0636";
pub const KERNEL_FAILED: &str = "TW-E0637";
pub const CONTEXT_LOST: &str = "TW-E0638";
pub const PTX_REFUSED: &str = "TW-E0639";
pub const OTHER: &str = "TW-E0640";
pub const NOT_BUILT: &str = "TW-E0641";

pub const CODES: &[CodePage] = &[
    CodePage {
        code: NO_DRIVER,
        title: "there is no NVIDIA driver on this machine",
        page: "Running on a GPU needs the NVIDIA driver and nothing else of CUDA: its library, `libcuda.so.1` on Linux or \
               `nvcuda.dll` on Windows, was not found. `nvidia-smi` says whether a driver is installed; in a container, start \
               it with the GPU (`--gpus all`). Without a GPU the same PTX runs on the CPU: `--target ptx-emu`.",
    },
    CodePage {
        code: NO_DEVICE,
        title: "the driver finds no GPU",
        page: "The NVIDIA driver is installed, but shows this process no GPU, or cannot start. `nvidia-smi` should list one. \
               `CUDA_VISIBLE_DEVICES` may hide it, a container may have been started without it, and after an update of the \
               driver the machine may have to restart.",
    },
    CodePage {
        code: ORDINAL,
        title: "there is no GPU of this number",
        page: "GPUs are counted from 0, in the order in which the driver shows them to this process (`CUDA_VISIBLE_DEVICES` \
               chooses and orders them).",
    },
    CodePage {
        code: DRIVER_TOO_OLD,
        title: "the NVIDIA driver is too old",
        page: "A driver speaks one version of CUDA and every earlier one, and each version of CUDA reads PTX up to a version: \
               12.0 reads PTX 8.0, 12.8 reads 8.7, 13.0 reads 9.0. The compiler emits the lowest version that has what a kernel \
               uses: 7.8 for sm_80, 8.0 for sm_90a. The launches themselves need a driver of CUDA 12.0 or later. `nvidia-smi` \
               prints the version that is installed.",
    },
    CodePage {
        code: DEVICE_TOO_OLD,
        title: "the GPU is too old",
        page: "Kernels compile for compute capability 8.0 (A100) and later. Older GPUs lack asynchronous copies and bfloat16, \
               on which the code relies. The same PTX runs on the CPU with `--target ptx-emu`.",
    },
    CodePage {
        code: OUT_OF_MEMORY,
        title: "the GPU has no memory left for this",
        page: "The message says what was asked for and what was free. Other processes may hold the rest (`nvidia-smi` lists \
               them). A launch over host tensors needs room for all of its tensors at once: choose smaller ones, or keep \
               fewer tensors on the device.",
    },
    CodePage {
        code: LAUNCH_REFUSED,
        title: "the driver refuses a launch",
        page: "A launch asked for more than the GPU has: threads, registers or shared memory of a block. The message says the \
               shape of the launch. Fewer threads (`.threads(128)`) or smaller tiles need less.",
    },
    CodePage {
        code: KERNEL_FAILED,
        title: "a kernel failed on the GPU",
        page: "The GPU stopped a kernel: an access outside every allocation, a misaligned one, an illegal instruction, or more \
               time than the driver allows on a GPU that also draws a screen. The GPU tells of it when its results are asked \
               for, so the kernel is one of those launched since then; the message names the last. Everything in this process \
               that lives on the GPU is lost. The kernel's accesses are checked, so that this is most likely a bug in \
               tilewright, or a wrong pointer from `Gpu::borrow`: `--target ptx-emu` finds the access, and \
               `compute-sanitizer` does on the GPU itself.",
    },
    CodePage {
        code: CONTEXT_LOST,
        title: "the GPU was lost to this process earlier",
        page: "After a kernel failed (TW-E0637, told when it happened) the driver refuses everything else that this process asks \
               of that GPU. Start the process again.",
    },
    CodePage {
        code: PTX_REFUSED,
        title: "the driver's compiler refuses the PTX of a kernel",
        page: "The driver translates PTX to the machine code of the GPU when a kernel is loaded, and it refused this one. That \
               is a bug in tilewright: please report the kernel and the lines that the message shows. \
               `tilewright ir KERNEL --stage ptx` prints the text.",
    },
    CodePage {
        code: OTHER,
        title: "the NVIDIA driver reports a failure",
        page: "The message says which function of the driver failed, and what the driver says of it. If the GPU is in order \
               (`nvidia-smi`), and another process did not take it for itself, please report the message.",
    },
    CodePage {
        code: NOT_BUILT,
        title: "this program was built without the NVIDIA driver",
        page: "Running on a GPU is a feature of the crate that is off in this program, so that programs without it need not build \
               the driver's interface: `tilewright = { version = \"…\", features = [\"cuda\"] }` turns it on. Nothing of CUDA \
               has to be installed to build it. The `tilewright` command has it.",
    },
];
