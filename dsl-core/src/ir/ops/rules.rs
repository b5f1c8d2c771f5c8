//! Result types: one function a rule, named in the op table. Each checks its operands and says what comes out.

use super::field::*;
use crate::elem::{Class, ElemType};
use crate::ir::fault::Fault;
use crate::ir::module::{Module, RegionId, ValueId};
use crate::ir::ops::{Effect, Op};
use crate::ir::types::{Dims, Type, ViewType};

type Types = Result<Vec<Type>, Fault>;

fn class(m: &Module, operand: &'static str, v: &ValueId, want: Class) -> Result<Type, Fault> {
    let ty = m.ty(*v);
    if ty.is(want) { Ok(ty) } else { Err(Fault::Class { operand, found: ty, want }) }
}
fn scalar(m: &Module, operand: &'static str, v: &ValueId, want: ElemType, text: &'static str) -> Result<(), Fault> {
    let found = m.ty(*v);
    if found == Type::Scalar(want) { Ok(()) } else { Err(Fault::Operand { operand, found, want: text }) }
}
fn tile(m: &Module, operand: &'static str, v: &ValueId) -> Result<(ElemType, Dims), Fault> {
    match m.ty(*v) {
        Type::Tile(e, d) => Ok((e, d)),
        found => Err(Fault::Operand { operand, found, want: "a tile" }),
    }
}
fn matrix(m: &Module, operand: &'static str, v: &ValueId) -> Result<(ElemType, u32, u32), Fault> {
    let (e, d) = tile(m, operand, v)?;
    match d.as_slice() {
        [a, b] => Ok((e, *a, *b)),
        _ => Err(Fault::Operand { operand, found: m.ty(*v), want: "a tile of rank 2" }),
    }
}
fn view(m: &Module, v: &ValueId) -> Result<ViewType, Fault> {
    match m.ty(*v) {
        Type::View(view) => Ok(view),
        found => Err(Fault::Operand { operand: "view", found, want: "a view" }),
    }
}
fn value(m: &Module, operand: &'static str, v: &ValueId) -> Result<Type, Fault> {
    match m.ty(*v) {
        found @ Type::View(_) => Err(Fault::Operand { operand, found, want: "a scalar or a tile" }),
        ty => Ok(ty),
    }
}
fn result_tile(to: &ResultType) -> Result<(ElemType, Dims), Fault> {
    match to.0 {
        Type::Tile(e, d) => Ok((e, d)),
        found => Err(Fault::Operand { operand: "result", found, want: "a tile" }),
    }
}

pub fn alike(m: &Module, a: &ValueId, b: &ValueId, want: Class) -> Types {
    let ty = class(m, "a", a, want)?;
    if ty == m.ty(*b) { Ok(vec![ty]) } else { Err(Fault::Unlike { a: ty, b: m.ty(*b) }) }
}
pub fn alike3(m: &Module, a: &ValueId, b: &ValueId, c: &ValueId, want: Class) -> Types {
    alike(m, a, b, want)?;
    alike(m, a, c, want)
}
pub fn unary(m: &Module, x: &ValueId, want: Class) -> Types {
    Ok(vec![class(m, "x", x, want)?])
}
/// As `unary`; the language has the op as a function of its mnemonic.
pub fn function(m: &Module, x: &ValueId, want: Class) -> Types {
    unary(m, x, want)
}
pub fn compare(m: &Module, pred: &Pred, a: &ValueId, b: &ValueId) -> Types {
    let ordered = matches!(pred, Pred::Lt | Pred::Le | Pred::Gt | Pred::Ge);
    let ty = alike(m, a, b, if ordered { Class::Num } else { Class::Any })?[0];
    if matches!(ty.elem(), ElemType::F8E4M3 | ElemType::F8E5M2) {
        return Err(Fault::Class { operand: "a", found: ty, want: Class::Num });
    }
    Ok(vec![ty.with_elem(ElemType::I1)])
}
pub fn choose(m: &Module, mask: &ValueId, a: &ValueId, b: &ValueId) -> Types {
    let arm = alike(m, a, b, Class::Any)?[0];
    let mask = m.ty(*mask);
    if mask == arm.with_elem(ElemType::I1) { Ok(vec![arm]) } else { Err(Fault::Mask { mask, arm }) }
}

