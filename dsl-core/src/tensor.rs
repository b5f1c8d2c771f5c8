//! Host tensors: what a launch reads and writes.

use crate::data::{Data, Stored};
use crate::elem::ElemType;
use crate::placement::Placement;
use ndarray::{Array, ArrayD, Dim, Dimension, IxDyn};
use std::marker::PhantomData;

/// A tensor whose element type and rank are known at run time.
#[derive(Clone, Debug)]
pub struct AnyTensor {
    pub elem: ElemType,
    pub dims: Vec<usize>,
    /// Row-major elements; `None`: only the shape is known, which is enough to trace and to time.
    pub data: Option<Data>,
    pub placement: Placement,
}

impl AnyTensor {
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Element strides of the row-major layout.
    pub fn strides(&self) -> Vec<usize> {
        let mut out = vec![1; self.dims.len()];
        for i in (1..self.dims.len()).rev() {
            out[i - 1] = out[i] * self.dims[i];
        }
        out
    }
}

/// A host tensor of element `T` and rank `R`, row-major.
#[derive(Clone, Debug)]
pub struct Tensor<T, const R: usize> {
    any: AnyTensor,
    _elem: PhantomData<T>,
}

impl<T: Stored, const R: usize> Tensor<T, R> {
    /// All elements zero.
    pub fn zeros(dims: [usize; R]) -> Self {
        Tensor::wrap(dims, Some(Data::zeros(T::ELEM, dims.iter().product())))
    }
    /// A shape without elements: enough to trace a kernel and to time it.
    pub fn shape_only(dims: [usize; R]) -> Self {
        Tensor::wrap(dims, None)
    }
    /// The elements in row-major order; `None` if their number is not the product of the lengths.
    pub fn from_vec(dims: [usize; R], elements: Vec<T>) -> Option<Self> {
        let fits = dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d)) == Some(elements.len());
        fits.then(|| Tensor::wrap(dims, Some(T::wrap(elements))))
    }
    fn wrap(dims: [usize; R], data: Option<Data>) -> Self {
        let any = AnyTensor { elem: T::ELEM, dims: dims.to_vec(), data, placement: Placement::default() };
        Tensor { any, _elem: PhantomData }
    }
    /// The same tensor placed elsewhere on the machine.
    pub fn placed(mut self, placement: Placement) -> Self {
        self.any.placement = placement;
        self
    }
    pub fn dims(&self) -> [usize; R] {
        std::array::from_fn(|i| self.any.dims[i])
    }
    /// The elements in row-major order; empty for a shape without elements.
    pub fn elements(&self) -> &[T] {
        self.any.data.as_ref().and_then(T::slice).unwrap_or(&[])
    }
    pub fn elements_mut(&mut self) -> &mut [T] {
        self.any.data.as_mut().and_then(T::slice_mut).map_or(&mut [], |v| v.as_mut_slice())
    }
    pub fn as_any(&self) -> &AnyTensor {
        &self.any
    }
    pub fn as_any_mut(&mut self) -> &mut AnyTensor {
        &mut self.any
    }
    /// A copy as an array; all zero bits for a shape without elements.
    pub fn to_array(&self) -> ArrayD<T> {
        let dims = IxDyn(&self.any.dims);
        let zeros = || vec![T::from_bits(0); self.any.len()];
        let elements = self.any.data.as_ref().and_then(T::slice).map_or_else(zeros, <[T]>::to_vec);
        ArrayD::from_shape_vec(dims.clone(), elements).unwrap_or_else(|_| ArrayD::from_elem(dims, T::from_bits(0)))
    }
}

/// Copies an array of any memory order into a row-major tensor.
impl<T: Stored, const R: usize> From<Array<T, Dim<[usize; R]>>> for Tensor<T, R>
where
    Dim<[usize; R]>: Dimension,
{
    fn from(a: Array<T, Dim<[usize; R]>>) -> Self {
        let dims = std::array::from_fn(|i| a.shape()[i]);
        Tensor::wrap(dims, Some(T::wrap(a.iter().copied().collect())))
    }
}
