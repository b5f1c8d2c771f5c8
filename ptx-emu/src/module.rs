//! The kernels of a text: parameters, limits, variables, and the instructions of each.

use crate::decode::Body;
use crate::fault::{Fault, Kind};
use crate::inst::{Inst, LANES, Lanes, Space, Ty};
use crate::text::{Form, Statement, split, statements};
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The kernels of a text.
#[derive(Clone, Debug)]
pub struct Module {
    entries: Vec<Entry>,
}

/// One kernel.
#[derive(Clone, Debug)]
pub struct Entry {
    pub name: String,
    /// Bytes of the parameter block.
    pub param_bytes: usize,
    /// `.reqntid` or `.maxntid`: threads of a block, or the most it may have.
    pub threads: u32,
    /// Whether a launch may have fewer.
    pub(crate) fewer: bool,
    /// Blocks of a cluster (`.reqnctapercluster`); 1: there are none.
    pub cluster: u32,
    pub(crate) insts: Vec<Inst>,
    /// By line of the text, from 1: the statement there.
    pub(crate) statements: FxHashMap<u32, String>,
    pub(crate) registers: Vec<String>,
    pub(crate) predicates: Vec<String>,
    pub(crate) constants: Vec<Lanes>,
    /// Where the dynamic shared memory begins, from the beginning of the block's shared memory.
    pub(crate) dynamic_at: u32,
    /// Bytes of shared memory that a block may have on the text's target.
    pub(crate) shared_limit: u32,
    pub(crate) variables: Arc<Variables>,
}

/// Variables of a module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    /// From address 0 of constant memory on.
    pub constant: Vec<u8>,
    /// Global memory: where, and what it holds at first.
    pub global: Vec<(u64, Vec<u8>)>,
}

/// Where shared memory begins: the first KiB belongs to the system.
pub(crate) const SHARED_BASE: u32 = 1024;
/// Shared memory in generic addresses.
pub(crate) const SHARED_WINDOW: u64 = 0x7F00_0000_0000;
/// Where variables in global memory lie, each module's apart.
const VARIABLES: u64 = 0x6000_0000_0000;
const MODULE_SPAN: u64 = 1 << 24;
/// Of the declarations that are read; what a target has is checked at the launch.
const MOST_SHARED: u32 = 1 << 24;
/// Blocks of a cluster, where a launch allows more than the portable eight.
const MOST_CLUSTER: u32 = 16;
/// Constant memory of a module (PTX ISA, state spaces).
const MOST_CONSTANT: usize = 64 << 10;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub space: Space,
    pub address: u64,
}
pub(crate) type Symbols = FxHashMap<String, Symbol>;

pub(crate) fn unknown(what: &str, at: &Statement) -> Fault {
    let (Form::Directive(text) | Form::Header(text) | Form::Label(text) | Form::Plain(text)) = &at.form else {
        return Fault { kind: Kind::Unknown(what.into()), line: at.line, statement: String::new(), thread: None };
    };
    Fault { kind: Kind::Unknown(what.into()), line: at.line, statement: text.clone(), thread: None }
}

/// What is read so far of a module.
#[derive(Default)]
struct Reading {
    symbols: Symbols,
    /// Of static shared memory.
    shared_bytes: u32,
    /// Names of the dynamic shared memory, and its alignment.
    dynamic: Vec<(String, u32)>,
    constant: Vec<u8>,
    global: Vec<(u64, Vec<u8>)>,
    /// Of the text: two modules' variables lie apart.
    hash: u64,
    shared_limit: u32,
}

