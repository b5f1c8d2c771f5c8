//! What is known of a module before it runs: after which op a tile is dead, which scalars a timing run cannot compute by
//! itself, and which views' atomics show their order.

use crate::elem::Class;
use crate::ir::effects::param;
use crate::ir::ops::Field;
use crate::ir::{Def, Effect, Module, Op, OpId, RegionId, Type, ValueId, ops};

#[derive(Debug)]
pub(super) struct Plan {
    /// By op: the tiles that no op after it uses.
    pub dies: Vec<Vec<ValueId>>,
    pub sources: ControlSources,
    /// By parameter: whether the order of atomics shows in what its view holds after them.
    pub ordered: Vec<bool>,
}

impl Plan {
    pub(super) fn of(m: &Module) -> Plan {
        let parents = Parents::of(m);
        Plan { dies: last_uses(m, &parents), sources: ControlSources::of(m), ordered: ordered(m) }
    }
}

/// Rounding makes float sums depend on their order, and a sum and a maximum do not commute.
fn ordered(m: &Module) -> Vec<bool> {
    let (mut sums, mut maxima) = (vec![false; m.params.len()], vec![false; m.params.len()]);
    m.each_op(&mut |op| {
        let (at, seen) = match &m.op(op).op {
            Op::AtomicAdd(o) => (&o.at, &mut sums),
            Op::AtomicMax(o) => (&o.at, &mut maxima),
            _ => return,
        };
        if let Some(i) = param(m, at.view) {
            seen[i as usize] = true;
        }
    });
    let float = |v: &ValueId| matches!(m.ty(*v), Type::View(view) if view.elem.is(Class::Float));
    m.params.iter().zip(sums.into_iter().zip(maxima)).map(|(v, (sum, max))| sum && (max || float(v))).collect()
}

/// Where each op and region hangs.
struct Parents {
    /// By op: the region it stands in.
    region: Vec<RegionId>,
    /// By region: the op that holds it; `None` for the body.
    op: Vec<Option<OpId>>,
}

impl Parents {
    fn of(m: &Module) -> Parents {
        let mut p = Parents { region: vec![m.body; m.num_ops()], op: vec![None; m.num_regions()] };
        for r in (0..m.num_regions() as u32).map(RegionId) {
            for &op in &m.region(r).ops {
                p.region[op.index()] = r;
                m.op(op).op.each_region(&mut |inner| p.op[inner.index()] = Some(op));
            }
        }
        p
    }
    /// The op of region `r` in which `op` is nested, or `op` itself; `None` if it is not under `r`.
    fn ancestor_in(&self, r: RegionId, mut op: OpId) -> Option<OpId> {
        loop {
            let at = self.region[op.index()];
            if at == r {
                return Some(op);
            }
            op = self.op[at.index()]?;
        }
    }
}

/// The last use of a value seen so far.
#[derive(Clone, Copy)]
enum LastUse {
    /// In this op of the region that defines the value, or nested in it.
    Op(OpId),
    /// The region hands it on, or a region beside it uses it: it lives on.
    Escapes,
}

fn last_uses(m: &Module, parents: &Parents) -> Vec<Vec<ValueId>> {
    let home = |v: ValueId| match m.def(v) {
        Def::Result(op, _) => Some(parents.region[op.index()]),
        Def::Arg(r, _) => Some(r),
        Def::Param(_) | Def::Const(_) => None,
    };
    let mut last: Vec<Option<LastUse>> = vec![None; m.num_values()];
    m.each_op(&mut |op| {
        // A tile that nothing uses dies where it is made.
        m.op(op).results.iter().for_each(|v| last[v.index()] = Some(LastUse::Op(op)));
    });
    let mut used = |v: ValueId, at: Option<OpId>| {
        let Some(home) = home(v) else { return };
        let slot = &mut last[v.index()];
        *slot = match (at.and_then(|op| parents.ancestor_in(home, op)), *slot) {
            (None, _) | (_, Some(LastUse::Escapes)) => Some(LastUse::Escapes),
            // The walk is in text order, so a later use replaces an earlier one.
            (Some(op), _) => Some(LastUse::Op(op)),
        };
    };
    m.each_op(&mut |op| {
        m.op(op).op.each_operand(&mut |v| used(v, Some(op)));
        m.op(op).op.each_region(&mut |r| {
            m.region(r).yields.iter().for_each(|v| used(*v, (home(*v) != Some(r)).then_some(op)))
        });
    });
    let mut dies = vec![Vec::new(); m.num_ops()];
    for v in (0..m.num_values() as u32).map(ValueId) {
        if let Some(LastUse::Op(op)) = last[v.index()]
            && m.ty(v).is_tile()
        {
            dies[op.index()].push(v);
        }
    }
    dies
}

