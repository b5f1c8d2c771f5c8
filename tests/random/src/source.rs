//! The stream of choices that an input is made of: bytes, so that a tool can shrink or steer them, or a seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The stream of choices of one input.
pub struct Source<'a>(Stream<'a>);

enum Stream<'a> {
    /// When they run out, every choice is the first one.
    Bytes(std::slice::Iter<'a, u8>),
    Seeded(Box<Xoshiro256PlusPlus>),
}

impl<'a> Source<'a> {
    pub fn bytes(bytes: &'a [u8]) -> Source<'a> {
        Source(Stream::Bytes(bytes.iter()))
    }
    pub fn seeded(seed: u64) -> Source<'static> {
        Source(Stream::Seeded(Box::new(Xoshiro256PlusPlus::seed_from_u64(seed))))
    }
    /// Whether the bytes have run out; a seed never does.
    pub fn is_done(&self) -> bool {
        matches!(&self.0, Stream::Bytes(bytes) if bytes.len() == 0)
    }
    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        match &mut self.0 {
            Stream::Bytes(bytes) => bytes.by_ref().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte)),
            Stream::Seeded(random) => random.next_u64(),
        }
    }
    /// So many bytes, to choose something else by.
    pub fn some_bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }
    /// A number below `n`; 0 for 0. The small bias of the remainder does no harm here.
    pub fn below(&mut self, n: usize) -> usize {
        let width = if n <= 256 { 1 } else { 4 };
        let random = match &mut self.0 {
            Stream::Bytes(bytes) => bytes.by_ref().take(width).fold(0, |all, byte| all << 8 | usize::from(*byte)),
            Stream::Seeded(random) => usize::try_from(random.next_u64() >> 1).unwrap_or(usize::MAX),
        };
        random % n.max(1)
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
}
