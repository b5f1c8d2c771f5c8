//! Values of pure ops, scalar or tile. `pure` is the interpreter's exhaustive match: a new op does not compile until it
//! has a meaning here.

use super::dot;
use super::elementwise::{self, Elementwise};
use super::machine::Machine;
use super::pe::{Halt, Pe, Value};
use super::record::RecordKind;
use super::reduce::{self, Fold};
use super::shape::{self, Around};
use crate::data::Data;
use crate::ir::ops::{AxisNo, family};
use crate::ir::{Dims, Literal, Op, OpId, RegionId, Type, ValueId};
use std::sync::Arc;

impl Pe {
    /// The only result of a pure op.
    pub(super) fn pure(&mut self, cx: &mut Machine<'_, '_>, id: OpId) -> Result<Value, Halt> {
        let m = cx.m;
        let op = &m.op(id).op;
        if let Some(f) = Elementwise::of(op) {
            return self.elementwise(cx, id, f);
        }
        let ty = m.op(id).results.get(0).map(|v| m.ty(v)).ok_or(Halt::Invalid)?;
        let dims = ty.dims().ok_or(Halt::Invalid)?;
        let data = match op {
            Op::Splat(o) => Some(Data::splat(self.literal(o.x)?, dims.elems() as usize)),
            Op::Broadcast(o) => shape::broadcast(self.tile(o.x)?, dims, o.axis.0),
            Op::Iota(o) => shape::iota(ty.elem(), dims, o.axis.0),
            Op::Reshape(o) => return self.tile(o.x).cloned().map(Value::Tile),
            Op::Trans(o) => match m.ty(o.x).dims().ok_or(Halt::Invalid)?.as_slice() {
                [rows, cols] => shape::trans(self.tile(o.x)?, *rows as usize, *cols as usize),
                _ => None,
            },
            Op::Rows(o) => shape::rows(self.tile(o.x)?, m.ty(o.x).dims().ok_or(Halt::Invalid)?, o.first.0, dims),
            Op::ReduceMax(o) => self.fold(cx, Fold::Max, o.x, o.axis)?,
            Op::ReduceMin(o) => self.fold(cx, Fold::Min, o.x, o.axis)?,
            Op::ReduceSum(o) => self.fold(cx, Fold::Sum, o.x, o.axis)?,
            Op::ReduceWith(o) => Some(self.combine(cx, o.x, o.axis, o.combine, Keep::Last)?),
            Op::ScanWith(o) => Some(self.combine(cx, o.x, o.axis, o.combine, Keep::All)?),
            Op::ScanSum(o) => reduce::scan_sum(self.tile(o.x)?, Around::axis(dims, o.axis.0).ok_or(Halt::Invalid)?),
            Op::Dot(o) => {
                let (a, b) = (self.tile(o.a)?, self.tile(o.b)?);
                let c = o.c.map(|c| self.tile(c)).transpose()?;
                let (Some([m, k]), Some([_, n])) = (lens2(cx, o.a), lens2(cx, o.b)) else { return Err(Halt::Invalid) };
                dot::dot(a, b, c.map(|c| &**c), o.precision, dot::Lens { m, k, n }, ty.elem())
            }
            Op::Len(o) => {
                let len = cx.view(self.view(o.view)?).and_then(|v| v.len(o.axis.0)).ok_or(Halt::Invalid)?;
                return index(len);
            }
            Op::PeId(_) => return index(self.id % cx.grid.pes),
            Op::CubeId(_) => return index(self.id / cx.grid.pes),
            Op::NumPes(_) => return index(cx.grid.pes),
            Op::NumCubes(_) => return index(cx.grid.num_cubes().unwrap_or(0)),
            Op::ProgramId(_) => return index(self.id),
            Op::NumPrograms(_) => return index(cx.grid.num_programs().unwrap_or(0)),
            // `Elementwise` named these.
            family::arithmetic!() | family::bits!() | family::math!() => None,
            family::choice!() | family::conversion!() => None,
            // Not pure: `pe` runs these.
            Op::Load(_) | Op::Store(_) | Op::AtomicAdd(_) | Op::AtomicMax(_) => None,
            Op::Send(_) | Op::Recv(_) | Op::Barrier(_) | Op::Keep(_) | Op::Print(_) | Op::Assert(_) => None,
            Op::If(_) | Op::For(_) | Op::While(_) | Op::MapReduce(_) | Op::Composite(_) => None,
        };
        let data = data.ok_or(Halt::Invalid)?;
        // A vector's reduction is a scalar.
        Ok(if ty.is_tile() { Value::Tile(Arc::new(data)) } else { Value::Scalar(data.get(0)) })
    }

