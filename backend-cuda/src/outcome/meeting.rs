//! Where programs meet: a line of memory for the launch, then one for each program, of which the first of a cube holds what
//! the cube needs. All of it is zero until programs meet; a word where some have given up is of no use any more.

use tilewright_core::interp::stall::{Waiting, WaitsFor};
use tilewright_core::ir::{Module, Op, OpId};

/// Bytes of a line: words in different ones do not wait for each other.
pub const LINE: u64 = 128;
/// In the launch's line: the word of its barrier, and the number of programs that gave up.
pub const LAUNCH: i64 = 0;
pub const GAVE_UP: i64 = 4;
/// In a program's line, from the launch's on: the word of its cube's barrier, and from 1 the barrier where it gave up.
pub const CUBE: i64 = LINE as i64;
pub const WAITS_AT: i64 = LINE as i64 + 4;

/// How long a program waits, in cycles of an SM.
pub const PATIENCE: u64 = 1 << 34;
pub const NOTE: &str = "on a GPU a program waits 2^34 cycles, about 9 s, before it gives up";

/// Of the whole.
pub fn bytes(programs: u32) -> u64 {
    LINE * (1 + u64::from(programs))
}
/// How many gave up, by the launch's line.
pub fn gave_up(line: &[u8; 8]) -> u32 {
    u32::from_le_bytes([line[4], line[5], line[6], line[7]])
}
/// The programs that gave up, and where. `barriers`: as the code numbers them.
pub fn waiting(m: &Module, barriers: &[OpId], area: &[u8]) -> Vec<Waiting> {
    let lines = area.chunks_exact(LINE as usize).skip(1).enumerate();
    let at = |(program, line): (usize, &[u8])| {
        let number = line.get(4..8)?.try_into().map(u32::from_le_bytes).ok()?.checked_sub(1)?;
        let op = *barriers.get(number as usize)?;
        match &m.op(op).op {
            Op::Barrier(o) => Some(Waiting { program, op, on: WaitsFor::Barrier { scope: o.scope } }),
            _ => None,
        }
    };
    lines.filter_map(at).collect()
}
