//! The kernels tilewright ships. One file a kernel: contract, kernel, reference, launch, one entry for the registry.
//! `attention/` holds the device functions that the attention kernels share, `philox` random numbers.

pub mod attention;
pub mod bw_read;
pub mod config;
pub mod contract;
pub mod dropout;
pub mod fan_out;
pub mod fused_attention;
pub mod gqa_decode;
pub mod gqa_prefill;
pub mod grouped_gemm;
pub mod histogram;
pub mod layer_norm;
pub mod long_decode;
pub mod matmul;
pub mod matmul_leaky_relu;
pub mod persistent_matmul;
pub mod philox;
pub mod prefix_sum;
pub mod row_softmax;
pub mod vector_add;

use ndarray::{Array, Dimension, IntoDimension, Ix2};
use rayon::prelude::*;
use tilewright::core_api::ir::Literal;
use tilewright::prelude::*;
use tilewright::registry::Kernels;

/// Every shipped kernel, with the pages of its contract's codes.
pub fn all() -> Kernels {
    tilewright::kernels![
        gqa_decode::GQA_DECODE,
        gqa_prefill::GQA_PREFILL,
        long_decode::LONG_DECODE,
        fan_out::FAN_OUT,
        vector_add::VECTOR_ADD,
        row_softmax::ROW_SOFTMAX,
        matmul::MATMUL,
        matmul_leaky_relu::MATMUL_LEAKY_RELU,
        layer_norm::LAYER_NORM,
        dropout::DROPOUT,
        fused_attention::FUSED_ATTENTION,
        grouped_gemm::GROUPED_GEMM,
        persistent_matmul::PERSISTENT_MATMUL,
        histogram::HISTOGRAM,
        prefix_sum::PREFIX_SUM,
        bw_read::READ_CONTIGUOUS,
        bw_read::READ_SLABS,
    ]
    .with_codes(contract::CODES)
}

/// The elements widened to f64, for a reference that starts from the same rounded inputs.
pub(crate) fn to_f64<T: Elem, const R: usize>(t: &Tensor<T, R>) -> Array<f64, <[usize; R] as IntoDimension>::Dim>
where
    [usize; R]: IntoDimension,
{
    widened(t.dims().into_dimension(), t.elements())
}

/// One head of a tensor `heads x rows x d`, widened: all of a long context in f64 would take four times the memory of the
/// tensors.
pub(crate) fn of_head<T: Elem>(t: &Tensor<T, 3>, head: usize) -> Array<f64, Ix2> {
    let [_, rows, d] = t.dims();
    widened(Ix2(rows, d), t.elements().get(head * rows * d..(head + 1) * rows * d).unwrap_or(&[]))
}

/// Some rows of a matrix, widened.
pub(crate) fn of_rows<T: Elem>(t: &Tensor<T, 2>, rows: &[usize]) -> Array<f64, Ix2> {
    let [_, width] = t.dims();
    let elements: Vec<T> =
        rows.iter().flat_map(|row| t.elements().get(row * width..(row + 1) * width).unwrap_or(&[])).copied().collect();
    widened(Ix2(rows.len(), width), &elements)
}

/// Elements in row-major order as an array of f64; zeros where only the shape is known.
pub(crate) fn widened<T: Elem, D: Dimension>(dims: D, elements: &[T]) -> Array<f64, D> {
    let number = |v: &T| {
        let v = Literal { elem: T::ELEM, bits: v.to_bits() };
        v.as_float().or(v.as_int().map(|n| n as f64)).unwrap_or(f64::NAN)
    };
    let values = elements.par_iter().with_min_len(1 << 12).map(number).collect();
    Array::from_shape_vec(dims.clone(), values).unwrap_or_else(|_| Array::zeros(dims))
}

/// The lengths of the axes that are `ANY`, as `load_sized` takes them.
pub(crate) fn open<const R: usize>(axes: [(usize, usize); R]) -> Vec<usize> {
    axes.into_iter().filter(|(len, _)| *len == ANY).map(|(_, value)| value).collect()
}