pub fn cast(m: &Module, x: &ValueId, to: &ResultType) -> Types {
    let from = value(m, "x", x)?;
    if from.dims() == to.0.dims() {
        Ok(vec![to.0])
    } else {
        Err(Fault::Convert { from, to: to.0, rule: "a cast keeps the shape" })
    }
}
pub fn bitcast(m: &Module, x: &ValueId, to: &ResultType) -> Types {
    let from = value(m, "x", x)?;
    if from.dims() != to.0.dims() || from.elem().bytes() != to.0.elem().bytes() {
        return Err(Fault::Convert { from, to: to.0, rule: "a bitcast keeps the shape and the element size" });
    }
    if (from.elem() == ElemType::I1) != (to.0.elem() == ElemType::I1) {
        return Err(Fault::Convert { from, to: to.0, rule: "an i1 has no bits of its own; use a cast" });
    }
    Ok(vec![to.0])
}

pub fn splat(m: &Module, x: &ValueId, to: &ResultType) -> Types {
    let (elem, _) = result_tile(to)?;
    match m.ty(*x) {
        Type::Scalar(e) if e == elem => Ok(vec![to.0]),
        found => Err(Fault::Operand { operand: "x", found, want: "a scalar of the result's element" }),
    }
}
pub fn broadcast(m: &Module, x: &ValueId, axis: &AxisNo, to: &ResultType) -> Types {
    let ((elem, dims), from) = (result_tile(to)?, value(m, "x", x)?);
    if dims.get(axis.0 as usize).is_none() {
        return Err(Fault::Axis { axis: axis.0, ty: to.0 });
    }
    if !from.is_tile() || dims.without(axis.0 as usize) != from.dims() || elem != from.elem() {
        return Err(Fault::Broadcast { from, axis: axis.0, to: to.0 });
    }
    Ok(vec![to.0])
}
pub fn iota(_: &Module, axis: &AxisNo, to: &ResultType) -> Types {
    let (elem, dims) = result_tile(to)?;
    if !elem.is(Class::Int) {
        return Err(Fault::Class { operand: "result", found: to.0, want: Class::Int });
    }
    dims.get(axis.0 as usize).ok_or(Fault::Axis { axis: axis.0, ty: to.0 })?;
    Ok(vec![to.0])
}
pub fn reshape(m: &Module, x: &ValueId, to: &ResultType) -> Types {
    let from = value(m, "x", x)?;
    tile(m, "x", x)?;
    let (elem, dims) = result_tile(to)?;
    if elem != from.elem() || dims.elems() != from.elems() {
        return Err(Fault::Reshape { from, to: to.0 });
    }
    Ok(vec![to.0])
}
pub fn trans(m: &Module, x: &ValueId) -> Types {
    let (elem, a, b) = matrix(m, "x", x)?;
    let dims = Dims::new(&[b as usize, a as usize]).ok_or(Fault::Operand {
        operand: "x",
        found: m.ty(*x),
        want: "a tile of rank 2",
    })?;
    Ok(vec![Type::Tile(elem, dims)])
}
pub fn rows(m: &Module, x: &ValueId, first: &At, to: &ResultType) -> Types {
    let (from, (elem, dims)) = (tile(m, "x", x)?, result_tile(to)?);
    let fault = Fault::Rows { from: m.ty(*x), first: first.0, to: to.0 };
    let (Some(have), Some(want)) = (from.1.get(0), dims.get(0)) else { return Err(fault) };
    let inside = first.0.checked_add(want).is_some_and(|end| end <= have);
    if elem == from.0 && from.1.with(0, want) == Some(dims) && inside { Ok(vec![to.0]) } else { Err(fault) }
}

