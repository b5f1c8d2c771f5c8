//! The statements of a PTX text: directives, labels, instructions with their modifiers and operands, each with its line.

/// One statement of a kernel's body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Statement<'t> {
    Label(&'t str),
    /// `.reg .b32 %r<7>`: prefix and count.
    Registers {
        prefix: &'t str,
        count: u32,
    },
    Inst(Text<'t>),
}

/// `@!%p0 ld.global.v4.b32 {%r1, …}, [%d1+16]`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text<'t> {
    /// The predicate, and whether it is negated.
    pub guard: Option<(&'t str, bool)>,
    pub opcode: &'t str,
    pub modifiers: Vec<&'t str>,
    pub operands: Vec<&'t str>,
    pub whole: &'t str,
}

/// A line without its comment.
pub(crate) fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or("").trim()
}

/// Reads one statement, without its semicolon. `None`: not one of ours.
pub(crate) fn statement(text: &str) -> Option<Statement<'_>> {
    if let Some(label) = text.strip_suffix(':') {
        return Some(Statement::Label(label));
    }
    if let Some(rest) = text.strip_prefix(".reg") {
        let (_, names) = rest.trim().split_once(' ')?;
        let (prefix, count) = names.trim().strip_suffix('>')?.split_once('<')?;
        return Some(Statement::Registers { prefix, count: count.parse().ok()? });
    }
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
    Some(Statement::Inst(Text {
        guard,
        opcode,
        modifiers: modifiers(name, opcode),
        operands: split(operands),
        whole: text,
    }))
}
/// `L1::no_allocate` has no dot inside.
fn modifiers<'t>(name: &'t str, opcode: &str) -> Vec<&'t str> {
    name[opcode.len()..].split('.').filter(|word| !word.is_empty()).collect()
}
/// At the commas that are in no braces or brackets.
fn split(operands: &str) -> Vec<&str> {
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
