//! `cp.async`: what a thread copies lands at any time up to its wait, in any order, and nobody may look before. Without a
//! seed copies land as late as they can.

use super::lanes;
use super::memory::{Place, Spot, Touch};
use super::warp::Run;
use crate::fault::{Fault, Kind};
use crate::inst::{Op, Space};
use crate::shadow::{Access, IN_FLIGHT};

/// A copy that is not waited for.
#[derive(Clone)]
pub(super) struct Flight<'l> {
    lane: usize,
    target: Spot<'l>,
    /// `None`: only zeros.
    source: Option<Spot<'l>>,
    bytes: u32,
    /// Bytes that are read; zeros follow.
    size: u32,
    /// Of its lane, from 0; `None`: not committed.
    group: Option<u32>,
    landed: bool,
    pc: u32,
}

impl<'l> Run<'_, 'l> {
    pub(super) fn copy(&mut self, op: &Op, mask: u32) -> Result<(), Fault> {
        match op {
            Op::Copy { to, from, bytes, size } => {
                let (to, from) = (self.addresses(*to, mask)?, self.addresses(*from, mask)?);
                let size = size.map(|size| self.defined(size, mask).copied()).transpose()?;
                self.count_banks((Space::Shared, &to), mask, *bytes);
                for lane in lanes(mask) {
                    let size = size.map_or(*bytes, |size| size[lane] as u32);
                    if size > *bytes {
                        return Err(
                            self.fault(Kind::Unknown(format!("a copy of {size} of {bytes} bytes")), lane as u32)
                        );
                    }
                    self.begin(lane, (to[lane], from[lane]), (*bytes, size))?;
                }
            }
            Op::CopyCommit => {
                for flight in self.warp.flights.iter_mut().filter(|f| mask >> f.lane & 1 == 1) {
                    flight.group.get_or_insert(self.warp.committed[flight.lane]);
                }
                lanes(mask).for_each(|lane| self.warp.committed[lane] += 1);
            }
            Op::CopyWait { keep } => {
                let committed = self.warp.committed;
                let due = |f: &Flight<'l>| {
                    let old = |keep| f.group.is_some_and(|group| group.saturating_add(keep) < committed[f.lane]);
                    mask >> f.lane & 1 == 1 && keep.is_none_or(old)
                };
                let (mut due, rest): (Vec<_>, Vec<_>) =
                    std::mem::take(&mut self.warp.flights).into_iter().partition(due);
                self.warp.flights = rest;
                self.side.random.shuffle(&mut due);
                for flight in &mut due {
                    self.land(flight);
                    self.settle(flight)?;
                }
            }
            _ => {}
        }
        if self.cx.seed.is_some() {
            self.land_some();
        }
        Ok(())
    }
    fn begin(&mut self, lane: usize, (to, from): (u64, u64), (bytes, size): (u32, u32)) -> Result<(), Fault> {
        let target = self.place(Space::Shared, to, (bytes, 1), lane, &mut Place::default())?;
        if !from.is_multiple_of(bytes.into()) {
            let kind = Kind::Misaligned { space: Space::Global.name(), address: from, bytes };
            return Err(self.fault(kind, lane as u32));
        }
        let mut found = Place::default();
        for at in 0..u64::from(size) {
            let spot = self.place(Space::Global, from + at, (1, 1), lane, &mut found)?;
            self.held(spot, lane)?;
        }
        let access = self.access(lane, IN_FLIGHT);
        let source = (size > 0).then(|| self.place(Space::Global, from, (1, 1), lane, &mut found)).transpose()?;
        if let Some(source) = source {
            self.touch(source, size, access, Touch::Read)?;
        }
        self.touch(target, bytes, access, Touch::Write([0; 8]))?;
        let flight = Flight { lane, target, source, bytes, size, group: None, landed: false, pc: self.warp.pc };
        self.warp.flights.push(flight);
        Ok(())
    }
    fn land(&mut self, flight: &mut Flight<'l>) {
        if std::mem::replace(&mut flight.landed, true) {
            return;
        }
        for at in 0..u64::from(flight.bytes) {
            let source = flight.source.filter(|_| at < flight.size.into());
            let byte = source.and_then(|spot| Some(spot.piece?.load(spot.from + at, 1).0)).unwrap_or(0);
            self.piece(flight.target).store(flight.target.from + at, 1, byte);
        }
    }
    /// From now on it is as if the thread had read and written the places itself.
    fn settle(&mut self, flight: &Flight<'l>) -> Result<(), Fault> {
        let access = Access { pc: flight.pc, ..self.access(flight.lane, 0) };
        if let Some(source) = flight.source {
            self.touch(source, flight.size, access, Touch::Settle)?;
        }
        self.touch(flight.target, flight.bytes, access, Touch::Settle)
    }
    fn land_some(&mut self) {
        let mut flights = std::mem::take(&mut self.warp.flights);
        for flight in &mut flights {
            if self.side.random.below(4) == 0 {
                self.land(flight);
            }
        }
        self.warp.flights = flights;
    }
}
