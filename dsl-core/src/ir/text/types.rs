//! Reads types: `f32`, `tile<8x64xf16>`, `view_mut<?x64xf16, strides [?, 1]>`.

use super::fault::{LIMIT, ParseFault, SYNTAX};
use super::lex::Token;
use super::name::{SHOWN, shortened};
use super::parse::Parser;
use crate::elem::ElemType;
use crate::ir::types::{Dims, MAX_RANK, Type, ViewType};

impl Parser<'_> {
    /// Faults stand at the type's beginning.
    pub fn ty(&mut self) -> Result<Type, ParseFault> {
        let (line, col) = (self.line, self.col);
        let fault = |code, text| Err(ParseFault { code, line, col, text });
        let word = self.any_word()?;
        match word.as_str() {
            "tile" => {
                self.punct("<")?;
                let (dims, elem) = self.dims()?;
                self.punct(">")?;
                let lens: Vec<usize> = dims.iter().map(|d| d.unwrap_or(0) as usize).collect();
                match Dims::new(&lens).filter(|d| d.rank() > 0) {
                    Some(dims) => Ok(Type::Tile(elem, dims)),
                    None => fault(
                        LIMIT,
                        "a tile has 1 to 4 axes, lengths above zero and at most 4194304 elements".to_string(),
                    ),
                }
            }
            "view" | "view_mut" => {
                self.punct("<")?;
                let (dims, elem) = self.dims()?;
                if dims.is_empty() || dims.len() > MAX_RANK {
                    return fault(LIMIT, "a view has 1 to 4 axes".to_string());
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
                None => fault(SYNTAX, format!("`{}` is not a type", shortened(elem, SHOWN))),
            },
        }
    }
    /// `8x64xf16` or `?x64xf16`: for the lexer a run of numbers, words and `?` without space; here put together again.
    fn dims(&mut self) -> Result<(Vec<Option<u32>>, ElemType), ParseFault> {
        const WHAT: &str = "lengths and an element type like `8x64xf16`";
        let at = (self.line, self.col);
        let mut text = String::new();
        loop {
            let (token, more) = self.advance_adjacent()?;
            match &token {
                Token::Word(s) | Token::Number(s) => text.push_str(s),
                Token::Punct("?") => text.push('?'),
                _ => {
                    let text = format!("expected {WHAT}, found {token}");
                    return Err(ParseFault { code: SYNTAX, line: at.0, col: at.1, text });
                }
            }
            if !more || self.is_punct(">") || self.is_punct(",") {
                break;
            }
        }
        parse_dims(&text).ok_or_else(|| {
            let text = format!("`{}` is not {WHAT}", shortened(&text, SHOWN));
            ParseFault { code: SYNTAX, line: at.0, col: at.1, text }
        })
    }
    pub fn number_u32(&mut self) -> Result<u32, ParseFault> {
        let Token::Number(n) = &self.token else { return Err(self.expected("a number")) };
        let n = n.parse().map_err(|_| self.expected("a number from 0 to 4294967295"))?;
        self.advance()?;
        Ok(n)
    }
}

fn parse_dims(text: &str) -> Option<(Vec<Option<u32>>, ElemType)> {
    let mut parts: Vec<&str> = text.split('x').collect();
    let elem = parts.pop().and_then(ElemType::from_name)?;
    let len = |s: &&str| match *s {
        "?" => Some(None),
        n => n.parse().ok().map(Some),
    };
    Some((parts.iter().map(len).collect::<Option<Vec<_>>>()?, elem))
}
