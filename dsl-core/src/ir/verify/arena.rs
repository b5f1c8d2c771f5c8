//! The arenas hold together: the checks that all others, and every walk over a module, rely on. Indexes nothing before
//! its id is checked, and recurses nowhere.

use super::errors::{Broken, malformed};
use super::module_wide;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::literal::Literal;
use crate::ir::module::{Def, Module, OpId, RegionId, ValueId};
use crate::ir::types::{MAX_NESTING, MAX_OPS, Type};

/// Checks one group of rules after the other and stops behind the first that finds something.
pub(super) fn check(m: &Module) -> Result<(), Diagnostics> {
    for rules in [size, values, ids, back_references, places, reach] {
        let mut found = Diagnostics::default();
        rules(m, &mut found);
        found.finish()?;
    }
    Ok(())
}

/// An error at an op whose text cannot be printed, because the arenas are not sound.
fn at(m: &Module, op: OpId, broken: &Broken) -> Diagnostic {
    let d = Diagnostic::new(broken.code(), broken.to_string()).next(broken.next());
    match m.ops.get(op.index()) {
        Some(data) => d.at(m, data.loc, "").note(format!("op {} is `{}`", op.0, data.op.mnemonic())),
        None => d.note(format!("in kernel `{}`", m.name)),
    }
}

fn op_ids(m: &Module) -> impl Iterator<Item = OpId> + use<> {
    (0..m.ops.len() as u32).map(OpId)
}

fn size(m: &Module, found: &mut Diagnostics) {
    if m.ops.len() > MAX_OPS {
        found.push(module_wide(m, &Broken::TooManyOps { found: m.ops.len() }));
    }
}

fn values(m: &Module, found: &mut Diagnostics) {
    for (v, value) in m.values.iter().enumerate() {
        if let Some(why) = malformed(value.ty) {
            let broken = Broken::Malformed { value: v as u32, why };
            found.push(match value.def {
                Def::Result(op, _) => at(m, op, &broken),
                Def::Param(_) | Def::Const(_) | Def::Arg(..) => module_wide(m, &broken),
            });
        }
        if let Def::Const(lit) = value.def
            && (value.ty != Type::Scalar(lit.elem) || !lit.is_canonical())
        {
            // The type may be malformed too, so it is told only where it can be printed.
            let ty = if malformed(value.ty).is_none() { value.ty } else { Type::Scalar(lit.elem) };
            found.push(module_wide(m, &Broken::Constant { elem: lit.elem, ty }));
        }
    }
}

fn ids(m: &Module, found: &mut Diagnostics) {
    let (values, ops, regions) = (m.values.len(), m.ops.len(), m.regions.len());
    let value =
        |holder, v: ValueId| (v.index() >= values).then_some(Broken::Dangling { holder, id: v.0, count: values });
    let region =
        |holder, r: RegionId| (r.index() >= regions).then_some(Broken::Dangling { holder, id: r.0, count: regions });
    for op in op_ids(m) {
        let data = &m.ops[op.index()];
        let mut broken = Vec::new();
        data.op.each_operand(&mut |v| broken.extend(value("an operand", v)));
        data.op.each_region(&mut |r| broken.extend(region("a region of an op", r)));
        let results = data.results;
        if results.first.0.checked_add(results.count).is_none_or(|end| end as usize > values) {
            broken.push(Broken::Dangling { holder: "a result", id: results.first.0, count: values });
        }
        broken.iter().for_each(|b| found.push(at(m, op, b)));
    }
    let mut broken: Vec<Broken> = m.params.iter().filter_map(|p| value("a parameter", *p)).collect();
    broken.extend(region("the kernel's body", m.body));
    for r in &m.regions {
        broken.extend(r.args.iter().filter_map(|v| value("an argument of a region", *v)));
        broken.extend(r.yields.iter().filter_map(|v| value("a yielded value", *v)));
        let dangling = r.ops.iter().filter(|op| op.index() >= ops);
        broken.extend(dangling.map(|op| Broken::Dangling { holder: "an op of a region", id: op.0, count: ops }));
    }
    for v in &m.values {
        broken.extend(match v.def {
            Def::Result(op, _) if op.index() >= ops => {
                Some(Broken::Dangling { holder: "the op of a result", id: op.0, count: ops })
            }
            Def::Arg(r, _) => region("the region of an argument", r),
            Def::Result(..) | Def::Param(_) | Def::Const(_) => None,
        });
    }
    broken.iter().for_each(|b| found.push(module_wide(m, b)));
}

