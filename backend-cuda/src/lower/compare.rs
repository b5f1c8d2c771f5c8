//! Comparisons and choices.

use super::Lower;
use super::held::{bits, held};
use crate::ptx::{Bin, Cmp, Reg, Src, Ty};
use tilewright_core::elem::{ElemType, Kind};
use tilewright_core::ir::ops::Pred;

impl Lower<'_> {
    /// Every comparison with NaN but `ne` is false.
    pub(super) fn compare(&mut self, pred: Pred, elem: ElemType, a: Src, b: Src) -> Reg {
        let cmp = match pred {
            Pred::Lt => Cmp::Lt,
            Pred::Le => Cmp::Le,
            Pred::Gt => Cmp::Gt,
            Pred::Ge => Cmp::Ge,
            Pred::Eq => Cmp::Eq,
            Pred::Ne if elem.kind() == Kind::Float => Cmp::Neu,
            Pred::Ne => Cmp::Ne,
        };
        match elem {
            ElemType::BF16 => {
                let (a, b) = (self.widen(elem, a), self.widen(elem, b));
                self.body.setp(cmp, Ty::F32, a, b)
            }
            ElemType::I1 => {
                let (a, b) = (self.truth(a), self.truth(b));
                self.body.setp(cmp, Ty::U32, a, b)
            }
            _ => {
                let (a, b) = (self.operand(elem, a), self.operand(elem, b));
                self.body.setp(cmp, held(elem), a, b)
            }
        }
    }
    /// A truth value as 0 or 1.
    fn truth(&mut self, a: Src) -> Src {
        match a {
            Src::Reg(p) => self.body.selp(Ty::U32, Src::Imm(1), Src::Imm(0), p).into(),
            imm @ Src::Imm(_) => imm,
        }
    }
    pub(super) fn select(&mut self, elem: ElemType, mask: Src, a: Src, b: Src) -> Reg {
        let p = match mask {
            Src::Reg(p) => p,
            imm @ Src::Imm(_) => self.constant(Ty::Pred, imm),
        };
        match held(elem) {
            // There is no selp for predicates: (p and a) or (not p and b).
            Ty::Pred => {
                let (a, b) = (self.operand(elem, a), self.operand(elem, b));
                let yes = self.body.bin(Bin::And, Ty::Pred, p, a);
                let not = self.body.un(crate::ptx::Un::Not, Ty::Pred, p);
                let no = self.body.bin(Bin::And, Ty::Pred, not, b);
                self.body.bin(Bin::Or, Ty::Pred, yes, no)
            }
            ty => {
                let (a, b) = (self.operand(elem, a), self.operand(elem, b));
                self.body.selp(bits(ty), a, b, p)
            }
        }
    }
}