impl Module {
    /// Reads a PTX text.
    ///
    /// # Errors
    /// A statement that the emulator does not know.
    pub fn parse(text: &str) -> Result<Module, Fault> {
        let mut hasher = rustc_hash::FxHasher::default();
        text.hash(&mut hasher);
        let mut reading = Reading { hash: hasher.finish() >> 52, shared_limit: 99 << 10, ..Reading::default() };
        let all = statements(text);
        let (mut entries, mut at) = (Vec::new(), 0);
        while let Some(statement) = all.get(at) {
            at += 1;
            match &statement.form {
                Form::Directive(text) => reading.directive(text).ok_or_else(|| unknown("this directive", statement))?,
                Form::Plain(text) if reading.declare(text).is_some() => {}
                Form::Header(head) => {
                    let body =
                        scope(&all[at..]).ok_or_else(|| unknown("a kernel without its closing brace", statement))?;
                    entries.push(reading.entry(head, statement, body)?);
                    at += body.len() + 1;
                }
                _ => return Err(unknown("this statement here", statement)),
            }
        }
        let variables = Arc::new(Variables { constant: reading.constant, global: reading.global });
        entries.iter_mut().for_each(|entry| entry.variables = variables.clone());
        Ok(Module { entries })
    }
    /// # Errors
    /// There is none of this name.
    pub fn entry(&self, name: &str) -> Result<&Entry, Fault> {
        let found = self.entries.iter().find(|entry| entry.name == name);
        found.ok_or_else(|| Fault::of_launch(Kind::NoEntry(name.to_string())))
    }
    /// In the order of the text.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// Up to the brace that closes what is open.
fn scope(from: &[Statement]) -> Option<&[Statement]> {
    let mut depth = 1;
    for (at, statement) in from.iter().enumerate() {
        match statement.form {
            Form::Open => depth += 1,
            Form::Close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&from[..at]);
        }
    }
    None
}

impl Reading {
    fn directive(&mut self, text: &str) -> Option<()> {
        if let Some(target) = text.strip_prefix(".target") {
            let number = target.trim().strip_prefix("sm_")?.trim_end_matches(['a', 'f']);
            // Bytes of shared memory that a block can ask for.
            self.shared_limit = match number.parse::<u32>().ok()? {
                80 | 87 => 163 << 10,
                90.. => 227 << 10,
                _ => 99 << 10,
            };
        }
        Some(())
    }
    /// `.shared .align 16 .b8 name[64]`, `.const .b32 table[4] = {1, 2, 3, 4}`.
    fn declare(&mut self, text: &str) -> Option<()> {
        let (left, values) = match text.split_once('=') {
            Some((left, values)) => (left.trim(), Some(values.trim().trim_start_matches('{').trim_end_matches('}'))),
            None => (text.trim(), None),
        };
        let mut words = left.split_whitespace().filter(|word| *word != ".visible");
        let (mut first, mut align, mut ty) = (words.next()?, None, None);
        let dynamic = first == ".extern";
        if dynamic {
            first = words.next()?;
        }
        let mut name = words.next()?;
        while let Some(word) = name.strip_prefix('.') {
            match word {
                "align" => align = words.next()?.parse::<u32>().ok().filter(|n| n.is_power_of_two() && *n <= 1 << 16),
                _ => ty = Ty::from_name(word),
            }
            name = words.next()?;
        }
        let ty = ty?;
        let align = align.unwrap_or(ty.bytes());
        let (name, count) = match name.split_once('[') {
            Some((name, "]")) if dynamic => (name, 0),
            Some((name, count)) => (name, count.trim_end_matches(']').parse::<u32>().ok()?),
            None => (name, 1),
        };
        let bytes = ty.bytes().checked_mul(count).filter(|bytes| u64::from(*bytes) < MODULE_SPAN)?;
        let symbol = match first {
            ".shared" if dynamic => {
                self.dynamic.push((name.to_string(), align));
                return Some(());
            }
            ".shared" if values.is_none() => {
                let address = self.shared_bytes.next_multiple_of(align);
                self.shared_bytes = address.checked_add(bytes).filter(|bytes| *bytes < MOST_SHARED)?;
                Symbol { space: Space::Shared, address: u64::from(SHARED_BASE + address) }
            }
            ".const" => {
                let address = self.constant.len().next_multiple_of(align as usize);
                self.constant.resize(address, 0);
                self.constant.extend(initial(ty, bytes, values)?);
                (self.constant.len() <= MOST_CONSTANT).then_some(())?;
                Symbol { space: Space::Const, address: address as u64 }
            }
            ".global" => {
                let address = match self.global.last() {
                    None => VARIABLES + self.hash * MODULE_SPAN,
                    // Apart, so that a step out of one is seen.
                    Some((at, bytes)) => (at + bytes.len() as u64).next_multiple_of(256) + 256,
                };
                self.global.push((address, initial(ty, bytes, values)?));
                Symbol { space: Space::Global, address }
            }
            _ => return None,
        };
        self.symbols.insert(name.to_string(), symbol);
        Some(())
    }