/// Every value is where its definition says, and every holder's values say so.
fn back_references(m: &Module, found: &mut Diagnostics) {
    let mut wrong =
        |value: ValueId, holder| found.push(module_wide(m, &Broken::BackReference { value: value.0, holder }));
    for (i, p) in m.params.iter().enumerate() {
        // Parameters are the first values.
        if m.def(*p) != Def::Param(i as u32) || p.index() != i {
            wrong(*p, "the parameter list");
        }
    }
    for op in op_ids(m) {
        for (i, v) in m.op(op).results.iter().enumerate() {
            if m.def(v) != Def::Result(op, i as u32) {
                wrong(v, "the op of a result");
            }
        }
    }
    for (r, region) in m.regions.iter().enumerate() {
        for (i, v) in region.args.iter().enumerate() {
            if m.def(*v) != Def::Arg(RegionId(r as u32), i as u32) {
                wrong(*v, "the region of an argument");
            }
        }
    }
    for v in (0..m.values.len() as u32).map(ValueId) {
        let (held, holder) = match m.def(v) {
            Def::Param(i) => (m.params.get(i as usize) == Some(&v), "the parameter list"),
            Def::Result(op, i) => (m.op(op).results.get(i as usize) == Some(v), "the op of a result"),
            Def::Arg(r, i) => (m.region(r).args.get(i as usize) == Some(&v), "the region of an argument"),
            Def::Const(_) => (true, "a constant"),
        };
        if !held {
            wrong(v, holder);
        }
    }
}

fn places(m: &Module, found: &mut Diagnostics) {
    let (mut of_op, mut of_region) = (vec![0u32; m.ops.len()], vec![0u32; m.regions.len()]);
    m.regions.iter().flat_map(|r| &r.ops).for_each(|op| of_op[op.index()] += 1);
    m.ops.iter().for_each(|data| data.op.each_region(&mut |r| of_region[r.index()] += 1));
    // The body belongs to the kernel.
    of_region[m.body.index()] += 1;
    for (op, places) in of_op.iter().enumerate().filter(|(_, n)| **n != 1) {
        found.push(at(m, OpId(op as u32), &Broken::OpPlaces { found: *places }));
    }
    for (region, owners) in of_region.iter().enumerate().filter(|(_, n)| **n != 1) {
        found.push(module_wide(m, &Broken::RegionOwners { region: region as u32, found: *owners }));
    }
}

/// With one place for each op and one owner for each region, what the body does not reach is a cycle.
fn reach(m: &Module, found: &mut Diagnostics) {
    let (mut ops, mut regions) = (0, 0);
    let mut open = vec![(m.body, 1)];
    while let Some((region, depth)) = open.pop() {
        regions += 1;
        for &op in &m.region(region).ops {
            ops += 1;
            let mut inner = Vec::new();
            m.op(op).op.each_region(&mut |r| inner.push((r, depth + 1)));
            if depth == MAX_NESTING && !inner.is_empty() {
                found.push(at(m, op, &Broken::TooDeep));
            }
            open.append(&mut inner);
        }
    }
    for (what, count) in [("ops", m.ops.len() - ops), ("regions", m.regions.len() - regions)] {
        if count > 0 {
            found.push(module_wide(m, &Broken::Unreachable { what, count }));
        }
    }
}

impl Literal {
    /// Whether the bits are those `Literal::from` makes: integers extended, nothing above a float's own bits.
    fn is_canonical(self) -> bool {
        match self.as_int() {
            Some(v) => Literal::int(self.elem, v) == Some(self),
            None if self.as_bool().is_some() => self.bits <= 1,
            None => self.elem.bits() == 64 || self.bits >> self.elem.bits() == 0,
        }
    }
}
