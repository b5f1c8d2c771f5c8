//! Where programs meet: a line of memory for the launch, then one for each program, of which the first of a cube holds what
//! the cube needs. All of it is zero until programs meet; a word where some have given up is of no use any more.

/// Bytes of a line: words in different ones do not wait for each other.
pub const LINE: u64 = 128;
/// In the launch's line: the word of its barrier, the number of programs that gave up, and the word where programs meet
/// before their first message through global memory and after the last.
pub const LAUNCH: i64 = 0;
pub const GAVE_UP: i64 = 4;
pub const AROUND_MESSAGES: i64 = 8;
/// In a program's line, from the launch's on: the word of its cube's barrier, from 1 the number of where it ended before its
/// end (`super::Stop`), and how many messages it had then sent to the port, or received from it.
pub const CUBE: i64 = LINE as i64;
pub const WAITS_AT: i64 = LINE as i64 + 4;
pub const MESSAGES: i64 = LINE as i64 + 8;

/// How long a program waits, in cycles of an SM.
pub const PATIENCE: u64 = 1 << 34;
/// The same at the end, where all come in any case: behind others who have to give up first.
pub const LAST_PATIENCE: u64 = 8 * PATIENCE;
pub const NOTE: &str = "on a GPU a program waits 2^34 cycles, about 9 s, before it gives up";

/// Of the whole.
pub fn bytes(programs: u32) -> u64 {
    LINE * (1 + u64::from(programs))
}
/// How many gave up, by the launch's line.
pub fn gave_up(line: &[u8; 8]) -> u32 {
    u32::from_le_bytes([line[4], line[5], line[6], line[7]])
}
