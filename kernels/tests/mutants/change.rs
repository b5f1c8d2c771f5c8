//! The faults: one line of a program's text, or two, changed. Line numbers stay, so that a report can be held against both
//! texts; what a change adds stands on the changed line.

use std::collections::BTreeMap;
use tilewright::ir::ops::{Access, Op};
use tilewright::ir::{Module, OpId, Type};

/// What is done to one place of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    DropBarrier,
    MoveBarrier,
    DropRecv,
    DropSend,
    SendTwice,
    SwapSends,
    SwapRecvs,
    WrongPort,
    LargerTile,
    LargerRecv,
    ShallowQueue,
    NextTile,
    SharedShard,
    WrongAxis,
    WrongStride,
    Arithmetic,
    ShortLimit,
    NoLimit,
    NoFill,
    NotInside,
    Condition,
    LateStart,
    ShortLoop,
    DropStore,
    StoreTwice,
    AddTwice,
    PlainStore,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::DropBarrier => "drop a barrier",
            Kind::MoveBarrier => "move a barrier past an access",
            Kind::DropRecv => "drop a recv",
            Kind::DropSend => "drop a send",
            Kind::SendTwice => "send twice",
            Kind::SwapSends => "swap two sends",
            Kind::SwapRecvs => "swap two receives",
            Kind::WrongPort => "wrong port",
            Kind::LargerTile => "load of a larger tile",
            Kind::LargerRecv => "larger tile at one end",
            Kind::ShallowQueue => "queues one slot too small",
            Kind::NextTile => "address one tile on",
            Kind::SharedShard => "index 0 for all",
            Kind::WrongAxis => "two axes swapped",
            Kind::WrongStride => "stride doubled",
            Kind::Arithmetic => "wrong arithmetic of ids and sizes",
            Kind::ShortLimit => "limit one short",
            Kind::NoLimit => "no limit",
            Kind::NoFill => "load without its fill",
            Kind::NotInside => "store without `inside`",
            Kind::Condition => "comparison off by one",
            Kind::LateStart => "loop without its first turn",
            Kind::ShortLoop => "loop end one short",
            Kind::DropStore => "drop a store",
            Kind::StoreTwice => "store once more, one tile on",
            Kind::AddTwice => "add twice",
            Kind::PlainStore => "store instead of an atomic",
        }
    }
}

pub struct Mutant {
    pub kind: Kind,
    pub text: String,
    /// The changed lines, counted from 1; none for a change of the launch.
    pub lines: Vec<u32>,
    /// Slots of a queue, where the launch is changed.
    pub depth: Option<u32>,
    /// The unchanged program with an assertion that the changed scalar is what it was; where one scalar is changed.
    pub probe: Option<String>,
}

impl Mutant {
    pub fn queues_of(text: &str, depth: u32) -> Mutant {
        Mutant { kind: Kind::ShallowQueue, text: text.to_string(), lines: Vec::new(), depth: Some(depth), probe: None }
    }
    /// The changed line as it now reads.
    pub fn code(&self) -> &str {
        let line = self.lines.first().and_then(|n| self.text.lines().nth(*n as usize - 1));
        line.map_or("", str::trim)
    }
}

/// All mutants of a text whose ops stand on lines of their own. `m`: the module of that text.
pub fn mutants(text: &str, m: &Module) -> Vec<Mutant> {
    let mut at = BTreeMap::new();
    m.each_op(&mut |op| {
        let line = m.locs.get(m.op(op).loc).map_or(0, |loc| loc.place.line);
        at.entry(line as usize).or_insert(op);
    });
    let mut page = Page { lines: text.lines().collect(), m, at, out: Vec::new() };
    for (line, op) in page.at.clone() {
        page.op(line - 1, op);
    }
    page.out
}

struct Page<'t> {
    lines: Vec<&'t str>,
    m: &'t Module,
    /// By line, from 1.
    at: BTreeMap<usize, OpId>,
    out: Vec<Mutant>,
}

