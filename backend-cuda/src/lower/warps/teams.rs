//! Who runs which op: all threads of the CTA, or, in the turns of a `map_reduce`, those of a warp. The merge is run by both:
//! by a warp on what its turns give, by all on what the warps have in the end. So there are layouts for either.

use super::super::panels::Uses;
use super::super::scope::WARP;
use crate::layout::{self, Layouts, RegLayout, Team};
use rustc_hash::FxHashSet;
use tilewright_core::ir::{Def, Module, Op, OpId, RegionId, ValueId, ops};

/// Layouts, and which tiles products alone read, for some threads.
pub(in crate::lower) struct Teams {
    pub(in crate::lower) layouts: Layouts,
    pub(in crate::lower) uses: Uses,
}

/// For all threads, and for those of a warp. `vector`: how many elements an access may take at once.
pub(in crate::lower) fn teams(m: &Module, threads: u32, vector: &dyn Fn(OpId) -> u32) -> (Teams, Teams) {
    let (mut by_all, mut by_warp) = (Vec::new(), Vec::new());
    walk(m, m.body, &mut |op| by_all.push(op));
    let mut ties_of_all = Vec::new();
    let mut of_warp = Team { threads: WARP, ops: Vec::new(), ties: Vec::new(), given: Vec::new() };
    let mut brought = FxHashSet::default();
    for op in &by_all {
        let Op::MapReduce(o) = &m.op(*op).op else { continue };
        let (results, args, turn) = (m.op(*op).results, &m.region(o.merge).args, &m.region(o.body).yields);
        let yields = &m.region(o.merge).yields;
        for (i, result) in results.iter().enumerate() {
            let (a, b) = (args[i], args[i + turn.len()]);
            ties_of_all.extend([(result, a), (a, b), (a, yields[i])]);
            of_warp.ties.extend([(turn[i], a), (a, b), (a, yields[i])]);
        }
        of_warp.ops.push(*op);
        for region in [o.body, o.merge] {
            m.walk(region, &mut |op| of_warp.ops.push(op));
        }
        m.walk(o.body, &mut |op| by_warp.push(op));
        brought.extend(from_outside(m, o));
    }
    // What comes from outside lies as the first product that reads it wants it.
    if !brought.is_empty() {
        let first = layout::infer(m, &of_warp, vector);
        of_warp.given = fragments(m, &of_warp.ops, &first, &brought);
    }
    let warp = layout::infer(m, &of_warp, vector);
    // And is loaded so, where nothing else uses it.
    let given = of_warp.given.iter().filter(|(v, _)| is_loaded_for(m, *v, &by_all));
    let given = given.map(|(v, layout)| (*v, layout.in_each_warp_of(threads))).collect();
    let of_all = Team { threads, ops: by_all, ties: ties_of_all, given };
    let all = layout::infer(m, &of_all, vector);
    let uses = Uses::of(m, &all, &of_all.ops, &by_warp);
    let all = Teams { layouts: all, uses };
    let uses = Uses::of(m, &warp, &of_warp.ops, &[]);
    (all, Teams { layouts: warp, uses })
}

/// What only warps make.
pub(in crate::lower) fn made_by_warps(m: &Module) -> Vec<ValueId> {
    let mut out = Vec::new();
    m.each_op(&mut |op| {
        if let Op::MapReduce(o) = &m.op(op).op {
            m.walk(o.body, &mut |op| out.extend(m.op(op).results.iter()));
        }
    });
    out
}
/// The ops that all threads run together, in the order of the text.
fn walk(m: &Module, region: RegionId, f: &mut dyn FnMut(OpId)) {
    for op in &m.region(region).ops {
        f(*op);
        match &m.op(*op).op {
            Op::MapReduce(o) => walk(m, o.merge, f),
            other => other.each_region(&mut |r| walk(m, r, f)),
        }
    }
}

/// Tiles that a `map_reduce` uses and does not make, each once.
pub(super) fn from_outside(m: &Module, o: &ops::MapReduce) -> Vec<ValueId> {
    let (mut ops, mut regions): (FxHashSet<OpId>, Vec<RegionId>) = (FxHashSet::default(), vec![o.body, o.merge]);
    for region in [o.body, o.merge] {
        m.walk(region, &mut |op| {
            ops.insert(op);
            m.op(op).op.each_region(&mut |r| regions.push(r));
        });
    }
    let mut out = Vec::new();
    let mut each = |v: ValueId| {
        let inside = match m.def(v) {
            Def::Const(_) | Def::Param(_) => true,
            Def::Result(op, _) => ops.contains(&op),
            Def::Arg(region, _) => regions.contains(&region),
        };
        if !inside && m.ty(v).is_tile() && !layout::is_anew(m, v) && !out.contains(&v) {
            out.push(v);
        }
    };
    for region in [o.body, o.merge] {
        m.walk(region, &mut |op| m.op(op).op.each_operand(&mut each));
    }
    regions.iter().for_each(|r| m.region(*r).yields.iter().for_each(|v| each(*v)));
    out
}

/// Layouts of operands, for values that products alone read.
fn fragments(m: &Module, ops: &[OpId], layouts: &Layouts, values: &FxHashSet<ValueId>) -> Vec<(ValueId, RegLayout)> {
    let mut out: Vec<(ValueId, RegLayout)> = Vec::new();
    let mut others: FxHashSet<ValueId> = FxHashSet::default();
    for op in ops {
        let data = m.op(*op);
        data.op.each_region(&mut |r| others.extend(&m.region(r).yields));
        let Op::Dot(o) = &data.op else {
            others.extend(data.op.operands());
            continue;
        };
        others.extend(o.c);
        let Some(product) = layouts.product(*op) else { continue };
        for (v, layout) in [o.a, o.b].into_iter().zip(product.fragments(m, o).into_iter().flatten()) {
            if values.contains(&v) && out.iter().all(|(known, _)| *known != v) {
                out.push((v, layout));
            }
        }
    }
    out.retain(|(v, _)| !others.contains(v));
    out
}

/// Whether a value is loaded, and used by none of these ops.
fn is_loaded_for(m: &Module, v: ValueId, ops: &[OpId]) -> bool {
    let Def::Result(load, _) = m.def(v) else { return false };
    let used = |op: &OpId| {
        let mut used = m.op(*op).op.operands().contains(&v);
        let mut yields = |r: RegionId| used |= m.region(r).yields.contains(&v);
        match &m.op(*op).op {
            Op::MapReduce(o) => yields(o.merge),
            other => other.each_region(&mut yields),
        }
        used
    };
    matches!(m.op(load).op, Op::Load(_)) && !m.region(m.body).yields.contains(&v) && !ops.iter().any(used)
}
