//! Layer norm: `y[r, c] = (x[r, c] - mean_r) / sqrt(var_r + eps) * gain[c] + bias[c]`, var_r the mean square deviation.
//! x, y: `R x N` of f16, bf16 or f32; gain, bias: `N` of the same type.  Accumulates in f32.
//! The two passes over a row, for mean and deviation, both run in scratch: memory is read once.
//! Contract: a block of rows fits into scratch, eps > 0; any R.  Work: about 8 R N flops over 2 R N elements; bound by memory.
//! Tolerance: row `normalised` of the one table.

use crate::config::{ANY_NUMBER, SMS, Share};
use crate::contract::{number, scratch};
use crate::{open, to_f64};
use ndarray::{Array2, ArrayView1, ArrayView2};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, MakeCase, Param, Rule, Settings, Target};

/// Rows a program normalises at once; one on a GPU.
pub const ROWS: usize = 4;
/// A row a program, 16 of its elements a thread: while some rows are read, others are summed and written. Of 16-bit
/// elements a row is too few bytes for that: as many programs as fit an H200 at once, each with many rows.
pub const GPU: Share = Share { bytes_per_thread: 64, most: ANY_NUMBER };

#[kernel]
pub fn layer_norm<T: Float, const B: usize, const N: usize>(
    x: View<T, 2>,
    gain: View<T, 1>,
    bias: View<T, 1>,
    y: ViewMut<T, 2>,
    eps: Scalar<f32>,
    #[comptime] columns: usize,
) {
    let len = open([(N, columns)]);
    let gain = gain.at(0).load_sized::<D1<N>>(&len).cast::<f32>();
    let bias = bias.at(0).load_sized::<D1<N>>(&len).cast::<f32>();
    for r in (program_id() * B..x.len(Axis::<0>)).step_by(num_programs() * B) {
        let x = x.at(r, 0).load_sized_or::<D2<B, N>>(&len, 0.0).cast::<f32>();
        let mean = x.sum(Axis::<1>) / columns as f64;
        let d = x - mean.col();
        let var = (d * d).sum(Axis::<1>) / columns as f64;
        let norm = d * rsqrt(var + eps).col() * gain.row() + bias.row();
        y.at(r, 0).store_inside(norm.cast::<T>());
    }
}

/// f64, row by row.
pub fn reference(x: ArrayView2<f64>, gain: ArrayView1<f64>, bias: ArrayView1<f64>, eps: f64) -> Array2<f64> {
    let mut y = x.to_owned();
    for mut row in y.rows_mut() {
        let n = row.len() as f64;
        let mean = row.sum() / n;
        let var = row.fold(0.0, |sum, v| sum + (v - mean).powi(2)) / n;
        row.zip_mut_with(&gain, |v, g| *v = (*v - mean) / (var + eps).sqrt() * g);
        row += &bias;
    }
    y
}

/// The kernel as the command line and the self-test see it.
pub const LAYER_NORM: KernelDef = KernelDef {
    name: "layer_norm",
    about: "every row of a matrix centred, scaled to variance 1, times a gain, plus a bias",
    params: &[
        Param::integer("rows", 1..=1 << 20, "256", "rows of the matrix"),
        Param::integer("columns", 1..=1 << 20, "1024", "columns of the matrix"),
        Param::number("eps", "1e-5", "added to the variance"),
        Param::one_of("elem", &["f16", "bf16", "f32"], "f16", "element type"),
    ],
    instances: &[
        "elem=f16",
        "elem=bf16",
        "elem=f32",
        "elem=f16,rows=1,columns=1",
        "elem=bf16,rows=33,columns=17",
        "elem=f32,rows=7,columns=1000",
    ],
    case: |s, inputs, limits| {
        let case = s.pick::<MakeCase>(
            "elem",
            &[("f16", NormCase::<f16>::boxed), ("bf16", NormCase::<bf16>::boxed), ("f32", NormCase::<f32>::boxed)],
        )?;
        case(s, inputs, limits)
    },
};

struct NormCase<T> {
    x: Tensor<T, 2>,
    gain: Tensor<T, 1>,
    bias: Tensor<T, 1>,
    y: Tensor<T, 2>,
    eps: f32,
    target: Target,
}

/// Bytes of scratch for each column: gain and bias as loaded and in f32; of a block the rows as loaded and as stored,
/// and three blocks of f32, which is the most that lives at once.
fn column_bytes(elem: ElemType) -> u64 {
    let rows = ROWS as u64;
    2 * (elem.bytes() + 4) + rows * (2 * elem.bytes() + 3 * 4)
}

/// An instance of the kernel.
type Norm<T> =
    for<'a> fn(&'a Tensor<T, 2>, &'a Tensor<T, 1>, &'a Tensor<T, 1>, &'a mut Tensor<T, 2>, f32, usize) -> Launch<'a>;

impl<T: Float> NormCase<T> {
    fn boxed(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let dims @ [_, columns] = [s.integer("rows")?, s.integer("columns")?];
        let eps = number("eps", s.number("eps")?, f64::from(f32::MIN_POSITIVE)..=1e30)?;
        let column = column_bytes(T::ELEM);
        let next = format!("use at most `--columns {}`", limits.scratch_bytes / column);
        scratch(&format!("{ROWS} rows of {columns}"), column * columns as u64, limits.scratch_bytes, next)?;
        Ok(Box::new(NormCase::<T> {
            x: inputs.uniform("x", dims, -4.0..8.0),
            gain: inputs.uniform("gain", [columns], 0.5..1.5),
            bias: inputs.uniform("bias", [columns], -1.0..1.0),
            y: inputs.output(dims),
            eps,
            target: limits.target,
        }))
    }
}

impl<T: Float> Case for NormCase<T> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let [rows, columns] = self.x.dims();
        let (kernel, block): (Norm<T>, usize) = match self.target {
            Target::Sim | Target::Reference => (layer_norm::<T, ROWS, ANY>, ROWS),
            Target::Cuda | Target::PtxEmu => (layer_norm::<T, 1, ANY>, 1),
        };
        let launch = kernel(&self.x, &self.gain, &self.bias, &mut self.y, self.eps, columns);
        let share = if T::ELEM.bytes() < 4 { Share { most: 3 * SMS, ..GPU } } else { GPU };
        Ok(share.launch(launch, self.target, rows.div_ceil(block), columns * size_of::<f32>()))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let (x, gain, bias) = (to_f64(&self.x), to_f64(&self.gain), to_f64(&self.bias));
        let expected = reference(x.view(), gain.view(), bias.view(), self.eps.into()).into_dyn();
        Ok(vec![Agreement::of("y", self.y.as_any(), &expected, Rule::Normalised)])
    }
}