impl Page<'_> {
    fn op(&mut self, i: usize, id: OpId) {
        let op = &self.m.op(id).op;
        match op {
            Op::Barrier(_) => self.barrier(i),
            Op::Send(_) => self.send(i),
            Op::Recv(_) => self.recv(i),
            Op::Load(o) => {
                self.access(i, &o.at, o.to.0);
                if let Some((before, ty)) = self.lines[i].trim().rsplit_once(" : ")
                    && let Some(large) = doubled(ty)
                {
                    self.line(Kind::LargerTile, i, format!("{before} : {large}"), None);
                }
                if let Some((before, rest)) = self.lines[i].split_once(" else ") {
                    let ty = rest.split_once(" : ").map_or("", |(_, ty)| ty);
                    self.line(Kind::NoFill, i, format!("{before} : {ty}"), None);
                }
            }
            Op::Store(o) => {
                self.access(i, &o.at, self.m.ty(o.value));
                self.line(Kind::DropStore, i, "// dropped".to_string(), None);
                self.store_twice(i, &o.at, self.m.ty(o.value));
                if self.code(i).starts_with("store inside ") {
                    self.line(Kind::NotInside, i, self.code(i).replacen("store inside", "store", 1), None);
                }
            }
            Op::AtomicAdd(o) => {
                self.access(i, &o.at, self.m.ty(o.value));
                self.line(Kind::DropStore, i, "// dropped".to_string(), None);
                self.line(Kind::AddTwice, i, format!("{0} {0}", self.code(i)), None);
                self.line(Kind::PlainStore, i, self.code(i).replacen("atomic_add", "store", 1), None);
            }
            Op::For(_) | Op::MapReduce(_) => self.counted(i),
            Op::Cmp(_) => {
                let pairs = [("lt", "le"), ("le", "lt"), ("gt", "ge"), ("ge", "gt"), ("eq", "ne"), ("ne", "eq")];
                self.instead(Kind::Condition, i, &pairs.map(|(a, b)| (format!(" = cmp {a} "), format!(" = cmp {b} "))));
            }
            Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::Div(_) | Op::Rem(_) | Op::Minimum(_) | Op::Maximum(_)
                if self.code(i).ends_with(" : i32") =>
            {
                let pairs = [
                    ("add", "sub"),
                    ("sub", "add"),
                    ("mul", "add"),
                    ("div", "rem"),
                    ("rem", "div"),
                    ("minimum", "maximum"),
                    ("maximum", "minimum"),
                ];
                self.instead(Kind::Arithmetic, i, &pairs.map(|(a, b)| (format!(" = {a} "), format!(" = {b} "))));
            }
            _ => {}
        }
    }
    fn code(&self, i: usize) -> &str {
        self.lines[i].trim()
    }
    /// Another line in the place of the `i`-th, perhaps with a probe in its place.
    fn line(&mut self, kind: Kind, i: usize, new: String, probe: Option<String>) {
        let probe = probe.map(|line| self.with(&[(i, line)]));
        self.push(kind, &[(i, new)], probe);
    }
    fn push(&mut self, kind: Kind, changed: &[(usize, String)], probe: Option<String>) {
        let lines = changed.iter().map(|(i, _)| *i as u32 + 1).collect();
        self.out.push(Mutant { kind, text: self.with(changed), lines, depth: None, probe });
    }
    fn with(&self, changed: &[(usize, String)]) -> String {
        let mut lines: Vec<String> = self.lines.iter().map(|line| line.to_string()).collect();
        for (i, new) in changed {
            let line = &self.lines[*i];
            lines[*i] = format!("{}{new}", &line[..line.len() - line.trim_start().len()]);
        }
        lines.join("\n") + "\n"
    }
    /// The first of these words that is there gives way to the other.
    fn instead(&mut self, kind: Kind, i: usize, words: &[(String, String)]) {
        let code = self.code(i).to_string();
        let Some((from, to)) = words.iter().find(|(from, _)| code.contains(from.as_str())) else { return };
        let new = code.replacen(from.as_str(), to, 1);
        let probe = new.split_once(" = ").filter(|_| !new.ends_with('>')).map(|(result, changed)| {
            format!("{code} %mutant = {changed} %same = cmp eq {result}, %mutant : i1 assert %same, \"same\"")
        });
        self.line(kind, i, new, probe);
    }

    fn barrier(&mut self, i: usize) {
        self.line(Kind::DropBarrier, i, "// dropped".to_string(), None);
        let indent = |line: &str| line.len() - line.trim_start().len();
        let inside = |j: &usize| indent(self.lines[*j]) >= indent(self.lines[i]);
        let touches = |j: &usize| {
            let op = self.at.get(&(j + 1)).map(|op| &self.m.op(*op).op);
            indent(self.lines[*j]) == indent(self.lines[i]) && op.is_some_and(|op| op.access().is_some())
        };
        let before = (0..i).rev().take_while(inside).find(touches);
        let behind = (i + 1..self.lines.len()).take_while(inside).find(touches);
        let (barrier, moved) = (self.code(i).to_string(), "// moved".to_string());
        if let Some(j) = before {
            let line = format!("{barrier} {}", self.code(j));
            self.push(Kind::MoveBarrier, &[(i, moved.clone()), (j, line)], None);
        }
        if let Some(j) = behind {
            let line = format!("{} {barrier}", self.code(j));
            self.push(Kind::MoveBarrier, &[(i, moved), (j, line)], None);
        }
    }

    fn send(&mut self, i: usize) {
        let code = self.code(i).to_string();
        let Some((port, value)) = code.strip_prefix("send ").and_then(|s| s.split_once(", ")) else { return };
        self.line(Kind::DropSend, i, "// dropped".to_string(), None);
        self.line(Kind::SendTwice, i, format!("{code} {code}"), None);
        self.line(Kind::WrongPort, i, format!("send {}, {value}", opposite(port)), None);
        self.swap(Kind::SwapSends, i, |op| matches!(op, Op::Send(_)));
    }
    fn recv(&mut self, i: usize) {
        let code = self.code(i).to_string();
        let parts = code.split_once(" = recv ").and_then(|(result, rest)| Some((result, rest.split_once(" : ")?)));
        let Some((result, (port, ty))) = parts else { return };
        let zero = if ty.contains("i32") { "0" } else { "0.0" };
        self.line(Kind::DropRecv, i, format!("{result} = splat {zero} : {ty}"), None);
        self.line(Kind::WrongPort, i, format!("{result} = recv {} : {ty}", opposite(port)), None);
        // Twice as long, of which the rest of the program takes the first half.
        if let Some(large) = doubled(ty) {
            let line = format!("%mutant = recv {port} : {large} {result} = rows %mutant, 0 : {ty}");
            self.line(Kind::LargerRecv, i, line, None);
        }
        self.swap(Kind::SwapRecvs, i, |op| matches!(op, Op::Recv(_)));
    }
    /// The line and the next one, if both are alike.
    fn swap(&mut self, kind: Kind, i: usize, alike: impl Fn(&Op) -> bool) {
        if self.at.get(&(i + 2)).is_some_and(|next| alike(&self.m.op(*next).op)) {
            let (first, second) = (self.code(i).to_string(), self.code(i + 1).to_string());
            self.push(kind, &[(i, second), (i + 1, first)], None);
        }
    }

    fn access(&mut self, i: usize, at: &Access, ty: Type) {
        let code = self.code(i).to_string();
        let Some(index) = indices(&code) else { return };
        for (axis, place) in index.iter().enumerate() {
            let n = tile_length(at, ty, axis);
            self.other_index(Kind::NextTile, i, axis, &format!("add {place}, {n} : i32"));
            if place.starts_with('%') {
                self.other_index(Kind::WrongStride, i, axis, &format!("mul {place}, 2 : i32"));
                let probe = format!("%same = cmp eq {place}, 0:i32 : i1 assert %same, \"same\" {code}");
                self.line(Kind::SharedShard, i, with_index(&code, axis, "0"), Some(probe));
            }
            if let Some(next) = index.get(axis + 1).filter(|next| *next != place) {
                let swapped = with_index(&with_index(&code, axis, next), axis + 1, place);
                let typed =
                    |place: &str| if place.starts_with('%') { place.to_string() } else { format!("{place}:i32") };
                let same = format!("%same = cmp eq {}, {} : i1", typed(place), typed(next));
                self.line(Kind::WrongAxis, i, swapped, Some(format!("{same} assert %same, \"same\" {code}")));
            }
        }
        for (axis, _) in &at.limits {
            let word = format!(" limit {axis}: ");
            let Some((before, rest)) = code.split_once(&word) else { continue };
            let end = rest.find([' ', ',']).unwrap_or(rest.len());
            let (limit, rest) = rest.split_at(end);
            let short = format!("%mutant = sub {limit}, 1 : i32 {before}{word}%mutant{rest}");
            self.line(Kind::ShortLimit, i, short, None);
            self.line(Kind::NoLimit, i, format!("{before}{rest}"), None);
        }
    }
    /// The index along an axis is what `op` makes of it.
    fn other_index(&mut self, kind: Kind, i: usize, axis: usize, op: &str) {
        let code = self.code(i).to_string();
        let place = indices(&code).map_or("", |index| index[axis]);
        let typed = if place.starts_with('%') { place.to_string() } else { format!("{place}:i32") };
        let new = format!("%mutant = {op} {}", with_index(&code, axis, "%mutant"));
        let probe = format!("%mutant = {op} %same = cmp eq {typed}, %mutant : i1 assert %same, \"same\" {code}");
        self.line(kind, i, new, Some(probe));
    }
    fn store_twice(&mut self, i: usize, at: &Access, ty: Type) {
        let code = self.code(i).to_string();
        let Some(index) = indices(&code) else { return };
        let axis = index.iter().position(|place| place.starts_with('%')).unwrap_or(0);
        let n = tile_length(at, ty, axis);
        let again = format!("%mutant = add {}, {n} : i32 {}", index[axis], with_index(&code, axis, "%mutant"));
        self.line(Kind::StoreTwice, i, format!("{code} {again}"), None);
    }

    fn counted(&mut self, i: usize) {
        let code = self.code(i).to_string();
        let Some((head, range)) = code.split_once(" in ") else { return };
        let Some((lo, rest)) = range.split_once("..") else { return };
        let (hi, rest) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        let step = rest.strip_prefix(" step ").map_or("1", |s| s.split(' ').next().unwrap_or("1"));
        let other = |op: String, lo: &str, hi: &str| format!("%mutant = {op} : i32 {head} in {lo}..{hi}{rest}");
        let (late, short) =
            (other(format!("add {lo}, {step}"), "%mutant", hi), other(format!("sub {hi}, 1"), lo, "%mutant"));
        self.line(Kind::LateStart, i, late, None);
        self.line(Kind::ShortLoop, i, short, None);
        if let Some(tail) = rest.strip_prefix(&format!(" step {step}")) {
            let line = format!("%mutant = mul {step}, 2 : i32 {head} in {lo}..{hi} step %mutant{tail}");
            self.line(Kind::WrongStride, i, line, None);
        }
    }
}

