//! Modules whose programs run side by side without a race or a deadlock, by construction: a view that is written is cut
//! into rows, one for each program, until a barrier of the launch hands it over; all programs come to the same messages
//! and barriers, in the same order, with a receive right behind each send.

use super::Gen;
use tilewright_core::elem::Class;
use tilewright_core::ir::ops::{self, *};
use tilewright_core::ir::{Literal, Op, Type, ValueId, ViewType};

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Len,
    Load,
    Store,
    AtomicAdd,
    AtomicMax,
}

/// How programs share a view that may be written, until the next barrier of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shared {
    /// Each reads and writes its own row.
    Rows,
    /// All read it all.
    Read,
    /// All add to it anywhere; integers, whose sums do not depend on the order.
    Added,
    /// The same with maxima.
    Raised,
}

pub struct Together {
    program: ValueId,
    views: Vec<(ValueId, Shared)>,
}

impl Together {
    pub fn new(g: &mut Gen<'_>) -> Together {
        let program = g.push(ProgramId {});
        let views = g.b.module().params.clone();
        let written = |v: &ValueId| matches!(g.ty(*v), Type::View(view) if view.writable);
        let views = views.into_iter().filter(written).map(|v| (v, Shared::Rows)).collect();
        Together { program, views }
    }
}

impl Gen<'_> {
    fn shared(&self, view: ValueId) -> Option<Shared> {
        let together = self.together.as_ref()?;
        together.views.iter().find(|(v, _)| *v == view).map(|(_, shared)| *shared)
    }
    /// The index along axis 0 of accesses that must stay in the program's row.
    pub fn own_row(&self, view: ValueId) -> Option<ValueId> {
        let rows = self.shared(view)? == Shared::Rows;
        self.together.as_ref().filter(|_| rows).map(|t| t.program)
    }
    /// A view that may be used so now.
    pub fn view_to(&mut self, to: Use, fits: impl Fn(ViewType) -> bool) -> Option<(ValueId, ViewType)> {
        let (view, ty) = self.view(fits)?;
        let allowed = match (to, self.shared(view)) {
            (Use::Len, _) | (_, None) => true,
            (Use::Load, Some(shared)) => matches!(shared, Shared::Rows | Shared::Read),
            (Use::Store, Some(shared)) => shared == Shared::Rows,
            (Use::AtomicAdd, Some(shared)) => matches!(shared, Shared::Rows | Shared::Added),
            (Use::AtomicMax, Some(shared)) => matches!(shared, Shared::Rows | Shared::Raised),
        };
        allowed.then_some((view, ty))
    }
    /// A message or barrier of all programs, where all of them come to the same op.
    pub fn message_together(&mut self) -> Option<()> {
        if self.together.is_none() || self.depth > 0 {
            return None;
        }
        match self.below(4) {
            0 => {
                self.push(Barrier { scope: Scope::Cube });
            }
            1 => self.hand_over(),
            2 => self.exchange(),
            _ => return None,
        }
        Some(())
    }
    /// A barrier of the launch, behind which the views are shared in other ways.
    fn hand_over(&mut self) {
        self.push(Barrier { scope: Scope::Launch });
        let Some(mut together) = self.together.take() else { return };
        for (view, shared) in &mut together.views {
            let adds = self.ty(*view).elem().is(Class::Int);
            let ways = [Shared::Rows, Shared::Read, Shared::Added, Shared::Raised];
            *shared = ways[self.below(if adds { 4 } else { 2 })];
        }
        self.together = Some(together);
    }
    /// A message from one PE of every cube to another, or from one cube to another, perhaps a few times.
    fn exchange(&mut self) {
        let ty = self.class(Class::Any);
        let (value, turns) = (self.value(ty), self.below(4) as i32);
        if turns < 2 {
            let got = self.pass_on(value, ty);
            self.visible.push(got);
            return;
        }
        let [lo, hi] = [0, turns].map(|n| self.b.constant(Literal::from(n)));
        let body = self.b.open(&[Type::I32, ty]);
        let carried = self.b.module().region(body).args[1];
        let got = self.pass_on(carried, ty);
        let body = self.b.close(vec![got]);
        self.push(For { range: Range { lo, hi, step: None, stages: None }, carry: Carry(vec![value]), body });
    }
    /// Sends `value`; what has been received, or the value itself where nothing has.
    fn pass_on(&mut self, value: ValueId, ty: Type) -> ValueId {
        let (from, to) = if self.below(2) == 0 { (0, 1) } else { (1, 0) };
        let dir = |at: i32| if at == 0 { Dir::East } else { Dir::West };
        let (place, out, back): (Op, Port, Port) = match self.below(3) {
            0 => (PeId {}.into(), Port::Pe(dir(from)), Port::Pe(dir(to))),
            1 => (CubeId {}.into(), Port::Cube(dir(from)), Port::Cube(dir(to))),
            _ => (PeId {}.into(), Port::Peer(to as u32), Port::Peer(from as u32)),
        };
        let at = self.here(place);
        let [is_sender, is_receiver] = [from, to].map(|place| {
            let n = self.b.constant(Literal::from(place));
            self.here(Cmp { pred: Pred::Eq, a: at, b: n })
        });
        let then = self.b.open(&[]);
        self.here(Send { port: out, value });
        self.b.close(Vec::new());
        let other = self.b.open(&[]);
        self.b.close(Vec::new());
        self.here(If { cond: is_sender, then, other });
        let then = self.b.open(&[]);
        let got = self.here(Recv { port: back, to: ops::ResultType(ty) });
        self.b.close(vec![got]);
        let other = self.b.open(&[]);
        self.b.close(vec![value]);
        self.here(If { cond: is_receiver, then, other })
    }
    /// Appends an op whose results only this file uses.
    fn here(&mut self, op: impl Into<Op>) -> ValueId {
        let loc = self.loc();
        let results = self.b.push(op, loc).unwrap_or_else(|fault| panic!("the generator is wrong: {fault}"));
        results.get(0).unwrap_or(ValueId(0))
    }
}
