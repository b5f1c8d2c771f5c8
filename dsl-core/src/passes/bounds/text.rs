//! The condition of a check, for people: indices as expressions over what the launch knows.

use super::prover::Open;
use crate::elem::Class;
use crate::ir::ops::{self, Access};
use crate::ir::text::value_names;
use crate::ir::{Def, Dims, Literal, Module, Op, Type, ValueId};

/// How deep an expression is written out; below, the name of the value stands.
const DEPTH: usize = 4;

pub(super) struct Conditions<'m> {
    m: &'m Module,
    names: Vec<String>,
}

impl<'m> Conditions<'m> {
    pub(super) fn new(m: &'m Module) -> Conditions<'m> {
        Conditions { m, names: value_names(m) }
    }
    /// What is not shown along these axes of the view for an access of this type.
    pub(super) fn of(&self, at: &Access, ty: Type, open: &[Open]) -> String {
        let dims = ty.dims().unwrap_or(Dims::SCALAR);
        let axes = open.iter().filter_map(|open| Some(self.axis(at, dims, *open, *at.index.get(open.axis)?)));
        axes.collect::<Vec<_>>().join(", ")
    }
    fn axis(&self, at: &Access, dims: Dims, open: Open, index: ValueId) -> String {
        let axis = open.axis;
        let of_tile = (axis + dims.rank()).checked_sub(at.index.len());
        let len = of_tile.and_then(|a| dims.get(a)).unwrap_or(1);
        let limit = at.limits.iter().find(|(a, _)| of_tile == Some(*a as usize));
        let (view, start) = (self.name(at.view), self.m.literal(index).and_then(Literal::as_int));
        match (start, limit) {
            (Some(start), None) if start >= 0 => format!("{} <= len({view}, {axis})", start + i128::from(len)),
            (_, limit) => {
                let index = self.expr(index, DEPTH);
                let extent = match limit {
                    Some((_, n)) => format!("min({len}, {})", self.expr(*n, DEPTH)),
                    None => len.to_string(),
                };
                let below = format!("0 <= {index}");
                let past = match extent.as_str() {
                    "1" => format!("{index} < len({view}, {axis})"),
                    _ => format!("{index} + {extent} <= len({view}, {axis})"),
                };
                match open {
                    Open { below: true, past: false, .. } => below,
                    Open { below: false, past: true, .. } => past,
                    Open { .. } => format!("{below}, {past}"),
                }
            }
        }
    }
    fn name(&self, v: ValueId) -> String {
        self.names.get(v.index()).cloned().unwrap_or_default()
    }
    fn expr(&self, v: ValueId, depth: usize) -> String {
        let Def::Result(op, _) = self.m.def(v) else { return self.name(v) };
        let infix = |a: ValueId, sign: &str, b: ValueId| {
            let part = |v: ValueId| {
                let text = self.expr(v, depth - 1);
                if text.contains(" + ")
                    || text.contains(" - ")
                    || sign != "+" && text.contains(' ') && !text.starts_with("len(")
                {
                    format!("({text})")
                } else {
                    text
                }
            };
            format!("{} {sign} {}", part(a), part(b))
        };
        match &self.m.op(op).op {
            _ if depth == 0 => self.name(v),
            Op::Add(ops::Add { a, b }) => infix(*a, "+", *b),
            Op::Sub(ops::Sub { a, b }) => infix(*a, "-", *b),
            Op::Mul(ops::Mul { a, b }) => infix(*a, "*", *b),
            Op::Div(ops::Div { a, b }) => infix(*a, "/", *b),
            Op::Rem(ops::Rem { a, b }) => infix(*a, "%", *b),
            Op::Cast(o) if self.m.ty(o.x).is(Class::Int) => self.expr(o.x, depth - 1),
            Op::Len(o) => format!("len({}, {})", self.name(o.view), o.axis.0),
            Op::PeId(_) | Op::CubeId(_) | Op::NumPes(_) | Op::NumCubes(_) | Op::ProgramId(_) | Op::NumPrograms(_) => {
                self.m.op(op).op.mnemonic().to_string()
            }
            _ => self.name(v),
        }
    }
}
