//! How long shared memory takes for the accesses of a warp. It has 32 banks of four bytes and moves 128 bytes at once, a
//! wavefront: as many lanes as that is enough for go together, in order, and come again for each further word that one bank
//! has to give them.

use super::lanes;
use crate::inst::Lanes;

/// Bytes of all banks.
const WAVEFRONT: u32 = 128;
/// Bytes of a bank's word.
const WORD: u64 = 4;
const BANKS: u64 = 32;

/// What accesses to shared memory took: loads, stores, matrices and copies from global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Banks {
    pub wavefronts: u64,
    /// Those of them that there are because lanes meet in a bank.
    pub extra: u64,
    /// The first line of the text with such an access.
    pub line: Option<u32>,
}

impl Banks {
    /// One access of a warp, so many bytes at each lane's address.
    pub(super) fn access(&mut self, addresses: &Lanes, mask: u32, bytes: u32, line: u32) {
        let together = (WAVEFRONT / bytes.max(WORD as u32)) as usize;
        let mut extra = 0;
        for first in (0..u32::BITS as usize).step_by(together) {
            let phase = mask >> first & (u32::MAX >> (u32::BITS as usize - together));
            if phase != 0 {
                let words = most_words(addresses, phase << first, bytes);
                self.wavefronts += words;
                extra += words - 1;
            }
        }
        self.extra += extra;
        if extra > 0 {
            self.line = Some(self.line.map_or(line, |known| known.min(line)));
        }
    }
    pub(crate) fn add(&mut self, other: Banks) {
        self.wavefronts += other.wavefronts;
        self.extra += other.extra;
        self.line = self.line.into_iter().chain(other.line).min();
    }
}

/// Different words that the busiest bank gives these lanes.
fn most_words(addresses: &Lanes, phase: u32, bytes: u32) -> u64 {
    let mut words = Vec::with_capacity(BANKS as usize);
    for lane in lanes(phase) {
        let at = addresses[lane];
        words.extend(at / WORD..(at + u64::from(bytes)).div_ceil(WORD));
    }
    words.sort_unstable();
    words.dedup();
    let mut given = [0; BANKS as usize];
    words.iter().for_each(|word| given[(word % BANKS) as usize] += 1);
    given.into_iter().max().unwrap_or(0)
}
