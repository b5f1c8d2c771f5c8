//! From statements to instructions. Anything that is not read here is an error with its line: nothing is skipped silently.
//! `operands.rs`: registers, numbers, addresses, modifiers. `arith.rs`: what computes. `memory.rs`: what loads and stores.
//! `cluster.rs`: what blocks of a cluster do to each other. `matrix.rs`: matrices that a warp holds. `warp.rs`: what else lanes do together, barriers, control.

mod arith;
mod cluster;
mod matrix;
mod memory;
mod operands;
mod warp;

pub(crate) use operands::immediate;

use crate::fault::Fault;
use crate::inst::{Inst, Pred, Reg, Truth};
use crate::module::{Symbols, unknown};
use crate::text::{Form, Statement, words};
use operands::Operands;
use rustc_hash::FxHashMap;

/// What is not read, in words.
pub(crate) type Unread = String;

/// That one declaration makes.
const MOST_REGISTERS: u32 = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Reg { reg: Reg, bits: u32 },
    Pred(Pred),
}

/// The instructions of a kernel, and what they name.
pub(crate) struct Body<'m> {
    names: FxHashMap<String, Name>,
    labels: FxHashMap<String, u32>,
    symbols: &'m Symbols,
    params: &'m FxHashMap<String, u32>,
    pub registers: Vec<String>,
    pub predicates: Vec<String>,
    pub constants: Vec<u64>,
    pub insts: Vec<Inst>,
    pub statements: FxHashMap<u32, String>,
}

impl<'m> Body<'m> {
    pub(crate) fn read(
        statements: &[Statement],
        symbols: &'m Symbols,
        params: &'m FxHashMap<String, u32>,
    ) -> Result<Body<'m>, Fault> {
        let mut body = Body {
            names: FxHashMap::default(),
            labels: labels(statements),
            symbols,
            params,
            registers: Vec::new(),
            predicates: Vec::new(),
            constants: Vec::new(),
            insts: Vec::new(),
            statements: FxHashMap::default(),
        };
        for statement in statements {
            match &statement.form {
                Form::Label(_) | Form::Open | Form::Close => {}
                Form::Directive(text) if text.starts_with(".loc") => {}
                Form::Plain(text) if !is_instruction(text) => {
                    body.declare(text).ok_or_else(|| unknown("this declaration", statement))?;
                }
                Form::Plain(text) => {
                    let inst = body.inst(statement.line, text).map_err(|what| unknown(&what, statement))?;
                    body.insts.push(inst);
                    body.statements.insert(statement.line, text.clone());
                }
                Form::Directive(_) | Form::Header(_) => return Err(unknown("this statement here", statement)),
            }
        }
        Ok(body)
    }
    /// `.reg .b32 %r<7>` or `.reg .pred p, q`. Variables have been read before.
    fn declare(&mut self, text: &str) -> Option<()> {
        let Some(rest) = text.strip_prefix(".reg") else {
            return [".shared", ".const", ".global", ".extern", ".pragma"]
                .iter()
                .any(|w| text.starts_with(w))
                .then_some(());
        };
        let (ty, names) = rest.trim().strip_prefix('.')?.split_once(' ')?;
        let ty = crate::inst::Ty::from_name(ty)?;
        for name in names.split(',').map(str::trim) {
            match name.strip_suffix('>').and_then(|name| name.split_once('<')) {
                None => self.register(name.to_string(), ty),
                Some((prefix, count)) => {
                    let count = count.parse::<u32>().ok().filter(|n| *n <= MOST_REGISTERS)?;
                    (0..count).for_each(|i| self.register(format!("{prefix}{i}"), ty));
                }
            }
        }
        Some(())
    }
    fn register(&mut self, name: String, ty: crate::inst::Ty) {
        let made = if ty == crate::inst::Ty::Pred {
            self.predicates.push(name.clone());
            Name::Pred(self.predicates.len() as Pred - 1)
        } else {
            self.registers.push(name.clone());
            Name::Reg { reg: self.registers.len() as Reg - 1, bits: ty.bits() }
        };
        self.names.insert(name, made);
    }
    fn inst(&mut self, line: u32, text: &str) -> Result<Inst, Unread> {
        let words = words(text).ok_or("this statement")?;
        let guard = match words.guard {
            None => None,
            Some((name, negated)) => match self.names.get(name) {
                Some(Name::Pred(pred)) => Some(Truth::Pred { pred: *pred, negated }),
                _ => return Err(format!("the predicate `{name}`")),
            },
        };
        let mut operands = Operands::new(self, &words);
        let families = [arith::op, cluster::op, memory::op, matrix::op, warp::op];
        let mut op = None;
        for family in families {
            op = family(words.opcode, &mut operands)?;
            if op.is_some() {
                break;
            }
        }
        let op = op.ok_or_else(|| format!("`{}`", words.opcode))?;
        operands.finish()?;
        Ok(Inst { guard, op, line })
    }
}

fn is_instruction(text: &str) -> bool {
    !text.starts_with('.')
}
/// The instruction that each label stands before.
fn labels(statements: &[Statement]) -> FxHashMap<String, u32> {
    let (mut out, mut count) = (FxHashMap::default(), 0);
    for statement in statements {
        match &statement.form {
            Form::Label(name) => {
                out.insert(name.clone(), count);
            }
            Form::Plain(text) if is_instruction(text) => count += 1,
            _ => {}
        }
    }
    out
}
