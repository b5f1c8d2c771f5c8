//! A layout for every tile of a module. Values that elementwise ops, loops and branches tie together form a class and share
//! one layout: that of a product that makes one of them, else of the class's widest access to memory, or of the matrix whose
//! reduced axis the class is; else the blocked one of its shape. What is cut from a few rows lies
//! column by column. `splat` and `iota` tie nothing together: they are made anew in any layout.

use super::product::{Product, products};
use super::reg::RegLayout;
use crate::talk::channel;
use rustc_hash::{FxHashMap, FxHashSet};
use tilewright_core::ir::ops::{self, Op, Port};
use tilewright_core::ir::{Dims, Module, OpId, Type, ValueId};

/// By value; `None` for scalars and views. What is made anew at each use has one too, for uses that ask for none.
#[derive(Clone, Debug)]
pub struct Layouts {
    of: Vec<Option<RegLayout>>,
    products: FxHashMap<OpId, Product>,
}

impl Layouts {
    /// How a `dot` is computed.
    pub fn product(&self, op: OpId) -> Option<&Product> {
        self.products.get(&op)
    }
    /// With the layouts of `other` for these values.
    pub(crate) fn with(mut self, other: &Layouts, values: &[ValueId]) -> Layouts {
        values.iter().for_each(|v| self.of[v.index()] = other.of[v.index()].clone());
        self
    }
    pub fn get(&self, v: ValueId) -> Option<&RegLayout> {
        self.of[v.index()].as_ref()
    }
}

/// Threads that run some ops together, and these ops.
pub struct Team {
    pub threads: u32,
    /// In the order of the text.
    pub ops: Vec<OpId>,
    /// Values that share a layout although no op says so.
    pub ties: Vec<(ValueId, ValueId)>,
    /// Where some tiles lie in any case.
    pub given: Vec<(ValueId, RegLayout)>,
}

/// `vector`: how many elements an access may take at once (by what is known of alignment).
pub fn infer(m: &Module, team: &Team, vector: &dyn Fn(OpId) -> u32) -> Layouts {
    let Team { threads, ops, ties, given } = team;
    let threads = *threads;
    let mut classes = Classes::of(m, ops);
    ties.iter().for_each(|(a, b)| classes.join(m, *a, *b));
    let mut of: Vec<Option<RegLayout>> = vec![None; m.num_values()];
    // Anchors: the access with the most bytes at once decides, the first of equal ones.
    let mut best: Vec<u32> = vec![0; m.num_values()];
    for op in ops {
        let Some((v, elem, dims)) = accessed(m, *op) else { continue };
        let root = classes.root(v);
        let bytes = vector(*op) * elem;
        if bytes > best[root] {
            (best[root], of[root]) = (bytes, Some(RegLayout::blocked(dims, elem, vector(*op), threads)));
        }
    }
    let products = products(m, (threads, ops), |a, b| classes.root(a) == classes.root(b));
    let mut anchor = |root: usize, layout: &RegLayout| {
        if best[root] < u32::MAX {
            (best[root], of[root]) = (u32::MAX, Some(layout.clone()));
        }
    };
    given.iter().for_each(|(v, layout)| anchor(classes.root(*v), layout));
    products.iter().for_each(|(op, product)| anchor(classes.root(m.op(*op).results.first), &product.layout));
    // What is cut from a tile lies as that tile does then; what is sent of it, as whoever holds it can send most at once.
    let sent: FxHashSet<ValueId> = ops.iter().filter_map(|op| sent(m, *op)).collect();
    let cuts = ops.iter().filter_map(|op| {
        let Op::Rows(o) = &m.op(*op).op else { return None };
        let row = m.op(*op).results.first;
        cut_layout(m.ty(o.x), threads).and(m.ty(row).dims()).map(|dims| (o.x, row, dims))
    });
    let (sent, kept): (Vec<_>, Vec<_>) = cuts.partition(|(_, row, _)| sent.contains(row));
    sent.iter().for_each(|(_, row, dims)| anchor(classes.root(*row), &RegLayout::quarters(*dims, threads)));
    kept.iter().for_each(|(_, row, dims)| anchor(classes.root(*row), &RegLayout::columns(*dims, threads)));
    for (x, ..) in sent {
        let root = classes.root(x);
        if let Some(dims) = m.ty(x).dims().filter(|dims| dims.rank() == 2)
            && of[root].is_none()
        {
            (of[root], best[root]) = (Some(RegLayout::rows_apart(dims, threads)), u32::MAX);
        }
    }
    // A class that is repeated along an axis of a larger tile, or is what is left of one, follows that tile.
    let follow = |only_free: bool, best: &mut [u32], of: &mut [Option<RegLayout>], classes: &mut Classes| {
        let mut changed = false;
        for (small, large, axis) in ops.iter().filter_map(|op| followed(m, *op)) {
            let (small, large) = (classes.root(small), classes.root(large));
            if let Some(layout) = of[large].clone()
                && (of[small].is_none() || (!only_free && (1..u32::MAX).contains(&best[small])))
            {
                (of[small], best[small], changed) = (Some(layout.without(axis)), 0, true);
            }
        }
        changed
    };
    let blocked = |ty: Type| {
        let bytes = ty.elem().bytes() as u32;
        ty.dims().map(|dims| RegLayout::blocked(dims, bytes, 4 / bytes.min(4), threads))
    };
    follow(false, &mut best, &mut of, &mut classes);
    while follow(true, &mut best, &mut of, &mut classes) {}
    for (_, large, _) in ops.iter().filter_map(|op| followed(m, *op)) {
        let root = classes.root(large);
        if of[root].is_none() {
            of[root] = blocked(m.ty(large));
            while follow(true, &mut best, &mut of, &mut classes) {}
        }
    }
    for v in (0..m.num_values() as u32).map(ValueId) {
        if m.ty(v).is_tile() {
            let root = classes.root(v);
            if of[root].is_none() {
                of[root] = blocked(m.ty(v));
            }
            of[v.index()] = of[root].clone();
        }
    }
    Layouts { of, products: products.into_iter().collect() }
}

