//! Blocks that ran at the same time, each with its own record: nothing orders them, so what one wrote no other may touch.

use super::{Access, Cell, Conflict, Pages, Place, READ_ONLY};

/// What blocks did to a place, so far.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    write: Access,
    value: u32,
    read: Access,
}
#[derive(Debug, Default)]
pub(crate) struct Meeting {
    pages: Pages<Met>,
    /// Bytes that nobody compares any more, for lack of memory.
    pub unchecked: u64,
}
/// Bytes of the kernel's memory that are compared between blocks; a record takes about ten times as much.
const MOST: u64 = 256 << 20;

impl Meeting {
    /// Adds what a block did.
    ///
    /// # Errors
    /// Where, what the block did there, and with what it conflicts.
    pub(crate) fn add(&mut self, of: &Pages<Cell>) -> Result<(), (u64, Access, Conflict)> {
        if self.pages.bytes() > MOST {
            self.unchecked += of.bytes();
            return Ok(());
        }
        for (at, bytes, cell) in of.all() {
            if !cell.write.happened() && !cell.reads[0].happened() {
                continue;
            }
            let (words, from) = self.pages.around(at);
            let add = |met: &mut Met, i, count| met.add(&if count < bytes { cell.byte(i) } else { *cell });
            words.each(from, bytes, add).map_err(|(mine, other)| (at, mine, other))?;
        }
        Ok(())
    }
}
impl Place for Met {
    fn byte(self, i: u32) -> Met {
        Met { value: self.value >> (i * 8) & 0xFF, ..self }
    }
}
impl Met {
    fn add(&mut self, cell: &Cell) -> Result<(), (Access, Conflict)> {
        let apart = |a: &Access, b: &Access| a.happened() && b.happened() && a.block != b.block;
        let conflict = |mine: &Access, other: &Access| {
            let read_only = mine.is(READ_ONLY) || other.is(READ_ONLY);
            (*mine, if read_only { Conflict::ReadOnly(*other) } else { Conflict::Race(*other) })
        };
        for read in &cell.reads {
            if apart(read, &self.write) {
                return Err(conflict(read, &self.write));
            }
        }
        let alike = self.write.pc == cell.write.pc && self.value == cell.value;
        if apart(&cell.write, &self.write) && !alike {
            return Err(conflict(&cell.write, &self.write));
        }
        if apart(&cell.write, &self.read) {
            return Err(conflict(&cell.write, &self.read));
        }
        if cell.write.happened() {
            (self.write, self.value) = (cell.write, cell.value);
        }
        if cell.reads[0].happened() {
            self.read = cell.reads[0];
        }
        Ok(())
    }
}
