//! Kinds of op fields: operands, attributes, regions. Each says how it is walked and how it reads as text.
//! In the text, items are separated by commas, words by spaces: `cmp lt %a, %b`, `reduce_max %x axis 1`.

use crate::ir::module::{RegionId, ValueId};
use crate::ir::text::{OpParser, OpPrinter, ParseFault};
use crate::ir::types::Type;
use std::fmt;

/// A field of an op. The defaults are those of an attribute.
pub trait Field: Sized {
    fn each(&self, _: &mut dyn FnMut(ValueId)) {}
    fn each_mut(&mut self, _: &mut dyn FnMut(&mut ValueId)) {}
    fn each_region(&self, _: &mut dyn FnMut(RegionId)) {}
    fn each_region_mut(&mut self, _: &mut dyn FnMut(&mut RegionId)) {}
    fn set_type(&mut self, _: Type) {}
    fn print(&self, p: &mut OpPrinter<'_>);
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault>;
}

impl Field for ValueId {
    fn each(&self, f: &mut dyn FnMut(ValueId)) {
        f(*self)
    }
    fn each_mut(&mut self, f: &mut dyn FnMut(&mut ValueId)) {
        f(self)
    }
    fn print(&self, p: &mut OpPrinter<'_>) {
        p.item();
        p.value(*self);
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        p.item()?;
        p.value()
    }
}
/// The last operand, which may be missing.
impl Field for Option<ValueId> {
    fn each(&self, f: &mut dyn FnMut(ValueId)) {
        self.iter().for_each(|v| f(*v))
    }
    fn each_mut(&mut self, f: &mut dyn FnMut(&mut ValueId)) {
        self.iter_mut().for_each(f)
    }
    fn print(&self, p: &mut OpPrinter<'_>) {
        if let Some(v) = self {
            v.print(p)
        }
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        if p.at_comma() { Ok(Some(Field::parse(p)?)) } else { Ok(None) }
    }
}
/// All remaining operands.
impl Field for Vec<ValueId> {
    fn each(&self, f: &mut dyn FnMut(ValueId)) {
        self.iter().for_each(|v| f(*v))
    }
    fn each_mut(&mut self, f: &mut dyn FnMut(&mut ValueId)) {
        self.iter_mut().for_each(f)
    }
    fn print(&self, p: &mut OpPrinter<'_>) {
        self.iter().for_each(|v| v.print(p))
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        let mut out = Vec::new();
        while p.at_comma() {
            out.push(Field::parse(p)?);
        }
        Ok(out)
    }
}
/// Ops with regions have a syntax of their own (`text`), so a region is never printed as a field.
impl Field for RegionId {
    fn each_region(&self, f: &mut dyn FnMut(RegionId)) {
        f(*self)
    }
    fn each_region_mut(&mut self, f: &mut dyn FnMut(&mut RegionId)) {
        f(self)
    }
    fn print(&self, _: &mut OpPrinter<'_>) {}
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        Err(p.expected("an op without regions"))
    }
}

/// The type of the only result, where operands do not decide it. Printed behind the fields, as all result types are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResultType(pub Type);

impl Field for ResultType {
    fn set_type(&mut self, ty: Type) {
        self.0 = ty
    }
    fn print(&self, _: &mut OpPrinter<'_>) {}
    fn parse(_: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        Ok(ResultType(Type::BOOL)) // the parser sets it when it has read the type
    }
}

/// An axis number, from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AxisNo(pub u32);

impl Field for AxisNo {
    fn print(&self, p: &mut OpPrinter<'_>) {
        p.word("axis");
        p.number(u64::from(self.0));
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        p.word("axis")?;
        Ok(AxisNo(p.number_u32()?))
    }
}

/// A fixed index, an item of its own: `rows %x, 8`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct At(pub u32);

impl Field for At {
    fn print(&self, p: &mut OpPrinter<'_>) {
        p.item();
        p.text(&self.0.to_string());
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        p.item()?;
        Ok(At(p.number_u32()?))
    }
}

/// Text for people: a print format, the text of an assertion.
#[derive(Clone, Debug, PartialEq)]
pub struct Text(pub String);

impl Field for Text {
    fn print(&self, p: &mut OpPrinter<'_>) {
        p.item();
        p.quoted(&self.0);
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        p.item()?;
        Ok(Text(p.quoted()?))
    }
}

/// Declares an attribute enum whose variants are words of the text.
macro_rules! words {
    ($(#[$doc:meta])* $Name:ident, $what:literal, $($(#[$vdoc:meta])* $Var:ident = $word:literal),* $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $Name { $($(#[$vdoc])* $Var),* }
        impl $Name {
            pub const ALL: &'static [$Name] = &[$($Name::$Var),*];
            pub fn word(self) -> &'static str { match self { $($Name::$Var => $word),* } }
            pub fn from_word(word: &str) -> Option<$Name> { match word { $($word => Some($Name::$Var),)* _ => None } }
            pub const WHAT: &'static str = $what;
        }
        impl fmt::Display for $Name { fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.word()) } }
    };
}
words! {
    /// How two elements are compared.
    Pred, "lt, le, gt, ge, eq or ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge", Eq = "eq", Ne = "ne",
}
words! {
    /// A direction in the mesh.
    Dir, "north, east, south or west", North = "north", East = "east", South = "south", West = "west",
}
words! {
    /// Who a barrier waits for.
    Scope, "cube or launch",
    /// The PEs of the cube.
    Cube = "cube",
    /// All PEs of the launch.
    Launch = "launch",
}
words! {
    /// A caching hint of a load or store.
    Cache, "keep or stream",
    /// Will be read again.
    Keep = "keep",
    /// Used once.
    Stream = "stream",
}
impl Dir {
    pub fn opposite(self) -> Dir {
        match self {
            Dir::North => Dir::South,
            Dir::South => Dir::North,
            Dir::East => Dir::West,
            Dir::West => Dir::East,
        }
    }
}

impl Field for Pred {
    fn print(&self, p: &mut OpPrinter<'_>) {
        p.word(self.word());
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        p.one_of(Pred::WHAT, Pred::from_word)
    }
}
impl Field for Scope {
    fn print(&self, p: &mut OpPrinter<'_>) {
        p.word(self.word());
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        p.one_of(Scope::WHAT, Scope::from_word)
    }
}

/// How the products of a `dot` are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// At the precision of the operands.
    Full,
    /// f32 operands rounded to 10 mantissa bits.
    Tf32,
}
impl Field for Precision {
    fn print(&self, p: &mut OpPrinter<'_>) {
        match self {
            Precision::Full => {}
            Precision::Tf32 => p.word("tf32"),
        }
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        Ok(if p.take_word("tf32")? { Precision::Tf32 } else { Precision::Full })
    }
}

