//! Memory of a GPU that another library allocated.
#![allow(unsafe_code)] // nothing here can check what the caller promises

use super::gpu::Gpu;
use super::tensor::GpuTensor;
use crate::launch::Address;
use tilewright_core::data::Stored;

impl Gpu {
    /// A tensor over memory that something else allocated on this GPU, such as another library's array. It is not given
    /// back when the tensor is dropped.
    ///
    /// # Safety
    /// From `at` on there are as many elements as `dims` says, row-major and aligned for `T`, in memory of this GPU that
    /// stays allocated as long as the tensor, its clones, and launches that took one are in use. Nothing else writes it
    /// while a launch reads it, and nothing else touches it while a launch writes it: work that others queued on it has
    /// ended, or [`super::Stream::wait`] orders it.
    pub unsafe fn borrow<T: Stored, const R: usize>(&self, at: Address, dims: [usize; R]) -> GpuTensor<T, R> {
        self.tensor(dims, at, false)
    }
}
