//! The probes on a GPU.

use super::Pattern;
use super::arms::{Amount, Arm, Plan, ROW_BYTES, Tensors, on_gpu, random};
use crate::gpu::{Bench, Queued, rate};
use crate::lines::{Lines, tenths};
use tilewright_core::diag::Diagnostics;
use tilewright_cuda::launch::{Address, Device};
use tilewright_harness::cli::{Cell, Common, Facts, Failure, Progress, note};
use tilewright_kernels::bw_read::Order;

/// Bytes that are made on the host; the GPU repeats them.
const RANDOM: u64 = 64 << 20;
/// Of the free memory, in hundredths, that a pool may take.
const SHARE: u64 = 90;

pub fn run(plan: &Plan, common: &Common, lines: &mut Lines<'_>) -> Result<Facts, Failure> {
    let mut bench = Bench::open()?;
    let mut plan = plan.clone();
    let (free, _) = bench.gpu.memory()?;
    while plan.amount.pool > free / 100 * SHARE && plan.amount.pool > RANDOM {
        plan.amount.pool /= 2;
    }
    let mut facts = bench.facts();
    facts.push(("pool".to_string(), format!("{} MiB, random f32", plan.amount.pool >> 20)));
    let memory = Memory::new(&mut bench, &plan)?;
    let Some(memory) = memory else {
        let why: Cell = plan.amount.misfit().into();
        let none = || Cell::Empty;
        let cells = ["tilewright".into(), "slabs".into()].into_iter().chain((0..7).map(|_| none())).chain([why]);
        lines.row(&cells.collect::<Vec<Cell>>())?;
        return Ok(facts);
    };
    let arms = plan.arms(bench.sms());
    let progress = Progress::new("probe", arms.len(), common.rows_only());
    let mut best: [Option<(f64, Arm)>; 2] = [None, None];
    for arm in &arms {
        let Some(queued) = memory.ready(&mut bench, arm)? else { continue };
        let times = bench.times(plan.runs, |stream| bench.queue(stream, &queued))?;
        bench.done(queued)?;
        let bytes = plan.amount.read(arm.pattern);
        let (gbs, median) = (rate(bytes, times[0]), rate(bytes, times[times.len() / 2]));
        let cells = arm.cells().into_iter().chain([tenths(gbs), tenths(median), Cell::Empty, Cell::Empty]);
        lines.row(&cells.collect::<Vec<Cell>>())?;
        let best = &mut best[usize::from(arm.shape.vec > 1)];
        if best.is_none_or(|(known, _)| gbs > known) {
            *best = Some((gbs, *arm));
        }
        progress.step("reads");
    }
    drop(progress);
    let copy = copied(&bench, &memory, &plan)?;
    let cells = ["tilewright", "copy"].map(Cell::from).into_iter().chain((0..4).map(|_| Cell::Empty));
    lines.row(&cells.chain([tenths(copy), Cell::Empty, Cell::Empty, Cell::Empty]).collect::<Vec<Cell>>())?;
    for (gbs, arm) in best.into_iter().flatten() {
        let text = format!("{gbs:.1} GB/s with {:?}, {} blocks", arm.shape, arm.blocks);
        facts.push((format!("best {}", if arm.shape.vec == 1 { "scalar32" } else { "vec128" }), text));
    }
    facts.push(("copy".to_string(), format!("{copy:.1} GB/s read and written, by the device")));
    if plan.amount.pool <= 8 * bench.gpu.properties().l2_bytes {
        note("the pool is small: the L2 cache holds a part of it, and rates are higher than the memory's");
    }
    Ok(facts)
}

/// The pool and what belongs to it, on the GPU.
struct Memory {
    pool: Address,
    table: Address,
    sums: Address,
    first: Vec<usize>,
    amount: Amount,
}

impl Memory {
    /// `None`: the slabs do not fit.
    fn new(bench: &mut Bench, plan: &Plan) -> Result<Option<Memory>, Diagnostics> {
        let amount = plan.amount;
        let first = match plan.pattern {
            Pattern::Contiguous => Vec::new(),
            Pattern::Slabs => match amount.first() {
                Some(first) => first,
                None => return Ok(None),
            },
        };
        let bytes = amount.pool_rows() as u64 * ROW_BYTES;
        let pool = bench.alloc(bytes)?;
        let (table, sums) = (bench.alloc((first.len() * 4).max(4) as u64)?, bench.alloc(1 << 16)?);
        let rows: Vec<u8> = first.iter().flat_map(|row| (*row as i32).to_le_bytes()).collect();
        bench.gpu.write(table, &rows)?;
        let mut filled = bytes.min(RANDOM);
        bench.gpu.write(pool, &random(filled as usize))?;
        while filled < bytes {
            let more = filled.min(bytes - filled);
            bench.gpu.stream().copy(pool, Address(pool.0 + filled), more)?;
            filled += more;
        }
        bench.gpu.synchronize()?;
        Ok(Some(Memory { pool, table, sums, first, amount }))
    }
    /// `None`: there is no kernel of this shape.
    fn ready(&self, bench: &mut Bench, arm: &Arm) -> Result<Option<Queued>, Diagnostics> {
        let mut tensors = Tensors::of(self.amount.pool_rows(), &self.first, arm.shape);
        let launch = tensors.launch(arm, Order::Interleaved, self.amount.slab_rows(), arm.blocks);
        let Some(launch) = launch else { return Ok(None) };
        let launch = on_gpu(launch, arm, self.first.len()).ready()?;
        let views: &[Address] = match arm.pattern {
            Pattern::Contiguous => &[self.pool, self.sums],
            Pattern::Slabs => &[self.pool, self.table, self.sums],
        };
        bench.ready(&launch, views).map(Some)
    }
}

/// What the device copies inside its memory: the yardstick for kernels that write as much as they read.
fn copied(bench: &Bench, memory: &Memory, plan: &Plan) -> Result<f64, Diagnostics> {
    let bytes = plan.amount.pool / 4;
    let to = Address(memory.pool.0 + plan.amount.pool / 2);
    let times = bench.times(plan.runs, |stream| stream.copy(memory.pool, to, bytes))?;
    Ok(rate(2 * bytes, times[0]))
}
