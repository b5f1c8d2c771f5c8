//! Bit operations. Small integers are extended in 32 bits and extended again where an op can disturb that.

use super::Lower;
use super::held::{bits, held};
use crate::ptx::{Bin, Reg, Src, Ty, Un};
use tilewright_core::elem::ElemType;

impl Lower<'_> {
    pub(super) fn bitwise(&mut self, op: Bin, elem: ElemType, a: Src, b: Src) -> Reg {
        let (a, b) = (self.operand(elem, a), self.operand(elem, b));
        // Operands that are extended alike give a result that is.
        self.body.bin(op, bits(held(elem)), a, b)
    }
    pub(super) fn not(&mut self, elem: ElemType, x: Src) -> Reg {
        let x = self.operand(elem, x);
        let reg = self.body.un(Un::Not, bits(held(elem)), x);
        self.wrapped(elem, reg)
    }
    /// PTX takes a count above the width as the width; as an unsigned number, one below 0 is far above.
    pub(super) fn shift(&mut self, op: Bin, elem: ElemType, a: Src, count: Src) -> Reg {
        let ty = held(elem);
        let (ty, count) = match ty {
            Ty::S64 | Ty::U64 => {
                if let Src::Imm(n) = count {
                    let reg = self.body.bin(op, if op == Bin::Shl { Ty::B64 } else { ty }, a, Src::Imm(n.min(64)));
                    return reg;
                }
                let clamped = self.body.bin(Bin::Min, Ty::U64, count, Src::Imm(64));
                (ty, self.body.cvt(Ty::U32, Ty::U64, clamped).into())
            }
            _ => (ty, count),
        };
        // `shl` knows only bits; `shr` repeats the sign of signed elements.
        let ty = if op == Bin::Shl { bits(ty) } else { ty };
        let reg = self.body.bin(op, ty, a, count);
        self.wrapped(elem, reg)
    }
}
