//! Matrix product: `c = a . b`.
//! a: `M x K`, b: `K x N`, c: `M x N`, of f16, bf16, f32 or f64; any M, N, K: what lies past an edge reads as zero and is not written.
//! Accumulates in f32, or f64.  Work: 2 M N K flops; bound by compute once tiles are large.  Tolerance: row `matmul` of the one table.

use crate::{config, of_rows, to_f64};
use ndarray::{Array2, ArrayView2};
use std::marker::PhantomData;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{
    Agreement, Case, Inputs, KernelDef, Limits, MakeCase, Param, Rule, Settings, Target, spread,
};

/// Rows and columns of c a program makes at once, and how much of K it takes a step.
pub const BLOCK: [usize; 3] = [64, 64, 64];
/// The same on a GPU: of elements of up to 16 bits, four warps of 64 x 64 sums each, which read the least of shared memory for a
/// product, and three steps of both operands in 96 KiB, so that an SM has two programs; of f32, which the threads multiply,
/// four rows and four columns a thread; of f64, four warps of 32 x 32 sums.
pub const GPU_BLOCK: [usize; 3] = [128, 128, 64];
pub const GPU_WIDE_BLOCK: [usize; 3] = [64, 64, 32];
pub const GPU_F64_BLOCK: [usize; 3] = [64, 64, 16];

/// Steps along k that are on their way at once on a GPU. Four leave an SM room for one program only: 388 us instead of 337
/// (4096^3, f16).
pub const STAGES: usize = 3;

/// The block of `a . b` whose upper left element is at `row`, `col`; what lies past an edge reads as zero.
#[device]
pub fn product_block<T: DotInto<A>, A: Num, const BM: usize, const BN: usize, const BK: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    row: Scalar<i32>,
    col: Scalar<i32>,
    stages: usize,
) -> Tile<A, D2<BM, BN>> {
    let mut acc = zeros::<A, D2<BM, BN>>();
    for k in (0..a.len(Axis::<1>)).step_by(BK).stages(stages) {
        let x = a.at(row, k).load_or::<D2<BM, BK>>(zero::<T>());
        let y = b.at(k, col).load_or::<D2<BK, BN>>(zero::<T>());
        acc = dot_acc(x, y, acc);
    }
    acc
}

/// Row and column of the block at place `i` of an order that goes through `band` rows of blocks together, down before right, so
/// that programs at work together share what they read; there are `rows x cols` blocks.
#[device]
pub fn in_bands(i: Scalar<i32>, rows: Scalar<i32>, cols: Scalar<i32>, band: usize) -> (Scalar<i32>, Scalar<i32>) {
    if band == 1 {
        (i / cols, i % cols)
    } else {
        let first = i / (cols * band) * band;
        let height = minimum(rows - first, band); // the last band may be lower
        let within = i % (cols * band);
        (first + within % height, within / height)
    }
}

#[kernel]
pub fn matmul<T: Float + DotInto<A>, A: Float, const BM: usize, const BN: usize, const BK: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    c: ViewMut<T, 2>,
    #[comptime] band: usize,
    #[comptime] stages: usize,
) {
    let rows = (a.len(Axis::<0>) + (BM - 1)) / BM;
    let cols = (b.len(Axis::<1>) + (BN - 1)) / BN;
    for i in (program_id()..rows * cols).step_by(num_programs()) {
        let (row, col) = in_bands(i, rows, cols, band);
        let (row, col) = (row * BM, col * BN);
        let product = product_block::<T, A, BM, BN, BK>(a, b, row, col, stages);
        c.at(row, col).store_inside(product.cast::<T>());
    }
}

/// f64.
pub fn reference(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    a.dot(&b)
}

/// The kernel as the command line and the self-test see it.
pub const MATMUL: KernelDef = KernelDef {
    name: "matmul",
    about: "c = a . b, any lengths",
    params: &[
        Param::integer("m", 1..=1 << 20, "256", "rows of a and c"),
        Param::integer("n", 1..=1 << 20, "256", "columns of b and c"),
        Param::integer("k", 1..=1 << 20, "256", "columns of a, rows of b"),
        Param::one_of("elem", &["f16", "bf16", "f32", "f64"], "f16", "element type"),
        Param::integer(
            "band",
            0..=1 << 20,
            "0",
            "rows of blocks that are worked through together (0: as the target is)",
        ),
        Param::integer(
            "stages",
            0..=64,
            "0",
            "steps along k on their way at once on a GPU (0: the target's configuration)",
        ),
    ],
    instances: &[
        "elem=f16",
        "elem=bf16",
        "elem=f32",
        "elem=f64",
        "elem=f16,m=1,n=1,k=1",
        "elem=f32,m=65,n=100,k=33",
        "elem=f16,m=650,n=150,k=33,band=4",
        "elem=f16,m=129,n=70,k=700,stages=1",
        "elem=bf16,m=129,n=70,k=700,stages=2",
        "elem=f16,m=129,n=70,k=700,stages=4",
    ],
    case: |s, inputs, limits| {
        let case = s.pick::<MakeCase>(
            "elem",
            &[
                ("f16", MatmulCase::<f16, f32>::boxed),
                ("bf16", MatmulCase::<bf16, f32>::boxed),
                ("f32", MatmulCase::<f32, f32>::boxed),
                ("f64", MatmulCase::<f64, f64>::boxed),
            ],
        )?;
        case(s, inputs, limits)
    },
};

