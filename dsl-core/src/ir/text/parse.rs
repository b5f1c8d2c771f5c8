//! Reads modules. Ops without regions follow their row of the op table; ops with regions are read here.

use super::lex::{CONSTANT, LIMIT, Lexer, NAME, ParseFault, SYNTAX, Token};
use crate::elem::{ElemType, Kind};
use crate::ir::builder::Builder;
use crate::ir::literal::Literal;
use crate::ir::loc::{Loc, LocId, Place};
use crate::ir::module::{Module, RegionId, Results, ValueId};
use crate::ir::ops::{self, Carry, Field, Op};
use crate::ir::types::{Dims, MAX_NESTING, MAX_OPS, MAX_RANK, Type, ViewType};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Reads one kernel. `file` names the text in locations of ops that carry none.
///
/// The result is well-formed text, not yet a valid module: run the verifier on it.
///
/// # Errors
/// The first place where the text does not follow the grammar, uses an unknown name, or exceeds a limit.
pub fn parse(text: &str, file: &str) -> Result<Module, ParseFault> {
    let mut p = Parser::new(text, file)?;
    p.module()?;
    Ok(p.b.finish())
}

struct Parser<'t> {
    lex: Lexer<'t>,
    token: Token,
    line: u32,
    col: u32,
    file: Arc<str>,
    b: Builder,
    names: FxHashMap<String, ValueId>,
    ops: usize,
    nesting: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, file: &str) -> Result<Parser<'t>, ParseFault> {
        let mut lex = Lexer::new(text);
        let (token, line, col) = lex.next()?;
        let (names, b) = (FxHashMap::default(), Builder::new(""));
        Ok(Parser { lex, token, line, col, file: file.into(), b, names, ops: 0, nesting: 0 })
    }
    fn fault(&self, code: &'static str, text: String) -> ParseFault {
        ParseFault { code, line: self.line, col: self.col, text }
    }
    fn expected(&self, what: &str) -> ParseFault {
        self.fault(SYNTAX, format!("expected {what}, found {}", self.token))
    }
    fn advance(&mut self) -> Result<Token, ParseFault> {
        let (token, line, col) = self.lex.next()?;
        (self.line, self.col) = (line, col);
        Ok(std::mem::replace(&mut self.token, token))
    }
    fn is_punct(&self, p: &str) -> bool {
        matches!(&self.token, Token::Punct(q) if *q == p)
    }
    fn is_word(&self, w: &str) -> bool {
        matches!(&self.token, Token::Word(x) if x == w)
    }
    fn take_punct(&mut self, p: &str) -> Result<bool, ParseFault> {
        let yes = self.is_punct(p);
        if yes {
            self.advance()?;
        }
        Ok(yes)
    }
    fn punct(&mut self, p: &str) -> Result<(), ParseFault> {
        if self.take_punct(p)? { Ok(()) } else { Err(self.expected(&format!("`{p}`"))) }
    }
    fn take_word(&mut self, w: &str) -> Result<bool, ParseFault> {
        let yes = self.is_word(w);
        if yes {
            self.advance()?;
        }
        Ok(yes)
    }
    fn word(&mut self, w: &str) -> Result<(), ParseFault> {
        if self.take_word(w)? { Ok(()) } else { Err(self.expected(&format!("`{w}`"))) }
    }
    fn any_word(&mut self) -> Result<String, ParseFault> {
        match &self.token {
            Token::Word(_) => match self.advance()? {
                Token::Word(w) => Ok(w),
                _ => Err(self.expected("a word")),
            },
            _ => Err(self.expected("a word")),
        }
    }
    fn new_name(&mut self) -> Result<String, ParseFault> {
        let Token::Value(name) = &self.token else { return Err(self.expected("a value name like `%x`")) };
        let name = name.clone();
        if self.names.contains_key(&name) {
            return Err(self.fault(NAME, format!("`%{name}` is defined a second time")));
        }
        self.advance()?;
        Ok(name)
    }
    /// Binds a printed name; the mark behind `'` and plain numbers are the printer's, not the user's.
    fn bind(&mut self, name: String, v: ValueId) {
        let base = name.split('\'').next().unwrap_or("");
        if !base.starts_with(|c: char| c.is_ascii_digit()) {
            self.b.name(v, base);
        }
        self.names.insert(name, v);
    }

    fn module(&mut self) -> Result<(), ParseFault> {
        self.word("kernel")?;
        let Token::Symbol(name) = &self.token else { return Err(self.expected("a kernel name like `@add`")) };
        self.b = Builder::new(&name.clone());
        self.advance()?;
        if self.take_punct("<")? {
            loop {
                let name = self.any_word()?;
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
            let v = self.b.param(name.split('\'').next().unwrap_or(""), ty);
            self.names.insert(name, v);
            if !self.take_punct(",")? {
                break;
            }
        }
        self.punct(")")?;
        self.punct("{")?;
        self.ops_until(&["}"])?;
        self.punct("}")?;
        if self.token == Token::End { Ok(()) } else { Err(self.expected("the end of the text")) }
    }
    fn key_value(&mut self) -> Result<String, ParseFault> {
        if let Token::Quoted(s) = &self.token {
            let s = s.clone();
            self.advance()?;
            return Ok(s);
        }
        // A plain value may be several tokens of the lexer: `1.5e3x`, `a.b-c`.
        let mut out = String::new();
        loop {
            match &self.token {
                Token::Word(s) | Token::Number(s) => out.push_str(s),
                Token::Punct(p @ ("." | "..")) => out.push_str(p),
                _ if out.is_empty() => return Err(self.expected("the value of this key")),
                _ => return Ok(out),
            }
            self.advance()?;
        }
    }

    fn ty(&mut self) -> Result<Type, ParseFault> {
        let word = self.any_word()?;
        match word.as_str() {
            "tile" => {
                self.punct("<")?;
                let (dims, elem) = self.dims()?;
                self.punct(">")?;
                let lens: Vec<usize> = dims.iter().map(|d| d.unwrap_or(0) as usize).collect();
                let limit = || {
                    self.fault(LIMIT, "a tile has 1 to 4 axes, lengths above zero and at most 4194304 elements".into())
                };
                let dims = Dims::new(&lens).filter(|d| d.rank() > 0).ok_or_else(limit)?;
                Ok(Type::Tile(elem, dims))
            }
            "view" | "view_mut" => {
                self.punct("<")?;
                let (dims, elem) = self.dims()?;
                if dims.is_empty() || dims.len() > MAX_RANK {
                    return Err(self.fault(LIMIT, "a view has 1 to 4 axes".into()));
                }
                let mut v = ViewType::dynamic(elem, dims.len(), word == "view_mut");
                v.dims[..dims.len()].copy_from_slice(&dims);
                if self.take_punct(",")? {
                    self.word("strides")?;
                    self.punct("[")?;
                    for i in 0..dims.len() {
                        if i > 0 {
                            self.punct(",")?;
                        }
                        v.strides[i] = if self.take_punct("?")? { None } else { Some(self.number_u32()?) };
                    }
                    self.punct("]")?;
                }
                self.punct(">")?;
                Ok(Type::View(v))
            }
            elem => match ElemType::from_name(elem) {
                Some(e) => Ok(Type::Scalar(e)),
                None => Err(self.fault(SYNTAX, format!("`{elem}` is not a type"))),
            },
        }
    }
    /// `8x64xf16` or `?x64xf16`: the lexer sees numbers and words that start with `x`, so they are put together again.
    fn dims(&mut self) -> Result<(Vec<Option<u32>>, ElemType), ParseFault> {
        let mut text = String::new();
        while !self.is_punct(">") && !self.is_punct(",") {
            match self.advance()? {
                Token::Word(s) | Token::Number(s) => text.push_str(&s),
                Token::Punct("?") => text.push('?'),
                _ => return Err(self.expected("lengths and an element type like `8x64xf16`")),
            }
        }
        let mut parts: Vec<&str> = text.split('x').collect();
        let bad =
            |p: &Parser<'_>| p.fault(SYNTAX, format!("`{text}` is not lengths and an element type like `8x64xf16`"));
        let elem = parts.pop().and_then(ElemType::from_name).ok_or_else(|| bad(self))?;
        let len = |s: &&str| match *s {
            "?" => Some(None),
            n => n.parse().ok().map(Some),
        };
        Ok((parts.iter().map(len).collect::<Option<Vec<_>>>().ok_or_else(|| bad(self))?, elem))
    }
    fn number_u32(&mut self) -> Result<u32, ParseFault> {
        let Token::Number(n) = &self.token else { return Err(self.expected("a number")) };
        let n = n.parse().map_err(|_| self.expected("a number from 0 to 4294967295"))?;
        self.advance()?;
        Ok(n)
    }

    fn ops_until(&mut self, ends: &[&str]) -> Result<(), ParseFault> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(self.fault(LIMIT, format!("regions nest deeper than {MAX_NESTING}")));
        }
        while !ends.iter().any(|e| self.is_punct(e) || self.is_word(e)) {
            self.ops += 1;
            if self.ops > MAX_OPS {
                return Err(self.fault(LIMIT, format!("more than {MAX_OPS} ops")));
            }
            self.op()?;
        }
        self.nesting -= 1;
        Ok(())
    }
    /// The ops of a region up to `}`, with `yield` before it where something is yielded.
    fn block(&mut self) -> Result<RegionId, ParseFault> {
        self.ops_until(&["}", "yield"])?;
        let yields = if self.take_word("yield")? { self.values()? } else { Vec::new() };
        self.punct("}")?;
        Ok(self.b.close(yields))
    }
    fn values(&mut self) -> Result<Vec<ValueId>, ParseFault> {
        let mut out = vec![self.typed_value()?];
        while self.take_punct(",")? {
            out.push(self.typed_value()?);
        }
        Ok(out)
    }
    fn typed_value(&mut self) -> Result<ValueId, ParseFault> {
        OpParser { p: self, items: 0, pending: Vec::new() }.value_or(None)
    }
    fn op(&mut self) -> Result<(), ParseFault> {
        let (line, col) = (self.line, self.col);
        let mut names = Vec::new();
        while let Token::Value(_) = &self.token {
            names.push(self.new_name()?);
            if names[..names.len() - 1].contains(&names[names.len() - 1]) {
                return Err(self.fault(NAME, format!("`%{}` is defined a second time", names[names.len() - 1])));
            }
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
        let (op, types, loc) = match mnemonic.as_str() {
            "if" | "for" | "while" | "composite" | "reduce_with" | "scan_with" => self.region_op(&mnemonic)?,
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
            let text = format!("`{mnemonic}` makes {} results, {} named", types.len(), names.len());
            return Err(ParseFault { code: SYNTAX, line, col, text });
        }
        let results: Results = self.b.push_unchecked(op, &types, loc);
        names.into_iter().zip(results.iter()).for_each(|(n, v)| self.bind(n, v));
        Ok(())
    }
    fn plain_op(&mut self, mnemonic: &str, at: (u32, u32)) -> Result<(Op, Vec<Type>, Option<LocId>), ParseFault> {
        let mut fields = OpParser { p: self, items: 0, pending: Vec::new() };
        let parsed = Op::parse_fields(mnemonic, &mut fields);
        let pending = fields.pending;
        let unknown =
            || ParseFault { code: SYNTAX, line: at.0, col: at.1, text: format!("there is no op `{mnemonic}`") };
        let mut op = parsed.ok_or_else(unknown)??;
        let types = if self.take_punct(":")? { vec![self.ty()?] } else { Vec::new() };
        // Constants whose type the result type tells.
        let mut finals = FxHashMap::default();
        for p in pending {
            let fault = |text: String| ParseFault { code: CONSTANT, line: p.line, col: p.col, text };
            let Some(ty) = types.first() else {
                return Err(fault(format!("nothing tells the type of `{0}`: write `{0}:f32`", p.text)));
            };
            let lit = literal(ty.elem(), &p.text)
                .ok_or_else(|| fault(format!("`{}` is not a constant of type {}", p.text, ty.elem())))?;
            finals.insert(p.placeholder, self.b.constant(lit));
        }
        op.each_operand_mut(&mut |v| *v = finals.get(v).copied().unwrap_or(*v));
        if let Some(ty) = types.first() {
            op.set_result_type(*ty);
        }
        let loc = self.loc()?;
        Ok((op, types, loc))
    }
    fn region_op(&mut self, mnemonic: &str) -> Result<(Op, Vec<Type>, Option<LocId>), ParseFault> {
        match mnemonic {
            "if" => {
                let cond = self.typed_value()?;
                let loc = self.open_brace()?;
                self.b.open(&[]);
                let then = self.block()?;
                self.b.open(&[]);
                let other = if self.take_word("else")? {
                    self.punct("{")?;
                    self.block()?
                } else {
                    self.b.close(Vec::new())
                };
                let types = self.types(&self.b.module().region(then).yields.clone());
                Ok((ops::If { cond, then, other }.into(), types, loc))
            }
            "for" => {
                let index = self.new_name()?;
                self.word("in")?;
                let range = <ops::Range as Field>::parse(&mut OpParser { p: self, items: 0, pending: Vec::new() })?;
                let (names, inits) = self.carry()?;
                let loc = self.open_brace()?;
                let types = self.types(&inits);
                let args: Vec<Type> =
                    std::iter::once(self.b.module().ty(range.lo)).chain(types.iter().copied()).collect();
                let body = self.b.open(&args);
                self.bind_args(body, std::iter::once(index).chain(names));
                let body = self.block()?;
                Ok((ops::For { range, carry: Carry(inits), body }.into(), types, loc))
            }
            "while" => {
                let (names, inits) = self.carry()?;
                let loc = self.open_brace()?;
                let types = self.types(&inits);
                let cond = self.b.open(&types);
                self.bind_args(cond, names.into_iter());
                self.ops_until(&["while", "}"])?;
                // A nested `while` loop would begin with the same word, but it has results, `carry` or `{` behind it.
                self.word("while")?;
                let test = self.typed_value()?;
                let cond = self.b.close(vec![test]);
                self.b.open(&[]);
                let body = self.block()?;
                Ok((ops::While { carry: Carry(inits), cond, body }.into(), types, loc))
            }
            "composite" => {
                let loc = self.open_brace()?;
                self.b.open(&[]);
                let body = self.block()?;
                let types = self.types(&self.b.module().region(body).yields.clone());
                Ok((ops::Composite { body }.into(), types, loc))
            }
            _ => {
                let mut fields = OpParser { p: self, items: 0, pending: Vec::new() };
                let x: ValueId = Field::parse(&mut fields)?;
                let axis: ops::AxisNo = Field::parse(&mut fields)?;
                self.punct("(")?;
                let a = self.new_name()?;
                self.punct(",")?;
                let b = self.new_name()?;
                if a == b {
                    return Err(self.fault(NAME, format!("`%{b}` is defined a second time")));
                }
                self.punct(")")?;
                let loc = self.open_brace()?;
                let ty = self.b.module().ty(x);
                let one = Type::Scalar(ty.elem());
                let combine = self.b.open(&[one, one]);
                self.bind_args(combine, [a, b].into_iter());
                let combine = self.block()?;
                let rest = ty.dims().and_then(|d| d.without(axis.0 as usize));
                if mnemonic == "reduce_with" {
                    let out = rest.map_or(one, |d| Type::of(ty.elem(), d));
                    Ok((ops::ReduceWith { x, axis, combine }.into(), vec![out], loc))
                } else {
                    Ok((ops::ScanWith { x, axis, combine }.into(), vec![ty], loc))
                }
            }
        }
    }
    fn types(&self, values: &[ValueId]) -> Vec<Type> {
        values.iter().map(|v| self.b.module().ty(*v)).collect()
    }
    fn bind_args(&mut self, region: RegionId, names: impl Iterator<Item = String>) {
        let args = self.b.module().region(region).args.clone();
        args.into_iter().zip(names).for_each(|(v, n)| self.bind(n, v));
    }
    fn carry(&mut self) -> Result<(Vec<String>, Vec<ValueId>), ParseFault> {
        let (mut names, mut inits) = (Vec::new(), Vec::new());
        if self.take_word("carry")? {
            self.punct("(")?;
            loop {
                let name = self.new_name()?;
                if names.contains(&name) {
                    return Err(self.fault(NAME, format!("`%{name}` is defined a second time")));
                }
                names.push(name);
                self.punct("=")?;
                inits.push(self.typed_value()?);
                if !self.take_punct(",")? {
                    break;
                }
            }
            self.punct(")")?;
        }
        Ok((names, inits))
    }
    /// `{`, with the location behind it that `print_with_locs` writes there.
    fn open_brace(&mut self) -> Result<Option<LocId>, ParseFault> {
        self.punct("{")?;
        self.loc()
    }
    fn loc(&mut self) -> Result<Option<LocId>, ParseFault> {
        if !self.is_word("loc") {
            return Ok(None);
        }
        self.advance()?;
        if !self.is_punct("(") {
            return Err(self.expected("`(`"));
        }
        let fault = self.fault(SYNTAX, "expected `loc(file:line:col inlined at …)` on one line".into());
        let raw = self.lex.raw_until(')').ok_or_else(|| fault.clone())?;
        self.advance()?;
        let mut at = None;
        for part in raw.rsplit(" inlined at ") {
            let mut it = part.rsplitn(3, ':');
            let mut number = || it.next().and_then(|n| n.parse::<u32>().ok());
            let (Some(col), Some(line)) = (number(), number()) else { return Err(fault) };
            let Some(file) = it.next() else { return Err(fault) };
            let place = Place { file: file.into(), line, col };
            at = Some(self.b.locs().intern(Loc { place, inlined_at: at }));
        }
        Ok(at)
    }
}

