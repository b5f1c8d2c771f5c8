//! What the fields of an op are read with, and constants.

use super::fault::{CONSTANT, NAME, ParseFault};
use super::lex::Token;
use super::name::{SHOWN, shortened};
use super::parse::Parser;
use crate::elem::{ElemType, Kind};
use crate::ir::literal::Literal;
use crate::ir::module::ValueId;

/// A constant of this element type; `None` if the text is not one.
fn literal(elem: ElemType, text: &str) -> Option<Literal> {
    if let Some(hex) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(hex, 16).ok()?;
        let fits = elem.bits() == 64 || bits >> elem.bits() == 0;
        return (fits && matches!(elem.kind(), Kind::Float | Kind::Storage)).then_some(Literal { elem, bits });
    }
    match elem.kind() {
        Kind::Signed | Kind::Unsigned => Literal::int(elem, text.parse().ok()?),
        // The shortest text of an f32 reads back through f32, not through f64. Too large a number is not an infinity.
        Kind::Float if elem == ElemType::F64 => finite(Literal::float(elem, text.parse().ok()?)?),
        Kind::Float => finite(Literal::float(elem, f64::from(text.parse::<f32>().ok()?))?),
        Kind::Bool | Kind::Storage => None,
    }
}

fn finite(lit: Literal) -> Option<Literal> {
    lit.as_float().is_some_and(f64::is_finite).then_some(lit)
}

/// A number whose type may not be known yet.
pub(super) struct Pending {
    /// What stands for the constant until it is.
    pub placeholder: ValueId,
    number: Number,
}
impl Pending {
    /// The constant, when the end of the line has told the element type, or nothing has.
    pub fn literal(&self, elem: Option<ElemType>) -> Result<Literal, ParseFault> {
        self.number.literal(elem)
    }
}

/// A number as it is written, and where.
struct Number {
    text: String,
    line: u32,
    col: u32,
}
impl Number {
    fn fault(&self, text: String) -> ParseFault {
        ParseFault { code: CONSTANT, line: self.line, col: self.col, text }
    }
    /// The type behind the colon, or the one that `told` names.
    fn literal(&self, told: Option<ElemType>) -> Result<Literal, ParseFault> {
        let (number, elem) = match self.text.split_once(':') {
            Some((number, elem)) => {
                let unknown = || self.fault(format!("`{}` is not an element type", shortened(elem, SHOWN)));
                (number, ElemType::from_name(elem).ok_or_else(unknown)?)
            }
            None => {
                let shown = shortened(&self.text, SHOWN);
                let untold = || self.fault(format!("nothing tells the type of `{shown}`: write `{shown}:i32`"));
                (self.text.as_str(), told.ok_or_else(untold)?)
            }
        };
        let unfit = || self.fault(format!("`{}` is not a constant of type {elem}", shortened(number, SHOWN)));
        literal(elem, number).ok_or_else(unfit)
    }
}

/// What the fields of an op are read with.
pub struct OpParser<'p, 't> {
    p: &'p mut Parser<'t>,
    items: usize,
    /// Constants whose type stands at the end of the line.
    pending: Vec<Pending>,
}

impl<'p, 't> OpParser<'p, 't> {
    pub(super) fn new(p: &'p mut Parser<'t>) -> OpParser<'p, 't> {
        OpParser { p, items: 0, pending: Vec::new() }
    }
    /// The constants that were read without a type.
    pub(super) fn into_pending(self) -> Vec<Pending> {
        self.pending
    }
    /// For ops whose line does not end in a type.
    pub(super) fn no_pending(&self) -> Result<(), ParseFault> {
        self.pending.first().map_or(Ok(()), |p| p.literal(None).map(|_| ()))
    }
    pub fn expected(&self, what: &str) -> ParseFault {
        self.p.expected(what)
    }
    /// Starts an item: reads the comma before it, unless it is the first.
    pub fn item(&mut self) -> Result<(), ParseFault> {
        self.items += 1;
        if self.items > 1 { self.p.punct(",") } else { Ok(()) }
    }
    /// Whether another item follows.
    pub fn at_comma(&self) -> bool {
        self.p.is_punct(",")
    }
    pub fn punct(&mut self, p: &str) -> Result<(), ParseFault> {
        self.p.punct(p)
    }
    pub fn take_punct(&mut self, p: &str) -> Result<bool, ParseFault> {
        self.p.take_punct(p)
    }
    pub fn word(&mut self, w: &str) -> Result<(), ParseFault> {
        self.p.word(w)
    }
    pub fn take_word(&mut self, w: &str) -> Result<bool, ParseFault> {
        self.p.take_word(w)
    }
    pub fn any_word(&mut self) -> Result<String, ParseFault> {
        self.p.any_word()
    }
    pub fn one_of<T>(&mut self, what: &str, from: impl Fn(&str) -> Option<T>) -> Result<T, ParseFault> {
        match &self.p.token {
            Token::Word(w) => match from(w) {
                Some(v) => {
                    self.p.advance()?;
                    Ok(v)
                }
                None => Err(self.p.expected(what)),
            },
            _ => Err(self.p.expected(what)),
        }
    }
    pub fn number_u32(&mut self) -> Result<u32, ParseFault> {
        self.p.number_u32()
    }
    pub fn quoted(&mut self) -> Result<String, ParseFault> {
        self.p.quoted()
    }
    /// An operand; a bare constant takes the element of the result type.
    pub fn value(&mut self) -> Result<ValueId, ParseFault> {
        let Token::Number(text) = &self.p.token else { return self.value_or(None) };
        if text.contains(':') {
            return self.value_or(None);
        }
        let number = self.number(text.clone())?;
        // Not interned: each pending constant has an id of its own until its type is known.
        let placeholder = self.p.b.placeholder();
        self.pending.push(Pending { placeholder, number });
        Ok(placeholder)
    }
    /// An index, limit or loop end; a bare constant is an i32.
    pub fn index(&mut self) -> Result<ValueId, ParseFault> {
        self.value_or(Some(ElemType::I32))
    }
    /// A value; a bare constant is of the type `told`, if there is one.
    pub(super) fn value_or(&mut self, told: Option<ElemType>) -> Result<ValueId, ParseFault> {
        match &self.p.token {
            Token::Value(name) => match self.p.names.get(name).copied().flatten() {
                Some(v) => {
                    self.p.advance()?;
                    Ok(v)
                }
                None => {
                    let name = shortened(&name.to_string(), SHOWN);
                    Err(self.p.fault(NAME, format!("`{name}` is not defined before this use")))
                }
            },
            Token::Word(w) if w == "true" || w == "false" => {
                let value = w == "true";
                self.p.advance()?;
                Ok(self.p.b.constant(value.into()))
            }
            Token::Number(text) => {
                let lit = self.number(text.clone())?.literal(told)?;
                Ok(self.p.b.constant(lit))
            }
            _ => Err(self.p.expected("a value")),
        }
    }
    /// The number that stands here.
    fn number(&mut self, text: String) -> Result<Number, ParseFault> {
        let number = Number { text, line: self.p.line, col: self.p.col };
        self.p.advance()?;
        Ok(number)
    }
}
