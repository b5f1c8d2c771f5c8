//! The probes on the emulator of PTX: that every arm runs, reads inside its memory, and reads no byte that was not
//! written. It has no clock.

use super::Pattern;
use super::arms::{Plan, Tensors, on_gpu, random};
use crate::errors;
use crate::lines::Lines;
use tilewright_cuda::Target;
use tilewright_cuda::emulator::Emulator;
use tilewright_cuda::launch::{Device, Variants, resident};
use tilewright_harness::cli::{Cell, Facts, Failure};
use tilewright_kernels::bw_read::Order;

/// As if the GPU had so many.
const SMS: usize = 1;

pub fn run(plan: &Plan, lines: &mut Lines<'_>) -> Result<Facts, Failure> {
    let amount = plan.amount;
    let first = match plan.pattern {
        Pattern::Contiguous => Vec::new(),
        Pattern::Slabs => amount.first().ok_or_else(|| errors::misfit(&amount.misfit()))?,
    };
    let (mut device, mut variants) = (Emulator::new(Target::Sm90a), Variants::default());
    let pool = random(amount.pool as usize);
    let rows: Vec<u8> = first.iter().flat_map(|row| (*row as i32).to_le_bytes()).collect();
    let (x, table, sums) = (device.alloc(amount.pool)?, device.alloc(rows.len() as u64)?, device.alloc(1 << 16)?);
    device.write(x, &pool)?;
    device.write(table, &rows)?;
    for arm in plan.arms(SMS) {
        let mut tensors = Tensors::of(amount.pool_rows(), &first, arm.shape);
        let launch = tensors.launch(&arm, Order::Interleaved, amount.slab_rows(), arm.blocks);
        let Some(launch) = launch else { continue };
        let launch = on_gpu(launch, &arm, first.len()).ready()?;
        let views: &[_] = match arm.pattern {
            Pattern::Contiguous => &[x, sums],
            Pattern::Slabs => &[x, table, sums],
        };
        let ready = resident(&mut device, &mut variants, &launch, views)?;
        device.launch(&ready.loaded, ready.ctas, &ready.params)?;
        ready.outcome(&mut device)?.checked()?;
        ready.free(&mut device);
        let cells = arm.cells().into_iter().chain((0..4).map(|_| Cell::Empty));
        lines.row(&cells.collect::<Vec<Cell>>())?;
    }
    let what = "every arm ran: no access outside its memory, no read of what nobody wrote; an emulator has no clock";
    Ok(vec![("backend".to_string(), "ptx-emu".to_string()), ("checked".to_string(), what.to_string())])
}
