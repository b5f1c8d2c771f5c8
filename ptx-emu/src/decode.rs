//! From text to instructions. Anything that is not read here is an error with its line: nothing is skipped silently.

use crate::fault::{Fault, Kind};
use crate::inst::{Addr, Atomic, Bin, Cmp, Inst, Op, Reg, Round, Shuffle, Space, Special, Src, Tern, Ty, Un, Vote};
use crate::text::{Statement, Text, statement, without_comment};
use rustc_hash::FxHashMap;

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
    /// `.reqntid` or `.maxntid`.
    pub threads: u32,
    pub(crate) insts: Vec<Inst>,
    /// By line of the text, from 1: the statement there.
    pub(crate) lines: FxHashMap<u32, String>,
    pub(crate) registers: usize,
}

impl Module {
    /// Reads a PTX text.
    ///
    /// # Errors
    /// A statement that the emulator does not know.
    pub fn parse(text: &str) -> Result<Module, Fault> {
        let mut entries = Vec::new();
        let mut lines = text.lines().enumerate().map(|(at, line)| (at as u32 + 1, without_comment(line)));
        while let Some((at, line)) = lines.next() {
            let known = ["", ".version", ".target", ".address_size", ".extern .shared"];
            if line.is_empty() || known.iter().skip(1).any(|word| line.starts_with(word)) {
                continue;
            }
            match line.strip_prefix(".visible .entry ") {
                Some(head) => entries.push(entry(head, at, &mut lines)?),
                None => return Err(unknown(line, at, line)),
            }
        }
        Ok(Module { entries })
    }
    /// # Errors
    /// There is none of this name.
    pub fn entry(&self, name: &str) -> Result<&Entry, Fault> {
        self.entries.iter().find(|entry| entry.name == name).ok_or_else(|| Fault {
            kind: Kind::NoEntry(name.to_string()),
            line: 0,
            statement: String::new(),
            thread: None,
        })
    }
}

fn unknown(what: &str, line: u32, statement: &str) -> Fault {
    Fault { kind: Kind::Unknown(format!("`{what}`")), line, statement: statement.to_string(), thread: None }
}