fn along(m: &Module, x: &ValueId, axis: &AxisNo) -> Result<(ElemType, Dims, Dims), Fault> {
    let (elem, dims) = tile(m, "x", x)?;
    let rest = dims.without(axis.0 as usize).ok_or(Fault::Axis { axis: axis.0, ty: m.ty(*x) })?;
    Ok((elem, dims, rest))
}
/// A combine takes two scalars and yields one, with pure scalar ops in between.
fn combine(m: &Module, body: &RegionId, elem: ElemType) -> Result<(), Fault> {
    let one = Type::Scalar(elem);
    let region = m.region(*body);
    expect_types(m, "the combine's arguments", &[one, one], &region.args)?;
    expect_types(m, "the combine's result", &[one], &region.yields)?;
    for op in &region.ops {
        let data = m.op(*op);
        let scalars = data.results.iter().all(|v| m.ty(v).is_scalar());
        if data.op.effect() != Effect::Pure || !scalars {
            return Err(Fault::CombineOp { mnemonic: data.op.mnemonic() });
        }
    }
    Ok(())
}
pub fn reduce(m: &Module, x: &ValueId, axis: &AxisNo, want: Class) -> Types {
    let (elem, _, rest) = along(m, x, axis)?;
    class(m, "x", x, want)?;
    Ok(vec![Type::of(elem, rest)])
}
pub fn reduce_with(m: &Module, x: &ValueId, axis: &AxisNo, body: &RegionId) -> Types {
    let (elem, _, rest) = along(m, x, axis)?;
    combine(m, body, elem)?;
    Ok(vec![Type::of(elem, rest)])
}
pub fn scan(m: &Module, x: &ValueId, axis: &AxisNo, want: Class) -> Types {
    let (elem, dims, _) = along(m, x, axis)?;
    class(m, "x", x, want)?;
    Ok(vec![Type::Tile(elem, dims)])
}
pub fn scan_with(m: &Module, x: &ValueId, axis: &AxisNo, body: &RegionId) -> Types {
    let (elem, dims, _) = along(m, x, axis)?;
    combine(m, body, elem)?;
    Ok(vec![Type::Tile(elem, dims)])
}

pub fn dot(m: &Module, a: &ValueId, b: &ValueId, c: &Option<ValueId>, p: &Precision, to: &ResultType) -> Types {
    let ((ea, rows, inner), (eb, inner_b, cols)) = (matrix(m, "a", a)?, matrix(m, "b", b)?);
    if inner != inner_b {
        return Err(Fault::DotInner { a: m.ty(*a), b: m.ty(*b) });
    }
    let acc = to.0.elem();
    if ea != eb || !ea.dot_into().contains(&acc) {
        return Err(Fault::DotElem { a: ea, b: eb, acc });
    }
    if *p == Precision::Tf32 && ea != ElemType::F32 {
        return Err(Fault::Tf32 { found: ea });
    }
    let Some(want) = Dims::new(&[rows as usize, cols as usize]) else {
        return Err(Fault::Operand { operand: "result", found: to.0, want: "a smaller tile" });
    };
    for found in c.iter().map(|c| m.ty(*c)).chain([to.0]) {
        if found != Type::Tile(acc, want) {
            return Err(Fault::DotShape { want, found });
        }
    }
    Ok(vec![to.0])
}

/// The view of an access, after its indices, limits and hints are checked against a value of type `ty`.
fn access(m: &Module, at: &Access, ty: Type) -> Result<ViewType, Fault> {
    let view_ty = m.ty(at.view);
    let view = view(m, &at.view)?;
    if at.index.len() != view.rank as usize {
        return Err(Fault::IndexCount { given: at.index.len(), view: view_ty });
    }
    for i in at.index.iter().chain(at.limits.iter().map(|(_, n)| n)) {
        if !matches!(m.ty(*i), Type::Scalar(ElemType::I32 | ElemType::I64)) {
            return Err(Fault::Operand { operand: "index", found: m.ty(*i), want: "an i32 or i64 scalar" });
        }
    }
    let Some(dims) = ty.dims() else {
        return Err(Fault::Operand { operand: "value", found: ty, want: "a scalar or a tile" });
    };
    if dims.rank() > view.rank as usize {
        return Err(Fault::TileRank { tile: ty, view: view_ty });
    }
    if ty.elem() != view.elem {
        return Err(Fault::ViewElem { value: ty, view: view_ty });
    }
    for (axis, _) in &at.limits {
        dims.get(*axis as usize).ok_or(Fault::Axis { axis: *axis, ty })?;
    }
    if let Some(n) = at.vec
        && !(n.is_power_of_two() && n <= 16)
    {
        return Err(Fault::Number { what: "vec", found: u64::from(n), want: "1, 2, 4, 8 or 16" });
    }
    Ok(view)
}
pub fn load(m: &Module, at: &Access, fill: &Fill, to: &ResultType) -> Types {
    access(m, at, to.0)?;
    if let Some(fill) = fill.0
        && m.ty(fill) != Type::Scalar(to.0.elem())
    {
        return Err(Fault::Operand { operand: "fill", found: m.ty(fill), want: "a scalar of the view's element" });
    }
    Ok(vec![to.0])
}
pub fn store(m: &Module, _: &Bounds, at: &Access, value: &ValueId) -> Types {
    let view = access(m, at, m.ty(*value))?;
    if view.writable { Ok(vec![]) } else { Err(Fault::ReadOnly { view: m.ty(at.view) }) }
}
pub fn atomic(m: &Module, bounds: &Bounds, at: &Access, value: &ValueId) -> Types {
    class(m, "value", value, Class::Num)?;
    store(m, bounds, at, value)
}
pub fn len(m: &Module, v: &ValueId, axis: &AxisNo) -> Types {
    let view = view(m, v)?;
    if axis.0 < u32::from(view.rank) { Ok(vec![Type::I32]) } else { Err(Fault::Axis { axis: axis.0, ty: m.ty(*v) }) }
}
pub fn index(_: &Module) -> Types {
    Ok(vec![Type::I32])
}

