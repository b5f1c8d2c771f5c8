//! What a launch on a GPU asks of the launch: threads, programs, tensors with elements.

use crate::compile::Compiled;
use crate::outcome::{self, meeting};
use tilewright_core::diag::{CodePage, Diagnostic, Diagnostics};
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;

const GAVE_UP: &str = "TW-E0615";
const THREADS: &str = "TW-E0620";
const PROGRAMS: &str = "TW-E0621";
const NO_ELEMENTS: &str = "TW-E0622";
const ARGUMENTS: &str = "TW-E0623";
const ELSEWHERE: &str = "TW-E0624";
const SHARED: &str = "TW-E0625";
const LENGTHS: &str = "TW-E0626";
const BETWEEN: &str = "TW-E0627";
const MISALIGNED: &str = "TW-E0628";
const NOT_AT_ONCE: &str = "TW-E0629";

pub const CODES: &[CodePage] = &[
    CodePage {
        code: GAVE_UP,
        title: "all programs came to a barrier, and none of them went on",
        page: "Programs that meet at a barrier wait for each other for seconds, then give up. Here all came and none learnt of \
               the others, which no kernel can cause: please report it with the kernel and the GPU. A barrier that some do not \
               reach is TW-E0305, programs that wait for each other at different ones are TW-E0301.",
    },
    CodePage {
        code: THREADS,
        title: "a thread block cannot have so many threads",
        page: "A program runs on one thread block. It takes a power of two of threads from 32 (one warp) to 1024 (the most \
               a GPU allows): `.threads(256)`.",
    },
    CodePage {
        code: PROGRAMS,
        title: "the grid has no programs, or more than a GPU counts",
        page: "A launch on a GPU has 1 to 2^31 - 1 programs (sips x cubes x pes): the limit of a grid's first axis.",
    },
    CodePage {
        code: NO_ELEMENTS,
        title: "a tensor of this launch has no elements",
        page: "The tensor says only its shape (`Tensor::shape_only`), which is enough to trace and to time on the model. \
               Running on a GPU needs its elements.",
    },
    CodePage {
        code: ARGUMENTS,
        title: "the arguments do not fit the kernel's parameters",
        page: "A launch built through the kernel's own function has arguments that fit. This one came from elsewhere: give \
               one tensor a view and one number a scalar, of the parameter's element type and rank.",
    },
    CodePage {
        code: ELSEWHERE,
        title: "a tensor lies on another device",
        page: "The elements of this tensor are in the memory of a device that the launch does not run on: another GPU, or a GPU \
               where the launch runs on the emulator. Bring it to the host (`to_host`), and from there to where it is used \
               (`upload`).",
    },
    CodePage {
        code: SHARED,
        title: "a tensor that the kernel writes shares memory with another",
        page: "A kernel may rely on what it writes through a `ViewMut` being nothing else's: loads may be moved across such \
               stores, and read through caches that do not see them. Two tensors on a GPU can be one memory: clones share \
               it, and so do tensors borrowed from one pointer. Give the kernel a tensor of its own to write.",
    },
    CodePage {
        code: LENGTHS,
        title: "a tensor is copied to one of other lengths",
        page: "`GpuTensor::write` replaces all elements of a tensor on a GPU by those of a host tensor, axis by axis: the lengths \
               must be the same. `gpu.upload` makes a new one of the host tensor's lengths.",
    },
    CodePage {
        code: BETWEEN,
        title: "a tensor begins where no element of its type can lie",
        page: "A GPU reads and writes an element only at a multiple of its size. A tensor over a borrowed pointer (`Gpu::borrow`) \
               may begin at any such address, and is moved in smaller pieces where that is not a multiple of 16. This one begins \
               between two of them: the pointer is wrong, or the elements have another type.",
    },
    CodePage {
        code: MISALIGNED,
        title: "an address that no access of 16 bytes can begin at",
        page: "A launch that is made ready once relies on addresses that are multiples of 16 bytes, as every allocation is. \
               Launch with a tensor at that address instead, whose alignment is looked at.",
    },
    CodePage {
        code: NOT_AT_ONCE,
        title: "programs that wait for each other are more than the GPU runs at once",
        page: "A program that waits at a barrier keeps its place on the GPU. Programs that have no place yet could then never \
               begin, so a launch of a kernel with `barrier(Scope::Launch)`, with `barrier(Scope::Cube)` and cubes of more than one \
               PE, or with messages through global memory (between cubes, or in cubes that are no clusters), may have no more programs than run at the same time. How many do depends on the threads, the registers and \
               the shared memory of each: fewer threads (`.threads(128)`) or smaller tiles make room for more.",
    },
];

