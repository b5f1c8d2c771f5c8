//! Building the instructions of one kernel: fresh registers, labels, and a location for each instruction.

use super::inst::{Addr, Base, Bin, CacheHint, Cmp, Guard, Inst, Label, Op, Space, Special, Src, Tern, Un};
use super::ty::{Class, Reg, Ty};
use tilewright_core::ir::LocId;

/// A piece of shared memory; where it lies is decided when the kernel is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Buffer(pub u32);

/// Memory that threads of a CTA share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Memory {
    Shared(Buffer),
    /// What a view parameter points to.
    View(u32),
}

/// That an instruction reads or writes memory which other threads of the CTA may write or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Touch {
    pub memory: Memory,
    pub writes: bool,
    /// Accesses of one group that run one after the other touch different places, or the same by the same thread.
    pub group: u32,
    /// So do those of different turns of the loops around them.
    pub apart: bool,
    /// A copy of this group, which lands later: no barrier orders it before it has been waited for.
    pub lands: Option<u32>,
    /// Of a buffer of several slots whose loop orders its own accesses.
    pub ring: Option<Ring>,
}
impl Touch {
    pub fn read(memory: Memory, group: u32) -> Touch {
        Touch { memory, writes: false, group, apart: false, lands: None, ring: None }
    }
    pub fn write(memory: Memory, group: u32) -> Touch {
        Touch { writes: true, ..Touch::read(memory, group) }
    }
}

/// Where a ring is touched. Inside the loop its own waits and barriers keep slots apart; what fills it before the loop has
/// to come after all that went before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ring {
    Filling,
    Turning,
}

/// An instruction with what is known of it.
#[derive(Clone, Debug)]
pub struct Line {
    pub inst: Inst,
    /// The kernel line it was emitted for.
    pub loc: LocId,
    pub touch: Option<Touch>,
    /// Run by each warp by itself, on buffers of its own.
    pub by_warp: bool,
}

/// What emission goes back to.
#[must_use]
pub struct Aside(Vec<Line>);

/// Where instructions stand that are emitted aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before everything else: they run once, and hold in the whole kernel.
    Entry,
    /// Behind everything else: they are reached by a branch, and branch back.
    Rare,
}

/// The instructions of a kernel under construction.
#[derive(Clone, Debug)]
pub struct Body {
    lines: Vec<Line>,
    /// Runs before everything else, once.
    entry: Vec<Line>,
    /// What is rarely reached; stands behind everything else.
    rare: Vec<Line>,
    /// Bytes and alignment of each buffer.
    buffers: Vec<(u32, u32)>,
    /// Those that are in use from beginning to end, whatever touches them.
    kept: Vec<Buffer>,
    regs: [u32; 4],
    labels: u32,
    groups: u32,
    copies: u32,
    /// Of what is emitted next.
    pub loc: LocId,
    pub by_warp: bool,
}

impl Default for Body {
    fn default() -> Body {
        Body {
            lines: Vec::new(),
            entry: Vec::new(),
            rare: Vec::new(),
            buffers: Vec::new(),
            kept: Vec::new(),
            regs: [0; 4],
            labels: 0,
            groups: 0,
            copies: 0,
            loc: LocId::UNKNOWN,
            by_warp: false,
        }
    }
}

