//! The memory in which a kernel leaves what went wrong and what it printed, in which its programs meet, and in which queues lie.

use super::args::Places;
use super::device::{Address, Ctas, Device};
use super::host::Outcome;
use crate::compile::Compiled;
use crate::launch_errors as errors;
use crate::outcome::{self, Slot, meeting, prints, records_of};
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::stall::Scene;
use tilewright_core::interp::{Printed, Record, RecordKind, record_fault};
use tilewright_core::launch::Grid;

/// For the launches of one kernel, one after the other. It is read and cleared as far as launches have used it.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    pub places: Places,
    /// Bytes where programs meet, and of their queues.
    meeting: u64,
    mail: u64,
}

impl Observed {
    /// For launches of so many CTAs or fewer.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new<D: Device>(device: &mut D, compiled: &Compiled, ctas: Ctas) -> Result<Observed, Diagnostics> {
        let lines = if compiled.prints.is_empty() { 0 } else { 8 * (prints::COUNTERS + prints::ROOM) };
        let meeting = if compiled.stops.is_empty() { 0 } else { meeting::bytes(ctas.count) };
        let mail = mail_bytes(compiled, ctas);
        let mut observed = Observed { places: Places::default(), meeting, mail };
        let made = observed.alloc(device, records_bytes(compiled) as u64, lines).and_then(|()| {
            observed.clear_records(device, compiled)?;
            observed.clear_lines(device, compiled)?;
            observed.clear_meeting(device)
        });
        match made {
            Ok(()) => Ok(observed),
            Err(why) => {
                observed.free(device);
                Err(why)
            }
        }
    }
    fn alloc<D: Device>(&mut self, device: &mut D, records: u64, lines: u64) -> Result<(), Diagnostics> {
        let mut room = |bytes: u64| if bytes == 0 { Ok(Address(0)) } else { device.alloc(bytes) };
        self.places.records = room(records)?;
        self.places.prints = room(lines)?;
        self.places.meeting = room(self.meeting)?;
        self.places.mail = room(self.mail)?;
        Ok(())
    }
    /// Whether launches of so many CTAs have room.
    pub fn fits(&self, compiled: &Compiled, ctas: Ctas) -> bool {
        (self.meeting == 0 || self.meeting >= meeting::bytes(ctas.count)) && self.mail >= mail_bytes(compiled, ctas)
    }
    /// What launches left since the last call.
    ///
    /// # Errors
    /// The device failed, perhaps in a launch.
    pub fn take<D: Device>(&self, device: &mut D, compiled: &Compiled, grid: Grid) -> Result<Outcome, Diagnostics> {
        let scene = Scene { module: &compiled.module, grid };
        let mut out = Outcome::default();
        let records = self.records(device, compiled)?;
        if !compiled.prints.is_empty() {
            out.prints = self.lines(device, compiled, scene)?;
        }
        // Who waits for a program that a fault of its own stopped is not to blame.
        let stops = |kind| matches!(kind, RecordKind::LoopStep | RecordKind::NoTurn);
        let stopped = records.iter().any(|record| stops(record.kind));
        let stalled = self.stalled(device, compiled, scene)?;
        records.iter().for_each(|record| out.errors.push(record_fault(scene, record)));
        out.errors.0.extend(if stopped { Vec::new() } else { stalled.0 });
        Ok(out)
    }
    pub fn free<D: Device>(self, device: &mut D) {
        let Places { records, prints, meeting, mail } = self.places;
        [records, prints, meeting, mail].into_iter().filter(|at| at.0 != 0).for_each(|at| device.free(at));
    }
    fn records<D: Device>(&self, device: &mut D, compiled: &Compiled) -> Result<Vec<Record>, Diagnostics> {
        if compiled.slots.is_empty() {
            return Ok(Vec::new());
        }
        let mut noted = vec![0; records_bytes(compiled)];
        device.read(self.places.records, &mut noted)?;
        let records = records_of(&compiled.slots, &noted);
        if !records.is_empty() {
            self.clear_records(device, compiled)?;
        }
        Ok(records)
    }
    fn lines<D: Device>(
        &self,
        device: &mut D,
        compiled: &Compiled,
        scene: Scene<'_>,
    ) -> Result<Vec<Printed>, Diagnostics> {
        let mut counters = [0; 8 * prints::COUNTERS as usize];
        device.read(self.places.prints, &mut counters)?;
        let counter = |i: usize| counters.as_chunks::<8>().0.get(i).map_or(0, |bytes| u64::from_le_bytes(*bytes));
        if counter(0) == 0 {
            return Ok(Vec::new());
        }
        let mut lines = vec![0; 8 * counter(0).min(prints::ROOM) as usize];
        device.read(Address(self.places.prints.0 + counters.len() as u64), &mut lines)?;
        self.clear_lines(device, compiled)?;
        Ok(prints::lines_of(scene, &compiled.prints, counter(1), &lines))
    }
    /// Programs that waited in vain, in the words of the interpreter.
    fn stalled<D: Device>(
        &self,
        device: &mut D,
        compiled: &Compiled,
        scene: Scene<'_>,
    ) -> Result<Diagnostics, Diagnostics> {
        if self.meeting == 0 {
            return Ok(Diagnostics::default());
        }
        let mut line = [0; 8];
        device.read(self.places.meeting, &mut line)?;
        if meeting::gave_up(&line) == 0 {
            return Ok(Diagnostics::default());
        }
        let mut area = vec![0; self.meeting as usize];
        device.read(self.places.meeting, &mut area)?;
        self.clear_meeting(device)?;
        let told = outcome::told(scene, &compiled.stops, &area);
        Ok(if told.0.is_empty() { errors::gave_up(compiled) } else { told })
    }
    fn clear_records<D: Device>(&self, device: &mut D, compiled: &Compiled) -> Result<(), Diagnostics> {
        zeros(device, self.places.records, records_bytes(compiled) as u64)
    }
    fn clear_lines<D: Device>(&self, device: &mut D, compiled: &Compiled) -> Result<(), Diagnostics> {
        zeros(device, self.places.prints, if compiled.prints.is_empty() { 0 } else { 8 * prints::COUNTERS })
    }
    fn clear_meeting<D: Device>(&self, device: &mut D) -> Result<(), Diagnostics> {
        zeros(device, self.places.meeting, self.meeting)
    }
}

fn zeros<D: Device>(device: &mut D, at: Address, bytes: u64) -> Result<(), Diagnostics> {
    if bytes == 0 { Ok(()) } else { device.write(at, &vec![0; bytes as usize]) }
}
fn mail_bytes(compiled: &Compiled, ctas: Ctas) -> u64 {
    u64::from(compiled.mail_bytes) * u64::from(ctas.count)
}
fn records_bytes(compiled: &Compiled) -> usize {
    compiled.slots.len() * Slot::BYTES as usize
}
