//! What can go wrong in a text or a run, and where.

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

/// The other side of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    pub block: u32,
    pub thread: u32,
    pub line: u32,
    pub statement: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A statement that this emulator does not read.
    Unknown(String),
    /// A kernel of this name is not in the text.
    NoEntry(String),
    /// The parameter block has another size than the kernel's.
    Params { expected: usize, found: usize },
    /// A launch that no GPU takes.
    Launch(String),
    /// An access to memory that nobody allocated.
    OutOfBounds { space: &'static str, address: u64, bytes: u32 },
    /// An access at an address that is not a multiple of its size.
    Misaligned { space: &'static str, address: u64, bytes: u32 },
    /// A read of memory that nobody wrote.
    Unwritten { space: &'static str, address: u64, bytes: u32 },
    /// An address, a condition, or a stored value made from a register that nobody wrote.
    Undefined { register: String },
    /// Two threads touch one place, one of them writes, and nothing orders the two.
    Race { space: &'static str, address: u64, other: Party },
    /// A place that an asynchronous copy fills or reads is touched before the copy is waited for.
    InFlight { address: u64, other: Party },
    /// A place read as read-only memory (`.nc`) is written by the same launch.
    ReadOnly { address: u64, other: Party },
    /// Threads wait at a barrier that others never reach.
    Deadlock { waiting: u32, of: u32, others: String },
    /// Every thread that is left repeats a read whose value nobody changes.
    Spin,
    /// Warps come to one barrier with different numbers of threads.
    BarrierCount { barrier: u32, expected: u32, found: u32 },
    /// What an mbarrier does not allow.
    Mbarrier { address: u64, what: String },
    /// What a cluster does not allow.
    Cluster(String),
    /// Shared memory of a block that does not run, or need not run any more.
    Absent { block: u32, why: &'static str },
    /// A bulk copy reads what a thread stored without a fence for the asynchronous proxy.
    Proxy { address: u64, other: Party },
    /// More instructions than allowed.
    Steps(u64),
    /// More memory than allowed.
    OutOfMemory { bytes: u64, limit: u64 },
    /// `trap`.
    Trap,
    /// A warp-wide instruction that lanes of its mask do not reach.
    Diverged { missing: u32 },
    /// A lane executes a warp-wide instruction whose mask does not name it.
    Mask { mask: u32, lane: u32 },
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}, thread {} at line {}: {}", self.block, self.thread, self.line, self.statement)
    }
}
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Unknown(what) => write!(f, "the emulator does not know {what}"),
            Kind::NoEntry(name) => write!(f, "no kernel is called {name}"),
            Kind::Params { expected, found } => {
                write!(f, "the parameters have {found} bytes, the kernel has {expected}")
            }
            Kind::Launch(why) => f.write_str(why),
            Kind::OutOfBounds { space, address, bytes } => {
                write!(f, "{bytes} bytes at {address:#x} are outside {space} memory")
            }
            Kind::Misaligned { space, address, bytes } => {
                write!(f, "{bytes} bytes of {space} memory at {address:#x}, which is not a multiple of {bytes}")
            }
            Kind::Unwritten { space, address, bytes } => {
                write!(f, "nobody wrote the {bytes} bytes of {space} memory at {address:#x}")
            }
            Kind::Undefined { register } => write!(f, "what {register} holds comes from a register that nobody wrote"),
            Kind::Race { space, address, other } => {
                write!(
                    f,
                    "{space} memory at {address:#x} is also touched, with nothing that orders the two, by {other}"
                )
            }
            Kind::InFlight { address, other } => {
                write!(f, "memory at {address:#x} belongs to an asynchronous copy that nobody waited for, of {other}")
            }
            Kind::ReadOnly { address, other } => {
                write!(
                    f,
                    "global memory at {address:#x} is both written and read as read-only (.nc), here and by {other}"
                )
            }
            Kind::Deadlock { waiting, of, others } => {
                write!(f, "{waiting} of {of} threads wait at a barrier that the others never reach ({others})")
            }
            Kind::Spin => write!(f, "every thread that is left waits for a value that nobody writes"),
            Kind::BarrierCount { barrier, expected, found } => {
                write!(f, "barrier {barrier} is for {expected} threads elsewhere and for {found} here")
            }
            Kind::Mbarrier { address, what } => write!(f, "the mbarrier at {address:#x} {what}"),
            Kind::Cluster(what) => f.write_str(what),
            Kind::Absent { block, why } => write!(f, "block {block}, whose shared memory this touches, {why}"),
            Kind::Proxy { address, other } => {
                write!(
                    f,
                    "a bulk copy reads shared memory at {address:#x} with no fence.proxy.async since the store of {other}"
                )
            }
            Kind::Steps(limit) => write!(f, "more than {limit} instructions"),
            Kind::OutOfMemory { bytes, limit } => write!(f, "{bytes} bytes more than the limit of {limit} bytes"),
            Kind::Trap => write!(f, "trap"),
            Kind::Diverged { missing } => {
                write!(f, "not all lanes of the warp are here: lanes {missing:#010x} never come")
            }
            Kind::Mask { mask, lane } => write!(f, "lane {lane} is here, but the mask {mask:#010x} does not name it"),
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

impl Fault {
    /// One that belongs to no statement.
    pub(crate) fn of_launch(kind: Kind) -> Fault {
        Fault { kind, line: 0, statement: String::new(), thread: None }
    }
}
