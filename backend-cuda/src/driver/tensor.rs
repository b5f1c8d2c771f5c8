//! Tensors in a GPU's memory.

use super::gpu::{Gpu, State};
use super::raw::Context;
use super::stream::Stream;
use crate::launch::{Address, Device};
use ndarray::ArrayD;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use tilewright_core::data::Stored;
use tilewright_core::diag::Diagnostics;
use tilewright_core::tensor::{Resident, Tensor};

/// A tensor in a GPU's memory. It goes into a kernel's function as a host tensor does (`&x`, `&mut y`), and launches over
/// such tensors alone do not wait for the GPU: what they wrote, and whether they failed, shows when it is read.
#[derive(Debug)]
pub struct GpuTensor<T, const R: usize> {
    tensor: Tensor<T, R>,
    at: Address,
    stream: Stream,
}

/// Memory of a GPU that a tensor lies in.
#[derive(Debug)]
pub(super) struct Memory {
    pub state: Arc<State>,
    pub at: Address,
    /// Given back with the last tensor that lies in it; borrowed memory is its owner's.
    pub owned: bool,
}
impl Resident for Memory {
    fn device(&self) -> u64 {
        self.state.context.id
    }
    fn address(&self) -> u64 {
        self.at.0
    }
}
impl Drop for Memory {
    fn drop(&mut self) {
        if self.owned {
            // The driver waits for what still uses it. A failure is one of what ran, and told where it is asked for.
            let _ = Context::free(&self.state.context, self.at.0);
        }
    }
}

impl Gpu {
    /// Elements that nobody has written yet.
    ///
    /// # Errors
    /// Out of memory.
    pub fn uninit<T: Stored, const R: usize>(&self, dims: [usize; R]) -> Result<GpuTensor<T, R>, Diagnostics> {
        let bytes = dims.iter().product::<usize>() as u64 * T::ELEM.bytes();
        let at = self.clone().alloc(bytes)?;
        Ok(self.tensor(dims, at, true))
    }
    /// # Errors
    /// Out of memory.
    pub fn zeros<T: Stored, const R: usize>(&self, dims: [usize; R]) -> Result<GpuTensor<T, R>, Diagnostics> {
        let tensor = self.uninit(dims)?;
        self.stream().fill(tensor.at, 0, tensor.bytes())?;
        Ok(tensor)
    }
    /// A copy of a host tensor; from an array, `gpu.upload(&Tensor::from(array))`.
    ///
    /// # Errors
    /// Out of memory, or the tensor has no elements.
    pub fn upload<T: Stored, const R: usize>(&self, from: &Tensor<T, R>) -> Result<GpuTensor<T, R>, Diagnostics> {
        let mut tensor = self.uninit(from.dims())?;
        tensor.write(from)?;
        Ok(tensor)
    }
    pub(super) fn tensor<T: Stored, const R: usize>(
        &self,
        dims: [usize; R],
        at: Address,
        owned: bool,
    ) -> GpuTensor<T, R> {
        let memory = Memory { state: self.state.clone(), at, owned };
        GpuTensor { tensor: Tensor::resident(dims, Arc::new(memory)), at, stream: self.stream().clone() }
    }
}

impl<T: Stored, const R: usize> GpuTensor<T, R> {
    /// Of the first element.
    pub fn address(&self) -> Address {
        self.at
    }
    pub fn bytes(&self) -> u64 {
        self.tensor.as_any().len() as u64 * T::ELEM.bytes()
    }
    /// Copies a host tensor of the same lengths here.
    ///
    /// # Errors
    /// The lengths differ, the tensor has no elements, or something failed earlier.
    pub fn write(&mut self, from: &Tensor<T, R>) -> Result<(), Diagnostics> {
        let data = from.as_any().data.as_ref().ok_or_else(crate::launch_errors::shape_only)?;
        if from.dims() != self.tensor.dims() {
            return Err(crate::launch_errors::lengths(&from.dims(), &self.tensor.dims()));
        }
        self.stream.write(self.at, data.bytes())
    }
    /// Waits for what is queued, and copies the elements to the host.
    ///
    /// # Errors
    /// Something that ran failed.
    pub fn to_host(&self) -> Result<Tensor<T, R>, Diagnostics> {
        let mut host = Tensor::zeros(self.tensor.dims());
        if let Some(data) = &mut host.as_any_mut().data {
            let mut bytes = vec![0; data.bytes().len()];
            self.stream.read(self.at, &mut bytes)?;
            data.copy_from_bytes(&bytes);
        }
        Ok(host)
    }
    /// The same as an array.
    ///
    /// # Errors
    /// Something that ran failed.
    pub fn to_array(&self) -> Result<ArrayD<T>, Diagnostics> {
        self.to_host().map(|host| host.to_array())
    }
}

/// What a kernel's function takes.
impl<T, const R: usize> Deref for GpuTensor<T, R> {
    type Target = Tensor<T, R>;
    fn deref(&self) -> &Tensor<T, R> {
        &self.tensor
    }
}
impl<T, const R: usize> DerefMut for GpuTensor<T, R> {
    fn deref_mut(&mut self) -> &mut Tensor<T, R> {
        &mut self.tensor
    }
}
