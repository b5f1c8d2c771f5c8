//! Well-typed random modules over every op. All choices come from a string of bytes, so that proptest shrinks a module by
//! shrinking the string; when it runs out, every choice is the first one.
//!
//! `ops`: one random op. `together`: what programs that run side by side must keep to.

mod ops;
mod together;

use crate::source::Source;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::loc::Place;
use tilewright_core::ir::{Builder, Deny, Dims, Element, Literal, Loc, LocId, Module, Op, Type, ValueId, ViewType};
use tilewright_core::with_elem;
use together::Together;

/// What a module is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Anything that is well typed.
    Reading,
    /// A launch of one program gets somewhere: no messages, views of any lengths, small tiles, many small numbers.
    Running,
    /// The same for a launch of 2 cubes x 2 PEs: messages that match, barriers that all meet, and no races.
    RunningTogether,
}

/// The module that these bytes choose.
pub fn module(bytes: &[u8], made_for: Purpose) -> Module {
    let mut g = Gen {
        from: Source::bytes(bytes),
        b: Builder::new(""),
        visible: Vec::new(),
        depth: 0,
        line: 0,
        made_for,
        together: None,
    };
    g.b = Builder::new(g.one_of(&NAMES));
    for _ in 0..g.below(3) {
        let (name, value) = (g.one_of(&NAMES), g.one_of(&NAMES));
        g.b.key(name, value);
    }
    // One that runs has no reason to be refused.
    let in_kernel_checks = made_for == Purpose::Reading && g.below(4) == 0;
    g.b.deny(Deny { in_kernel_checks });
    for _ in 0..3 + g.below(4) {
        let ty = if g.below(2) == 0 { Type::View(g.view_type()) } else { Type::Scalar(g.elem()) };
        let name = g.one_of(&NAMES);
        let v = g.b.param(name, ty);
        g.visible.push(v);
    }
    if made_for == Purpose::RunningTogether {
        g.together = Some(Together::new(&mut g));
    }
    while !g.from.is_done() {
        g.op();
    }
    g.b.finish()
}

/// Plain, odd, and outright hostile names.
const NAMES: [&str; 24] = [
    "x",
    "q",
    "part.m",
    "acc.0",
    "loc",
    "yield",
    "while",
    "true",
    "0",
    "14",
    "1a",
    "a'b",
    "x'2",
    "",
    " ",
    "é",
    "e\u{301}",
    "a..b",
    ".a",
    "a.",
    "\"\\",
    "日本",
    "a\n\tb\0",
    "\u{202e}%x",
];
const FILES: [&str; 7] = ["k.rs", "src/my kernel (1).rs", "C:\\k.rs", "a inlined at b.rs:1:2", "", "\"\n", "日本.rs"];
const LENS: [usize; 6] = [8, 1, 2, 4, 16, 3];
/// Of tiles that are computed.
const SHORT_LENS: [usize; 4] = [4, 1, 2, 3];

struct Gen<'a> {
    from: Source<'a>,
    b: Builder,
    /// Values that ops may use here.
    visible: Vec<ValueId>,
    depth: usize,
    line: u32,
    made_for: Purpose,
    together: Option<Together>,
}

impl Gen<'_> {
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.from.below(n)
    }
    fn one_of<T: Copy>(&mut self, from: &[T]) -> T {
        self.from.one_of(from)
    }
    fn len(&mut self) -> usize {
        if self.made_for == Purpose::Reading { self.one_of(&LENS) } else { self.one_of(&SHORT_LENS) }
    }
    fn ty(&self, v: ValueId) -> Type {
        self.b.module().ty(v)
    }
    fn elem(&mut self) -> ElemType {
        self.one_of(ElemType::ALL)
    }
    fn elem_of(&mut self, is: impl Fn(ElemType) -> bool) -> ElemType {
        let fit: Vec<ElemType> = ElemType::ALL.iter().copied().filter(|e| is(*e)).collect();
        self.one_of(&fit)
    }
    fn dims(&mut self, rank: usize) -> Dims {
        let lens: Vec<usize> = (0..rank).map(|_| self.len()).collect();
        Dims::new(&lens).expect("small lengths")
    }
    fn tile_type(&mut self, elem: ElemType) -> Type {
        let rank = 1 + self.below(4);
        Type::Tile(elem, self.dims(rank))
    }
    /// A scalar or a tile.
    fn value_type(&mut self, elem: ElemType) -> Type {
        if self.below(2) == 0 { Type::Scalar(elem) } else { self.tile_type(elem) }
    }
    fn view_type(&mut self) -> ViewType {
        let (elem, rank) = (self.elem(), 1 + self.below(4));
        let mut view = ViewType::dynamic(elem, rank, self.below(2) == 0);
        if self.made_for != Purpose::Reading {
            return view;
        }
        for axis in 0..rank {
            view.dims[axis] = [None, Some(64), Some(0), Some(u32::MAX)][self.below(4)];
            view.strides[axis] = [None, Some(1)][self.below(2)];
        }
        view
    }
    /// Any bits at all, NaN and infinities included.
    fn literal(&mut self, elem: ElemType) -> Literal {
        if self.made_for != Purpose::Reading && self.below(4) > 0 {
            let n = self.one_of(&[0, 1, 2, -1, 3, 8]);
            let small = Literal::int(elem, n).or_else(|| Literal::float(elem, n as f64));
            return small.unwrap_or(Literal { elem, bits: u64::from(n > 0) });
        }
        let bits = self.from.bits();
        with_elem!(elem, T => Literal { elem, bits: Element::to_bits(<T as Element>::from_bits(bits)) })
    }
    fn loc(&mut self) -> LocId {
        let mut at = None;
        for _ in 0..1 + self.below(3) {
            self.line += 1;
            let place = Place { file: self.one_of(&FILES).into(), line: self.line, col: 1 + self.below(9) as u32 };
            at = Some(self.b.locs().intern(Loc { place, inlined_at: at }));
        }
        at.expect("at least one place")
    }
    /// Appends an op that must be well typed; its results become visible, some with names.
    fn push(&mut self, op: impl Into<Op>) -> ValueId {
        let (op, loc) = (op.into(), self.loc());
        let text = format!("{op:?}");
        let results = self.b.push(op, loc).unwrap_or_else(|fault| panic!("the generator is wrong: {text}: {fault}"));
        for v in results.iter() {
            if self.below(2) == 0 {
                let name = self.one_of(&NAMES);
                self.b.name(v, name);
            }
            self.visible.push(v);
        }
        results.get(0).unwrap_or(ValueId(0))
    }
    fn visible_of(&mut self, fits: impl Fn(Type) -> bool) -> Option<ValueId> {
        let fit: Vec<ValueId> = self.visible.iter().copied().filter(|v| fits(self.ty(*v))).collect();
        if fit.is_empty() { None } else { Some(self.one_of(&fit)) }
    }
}
