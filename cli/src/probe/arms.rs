//! What is tried: widths of loads, loads in flight, threads, blocks, and the slabs of a pool.

use super::Pattern;
use tilewright_core::lang::Launch;
use tilewright_core::launch::Grid;
use tilewright_core::tensor::Tensor;
use tilewright_harness::cli::Cell;
use tilewright_harness::registry::Target;
use tilewright_kernels::bw_read::{Observe, Order, ROW, Shape, spread, table};

/// What one probe does.
#[derive(Clone, Debug)]
pub struct Plan {
    pub pattern: Pattern,
    pub quick: bool,
    /// Only arms with so many loads in flight.
    pub ilp: Option<usize>,
    pub runs: u32,
    pub amount: Amount,
}

/// Bytes of the pool and of a slab, and slabs.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    pub pool: u64,
    pub slab: u64,
    pub slabs: usize,
}

/// Bytes of a row.
pub const ROW_BYTES: u64 = ROW as u64 * 4;

impl Amount {
    /// Where nothing else is asked for: on a GPU a pool that no cache holds a noticeable part of; elsewhere what takes
    /// seconds.
    pub fn on(target: Target) -> Amount {
        match target {
            Target::Cuda => Amount { pool: 32 << 30, slab: 14 << 20, slabs: 405 },
            Target::Sim => Amount { pool: 64 << 20, slab: 14 << 20, slabs: 4 },
            Target::PtxEmu | Target::Reference => Amount { pool: 1 << 20, slab: 48 << 10, slabs: 5 },
        }
    }
    pub fn pool_rows(self) -> usize {
        (self.pool / ROW_BYTES) as usize
    }
    pub fn slab_rows(self) -> usize {
        (self.slab / ROW_BYTES) as usize
    }
    /// The first row of each slab; `None`: they do not fit the pool.
    pub fn first(self) -> Option<Vec<usize>> {
        spread(self.pool_rows(), self.slab_rows(), self.slabs)
    }
    /// Bytes that one run reads.
    pub fn read(self, pattern: Pattern) -> u64 {
        match pattern {
            Pattern::Contiguous => self.pool_rows() as u64 * ROW_BYTES,
            Pattern::Slabs => self.slabs as u64 * self.slab_rows() as u64 * ROW_BYTES,
        }
    }
    pub fn misfit(self) -> String {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        format!("{} slabs of {} MiB do not fit a pool of {} MiB", self.slabs, mib(self.slab), mib(self.pool))
    }
}

/// One way to read.
#[derive(Clone, Copy, Debug)]
pub struct Arm {
    pub pattern: Pattern,
    pub shape: Shape,
    /// Programs; of slabs on a GPU, to each slab.
    pub blocks: usize,
}

impl Plan {
    /// All arms on a device of so many SMs.
    pub fn arms(&self, sms: usize) -> Vec<Arm> {
        let quick = self.quick;
        let ilps: &[usize] = if quick { &[2, 4, 8] } else { &[1, 2, 4, 8] };
        let threads: &[usize] = if quick { &[512, 1024] } else { &[256, 512, 1024] };
        let (vecs, blocks): (&[usize], Vec<usize>) = match self.pattern {
            Pattern::Contiguous => {
                let per_sm: &[usize] = if quick { &[8, 16, 32] } else { &[1, 2, 4, 8, 16, 32] };
                (&[1, 4], per_sm.iter().map(|n| n * sms).collect())
            }
            Pattern::Slabs => (&[4], if quick { vec![4, 8, 16, 32] } else { vec![1, 2, 4, 8, 16, 32, 64] }),
        };
        let mut arms = Vec::new();
        for vec in vecs {
            for ilp in ilps.iter().filter(|ilp| self.ilp.is_none_or(|only| only == **ilp)) {
                for threads in threads {
                    let shape = Shape { threads: *threads, vec: *vec, ilp: *ilp };
                    arms.extend(blocks.iter().map(|blocks| Arm { pattern: self.pattern, shape, blocks: *blocks }));
                }
            }
        }
        arms
    }
}

impl Arm {
    /// The cells of the first columns.
    pub fn cells(&self) -> [Cell; 6] {
        let arm = match self.pattern {
            Pattern::Contiguous => "contiguous",
            Pattern::Slabs => "slabs",
        };
        let load = if self.shape.vec == 1 { "scalar32" } else { "vec128" };
        let Shape { threads, ilp, .. } = self.shape;
        ["tilewright".into(), arm.into(), load.into(), ilp.into(), self.blocks.into(), threads.into()]
    }
}

/// The tensors of a launch.
pub struct Tensors {
    pub x: Tensor<f32, 2>,
    pub first: Tensor<i32, 1>,
    pub sums: Tensor<f32, 2>,
}

impl Tensors {
    /// Shapes, and where the slabs begin.
    pub fn of(pool_rows: usize, first: &[usize], shape: Shape) -> Tensors {
        let sums = Tensor::shape_only([shape.rows(), ROW]);
        Tensors { x: Tensor::shape_only([pool_rows, ROW]), first: table(first), sums }
    }
    /// The launch of an arm over them, reads alone, `shares` programs to a slab. `None`: there is no kernel of the shape.
    pub fn launch(&mut self, arm: &Arm, order: Order, slab_rows: usize, shares: usize) -> Option<Launch<'_>> {
        let Tensors { x, first, sums } = self;
        let launch = match arm.pattern {
            Pattern::Contiguous => arm.shape.contiguous()?(x, sums, order, Observe::Keep),
            Pattern::Slabs => arm.shape.slabs()?(x, first, sums, slab_rows as i32, shares as i32, Observe::Keep),
        };
        Some(launch)
    }
}

/// As on a GPU: thread blocks that have no neighbours.
pub fn on_gpu<'a>(launch: Launch<'a>, arm: &Arm, slabs: usize) -> Launch<'a> {
    let programs = match arm.pattern {
        Pattern::Contiguous => arm.blocks,
        Pattern::Slabs => arm.blocks * slabs,
    };
    launch.grid(Grid::cubes(programs)).threads(arm.shape.threads as u32)
}

/// Numbers from 0 up to 1, the same in every run.
pub fn random(bytes: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    (0..bytes / 4).flat_map(|_| next().to_le_bytes()).collect()
}