/// The ops whose scalar results come from data and decide what a program does: bounds, conditions, addresses. A timing
/// run takes their values from a `ControlTrace`; all other scalars it needs it can compute.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ControlSources(Vec<bool>);

impl ControlSources {
    pub fn of(m: &Module) -> ControlSources {
        let (parents, needed, sources) = (&Parents::of(m), vec![false; m.num_values()], vec![false; m.num_ops()]);
        let mut slice = Slice { m, parents, needed, work: Vec::new(), sources };
        m.each_op(&mut |op| slice.roots(&m.op(op).op));
        while let Some(v) = slice.work.pop() {
            slice.follow(v);
        }
        ControlSources(slice.sources)
    }
    /// Whether each run of this op adds one value to the trace.
    pub fn contains(&self, op: OpId) -> bool {
        self.0.get(op.index()).copied().unwrap_or(false)
    }
    /// Whether time depends on data at all.
    pub fn is_empty(&self) -> bool {
        !self.0.contains(&true)
    }
}

/// The backward slice from what decides control, through scalars.
struct Slice<'m> {
    m: &'m Module,
    parents: &'m Parents,
    needed: Vec<bool>,
    work: Vec<ValueId>,
    sources: Vec<bool>,
}

impl Slice<'_> {
    fn need(&mut self, v: ValueId) {
        if self.m.ty(v).is_scalar() && !std::mem::replace(&mut self.needed[v.index()], true) {
            self.work.push(v);
        }
    }
    fn need_at(&mut self, values: &[ValueId], i: usize) {
        if let Some(v) = values.get(i) {
            self.need(*v);
        }
    }
    fn roots(&mut self, op: &Op) {
        if let Some(at) = op.access() {
            at.index.iter().chain(at.limits.iter().map(|(_, n)| n)).for_each(|v| self.need(*v));
        }
        if let Op::If(o) = op {
            self.need(o.cond);
        }
        if let Op::For(ops::For { range, .. }) | Op::MapReduce(ops::MapReduce { range, .. }) = op {
            range.each(&mut |v| self.need(v));
        }
        if let Op::While(o) = op {
            self.m.region(o.cond).yields.iter().for_each(|v| self.need(*v));
        }
    }
    fn follow(&mut self, v: ValueId) {
        match self.m.def(v) {
            Def::Param(_) | Def::Const(_) => {}
            Def::Result(id, i) => {
                let op = &self.m.op(id).op;
                match op.effect() {
                    Effect::Control => self.carried(op, i as usize),
                    Effect::Pure if op.operands().iter().all(|v| !self.m.ty(*v).is_tile()) => {
                        op.each_operand(&mut |v| self.need(v));
                    }
                    // Made from tiles, memory or messages.
                    Effect::Pure | Effect::Read | Effect::Queue => self.sources[id.index()] = true,
                    Effect::Write | Effect::Atomic | Effect::Sync | Effect::Observe => {}
                }
            }
            // Combines take elements of tiles, and their op is a source.
            Def::Arg(r, i) => match self.parents.op[r.index()].map(|op| &self.m.op(op).op) {
                // Argument 0 is the index; the range is a root already.
                Some(op @ Op::For(_)) if i > 0 => self.carried(op, i as usize - 1),
                Some(op @ Op::While(_)) => self.carried(op, i as usize),
                // Each value twice, and an index, whose range is a root.
                Some(op @ Op::MapReduce(o)) if r == o.merge => {
                    self.carried(op, i as usize % self.m.region(o.body).yields.len().max(1));
                }
                Some(_) | None => {}
            },
        }
    }
    /// What may become result `i` of a control op, or what its regions carry at that place.
    fn carried(&mut self, op: &Op, i: usize) {
        if let Op::For(ops::For { carry, .. }) | Op::While(ops::While { carry, .. }) = op {
            self.need_at(&carry.0, i);
        }
        let condition = if let Op::While(o) = op { Some(o.cond) } else { None };
        let m = self.m;
        op.each_region(&mut |r| {
            if Some(r) != condition {
                self.need_at(&m.region(r).yields, i);
            }
        });
    }
}

/// The values of the control sources of a run, so that a timing run can take the same turns without data.
///
/// For each program, one word a run of a source op, in program order: the bits of the result, as in `Literal::bits`; the
/// op's result type tells the element. It belongs to the module it was recorded on, to the op: record it on the module
/// that is timed.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ControlTrace {
    pub sources: ControlSources,
    /// By program; programs that met no source have no entry.
    pub(super) values: rustc_hash::FxHashMap<usize, Vec<u64>>,
}

impl ControlTrace {
    /// The words of one program.
    pub fn of_program(&self, program: usize) -> &[u64] {
        self.values.get(&program).map_or(&[], Vec::as_slice)
    }
}