/// A constant of this element type; `None` if the text is not one.
fn literal(elem: ElemType, text: &str) -> Option<Literal> {
    if let Some(hex) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(hex, 16).ok()?;
        let fits = elem.bits() == 64 || bits >> elem.bits() == 0;
        return (fits && matches!(elem.kind(), Kind::Float | Kind::Storage)).then_some(Literal { elem, bits });
    }
    match elem.kind() {
        Kind::Signed | Kind::Unsigned => Literal::int(elem, text.parse().ok()?),
        // The shortest text of an f32 reads back through f32, not through f64.
        Kind::Float if elem == ElemType::F64 => Literal::float(elem, text.parse().ok()?),
        Kind::Float => Literal::float(elem, f64::from(text.parse::<f32>().ok()?)),
        Kind::Bool | Kind::Storage => None,
    }
}

struct Pending {
    placeholder: ValueId,
    text: String,
    line: u32,
    col: u32,
}

/// What the fields of an op are read with.
pub struct OpParser<'p, 't> {
    p: &'p mut Parser<'t>,
    items: usize,
    /// Constants whose type stands at the end of the line.
    pending: Vec<Pending>,
}

impl OpParser<'_, '_> {
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
    pub fn take_punct(&mut self, p: &str) -> bool {
        // A fault of the next token is met again when it is looked at.
        self.p.is_punct(p) && self.p.advance().is_ok()
    }
    pub fn word(&mut self, w: &str) -> Result<(), ParseFault> {
        self.p.word(w)
    }
    pub fn take_word(&mut self, w: &str) -> bool {
        self.p.is_word(w) && self.p.advance().is_ok()
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
        let Token::Quoted(s) = &self.p.token else { return Err(self.p.expected("a quoted text")) };
        let s = s.clone();
        self.p.advance()?;
        Ok(s)
    }
    /// An operand; a bare constant takes the element of the result type.
    pub fn value(&mut self) -> Result<ValueId, ParseFault> {
        if let Token::Number(text) = &self.p.token {
            let (text, line, col) = (text.clone(), self.p.line, self.p.col);
            self.p.advance()?;
            if text.contains(':') {
                return self.constant(&text, line, col, None);
            }
            // Not interned: each pending constant has an id of its own until its type is known.
            let placeholder = self.p.b.placeholder();
            self.pending.push(Pending { placeholder, text, line, col });
            return Ok(placeholder);
        }
        self.value_or(None)
    }
    /// An index, limit or loop end; a bare constant is an i32.
    pub fn index(&mut self) -> Result<ValueId, ParseFault> {
        self.value_or(Some(ElemType::I32))
    }
    fn value_or(&mut self, default: Option<ElemType>) -> Result<ValueId, ParseFault> {
        let (line, col) = (self.p.line, self.p.col);
        match self.p.token.clone() {
            Token::Value(name) => match self.p.names.get(&name) {
                Some(v) => {
                    let v = *v;
                    self.p.advance()?;
                    Ok(v)
                }
                None => Err(self.p.fault(NAME, format!("`%{name}` is not defined before this use"))),
            },
            Token::Word(w) if w == "true" || w == "false" => {
                self.p.advance()?;
                Ok(self.p.b.constant((w == "true").into()))
            }
            Token::Number(text) => {
                self.p.advance()?;
                self.constant(&text, line, col, default)
            }
            _ => Err(self.p.expected("a value")),
        }
    }
    /// A constant with its type behind a colon, or of the default type.
    fn constant(&mut self, text: &str, line: u32, col: u32, default: Option<ElemType>) -> Result<ValueId, ParseFault> {
        let fault = |text: String| ParseFault { code: CONSTANT, line, col, text };
        let (number, elem) = match text.split_once(':') {
            Some((number, elem)) => {
                let known = ElemType::from_name(elem);
                (number, known.ok_or_else(|| fault(format!("`{elem}` is not an element type")))?)
            }
            None => {
                let untold = || fault(format!("nothing tells the type of `{text}`: write `{text}:i32`"));
                (text, default.ok_or_else(untold)?)
            }
        };
        let lit = literal(elem, number).ok_or_else(|| fault(format!("`{number}` is not a constant of type {elem}")))?;
        Ok(self.p.b.constant(lit))
    }
}