    fn entry(&mut self, head: &str, at: &Statement, statements: &[Statement]) -> Result<Entry, Fault> {
        let head = Head::read(head).ok_or_else(|| unknown("this head of a kernel", at))?;
        for statement in statements {
            if let Form::Plain(text) = &statement.form
                && [".shared", ".const", ".global", ".extern"].iter().any(|space| text.starts_with(space))
            {
                self.declare(text).ok_or_else(|| unknown("this declaration", statement))?;
            }
        }
        let align = self.dynamic.iter().map(|(_, align)| *align).max().unwrap_or(1);
        let dynamic_at = (SHARED_BASE + self.shared_bytes).next_multiple_of(align) - SHARED_BASE;
        let dynamic = Symbol { space: Space::Shared, address: u64::from(SHARED_BASE + dynamic_at) };
        self.symbols.extend(self.dynamic.iter().map(|(name, _)| (name.clone(), dynamic)));
        let body = Body::read(statements, &self.symbols, &head.params)?;
        Ok(Entry {
            name: head.name,
            param_bytes: head.param_bytes,
            threads: head.threads,
            fewer: head.fewer,
            cluster: head.cluster,
            insts: body.insts,
            statements: body.statements,
            registers: body.registers,
            predicates: body.predicates,
            constants: body.constants.into_iter().map(|bits| [bits; LANES]).collect(),
            dynamic_at,
            shared_limit: self.shared_limit,
            variables: Arc::default(),
        })
    }
}

/// Little-endian; what has no value is zero.
fn initial(ty: Ty, bytes: u32, values: Option<&str>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for value in values.map(split).unwrap_or_default() {
        let bits = crate::decode::immediate(value, ty)?;
        out.extend_from_slice(&bits.to_le_bytes()[..ty.bytes() as usize]);
    }
    (out.len() <= bytes as usize).then(|| {
        out.resize(bytes as usize, 0);
        out
    })
}

/// `.visible .entry name(.param .u64 a, …) .reqntid 256, 1, 1`
struct Head {
    name: String,
    /// Where each parameter begins.
    params: FxHashMap<String, u32>,
    param_bytes: usize,
    threads: u32,
    fewer: bool,
    cluster: u32,
}
impl Head {
    fn read(text: &str) -> Option<Head> {
        let (before, list, directives) = match text.split_once('(') {
            Some((before, rest)) => {
                let (list, directives) = rest.split_once(')')?;
                (before, list, directives)
            }
            None => {
                let (before, directives) = text.split_once(" .").unwrap_or((text, ""));
                (before, "", directives)
            }
        };
        let name = before.strip_prefix(".visible ").unwrap_or(before).trim().strip_prefix(".entry")?.trim().to_string();
        let (mut params, mut end) = (FxHashMap::default(), 0u32);
        for param in split(list) {
            let mut words = param.split_whitespace().filter(|word| *word != ".param");
            let (mut align, mut ty, mut word) = (None, None, words.next()?);
            while let Some(directive) = word.strip_prefix('.') {
                match directive {
                    "align" => align = Some(words.next()?.parse::<u32>().ok()?),
                    "ptr" | "global" | "const" | "shared" => {}
                    _ => ty = Some(Ty::from_name(directive)?),
                }
                word = words.next()?;
            }
            let ty = ty?;
            let (name, count) = match word.split_once('[') {
                Some((name, count)) => (name, count.trim_end_matches(']').parse::<u32>().ok()?),
                None => (word, 1),
            };
            let at = end.checked_next_multiple_of(align.unwrap_or(ty.bytes()))?;
            params.insert(name.to_string(), at);
            end = at.checked_add(ty.bytes().checked_mul(count)?)?;
        }
        let (mut threads, mut fewer, mut cluster) = (None, false, 1);
        let (mut words, mut known) = (directives.split_whitespace().peekable(), true);
        while let Some(word) = words.next() {
            let mut numbers = String::new();
            while let Some(next) = words.next_if(|next| !next.starts_with('.')) {
                numbers.push_str(next);
            }
            let product = || numbers.split(',').try_fold(1u32, |all, n| all.checked_mul(n.parse().ok()?));
            match word.trim_start_matches('.') {
                "reqntid" => (threads, fewer) = (Some(product()?), false),
                "maxntid" if threads.is_none() => (threads, fewer) = (Some(product()?), true),
                "reqnctapercluster" => cluster = product().filter(|n| (1..=MOST_CLUSTER).contains(n))?,
                "maxntid" | "minnctapersm" | "maxnreg" | "explicitcluster" | "maxclusterrank" => {}
                _ => known = false,
            }
        }
        known.then_some(())?;
        Some(Head { name, params, param_bytes: end as usize, threads: threads?, fewer, cluster })
    }
}