/// What a store does with elements outside the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bounds {
    /// There are none: an error otherwise.
    All,
    /// They are dropped.
    Inside,
}
impl Field for Bounds {
    fn print(&self, p: &mut OpPrinter<'_>) {
        match self {
            Bounds::All => {}
            Bounds::Inside => p.word("inside"),
        }
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        Ok(if p.take_word("inside")? { Bounds::Inside } else { Bounds::All })
    }
}

/// One end of a point-to-point queue. What is sent East is received from West; `peer` names the other PE of the cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Port {
    /// The mesh neighbour inside the cube.
    Pe(Dir),
    /// The same PE of the neighbouring cube.
    Cube(Dir),
    /// The same PE of the neighbouring SIP in the ring.
    Sip(Dir),
    /// Any PE of the same cube, by its id.
    Peer(u32),
}
impl Port {
    pub const fn pe(dir: Dir) -> Port {
        Port::Pe(dir)
    }
    pub const fn cube(dir: Dir) -> Port {
        Port::Cube(dir)
    }
    pub const fn sip(dir: Dir) -> Port {
        Port::Sip(dir)
    }
    pub const fn peer(rank: u32) -> Port {
        Port::Peer(rank)
    }
}
impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Port::Pe(d) => write!(f, "pe.{d}"),
            Port::Cube(d) => write!(f, "cube.{d}"),
            Port::Sip(d) => write!(f, "sip.{d}"),
            Port::Peer(n) => write!(f, "peer.{n}"),
        }
    }
}
impl Field for Port {
    fn print(&self, p: &mut OpPrinter<'_>) {
        p.item();
        p.text(&self.to_string());
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        p.item()?;
        let dir = |p: &mut OpParser<'_, '_>| {
            p.punct(".")?;
            p.one_of(Dir::WHAT, Dir::from_word)
        };
        match p.any_word()?.as_str() {
            "pe" => Ok(Port::Pe(dir(p)?)),
            "cube" => Ok(Port::Cube(dir(p)?)),
            "sip" => Ok(Port::Sip(dir(p)?)),
            "peer" => {
                p.punct(".")?;
                Ok(Port::Peer(p.number_u32()?))
            }
            _ => Err(p.expected("a port: pe.DIR, cube.DIR, sip.DIR or peer.N")),
        }
    }
}

