//! How an input is made: choices from one stream of random numbers, and damage to a text.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// The stream of choices of one input.
pub struct Source(pub Xoshiro256PlusPlus);

impl Source {
    /// A number below `n`; 0 for 0. The small bias of the remainder does no harm here.
    pub fn below(&mut self, n: usize) -> usize {
        let random = self.0.next_u64();
        usize::try_from(random >> 1).unwrap_or(usize::MAX) % n.max(1)
    }
    pub fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
    /// True once in `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    /// A number as somebody may write it.
    pub fn number(&mut self) -> String {
        const EDGES: [&str; 26] = [
            "0",
            "1",
            "-1",
            "2",
            "7",
            "8",
            "255",
            "256",
            "65535",
            "65536",
            "1048576",
            "2147483647",
            "2147483648",
            "-2147483648",
            "4294967296",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "1e400",
            "1e-400",
            "0x7fc00000",
            "NaN",
            "inf",
            "1.5",
            "0.1",
        ];
        if self.once_in(2) { self.one_of(&EDGES).to_string() } else { self.below(5000).to_string() }
    }
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
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn damage_is_a_function_of_the_seed_and_changes_most_texts() {
        let text = "kernel @k(%n: i32) {\n  keep %n\n}\n";
        let damaged = |seed| Source(Xoshiro256PlusPlus::seed_from_u64(seed)).damaged(text, &["add", "é"]);
        assert!((0..50).all(|seed| damaged(seed) == damaged(seed)));
        let changed = (0..500).filter(|seed| damaged(*seed) != text).count();
        assert!(changed > 450, "{changed}");
    }
}
