//! Which PEs work on a KV head, as the published studies name it, and what a model has to divide into for it.

use super::{Group, PES_PER_CUBE};
use crate::contract::{Clause, refuse};
use tilewright::diag::Diagnostics;

/// A mapping of KV heads to cubes and PEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// One KV head a cube, 8 PEs a head.
    A1,
    /// Two KV heads a cube, 4 PEs each.
    A2,
    /// Four KV heads a cube, 2 PEs each.
    A4,
    /// Eight KV heads a cube, one PE each.
    B,
}

impl Mode {
    pub const ALL: [Mode; 4] = [Mode::A1, Mode::A2, Mode::A4, Mode::B];
    pub fn name(self) -> &'static str {
        match self {
            Mode::A1 => "A1",
            Mode::A2 => "A2",
            Mode::A4 => "A4",
            Mode::B => "B",
        }
    }
    pub fn kv_per_cube(self) -> usize {
        match self {
            Mode::A1 => 1,
            Mode::A2 => 2,
            Mode::A4 => 4,
            Mode::B => 8,
        }
    }
    /// The mapping whose programs come nearest to 64 CTAs, half of an H200: a memory that is busy already gains nothing from
    /// more. From 100 KV heads on a head is a program's own, which spares the messages.
    pub fn filling_gpu(h_kv: usize) -> Mode {
        if h_kv >= 100 && h_kv.is_multiple_of(Mode::B.kv_per_cube()) {
            return Mode::B;
        }
        let off = |mode: &Mode| {
            let ctas = h_kv.saturating_mul(8 / mode.kv_per_cube()).max(1);
            // By their ratio, in parts of 1024.
            ctas.max(64).saturating_mul(1024) / ctas.min(64)
        };
        let fit = [Mode::A1, Mode::A2, Mode::A4].into_iter().filter(|mode| h_kv.is_multiple_of(mode.kv_per_cube()));
        fit.min_by_key(off).unwrap_or(Mode::A1)
    }
    pub fn from_name(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|m| m.name() == name)
    }
}

/// The heads of a model over the cubes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    pub h_q: usize,
    pub h_kv: usize,
    /// KV heads a cube holds: 1, 2, 4, 8 for A1, A2, A4, B.
    pub kv_per_cube: usize,
    /// Cubes of the launch; `None`: as many as the mapping needs.
    pub cubes: Option<usize>,
}

impl Heads {
    /// The PEs of a KV head; an error for a mapping that does not exist.
    pub fn group(&self, errors: &mut Diagnostics) -> Option<Group> {
        let group = Group::of_heads(self.kv_per_cube);
        if group.is_none() {
            let message =
                format!("{} KV heads per cube: a cube of {PES_PER_CUBE} PEs takes 1, 2, 4 or 8", self.kv_per_cube);
            errors.push(refuse(Clause::KvPerCube, message, "use `--mode A1`, `A2`, `A4` or `B`"));
        }
        group
    }
    /// Query heads of a KV head, and cubes, of heads that are not zero; errors for what does not divide.
    pub fn divided(&self, errors: &mut Diagnostics) -> (usize, usize) {
        let Heads { h_q, h_kv, kv_per_cube, .. } = *self;
        if !h_q.is_multiple_of(h_kv) {
            let message = format!("{h_q} query heads do not divide among {h_kv} KV heads");
            let down = h_q / h_kv * h_kv;
            let next = format!("use `--h-q {}`", if down == 0 { h_kv } else { down });
            errors.push(refuse(Clause::QueryHeads, message, next));
        }
        let needed = h_kv / kv_per_cube;
        if !h_kv.is_multiple_of(kv_per_cube) {
            let message = format!("{h_kv} KV heads do not fill cubes of {kv_per_cube}");
            errors.push(refuse(Clause::Cubes, message, "choose a mapping whose KV heads per cube divide `--h-kv`"));
        } else if let Some(cubes) = self.cubes.filter(|c| *c != needed) {
            let message = format!("{cubes} cubes, but {h_kv} KV heads at {kv_per_cube} per cube need {needed}");
            errors.push(refuse(Clause::Cubes, message, format!("use `--cubes {needed}`, or leave it out")));
        }
        (h_q / h_kv, needed)
    }
}

#[cfg(test)]
mod tests {
    use super::Mode;

    #[test]
    fn as_many_heads_as_a_gpu_has_room_for_share_a_cube() {
        let of = [1, 8, 9, 12, 16, 32, 64, 96, 104, 128, 100].map(|heads| Mode::filling_gpu(heads).name());
        assert_eq!(of, ["A1", "A1", "A1", "A2", "A2", "A4", "A4", "A4", "B", "B", "A4"]);
    }
}