/// The block of a target, for elements of so many bytes.
pub fn block(target: Target, bytes: u64) -> [usize; 3] {
    match target {
        Target::Sim | Target::Reference => BLOCK,
        Target::Cuda | Target::PtxEmu => match bytes {
            0..=2 => GPU_BLOCK,
            3..=4 => GPU_WIDE_BLOCK,
            _ => GPU_F64_BLOCK,
        },
    }
}
/// Rows of blocks that are worked through together, of a result of so many columns of blocks. The programs that a GPU runs at
/// once, some 264, cover several whole rows of up to 32; longer rows would be read again from memory (8192^3: 3137 us row by row,
/// 2979 in bands, f16).
pub fn band(target: Target, columns: usize) -> usize {
    match target {
        Target::Sim | Target::Reference => 1,
        Target::Cuda | Target::PtxEmu if columns <= 32 => 1,
        Target::Cuda | Target::PtxEmu => 16,
    }
}
/// Threads of a program on a GPU.
pub fn gpu_threads(block: [usize; 3]) -> u32 {
    if block == GPU_WIDE_BLOCK { 256 } else { 128 }
}
/// A launch over blocks of an `m x n` result: on a GPU a program each, elsewhere over the PEs of one cube.
pub fn over_blocks<'a>(launch: Launch<'a>, target: Target, [m, n]: [usize; 2], block: [usize; 3]) -> Launch<'a> {
    let [rows, columns, _] = block;
    match target {
        Target::Sim | Target::Reference => launch.grid(Grid::cubes(1).pes(8)),
        Target::Cuda | Target::PtxEmu => {
            launch.grid(Grid::cubes(m.div_ceil(rows) * n.div_ceil(columns))).threads(gpu_threads(block))
        }
    }
}

struct MatmulCase<T, A> {
    a: Tensor<T, 2>,
    b: Tensor<T, 2>,
    c: Tensor<T, 2>,
    target: Target,
    band: usize,
    stages: usize,
    acc: PhantomData<A>,
}

impl<T: Float + DotInto<A>, A: Float> MatmulCase<T, A> {
    const RULE: Rule = Rule::Matmul { acc: A::ELEM };

    fn boxed(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let (m, n, k) = (s.integer("m")?, s.integer("n")?, s.integer("k")?);
        let (a, b) = (inputs.uniform("a", [m, k], -1.0..1.0), inputs.uniform("b", [k, n], -1.0..1.0));
        let [_, columns, _] = block(limits.target, T::ELEM.bytes());
        Ok(Box::new(MatmulCase::<T, A> {
            a,
            b,
            c: inputs.output([m, n]),
            target: limits.target,
            band: config::chosen(s, "band")?.unwrap_or(band(limits.target, n.div_ceil(columns))),
            stages: config::chosen(s, "stages")?.unwrap_or(STAGES),
            acc: PhantomData,
        }))
    }
}

impl<T: Float + DotInto<A>, A: Float> Case for MatmulCase<T, A> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let block = block(self.target, T::ELEM.bytes());
        let kernel = match block {
            GPU_BLOCK => matmul::<T, A, { GPU_BLOCK[0] }, { GPU_BLOCK[1] }, { GPU_BLOCK[2] }>,
            GPU_WIDE_BLOCK => matmul::<T, A, { GPU_WIDE_BLOCK[0] }, { GPU_WIDE_BLOCK[1] }, { GPU_WIDE_BLOCK[2] }>,
            GPU_F64_BLOCK => matmul::<T, A, { GPU_F64_BLOCK[0] }, { GPU_F64_BLOCK[1] }, { GPU_F64_BLOCK[2] }>,
            _ => matmul::<T, A, { BLOCK[0] }, { BLOCK[1] }, { BLOCK[2] }>,
        };
        let dims = self.c.dims();
        let launch = kernel(&self.a, &self.b, &mut self.c, self.band, self.stages);
        Ok(over_blocks(launch, self.target, dims, block))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let expected = reference(to_f64(&self.a).view(), to_f64(&self.b).view()).into_dyn();
        Ok(vec![Agreement::of("c", self.c.as_any(), &expected, Self::RULE)])
    }
    fn check_some(&self, rows: usize) -> Result<Vec<Agreement>, Diagnostics> {
        let rows = spread(rows, self.a.dims()[0]);
        let expected = reference(of_rows(&self.a, &rows).view(), to_f64(&self.b).view());
        Ok(vec![Agreement::of_rows("c", self.c.as_any(), &rows, expected.view(), Self::RULE)])
    }
    fn facts(&self) -> Vec<(String, String)> {
        let [rows, columns, depth] = block(self.target, T::ELEM.bytes());
        let bands = if self.band == 1 { String::new() } else { format!(", in bands of {} rows of blocks", self.band) };
        vec![(
            "configuration".to_string(),
            format!("{rows} x {columns} x {depth} a step, {} stages{bands}", self.stages),
        )]
    }
}
