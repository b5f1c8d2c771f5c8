//! Division. Integers: what the instruction does by 0, and for MIN by -1, is not defined, so it never meets them.
//! Floats: correctly rounded (`docs/meaning.md`). `div.rn.f32` is ten instructions that end in a branch, so that the
//! quotients of a thread wait for each other; here all of them are computed at once, by the same steps, and one branch
//! redoes them where an operand is out of range. With `fast_math`: `div.full`.

use super::Lower;
use super::held::{bits, held};
use crate::ptx::{Bin, Cmp, Guard, Math, Op as PtxOp, Reg, Src, Tern, Ty, Un};
use tilewright_core::elem::{Class, ElemType, Kind};
use tilewright_core::ir::{Def, Op};

/// f32 numbers that the short division takes: no step of it overflows, underflows or loses bits of a rest.
const LEAST_A: f32 = f32::from_bits((127 - 100) << 23);
const MOST_A: f32 = f32::from_bits((127 + 62) << 23);
const LEAST_B: f32 = f32::from_bits((127 - 62) << 23);
const MOST_B: f32 = f32::from_bits((127 + 24) << 23);

/// The largest power of two that is above zero in integers of 32 bits, and is not taken for a negative one.
const MOST_BY: u64 = 1 << 30;

/// `lop3`: the second's bits under the mask, the first's elsewhere.
const PICK_BY_MASK: u8 = (0xF0 & !0xAA) | (0xCC & 0xAA);

fn imm(x: f32) -> Src {
    Src::Imm(u64::from(x.to_bits()))
}

