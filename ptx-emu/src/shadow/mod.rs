//! Who touched each place of memory last, and whether that is ordered before the next who does. Two accesses of one place
//! race if one of them writes, not both are atomic or relaxed, and nothing orders them: not one thread, no barrier between,
//! no release that the other acquired. `order.rs`: what is ordered. `words.rs`: a cell a word. `met.rs`: blocks that ran at
//! the same time, compared afterwards.

mod met;
mod order;
mod words;

pub(crate) use met::Meeting;
pub(crate) use order::{By, Clock, Knowledge, Map, Released, covers, join, landed, near};
pub(crate) use words::{Pages, Place, Words};

/// What is known of an access besides its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub block: u32,
    /// 0: there is none.
    pub clock: Clock,
    /// Of the instruction.
    pub pc: u32,
    pub thread: u16,
    pub flags: u16,
}
/// Atomics, and all that is relaxed or stronger.
pub(crate) const STRONG: u16 = 1;
/// Of a copy that is not waited for.
pub(crate) const IN_FLIGHT: u16 = 2;
/// Beside a thread: what is done for it by a copy or a store that an mbarrier counts. Nothing that orders the thread orders it.
pub(crate) const ASYNC: u16 = 1 << 15;
/// A read of what nobody may write in this launch.
pub(crate) const READ_ONLY: u16 = 4;

impl Access {
    #[inline(always)]
    pub(crate) fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
    /// The thread that it was, or that asked for it.
    pub(crate) fn of_thread(&self) -> u32 {
        u32::from(self.thread & !ASYNC)
    }
    /// Unless something orders the two.
    #[inline(always)]
    fn races(&self, other: &Access) -> bool {
        !self.is(STRONG) || !other.is(STRONG)
    }
    #[inline(always)]
    pub(crate) fn happened(&self) -> bool {
        self.clock.0 != 0
    }
}

/// A word, or a byte of one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell {
    pub write: Access,
    /// What it wrote.
    pub value: u32,
    /// Reads since, of two threads that nothing orders, if there are two: any other that writes races with one of them.
    pub reads: [Access; 2],
}

impl Place for Cell {
    fn byte(self, i: u32) -> Cell {
        Cell { value: self.value >> (i * 8) & 0xFF, ..self }
    }
}

/// What two accesses of a place are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    Race(Access),
    InFlight(Access),
    ReadOnly(Access),
}

impl Cell {
    /// # Errors
    /// It conflicts with the last write.
    #[inline(always)]
    pub(crate) fn read(&mut self, me: Access, ordered: impl Fn(&Access) -> bool) -> Result<(), Conflict> {
        let write = &self.write;
        let same = |other: &Access| other.thread == me.thread && other.block == me.block;
        if !write.happened() && (!self.reads[0].happened() || same(&self.reads[0])) {
            self.reads[0] = me;
            return Ok(());
        }
        if write.happened() {
            if write.is(IN_FLIGHT) {
                return Err(Conflict::InFlight(*write));
            }
            if me.is(READ_ONLY) {
                return Err(Conflict::ReadOnly(*write));
            }
            if write.races(&me) && !ordered(write) {
                return Err(Conflict::Race(*write));
            }
        }
        let slot = self.reads.iter().position(|r| !r.happened() || same(r));
        if let Some(slot) = slot.or_else(|| self.reads.iter().position(&ordered)) {
            self.reads[slot] = me;
        }
        Ok(())
    }
    /// `holds`: whether the place has the value already.
    ///
    /// # Errors
    /// It conflicts with an earlier access.
    #[inline(always)]
    pub(crate) fn write(
        &mut self,
        me: Access,
        value: u32,
        holds: impl Fn() -> bool,
        ordered: impl Fn(&Access) -> bool,
    ) -> Result<(), Conflict> {
        let write = &self.write;
        if write.happened() {
            if write.is(IN_FLIGHT) {
                return Err(Conflict::InFlight(*write));
            }
            // Threads that store one value by one instruction do not disturb each other.
            let alike = || write.pc == me.pc && !me.is(IN_FLIGHT) && holds();
            if write.races(&me) && !ordered(write) && !alike() {
                return Err(Conflict::Race(*write));
            }
        }
        for read in self.reads.iter().filter(|read| read.happened()) {
            if read.is(IN_FLIGHT) {
                return Err(Conflict::InFlight(*read));
            }
            if read.is(READ_ONLY) {
                return Err(Conflict::ReadOnly(*read));
            }
            if read.races(&me) && !ordered(read) {
                return Err(Conflict::Race(*read));
            }
        }
        *self = Cell { write: me, value, reads: Default::default() };
        Ok(())
    }
    /// The copy that the thread had in flight has been waited for.
    pub(crate) fn settle(&mut self, me: Access) {
        for access in std::iter::once(&mut self.write).chain(&mut self.reads) {
            if access.is(IN_FLIGHT) && access.thread == me.thread && access.block == me.block {
                *access = Access { pc: access.pc, ..me };
            }
        }
    }
}