fn port(p: &Port) -> Result<(), Fault> {
    match p {
        Port::Sip(Dir::North | Dir::South) => Err(Fault::SipPort { port: *p }),
        Port::Pe(_) | Port::Cube(_) | Port::Sip(_) | Port::Peer(_) => Ok(()),
    }
}
pub fn send(m: &Module, to: &Port, v: &ValueId) -> Types {
    port(to)?;
    value(m, "value", v)?;
    Ok(vec![])
}
pub fn recv(_: &Module, from: &Port, to: &ResultType) -> Types {
    port(from)?;
    match to.0 {
        found @ Type::View(_) => Err(Fault::Operand { operand: "result", found, want: "a scalar or a tile" }),
        ty => Ok(vec![ty]),
    }
}
pub fn none(_: &Module, _: &Scope) -> Types {
    Ok(vec![])
}
pub fn keep(m: &Module, x: &ValueId) -> Types {
    value(m, "x", x)?;
    Ok(vec![])
}
pub fn print(m: &Module, format: &Text, values: &[ValueId]) -> Types {
    let holes = format.0.matches("{}").count();
    if holes != values.len() {
        return Err(Fault::PrintCount { holes, values: values.len() });
    }
    values.iter().try_for_each(|v| value(m, "value", v).map(|_| ()))?;
    Ok(vec![])
}
pub fn assert(m: &Module, cond: &ValueId, _: &Text) -> Types {
    scalar(m, "cond", cond, ElemType::I1, "an i1 scalar")?;
    Ok(vec![])
}

