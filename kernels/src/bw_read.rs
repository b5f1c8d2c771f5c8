//! Bandwidth of reading: the contiguous stream, and slabs that lie scattered in a pool.
//! x: a pool of rows of 16 f32, 64 bytes: what a slab begins at a multiple of. first: the first row of each slab.
//! Nothing is written but, for `Observe::Store`, what the reads add up to: the form that is checked against a reference.
//! Contract: rows of 16, slabs inside the pool (one that is not is not read); any number of rows, any grid.
//! Work: every row of the pool or of the slabs is read once, one add an element; bound by memory.
//! Tolerance: exact (integers whose sums stay below 2^24).

use crate::contract::{Clause, refuse};
use crate::to_f64;
use ndarray::{Array2, ArrayView2};
use std::ops::Range;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Param, Rule, Settings};

/// Elements of a row.
pub const ROW: usize = 16;

/// What becomes of what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Observe {
    /// Nothing is written: a run is reads alone.
    Keep,
    /// Each program adds its sums to memory: row by row of a block, so that they do not depend on the grid.
    Store,
}

/// Which rows of the pool a program of [`read_contiguous`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Neighbouring programs read neighbouring rows, so that all read in one window that moves: for one memory of all.
    Interleaved,
    /// Each program reads a run of its own: for a memory that is cut into slices, one a program.
    Runs,
}

/// Adds the rows `first..end` that `stride` gives to this program, R rows at a time, ILP of these in flight.
///
/// All loads of a turn stand before the first add, and all adds end in one accumulator: with one for each load, 1024
/// threads that have 8 vectors of 4 in flight would need more registers than there are.
#[device]
fn stream<const R: usize, const VEC: usize, const ILP: usize>(
    x: View<f32, 2>,
    first: Scalar<i64>,
    end: Scalar<i64>,
    stride: Scalar<i64>,
    so_far: Tile<f32, D2<R, ROW>>,
) -> Tile<f32, D2<R, ROW>> {
    let mut acc = so_far;
    let turn = stride * ILP;
    let whole = end - (stride * (ILP - 1) + (R - 1)); // below it all loads of a turn are inside
    for i in (first..whole).step_by(turn) {
        let read: [Tile<f32, D2<R, ROW>>; ILP] =
            std::array::from_fn(|u| x.at(i + stride * u, 0).vec_width(VEC).cache(Cache::Stream).load());
        let mut sum = read[0];
        for u in unroll(1..ILP) {
            sum += read[u];
        }
        acc += sum;
    }
    let done = maximum(whole - first + (turn - 1), 0) / turn * turn;
    for i in (first + done..end).step_by(stride) {
        acc += x.at(i, 0).limit(Axis::<0>, end - i).vec_width(VEC).cache(Cache::Stream).load_or(0.0);
    }
    acc
}
#[device]
fn observed<const R: usize>(sum: Tile<f32, D2<R, ROW>>, sums: ViewMut<f32, 2>, observe: Observe) {
    match observe {
        Observe::Keep => keep(sum),
        Observe::Store => sums.at(0, 0).atomic_add(sum),
    }
}

/// Reads all of x.
#[kernel]
pub fn read_contiguous<const R: usize, const VEC: usize, const ILP: usize>(
    x: View<f32, 2>,
    sums: ViewMut<f32, 2>,
    #[comptime] order: Order,
    #[comptime] observe: Observe,
) {
    let (me, all, rows) = (program_id().cast::<i64>(), num_programs().cast::<i64>(), x.len(Axis::<0>).cast::<i64>());
    let sum = match order {
        Order::Interleaved => stream::<R, VEC, ILP>(x, me * R, rows, all * R, zeros()),
        Order::Runs => {
            let run = ((rows + (all - 1)) / all + (R - 1)) / R * R;
            let end = minimum(me * run + run, rows);
            stream::<R, VEC, ILP>(x, me * run, end, scalar(R as i64), zeros())
        }
    };
    observed(sum, sums, observe);
}

/// Reads slabs of `rows` rows, `shares` programs to a slab, of which the grid has a multiple; programs of one slab read
/// neighbouring rows.
#[kernel]
pub fn read_slabs<const R: usize, const VEC: usize, const ILP: usize>(
    x: View<f32, 2>,
    first: View<i32, 1>,
    sums: ViewMut<f32, 2>,
    rows: Scalar<i32>,
    shares: Scalar<i32>,
    #[comptime] observe: Observe,
) {
    let (len, last) = (rows.cast::<i64>(), x.len(Axis::<0>).cast::<i64>() - rows.cast::<i64>());
    let mut sum = zeros::<f32, D2<R, ROW>>();
    for slab in (program_id() / shares..first.len(Axis::<0>)).step_by(num_programs() / shares) {
        let first = first.at(slab).get().cast::<i64>();
        if first >= 0 && first <= last && shares > 0 {
            let me = (program_id() % shares).cast::<i64>();
            sum = stream::<R, VEC, ILP>(x, first + me * R, first + len, shares.cast::<i64>() * R, sum);
        }
    }
    observed(sum, sums, observe);
}

