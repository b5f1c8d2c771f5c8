//! The buffer of error records: a slot for each op that can fail.

use tilewright_core::interp::{Record, RecordKind};
use tilewright_core::ir::{Dims, MAX_RANK, OpId};

/// Where faults of one kind at one op are noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub op: OpId,
    pub kind: RecordKind,
    pub place: Place,
}

/// What is noted of the place of the first fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Nowhere,
    /// The position in a view: two words an axis, low half first.
    View {
        rank: u32,
    },
    /// The position in a tile: the complement of its row-major number.
    Tile {
        dims: Dims,
    },
}

impl Slot {
    /// A count and the words of a place, 8 bytes each.
    pub const BYTES: u64 = 8 * (1 + Slot::WORDS as u64);
    const WORDS: usize = 2 * MAX_RANK;
}

/// What happened, in the order of the ops.
pub fn records_of(slots: &[Slot], bytes: &[u8]) -> Vec<Record> {
    let slot = |(slot, bytes): (&Slot, &[u8])| {
        let (words, _) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let (count, words) = words.split_first()?;
        (*count > 0).then(|| Record {
            kind: slot.kind,
            op: slot.op,
            pe: !((words[0] >> 32) as u32) as usize,
            coordinate: coordinate(slot.place, words),
            count: *count,
        })
    };
    let mut all: Vec<Record> = slots.iter().zip(bytes.chunks_exact(Slot::BYTES as usize)).filter_map(slot).collect();
    all.sort_by_key(|record| (record.op, record.kind));
    all
}

fn coordinate(place: Place, words: &[u64]) -> Vec<i64> {
    let low = |i: usize| words[i] as u32;
    match place {
        Place::Nowhere => Vec::new(),
        Place::View { rank } => {
            let axis = |i: usize| (u64::from(low(2 * i)) | u64::from(low(2 * i + 1)) << 32) as i64;
            (0..rank as usize).map(axis).collect()
        }
        Place::Tile { dims } => {
            let mut flat = !low(0);
            let mut out = Vec::new();
            for n in dims.as_slice().iter().rev() {
                out.push(i64::from(flat % n));
                flat /= n;
            }
            out.reverse();
            out
        }
    }
}
