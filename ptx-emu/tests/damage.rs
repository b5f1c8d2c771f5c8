//! A damaged text is refused or runs; it never takes the emulator down.

mod common;

use common::{Arg, run_with};
use tilewright_ptx_emu::{Limits, Schedule};

/// xorshift
struct Random(u64);
impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}
const PIECES: [&str; 16] = [
    "0",
    "-1",
    "4294967295",
    "18446744073709551615",
    "%r3",
    "%d1",
    "%p1",
    "{",
    "}",
    "[",
    "]",
    ";",
    ".v4",
    ".u8",
    ".shared",
    "@!%p0 ",
];

#[test]
fn damaged_texts_are_refused_or_run() {
    let mut random = Random(88_172_645_463_325_252);
    let (mut refused, mut ran) = (0, 0);
    for text in [include_str!("data/ring.ptx"), include_str!("data/mailbox.ptx")] {
        for _ in 0..600 {
            let mut words: Vec<&str> = text.split_inclusive([' ', ',', '\n', '.']).collect();
            for _ in 0..1 + random.below(3) {
                let (at, other) = (random.below(words.len()), random.below(words.len()));
                match random.below(4) {
                    0 => drop(words.remove(at)),
                    1 => words.insert(at, words[other]),
                    2 => words[at] = words[other],
                    _ => words[at] = PIECES[random.below(PIECES.len())],
                }
            }
            let limits = Limits { steps: 20_000, schedule: Schedule::Random(7), races: true };
            let args = &mut [Arg::Words(vec![0; 512]), Arg::Words(vec![0; 512]), Arg::Words(vec![0; 512])];
            let short = &mut [Arg::Words(vec![0; 512]), Arg::Words(vec![0; 512]), Arg::U32(4), Arg::U32(1900)];
            let ring = text.contains("ring");
            match run_with(&words.concat(), 3, if ring { short } else { args }, limits) {
                Ok(_) => ran += 1,
                Err(fault) => {
                    assert!(!fault.to_string().is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 300 && ran > 30, "{refused} refused, {ran} ran");
}