impl Lower<'_> {
    /// The quotient or the rest of a scalar that is not below zero by a power of two: `ptxas` divides by a constant as by any
    /// number, which takes a hundred cycles.
    pub(super) fn by_power_of_two(&mut self, op: &Op, args: &[Src]) -> Option<Src> {
        let (a, is_rest) = match op {
            Op::Div(o) => (o.a, false),
            Op::Rem(o) => (o.a, true),
            _ => return None,
        };
        let [dividend, Src::Imm(by)] = *args else { return None };
        let (elem, fact) = (self.m.ty(a).elem(), self.prover.facts().get(self.m, a)?);
        if !elem.is(Class::Int) || elem.bytes() < 4 || fact.lo < 0 || !by.is_power_of_two() || by > MOST_BY {
            return None;
        }
        // In a cluster, this program's number is known to be below that of its PEs.
        let is_pe = matches!(self.m.def(a), Def::Result(op, _) if matches!(self.m.op(op).op, Op::PeId(_)));
        let below = self.cluster.is_some_and(|pes| is_pe && u64::from(pes) <= by);
        let ty = held(elem);
        Some(match (is_rest, below) {
            (true, true) => dividend,
            (false, true) => Src::Imm(0),
            (true, false) => self.body.bin(Bin::And, bits(ty), dividend, Src::Imm(by - 1)).into(),
            (false, false) => self.body.bin(Bin::Shr, ty, dividend, Src::Imm(u64::from(by.ilog2()))).into(),
        })
    }
    pub(super) fn quotient(&mut self, elem: ElemType, a: Src, b: Src) -> Reg {
        match elem {
            ElemType::F64 => self.body.bin(Bin::DivRn, Ty::F64, a, b),
            ElemType::F16 | ElemType::BF16 | ElemType::F32 => self.float_quotients(elem, &[a], &[b])[0],
            _ => self.int_quotient(elem, a, b),
        }
    }
    /// Truncates; by zero 0, MIN / -1 is MIN.
    fn int_quotient(&mut self, elem: ElemType, a: Src, b: Src) -> Reg {
        let ty = held(elem);
        if always_defined(elem, b) {
            return self.body.bin(Bin::Div, ty, a, b);
        }
        let Divisor { zero, minus_one, by } = self.divisor(elem, b);
        let quotient = self.body.bin(Bin::Div, ty, a, by);
        let quotient = match minus_one {
            Some(minus_one) => {
                let negated = self.body.bin(Bin::Sub, ty, Src::Imm(0), a);
                self.body.selp(bits(ty), negated, quotient, minus_one)
            }
            None => quotient,
        };
        let quotient = self.body.selp(bits(ty), Src::Imm(0), quotient, zero);
        self.wrapped(elem, quotient)
    }
    /// `a - (a / b) * b`: by zero 0, MIN % -1 is 0, which is what division by the 1 that stands for both leaves.
    pub(super) fn remainder(&mut self, elem: ElemType, a: Src, b: Src) -> Reg {
        let by = if always_defined(elem, b) { b } else { self.divisor(elem, b).by.into() };
        self.body.bin(Bin::Rem, held(elem), a, by)
    }
    fn divisor(&mut self, elem: ElemType, b: Src) -> Divisor {
        let ty = held(elem);
        let zero = self.body.setp(Cmp::Eq, ty, b, Src::Imm(0));
        let by = self.body.selp(bits(ty), Src::Imm(1), b, zero);
        if elem.kind() != Kind::Signed {
            return Divisor { zero, minus_one: None, by };
        }
        let minus_one = self.body.setp(Cmp::Eq, ty, b, Src::Imm(u64::MAX));
        let by = self.body.selp(bits(ty), Src::Imm(1), by, minus_one);
        Divisor { zero, minus_one: Some(minus_one), by }
    }

    /// Quotients of f16, bf16 or f32, place by place. f16 and bf16 are divided in f32 and so rounded twice, as if once: f32
    /// has more than twice their bits.
    pub(super) fn float_quotients(&mut self, elem: ElemType, a: &[Src], b: &[Src]) -> Vec<Reg> {
        if self.options.fast_math {
            let full = |cx: &mut Self, args: &[Src]| cx.body.bin(Bin::DivFull, Ty::F32, args[0], args[1]);
            return a.iter().zip(b).map(|(a, b)| self.through_f32(elem, &[*a, *b], full)).collect();
        }
        let a: Vec<Reg> = a.iter().map(|a| self.widen(elem, *a)).collect();
        // A tile divided by a scalar has one inverse.
        let same = b.iter().all(|other| *other == b[0]);
        let b: Vec<Reg> = b[..if same { 1 } else { b.len() }].iter().map(|b| self.widen(elem, *b)).collect();
        let inside = self.divides_shortly(&a, &b);
        let by: Vec<(Reg, Reg)> = b.iter().map(|b| self.inverse(*b)).collect();
        let by: Vec<(Reg, Reg)> = if same { vec![by[0]; a.len()] } else { by };
        let quotients: Vec<Reg> =
            a.iter().zip(&by).map(|(a, (minus_b, inverse))| self.short_quotient(*a, *minus_b, *inverse)).collect();
        let on = self.body.label();
        self.body.emit_if(Guard { pred: inside, negated: false }, PtxOp::Bra { to: on, uniform: false });
        for (i, (quotient, a)) in quotients.iter().zip(&a).enumerate() {
            let b = if same { b[0] } else { b[i] };
            let long = self.body.bin(Bin::DivRn, Ty::F32, *a, b);
            self.body.assign(Ty::B32, *quotient, long);
        }
        self.body.emit(PtxOp::Label(on));
        quotients.into_iter().map(|quotient| self.round_f32(elem, quotient)).collect()
    }
    /// `-b`, and its inverse after one step of Newton's.
    fn inverse(&mut self, b: Reg) -> (Reg, Reg) {
        let minus_b = self.body.un(Un::Neg, Ty::F32, b);
        let inverse = self.math(Math::RcpFtz, Ty::F32, b);
        let rest = self.body.tern(Tern::FmaRn, Ty::F32, minus_b, inverse, imm(1.0));
        (minus_b, self.body.tern(Tern::FmaRn, Ty::F32, inverse, rest, inverse))
    }
    /// A quotient off by a unit at most, whose rest is exact, corrected by it (Markstein).
    fn short_quotient(&mut self, a: Reg, minus_b: Reg, inverse: Reg) -> Reg {
        let near = self.body.bin(Bin::MulRn, Ty::F32, a, inverse);
        let rest = self.body.tern(Tern::FmaRn, Ty::F32, minus_b, near, a);
        let quotient = self.body.tern(Tern::FmaRn, Ty::F32, rest, inverse, near);
        // The correction of -0 is +0, and their sum too: the sign is that of the first quotient.
        let d = self.body.fresh(Ty::B32);
        let sign = Src::Imm(1 << 31);
        self.body.emit(PtxOp::Lop3 { d, a: quotient.into(), b: near.into(), c: sign, table: PICK_BY_MASK });
        d
    }
    /// Whether all are in range. A NaN may pass: its quotient is NaN.
    fn divides_shortly(&mut self, a: &[Reg], b: &[Reg]) -> Reg {
        let fold =
            |cx: &mut Self, op: Bin, ty: Ty, regs: Vec<Reg>| regs.into_iter().reduce(|x, y| cx.body.bin(op, ty, x, y));
        // Twice the bits, less 1: without the sign, and zeros, whose quotients are right, are above all else.
        let sizes = a.iter().map(|a| {
            let twice = self.body.bin(Bin::Add, Ty::U32, *a, *a);
            self.body.bin(Bin::Add, Ty::U32, twice, Src::Imm(u64::from(u32::MAX)))
        });
        let sizes: Vec<Reg> = sizes.collect();
        let abs =
            |cx: &mut Self, regs: &[Reg]| regs.iter().map(|x| cx.body.un(Un::Abs, Ty::F32, *x)).collect::<Vec<_>>();
        let (size_a, size_b) = (abs(self, a), abs(self, b));
        let checks = [
            (fold(self, Bin::Min, Ty::U32, sizes), Cmp::Ge, Ty::U32, Src::Imm(u64::from(2 * LEAST_A.to_bits() - 1))),
            (fold(self, Bin::Max, Ty::F32, size_a), Cmp::Le, Ty::F32, imm(MOST_A)),
            (fold(self, Bin::Min, Ty::F32, size_b.clone()), Cmp::Ge, Ty::F32, imm(LEAST_B)),
            (fold(self, Bin::Max, Ty::F32, size_b), Cmp::Le, Ty::F32, imm(MOST_B)),
        ];
        let holds = checks.into_iter().filter_map(|(x, cmp, ty, limit)| Some(self.body.setp(cmp, ty, x?, limit)));
        let holds: Vec<Reg> = holds.collect();
        let all = holds.into_iter().reduce(|p, q| self.body.bin(Bin::And, Ty::Pred, p, q));
        all.unwrap_or_else(|| self.constant(Ty::Pred, Src::Imm(1)))
    }
}

/// A divisor made harmless: what the instruction gives by 0, and for MIN by -1, is not defined.
struct Divisor {
    zero: Reg,
    /// Only of signed elements.
    minus_one: Option<Reg>,
    /// The divisor, with 1 in the place of 0 and -1.
    by: Reg,
}
/// A constant other than 0 and -1.
fn always_defined(elem: ElemType, by: Src) -> bool {
    match by {
        Src::Reg(_) => false,
        Src::Imm(n) => n != 0 && !(elem.kind() == Kind::Signed && n == u64::MAX),
    }
}
