//! Memory: pieces apart from each other, with what nobody has written marked. Blocks that run at the same time share it,
//! so its words are atomic; whether their accesses are ordered is `shadow`'s subject.

use crate::fault::Kind;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};

/// Bytes without holes.
#[derive(Debug)]
pub(crate) struct Piece {
    words: Vec<AtomicU32>,
    /// By word, a bit a byte; empty: all are written.
    written: Vec<AtomicU8>,
    len: u64,
}

/// What memory holds before anybody writes it: nothing that a kernel computes by chance.
const PATTERN: u32 = 0xA5A5_A5A5;

impl Piece {
    pub(crate) fn new(len: u64) -> Piece {
        let words = len.div_ceil(4) as usize;
        // What fills the last word up holds nothing that anybody has to write.
        let beyond = |word: usize| if word + 1 == words && !len.is_multiple_of(4) { 15 << (len % 4) & 15 } else { 0 };
        Piece {
            words: (0..words).map(|_| AtomicU32::new(PATTERN)).collect(),
            written: (0..words).map(|word| AtomicU8::new(beyond(word))).collect(),
            len,
        }
    }
    pub(crate) fn len(&self) -> u64 {
        self.len
    }
    /// Up to 8 bytes from a multiple of their number on; whether all of them are written.
    pub(crate) fn load(&self, at: u64, bytes: u32) -> (u64, bool) {
        let word = (at / 4) as usize;
        let low = u64::from(self.words[word].load(Relaxed));
        let written = |word: usize, mask: u8| self.written.get(word).is_none_or(|w| w.load(Relaxed) & mask == mask);
        match bytes {
            4 => (low, written(word, 15)),
            8 => {
                let high = u64::from(self.words[word + 1].load(Relaxed));
                (high << 32 | low, written(word, 15) && written(word + 1, 15))
            }
            _ => {
                let (shift, mask) = part(at, bytes);
                (low >> shift & ((1 << (bytes * 8)) - 1), written(word, mask))
            }
        }
    }
    pub(crate) fn store(&self, at: u64, bytes: u32, value: u64) {
        let word = (at / 4) as usize;
        let mark = |word: usize, mask: u8| {
            if let Some(w) = self.written.get(word)
                && w.load(Relaxed) & mask != mask
            {
                w.fetch_or(mask, Relaxed);
            }
        };
        match bytes {
            4 | 8 => {
                self.words[word].store(value as u32, Relaxed);
                mark(word, 15);
                if bytes == 8 {
                    self.words[word + 1].store((value >> 32) as u32, Relaxed);
                    mark(word + 1, 15);
                }
            }
            _ => {
                let (shift, mask) = part(at, bytes);
                let bits = (((1u64 << (bytes * 8)) - 1) << shift) as u32;
                let new = (value << shift) as u32 & bits;
                // Another block may write the other bytes meanwhile.
                let _ = self.words[word].fetch_update(Relaxed, Relaxed, |old| Some(old & !bits | new));
                mark(word, mask);
            }
        }
    }
    fn mark_unwritten(&mut self, at: u64, bytes: u64) {
        if self.written.is_empty() {
            self.written = (0..self.words.len()).map(|_| AtomicU8::new(15)).collect();
        }
        for byte in at..at + bytes {
            self.written[(byte / 4) as usize].fetch_and(!(1 << (byte % 4)), Relaxed);
        }
    }
    fn write(&mut self, at: u64, bytes: &[u8]) {
        if bytes.len() as u64 == self.len {
            self.written = Vec::new();
        }
        let (mut at, mut rest) = (at, bytes);
        while let [first, after @ ..] = rest {
            match rest.split_first_chunk::<4>() {
                Some((word, after)) if at.is_multiple_of(4) => {
                    self.store(at, 4, u64::from(u32::from_le_bytes(*word)));
                    (at, rest) = (at + 4, after);
                }
                _ => {
                    self.store(at, 1, u64::from(*first));
                    (at, rest) = (at + 1, after);
                }
            }
        }
    }
}
/// Bits below, and which bytes of the word.
fn part(at: u64, bytes: u32) -> (u32, u8) {
    let from = (at % 4) as u32;
    (from * 8, ((1u8 << bytes) - 1) << from)
}