    fn elementwise(&mut self, cx: &mut Machine<'_, '_>, id: OpId, f: Elementwise) -> Result<Value, Halt> {
        let m = cx.m;
        let ty = m.op(id).results.get(0).map(|v| m.ty(v)).ok_or(Halt::Invalid)?;
        let (mut operands, mut n) = ([ValueId(0); 3], 0);
        m.op(id).op.each_operand(&mut |v| {
            if let Some(slot) = operands.get_mut(n) {
                (*slot, n) = (v, n + 1);
            }
        });
        match ty {
            Type::Scalar(to) => {
                let mut values = [Literal::zero(to); 3];
                for (value, v) in values.iter_mut().zip(&operands[..n]) {
                    *value = self.literal(*v)?;
                }
                let value = elementwise::scalar(f, &values[..n], to).ok_or(Halt::Invalid)?;
                if f.divides(to) && values[1].bits == 0 {
                    cx.records.add(RecordKind::DivisionByZero, id, self.id, 1, Vec::new());
                }
                Ok(Value::Scalar(value))
            }
            Type::Tile(to, dims) => {
                let tiles: Vec<&Data> =
                    operands[..n].iter().map(|v| self.tile(*v).map(|d| &**d)).collect::<Result<_, _>>()?;
                let value = elementwise::tile(f, &tiles, to).ok_or(Halt::Invalid)?;
                if f.divides(to)
                    && let Some((first, count)) = tiles.get(1).and_then(|b| elementwise::zeros(b))
                {
                    let at = shape::coordinate(dims, first);
                    cx.records.add(RecordKind::DivisionByZero, id, self.id, count, at);
                }
                Ok(Value::Tile(Arc::new(value)))
            }
            Type::View(_) => Err(Halt::Invalid),
        }
    }

    fn fold(&self, cx: &Machine<'_, '_>, f: Fold, x: ValueId, axis: AxisNo) -> Result<Option<Data>, Halt> {
        let shape = cx.m.ty(x).dims().and_then(|d| Around::axis(d, axis.0)).ok_or(Halt::Invalid)?;
        Ok(reduce::reduce(f, self.tile(x)?, shape))
    }
    /// Combines the elements along an axis from the first on; keeps the last value or all of them.
    fn combine(
        &mut self,
        cx: &mut Machine<'_, '_>,
        x: ValueId,
        axis: AxisNo,
        body: RegionId,
        keep: Keep,
    ) -> Result<Data, Halt> {
        let dims: Dims = cx.m.ty(x).dims().ok_or(Halt::Invalid)?;
        let Around { outer, n, inner } = Around::axis(dims, axis.0).ok_or(Halt::Invalid)?;
        let x = self.tile(x)?.clone();
        let places = match keep {
            Keep::Last => outer * inner,
            Keep::All => outer * n * inner,
        };
        let mut out = Data::zeros(x.elem(), places);
        for (o, j) in (0..outer).flat_map(|o| (0..inner).map(move |j| (o, j))) {
            let at = |i: usize| (o * n + i) * inner + j;
            let mut sum = x.get(at(0));
            for i in 0..n {
                if i > 0 {
                    sum = self.call(cx, body, sum, x.get(at(i)))?;
                }
                match keep {
                    Keep::Last => out.set(o * inner + j, sum),
                    Keep::All => out.set(at(i), sum),
                }
            }
        }
        Ok(out)
    }
    /// A combine's result for two scalars. Combines nest no deeper than regions do.
    fn call(&mut self, cx: &mut Machine<'_, '_>, body: RegionId, a: Literal, b: Literal) -> Result<Literal, Halt> {
        let region = cx.m.region(body);
        let [to_a, to_b] = region.args[..] else { return Err(Halt::Invalid) };
        self.set(to_a, Value::Scalar(a));
        self.set(to_b, Value::Scalar(b));
        for &op in &region.ops {
            cx.steps += 1;
            let value = self.pure(cx, op)?;
            let to = cx.m.op(op).results.get(0).ok_or(Halt::Invalid)?;
            self.set(to, value);
        }
        self.literal(*region.yields.first().ok_or(Halt::Invalid)?)
    }
}

/// Which values of a combine become the result.
#[derive(Clone, Copy)]
enum Keep {
    Last,
    All,
}

fn index(v: usize) -> Result<Value, Halt> {
    i32::try_from(v).map(|v| Value::Scalar(v.into())).map_err(|_| Halt::Invalid)
}
fn lens2(cx: &Machine<'_, '_>, v: ValueId) -> Option<[usize; 2]> {
    match cx.m.ty(v).dims()?.as_slice() {
        [a, b] => Some([*a as usize, *b as usize]),
        _ => None,
    }
}