/// # Errors
/// Not a power of two, fewer than a warp, more than a GPU allows.
pub(crate) fn check_threads(threads: u32) -> Result<(), Diagnostics> {
    if threads.is_power_of_two() && (32..=1024).contains(&threads) {
        return Ok(());
    }
    Err(Diagnostic::new(THREADS, format!("a thread block cannot have {threads} threads"))
        .next("a power of two from 32 to 1024: `.threads(256)`")
        .into())
}
/// # Errors
/// None, or more than a grid has room for.
pub(crate) fn programs(grid: Grid) -> Result<u32, Diagnostics> {
    match grid.num_programs() {
        Some(n) if n > 0 && n <= i32::MAX as usize => Ok(n as u32),
        _ => Err(Diagnostic::new(PROGRAMS, format!("a GPU cannot run {grid}")).next("1 to 2147483647 programs").into()),
    }
}
/// At a barrier that no program fails to reach.
pub(crate) fn gave_up(compiled: &Compiled) -> Diagnostics {
    let (m, d) =
        (&compiled.module, Diagnostic::new(GAVE_UP, "all programs came to a barrier, and none of them went on"));
    let d = match compiled.stops.first() {
        Some(stop) => d.at(m, m.op(stop.op).loc, "here, or at a later barrier"),
        None => d,
    };
    d.note(meeting::NOTE).next("please report it, with the kernel and the GPU").into()
}
/// `most`: programs that run at the same time.
pub(crate) fn not_at_once(compiled: &Compiled, grid: Grid, most: u32) -> Diagnostics {
    let (m, threads) = (&compiled.module, compiled.kernel.threads);
    let message = format!("{grid} wait for each other, and the GPU runs {most} of these programs at once");
    let d = Diagnostic::new(NOT_AT_ONCE, message).note(format!("a program has {threads} threads"));
    let waits = compiled.stops.iter().find(|stop| outcome::meets(m, stop, grid.pes));
    let d = match waits.or(compiled.stops.first()) {
        Some(stop) => d.at(m, m.op(stop.op).loc, "they wait here"),
        None => d,
    };
    d.next(format!("{most} programs or fewer, each with a larger share")).into()
}
pub(crate) fn shape_only() -> Diagnostics {
    Diagnostic::new(NO_ELEMENTS, "a tensor of this launch has no elements")
        .next("make it with elements: `Tensor::from_vec`, or from an ndarray")
        .into()
}
pub(crate) fn arguments() -> Diagnostics {
    Diagnostic::new(ARGUMENTS, "the arguments do not fit the kernel's parameters").into()
}
pub(crate) fn elsewhere() -> Diagnostics {
    Diagnostic::new(ELSEWHERE, "a tensor lies on another device than the one the launch runs on")
        .next("bring it there: `gpu.upload(&tensor.to_host()?)`")
        .into()
}
/// Positions of two parameters, from 0.
pub(crate) fn shared(written: usize, other: usize) -> Diagnostics {
    let message = format!("parameter {} is written and shares its memory with parameter {}", written + 1, other + 1);
    Diagnostic::new(SHARED, message).next("give the kernel a tensor of its own to write").into()
}
/// Of a copy.
#[cfg(feature = "cuda")]
pub(crate) fn lengths(from: &[usize], to: &[usize]) -> Diagnostics {
    Diagnostic::new(LENGTHS, format!("a tensor of lengths {from:?} is copied to one of {to:?}"))
        .next("make a new one: `gpu.upload(&tensor)`")
        .into()
}
pub(crate) fn misaligned(at: u64, to: u32) -> Diagnostics {
    Diagnostic::new(MISALIGNED, format!("address {at:#x} is no multiple of {to}"))
        .next("launch with a tensor at that address, or copy it")
        .into()
}
pub(crate) fn between(elem: ElemType, address: u64) -> Diagnostics {
    let message =
        format!("a tensor of {elem} begins at address {address:#x}, which is no multiple of {}", elem.bytes());
    Diagnostic::new(BETWEEN, message).next("give the address of its first element").into()
}
