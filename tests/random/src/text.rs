//! Damage to a text: parts taken out, doubled, moved, exchanged, or replaced by words of the text's language.

use crate::source::Source;

/// What `.tir` texts are made of.
pub const TIR_WORDS: [&str; 58] = [
    "kernel @k(",
    "%n",
    "%x",
    "%\"b c\"",
    "%0",
    "=",
    "add",
    "div",
    "load",
    "store",
    "for",
    "while",
    "if",
    "else",
    "composite",
    "yield",
    "reduce_with",
    "reduce_max",
    "scan_sum",
    "dot",
    "carry",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ":",
    ",",
    "..",
    "in",
    "axis",
    " axis 3",
    "i1",
    "i32",
    "f16",
    "f8e4m3",
    ": tile<8x64xf16>",
    ": tile<1xi64>",
    "view<?x?xf16>",
    "view_mut<?xf32>",
    "0:i32",
    "-1:i64",
    "0x7c00:f16",
    "true",
    " loc(k.rs:1:2)",
    " loc(a.rs:1:2 inlined at b.rs:3:4)",
    "\"text\"",
    "keep",
    "limit 0:",
    "step",
    "stages 3",
    "peer.3",
    "pe.east",
    "trans",
    "\n",
];

impl Source<'_> {
    /// The text with one to four pieces of damage. `words`: what the language of the text is made of.
    pub fn damaged(&mut self, text: &str, words: &[&str]) -> String {
        let mut text = text.to_string();
        for _ in 0..1 + self.below(4) {
            text = self.damaged_once(&text, words);
        }
        text
    }
    fn damaged_once(&mut self, text: &str, words: &[&str]) -> String {
        let (a, b) = (self.span(text), self.span(text));
        let cut =
            |span: &std::ops::Range<usize>, with: &str| format!("{}{with}{}", &text[..span.start], &text[span.end..]);
        match self.below(9) {
            0 => cut(&a, ""),
            1 => cut(&a, &text[b]),
            2 => cut(&a, self.one_of(words)),
            3 => cut(&(a.start..a.start), self.one_of(words)),
            4 => cut(&(a.start..a.start), &text[b]),
            5 => cut(&a, &self.number()),
            6 => text[..a.start].to_string(),
            7 => {
                let odd = ["\0", "\u{feff}", "é", "\u{202e}", "\\", "\"", "\r", "\t", "'", "日", "{", "}", "[", "("];
                let odd = self.one_of(&odd);
                let times = if self.once_in(8) { self.below(2000) } else { 1 };
                cut(&(a.start..a.start), &odd.repeat(times))
            }
            _ => {
                let times = 1 + self.below(60);
                cut(&a, &text[a.clone()].repeat(times))
            }
        }
    }
    /// A part of the text: a word, a line, or anything.
    fn span(&mut self, text: &str) -> std::ops::Range<usize> {
        let at = text.floor_char_boundary(self.below(text.len() + 1));
        let blank: fn(char) -> bool = |c| !c.is_alphanumeric() && c != '_';
        let line: fn(char) -> bool = |c| c == '\n';
        let end = |stop: fn(char) -> bool| text[at..].find(stop).map_or(text.len(), |n| at + n);
        let start = |stop: fn(char) -> bool| text[..at].rfind(stop).map_or(0, |n| text.ceil_char_boundary(n + 1));
        match self.below(3) {
            0 => start(blank)..end(blank),
            1 => start(line)..text.len().min(text.ceil_char_boundary(end(line) + 1)),
            _ => at..text.ceil_char_boundary((at + self.below(40)).min(text.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_a_function_of_the_seed_and_changes_most_texts() {
        let text = "kernel @k(%n: i32) {\n  keep %n\n}\n";
        let damaged = |seed| Source::seeded(seed).damaged(text, &["add", "é"]);
        assert!((0..50).all(|seed| damaged(seed) == damaged(seed)));
        let changed = (0..500).filter(|seed| damaged(*seed) != text).count();
        assert!(changed > 450, "{changed}");
    }
}