/// The indices of an access, as they are written.
fn indices(code: &str) -> Option<Vec<&str>> {
    let (_, rest) = code.split_once('[')?;
    Some(rest.split_once(']')?.0.split(", ").collect())
}
fn with_index(code: &str, axis: usize, new: &str) -> String {
    let (before, rest) = code.split_once('[').unwrap_or((code, ""));
    let (inside, behind) = rest.split_once(']').unwrap_or((rest, ""));
    let mut index: Vec<&str> = inside.split(", ").collect();
    index[axis] = new;
    format!("{before}[{}]{behind}", index.join(", "))
}
/// Places of a tile of this type along an axis of its view.
fn tile_length(at: &Access, ty: Type, axis: usize) -> u32 {
    let dims = ty.dims().map_or(Vec::new(), |dims| dims.as_slice().to_vec());
    let outer = at.index.len() - dims.len();
    axis.checked_sub(outer).map_or(1, |axis| dims[axis])
}
/// A tile type, twice as long along its first axis.
fn doubled(ty: &str) -> Option<String> {
    let (length, rest) = ty.strip_prefix("tile<")?.split_once('x')?;
    Some(format!("tile<{}x{rest}", 2 * length.parse::<u32>().ok()?))
}
/// The port across; of one that names a program, another program.
pub fn opposite(port: &str) -> String {
    let words = [("east", "west"), ("west", "east"), ("north", "south"), ("south", "north")];
    let (kind, to) = port.split_once('.').unwrap();
    match words.iter().find(|(dir, _)| *dir == to) {
        Some((_, other)) => format!("{kind}.{other}"),
        None => format!("{kind}.{}", to.parse::<u32>().unwrap() ^ 1),
    }
}