/// f64, row by row: row `i` of a slab is added at `i % r`, whichever program reads it.
pub fn reference(x: ArrayView2<f64>, slabs: &[Range<usize>], r: usize) -> Array2<f64> {
    let mut sums = Array2::zeros([r, ROW]);
    for rows in slabs {
        for (i, row) in rows.clone().enumerate() {
            let mut sum = sums.row_mut(i % r);
            sum += &x.row(row);
        }
    }
    sums
}

/// The first row of each slab: one slab a span of the pool, at a place inside the span that differs from slab to slab and
/// is the same in every run. `None`: they do not fit.
pub fn spread(pool: usize, slab: usize, slabs: usize) -> Option<Vec<usize>> {
    let span = pool.checked_div(slabs)?;
    let room = span.checked_sub(slab)?;
    // In units of 16 bytes, of which a row has four.
    let inside = |i: u64| if room == 0 { 0 } else { i * 0x9E37_79B9 % (4 * room as u64) / 4 };
    Some((0..slabs).map(|i| i * span + inside(i as u64) as usize).collect())
}

/// The same as [`read_slabs`] takes it.
pub fn table(first: &[usize]) -> Tensor<i32, 1> {
    let mut table = Tensor::zeros([first.len()]);
    table.elements_mut().iter_mut().zip(first).for_each(|(to, row)| *to = *row as i32);
    table
}

/// What a kernel of this file is specialised to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Of a program, on a GPU.
    pub threads: usize,
    /// Elements that one load of a thread takes.
    pub vec: usize,
    /// Loads in flight.
    pub ilp: usize,
}

/// An instance of [`read_contiguous`].
pub type Contiguous = for<'a> fn(&'a Tensor<f32, 2>, &'a mut Tensor<f32, 2>, Order, Observe) -> Launch<'a>;
/// An instance of [`read_slabs`].
pub type Slabs =
    for<'a> fn(&'a Tensor<f32, 2>, &'a Tensor<i32, 1>, &'a mut Tensor<f32, 2>, i32, i32, Observe) -> Launch<'a>;

/// Threads of a program, and elements of one load: an instance for each, with 1, 2, 4 or 8 loads in flight. The rows are
/// what follows: `threads * vec / 16`. The largest blocks are for a machine that has no threads, but a long way to memory.
macro_rules! instance {
    ($shape:expr, $kernel:ident as $Type:ty) => {
        instance!(@ $shape, $kernel as $Type:
            256, 1, 16; 512, 1, 32; 1024, 1, 64;
            256, 4, 64; 512, 4, 128; 1024, 4, 256; 4096, 4, 1024)
    };
    (@ $shape:expr, $kernel:ident as $Type:ty: $($threads:literal, $vec:literal, $rows:literal);*) => {
        match ($shape.threads, $shape.vec, $shape.ilp) {
            $(
                ($threads, $vec, 1) => Some($kernel::<$rows, $vec, 1> as $Type),
                ($threads, $vec, 2) => Some($kernel::<$rows, $vec, 2> as $Type),
                ($threads, $vec, 4) => Some($kernel::<$rows, $vec, 4> as $Type),
                ($threads, $vec, 8) => Some($kernel::<$rows, $vec, 8> as $Type),
            )*
            _ => None,
        }
    };
}

impl Shape {
    /// Rows that a program reads at once.
    pub fn rows(self) -> usize {
        self.threads * self.vec / ROW
    }
    /// The instance of this shape, if there is one.
    pub fn contiguous(self) -> Option<Contiguous> {
        instance!(self, read_contiguous as Contiguous)
    }
    /// The instance of this shape, if there is one.
    pub fn slabs(self) -> Option<Slabs> {
        instance!(self, read_slabs as Slabs)
    }
}

/// The kernel as the command line and the self-test see it.
pub const READ_CONTIGUOUS: KernelDef = KernelDef {
    name: "read_contiguous",
    about: "reads a pool of memory: the stream that `probe bw` times",
    params: &[
        ROWS,
        Param::one_of("order", &["interleaved", "runs"], "interleaved", "runs: each program reads a run of its own"),
        VEC,
        ILP,
        THREADS,
        OBSERVE,
    ],
    instances: &[
        "vec=4",
        "vec=1,ilp=8",
        "vec=4,ilp=1,rows=1",
        "vec=4,ilp=8,rows=1024",
        "vec=4,order=runs",
        "vec=4,ilp=4,observe=keep",
    ],
    case: |s, inputs, _| {
        let pool = s.integer("rows")?;
        let order = s.pick("order", &[("interleaved", Order::Interleaved), ("runs", Order::Runs)])?;
        Ok(Box::new(ReadCase::new(s, inputs, pool, Pattern::Contiguous(order))?))
    },
};

