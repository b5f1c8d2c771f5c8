//! Tokens of the text form, read on demand; every fault knows its line and column.

use std::fmt;

/// Why a text is not a module: where, what was expected, what stands there.
#[derive(Clone, Debug, PartialEq)]
pub struct ParseFault {
    pub code: &'static str,
    /// Line and column, from 1.
    pub line: u32,
    pub col: u32,
    pub text: String,
}
impl fmt::Display for ParseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.col, self.text)
    }
}

/// The text does not follow the grammar.
pub(super) const SYNTAX: &str = "TW-E0230";
/// A value is used that no op defines, or defined twice.
pub(super) const NAME: &str = "TW-E0231";
/// A limit on untrusted text is exceeded.
pub(super) const LIMIT: &str = "TW-E0232";
/// A constant does not fit its element type, or nothing says the type.
pub(super) const CONSTANT: &str = "TW-E0233";

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// `%name`, without the percent sign.
    Value(String),
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

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Value(s) => write!(f, "`%{s}`"),
            Token::Symbol(s) => write!(f, "`@{s}`"),
            Token::Word(s) | Token::Number(s) => write!(f, "`{s}`"),
            Token::Quoted(s) => write!(f, "{s:?}"),
            Token::Punct(p) => write!(f, "`{p}`"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

const PUNCTS: [&str; 13] = ["..", "=", "{", "}", "(", ")", "[", "]", "<", ">", ":", ",", "?"];

pub(super) struct Lexer<'t> {
    text: &'t str,
    pos: usize,
    line: u32,
    /// Where the current line starts.
    line_start: usize,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, pos: 0, line: 1, line_start: 0 }
    }
    fn rest(&self) -> &'t str {
        &self.text[self.pos..]
    }
    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            if rest.starts_with("//") {
                self.pos += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(c) = rest.chars().next().filter(|c| c.is_whitespace()) {
                self.pos += c.len_utf8();
                if c == '\n' {
                    self.line += 1;
                    self.line_start = self.pos;
                }
            } else {
                return;
            }
        }
    }
    /// The next token, with its line and column.
    pub fn next(&mut self) -> Result<(Token, u32, u32), ParseFault> {
        self.skip_space();
        let (line, col) = (self.line, self.text[self.line_start..self.pos].chars().count() as u32 + 1);
        let fault = |text: String| ParseFault { code: SYNTAX, line, col, text };
        let rest = self.rest();
        let Some(c) = rest.chars().next() else { return Ok((Token::End, line, col)) };
        let token = match c {
            '%' | '@' => {
                let name = take(&rest[1..], |c| is_word(c) || (c == '\'' && self.text[self.pos..].starts_with('%')));
                let name = if c == '@' { take(name, is_word) } else { name };
                if name.is_empty() {
                    return Err(fault(format!("expected a name after `{c}`")));
                }
                self.pos += 1 + name.len();
                if c == '%' { Token::Value(name.to_string()) } else { Token::Symbol(name.to_string()) }
            }
            '"' => {
                let (text, len) =
                    unquote(rest).ok_or_else(|| fault("this quoted text does not end, or has a bad escape".into()))?;
                self.pos += len;
                Token::Quoted(text)
            }
            _ if c.is_ascii_digit() || (c == '-' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) => {
                let mut len = number_len(rest);
                // `5:i32`: the type belongs to the constant if it follows at once.
                if rest[len..].starts_with(':') {
                    let suffix = take(&rest[len + 1..], |c| c.is_ascii_alphanumeric());
                    len += if suffix.starts_with(|c: char| c.is_ascii_alphabetic()) { 1 + suffix.len() } else { 0 };
                }
                self.pos += len;
                Token::Number(rest[..len].to_string())
            }
            _ if c.is_alphabetic() || c == '_' => {
                let word = take(rest, |c| is_word(c) && c != '.');
                self.pos += word.len();
                Token::Word(word.to_string())
            }
            _ => match PUNCTS.iter().chain(&["."]).find(|p| rest.starts_with(**p)) {
                Some(p) => {
                    self.pos += p.len();
                    Token::Punct(p)
                }
                None => return Err(fault(format!("unexpected character {c:?}"))),
            },
        };
        Ok((token, line, col))
    }
    /// The raw text up to and without `end` on this line, for `loc(…)`.
    pub fn raw_until(&mut self, end: char) -> Option<&'t str> {
        let rest = self.rest();
        let at = rest.find([end, '\n']).filter(|at| rest[*at..].starts_with(end))?;
        self.pos += at + end.len_utf8();
        Some(&rest[..at])
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}
fn take(s: &str, ok: impl Fn(char) -> bool) -> &str {
    &s[..s.find(|c| !ok(c)).unwrap_or(s.len())]
}
/// `12`, `-3`, `0x7fc0`, `1.5`, `1e-7`, `-2.5e+3`; `1..5` is a number, a `..` and a number.
fn number_len(s: &str) -> usize {
    let b = s.as_bytes();
    let mut i = usize::from(b[0] == b'-');
    if s[i..].starts_with("0x") {
        i += 2;
        while i < b.len() && b[i].is_ascii_hexdigit() {
            i += 1;
        }
        return i;
    }
    let digits = |mut i: usize| {
        while i < b.len() && b[i].is_ascii_digit() {
            i += 1;
        }
        i
    };
    i = digits(i);
    if i + 1 < b.len() && b[i] == b'.' && b[i + 1].is_ascii_digit() {
        i = digits(i + 1);
    }
    if i < b.len() && b[i] == b'e' {
        let j = i + 1 + usize::from(i + 1 < b.len() && (b[i + 1] == b'-' || b[i + 1] == b'+'));
        if j < b.len() && b[j].is_ascii_digit() {
            i = digits(j);
        }
    }
    i
}
/// A quoted text with Rust's escapes, and its length in the source.
fn unquote(s: &str) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars = s.char_indices().skip(1);
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Some((out, i + 1)),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                '0' => out.push('\0'),
                'u' => {
                    let open = chars.next()?.1;
                    let mut code = 0u32;
                    loop {
                        match chars.next()?.1 {
                            '}' => break,
                            d => code = code.checked_mul(16)?.checked_add(d.to_digit(16)?)?,
                        }
                    }
                    out.push((open == '{').then_some(char::from_u32(code)?)?);
                }
                c @ ('\\' | '"' | '\'') => out.push(c),
                _ => return None,
            },
            '\n' => return None,
            c => out.push(c),
        }
    }
    None
}