/// The global memory of an emulated device.
#[derive(Debug)]
pub struct Memory {
    pieces: BTreeMap<u64, Piece>,
    next: u64,
    used: u64,
    /// Bytes that may be allocated together.
    limit: u64,
}

/// Where the first piece lies: no small number is an address.
const FIRST: u64 = 1 << 32;
/// Between pieces, so that a small step out of one does not land in another.
const GAP: u64 = 1 << 16;
const ALIGN: u64 = 256;

impl Memory {
    pub fn new(limit: u64) -> Memory {
        Memory { pieces: BTreeMap::new(), next: FIRST, used: 0, limit }
    }
    /// Nobody has written it.
    ///
    /// # Errors
    /// It is more than the limit leaves.
    pub fn alloc(&mut self, bytes: u64) -> Result<u64, Kind> {
        let at = self.next;
        self.place(at, bytes)?;
        self.next = (at + bytes.max(1)).next_multiple_of(ALIGN) + GAP;
        Ok(at)
    }
    fn place(&mut self, at: u64, bytes: u64) -> Result<(), Kind> {
        let total = self.used.checked_add(bytes).filter(|n| *n <= self.limit);
        self.used = total.ok_or(Kind::OutOfMemory { bytes, limit: self.limit })?;
        self.pieces.insert(at, Piece::new(bytes));
        Ok(())
    }
    pub fn free(&mut self, at: u64) {
        if let Some(piece) = self.pieces.remove(&at) {
            self.used -= piece.len;
        }
    }
    /// # Errors
    /// Outside every piece.
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Kind> {
        let outside = Kind::OutOfBounds { space: "global", address: at, bytes: bytes.len() as u32 };
        match self.pieces.range_mut(..=at).next_back() {
            Some((base, piece)) if at - base + bytes.len() as u64 <= piece.len => {
                piece.write(at - base, bytes);
                Ok(())
            }
            _ => Err(outside),
        }
    }
    /// Nobody has written these bytes: a kernel may not read them.
    ///
    /// # Errors
    /// Outside every piece.
    pub fn mark_unwritten(&mut self, at: u64, bytes: u64) -> Result<(), Kind> {
        match self.pieces.range_mut(..=at).next_back() {
            Some((base, piece)) if at - base + bytes <= piece.len => {
                piece.mark_unwritten(at - base, bytes);
                Ok(())
            }
            _ => Err(Kind::OutOfBounds { space: "global", address: at, bytes: bytes as u32 }),
        }
    }
    /// The bytes as they are, written or not.
    ///
    /// # Errors
    /// Outside every piece.
    pub fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), Kind> {
        let len = bytes.len() as u32;
        let outside = || Kind::OutOfBounds { space: "global", address: at, bytes: len };
        let (base, piece) = self.find(at).ok_or_else(outside)?;
        let from = at - base;
        if from + bytes.len() as u64 > piece.len {
            return Err(outside());
        }
        let mut at = from;
        let mut rest = bytes;
        while !rest.is_empty() {
            // Whole words where they are.
            let count = if at.is_multiple_of(4) { rest.len().min(4) } else { 1 };
            let word = (piece.load(at - at % 4, 4).0 >> (at % 4 * 8)) as u32;
            let (now, after) = rest.split_at_mut(count);
            now.copy_from_slice(&word.to_le_bytes()[..count]);
            (at, rest) = (at + count as u64, after);
        }
        Ok(())
    }
    /// A variable of a module, if it is not there yet.
    pub(crate) fn variable(&mut self, at: u64, initial: &[u8]) -> Result<(), Kind> {
        if self.pieces.contains_key(&at) {
            return Ok(());
        }
        self.place(at, initial.len() as u64)?;
        self.write(at, initial)
    }
    /// The last piece that begins at the address or before it.
    pub(crate) fn find(&self, at: u64) -> Option<(u64, &Piece)> {
        self.pieces.range(..=at).next_back().map(|(base, piece)| (*base, piece))
    }
}
