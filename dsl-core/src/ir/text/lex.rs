//! Tokens of the text form, read on demand; every token knows its line and column.

use super::fault::{ParseFault, SYNTAX};
use super::name::{
    Name, SHOWN, ends_place, is_word, is_word_start, quote, shortened, spelled, take, take_name, unquote,
};
use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Value(Name),
    /// `@name`.
    Symbol(String),
    Word(String),
    /// A number as it is written, with its sign, and its type where one follows at once: `5:i32`.
    Number(String),
    Quoted(String),
    /// One of `= { } ( ) [ ] < > : , . .. ?`.
    Punct(&'static str),
    End,
}

/// As a message shows it: at most one short line, whatever the text holds.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Token::Value(name) => name.to_string(),
            Token::Symbol(s) => format!("@{}", spelled(s)),
            Token::Word(s) | Token::Number(s) => s.clone(),
            Token::Quoted(s) => quote(s),
            Token::Punct(p) => p.to_string(),
            Token::End => return f.write_str("the end of the text"),
        };
        write!(f, "`{}`", shortened(&text, SHOWN))
    }
}

/// A token and where it stands.
pub(super) struct Lexed {
    pub token: Token,
    /// Bytes before it.
    pub start: usize,
    pub line: u32,
    pub col: u32,
}

/// The longer ones first.
const PUNCTS: [&str; 14] = ["..", "=", "{", "}", "(", ")", "[", "]", "<", ">", ":", ",", "?", "."];

/// Cheap to clone, for looking ahead.
#[derive(Clone)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    pos: usize,
    line: u32,
    col: u32,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Lexer<'t> {
        // Some editors put a byte order mark first.
        let pos = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Lexer { text, pos, line: 1, col: 1 }
    }
    /// Bytes before what is read next.
    pub fn pos(&self) -> usize {
        self.pos
    }
    fn rest(&self) -> &'t str {
        &self.text[self.pos..]
    }
    /// Steps over so many bytes of one line. The column is counted here, once for each character of the text.
    fn skip(&mut self, len: usize) {
        self.col += self.text[self.pos..self.pos + len].chars().count() as u32;
        self.pos += len;
    }
    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            if rest.starts_with("//") {
                self.skip(rest.find('\n').unwrap_or(rest.len()));
            } else if let Some(after) = rest.strip_prefix('\n') {
                self.pos = self.text.len() - after.len();
                (self.line, self.col) = (self.line + 1, 1);
            } else if let Some(c) = rest.chars().next().filter(|c| c.is_whitespace()) {
                self.skip(c.len_utf8());
            } else {
                return;
            }
        }
    }
    /// The next token. After a fault the same one comes again.
    pub fn next(&mut self) -> Result<Lexed, ParseFault> {
        self.skip_space();
        let (start, line, col) = (self.pos, self.line, self.col);
        let (token, len) = token(self.rest()).map_err(|text| ParseFault { code: SYNTAX, line, col, text })?;
        self.skip(len);
        Ok(Lexed { token, start, line, col })
    }
    /// The next token, which stays the next one.
    pub fn peek(&self) -> Option<Token> {
        self.clone().next().ok().map(|lexed| lexed.token)
    }
    /// `file:line:col inlined at file:line:col …)`, behind the opening parenthesis of `loc(`; innermost first.
    pub fn location(&mut self) -> Option<Vec<(String, u32, u32)>> {
        let mut out = Vec::new();
        loop {
            let rest = self.rest();
            let (quoted, before) = if rest.starts_with('"') { unquote(rest)? } else { (String::new(), 0) };
            let place = take(&rest[before..], |c| !ends_place(c));
            let mut parts = place.rsplitn(3, ':');
            let mut number = || parts.next()?.parse().ok();
            let (col, line) = (number()?, number()?);
            out.push((quoted + parts.next()?, line, col));
            self.skip(before + place.len());
            if self.rest().starts_with(')') {
                self.skip(1);
                return Some(out);
            }
            self.rest().strip_prefix(INLINED_AT)?;
            self.skip(INLINED_AT.len());
        }
    }
}

