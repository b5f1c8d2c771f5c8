//! What a kernel shows of its values: `keep`.

use super::held::held;
use super::{Done, Lower};
use crate::abi::Item;
use crate::ptx::{Addr, Bin, CacheHint, Class, Cmp, Guard, Op as PtxOp, Reg, Space, Src, Ty};
use rustc_hash::FxHashSet;
use tilewright_core::ir::{Type, ops};

impl Lower<'_> {
    /// All bits of the value decide whether a store runs. It never does, since a 32-bit sum is compared with a 64-bit
    /// parameter that has higher bits, but nothing that compiles the kernel can know that.
    pub(super) fn keep(&mut self, o: &ops::Keep) -> Done {
        let ty = held(self.m.ty(o.x).elem());
        let regs = match self.m.ty(o.x) {
            Type::Scalar(_) => match self.scalar(o.x)? {
                Src::Reg(reg) => vec![reg],
                Src::Imm(_) => return Ok(()),
            },
            Type::Tile(..) | Type::View(_) => {
                let layout = self.layout(o.x)?;
                self.tile(o.x, &layout)?
            }
        };
        let mut seen = FxHashSet::default();
        let mut sum: Option<Reg> = None;
        for reg in regs.into_iter().filter(|reg| seen.insert(*reg)) {
            for word in self.words(ty, reg) {
                sum = Some(sum.map_or(word, |sum| self.body.bin(Bin::Add, Ty::U32, sum, word)));
            }
        }
        let Some(sum) = sum else { return Ok(()) };
        let never = self.param(Ty::U64, Item::Never);
        let wide = self.body.cvt(Ty::U64, Ty::U32, sum);
        let pred = self.body.setp(Cmp::Eq, Ty::U64, wide, never);
        let at = Addr::reg(never, 0);
        let store = PtxOp::St { space: Space::Global, hint: CacheHint::default(), ty: Ty::B32, at, a: vec![sum] };
        self.body.emit_if(Guard { pred, negated: false }, store);
        Ok(())
    }
    /// A register as 32-bit words.
    fn words(&mut self, ty: Ty, reg: Reg) -> Vec<Reg> {
        match ty.class() {
            Class::Pred => vec![self.body.selp(Ty::U32, Src::Imm(1), Src::Imm(0), reg)],
            Class::B16 => vec![self.body.cvt(Ty::U32, Ty::U16, reg)],
            Class::B32 => vec![reg],
            Class::B64 => {
                let halves = vec![self.body.fresh(Ty::B32), self.body.fresh(Ty::B32)];
                self.body.emit(PtxOp::Unpack { ty: Ty::B64, d: halves.clone(), a: reg });
                halves
            }
        }
    }
}