impl Body {
    pub fn reg(&mut self, class: Class) -> Reg {
        let next = &mut self.regs[class as usize];
        *next += 1;
        Reg { class, index: *next - 1 }
    }
    /// A register for a value of this type.
    pub fn fresh(&mut self, ty: Ty) -> Reg {
        self.reg(ty.class())
    }
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }
    /// A name for accesses that do not collide with each other (`Touch::group`).
    pub fn group(&mut self) -> u32 {
        self.groups += 1;
        self.groups - 1
    }
    /// The group of copies that the next commit ends.
    pub fn open_copies(&self) -> u32 {
        self.copies
    }
    /// Ends a group of copies; its name.
    pub fn commit_copies(&mut self) -> u32 {
        self.emit(Op::CopyCommit);
        self.copies += 1;
        self.copies - 1
    }
    pub fn emit(&mut self, op: Op) {
        self.push(Inst { guard: None, op }, None);
    }
    pub fn emit_if(&mut self, guard: Guard, op: Op) {
        self.push(Inst { guard: Some(guard), op }, None);
    }
    /// Emits an access to memory that the threads of the CTA share.
    pub fn touch(&mut self, touch: Touch, guard: Option<Guard>, op: Op) {
        self.push(Inst { guard, op }, Some(touch));
    }
    fn push(&mut self, inst: Inst, touch: Option<Touch>) {
        self.lines.push(Line { inst, loc: self.loc, touch, by_warp: self.by_warp });
    }
    /// Emits what `f` emits before everything else, so that it holds in the whole kernel.
    pub fn at_entry<T>(&mut self, f: impl FnOnce(&mut Body) -> T) -> T {
        let lines = std::mem::take(&mut self.lines);
        let loc = std::mem::replace(&mut self.loc, LocId::UNKNOWN);
        let out = f(self);
        self.entry.append(&mut self.lines);
        (self.lines, self.loc) = (lines, loc);
        out
    }
    /// What is emitted until `Body::resume` stands elsewhere.
    pub fn aside(&mut self) -> Aside {
        Aside(std::mem::take(&mut self.lines))
    }
    /// Puts what was emitted aside in its place, and goes on where emission was before.
    pub fn resume(&mut self, from: Aside, place: Place) {
        let lines = self.apart(from);
        match place {
            Place::Entry => self.entry.extend(lines),
            Place::Rare => self.rare.extend(lines),
        }
    }
    /// Gives what was emitted aside, and goes on where emission was before.
    pub fn apart(&mut self, from: Aside) -> Vec<Line> {
        std::mem::replace(&mut self.lines, from.0)
    }
    /// A place between what was emitted and what will be (`Body::insert`).
    pub fn here(&self) -> usize {
        self.lines.len()
    }
    /// Puts instructions at a place that emission has passed.
    pub fn insert(&mut self, at: usize, lines: Vec<Line>) {
        self.lines.splice(at..at, lines);
    }
    /// Puts what is rarely reached behind everything else.
    pub fn close(&mut self) {
        self.lines.append(&mut self.rare);
    }
    /// A new piece of shared memory.
    pub fn buffer(&mut self, bytes: u32, align: u32) -> Buffer {
        self.buffers.push((bytes, align));
        Buffer(self.buffers.len() as u32 - 1)
    }
    /// One that others than this CTA's threads write, so that it is in use all the time.
    pub fn kept_buffer(&mut self, bytes: u32, align: u32) -> Buffer {
        let buffer = self.buffer(bytes, align);
        self.kept.push(buffer);
        buffer
    }
    pub fn kept_buffers(&self) -> &[Buffer] {
        &self.kept
    }
    /// Bytes and alignment of each buffer, by its number.
    pub fn buffers(&self) -> &[(u32, u32)] {
        &self.buffers
    }
    /// Where the piece begins, in every thread.
    pub fn buffer_base(&mut self, buffer: Buffer) -> Reg {
        let d = self.fresh(Ty::U32);
        self.emit(Op::BufferBase { d, buffer });
        d
    }
    /// All instructions in order.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.entry.iter().chain(&self.lines)
    }
    /// The instructions after the entry, for passes over them.
    pub fn lines_mut(&mut self) -> &mut Vec<Line> {
        &mut self.lines
    }
    /// How many registers of the class exist.
    pub fn count(&self, class: Class) -> u32 {
        self.regs[class as usize]
    }

    // Instructions with one fresh destination, which is returned.

    pub fn special(&mut self, from: Special) -> Reg {
        let d = self.fresh(Ty::U32);
        self.emit(Op::Special { d, from });
        d
    }
    /// Cycles of the SM, read each time.
    pub fn clock(&mut self) -> Reg {
        let d = self.fresh(Ty::U64);
        self.emit(Op::Special { d, from: Special::Clock });
        d
    }
    pub fn mov(&mut self, ty: Ty, a: impl Into<Src>) -> Reg {
        let d = self.fresh(ty);
        self.emit(Op::Mov { ty, d, a: a.into() });
        d
    }
    /// `d = a`, into a register that exists.
    pub fn assign(&mut self, ty: Ty, d: Reg, a: impl Into<Src>) {
        self.emit(Op::Mov { ty, d, a: a.into() });
    }
    pub fn un(&mut self, op: Un, ty: Ty, a: impl Into<Src>) -> Reg {
        let d = if op == Un::Clz { self.fresh(Ty::U32) } else { self.fresh(ty) };
        self.emit(Op::Un { op, ty, d, a: a.into() });
        d
    }
    /// A wide product has twice the size of its operands.
    pub fn bin(&mut self, op: Bin, ty: Ty, a: impl Into<Src>, b: impl Into<Src>) -> Reg {
        let d = if op == Bin::MulWide { self.reg(wider(ty)) } else { self.fresh(ty) };
        self.emit(Op::Bin { op, ty, d, a: a.into(), b: b.into() });
        d
    }
    pub fn tern(&mut self, op: Tern, ty: Ty, a: impl Into<Src>, b: impl Into<Src>, c: impl Into<Src>) -> Reg {
        let d = if op == Tern::MadWide { self.reg(wider(ty)) } else { self.fresh(ty) };
        self.emit(Op::Tern { op, ty, d, a: a.into(), b: b.into(), c: c.into() });
        d
    }
    pub fn setp(&mut self, cmp: Cmp, ty: Ty, a: impl Into<Src>, b: impl Into<Src>) -> Reg {
        let d = self.fresh(Ty::Pred);
        self.emit(Op::Setp { cmp, ty, d, a: a.into(), b: b.into() });
        d
    }
    pub fn selp(&mut self, ty: Ty, a: impl Into<Src>, b: impl Into<Src>, p: Reg) -> Reg {
        let d = self.fresh(ty);
        self.emit(Op::Selp { ty, d, a: a.into(), b: b.into(), p });
        d
    }
    /// An exact conversion.
    pub fn cvt(&mut self, to: Ty, from: Ty, a: Reg) -> Reg {
        let d = self.fresh(to);
        self.emit(Op::Cvt { to, from, round: None, sat: false, d, a });
        d
    }
    pub fn ld_param(&mut self, ty: Ty, offset: u32) -> Reg {
        let d = self.fresh(ty);
        let (hint, at) = (CacheHint::default(), Addr { base: Base::Params, offset: i64::from(offset) });
        self.emit(Op::Ld { space: Space::Param, hint, ty, d: vec![d], at });
        d
    }
}

const fn wider(ty: Ty) -> Class {
    match ty.class() {
        Class::B16 => Class::B32,
        Class::B32 | Class::B64 | Class::Pred => Class::B64,
    }
}
