//! Global memory: pieces that somebody allocated, apart from each other, with what nobody has written marked.

use crate::fault::Kind;
use std::collections::BTreeMap;

/// The global memory of an emulated device.
#[derive(Clone, Debug)]
pub struct Memory {
    pieces: BTreeMap<u64, Piece>,
    next: u64,
    used: u64,
    /// Bytes that may be allocated together.
    limit: u64,
}

#[derive(Clone, Debug)]
struct Piece {
    bytes: Vec<u8>,
    /// By byte; empty: all are written.
    unwritten: Vec<bool>,
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
        let total = self.used.checked_add(bytes).filter(|n| *n <= self.limit);
        self.used = total.ok_or(Kind::OutOfMemory { bytes, limit: self.limit })?;
        let at = self.next;
        self.next = (at + bytes.max(1)).next_multiple_of(ALIGN) + GAP;
        let n = bytes as usize;
        // A pattern that no kernel computes by chance.
        self.pieces.insert(at, Piece { bytes: vec![0xA5; n], unwritten: vec![true; n] });
        Ok(at)
    }
    pub fn free(&mut self, at: u64) {
        if let Some(piece) = self.pieces.remove(&at) {
            self.used -= piece.bytes.len() as u64;
        }
    }
    /// # Errors
    /// Outside every piece.
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Kind> {
        let (piece, from) = self.piece(at, bytes.len())?;
        piece.bytes[from..from + bytes.len()].copy_from_slice(bytes);
        if !piece.unwritten.is_empty() {
            piece.unwritten[from..from + bytes.len()].fill(false);
        }
        Ok(())
    }
    /// Nobody has written these bytes: a kernel may not read them.
    ///
    /// # Errors
    /// Outside every piece.
    pub fn mark_unwritten(&mut self, at: u64, bytes: u64) -> Result<(), Kind> {
        let (piece, from) = self.piece(at, bytes as usize)?;
        piece.unwritten.resize(piece.bytes.len(), false);
        piece.unwritten[from..from + bytes as usize].fill(true);
        Ok(())
    }
    /// The bytes as they are, written or not.
    ///
    /// # Errors
    /// Outside every piece.
    pub fn read(&mut self, at: u64, bytes: &mut [u8]) -> Result<(), Kind> {
        let (piece, from) = self.piece(at, bytes.len())?;
        bytes.copy_from_slice(&piece.bytes[from..from + bytes.len()]);
        Ok(())
    }
    fn piece(&mut self, at: u64, len: usize) -> Result<(&mut Piece, usize), Kind> {
        let outside = Kind::OutOfBounds { space: "global", address: at, bytes: len as u32 };
        let Some((base, piece)) = self.pieces.range_mut(..=at).next_back() else { return Err(outside) };
        let from = (at - base) as usize;
        if from.checked_add(len).is_some_and(|end| end <= piece.bytes.len()) { Ok((piece, from)) } else { Err(outside) }
    }
    pub(crate) fn load(&mut self, at: u64, bytes: u32) -> Result<u64, Kind> {
        let (piece, from) = self.piece(at, bytes as usize)?;
        let range = from..from + bytes as usize;
        if !piece.unwritten.is_empty() && piece.unwritten[range.clone()].contains(&true) {
            return Err(Kind::Unwritten { space: "global", address: at, bytes });
        }
        Ok(number(&piece.bytes[range]))
    }
    pub(crate) fn store(&mut self, at: u64, bytes: u32, value: u64) -> Result<(), Kind> {
        self.write(at, &value.to_le_bytes()[..bytes as usize])
    }
}

/// Little-endian.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}
