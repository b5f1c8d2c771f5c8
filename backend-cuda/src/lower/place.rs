//! Which program this is, and how long views are. A PE is a CTA, counted cube by cube.

use super::{Done, Lower};
use crate::abi::Item;
use crate::ptx::{Bin, Reg, Special, Src, Ty};
use tilewright_core::ir::{Def, Op, OpId, ValueId, ops};

impl Lower<'_> {
    pub(super) fn place(&mut self, id: OpId) -> Done {
        let reg = match &self.m.op(id).op {
            Op::ProgramId(_) => self.special(Special::CtaidX),
            Op::NumPrograms(_) => self.special(Special::NctaidX),
            Op::NumPes(_) => {
                let pes = self.num_pes();
                self.set_scalar(id, pes);
                return Ok(());
            }
            Op::PeId(_) if self.cluster.is_some() => self.special(Special::ClusterRank),
            Op::PeId(_) => self.by_pes(Special::CtaidX, Bin::Rem),
            Op::CubeId(_) => self.by_pes(Special::CtaidX, Bin::Div),
            _ => self.by_pes(Special::NctaidX, Bin::Div),
        };
        self.set_scalar(id, reg);
        Ok(())
    }
    fn by_pes(&mut self, what: Special, op: Bin) -> Reg {
        let (what, pes) = (self.special(what), self.num_pes());
        match (op, pes) {
            (Bin::Div, Src::Imm(n)) if n.is_power_of_two() => {
                self.body.bin(Bin::Shr, Ty::U32, what, Src::Imm(u64::from(n.ilog2())))
            }
            _ => self.body.bin(op, Ty::U32, what, pes),
        }
    }
    /// PEs of a cube: code for clusters is for one number of them.
    fn num_pes(&mut self) -> Src {
        match self.cluster {
            Some(pes) => Src::Imm(u64::from(pes)),
            None => self.param(Ty::U32, Item::NumPes).into(),
        }
    }
    /// The launch refuses views whose length does not fit.
    pub(super) fn len(&mut self, id: OpId, o: &ops::Len) -> Done {
        let reg = match self.view_len(o.view, o.axis.0) {
            Src::Imm(n) => Src::Imm(n),
            Src::Reg(wide) => self.body.cvt(Ty::U32, Ty::U64, wide).into(),
        };
        self.set_scalar(id, reg);
        Ok(())
    }
    pub(super) fn view_param(&self, view: ValueId) -> u32 {
        match self.m.def(view) {
            Def::Param(i) => i,
            // The verifier lets views come from parameters only.
            Def::Const(_) | Def::Result(..) | Def::Arg(..) => 0,
        }
    }
    /// 64 bits.
    pub(super) fn view_len(&mut self, view: ValueId, axis: u32) -> Src {
        if let Some(n) = self.options.known.len(self.m, view, axis) {
            return Src::Imm(n as u64);
        }
        let param = self.view_param(view);
        self.param(Ty::U64, Item::Len { param, axis }).into()
    }
    /// Elements from one place to the next; 1 along the last axis of a row-major view, and a row's length along the one
    /// before, where that is known.
    pub(super) fn view_stride(&mut self, view: ValueId, axis: u32, rank: u32) -> Src {
        if axis + 1 == rank {
            return Src::Imm(1);
        }
        if axis + 2 == rank
            && let Some(n) = self.options.known.len(self.m, view, axis + 1).filter(|n| *n < SHORT)
        {
            return Src::Imm(n as u64);
        }
        let param = self.view_param(view);
        self.param(Ty::U64, Item::Stride { param, axis }).into()
    }
}

/// Elements of a row whose bytes 31 bits count, of any type: what 32-bit products multiply.
const SHORT: i128 = 1 << 27;
