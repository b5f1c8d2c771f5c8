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

const RING: &str = include_str!("data/ring.ptx");
const CLUSTER: &str = include_str!("data/cluster_ring.ptx");

#[test]
fn damaged_texts_are_refused_or_run() {
    let mut random = Random(88_172_645_463_325_252);
    let (mut refused, mut ran) = (0, 0);
    for text in [RING, include_str!("data/mailbox.ptx"), CLUSTER, include_str!("data/cluster_bulk.ptx")] {
        for _ in 0..600 {
            let mut parts: Vec<&str> = text.split_inclusive([' ', ',', '\n', '.']).collect();
            for _ in 0..1 + random.below(3) {
                let (at, other) = (random.below(parts.len()), random.below(parts.len()));
                match random.below(4) {
                    0 => drop(parts.remove(at)),
                    1 => parts.insert(at, parts[other]),
                    2 => parts[at] = parts[other],
                    _ => parts[at] = PIECES[random.below(PIECES.len())],
                }
            }
            let limits = Limits { steps: 20_000, schedule: Schedule::Random(7), races: true };
            let words = |n| Arg::Words(vec![0; n]);
            let (blocks, mut args) = match text {
                RING => (3, vec![words(512), words(512), Arg::U32(4), Arg::U32(1900)]),
                text if text.contains("cluster") => (4, vec![words(1024), words(1024)]),
                _ => (3, vec![words(512), words(512), words(512)]),
            };
            match run_with(&parts.concat(), blocks, &mut args, limits) {
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
