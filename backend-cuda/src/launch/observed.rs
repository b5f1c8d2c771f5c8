//! The buffers in which a kernel leaves what went wrong and what it printed.

use super::device::{Address, Device};
use super::host::Outcome;
use crate::compile::Compiled;
use crate::outcome::{Slot, prints, records_of};
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::stall::Scene;
use tilewright_core::interp::{Printed, record_fault};
use tilewright_core::launch::Grid;

/// For the launches of one kernel, one after the other. What a kernel does not need is at address 0.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    pub records: Address,
    pub prints: Address,
}

impl Observed {
    /// # Errors
    /// Out of memory.
    pub fn new<D: Device>(device: &mut D, compiled: &Compiled) -> Result<Observed, Diagnostics> {
        let mut room = |bytes: u64| if bytes == 0 { Ok(Address(0)) } else { device.alloc(bytes) };
        let records = room(records_bytes(compiled) as u64)?;
        let lines = if compiled.prints.is_empty() { 0 } else { 8 * (prints::COUNTERS + prints::ROOM) };
        let observed = Observed { records, prints: room(lines)? };
        observed.clear(device, compiled)?;
        Ok(observed)
    }
    /// What launches left since the buffers were cleared, which they are then.
    ///
    /// # Errors
    /// The device failed, perhaps in a launch.
    pub fn take<D: Device>(&self, device: &mut D, compiled: &Compiled, grid: Grid) -> Result<Outcome, Diagnostics> {
        let scene = Scene { module: &compiled.module, grid };
        let mut out = Outcome::default();
        if !compiled.slots.is_empty() {
            let mut noted = vec![0; records_bytes(compiled)];
            device.read(self.records, &mut noted)?;
            records_of(&compiled.slots, &noted).iter().for_each(|record| out.errors.push(record_fault(scene, record)));
        }
        if !compiled.prints.is_empty() {
            out.prints = self.lines(device, compiled, scene)?;
        }
        self.clear(device, compiled)?;
        Ok(out)
    }
    pub fn free<D: Device>(self, device: &mut D) {
        [self.records, self.prints].into_iter().filter(|at| at.0 != 0).for_each(|at| device.free(at));
    }
    fn clear<D: Device>(&self, device: &mut D, compiled: &Compiled) -> Result<(), Diagnostics> {
        if !compiled.slots.is_empty() {
            device.write(self.records, &vec![0; records_bytes(compiled)])?;
        }
        if !compiled.prints.is_empty() {
            device.write(self.prints, &[0; 8 * prints::COUNTERS as usize])?;
        }
        Ok(())
    }
    fn lines<D: Device>(
        &self,
        device: &mut D,
        compiled: &Compiled,
        scene: Scene<'_>,
    ) -> Result<Vec<Printed>, Diagnostics> {
        let mut counters = [0; 8 * prints::COUNTERS as usize];
        device.read(self.prints, &mut counters)?;
        let counter = |i: usize| counters.as_chunks::<8>().0.get(i).map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let mut lines = vec![0; 8 * counter(0).min(prints::ROOM) as usize];
        device.read(Address(self.prints.0 + counters.len() as u64), &mut lines)?;
        Ok(prints::lines_of(scene, &compiled.prints, counter(1), &lines))
    }
}

fn records_bytes(compiled: &Compiled) -> usize {
    compiled.slots.len() * Slot::BYTES as usize
}
