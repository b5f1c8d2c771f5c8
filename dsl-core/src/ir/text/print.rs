//! Writes modules. Names come from the Rust source; the second use of a name gets a mark: `%q'2`.

use super::lex::INLINED_AT;
use super::name::{Name, SHOWN, quote, shortened, spelled, spelled_file, spelled_key, spelled_key_value};
use crate::elem::ElemType;
use crate::ir::loc::{LocId, Place};
use crate::ir::module::*;
use crate::ir::ops::{self, Field, Op};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// The module as text, without locations.
pub fn print(m: &Module) -> String {
    Printer::new(m, false).module()
}
/// The module as text; every op carries `loc(file:line:col inlined at …)`.
pub fn print_with_locs(m: &Module) -> String {
    Printer::new(m, true).module()
}
/// One op on one line, as messages show it; regions are left out.
pub fn op_text(m: &Module, op: OpId) -> String {
    OpTexts::new(m).get(op)
}
/// The printed name of every value, by id: `%part.m'2`, `%14`; constants as their text.
pub fn value_names(m: &Module) -> Vec<String> {
    Names::of(m).names
}

/// The texts of many ops of one module; naming all values once is what takes time.
pub struct OpTexts<'m>(Printer<'m>);

impl<'m> OpTexts<'m> {
    pub fn new(m: &'m Module) -> OpTexts<'m> {
        OpTexts(Printer::new(m, false))
    }
    /// The op on one line; regions are left out, and so is the end of a line that no one would read.
    pub fn get(&mut self, op: OpId) -> String {
        self.0.out.clear();
        self.0.op_head(op);
        shortened(self.0.out.trim_end_matches(" {"), 240)
    }
    /// A value as the text writes it; the beginning of a long name.
    pub fn value(&self, v: ValueId) -> String {
        shortened(self.0.name(v), SHOWN)
    }
}

struct Names<'m> {
    m: &'m Module,
    names: Vec<String>,
    used: FxHashMap<&'m str, u32>,
    unnamed: u32,
}

impl<'m> Names<'m> {
    fn of(m: &'m Module) -> Names<'m> {
        let names = m.values.iter().map(|v| match v.def {
            Def::Const(lit) => lit.to_string(),
            Def::Param(_) | Def::Result(..) | Def::Arg(..) => String::new(),
        });
        let mut n = Names { m, names: names.collect(), used: FxHashMap::default(), unnamed: 0 };
        m.params.iter().for_each(|v| n.name(*v));
        n.region(m.body);
        // What no op defines (an invalid module) still needs a name in the verifier's message.
        (0..m.values.len() as u32).map(ValueId).for_each(|v| n.name(v));
        n
    }
    fn name(&mut self, v: ValueId) {
        if !self.names[v.index()].is_empty() {
            return;
        }
        self.names[v.index()] = match self.m.value(v).name.as_deref() {
            None => {
                self.unnamed += 1;
                format!("%{}", self.unnamed - 1)
            }
            Some(name) => {
                let count = self.used.entry(name).or_default();
                *count += 1;
                let mark = (*count > 1).then_some(*count);
                Name { text: name.to_string(), is_users: true, mark }.to_string()
            }
        };
    }
    /// Arguments first, then results, then what is inside: so the carried value of a loop keeps the plain name.
    fn region(&mut self, r: RegionId) {
        for &id in &self.m.region(r).ops {
            let data = self.m.op(id);
            let regions = data.op.regions();
            regions.iter().for_each(|r| self.m.region(*r).args.iter().for_each(|a| self.name(*a)));
            data.results.iter().for_each(|v| self.name(v));
            regions.iter().for_each(|r| self.region(*r));
        }
    }
}

struct Printer<'m> {
    m: &'m Module,
    names: Names<'m>,
    out: String,
    depth: usize,
    locs: bool,
}

