//! What can go wrong when a module becomes PTX: one variant a fault, worded and coded here.

use tilewright_core::diag::{CodePage, Diagnostic};
use tilewright_core::ir::ops::Port;
use tilewright_core::ir::{LocId, Module, OpId, Type};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The op has no instructions yet.
    NotLowered { mnemonic: &'static str },
    /// A message to another SIP.
    BetweenSips { port: Port },
    /// A tile takes more registers than a thread has.
    TileTooLarge { ty: Type, regs: usize, threads: u32 },
    /// What threads hand to each other does not fit shared memory; the largest part of it is this op's.
    SharedTooLarge { bytes: u32, limit: u32, largest: u32 },
    /// A value that the verifier should have refused.
    NoValue,
}

/// Not a mistake of the kernel: the backend is not complete.
pub const NOT_LOWERED: &str = "TW-E0610";
const TILE_TOO_LARGE: &str = "TW-E0611";
const NO_VALUE: &str = "TW-E0612";
const SHARED_TOO_LARGE: &str = "TW-E0613";

pub const CODES: &[CodePage] = &[
    CodePage {
        code: NOT_LOWERED,
        title: "this op has no PTX",
        page: "The kernel uses an op that the GPU backend cannot compile: a message to another SIP, as all programs of a launch run \
               on one GPU. It runs on the simulator and on the reference interpreter: `--target sim`, `--target reference`.",
    },
    CodePage {
        code: TILE_TOO_LARGE,
        title: "a tile does not fit the registers of a program",
        page: "On a GPU a program is one thread block, and a tile lies in the registers of its threads: 255 of 32 bits \
               each at most. Launch with more threads (`.threads(n)`), or cut the work into smaller tiles.",
    },
    CodePage {
        code: SHARED_TOO_LARGE,
        title: "a program needs more shared memory than the GPU has",
        page: "The operands of a product lie in the shared memory of a program, as many stages of them as the loop around it \
               asks for. A GPU has 227 KiB of it for a program (sm_90a), or 99 KiB on every GPU that sm_80 code is for. The \
               message says how much the kernel needs, and which line needs most. Smaller tiles need less, and so do fewer \
               `.stages(n)`.",
    },
    CodePage {
        code: NO_VALUE,
        title: "a value is used before it is made",
        page: "A module that the verifier accepts has no such use. Please report the kernel and the command.",
    },
];

/// 32-bit registers of a thread that a tile may take.
pub(super) const MAX_TILE_REGS: usize = 192;

impl Fault {
    pub(super) fn diagnostic(self, m: &Module, op: OpId) -> Diagnostic {
        self.at(m, m.op(op).loc)
    }
    pub(super) fn at(self, m: &Module, loc: LocId) -> Diagnostic {
        let at = |code, text: String| Diagnostic::new(code, text).at(m, loc, "");
        match self {
            Fault::NotLowered { mnemonic } => at(NOT_LOWERED, format!("`{mnemonic}` has no PTX yet"))
                .next("run the kernel with `--target sim` or `--target reference`"),
            Fault::BetweenSips { port } => {
                at(NOT_LOWERED, format!("`{port}` leads to another SIP, and a GPU has no link there"))
                    .next("run the kernel with `--target sim` or `--target reference`")
            }
            Fault::TileTooLarge { ty, regs, threads } => {
                at(TILE_TOO_LARGE, format!("{ty} takes {regs} registers in each of {threads} threads"))
                    .note(format!("a thread has room for tiles of {MAX_TILE_REGS} registers"))
                    .next("launch with more threads (`.threads(n)`), or use smaller tiles")
            }
            Fault::SharedTooLarge { bytes, limit, largest } => {
                at(SHARED_TOO_LARGE, format!("the kernel needs {bytes} bytes of shared memory, a program has {limit}"))
                    .note(format!("the largest part, {largest} bytes, is of this line"))
                    .next("use smaller tiles, or fewer stages of the loop around them")
            }
            Fault::NoValue => at(NO_VALUE, "a value is used before it is made".to_string()),
        }
    }
}
