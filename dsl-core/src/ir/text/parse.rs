//! Reads modules. Ops without regions follow their row of the op table (`fields.rs`); for ops with regions see `regions.rs`.

use super::fault::{LIMIT, NAME, ParseFault, SYNTAX};
use super::fields::OpParser;
use super::lex::{Lexed, Lexer, Token};
use super::name::{Name, SHOWN, shortened};
use crate::ir::builder::Builder;
use crate::ir::loc::{Loc, LocId, Place};
use crate::ir::module::{Deny, Module, Results, ValueId};
use crate::ir::ops::Op;
use crate::ir::types::{MAX_NESTING, MAX_OPS, Type};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Reads one kernel. `file` names the text in locations of ops that carry none.
///
/// The result is well-formed text, not yet a valid module: run the verifier on it, or use `read`.
///
/// # Errors
/// The first place where the text does not follow the grammar, uses an unknown name, or exceeds a limit.
pub fn parse(text: &str, file: &str) -> Result<Module, ParseFault> {
    let mut p = Parser::new(text, file)?;
    p.module()?;
    Ok(p.b.finish())
}

/// An op that was read but for the names of its results.
pub(super) struct ReadOp {
    pub op: Op,
    /// Of its results.
    pub types: Vec<Type>,
    /// If the text gives one.
    pub loc: Option<LocId>,
}

