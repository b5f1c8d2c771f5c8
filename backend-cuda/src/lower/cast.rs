//! Conversions between element types: exact where they can be, else rounded once to nearest even; floats to integers
//! truncate and saturate, NaN becomes 0 (`docs/meaning.md`). fp8 is in `fp8.rs`.

use super::Lower;
use super::held::{bits, held};
use crate::ptx::{Bin, Cmp, Op as PtxOp, Reg, Round, Src, Ty};
use tilewright_core::elem::{ElemType, Kind};

impl Lower<'_> {
    pub(super) fn cast(&mut self, from: ElemType, to: ElemType, x: Src) -> Reg {
        let x = self.in_register(held(from), x);
        match (from.kind(), to.kind()) {
            // Of fp8 too: infinities saturate, and a NaN is the one NaN.
            (Kind::Storage, _) => {
                let half = self.fp8_to_f16(from, x);
                self.cast(ElemType::F16, to, half.into())
            }
            _ if from == to => x,
            (_, Kind::Bool) => self.truth_of(from, x),
            (Kind::Bool, _) => self.number_of_truth(to, x),
            (_, Kind::Storage) => {
                let wide = self.odd_f32(from, x);
                self.f32_to_fp8(to, wide)
            }
            (Kind::Float, Kind::Float) => self.float_to_float(from, to, x),
            (Kind::Float, _) => self.float_to_int(from, to, x),
            (_, Kind::Float) => self.int_to_float(from, to, x),
            _ => self.int_to_int(from, to, x),
        }
    }
    /// NaN is not zero.
    fn truth_of(&mut self, from: ElemType, x: Reg) -> Reg {
        match from.kind() {
            Kind::Float => {
                let (ty, x) = if from == ElemType::F64 { (Ty::F64, x) } else { (Ty::F32, self.widen(from, x.into())) };
                self.body.setp(Cmp::Neu, ty, x, Src::Imm(0))
            }
            _ => self.body.setp(Cmp::Ne, held(from), x, Src::Imm(0)),
        }
    }
    fn number_of_truth(&mut self, to: ElemType, x: Reg) -> Reg {
        let one = match to {
            ElemType::F16 => 0x3C00,
            ElemType::BF16 => 0x3F80,
            ElemType::F32 => u64::from(1f32.to_bits()),
            ElemType::F64 => 1f64.to_bits(),
            ElemType::F8E4M3 => 0x38,
            ElemType::F8E5M2 => 0x3C,
            _ => 1,
        };
        self.body.selp(bits(held(to)), Src::Imm(one), Src::Imm(0), x)
    }
    fn int_to_int(&mut self, from: ElemType, to: ElemType, x: Reg) -> Reg {
        let reg = match (held(from), held(to)) {
            (Ty::S32, Ty::S64 | Ty::U64) => self.body.cvt(Ty::S64, Ty::S32, x),
            (Ty::U32, Ty::S64 | Ty::U64) => self.body.cvt(Ty::U64, Ty::U32, x),
            (Ty::S64 | Ty::U64, Ty::S32 | Ty::U32) => self.body.cvt(Ty::U32, Ty::U64, x),
            _ => x,
        };
        self.wrapped(to, reg)
    }
    fn float_to_float(&mut self, from: ElemType, to: ElemType, x: Reg) -> Reg {
        match (from, to) {
            (ElemType::F64, ElemType::BF16) => {
                let odd = self.odd_f32(from, x);
                self.round_f32(to, odd)
            }
            (ElemType::F64, _) => self.rounded(held(to), Ty::F64, x),
            (_, ElemType::F64) => {
                let wide = self.widen(from, x.into());
                self.body.cvt(Ty::F64, Ty::F32, wide)
            }
            _ => {
                let wide = self.widen(from, x.into());
                self.round_f32(to, wide)
            }
        }
    }
    fn rounded(&mut self, to: Ty, from: Ty, a: Reg) -> Reg {
        let d = self.body.fresh(to);
        self.body.emit(PtxOp::Cvt { to, from, round: Some(Round::Rn), sat: false, d, a });
        d
    }
    /// A number as an f32 that rounds to a narrower float as the number itself does: exact where it can be, else cut off,
    /// its last bit set where something was lost (rounding to odd; right since f32 has two bits more than those have).
    fn odd_f32(&mut self, from: ElemType, x: Reg) -> Reg {
        let ty = held(from);
        match from.kind() {
            Kind::Float if from != ElemType::F64 => return self.widen(from, x.into()),
            Kind::Signed | Kind::Unsigned if from.bits() <= 16 => return self.rounded(Ty::F32, ty, x),
            _ => {}
        }
        let cut = self.body.fresh(Ty::F32);
        self.body.emit(PtxOp::Cvt { to: Ty::F32, from: ty, round: Some(Round::Rz), sat: false, d: cut, a: x });
        let back = if ty == Ty::F64 {
            self.body.cvt(Ty::F64, Ty::F32, cut)
        } else {
            let d = self.body.fresh(ty);
            self.body.emit(PtxOp::Cvt { to: ty, from: Ty::F32, round: Some(Round::Rzi), sat: false, d, a: cut });
            d
        };
        let lost = self.body.setp(Cmp::Ne, ty, back, x);
        let odd = self.body.bin(Bin::Or, Ty::B32, cut, Src::Imm(1));
        self.body.selp(Ty::B32, odd, cut, lost)
    }
    fn int_to_float(&mut self, from: ElemType, to: ElemType, x: Reg) -> Reg {
        if to == ElemType::BF16 {
            let odd = self.odd_f32(from, x);
            return self.round_f32(to, odd);
        }
        self.rounded(held(to), held(from), x)
    }
    /// The instruction saturates; NaN is 0 only where neither side has 64 bits (PTX ISA, `cvt`).
    fn float_to_int(&mut self, from: ElemType, to: ElemType, x: Reg) -> Reg {
        let (ty, x) = if from == ElemType::F64 { (Ty::F64, x) } else { (Ty::F32, self.widen(from, x.into())) };
        let (into, d) = (held(to), self.body.fresh(held(to)));
        self.body.emit(PtxOp::Cvt { to: into, from: ty, round: Some(Round::Rzi), sat: false, d, a: x });
        let d = if ty == Ty::F64 || into.class() == Ty::B64.class() {
            let number = self.body.setp(Cmp::Eq, ty, x, x);
            self.body.selp(bits(into), d, Src::Imm(0), number)
        } else {
            d
        };
        let (lo, hi): (i64, i64) = match to {
            ElemType::I8 => (i8::MIN.into(), i8::MAX.into()),
            ElemType::I16 => (i16::MIN.into(), i16::MAX.into()),
            ElemType::U8 => (0, u8::MAX.into()),
            ElemType::U16 => (0, u16::MAX.into()),
            _ => return d,
        };
        let d = self.body.bin(Bin::Min, into, d, Src::Imm(hi as u64));
        if lo == 0 { d } else { self.body.bin(Bin::Max, into, d, Src::Imm(lo as u64)) }
    }
    /// The same bits under another name. (The verifier allows none to or from `i1`.)
    pub(super) fn bitcast(&mut self, from: ElemType, to: ElemType, x: Src) -> Reg {
        let x = self.in_register(held(from), x);
        match (held(from).class(), held(to).class()) {
            (a, b) if a == b => self.wrapped(to, x),
            // 16 bits, held alone or in 32.
            (a, _) if a == Ty::B16.class() => {
                let wide = self.body.cvt(Ty::U32, Ty::U16, x);
                self.wrapped(to, wide)
            }
            _ => self.body.cvt(Ty::U16, Ty::U32, x),
        }
    }
}
