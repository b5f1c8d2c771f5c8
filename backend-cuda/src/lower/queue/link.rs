//! Who is at the other end of a port, as `Mesh::link` has it: numbers that a program finds once.

use super::super::Lower;
use crate::ptx::{Bin, Cmp, Reg, Special, Src, Ty};
use tilewright_core::interp::Mesh;
use tilewright_core::ir::ops::{Dir, Port};

/// The other end of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// The PE of this cube, or the cube of this SIP; where there is none, this one.
    pub other: Reg,
    /// Whether there is one.
    pub exists: Reg,
}

impl Lower<'_> {
    /// Of a port between the PEs of a cube of `pes`; `me`: this one.
    pub(super) fn link_of(&mut self, port: Port, me: Reg, pes: u32) -> Link {
        let mesh = Mesh::default();
        match port {
            Port::Pe(dir) => self.neighbour(me, mesh.pe_cols as u32, pes, dir),
            Port::Cube(dir) => self.neighbour(me, mesh.cube_cols as u32, pes, dir),
            Port::Sip(dir) => self.neighbour(me, 1, 1, dir),
            Port::Peer(rank) => {
                let other = Src::Imm(u64::from(rank.min(pes.saturating_sub(1))));
                let other = self.body.mov(Ty::B32, other);
                let exists = if rank < pes { Cmp::Ne } else { Cmp::Lt };
                let rank = Src::Imm(if rank < pes { u64::from(rank) } else { 0 });
                Link { other, exists: self.body.setp(exists, Ty::U32, me, rank) }
            }
        }
    }
    /// The place next to `me` among `count` in rows of `cols`.
    fn neighbour(&mut self, me: Reg, cols: u32, count: u32, dir: Dir) -> Link {
        let imm = |n: u32| Src::Imm(u64::from(n));
        let (op, by) = match dir {
            Dir::North => (Bin::Sub, cols),
            Dir::South => (Bin::Add, cols),
            Dir::East => (Bin::Add, 1),
            Dir::West => (Bin::Sub, 1),
        };
        let to = self.body.bin(op, Ty::U32, me, imm(by));
        // Below zero is above all numbers.
        let inside = self.body.setp(Cmp::Lt, Ty::U32, to, imm(count));
        let exists = match dir {
            Dir::North | Dir::South => inside,
            Dir::East | Dir::West => {
                let col = self.body.bin(Bin::Rem, Ty::U32, if dir == Dir::East { to } else { me }, imm(cols));
                let same_row = self.body.setp(Cmp::Ne, Ty::U32, col, imm(0));
                self.body.bin(Bin::And, Ty::Pred, inside, same_row)
            }
        };
        Link { other: self.body.selp(Ty::B32, to, me, exists), exists }
    }
    /// The position of a rank in an ascending list; where it is not in it, 0, and whether it is, unless all ranks are.
    pub(super) fn position_in(&mut self, ranks: &[u32], rank: Reg, of: u32) -> (Reg, Option<Reg>) {
        if ranks.iter().copied().eq(0..of) {
            return (rank, None);
        }
        let mut at = self.body.mov(Ty::B32, Src::Imm(0));
        let mut known: Option<Reg> = None;
        for (i, other) in ranks.iter().enumerate() {
            let is = self.body.setp(Cmp::Eq, Ty::U32, rank, Src::Imm(u64::from(*other)));
            at = self.body.selp(Ty::B32, Src::Imm(i as u64), at, is);
            known = Some(known.map_or(is, |known| self.body.bin(Bin::Or, Ty::Pred, known, is)));
        }
        (at, known)
    }
    /// This PE's number in its cluster.
    pub(super) fn rank(&mut self) -> Reg {
        self.special(Special::ClusterRank)
    }
}