pub(super) const INLINED_AT: &str = " inlined at ";

/// The token at the beginning of a text, and its length; or why there is none.
fn token(s: &str) -> Result<(Token, usize), String> {
    let Some(c) = s.chars().next() else { return Ok((Token::End, 0)) };
    match c {
        '%' => value(s),
        '@' => {
            let (name, len) = name(s)?;
            Ok((Token::Symbol(name), len))
        }
        '"' => {
            let (text, len) = unquote(s).ok_or(BAD_QUOTE)?;
            Ok((Token::Quoted(text), len))
        }
        _ if number_len(s) > 0 => {
            let len = typed_number_len(s);
            Ok((Token::Number(s[..len].to_string()), len))
        }
        _ if is_word_start(s) => {
            let word = take(s, is_word);
            Ok((Token::Word(word.to_string()), word.len()))
        }
        _ => match PUNCTS.iter().find(|p| s.starts_with(**p)) {
            Some(p) => Ok((Token::Punct(p), p.len())),
            None => Err(format!("unexpected character {c:?}")),
        },
    }
}

const BAD_QUOTE: &str = "this quoted text does not end on its line, or has a bad escape";

/// The name behind the first character of `s`, which takes one byte; and the length of both.
fn name(s: &str) -> Result<(String, usize), String> {
    if s[1..].starts_with('"') {
        let (name, len) = unquote(&s[1..]).ok_or(BAD_QUOTE)?;
        return Ok((name, 1 + len));
    }
    match take_name(&s[1..]) {
        "" => Err(format!("expected a name after `{}`", &s[..1])),
        name => Ok((name.to_string(), 1 + name.len())),
    }
}
fn value(s: &str) -> Result<(Token, usize), String> {
    let (text, mut len) = name(s)?;
    let is_users = s[1..].starts_with('"') || !text.bytes().all(|b| b.is_ascii_digit());
    let mut mark = None;
    if let Some(behind) = s[len..].strip_prefix('\'') {
        let digits = take(behind, |c| c.is_ascii_digit());
        mark = Some(digits.parse().map_err(|_| "expected a number after `'`, as in `%x'2`".to_string())?);
        len += 1 + digits.len();
    }
    Ok((Token::Value(Name { text, is_users, mark }), len))
}

/// `5:i32`: the type belongs to the constant if it follows at once.
fn typed_number_len(s: &str) -> usize {
    let len = number_len(s);
    let ty = s[len..].strip_prefix(':').map_or("", |s| take(s, |c| c.is_ascii_alphanumeric()));
    if ty.starts_with(|c: char| c.is_ascii_alphabetic()) { len + 1 + ty.len() } else { len }
}
/// `12`, `-3`, `0x7fc0`, `1.5`, `1e-7`, `-2.5e+3`; `1..5` is a number, a `..` and a number. 0 if it is none.
fn number_len(s: &str) -> usize {
    let digits = |s: &str| take(s, |c| c.is_ascii_digit()).len();
    if let Some(hex) = s.strip_prefix("0x") {
        return 2 + take(hex, |c| c.is_ascii_hexdigit()).len();
    }
    let sign = usize::from(s.starts_with('-'));
    let whole = digits(&s[sign..]);
    if whole == 0 {
        return 0;
    }
    let mut len = sign + whole;
    if let Some(part) = s[len..].strip_prefix('.').map(digits).filter(|n| *n > 0) {
        len += 1 + part;
    }
    if let Some(behind) = s[len..].strip_prefix('e') {
        let sign = usize::from(behind.starts_with(['-', '+']));
        let power = digits(&behind[sign..]);
        len += if power > 0 { 1 + sign + power } else { 0 };
    }
    len
}
