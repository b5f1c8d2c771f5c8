//! Host tensors: what a launch reads and writes.

use crate::data::{Data, Stored};
use crate::elem::ElemType;
use crate::ir::Literal;
use crate::placement::Placement;
use crate::unwritten::Unwritten;
use ndarray::{ArrayBase, ArrayD, Dim, Dimension, IxDyn};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

/// A tensor whose element type and rank are known at run time.
#[derive(Clone, Debug)]
pub struct AnyTensor {
    pub elem: ElemType,
    pub dims: Vec<usize>,
    /// Row-major elements; `None`: only the shape is known, which is enough to trace and to time.
    pub data: Option<Data>,
    pub placement: Placement,
    /// Elements that neither the host nor a kernel has written; none, unless the host says so ([`Tensor::uninit`]).
    pub unwritten: Unwritten,
    /// Where the elements lie if not here: then `data` is `None`.
    pub resident: Option<Arc<dyn Resident>>,
}

/// Elements in the memory of a device, row-major and without gaps. A launch there takes them as they lie; nothing is
/// copied, and clones of a tensor share them.
pub trait Resident: Debug + Send + Sync {
    /// Tells devices of this process apart.
    fn device(&self) -> u64;
    /// Of the first element.
    fn address(&self) -> u64;
}

impl AnyTensor {
    /// A tensor whose elements, if it has some, count as written.
    pub fn new(elem: ElemType, dims: Vec<usize>, data: Option<Data>, placement: Placement) -> AnyTensor {
        AnyTensor { elem, dims, data, placement, unwritten: Unwritten::default(), resident: None }
    }
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
    /// For a kernel to write: nothing may read an element before. The elements are NaN, or a pattern of bits that no kernel
    /// computes by chance, so that a wrong read shows also where nobody checks.
    pub fn uninit(dims: [usize; R]) -> Self {
        let len = dims.iter().product();
        let mut tensor = Tensor::wrap(dims, Some(Data::splat(poison(T::ELEM), len)));
        tensor.any.unwritten = Unwritten::all(len);
        tensor
    }
    /// A shape without elements: enough to trace a kernel and to time it.
    pub fn shape_only(dims: [usize; R]) -> Self {
        Tensor::wrap(dims, None)
    }
    /// A tensor whose elements lie in a device's memory.
    pub fn resident(dims: [usize; R], at: Arc<dyn Resident>) -> Self {
        let mut tensor = Tensor::wrap(dims, None);
        tensor.any.resident = Some(at);
        tensor
    }
    /// The elements in row-major order; `None` if their number is not the product of the lengths.
    pub fn from_vec(dims: [usize; R], elements: Vec<T>) -> Option<Self> {
        let fits = dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d)) == Some(elements.len());
        fits.then(|| Tensor::wrap(dims, Some(T::wrap(elements))))
    }
    fn wrap(dims: [usize; R], data: Option<Data>) -> Self {
        let any = AnyTensor::new(T::ELEM, dims.to_vec(), data, Placement::default());
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
    /// The elements in row-major order; empty for a shape without elements, and if they lie on a device.
    pub fn elements(&self) -> &[T] {
        self.any.data.as_ref().and_then(T::slice).unwrap_or(&[])
    }
    /// To be written by the host: all elements count as written from here on.
    pub fn elements_mut(&mut self) -> &mut [T] {
        self.any.unwritten = Unwritten::default();
        self.any.data.as_mut().and_then(T::slice_mut).map_or(&mut [], |v| v.as_mut_slice())
    }
    pub fn as_any(&self) -> &AnyTensor {
        &self.any
    }
    pub fn as_any_mut(&mut self) -> &mut AnyTensor {
        &mut self.any
    }
    /// A copy as an array; all zero bits for a shape without elements, and if they lie on a device.
    pub fn to_array(&self) -> ArrayD<T> {
        let dims = IxDyn(&self.any.dims);
        let zeros = || vec![T::from_bits(0); self.any.len()];
        let elements = self.any.data.as_ref().and_then(T::slice).map_or_else(zeros, <[T]>::to_vec);
        ArrayD::from_shape_vec(dims.clone(), elements).unwrap_or_else(|_| ArrayD::from_elem(dims, T::from_bits(0)))
    }
}

/// Copies an array or a view of one, whatever its strides, into a row-major tensor.
impl<T: Stored, S: ndarray::Data<Elem = T>, const R: usize> From<ArrayBase<S, Dim<[usize; R]>>> for Tensor<T, R>
where
    Dim<[usize; R]>: Dimension,
{
    fn from(a: ArrayBase<S, Dim<[usize; R]>>) -> Self {
        let dims = std::array::from_fn(|i| a.shape()[i]);
        Tensor::wrap(dims, Some(T::wrap(a.iter().copied().collect())))
    }
}

/// What the elements of [`Tensor::uninit`] hold.
fn poison(elem: ElemType) -> Literal {
    let bits = match elem {
        ElemType::I1 => 1,
        ElemType::I8 | ElemType::U8 => 0xA5,
        ElemType::I16 | ElemType::U16 => 0xA5A5,
        ElemType::I32 | ElemType::U32 => 0xA5A5_A5A5,
        ElemType::I64 | ElemType::U64 => 0xA5A5_A5A5_A5A5_A5A5,
        ElemType::F16 => 0x7E00,
        ElemType::BF16 => 0x7FC0,
        ElemType::F32 => 0x7FC0_0000,
        ElemType::F64 => 0x7FF8_0000_0000_0000,
        ElemType::F8E4M3 | ElemType::F8E5M2 => 0x7F,
    };
    Literal { elem, bits }
}
