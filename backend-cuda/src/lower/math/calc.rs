//! Arithmetic in one float type, f32 or f64, as formulas want it: constants are numbers, every op rounds to nearest.

use crate::lower::Lower;
use crate::ptx::{Bin, Cmp, Op as PtxOp, Reg, Src, Tern, Ty, Un};
use tilewright_core::elem::ElemType;

/// A formula in progress.
pub(super) struct Calc<'c, 'm> {
    pub cx: &'c mut Lower<'m>,
    /// F32 or F64.
    pub ty: Ty,
    /// What the argument was before it was widened.
    pub from: ElemType,
}

/// An operand of a formula.
#[derive(Clone, Copy)]
pub(super) enum Term {
    Reg(Reg),
    Number(f64),
}
impl From<Reg> for Term {
    fn from(reg: Reg) -> Term {
        Term::Reg(reg)
    }
}
impl From<f64> for Term {
    fn from(x: f64) -> Term {
        Term::Number(x)
    }
}

impl Calc<'_, '_> {
    pub fn is_f64(&self) -> bool {
        self.ty == Ty::F64
    }
    /// The type of its bits as integers.
    pub fn bits(&self) -> Ty {
        if self.is_f64() { Ty::B64 } else { Ty::B32 }
    }
    pub fn sign_bit(&self) -> Src {
        Src::Imm(if self.is_f64() { 1 << 63 } else { 1 << 31 })
    }
    fn src(&self, term: impl Into<Term>) -> Src {
        match term.into() {
            Term::Reg(reg) => Src::Reg(reg),
            Term::Number(x) if self.is_f64() => Src::Imm(x.to_bits()),
            Term::Number(x) => Src::Imm(u64::from((x as f32).to_bits())),
        }
    }
    pub fn bin(&mut self, op: Bin, a: impl Into<Term>, b: impl Into<Term>) -> Reg {
        let (a, b) = (self.src(a), self.src(b));
        self.cx.body.bin(op, self.ty, a, b)
    }
    pub fn add(&mut self, a: impl Into<Term>, b: impl Into<Term>) -> Reg {
        self.bin(Bin::AddRn, a, b)
    }
    pub fn sub(&mut self, a: impl Into<Term>, b: impl Into<Term>) -> Reg {
        self.bin(Bin::SubRn, a, b)
    }
    pub fn mul(&mut self, a: impl Into<Term>, b: impl Into<Term>) -> Reg {
        self.bin(Bin::MulRn, a, b)
    }
    /// `a * b + c`
    pub fn fma(&mut self, a: impl Into<Term>, b: impl Into<Term>, c: impl Into<Term>) -> Reg {
        let (a, b, c) = (self.src(a), self.src(b), self.src(c));
        self.cx.body.tern(Tern::FmaRn, self.ty, a, b, c)
    }
    /// The polynomial with these coefficients, lowest first, by Horner's rule.
    pub fn poly(&mut self, x: Reg, coefficients: &[f64]) -> Reg {
        let (last, rest) = coefficients.split_last().unwrap_or((&0.0, &[]));
        let mut sum = Term::Number(*last);
        for c in rest.iter().rev() {
            sum = self.fma(x, sum, *c).into();
        }
        match sum {
            Term::Reg(reg) => reg,
            Term::Number(x) => self.add(x, 0.0),
        }
    }
    pub fn abs(&mut self, x: Reg) -> Reg {
        self.cx.body.un(Un::Abs, self.ty, x)
    }
    pub fn neg(&mut self, x: Reg) -> Reg {
        self.cx.body.un(Un::Neg, self.ty, x)
    }
    /// The size of one number (not negative) under the sign of another.
    pub fn with_sign_of(&mut self, size: Reg, of: Reg) -> Reg {
        let (ty, sign) = (self.bits(), self.sign_bit());
        let sign = self.cx.body.bin(Bin::And, ty, of, sign);
        self.cx.body.bin(Bin::Or, ty, size, sign)
    }
    pub fn holds(&mut self, cmp: Cmp, a: impl Into<Term>, b: impl Into<Term>) -> Reg {
        let (a, b) = (self.src(a), self.src(b));
        self.cx.body.setp(cmp, self.ty, a, b)
    }
    pub fn pick(&mut self, p: Reg, yes: impl Into<Term>, no: impl Into<Term>) -> Reg {
        let (ty, yes, no) = (self.bits(), self.src(yes), self.src(no));
        self.cx.body.selp(ty, yes, no, p)
    }
    /// `x`, or the limit where it is above; NaN stays.
    pub fn at_most(&mut self, x: Reg, limit: f64) -> Reg {
        let above = self.holds(Cmp::Gt, x, limit);
        self.pick(above, limit, x)
    }
    pub fn at_least(&mut self, x: Reg, limit: f64) -> Reg {
        let below = self.holds(Cmp::Lt, x, limit);
        self.pick(below, limit, x)
    }
    /// Adding this rounds to the nearest integer, which then lies in the low bits of the sum.
    pub fn magic(&self) -> f64 {
        1.5 * if self.is_f64() { (1u64 << 52) as f64 } else { (1u64 << 23) as f64 }
    }
    /// The low 32 bits of a number.
    pub fn low(&mut self, x: Reg) -> Reg {
        if self.is_f64() { self.halves(x).0 } else { x }
    }
    /// Low and high half of a 64-bit register.
    pub fn halves(&mut self, x: Reg) -> (Reg, Reg) {
        let (lo, hi) = (self.cx.body.fresh(Ty::B32), self.cx.body.fresh(Ty::B32));
        self.cx.body.emit(PtxOp::Unpack { ty: Ty::B64, d: vec![lo, hi], a: x });
        (lo, hi)
    }
    pub fn joined(&mut self, lo: Reg, hi: Reg) -> Reg {
        let d = self.cx.body.fresh(Ty::B64);
        self.cx.body.emit(PtxOp::Pack { ty: Ty::B64, d, parts: vec![lo, hi] });
        d
    }
    /// Integer arithmetic on 32-bit registers.
    pub fn int(&mut self, op: Bin, a: impl Into<Src>, b: u32) -> Reg {
        let ty = match op {
            Bin::Shl | Bin::And | Bin::Or | Bin::Xor => Ty::B32,
            _ => Ty::S32,
        };
        self.cx.body.bin(op, ty, a, Src::Imm(b as i32 as i64 as u64))
    }
    /// `2^n` for normal results, of an integer in a 32-bit register.
    pub fn power_of_two(&mut self, n: Reg) -> Reg {
        if !self.is_f64() {
            let biased = self.int(Bin::Add, n, 127);
            return self.int(Bin::Shl, biased, 23);
        }
        let biased = self.int(Bin::Add, n, 1023);
        let hi = self.int(Bin::Shl, biased, 20);
        let lo = self.cx.body.mov(Ty::B32, Src::Imm(0));
        self.joined(lo, hi)
    }
}
