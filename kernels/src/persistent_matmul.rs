//! Matrix product by programs that stay: `c = a . b`, each program takes block after block until none is left.
//! a: `M x K`, b: `K x N` of T; c: `M x N` of A, the type of the sums: f16, bf16 and f32 into f32, f64 into f64, i8 and u8 into i32.
//! Any M, N, K, any grid; a grid smaller than the work is the purpose, a larger one leaves programs idle.
//! Blocks are taken a few rows of blocks at a time, down before right, so that programs at work together share what they read.
//! Work: `2 M N K` flops; bound by compute.  Tolerance: row `matmul` of the one table; integers exact.

use crate::config::{self, Configs};
use crate::matmul::{
    BLOCK, GPU_BLOCK, GPU_F64_BLOCK, GPU_WIDE_BLOCK, STAGES, block, gpu_threads, in_bands, product_block,
};
use crate::{of_rows, to_f64};
use ndarray::{Array2, ArrayView2};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{
    Agreement, Case, Inputs, KernelDef, Limits, MakeCase, Param, Rule, Settings, Target, spread,
};

/// Rows of blocks that are worked through together.
pub const BAND: usize = 4;

/// Cubes of 8 programs. A GPU gets two programs for each SM of the largest of its kind, as the blocks of f16 leave room for.
const CUBES: Configs<usize> = Configs { ahbm: 1, sm_80: 27, sm_90a: 33 };

#[kernel]
pub fn persistent_matmul<T: DotInto<A>, A: Num, const BM: usize, const BN: usize, const BK: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    c: ViewMut<A, 2>,
) {
    let rows = (a.len(Axis::<0>) + (BM - 1)) / BM;
    let cols = (b.len(Axis::<1>) + (BN - 1)) / BN;
    for i in (program_id()..rows * cols).step_by(num_programs()) {
        let (row, col) = in_bands(i, rows, cols, BAND);
        let product = product_block::<T, A, BM, BN, BK>(a, b, row * BM, col * BN, STAGES);
        c.at(row * BM, col * BN).store_inside(product);
    }
}

/// f64; exact for the integers checked.
pub fn reference(a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    a.dot(&b)
}

/// The kernel as the command line and the self-test see it.
pub const PERSISTENT_MATMUL: KernelDef = KernelDef {
    name: "persistent_matmul",
    about: "c = a . b, programs loop over the blocks of c",
    params: &[
        Param::integer("m", 1..=1 << 20, "320", "rows of a and c"),
        Param::integer("n", 1..=1 << 20, "256", "columns of b and c"),
        Param::integer("k", 1..=1 << 20, "128", "columns of a, rows of b"),
        Param::integer("cubes", 0..=1 << 13, "0", "cubes of the launch, 8 programs each (0: as the target is)"),
        Param::one_of("elem", &["f16", "bf16", "f32", "f64", "i8", "u8"], "f16", "element type of a and b"),
    ],
    instances: &[
        "elem=f16",
        "elem=bf16",
        "elem=f32",
        "elem=f64",
        "elem=i8",
        "elem=u8",
        "elem=f16,m=1,n=1,k=1",
        "elem=f32,m=330,n=70,k=33,cubes=3",
    ],
    case: |s, inputs, limits| {
        let case = s.pick::<MakeCase>(
            "elem",
            &[
                ("f16", |s, inputs, on| PersistentCase::<f16, f32>::boxed(s, inputs, on, -1.0..1.0)),
                ("bf16", |s, inputs, on| PersistentCase::<bf16, f32>::boxed(s, inputs, on, -1.0..1.0)),
                ("f32", |s, inputs, on| PersistentCase::<f32, f32>::boxed(s, inputs, on, -1.0..1.0)),
                ("f64", |s, inputs, on| PersistentCase::<f64, f64>::boxed(s, inputs, on, -1.0..1.0)),
                ("i8", |s, inputs, on| PersistentCase::<i8, i32>::boxed(s, inputs, on, -128.0..128.0)),
                ("u8", |s, inputs, on| PersistentCase::<u8, i32>::boxed(s, inputs, on, 0.0..256.0)),
            ],
        )?;
        case(s, inputs, limits)
    },
};

struct PersistentCase<T, A> {
    a: Tensor<T, 2>,
    b: Tensor<T, 2>,
    c: Tensor<A, 2>,
    cubes: usize,
    target: Target,
}

impl<T: DotInto<A>, A: Num> PersistentCase<T, A> {
    const RULE: Rule = Rule::Matmul { acc: A::ELEM };

    fn boxed(
        s: &Settings,
        inputs: Inputs,
        limits: &Limits,
        numbers: std::ops::Range<f64>,
    ) -> Result<Box<dyn Case>, Diagnostics> {
        let (m, n, k) = (s.integer("m")?, s.integer("n")?, s.integer("k")?);
        let cubes = config::chosen(s, "cubes")?.unwrap_or(*CUBES.on(limits).1);
        let (a, b) = (inputs.uniform("a", [m, k], numbers.clone()), inputs.uniform("b", [k, n], numbers));
        let c = inputs.output([m, n]).placed(Placement::over_cubes(0, cubes));
        Ok(Box::new(PersistentCase::<T, A> { a, b, c, cubes, target: limits.target }))
    }
}

impl<T: DotInto<A>, A: Num> Case for PersistentCase<T, A> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let block = block(self.target, T::ELEM.bytes());
        let kernel = match block {
            GPU_BLOCK => persistent_matmul::<T, A, { GPU_BLOCK[0] }, { GPU_BLOCK[1] }, { GPU_BLOCK[2] }>,
            GPU_WIDE_BLOCK => {
                persistent_matmul::<T, A, { GPU_WIDE_BLOCK[0] }, { GPU_WIDE_BLOCK[1] }, { GPU_WIDE_BLOCK[2] }>
            }
            GPU_F64_BLOCK => {
                persistent_matmul::<T, A, { GPU_F64_BLOCK[0] }, { GPU_F64_BLOCK[1] }, { GPU_F64_BLOCK[2] }>
            }
            _ => persistent_matmul::<T, A, { BLOCK[0] }, { BLOCK[1] }, { BLOCK[2] }>,
        };
        let launch = kernel(&self.a, &self.b, &mut self.c).grid(Grid::cubes(self.cubes).pes(8));
        Ok(match self.target {
            Target::Sim | Target::Reference => launch,
            Target::Cuda | Target::PtxEmu => launch.threads(gpu_threads(block)),
        })
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
}
