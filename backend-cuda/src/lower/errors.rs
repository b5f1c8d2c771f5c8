//! What can go wrong when a module becomes PTX: one variant a fault, worded and coded here.

use tilewright_core::diag::{CodePage, Diagnostic};
use tilewright_core::ir::{Module, OpId, Type};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The op has no instructions yet.
    NotLowered { mnemonic: &'static str },
    /// A tile takes more registers than a thread has.
    TileTooLarge { ty: Type, regs: usize, threads: u32 },
    /// A value that the verifier should have refused.
    NoValue,
}

/// Not a mistake of the kernel: the backend is not complete.
pub const NOT_LOWERED: &str = "TW-E0610";
const TILE_TOO_LARGE: &str = "TW-E0611";
const NO_VALUE: &str = "TW-E0612";

pub const CODES: &[CodePage] = &[
    CodePage {
        code: NOT_LOWERED,
        title: "this op has no PTX yet",
        page: "The kernel uses an op that the GPU backend cannot compile. It runs on the simulator and on the reference \
               interpreter: `--target sim`, `--target reference`.",
    },
    CodePage {
        code: TILE_TOO_LARGE,
        title: "a tile does not fit the registers of a program",
        page: "On a GPU a program is one thread block, and a tile lies in the registers of its threads: 255 of 32 bits \
               each at most. Launch with more threads (`.threads(n)`), or cut the work into smaller tiles.",
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
        let at = |code, text: String| Diagnostic::new(code, text).at(m, m.op(op).loc, "");
        match self {
            Fault::NotLowered { mnemonic } => at(NOT_LOWERED, format!("`{mnemonic}` has no PTX yet"))
                .next("run the kernel with `--target sim` or `--target reference`"),
            Fault::TileTooLarge { ty, regs, threads } => {
                at(TILE_TOO_LARGE, format!("{ty} takes {regs} registers in each of {threads} threads"))
                    .note(format!("a thread has room for tiles of {MAX_TILE_REGS} registers"))
                    .next("launch with more threads (`.threads(n)`), or use smaller tiles")
            }
            Fault::NoValue => at(NO_VALUE, "a value is used before it is made".to_string()),
        }
    }
}
