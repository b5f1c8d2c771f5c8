//! Products of small matrices, `mma`: which lane holds which element in which register (PTX ISA, `mma` fragments), and what
//! an element of the result is.
//!
//! f16, bf16, tf32: the products are exact; they are added to the accumulator in f64, in the order of k, and the sum is
//! rounded once, to nearest even. A GPU adds them in an order and with a width of its own that no document gives; what it
//! gives differs in the last bits (docs/decisions/0030). f64: a chain of fused products. Integers wrap.

use super::half::{bf16_value, f16_value, to_f16};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elem {
    F16,
    Bf16,
    /// An f32 whose low 13 bits do not count.
    Tf32,
    F32,
    F64,
    S8,
    U8,
    S32,
}
impl Elem {
    const fn bits(self) -> usize {
        match self {
            Elem::S8 | Elem::U8 => 8,
            Elem::F16 | Elem::Bf16 => 16,
            Elem::Tf32 | Elem::F32 | Elem::S32 => 32,
            Elem::F64 => 64,
        }
    }
    /// Elements of one register.
    const fn per_reg(self) -> usize {
        match self {
            Elem::F64 => 1,
            _ => 32 / self.bits(),
        }
    }
    fn of(self, register: u64, at: usize) -> u64 {
        match self.bits() {
            64 => register,
            bits => register >> (at * bits) & ((1 << bits) - 1),
        }
    }
    fn number(self, bits: u64) -> f64 {
        match self {
            Elem::F16 => f16_value(bits),
            Elem::Bf16 => bf16_value(bits),
            Elem::Tf32 => f32::from_bits(bits as u32 & !0x1FFF).into(),
            Elem::F32 => f32::from_bits(bits as u32).into(),
            Elem::F64 => f64::from_bits(bits),
            Elem::S8 => (bits as i8).into(),
            Elem::U8 => (bits as u8).into(),
            Elem::S32 => (bits as i32).into(),
        }
    }
}

/// An instruction of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: Elem,
    pub b: Elem,
    pub acc: Elem,
}

impl Product {
    /// `None`: there is no such instruction, or nobody needed it yet.
    pub(crate) fn of(shape: &str, acc: Elem, a: Elem, b: Elem) -> Option<Product> {
        let (m, n, k) = match shape {
            "m16n8k4" => (16, 8, 4),
            "m16n8k8" => (16, 8, 8),
            "m16n8k16" => (16, 8, 16),
            "m16n8k32" => (16, 8, 32),
            "m8n8k4" => (8, 8, 4),
            _ => return None,
        };
        let known = match (a, b, acc) {
            (Elem::F16, Elem::F16, Elem::F16 | Elem::F32) | (Elem::Bf16, Elem::Bf16, Elem::F32) => {
                matches!((m, k), (16, 8 | 16))
            }
            (Elem::Tf32, Elem::Tf32, Elem::F32) => matches!((m, k), (16, 4 | 8)),
            (Elem::S8 | Elem::U8, Elem::S8 | Elem::U8, Elem::S32) => matches!((m, k), (16, 16 | 32)),
            (Elem::F64, Elem::F64, Elem::F64) => matches!((m, k), (8, 4) | (16, 4 | 8 | 16)),
            _ => false,
        };
        known.then_some(Product { m, n, k, a, b, acc })
    }
    pub(crate) const fn regs_a(&self) -> usize {
        self.m * self.k / 32 / self.a.per_reg()
    }
    pub(crate) const fn regs_b(&self) -> usize {
        self.k * self.n / 32 / self.b.per_reg()
    }
    pub(crate) const fn regs_c(&self) -> usize {
        self.m * self.n / 32 / self.acc.per_reg()
    }

    /// Row and column of A, by lane, register and place in it. Registers go down the rows first, then along k.
    pub(crate) const fn place_a(&self, lane: usize, reg: usize, at: usize) -> (usize, usize) {
        let (per, halves) = (self.a.per_reg(), self.m / 8);
        (lane / 4 + 8 * (reg % halves), per * (lane % 4) + at + 4 * per * (reg / halves))
    }
    /// Row (along k) and column of B.
    pub(crate) const fn place_b(&self, lane: usize, reg: usize, at: usize) -> (usize, usize) {
        let per = self.b.per_reg();
        (per * (lane % 4) + at + 4 * per * reg, lane / 4)
    }
    /// Row and column of C and D: two columns side by side, then the rows eight below.
    pub(crate) const fn place_c(&self, lane: usize, reg: usize, at: usize) -> (usize, usize) {
        let i = reg * self.acc.per_reg() + at;
        (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2)
    }
    pub(crate) const fn per_reg(&self) -> [usize; 3] {
        [self.a.per_reg(), self.b.per_reg(), self.acc.per_reg()]
    }
    pub(crate) fn element(&self, which: usize, register: u64, at: usize) -> u64 {
        [self.a, self.b, self.acc][which].of(register, at)
    }
    /// What an element of a result is: of a row of A, a column of B, and the accumulator's element.
    pub(crate) fn sum(&self, pairs: impl Iterator<Item = (u64, u64)>, c: u64) -> u64 {
        if self.acc == Elem::S32 {
            let product = |(a, b)| (self.a.number(a) as i32).wrapping_mul(self.b.number(b) as i32);
            return (pairs.map(product).fold(c as i32, i32::wrapping_add) as u32).into();
        }
        let start = self.acc.number(c);
        let sum = match self.acc {
            Elem::F64 => pairs.fold(start, |sum, (a, b)| self.a.number(a).mul_add(self.b.number(b), sum)),
            _ => pairs.fold(start, |sum, (a, b)| sum + self.a.number(a) * self.b.number(b)),
        };
        match self.acc {
            Elem::F16 => to_f16(sum),
            Elem::F64 => <f64 as super::Value>::bits(sum),
            _ => <f32 as super::Value>::bits(sum as f32),
        }
    }
    /// An element at its place in a register.
    pub(crate) const fn placed(&self, bits: u64, at: usize) -> u64 {
        match self.acc.bits() {
            64 => bits,
            width => bits << (at * width),
        }
    }
}
