//! The statements of a PTX text: directives, headers, scopes, labels, instructions, each with its line and without comments.

/// A part of the text between two marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// Where it begins, from 1.
    pub line: u32,
    pub form: Form,
}
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `.version 7.8`: ends with its line.
    Directive(String),
    /// `.visible .entry …` up to its opening brace.
    Header(String),
    Open,
    Close,
    Label(String),
    /// A declaration or an instruction, without its semicolon.
    Plain(String),
}

/// Directives that no semicolon ends.
const LINES: [&str; 5] = [".version", ".target", ".address_size", ".file", ".loc"];
const HEADERS: [&str; 5] = [".visible .entry", ".entry", ".weak .entry", ".func", ".visible .func"];

/// Cuts a text into its statements. What is left open at the end is a statement too, which no reader knows.
pub(crate) fn statements(text: &str) -> Vec<Statement> {
    let mut out = Vec::new();
    let mut at = Open { line: 1, text: String::new() };
    for (line, rest) in without_comments(text).lines().enumerate() {
        let line = line as u32 + 1;
        let chars: Vec<char> = rest.chars().collect();
        for (i, c) in chars.iter().copied().enumerate() {
            let pending = at.text.trim();
            match c {
                ';' => out.extend(at.take(Form::Plain)),
                '{' if pending.is_empty() => out.push(Statement { line, form: Form::Open }),
                '{' if HEADERS.iter().any(|head| pending.starts_with(head)) => out.extend(at.take(Form::Header)),
                '}' if pending.is_empty() => out.push(Statement { line, form: Form::Close }),
                ':' if is_label(pending) && chars.get(i + 1) != Some(&':') => out.extend(at.take(Form::Label)),
                _ => at.push(c, line),
            }
        }
        if LINES.iter().any(|word| at.text.trim().starts_with(word)) {
            out.extend(at.take(Form::Directive));
        }
        at.push(' ', line);
    }
    out.extend(at.take(Form::Plain));
    out
}

/// A statement that has not ended.
struct Open {
    line: u32,
    text: String,
}
impl Open {
    /// Runs of blanks become one.
    fn push(&mut self, c: char, line: u32) {
        if self.text.is_empty() {
            self.line = line;
        }
        if !c.is_whitespace() {
            self.text.push(c);
        } else if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }
    fn take(&mut self, form: fn(String) -> Form) -> Option<Statement> {
        let text = std::mem::take(&mut self.text).trim().to_string();
        (!text.is_empty()).then(|| Statement { line: self.line, form: form(text) })
    }
}

fn is_label(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%'))
}
/// The same lines, blank where there were comments.
fn without_comments(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('/') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        rest = if from.starts_with("//") {
            from.find('\n').map_or("", |end| &from[end..])
        } else if let Some(inside) = from.strip_prefix("/*") {
            let end = inside.find("*/").map_or(inside.len(), |end| end + 2);
            out.extend(inside[..end].chars().filter(|c| *c == '\n'));
            out.push(' ');
            &inside[end..]
        } else {
            out.push('/');
            &from[1..]
        };
    }
    out.push_str(rest);
    out
}

/// `@!%p0 ld.global.v4.b32 {%r1, …}, [%d1+16]`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Words<'t> {
    /// The predicate, and whether it is negated.
    pub guard: Option<(&'t str, bool)>,
    pub opcode: &'t str,
    pub modifiers: Vec<&'t str>,
    pub operands: Vec<&'t str>,
}

/// The words of an instruction.
pub(crate) fn words(text: &str) -> Option<Words<'_>> {
    let (guard, rest) = match text.strip_prefix('@') {
        None => (None, text),
        Some(rest) => {
            let (pred, rest) = rest.split_once(char::is_whitespace)?;
            let negated = pred.starts_with('!');
            (Some((pred.trim_start_matches('!'), negated)), rest.trim())
        }
    };
    let (name, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let mut words = name.split('.');
    let opcode = words.next()?;
    Some(Words { guard, opcode, modifiers: words.collect(), operands: split(operands) })
}
/// At the commas that are in no braces or brackets.
pub(crate) fn split(operands: &str) -> Vec<&str> {
    let (mut out, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in operands.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                out.push(operands[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    if !operands[from..].trim().is_empty() {
        out.push(operands[from..].trim());
    }
    out
}
