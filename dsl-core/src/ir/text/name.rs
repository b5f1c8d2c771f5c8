//! How names and quoted texts are written. Any name can be printed and read back: `%q`, `%part.m'2`, `%"odd name"`.

use std::fmt;

/// A value as the text names it: `%x`, `%x'2`, `%"odd name"`, `%14`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub text: String,
    /// Not for plain numbers, which the printer gives to values without a name.
    pub is_users: bool,
    /// What makes a second value of the same name unique in print.
    pub mark: Option<u32>,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.is_users { spelled(&self.text) } else { self.text.clone() };
        match self.mark {
            Some(mark) => write!(f, "%{text}'{mark}"),
            None => write!(f, "%{text}"),
        }
    }
}

/// A name as it stands, or quoted where the lexer would not take it for this name.
pub(super) fn spelled(name: &str) -> String {
    let is_number = name.bytes().all(|b| b.is_ascii_digit());
    if !is_number && take_name(name).len() == name.len() { name.to_string() } else { quote(name) }
}
/// The value of a key as it stands, or quoted where it is not one run of words, numbers and dots.
pub(super) fn spelled_key_value(v: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    if !v.is_empty() && v.chars().all(plain) { v.to_string() } else { quote(v) }
}
/// The name of a key as it stands, or quoted where it is not one word.
pub(super) fn spelled_key(name: &str) -> String {
    if is_word_start(name) && name.chars().all(is_word) { name.to_string() } else { quote(name) }
}
/// The file of a location as it stands, or quoted where it would not end before `:line:col`.
pub(super) fn spelled_file(file: &str) -> String {
    let odd = |c: char| ends_place(c) || c.is_control() || c == '"';
    if file.contains(odd) { quote(file) } else { file.to_string() }
}
pub(super) fn quote(s: &str) -> String {
    format!("\"{}\"", s.escape_debug())
}

/// The longest beginning of `s` that is a name: words, with single dots between them (a range is `%lo..%hi`).
pub(super) fn take_name(s: &str) -> &str {
    let mut end = take(s, is_word).len();
    while end > 0
        && let Some(word) = s[end..].strip_prefix('.').map(|s| take(s, is_word)).filter(|w| !w.is_empty())
    {
        end += 1 + word.len();
    }
    &s[..end]
}
pub(super) fn is_word_start(s: &str) -> bool {
    s.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
pub(super) fn ends_place(c: char) -> bool {
    c.is_whitespace() || c == ')'
}
pub(super) fn take(s: &str, ok: impl Fn(char) -> bool) -> &str {
    &s[..s.find(|c| !ok(c)).unwrap_or(s.len())]
}

/// A quoted text with Rust's escapes, and its length in the source.
pub(super) fn unquote(s: &str) -> Option<(String, usize)> {
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
                'u' => out.push(unicode_escape(&mut chars)?),
                c @ ('\\' | '"' | '\'') => out.push(c),
                _ => return None,
            },
            '\n' => return None,
            c => out.push(c),
        }
    }
    None
}
/// `{1f600}`, behind `\u`.
fn unicode_escape(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    if chars.next()?.1 != '{' {
        return None;
    }
    let mut code = chars.next()?.1.to_digit(16)?;
    loop {
        match chars.next()?.1 {
            '}' => return char::from_u32(code),
            digit => code = code.checked_mul(16)?.checked_add(digit.to_digit(16)?)?,
        }
    }
}

/// Characters of a name or token that a message shows.
pub(super) const SHOWN: usize = 40;
/// The first characters of a text that may be huge.
pub(super) fn shortened(text: &str, shown: usize) -> String {
    match text.char_indices().nth(shown) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