impl<'m> Printer<'m> {
    fn new(m: &'m Module, locs: bool) -> Printer<'m> {
        Printer { m, names: Names::of(m), out: String::new(), depth: 0, locs }
    }
    fn name(&self, v: ValueId) -> &str {
        &self.names.names[v.index()]
    }
    /// A value where nothing says its type: a constant carries it.
    fn typed(&self, v: ValueId) -> String {
        match self.m.literal(v) {
            Some(lit) if lit.elem != ElemType::I1 => format!("{lit}:{}", lit.elem),
            _ => self.name(v).to_string(),
        }
    }
    fn list(&self, values: impl IntoIterator<Item = ValueId>) -> String {
        values.into_iter().map(|v| self.typed(v)).collect::<Vec<_>>().join(", ")
    }

    fn module(mut self) -> String {
        let m = self.m;
        let _ = write!(self.out, "kernel @{}", spelled(&m.name));
        if !m.key.is_empty() {
            let parts: Vec<String> =
                m.key.iter().map(|(k, v)| format!("{}={}", spelled_key(k), spelled_key_value(v))).collect();
            let _ = write!(self.out, "<{}>", parts.join(", "));
        }
        let params: Vec<String> = m.params.iter().map(|p| format!("{}: {}", self.name(*p), m.ty(*p))).collect();
        let _ = write!(self.out, "({})", params.join(", "));
        let denied: Vec<&str> = m.deny.names().collect();
        if !denied.is_empty() {
            let _ = write!(self.out, " deny({})", denied.join(", "));
        }
        self.out.push_str(" {\n");
        self.depth = 1;
        self.region(m.body);
        self.out.push_str("}\n");
        self.out
    }
    fn indent(&mut self) {
        (0..self.depth).for_each(|_| self.out.push_str("  "));
    }
    fn line(&mut self, text: &str) {
        self.indent();
        self.out.push_str(text);
        self.out.push('\n');
    }
    fn region(&mut self, r: RegionId) {
        let m = self.m;
        m.region(r).ops.iter().for_each(|op| self.op(*op));
    }
    /// The ops of a region one level deeper, then what it yields.
    fn block(&mut self, r: RegionId) {
        let m = self.m;
        self.depth += 1;
        self.region(r);
        if !m.region(r).yields.is_empty() {
            let text = format!("yield {}", self.list(m.region(r).yields.iter().copied()));
            self.line(&text);
        }
        self.depth -= 1;
    }
    fn op(&mut self, id: OpId) {
        let m = self.m;
        self.indent();
        self.op_head(id);
        if self.locs {
            self.loc(m.op(id).loc);
        }
        self.out.push('\n');
        match &m.op(id).op {
            Op::If(o) => {
                self.block(o.then);
                let other = m.region(o.other);
                if !other.ops.is_empty() || !other.yields.is_empty() {
                    self.line("} else {");
                    self.block(o.other);
                }
                self.line("}");
            }
            Op::While(o) => {
                self.depth += 1;
                self.region(o.cond);
                let text = format!("while {}", self.list(m.region(o.cond).yields.iter().copied()));
                self.line(&text);
                self.depth -= 1;
                self.block(o.body);
                self.line("}");
            }
            Op::MapReduce(o) => {
                self.block(o.body);
                let text = format!("}} merge ({}) {{", self.list(m.region(o.merge).args.iter().copied()));
                self.line(&text);
                self.block(o.merge);
                self.line("}");
            }
            Op::For(ops::For { body, .. })
            | Op::Composite(ops::Composite { body })
            | Op::ReduceWith(ops::ReduceWith { combine: body, .. })
            | Op::ScanWith(ops::ScanWith { combine: body, .. }) => {
                self.block(*body);
                self.line("}");
            }
            _ => {}
        }
    }
    /// The line of an op; it ends in ` {` if regions follow.
    fn op_head(&mut self, id: OpId) {
        let m = self.m;
        let data = m.op(id);
        let names: Vec<&str> = data.results.iter().map(|v| self.name(v)).collect();
        let mut head = names.join(", ");
        if !names.is_empty() {
            head.push_str(" = ");
        }
        head.push_str(data.op.mnemonic());
        self.out.push_str(&head);
        match &data.op {
            Op::If(o) => {
                let text = format!(" {} {{", self.typed(o.cond));
                self.out.push_str(&text);
            }
            Op::For(o) => {
                let args = &m.region(o.body).args;
                let index = args.first().map_or("", |v| self.name(*v));
                let text = format!(" {index} in ");
                self.out.push_str(&text);
                o.range.print(&mut self.fields(None));
                let text = self.carry(args.get(1..).unwrap_or(&[]), &o.carry.0);
                self.out.push_str(&text);
            }
            Op::MapReduce(o) => {
                let text = format!(" {} in ", self.list(m.region(o.body).args.iter().copied()));
                self.out.push_str(&text);
                o.range.print(&mut self.fields(None));
                self.out.push_str(" {");
            }
            Op::While(o) => {
                let text = self.carry(&m.region(o.cond).args, &o.carry.0);
                self.out.push_str(&text);
            }
            Op::Composite(_) => self.out.push_str(" {"),
            Op::ReduceWith(ops::ReduceWith { x, axis, combine }) | Op::ScanWith(ops::ScanWith { x, axis, combine }) => {
                let mut p = self.fields(None);
                x.print(&mut p);
                axis.print(&mut p);
                let text = format!(" ({}) {{", self.list(m.region(*combine).args.iter().copied()));
                self.out.push_str(&text);
            }
            op => {
                let elem = data.results.get(0).map(|v| m.ty(v).elem());
                op.print_fields(&mut self.fields(elem));
                if let Some(v) = data.results.get(0) {
                    let text = format!(" : {}", m.ty(v));
                    self.out.push_str(&text);
                }
            }
        }
    }
    fn fields(&mut self, elem: Option<ElemType>) -> OpPrinter<'_> {
        OpPrinter { m: self.m, names: &self.names.names, out: &mut self.out, items: 0, elem }
    }
    fn carry(&self, args: &[ValueId], inits: &[ValueId]) -> String {
        let pair = |(a, i): (&ValueId, &ValueId)| format!("{} = {}", self.name(*a), self.typed(*i));
        let pairs: Vec<String> = args.iter().zip(inits).map(pair).collect();
        if pairs.is_empty() { " {".to_string() } else { format!(" carry ({}) {{", pairs.join(", ")) }
    }
    fn loc(&mut self, loc: LocId) {
        let place = |p: &Place| format!("{}:{}:{}", spelled_file(&p.file), p.line, p.col);
        let chain: Vec<String> = self.m.locs.chain(loc).iter().map(place).collect();
        if !chain.is_empty() {
            let _ = write!(self.out, " loc({})", chain.join(INLINED_AT));
        }
    }
}

