//! Matrix product with an activation: `c = leaky_relu(a . b)`, `leaky_relu(x) = x` above zero, `slope x` below.
//! a: `M x K`, b: `K x N`, c: `M x N`, of f16, bf16 or f32; any M, N, K: what lies past an edge reads as zero and is not written.
//! The activation runs on the f32 sums while they are in scratch: c is written once, and never read.
//! Contract: the slope is a finite f32.  Work: `2 M N K` flops; bound by compute.  Tolerance: row `matmul` of the one table.

use crate::contract::number;
use crate::matmul::{BLOCK, GPU_BLOCK, GPU_WIDE_BLOCK, STAGES, band, block, in_bands, over_blocks, product_block};
use crate::{of_rows, to_f64};
use ndarray::{Array2, ArrayView2};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{
    Agreement, Case, Inputs, KernelDef, Limits, MakeCase, Param, Rule, Settings, Target, spread,
};

#[device]
fn leaky_relu<S: Shape>(x: Tile<f32, S>, slope: Scalar<f32>) -> Tile<f32, S> {
    select(x > 0.0, x, x * slope)
}

#[kernel]
pub fn matmul_leaky_relu<T: Float + DotInto<f32>, const BM: usize, const BN: usize, const BK: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    c: ViewMut<T, 2>,
    slope: Scalar<f32>,
    #[comptime] band: usize,
) {
    let rows = (a.len(Axis::<0>) + (BM - 1)) / BM;
    let cols = (b.len(Axis::<1>) + (BN - 1)) / BN;
    for i in (program_id()..rows * cols).step_by(num_programs()) {
        let (row, col) = in_bands(i, rows, cols, band);
        let (row, col) = (row * BM, col * BN);
        let product = product_block::<T, f32, BM, BN, BK>(a, b, row, col, STAGES);
        c.at(row, col).store_inside(leaky_relu(product, slope).cast::<T>());
    }
}

/// f64, from the product of whole matrices.
pub fn reference(a: ArrayView2<f64>, b: ArrayView2<f64>, slope: f64) -> Array2<f64> {
    a.dot(&b).mapv(|x| if x > 0.0 { x } else { x * slope })
}

/// The kernel as the command line and the self-test see it.
pub const MATMUL_LEAKY_RELU: KernelDef = KernelDef {
    name: "matmul_leaky_relu",
    about: "c = leaky_relu(a . b), any lengths",
    params: &[
        Param::integer("m", 1..=1 << 20, "256", "rows of a and c"),
        Param::integer("n", 1..=1 << 20, "256", "columns of b and c"),
        Param::integer("k", 1..=1 << 20, "256", "columns of a, rows of b"),
        Param::number("slope", "0.01", "what a negative sum is multiplied by"),
        Param::one_of("elem", &["f16", "bf16", "f32"], "f16", "element type"),
    ],
    instances: &[
        "elem=f16",
        "elem=bf16",
        "elem=f32",
        "elem=f16,m=1,n=1,k=1",
        "elem=bf16,m=63,n=65,k=130,slope=-0.5",
        "elem=f32,m=129,n=7,k=100,slope=0",
    ],
    case: |s, inputs, limits| {
        let case = s.pick::<MakeCase>(
            "elem",
            &[("f16", LeakyCase::<f16>::boxed), ("bf16", LeakyCase::<bf16>::boxed), ("f32", LeakyCase::<f32>::boxed)],
        )?;
        case(s, inputs, limits)
    },
};

struct LeakyCase<T> {
    a: Tensor<T, 2>,
    b: Tensor<T, 2>,
    c: Tensor<T, 2>,
    slope: f32,
    target: Target,
    band: usize,
}

impl<T: Float + DotInto<f32>> LeakyCase<T> {
    const RULE: Rule = Rule::Matmul { acc: ElemType::F32 };

    fn boxed(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let (m, n, k) = (s.integer("m")?, s.integer("n")?, s.integer("k")?);
        let slope = number("slope", s.number("slope")?, f64::from(f32::MIN)..=f64::from(f32::MAX))?;
        let (a, b) = (inputs.uniform("a", [m, k], -1.0..1.0), inputs.uniform("b", [k, n], -1.0..1.0));
        let [_, columns, _] = block(limits.target, T::ELEM.bytes());
        let band = band(limits.target, n.div_ceil(columns));
        Ok(Box::new(LeakyCase::<T> { a, b, c: inputs.output([m, n]), slope, target: limits.target, band }))
    }
}

impl<T: Float + DotInto<f32>> Case for LeakyCase<T> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let block = block(self.target, T::ELEM.bytes());
        let kernel = match block {
            GPU_BLOCK => matmul_leaky_relu::<T, { GPU_BLOCK[0] }, { GPU_BLOCK[1] }, { GPU_BLOCK[2] }>,
            GPU_WIDE_BLOCK => {
                matmul_leaky_relu::<T, { GPU_WIDE_BLOCK[0] }, { GPU_WIDE_BLOCK[1] }, { GPU_WIDE_BLOCK[2] }>
            }
            _ => matmul_leaky_relu::<T, { BLOCK[0] }, { BLOCK[1] }, { BLOCK[2] }>,
        };
        let dims = self.c.dims();
        Ok(over_blocks(kernel(&self.a, &self.b, &mut self.c, self.slope, self.band), self.target, dims, block))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let (a, b) = (to_f64(&self.a), to_f64(&self.b));
        let expected = reference(a.view(), b.view(), self.slope.into()).into_dyn();
        Ok(vec![Agreement::of("c", self.c.as_any(), &expected, Self::RULE)])
    }
    fn check_some(&self, rows: usize) -> Result<Vec<Agreement>, Diagnostics> {
        let rows = spread(rows, self.a.dims()[0]);
        let expected = reference(of_rows(&self.a, &rows).view(), to_f64(&self.b).view(), self.slope.into());
        Ok(vec![Agreement::of_rows("c", self.c.as_any(), &rows, expected.view(), Self::RULE)])
    }
}
