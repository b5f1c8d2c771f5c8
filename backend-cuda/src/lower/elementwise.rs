//! Ops whose result at a place depends on the operands at that place alone: one rule a family, applied to every register
//! of the result's layout, or once to scalars.

use super::errors::Fault;
use super::math::Function;
use super::{Done, Lower};
use crate::ptx::{Bin, Reg, Round, Src};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::{Op, OpId};

impl Lower<'_> {
    pub(super) fn elementwise(&mut self, id: OpId) -> Done {
        let m = self.m;
        let data = m.op(id);
        let (operands, result) = (data.op.operands(), data.results.first);
        // What is computed is decided by the operands: a comparison of floats gives truth values.
        let elem = operands.last().map_or(m.ty(result).elem(), |v| m.ty(*v).elem());
        if m.ty(result).is_scalar() {
            let args = operands.iter().map(|v| self.scalar(*v)).collect::<Result<Vec<_>, _>>()?;
            if let Some(shifted) = self.by_power_of_two(&data.op, &args) {
                self.set_scalar(id, shifted);
                return Ok(());
            }
            self.divisors(id, &args[args.len() - 1..], None)?;
            let reg = self.at_a_place(&data.op, elem, m.ty(result).elem(), &args)?;
            self.set_scalar(id, reg);
            return Ok(());
        }
        let layout = self.layout(result)?;
        let tiles = operands.iter().map(|v| self.tile(*v, &layout)).collect::<Result<Vec<_>, _>>()?;
        if let Some(by) = tiles.last() {
            let by: Vec<Src> = by.iter().map(|reg| (*reg).into()).collect();
            self.divisors(id, &by, Some(&layout))?;
        }
        if let (Op::Div(_), ElemType::F16 | ElemType::BF16 | ElemType::F32, [a, b]) = (&data.op, elem, tiles.as_slice())
        {
            let [a, b] = [a, b].map(|tile| tile.iter().map(|reg| (*reg).into()).collect::<Vec<Src>>());
            let regs = self.float_quotients(elem, &a, &b);
            self.set_tile(id, regs);
            return Ok(());
        }
        if let (Some(power), [x]) = (self.weights.form(m, id), tiles.as_slice()) {
            let regs = x.iter().map(|x| self.function(power, elem, (*x).into())).collect();
            self.set_tile(id, regs);
            return Ok(());
        }
        let mut regs = Vec::with_capacity(layout.regs());
        for reg in 0..layout.regs() {
            let args: Vec<Src> = tiles.iter().map(|tile| tile[reg].into()).collect();
            regs.push(self.at_a_place(&data.op, elem, m.ty(result).elem(), &args)?);
        }
        self.set_tile(id, regs);
        if matches!(data.op, Op::Cast(_)) { self.pack_for_product(id) } else { Ok(()) }
    }

    /// One element of the result. `elem`: of the operands; `to`: of the result.
    pub(super) fn at_a_place(&mut self, op: &Op, elem: ElemType, to: ElemType, args: &[Src]) -> Result<Reg, Fault> {
        Ok(match (op, args) {
            (Op::Add(_) | Op::Sub(_) | Op::Mul(_), [a, b]) => return self.sum_or_product(op, elem, *a, *b),
            (Op::Div(_), [a, b]) => self.quotient(elem, *a, *b),
            (Op::Rem(_), [a, b]) => self.remainder(elem, *a, *b),
            (Op::MulHi(_), [a, b]) => self.mul_hi(elem, *a, *b),
            (Op::Fma(_), [a, b, c]) => self.fused(elem, *a, *b, *c),
            (Op::Maximum(_), [a, b]) => self.extremum(Bin::Max, elem, *a, *b),
            (Op::Minimum(_), [a, b]) => self.extremum(Bin::Min, elem, *a, *b),
            (Op::MaxNan(_), [a, b]) => self.extremum_nan(Bin::Max, elem, *a, *b),
            (Op::MinNan(_), [a, b]) => self.extremum_nan(Bin::Min, elem, *a, *b),
            (Op::Neg(_), [x]) => self.negated(elem, *x),
            (Op::Abs(_), [x]) => self.absolute(elem, *x),
            (Op::And(_), [a, b]) => self.bitwise(Bin::And, elem, *a, *b),
            (Op::Or(_), [a, b]) => self.bitwise(Bin::Or, elem, *a, *b),
            (Op::Xor(_), [a, b]) => self.bitwise(Bin::Xor, elem, *a, *b),
            (Op::Not(_), [x]) => self.not(elem, *x),
            (Op::Shl(_), [a, n]) => self.shift(Bin::Shl, elem, *a, *n),
            (Op::Shr(_), [a, n]) => self.shift(Bin::Shr, elem, *a, *n),
            (Op::Cmp(o), [a, b]) => self.compare(o.pred, elem, *a, *b),
            (Op::Select(_), [mask, a, b]) => self.select(elem, *mask, *a, *b),
            (Op::Cast(_), [x]) => self.cast(elem, to, *x),
            (Op::Bitcast(_), [x]) => self.bitcast(elem, to, *x),
            (Op::Floor(_), [x]) => self.integral(Round::Rmi, elem, *x),
            (Op::Trunc(_), [x]) => self.integral(Round::Rzi, elem, *x),
            (Op::RoundEven(_), [x]) => self.integral(Round::Rni, elem, *x),
            (Op::Sqrt(_), [x]) => self.sqrt(elem, *x),
            (Op::Rsqrt(_), [x]) => self.rsqrt(elem, *x),
            (Op::Exp(_), [x]) => self.function(Function::Exp, elem, *x),
            (Op::Exp2(_), [x]) => self.function(Function::Exp2, elem, *x),
            (Op::Log(_), [x]) => self.function(Function::Log, elem, *x),
            (Op::Log2(_), [x]) => self.function(Function::Log2, elem, *x),
            (Op::Tanh(_), [x]) => self.function(Function::Tanh, elem, *x),
            (Op::Erf(_), [x]) => self.function(Function::Erf, elem, *x),
            (Op::Sin(_), [x]) => self.function(Function::Sin, elem, *x),
            (Op::Cos(_), [x]) => self.function(Function::Cos, elem, *x),
            (other, _) => return Err(Fault::NotLowered { mnemonic: other.mnemonic() }),
        })
    }
}