/// A tile that is what a reduction leaves of a larger one, or is repeated to one; that one, and along which axis.
fn followed(m: &Module, op: OpId) -> Option<(ValueId, ValueId, usize)> {
    let data = m.op(op);
    let (small, large, axis) = match &data.op {
        Op::ReduceMax(ops::ReduceMax { x, axis })
        | Op::ReduceMin(ops::ReduceMin { x, axis })
        | Op::ReduceSum(ops::ReduceSum { x, axis })
        | Op::ReduceWith(ops::ReduceWith { x, axis, .. }) => (data.results.first, *x, axis.0),
        Op::Broadcast(ops::Broadcast { x, axis, .. }) => (*x, data.results.first, axis.0),
        _ => return None,
    };
    m.ty(small).is_tile().then_some((small, large, axis as usize))
}

/// What a `send` sends.
fn sent(m: &Module, op: OpId) -> Option<ValueId> {
    match &m.op(op).op {
        Op::Send(o) => Some(o.value),
        _ => None,
    }
}

/// How a tile lies where rows are cut from it: with few rows, a thread holds whole columns, so that a cut is a choice of
/// registers. `None`: as elsewhere.
pub fn cut_layout(ty: Type, threads: u32) -> Option<RegLayout> {
    let dims = ty.dims().filter(|dims| dims.as_slice()[0] <= MOST_ROWS)?;
    Some(RegLayout::columns(dims, threads))
}
/// Rows that a thread may hold of each of its columns: where columns are fewer than threads, some hold the same.
const MOST_ROWS: u32 = 16;

/// The tile that an access moves, the bytes of its element, its shape.
fn accessed(m: &Module, op: OpId) -> Option<(ValueId, u32, Dims)> {
    let data = m.op(op);
    let v = match &data.op {
        Op::Load(_) => data.results.first,
        Op::Store(o) => o.value,
        Op::AtomicAdd(o) => o.value,
        Op::AtomicMax(o) => o.value,
        _ => return None,
    };
    match m.ty(v) {
        Type::Tile(elem, dims) => Some((v, elem.bytes() as u32, dims)),
        Type::Scalar(_) | Type::View(_) => None,
    }
}

/// Values that share a layout, as a forest.
struct Classes {
    parent: Vec<usize>,
}

impl Classes {
    fn of(m: &Module, ops: &[OpId]) -> Classes {
        let mut classes = Classes { parent: (0..m.num_values()).collect() };
        // Both ends of a queue.
        let mut messages: FxHashMap<(Port, Type), ValueId> = FxHashMap::default();
        for op in ops {
            let data = m.op(*op);
            let message = match &data.op {
                Op::Send(o) => Some((channel(o.port, true), o.value)),
                Op::Recv(o) => Some((channel(o.port, false), data.results.first)),
                _ => None,
            };
            if let Some((port, v)) = message {
                let first = *messages.entry((port, m.ty(v))).or_insert(v);
                classes.join(m, first, v);
            }
            match &data.op {
                Op::If(o) => {
                    let arms = m.region(o.then).yields.iter().zip(&m.region(o.other).yields);
                    data.results.iter().zip(arms).for_each(|(v, (a, b))| {
                        classes.join(m, v, *a);
                        classes.join(m, v, *b);
                    });
                }
                Op::For(o) => {
                    classes.looped(m, data.results, &o.carry.0, &m.region(o.body).args[1..], &m.region(o.body).yields)
                }
                Op::While(o) => {
                    classes.looped(m, data.results, &o.carry.0, &m.region(o.cond).args, &m.region(o.body).yields);
                }
                Op::Composite(o) => {
                    data.results.iter().zip(&m.region(o.body).yields).for_each(|(v, y)| classes.join(m, v, *y));
                }
                Op::Dot(o) => o.c.into_iter().for_each(|c| classes.join(m, data.results.first, c)),
                op if op.is_elementwise() || matches!(op, Op::ScanSum(_) | Op::ScanWith(_)) => {
                    op.each_operand(&mut |v| classes.join(m, data.results.first, v));
                }
                _ => {}
            }
        }
        classes
    }
    fn looped(
        &mut self,
        m: &Module,
        results: tilewright_core::ir::Results,
        first: &[ValueId],
        args: &[ValueId],
        next: &[ValueId],
    ) {
        for (((v, first), arg), next) in results.iter().zip(first).zip(args).zip(next) {
            self.join(m, v, *arg);
            self.join(m, *first, *arg);
            self.join(m, *next, *arg);
        }
    }
    fn root(&mut self, v: ValueId) -> usize {
        let mut at = v.index();
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }
    fn join(&mut self, m: &Module, a: ValueId, b: ValueId) {
        let same_shape = m.ty(a).is_tile() && m.ty(a).dims() == m.ty(b).dims();
        if same_shape && !is_anew(m, a) && !is_anew(m, b) {
            let (a, b) = (self.root(a), self.root(b));
            self.parent[a.max(b)] = a.min(b);
        }
    }
}

/// Whether a tile costs nothing to make again in another layout.
pub fn is_anew(m: &Module, v: ValueId) -> bool {
    match m.def(v) {
        tilewright_core::ir::Def::Result(op, _) => matches!(m.op(op).op, Op::Splat(_) | Op::Iota(_)),
        _ => false,
    }
}