fn types(m: &Module, values: &[ValueId]) -> Vec<Type> {
    values.iter().map(|v| m.ty(*v)).collect()
}
fn expect_types(m: &Module, what: &'static str, want: &[Type], found: &[ValueId]) -> Result<(), Fault> {
    let found = types(m, found);
    if found == want { Ok(()) } else { Err(Fault::Region { what, want: want.to_vec(), found }) }
}
fn no_views(m: &Module, what: &'static str, values: &[ValueId]) -> Result<(), Fault> {
    match values.iter().map(|v| m.ty(*v)).find(|t| matches!(t, Type::View(_))) {
        Some(found) => Err(Fault::Operand { operand: what, found, want: "a scalar or a tile" }),
        None => Ok(()),
    }
}
pub fn branch(m: &Module, cond: &ValueId, then: &RegionId, other: &RegionId) -> Types {
    scalar(m, "cond", cond, ElemType::I1, "an i1 scalar")?;
    let (then, other) = (m.region(*then), m.region(*other));
    expect_types(m, "an `if` arm's arguments", &[], &then.args)?;
    expect_types(m, "an `if` arm's arguments", &[], &other.args)?;
    no_views(m, "yield", &then.yields)?;
    let out = types(m, &then.yields);
    expect_types(m, "what the `else` arm yields", &out, &other.yields)?;
    Ok(out)
}
/// The type of the index that runs through a range.
fn index_of(m: &Module, range: &Range) -> Result<Type, Fault> {
    let index = m.ty(range.lo);
    if !(index.is_scalar() && index.is(Class::Int)) {
        return Err(Fault::Operand { operand: "lo", found: index, want: "an integer scalar" });
    }
    for end in [Some(range.hi), range.step].into_iter().flatten() {
        if m.ty(end) != index {
            return Err(Fault::Unlike { a: index, b: m.ty(end) });
        }
    }
    if range.stages == Some(0) {
        return Err(Fault::Number { what: "stages", found: 0, want: "at least 1" });
    }
    Ok(index)
}
pub fn counted(m: &Module, range: &Range, carry: &Carry, body: &RegionId) -> Types {
    let index = index_of(m, range)?;
    no_views(m, "carry", &carry.0)?;
    let (out, body) = (types(m, &carry.0), m.region(*body));
    let args: Vec<Type> = std::iter::once(index).chain(out.iter().copied()).collect();
    expect_types(m, "the loop body's arguments", &args, &body.args)?;
    expect_types(m, "what the loop body yields", &out, &body.yields)?;
    Ok(out)
}
pub fn repeat(m: &Module, carry: &Carry, cond: &RegionId, body: &RegionId) -> Types {
    no_views(m, "carry", &carry.0)?;
    let (out, cond, body) = (types(m, &carry.0), m.region(*cond), m.region(*body));
    expect_types(m, "the loop condition's arguments", &out, &cond.args)?;
    expect_types(m, "what the loop condition yields", &[Type::BOOL], &cond.yields)?;
    expect_types(m, "the loop body's arguments", &[], &body.args)?;
    expect_types(m, "what the loop body yields", &out, &body.yields)?;
    Ok(out)
}
pub fn map_reduce(m: &Module, range: &Range, body: &RegionId, merge: &RegionId) -> Types {
    let index = index_of(m, range)?;
    for (part, region) in [(Part::Body, *body), (Part::Merge, *merge)] {
        let mut refused = None;
        m.walk(region, &mut |op| refused = refused.or((!part.takes(&m.op(op).op)).then_some(op)));
        if let Some(op) = refused {
            let place = m.locs.get(m.op(op).loc).map(|loc| loc.place.to_string()).unwrap_or_default();
            return Err(Fault::MapReduceOp { mnemonic: m.op(op).op.mnemonic(), part: part.name(), place });
        }
    }
    let (body, merge) = (m.region(*body), m.region(*merge));
    expect_types(m, "the arguments of a map_reduce's body", &[index], &body.args)?;
    no_views(m, "yield", &body.yields)?;
    let out = types(m, &body.yields);
    if out.is_empty() {
        return Err(Fault::Number {
            what: "the number of values that a map_reduce's body yields",
            found: 0,
            want: "at least 1",
        });
    }
    let two = [out.as_slice(), out.as_slice()].concat();
    expect_types(m, "the arguments of a map_reduce's merge", &two, &merge.args)?;
    expect_types(m, "what a map_reduce's merge yields", &out, &merge.yields)?;
    Ok(out)
}
/// A region of a `map_reduce`: what a backend may run where and in which order it likes.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Body,
    Merge,
}
impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Body => "body",
            Part::Merge => "merge",
        }
    }
    /// No effects; and no `map_reduce`, which would have to share out what the outer one has shared out already.
    fn takes(self, op: &Op) -> bool {
        match op.effect() {
            Effect::Pure => true,
            Effect::Read => self == Part::Body,
            Effect::Control => !matches!(op, Op::MapReduce(_)),
            Effect::Write | Effect::Atomic | Effect::Queue | Effect::Sync | Effect::Observe => false,
        }
    }
}
pub fn composite(m: &Module, body: &RegionId) -> Types {
    let body = m.region(*body);
    expect_types(m, "a composite's arguments", &[], &body.args)?;
    no_views(m, "yield", &body.yields)?;
    let mut dots = 0;
    for op in &body.ops {
        let op = &m.op(*op).op;
        match op.effect() {
            Effect::Pure | Effect::Read => dots += usize::from(matches!(op, Op::Dot(_))),
            Effect::Write | Effect::Atomic | Effect::Queue | Effect::Sync | Effect::Observe | Effect::Control => {
                return Err(Fault::CompositeOp { mnemonic: op.mnemonic() });
            }
        }
    }
    if dots == 1 { Ok(types(m, &body.yields)) } else { Err(Fault::CompositeDots { found: dots }) }
}