/// From behind `.visible .entry` to the closing brace.
fn entry<'t>(head: &'t str, at: u32, lines: &mut impl Iterator<Item = (u32, &'t str)>) -> Result<Entry, Fault> {
    let mut head_text = head.to_string();
    let mut last = at;
    while !head_text.contains('{') {
        let (line, text) = lines.next().ok_or_else(|| unknown("the end of the text", last, ""))?;
        head_text.push(' ');
        head_text.push_str(text);
        last = line;
    }
    let (name, rest) = head_text.split_once('(').ok_or_else(|| unknown(head, at, head))?;
    let (params, directives) = rest.split_once(')').ok_or_else(|| unknown(head, at, head))?;
    let number = |text: &str| text.trim().trim_end_matches(',').parse::<u32>().ok();
    let bytes = params.rsplit_once('[').and_then(|(_, n)| number(n.trim_end().strip_suffix(']')?));
    let param = params.rsplit_once('[').and_then(|(before, _)| before.split_whitespace().last()).unwrap_or("");
    let param_bytes = bytes.ok_or_else(|| unknown(params, at, head))? as usize;
    let threads = ["reqntid", "maxntid"].iter().find_map(|word| {
        let after = directives.split_once(word)?.1;
        after.split([',', '.']).next().and_then(number).or_else(|| after.split_whitespace().next().and_then(number))
    });
    let mut body =
        Body { registers: FxHashMap::default(), count: 0, labels: FxHashMap::default(), param: param.to_string() };
    let (mut texts, mut statements): (Vec<(u32, Text<'t>)>, FxHashMap<u32, String>) = Default::default();
    for (line, text) in lines {
        if text == "}" {
            let insts = texts.iter().map(|(line, text)| body.inst(*line, text)).collect::<Result<_, _>>()?;
            let threads = threads.ok_or_else(|| unknown("a kernel without .reqntid", at, head))?;
            return Ok(Entry {
                name: name.trim().to_string(),
                param_bytes,
                threads,
                insts,
                lines: statements,
                registers: body.count,
            });
        }
        let text = text.trim_end_matches(';').trim();
        if text.is_empty() {
            continue;
        }
        match statement(text).ok_or_else(|| unknown(text, line, text))? {
            Statement::Label(label) => {
                body.labels.insert(label.to_string(), texts.len() as u32);
            }
            Statement::Registers { prefix, count } => {
                for i in 0..count {
                    body.registers.insert(format!("{prefix}{i}"), body.count as u32);
                    body.count += 1;
                }
            }
            Statement::Inst(inst) => {
                statements.insert(line, inst.whole.to_string());
                texts.push((line, inst));
            }
        }
    }
    Err(unknown("the end of the text", at, head))
}

struct Body {
    registers: FxHashMap<String, Reg>,
    count: usize,
    labels: FxHashMap<String, u32>,
    /// What the parameter block is called.
    param: String,
}

/// Reads the operands of one instruction.
struct Operands<'b, 't> {
    body: &'b Body,
    text: &'b Text<'t>,
    ty: Ty,
}

impl Body {
    fn inst(&self, line: u32, text: &Text<'_>) -> Result<Inst, Fault> {
        let read = || -> Option<Inst> {
            let guard = match text.guard {
                None => None,
                Some((name, negated)) => Some((*self.registers.get(name)?, negated)),
            };
            Some(Inst { guard, op: self.op(text)?, line })
        };
        read().ok_or_else(|| unknown(text.whole, line, text.whole))
    }
    fn op(&self, text: &Text<'_>) -> Option<Op> {
        let types: Vec<Ty> = text.modifiers.iter().filter_map(|word| Ty::from_name(word)).collect();
        let ty = types.last().copied().unwrap_or(Ty::B32);
        let has = |word: &str| text.modifiers.contains(&word);
        let ops = Operands { body: self, text, ty };
        let (ftz, round) = (has("ftz"), text.modifiers.iter().find_map(|word| round(word)));
        Some(match text.opcode {
            "mov" => return ops.mov(),
            "add" => ops.bin(Bin::Add, ftz)?,
            "sub" => ops.bin(Bin::Sub, ftz)?,
            "mul" if has("wide") => ops.bin(Bin::MulWide, ftz)?,
            "mul" if has("hi") => ops.bin(Bin::MulHi, ftz)?,
            "mul" => ops.bin(Bin::MulLo, ftz)?,
            "div" => ops.bin(Bin::Div, ftz)?,
            "rem" => ops.bin(Bin::Rem, ftz)?,
            "min" => ops.bin(if has("NaN") { Bin::MinNan } else { Bin::Min }, ftz)?,
            "max" => ops.bin(if has("NaN") { Bin::MaxNan } else { Bin::Max }, ftz)?,
            "and" => ops.bin(Bin::And, ftz)?,
            "or" => ops.bin(Bin::Or, ftz)?,
            "xor" => ops.bin(Bin::Xor, ftz)?,
            "copysign" => ops.bin(Bin::CopySign, ftz)?,
            "shl" => Op::Bin { op: Bin::Shl, ty, ftz, d: ops.reg(0)?, a: ops.src(1)?, b: ops.src_as(2, Ty::U32)? },
            "shr" => Op::Bin { op: Bin::Shr, ty, ftz, d: ops.reg(0)?, a: ops.src(1)?, b: ops.src_as(2, Ty::U32)? },
            "mad" if has("wide") => ops.tern(Tern::MadWide, ftz)?,
            "mad" => ops.tern(Tern::MadLo, ftz)?,
            "fma" => ops.tern(Tern::Fma, ftz)?,
            "neg" => ops.un(Un::Neg, ftz)?,
            "abs" => ops.un(Un::Abs, ftz)?,
            "not" => ops.un(Un::Not, ftz)?,
            "popc" => ops.un(Un::Popc, ftz)?,
            "clz" => ops.un(Un::Clz, ftz)?,
            "brev" => ops.un(Un::Brev, ftz)?,
            "ex2" => ops.un(Un::Ex2, ftz)?,
            "lg2" => ops.un(Un::Lg2, ftz)?,
            "sqrt" => ops.un(Un::Sqrt, ftz)?,
            "rsqrt" => ops.un(Un::Rsqrt, ftz)?,
            "rcp" => ops.un(Un::Rcp, ftz)?,
            "sin" => ops.un(Un::Sin, ftz)?,
            "cos" => ops.un(Un::Cos, ftz)?,
            "tanh" => ops.un(Un::Tanh, ftz)?,
            "cvt" => match (text.modifiers.last()?, types.as_slice()) {
                _ if has("bf16x2") || has("f16x2") => {
                    let to = if has("bf16x2") { Ty::Bf16 } else { Ty::F16 };
                    Op::CvtPack { to, d: ops.reg(0)?, hi: ops.src_as(1, Ty::F32)?, lo: ops.src_as(2, Ty::F32)? }
                }
                (_, [to, from]) => {
                    Op::Cvt { to: *to, from: *from, round, sat: has("sat"), d: ops.reg(0)?, a: ops.src_as(1, *from)? }
                }
                _ => return None,
            },
            "cvta" => Op::Mov { ty: Ty::B64, d: ops.reg(0)?, a: ops.src(1)? },
            "setp" => Op::Setp {
                cmp: text.modifiers.iter().find_map(|w| compare(w))?,
                ty,
                d: ops.reg(0)?,
                a: ops.src(1)?,
                b: ops.src(2)?,
            },
            "selp" => Op::Selp { ty, d: ops.reg(0)?, a: ops.src(1)?, b: ops.src(2)?, p: ops.reg(3)? },
            "lop3" => Op::Lop3 {
                d: ops.reg(0)?,
                a: ops.src(1)?,
                b: ops.src(2)?,
                c: ops.src(3)?,
                table: immediate(ops.text.operands.get(4)?, Ty::U32)? as u8,
            },
            "prmt" => Op::Prmt { d: ops.reg(0)?, a: ops.src(1)?, b: ops.src(2)?, sel: ops.src(3)? },
            "bfe" => Op::Bfe {
                ty,
                d: ops.reg(0)?,
                a: ops.src(1)?,
                from: ops.src_as(2, Ty::U32)?,
                width: ops.src_as(3, Ty::U32)?,
            },
            "bfi" => Op::Bfi {
                d: ops.reg(0)?,
                a: ops.src(1)?,
                into: ops.src(2)?,
                from: ops.src_as(3, Ty::U32)?,
                width: ops.src_as(4, Ty::U32)?,
            },
            "ld" => Op::Ld { space: space(text)?, ty, d: ops.regs(0)?, at: ops.addr(1)? },
            "st" => Op::St { space: space(text)?, ty, at: ops.addr(0)?, a: ops.sources(1)? },
            "red" => Op::Atom {
                space: space(text)?,
                op: atomic(text)?,
                ty,
                d: None,
                at: ops.addr(0)?,
                a: ops.src(1)?,
                b: None,
            },
            "atom" => {
                let b = if ops.text.operands.len() > 3 { Some(ops.src(3)?) } else { None };
                Op::Atom {
                    space: space(text)?,
                    op: atomic(text)?,
                    ty,
                    d: Some(ops.reg(0)?),
                    at: ops.addr(1)?,
                    a: ops.src(2)?,
                    b,
                }
            }
            "createpolicy" => Op::Mov { ty: Ty::B64, d: ops.reg(0)?, a: Src::Imm(0) },
            "shfl" => return ops.shfl(),
            "vote" => {
                let mode = text.modifiers.iter().find_map(|w| match *w {
                    "all" => Some(Vote::All),
                    "any" => Some(Vote::Any),
                    "uni" => Some(Vote::Uni),
                    "ballot" => Some(Vote::Ballot),
                    _ => None,
                })?;
                let a = ops.text.operands.get(1)?;
                let (a, negated) = a.strip_prefix('!').map_or((*a, false), |rest| (rest, true));
                Op::Vote { mode, d: ops.reg(0)?, a: ops.read(a, Ty::Pred)?, negated }
            }
            "bar" if has("warp") => Op::BarWarp,
            "bar" | "barrier" if has("sync") => Op::Bar,
            "membar" | "fence" => Op::Fence,
            "bra" => Op::Bra { to: *self.labels.get(*ops.text.operands.first()?)? },
            "ret" | "exit" => Op::Ret,
            "trap" => Op::Trap,
            "prefetch" | "prefetchu" => Op::Nothing,
            _ => return None,
        })
    }
}

impl Operands<'_, '_> {
    fn read(&self, text: &str, ty: Ty) -> Option<Src> {
        if let Some(reg) = self.body.registers.get(text) {
            return Some(Src::Reg(*reg));
        }
        if let Some(special) = special(text) {
            return Some(Src::Special(special));
        }
        immediate(text, ty).map(Src::Imm)
    }
    fn src_as(&self, at: usize, ty: Ty) -> Option<Src> {
        self.read(self.text.operands.get(at)?, ty)
    }
    fn src(&self, at: usize) -> Option<Src> {
        self.src_as(at, self.ty)
    }
    fn reg(&self, at: usize) -> Option<Reg> {
        self.body.registers.get(*self.text.operands.get(at)?).copied()
    }
    /// One, or several in braces.
    fn list(&self, at: usize) -> Option<Vec<&str>> {
        let text = self.text.operands.get(at)?;
        match text.strip_prefix('{') {
            None => Some(vec![text]),
            Some(rest) => Some(rest.strip_suffix('}')?.split(',').map(str::trim).collect()),
        }
    }
    fn regs(&self, at: usize) -> Option<Vec<Reg>> {
        self.list(at)?.into_iter().map(|name| self.body.registers.get(name).copied()).collect()
    }
    fn sources(&self, at: usize) -> Option<Vec<Src>> {
        self.list(at)?.into_iter().map(|text| self.read(text, self.ty)).collect()
    }
    /// `[base+offset]`: a register, the parameter block, or the dynamic shared memory, which begins at 0.
    fn addr(&self, at: usize) -> Option<Addr> {
        let inside = self.text.operands.get(at)?.strip_prefix('[')?.strip_suffix(']')?.trim();
        let (base, offset) = match inside.find(['+', '-'].as_slice()) {
            Some(at) if inside[at..].starts_with('-') => (&inside[..at], inside[at..].parse().ok()?),
            Some(at) => (&inside[..at], inside[at + 1..].trim().trim_start_matches('+').parse().ok()?),
            None => (inside, 0),
        };
        match self.body.registers.get(base.trim()) {
            Some(reg) => Some(Addr { base: Some(*reg), offset }),
            None if base.trim() == self.body.param || is_symbol(base.trim()) => Some(Addr { base: None, offset }),
            None => None,
        }
    }
    fn bin(&self, op: Bin, ftz: bool) -> Option<Op> {
        Some(Op::Bin { op, ty: self.ty, ftz, d: self.reg(0)?, a: self.src(1)?, b: self.src(2)? })
    }
    fn tern(&self, op: Tern, ftz: bool) -> Option<Op> {
        Some(Op::Tern { op, ty: self.ty, ftz, d: self.reg(0)?, a: self.src(1)?, b: self.src(2)?, c: self.src(3)? })
    }
    fn un(&self, op: Un, ftz: bool) -> Option<Op> {
        Some(Op::Un { op, ty: self.ty, ftz, d: self.reg(0)?, a: self.src(1)? })
    }
    fn mov(&self) -> Option<Op> {
        let (to, from) = (self.list(0)?, self.list(1)?);
        if to.len() > 1 {
            return Some(Op::Unpack { ty: self.ty, d: self.regs(0)?, a: self.src(1)? });
        }
        if from.len() > 1 {
            return Some(Op::Pack { ty: self.ty, d: self.reg(0)?, parts: self.regs(1)? });
        }
        let a = match self.src(1) {
            Some(src) => src,
            // The address of a place in the dynamic shared memory.
            None => {
                let text = self.text.operands.get(1)?;
                let (name, offset) = text.split_once('+').unwrap_or((text, "0"));
                is_symbol(name).then(|| offset.parse().ok().map(Src::Imm)).flatten()?
            }
        };
        Some(Op::Mov { ty: self.ty, d: self.reg(0)?, a })
    }
    fn shfl(&self) -> Option<Op> {
        let mode = self.text.modifiers.iter().find_map(|w| match *w {
            "bfly" => Some(Shuffle::Bfly),
            "up" => Some(Shuffle::Up),
            "down" => Some(Shuffle::Down),
            "idx" => Some(Shuffle::Idx),
            _ => None,
        })?;
        let (d, p) = match self.text.operands.first()?.split_once('|') {
            Some((d, p)) => (*self.body.registers.get(d)?, Some(*self.body.registers.get(p)?)),
            None => (self.reg(0)?, None),
        };
        Some(Op::Shfl { mode, d, p, a: self.src(1)?, b: self.src_as(2, Ty::U32)?, c: self.src_as(3, Ty::U32)? })
    }
}

fn is_symbol(name: &str) -> bool {
    name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
}
fn special(name: &str) -> Option<Special> {
    Some(match name {
        "%tid.x" => Special::TidX,
        "%ntid.x" => Special::NtidX,
        "%ctaid.x" => Special::CtaidX,
        "%nctaid.x" => Special::NctaidX,
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%clock64" | "%clock" | "%globaltimer" => Special::Clock,
        _ => return None,
    })
}
/// A number of this type: decimal, `0x…`, or the bits of a float, `0f…` and `0d…`.
fn immediate(text: &str, ty: Ty) -> Option<u64> {
    if let Some(bits) = text.strip_prefix("0f") {
        return u32::from_str_radix(bits, 16).ok().map(u64::from);
    }
    if let Some(bits) = text.strip_prefix("0d") {
        return u64::from_str_radix(bits, 16).ok();
    }
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let n = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse::<u64>().ok()?,
    };
    Some((if negative { n.wrapping_neg() } else { n }) & ty.mask())
}
fn space(text: &Text<'_>) -> Option<Space> {
    text.modifiers.iter().find_map(|word| match *word {
        "global" => Some(Space::Global),
        "shared" | "shared::cta" => Some(Space::Shared),
        "param" => Some(Space::Param),
        _ => None,
    })
}
fn atomic(text: &Text<'_>) -> Option<Atomic> {
    text.modifiers.iter().find_map(|word| match *word {
        "add" => Some(Atomic::Add),
        "min" => Some(Atomic::Min),
        "max" => Some(Atomic::Max),
        "and" => Some(Atomic::And),
        "or" => Some(Atomic::Or),
        "xor" => Some(Atomic::Xor),
        "exch" => Some(Atomic::Exch),
        "cas" => Some(Atomic::Cas),
        _ => None,
    })
}
fn round(word: &str) -> Option<Round> {
    Some(match word {
        "rn" => Round::Rn,
        "rz" => Round::Rz,
        "rm" => Round::Rm,
        "rp" => Round::Rp,
        "rni" => Round::Rni,
        "rzi" => Round::Rzi,
        "rmi" => Round::Rmi,
        "rpi" => Round::Rpi,
        _ => return None,
    })
}
fn compare(word: &str) -> Option<Cmp> {
    Some(match word {
        "eq" => Cmp::Eq,
        "ne" => Cmp::Ne,
        "lt" | "lo" => Cmp::Lt,
        "le" | "ls" => Cmp::Le,
        "gt" | "hi" => Cmp::Gt,
        "ge" | "hs" => Cmp::Ge,
        "equ" => Cmp::Equ,
        "neu" => Cmp::Neu,
        "ltu" => Cmp::Ltu,
        "leu" => Cmp::Leu,
        "gtu" => Cmp::Gtu,
        "geu" => Cmp::Geu,
        "num" => Cmp::Num,
        "nan" => Cmp::Nan,
        _ => return None,
    })
}
