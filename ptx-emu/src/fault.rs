//! What can go wrong in a text or a run.

use std::fmt;

/// A fault, and where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: Kind,
    /// Of the text, from 1; 0: no line.
    pub line: u32,
    /// The statement of that line.
    pub statement: String,
    /// The thread block and the thread in it that met it first.
    pub thread: Option<(u32, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A statement that this emulator does not read.
    Unknown(String),
    /// A kernel of this name is not in the text.
    NoEntry(String),
    /// The parameter block has another size than the kernel's.
    Params { expected: usize, found: usize },
    /// An access to memory that nobody allocated.
    OutOfBounds { space: &'static str, address: u64, bytes: u32 },
    /// An access at an address that is not a multiple of its size.
    Misaligned { space: &'static str, address: u64, bytes: u32 },
    /// A read of memory that nobody wrote.
    Unwritten { space: &'static str, address: u64, bytes: u32 },
    /// Two threads touch shared memory without a barrier between, and one writes.
    Race { address: u64, other_thread: u32, other_line: u32 },
    /// Some threads wait at a barrier that others never reach.
    Deadlock { waiting: u32, of: u32 },
    /// More instructions than allowed.
    Steps(u64),
    /// More memory than allowed.
    OutOfMemory { bytes: u64, limit: u64 },
    /// `trap`.
    Trap,
    /// A warp-wide instruction that not all lanes reach.
    Diverged,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Unknown(what) => write!(f, "the emulator does not know {what}"),
            Kind::NoEntry(name) => write!(f, "no kernel is called {name}"),
            Kind::Params { expected, found } => {
                write!(f, "the parameters have {found} bytes, the kernel has {expected}")
            }
            Kind::OutOfBounds { space, address, bytes } => {
                write!(f, "{bytes} bytes at {address:#x} are outside {space} memory")
            }
            Kind::Misaligned { space, address, bytes } => {
                write!(f, "{bytes} bytes of {space} memory at {address:#x}, which is not a multiple of {bytes}")
            }
            Kind::Unwritten { space, address, bytes } => {
                write!(f, "nobody wrote the {bytes} bytes of {space} memory at {address:#x}")
            }
            Kind::Race { address, other_thread, other_line } => write!(
                f,
                "shared memory at {address:#x} is also touched by thread {other_thread} (line {other_line}), with no barrier between"
            ),
            Kind::Deadlock { waiting, of } => {
                write!(f, "{waiting} of {of} threads wait at a barrier that the others never reach")
            }
            Kind::Steps(limit) => write!(f, "more than {limit} instructions"),
            Kind::OutOfMemory { bytes, limit } => write!(f, "{bytes} bytes more than the limit of {limit} bytes"),
            Kind::Trap => write!(f, "trap"),
            Kind::Diverged => write!(f, "not all lanes of the warp are here"),
        }
    }
}
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if self.line > 0 {
            write!(f, "\n  line {}: {}", self.line, self.statement)?;
        }
        if let Some((cta, thread)) = self.thread {
            write!(f, "\n  block {cta}, thread {thread}")?;
        }
        Ok(())
    }
}
impl std::error::Error for Fault {}
