//! GPUs as the compiler sees them, and the lowest PTX version that has what is emitted for each.

use std::fmt;

/// What PTX is compiled for. `sm_90a` code runs on compute capability 9.0 alone; `sm_80` code on that and everything later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    Sm80,
    Sm90a,
}

impl Target {
    pub const ALL: [Target; 2] = [Target::Sm80, Target::Sm90a];

    pub const fn name(self) -> &'static str {
        match self {
            Target::Sm80 => "sm_80",
            Target::Sm90a => "sm_90a",
        }
    }
    pub fn from_name(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|t| t.name() == name)
    }
    /// The best target for a device of this compute capability; `None`: too old.
    pub fn of_device(major: u32, minor: u32) -> Option<Target> {
        match (major, minor) {
            (9, 0) => Some(Target::Sm90a),
            (8.., _) => Some(Target::Sm80),
            _ => None,
        }
    }
    /// Bytes of shared memory a CTA may have (PTX.md 4; for sm_80 the smallest of the family, 8.6's).
    pub const fn shared_bytes(self) -> u32 {
        match self {
            Target::Sm80 => 99 * 1024,
            Target::Sm90a => 227 * 1024,
        }
    }
    /// CTAs of so many threads that an SM can hold (for sm_80 the smallest of the family, 8.6's).
    pub fn ctas_per_sm(self, threads: u32) -> u32 {
        let (most_threads, most) = match self {
            Target::Sm80 => (1536, 16),
            Target::Sm90a => (2048, 32),
        };
        (most_threads / threads.max(1)).clamp(1, most)
    }
    /// Whether there are instructions to and from 8-bit floats (8.9 and later).
    pub const fn has_fp8(self) -> bool {
        match self {
            Target::Sm80 => false,
            Target::Sm90a => true,
        }
    }
    /// Whether products of f64 have sixteen rows, and a depth of sixteen; else eight, and four.
    pub const fn has_tall_f64(self) -> bool {
        match self {
            Target::Sm80 => false,
            Target::Sm90a => true,
        }
    }
    /// 7.8 has `movmatrix`; 8.0 is the first for `sm_90a`.
    pub const fn ptx_version(self) -> (u32, u32) {
        match self {
            Target::Sm80 => (7, 8),
            Target::Sm90a => (8, 0),
        }
    }
}
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
