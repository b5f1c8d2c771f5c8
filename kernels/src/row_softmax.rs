//! Row softmax: `y[r, c] = exp(x[r, c] - max_r) / sum_c exp(x[r, c] - max_r)`.
//! x: `R x N` of f16, bf16 or f32, plain numbers.  y: same shape and type, rows sum to 1.  Accumulates in f32.
//! Contract: a row fits into scratch; any R.  Work: R N elements read and as many written, about 5 R N flops; bound by memory.
//! Tolerance: row `softmax` of the one table.

use crate::config::{ANY_NUMBER, Share};
use crate::to_f64;
use ndarray::{Array2, ArrayView2};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, MakeCase, Param, Rule, Settings, Target};

/// A row a program, four vectors of it a thread: while some rows are read, others are summed and written.
pub const GPU: Share = Share { bytes_per_thread: 64, most: ANY_NUMBER };

#[kernel]
pub fn row_softmax<T: Float, const N: usize>(x: View<T, 2>, y: ViewMut<T, 2>, #[comptime] columns: usize) {
    for r in (program_id()..x.len(Axis::<0>)).step_by(num_programs()) {
        let row = x.at(r, 0).load_sized::<D1<N>>(crate::open([(N, columns)])).cast::<f32>();
        let e = exp(row - row.max(Axis::<0>));
        y.at(r, 0).store((e / e.sum(Axis::<0>)).cast::<T>());
    }
}

/// f64, one plain pass after another; shares nothing with the kernel.
pub fn reference(x: ArrayView2<f64>) -> Array2<f64> {
    let mut y = x.to_owned();
    for mut row in y.rows_mut() {
        let max = row.fold(f64::NEG_INFINITY, |m, &v| m.max(v));
        row.mapv_inplace(|v| (v - max).exp());
        let sum = row.sum();
        row.mapv_inplace(|v| v / sum);
    }
    y
}

/// The kernel as the command line and the self-test see it.
pub const ROW_SOFTMAX: KernelDef = KernelDef {
    name: "row_softmax",
    about: "softmax of every row of a matrix",
    params: &[
        Param::integer("rows", 1..=1 << 20, "256", "rows of the matrix"),
        Param::integer("columns", 1..=1 << 20, "1024", "columns of the matrix"),
        Param::one_of("elem", &["f16", "bf16", "f32"], "f16", "element type"),
    ],
    instances: &["elem=f16", "elem=bf16", "elem=f32", "elem=f16,rows=7,columns=1", "elem=f32,rows=3,columns=1000"],
    case: |s, inputs, limits| {
        let case = s.pick::<MakeCase>(
            "elem",
            &[
                ("f16", SoftmaxCase::<f16>::boxed),
                ("bf16", SoftmaxCase::<bf16>::boxed),
                ("f32", SoftmaxCase::<f32>::boxed),
            ],
        )?;
        case(s, inputs, limits)
    },
};

struct SoftmaxCase<T> {
    x: Tensor<T, 2>,
    y: Tensor<T, 2>,
    target: Target,
}

impl<T: Float> SoftmaxCase<T> {
    fn boxed(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let dims = [s.integer("rows")?, s.integer("columns")?];
        let (x, y) = (inputs.uniform("x", dims, -8.0..8.0), inputs.output(dims));
        Ok(Box::new(SoftmaxCase::<T> { x, y, target: limits.target }))
    }
}

impl<T: Float> Case for SoftmaxCase<T> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let [rows, columns] = self.x.dims();
        let launch = row_softmax::<T, ANY>(&self.x, &mut self.y, columns);
        Ok(GPU.launch(launch, self.target, rows, columns * T::ELEM.bytes() as usize))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let expected = reference(to_f64(&self.x).view()).into_dyn();
        Ok(vec![Agreement::of("y", self.y.as_any(), &expected, Rule::Softmax)])
    }
}
