//! fp8. Every value of both types is an f16, so codes are read as f16; they are made from f32. sm_80 has no instruction for
//! either, so there it is integer code.

use super::Lower;
use crate::ptx::{Bin, Cmp, Op as PtxOp, Reg, Round, Src, Ty};
use tilewright_core::elem::ElemType;

/// Where a format lies.
struct Format {
    mantissa: u32,
    bias: u32,
    /// The code of the largest number, without its sign.
    max: u32,
}
impl Format {
    const fn of(elem: ElemType) -> Format {
        match elem {
            ElemType::F8E4M3 => Format { mantissa: 3, bias: 7, max: 0x7E },
            _ => Format { mantissa: 2, bias: 15, max: 0x7B },
        }
    }
    /// Mantissa bits that an f32 has more.
    const fn shift(&self) -> u32 {
        23 - self.mantissa
    }
    /// An f32 keeps its exponent under another bias.
    const fn rebias(&self) -> u32 {
        (127 - self.bias) << self.mantissa
    }
    /// The bits of the largest number as f32.
    const fn largest(&self) -> u32 {
        (self.max + self.rebias()) << self.shift()
    }
    /// The bits of the smallest normal number as f32.
    const fn least_normal(&self) -> u32 {
        (128 - self.bias) << 23
    }
    /// The bits of the power of two whose last f32 place is the spacing of the subnormal numbers.
    const fn grid(&self) -> u32 {
        (128 - self.bias + self.shift()) << 23
    }
}
const NAN: u64 = 0x7F;

impl Lower<'_> {
    /// e5m2 is the upper half of an f16. e4m3 has the exponent's bias less 8, and a NaN where f16 has a number.
    pub(super) fn fp8_to_f16(&mut self, elem: ElemType, code: Reg) -> Reg {
        if elem == ElemType::F8E5M2 {
            let high = self.body.bin(Bin::Shl, Ty::B32, code, Src::Imm(8));
            return self.body.cvt(Ty::U16, Ty::U32, high);
        }
        if self.options.target.has_fp8() {
            let pair = self.body.cvt(Ty::U16, Ty::U32, code);
            let halves = self.body.fresh(Ty::F16x2);
            let (to, from) = (Ty::F16x2, Ty::E4m3x2);
            self.body.emit(PtxOp::Cvt { to, from, round: Some(Round::Rn), sat: false, d: halves, a: pair });
            let d = vec![self.body.fresh(Ty::F16), self.body.fresh(Ty::F16)];
            let low = d[0];
            self.body.emit(PtxOp::Unpack { ty: Ty::B32, d, a: halves });
            return low;
        }
        let sign = self.body.bin(Bin::And, Ty::B32, code, Src::Imm(0x80));
        let size = self.body.bin(Bin::And, Ty::B32, code, Src::Imm(0x7F));
        // `2 sign + size`, in the place of an f16's fields.
        let moved = self.body.bin(Bin::Add, Ty::U32, code, sign);
        let moved = self.body.bin(Bin::Shl, Ty::B32, moved, Src::Imm(7));
        let moved = self.body.cvt(Ty::U16, Ty::U32, moved);
        let scale = self.body.mov(Ty::B16, Src::Imm(0x5C00));
        let number = self.body.bin(Bin::MulRn, Ty::F16, moved, scale);
        let nan = self.body.setp(Cmp::Eq, Ty::U32, size, Src::Imm(NAN));
        self.body.selp(Ty::B16, Src::Imm(0x7FFF), number, nan)
    }
    /// Rounded to nearest even; what is beyond the largest number becomes that, NaN stays NaN.
    pub(super) fn f32_to_fp8(&mut self, elem: ElemType, x: Reg) -> Reg {
        if self.options.target.has_fp8() {
            let to = if elem == ElemType::F8E4M3 { Ty::E4m3x2 } else { Ty::E5m2x2 };
            let (hi, d) = (self.constant(Ty::F32, Src::Imm(0)), self.body.fresh(to));
            self.body.emit(PtxOp::CvtPack { to, d, hi, lo: x });
            return self.body.cvt(Ty::U32, Ty::U16, d);
        }
        let format = Format::of(elem);
        let imm = |n: u32| Src::Imm(u64::from(n));
        let size = self.body.bin(Bin::And, Ty::B32, x, imm(0x7FFF_FFFF));
        // Not beyond the largest: it has no rest to round, so rounding stays below. As integers floats keep their order.
        let kept = self.body.bin(Bin::Min, Ty::U32, size, imm(format.largest()));
        // Normal: half a place less one, plus the last bit that stays, carries where it should.
        let last = self.body.bin(Bin::Shr, Ty::U32, kept, imm(format.shift()));
        let last = self.body.bin(Bin::And, Ty::B32, last, imm(1));
        let up = self.body.bin(Bin::Add, Ty::U32, kept, last);
        let up = self.body.bin(Bin::Add, Ty::U32, up, imm((1 << (format.shift() - 1)) - 1));
        let normal = self.body.bin(Bin::Shr, Ty::U32, up, imm(format.shift()));
        let normal = self.body.bin(Bin::Sub, Ty::U32, normal, imm(format.rebias()));
        // Subnormal: the sum with a number whose last place is their spacing rounds to it.
        let sum = self.body.bin(Bin::AddRn, Ty::F32, kept, imm(format.grid()));
        let subnormal = self.body.bin(Bin::Sub, Ty::U32, sum, imm(format.grid()));
        let small = self.body.setp(Cmp::Lt, Ty::U32, kept, imm(format.least_normal()));
        let code = self.body.selp(Ty::B32, subnormal, normal, small);
        let sign = self.body.bin(Bin::Shr, Ty::U32, x, imm(24));
        let sign = self.body.bin(Bin::And, Ty::B32, sign, imm(0x80));
        let code = self.body.bin(Bin::Or, Ty::B32, code, sign);
        let nan = self.body.setp(Cmp::Gt, Ty::U32, size, imm(0x7F80_0000));
        self.body.selp(Ty::B32, Src::Imm(NAN), code, nan)
    }
}