/// The kernel as the command line and the self-test see it.
pub const READ_SLABS: KernelDef = KernelDef {
    name: "read_slabs",
    about: "reads slabs that lie scattered in a pool: what `probe slabs` times",
    params: &[
        ROWS,
        Param::integer("slabs", 1..=1 << 20, "7", "slabs"),
        Param::integer("slab-rows", 1..=1 << 24, "300", "rows of a slab"),
        Param::one_of("shares", &["1", "2", "4", "8"], "2", "programs to a slab, of 8"),
        VEC,
        ILP,
        THREADS,
        OBSERVE,
    ],
    instances: &["vec=4", "vec=1,ilp=2,shares=8", "vec=4,slabs=1,slab-rows=5000", "vec=4,ilp=4,observe=keep"],
    case: |s, inputs, _| {
        let (pool, slabs, rows) = (s.integer("rows")?, s.integer("slabs")?, s.integer("slab-rows")?);
        let Some(first) = spread(pool, rows, slabs) else {
            let message = format!("{slabs} slabs of {rows} rows do not fit into a pool of {pool}");
            return Err(refuse(Clause::Sizes, message, format!("use `--rows {}`", slabs * rows)).into());
        };
        let shares = s.pick("shares", &[("1", 1), ("2", 2), ("4", 4), ("8", 8)])?;
        Ok(Box::new(ReadCase::new(s, inputs, pool, Pattern::Slabs { first, rows, shares })?))
    },
};

const ROWS: Param = Param::integer("rows", 1..=1 << 26, "5000", "rows of 64 bytes in the pool");
const VEC: Param = Param::one_of("vec", &["1", "4"], "4", "elements that one load of a thread takes");
const ILP: Param = Param::one_of("ilp", &["1", "2", "4", "8"], "4", "loads in flight");
const THREADS: Param = Param::one_of("block-threads", &["256", "512", "1024"], "256", "threads of a program on a GPU");
const OBSERVE: Param =
    Param::one_of("observe", &["store", "keep"], "store", "store: write the sums; keep: write nothing");

/// Programs of the registered instances.
const PROGRAMS: usize = 8;

enum Pattern {
    Contiguous(Order),
    Slabs { first: Vec<usize>, rows: usize, shares: usize },
}

struct ReadCase {
    x: Tensor<f32, 2>,
    first: Tensor<i32, 1>,
    sums: Tensor<f32, 2>,
    pattern: Pattern,
    shape: Shape,
    observe: Observe,
}

impl ReadCase {
    fn new(s: &Settings, inputs: Inputs, pool: usize, pattern: Pattern) -> Result<ReadCase, Diagnostics> {
        let shape = Shape {
            threads: s.pick("block-threads", &[("256", 256), ("512", 512), ("1024", 1024)])?,
            vec: s.pick("vec", &[("1", 1), ("4", 4)])?,
            ilp: s.pick("ilp", &[("1", 1), ("2", 2), ("4", 4), ("8", 8)])?,
        };
        let observe = s.pick("observe", &[("store", Observe::Store), ("keep", Observe::Keep)])?;
        let mut x = inputs.uniform("x", [pool, ROW], 0.0..256.0);
        if inputs.seed().is_some() {
            x.elements_mut().iter_mut().for_each(|v| *v = f32::floor(*v));
        }
        let first = match &pattern {
            Pattern::Contiguous(_) => table(&[]),
            Pattern::Slabs { first, .. } => table(first),
        };
        Ok(ReadCase { x, first, sums: inputs.zeros([shape.rows(), ROW]), pattern, shape, observe })
    }
    fn no_instance(&self) -> Diagnostics {
        let message = format!("there is no instance of {:?}", self.shape);
        refuse(Clause::Sizes, message, "choose `--block-threads`, `--vec` and `--ilp` from their lists").into()
    }
}

impl Case for ReadCase {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let none = self.no_instance();
        let launch = match &self.pattern {
            Pattern::Contiguous(order) => {
                let kernel = self.shape.contiguous().ok_or(none)?;
                kernel(&self.x, &mut self.sums, *order, self.observe)
            }
            Pattern::Slabs { rows, shares, .. } => {
                let kernel = self.shape.slabs().ok_or(none)?;
                kernel(&self.x, &self.first, &mut self.sums, *rows as i32, *shares as i32, self.observe)
            }
        };
        Ok(launch.grid(Grid::cubes(1).pes(PROGRAMS)).threads(self.shape.threads as u32))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let (x, [pool, _]) = (to_f64(&self.x), self.x.dims());
        let slabs: Vec<Range<usize>> = match &self.pattern {
            Pattern::Contiguous(_) => std::iter::once(0..pool).collect(),
            Pattern::Slabs { first, rows, .. } => first.iter().map(|row| *row..row + rows).collect(),
        };
        let expected = match self.observe {
            Observe::Keep => Array2::zeros(self.sums.dims()),
            Observe::Store => reference(x.view(), &slabs, self.shape.rows()),
        };
        Ok(vec![Agreement::of("sums", self.sums.as_any(), &expected.into_dyn(), Rule::Exact)])
    }
}