pub(super) struct Parser<'t> {
    pub lex: Lexer<'t>,
    pub token: Token,
    /// Where `token` starts: bytes before it, line, column.
    start: usize,
    pub line: u32,
    pub col: u32,
    file: Arc<str>,
    pub b: Builder,
    /// No value yet: the name is taken, but what it names is still being read.
    pub names: FxHashMap<Name, Option<ValueId>>,
    ops: usize,
    nesting: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, file: &str) -> Result<Parser<'t>, ParseFault> {
        let mut lex = Lexer::new(text);
        let Lexed { token, start, line, col } = lex.next()?;
        let (names, b) = (FxHashMap::default(), Builder::new(""));
        Ok(Parser { lex, token, start, line, col, file: file.into(), b, names, ops: 0, nesting: 0 })
    }
    pub fn fault(&self, code: &'static str, text: String) -> ParseFault {
        ParseFault { code, line: self.line, col: self.col, text }
    }
    pub fn expected(&self, what: &str) -> ParseFault {
        self.fault(SYNTAX, format!("expected {what}, found {}", self.token))
    }
    pub fn advance(&mut self) -> Result<Token, ParseFault> {
        let Lexed { token, start, line, col } = self.lex.next()?;
        (self.start, self.line, self.col) = (start, line, col);
        Ok(std::mem::replace(&mut self.token, token))
    }
    /// Advances, and says whether the next token follows without a space.
    pub fn advance_adjacent(&mut self) -> Result<(Token, bool), ParseFault> {
        let end = self.lex.pos();
        let token = self.advance()?;
        Ok((token, self.start == end))
    }
    pub fn is_punct(&self, p: &str) -> bool {
        matches!(&self.token, Token::Punct(q) if *q == p)
    }
    pub fn is_word(&self, w: &str) -> bool {
        matches!(&self.token, Token::Word(x) if x == w)
    }
    pub fn take_punct(&mut self, p: &str) -> Result<bool, ParseFault> {
        let yes = self.is_punct(p);
        if yes {
            self.advance()?;
        }
        Ok(yes)
    }
    pub fn punct(&mut self, p: &str) -> Result<(), ParseFault> {
        if self.take_punct(p)? { Ok(()) } else { Err(self.expected(&format!("`{p}`"))) }
    }
    pub fn take_word(&mut self, w: &str) -> Result<bool, ParseFault> {
        let yes = self.is_word(w);
        if yes {
            self.advance()?;
        }
        Ok(yes)
    }
    pub fn word(&mut self, w: &str) -> Result<(), ParseFault> {
        if self.take_word(w)? { Ok(()) } else { Err(self.expected(&format!("`{w}`"))) }
    }
    pub fn any_word(&mut self) -> Result<String, ParseFault> {
        match &self.token {
            Token::Word(_) => match self.advance()? {
                Token::Word(w) => Ok(w),
                _ => Err(self.expected("a word")),
            },
            _ => Err(self.expected("a word")),
        }
    }
    /// Takes a name that is not in use, from here to the end of the text.
    pub fn new_name(&mut self) -> Result<Name, ParseFault> {
        let Token::Value(name) = &self.token else { return Err(self.expected("a value name like `%x`")) };
        let name = name.clone();
        if self.names.insert(name.clone(), None).is_some() {
            let text = format!("`{}` is defined a second time", shortened(&name.to_string(), SHOWN));
            return Err(self.fault(NAME, text));
        }
        self.advance()?;
        Ok(name)
    }
    /// Says what a name stands for. Marks and plain numbers are the printer's, not the user's.
    pub fn bind(&mut self, name: Name, v: ValueId) {
        if name.is_users {
            self.b.name(v, &name.text);
        }
        self.names.insert(name, Some(v));
    }

    fn module(&mut self) -> Result<(), ParseFault> {
        self.word("kernel")?;
        let Token::Symbol(name) = &self.token else { return Err(self.expected("a kernel name like `@add`")) };
        self.b = Builder::new(&name.clone());
        self.advance()?;
        if self.take_punct("<")? {
            loop {
                let name = self.key_name()?;
                self.punct("=")?;
                let value = self.key_value()?;
                self.b.key(&name, &value);
                if !self.take_punct(",")? {
                    break;
                }
            }
            self.punct(">")?;
        }
        self.punct("(")?;
        while !self.is_punct(")") {
            let name = self.new_name()?;
            self.punct(":")?;
            let ty = self.ty()?;
            let v = self.b.unnamed_param(ty);
            self.bind(name, v);
            if !self.take_punct(",")? {
                break;
            }
        }
        self.punct(")")?;
        if self.take_word("deny")? {
            self.deny()?;
        }
        self.punct("{")?;
        self.ops_until(|p| p.is_punct("}"))?;
        self.punct("}")?;
        if self.token == Token::End { Ok(()) } else { Err(self.expected("the end of the text")) }
    }
    /// `(in_kernel_checks)`, after the word.
    fn deny(&mut self) -> Result<(), ParseFault> {
        self.punct("(")?;
        let mut deny = Deny::default();
        loop {
            let known = matches!(&self.token, Token::Word(name) if deny.add(name));
            if !known {
                return Err(self.expected(&format!("`{}`", Deny::NAMES.join("` or `"))));
            }
            self.advance()?;
            if !self.take_punct(",")? {
                break;
            }
        }
        self.b.deny(deny);
        self.punct(")")
    }
    fn key_name(&mut self) -> Result<String, ParseFault> {
        if let Token::Quoted(_) = &self.token { self.quoted() } else { self.any_word() }
    }
    fn key_value(&mut self) -> Result<String, ParseFault> {
        if let Token::Quoted(_) = &self.token {
            return self.quoted();
        }
        // A plain value may be several tokens of the lexer, without space between them: `1.5e3x`, `a.b`.
        let mut out = String::new();
        loop {
            match &self.token {
                Token::Word(s) | Token::Number(s) => out.push_str(s),
                Token::Punct(p @ ("." | "..")) => out.push_str(p),
                _ if out.is_empty() => return Err(self.expected("the value of this key")),
                _ => return Ok(out),
            }
            if !self.advance_adjacent()?.1 {
                return Ok(out);
            }
        }
    }
    pub fn quoted(&mut self) -> Result<String, ParseFault> {
        let Token::Quoted(s) = &self.token else { return Err(self.expected("a quoted text")) };
        let s = s.clone();
        self.advance()?;
        Ok(s)
    }

    /// Reads ops up to what ends a region.
    pub fn ops_until(&mut self, is_end: impl Fn(&Self) -> bool) -> Result<(), ParseFault> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(self.fault(LIMIT, format!("regions nest deeper than {MAX_NESTING}")));
        }
        while !is_end(self) {
            self.ops += 1;
            if self.ops > MAX_OPS {
                return Err(self.fault(LIMIT, format!("more than {MAX_OPS} ops")));
            }
            self.op()?;
        }
        self.nesting -= 1;
        Ok(())
    }
    pub fn values(&mut self) -> Result<Vec<ValueId>, ParseFault> {
        let mut out = vec![self.typed_value()?];
        while self.take_punct(",")? {
            out.push(self.typed_value()?);
        }
        Ok(out)
    }
    pub fn typed_value(&mut self) -> Result<ValueId, ParseFault> {
        OpParser::new(self).value_or(None)
    }
    fn op(&mut self) -> Result<(), ParseFault> {
        let (line, col) = (self.line, self.col);
        let mut names = Vec::new();
        while let Token::Value(_) = &self.token {
            names.push(self.new_name()?);
            if !self.take_punct(",")? {
                self.punct("=")?;
                break;
            }
        }
        let mnemonic = match &self.token {
            Token::Word(w) => w.clone(),
            _ => return Err(self.expected("an op")),
        };
        let at = (self.line, self.col);
        self.advance()?;
        let ReadOp { op, types, loc } = match mnemonic.as_str() {
            "if" => self.if_op()?,
            "for" => self.for_op()?,
            "while" => self.while_op()?,
            "map_reduce" => self.map_reduce_op()?,
            "composite" => self.composite_op()?,
            "reduce_with" => self.reduce_with_op()?,
            "scan_with" => self.scan_with_op()?,
            _ => self.plain_op(&mnemonic, at)?,
        };
        let loc = match loc {
            Some(loc) => loc,
            None => {
                let place = Place { file: self.file.clone(), line, col };
                self.b.locs().intern(Loc { place, inlined_at: None })
            }
        };
        if names.len() != types.len() {
            let text = format!("results of `{mnemonic}`: {}, names before it: {}", types.len(), names.len());
            return Err(ParseFault { code: SYNTAX, line, col, text });
        }
        let results: Results = self.b.push_unchecked(op, &types, loc);
        names.into_iter().zip(results.iter()).for_each(|(n, v)| self.bind(n, v));
        Ok(())
    }
    fn plain_op(&mut self, mnemonic: &str, at: (u32, u32)) -> Result<ReadOp, ParseFault> {
        let mut fields = OpParser::new(self);
        let parsed = Op::parse_fields(mnemonic, &mut fields);
        let pending = fields.into_pending();
        let unknown = || format!("there is no op `{}`", shortened(mnemonic, SHOWN));
        let mut op = parsed.ok_or_else(|| ParseFault { code: SYNTAX, line: at.0, col: at.1, text: unknown() })??;
        let types = if self.take_punct(":")? { vec![self.ty()?] } else { Vec::new() };
        // Constants whose type the result type tells.
        let mut finals = FxHashMap::default();
        for p in pending {
            let lit = p.literal(types.first().map(|ty| ty.elem()))?;
            finals.insert(p.placeholder, self.b.constant(lit));
        }
        op.each_operand_mut(&mut |v| *v = finals.get(v).copied().unwrap_or(*v));
        if let Some(ty) = types.first() {
            op.set_result_type(*ty);
        }
        let loc = self.loc()?;
        Ok(ReadOp { op, types, loc })
    }
    pub fn loc(&mut self) -> Result<Option<LocId>, ParseFault> {
        if !self.is_word("loc") {
            return Ok(None);
        }
        self.advance()?;
        if !self.is_punct("(") {
            return Err(self.expected("`(`"));
        }
        let bad =
            self.fault(SYNTAX, "expected `(file:line:col inlined at file:line:col)`, an odd file name quoted".into());
        let places = self.lex.location().ok_or(bad)?;
        self.advance()?;
        let mut at = None;
        for (file, line, col) in places.into_iter().rev() {
            let place = Place { file: file.into(), line, col };
            at = Some(self.b.locs().intern(Loc { place, inlined_at: at }));
        }
        Ok(at)
    }
}