/// A position in a view, with what is said of the access there: `%k[%i, 0] limit 0: %n vec 4 cache stream`.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    pub view: ValueId,
    /// One index per axis of the view; i32 or i64.
    pub index: Vec<ValueId>,
    /// Along this axis of the tile only so many places exist.
    pub limits: Vec<(u32, ValueId)>,
    /// Elements per memory access, a hint.
    pub vec: Option<u32>,
    pub cache: Option<Cache>,
}
impl Field for Access {
    fn each(&self, f: &mut dyn FnMut(ValueId)) {
        f(self.view);
        self.index.iter().for_each(|v| f(*v));
        self.limits.iter().for_each(|(_, v)| f(*v));
    }
    fn each_mut(&mut self, f: &mut dyn FnMut(&mut ValueId)) {
        f(&mut self.view);
        self.index.iter_mut().for_each(&mut *f);
        self.limits.iter_mut().for_each(|(_, v)| f(v));
    }
    fn print(&self, p: &mut OpPrinter<'_>) {
        p.item();
        p.value(self.view);
        p.text("[");
        for (i, v) in self.index.iter().enumerate() {
            p.text(if i == 0 { "" } else { ", " });
            p.index(*v);
        }
        p.text("]");
        for (axis, n) in &self.limits {
            p.word("limit");
            p.number(u64::from(*axis));
            p.text(": ");
            p.index(*n);
        }
        if let Some(n) = self.vec {
            p.word("vec");
            p.number(u64::from(n));
        }
        if let Some(c) = self.cache {
            p.word("cache");
            p.word(c.word());
        }
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        p.item()?;
        let view = p.value()?;
        p.punct("[")?;
        let mut index = Vec::new();
        while !p.take_punct("]")? {
            if !index.is_empty() {
                p.punct(",")?;
            }
            index.push(p.index()?);
        }
        let mut limits = Vec::new();
        while p.take_word("limit")? {
            let axis = p.number_u32()?;
            p.punct(":")?;
            limits.push((axis, p.index()?));
        }
        let vec = if p.take_word("vec")? { Some(p.number_u32()?) } else { None };
        let cache = if p.take_word("cache")? { Some(p.one_of(Cache::WHAT, Cache::from_word)?) } else { None };
        Ok(Access { view, index, limits, vec, cache })
    }
}

/// What a load reads outside the view: an error without it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill(pub Option<ValueId>);

impl Field for Fill {
    fn each(&self, f: &mut dyn FnMut(ValueId)) {
        self.0.iter().for_each(|v| f(*v))
    }
    fn each_mut(&mut self, f: &mut dyn FnMut(&mut ValueId)) {
        self.0.iter_mut().for_each(f)
    }
    fn print(&self, p: &mut OpPrinter<'_>) {
        if let Some(v) = self.0 {
            p.word("else");
            p.text(" ");
            p.value(v);
        }
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        Ok(Fill(if p.take_word("else")? { Some(p.value()?) } else { None }))
    }
}

/// The header of a counted loop: `lo..hi step s stages n`.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    pub lo: ValueId,
    pub hi: ValueId,
    /// 1 where it is missing.
    pub step: Option<ValueId>,
    /// A hint: loads of this many turns may be in flight.
    pub stages: Option<u32>,
}
impl Field for Range {
    fn each(&self, f: &mut dyn FnMut(ValueId)) {
        f(self.lo);
        f(self.hi);
        self.step.iter().for_each(|v| f(*v));
    }
    fn each_mut(&mut self, f: &mut dyn FnMut(&mut ValueId)) {
        f(&mut self.lo);
        f(&mut self.hi);
        self.step.iter_mut().for_each(f);
    }
    fn print(&self, p: &mut OpPrinter<'_>) {
        p.index(self.lo);
        p.text("..");
        p.index(self.hi);
        if let Some(s) = self.step {
            p.word("step");
            p.text(" ");
            p.index(s);
        }
        if let Some(n) = self.stages {
            p.word("stages");
            p.number(u64::from(n));
        }
    }
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        let lo = p.index()?;
        p.punct("..")?;
        let hi = p.index()?;
        let step = if p.take_word("step")? { Some(p.index()?) } else { None };
        let stages = if p.take_word("stages")? { Some(p.number_u32()?) } else { None };
        Ok(Range { lo, hi, step, stages })
    }
}

/// The first values of what a loop carries. Printed with the names of the region's arguments, so `text` does it.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Carry(pub Vec<ValueId>);

impl Field for Carry {
    fn each(&self, f: &mut dyn FnMut(ValueId)) {
        self.0.iter().for_each(|v| f(*v))
    }
    fn each_mut(&mut self, f: &mut dyn FnMut(&mut ValueId)) {
        self.0.iter_mut().for_each(f)
    }
    fn print(&self, _: &mut OpPrinter<'_>) {}
    fn parse(p: &mut OpParser<'_, '_>) -> Result<Self, ParseFault> {
        Err(p.expected("an op without regions"))
    }
}
