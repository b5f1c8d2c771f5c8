//! Comparisons and choices.

use super::Lower;
use super::held::{bits, held};
use crate::ptx::{Bin, Cmp, Reg, Src, Ty, Un};
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
            // Truth values have no order.
            ElemType::I1 => {
                let differ = self.bitwise(Bin::Xor, elem, a, b);
                if pred == Pred::Ne { differ } else { self.body.un(Un::Not, Ty::Pred, differ) }
            }
            _ => {
                let (a, b) = (self.operand(elem, a), self.operand(elem, b));
                self.body.setp(cmp, held(elem), a, b)
            }
        }
    }
    pub(super) fn select(&mut self, elem: ElemType, mask: Src, a: Src, b: Src) -> Reg {
        let p = self.in_register(Ty::Pred, mask);
        match held(elem) {
            // There is no selp for predicates: (p and a) or (not p and b).
            Ty::Pred => {
                let (a, b) = (self.operand(elem, a), self.operand(elem, b));
                let yes = self.body.bin(Bin::And, Ty::Pred, p, a);
                let not = self.body.un(Un::Not, Ty::Pred, p);
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