/// What the fields of an op are written with.
pub struct OpPrinter<'a> {
    m: &'a Module,
    names: &'a [String],
    out: &'a mut String,
    items: usize,
    /// The element of the result type, which the end of the line tells.
    elem: Option<ElemType>,
}

impl OpPrinter<'_> {
    /// Starts an item of the comma-separated list.
    pub fn item(&mut self) {
        self.out.push_str(if self.items == 0 { " " } else { ", " });
        self.items += 1;
    }
    /// A word after what stands so far.
    pub fn word(&mut self, word: &str) {
        self.out.push(' ');
        self.out.push_str(word);
    }
    pub fn number(&mut self, n: u64) {
        let _ = write!(self.out, " {n}");
    }
    pub fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }
    pub fn quoted(&mut self, text: &str) {
        self.out.push_str(&quote(text));
    }
    /// An operand. A constant carries its type unless the result type tells it.
    pub fn value(&mut self, v: ValueId) {
        self.constant_or_name(v, self.elem);
    }
    /// An index, limit or loop end: a bare constant is an i32.
    pub fn index(&mut self, v: ValueId) {
        self.constant_or_name(v, Some(ElemType::I32));
    }
    fn constant_or_name(&mut self, v: ValueId, told: Option<ElemType>) {
        self.out.push_str(&self.names[v.index()]);
        if let Some(lit) = self.m.literal(v)
            && lit.elem != ElemType::I1
            && Some(lit.elem) != told
        {
            let _ = write!(self.out, ":{}", lit.elem);
        }
    }
}
