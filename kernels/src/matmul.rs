//! Matrix product: `c = a . b`.
//! a: `M x K`, b: `K x N`, c: `M x N`, of f16, bf16 or f32; any M, N, K: what lies past an edge reads as zero and is not written.
//! Accumulates in f32.  Work: 2 M N K flops; bound by compute once tiles are large.  Tolerance: row `matmul` of the one table.

use crate::to_f64;
use ndarray::{Array2, ArrayView2};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, MakeCase, Param, Rule, Settings};

/// Rows and columns of c a program makes at once, and how much of K it takes a step.
pub const BLOCK: [usize; 3] = [64, 64, 64];

/// The block of `a . b` whose upper left element is at `row`, `col`; what lies past an edge reads as zero.
#[device]
pub fn product_block<T: DotInto<A>, A: Num, const BM: usize, const BN: usize, const BK: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    row: Scalar<i32>,
    col: Scalar<i32>,
) -> Tile<A, D2<BM, BN>> {
    let mut acc = zeros::<A, D2<BM, BN>>();
    for k in (0..a.len(Axis::<1>)).step_by(BK).stages(3) {
        let x = a.at(row, k).load_or::<D2<BM, BK>>(zero::<T>());
        let y = b.at(k, col).load_or::<D2<BK, BN>>(zero::<T>());
        acc = dot_acc(x, y, acc);
    }
    acc
}

#[kernel]
pub fn matmul<T: Float + DotInto<f32>, const BM: usize, const BN: usize, const BK: usize>(
    a: View<T, 2>,
    b: View<T, 2>,
    c: ViewMut<T, 2>,
) {
    let columns = (b.len(Axis::<1>) + (BN - 1)) / BN;
    let blocks = (a.len(Axis::<0>) + (BM - 1)) / BM * columns;
    for block in (program_id()..blocks).step_by(num_programs()) {
        let (row, col) = (block / columns * BM, block % columns * BN);
        let product = product_block::<T, f32, BM, BN, BK>(a, b, row, col);
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
        Param::one_of("elem", &["f16", "bf16", "f32"], "f16", "element type"),
    ],
    instances: &["elem=f16", "elem=bf16", "elem=f32", "elem=f16,m=1,n=1,k=1", "elem=f32,m=65,n=100,k=33"],
    case: |s, inputs, limits| {
        let case = s.pick::<MakeCase>(
            "elem",
            &[
                ("f16", MatmulCase::<f16>::boxed),
                ("bf16", MatmulCase::<bf16>::boxed),
                ("f32", MatmulCase::<f32>::boxed),
            ],
        )?;
        case(s, inputs, limits)
    },
};

struct MatmulCase<T> {
    a: Tensor<T, 2>,
    b: Tensor<T, 2>,
    c: Tensor<T, 2>,
}

impl<T: Float + DotInto<f32>> MatmulCase<T> {
    fn boxed(s: &Settings, inputs: Inputs, _: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let (m, n, k) = (s.integer("m")?, s.integer("n")?, s.integer("k")?);
        let (a, b) = (inputs.uniform("a", [m, k], -1.0..1.0), inputs.uniform("b", [k, n], -1.0..1.0));
        Ok(Box::new(MatmulCase::<T> { a, b, c: inputs.output([m, n]) }))
    }
}

impl<T: Float + DotInto<f32>> Case for MatmulCase<T> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        Ok(matmul::<T, { BLOCK[0] }, { BLOCK[1] }, { BLOCK[2] }>(&self.a, &self.b, &mut self.c)
            .grid(Grid::cubes(1).pes(8)))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let expected = reference(to_f64(&self.a).view(), to_f64(&self.b).view()).into_dyn();
        Ok(vec![Agreement::of("c", self.c.as_any(), &expected, Rule::Matmul { acc: ElemType::F32 })])
    }
}
