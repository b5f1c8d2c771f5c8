//! A program built without the driver: the same names, and one answer.

use super::codes::NOT_BUILT;
use crate::compile::Compiled;
use crate::launch::{Address, Ctas, Device};
use crate::target::Target;
use std::sync::Arc;
use tilewright_core::diag::{Diagnostic, Diagnostics};

/// A GPU; there is none in this program.
#[derive(Clone, Debug)]
pub enum Gpu {}

/// A kernel, loaded on a GPU.
#[derive(Clone, Debug)]
pub enum Loaded {}

impl Gpu {
    /// # Errors
    /// Always: the program was built without the driver.
    pub fn open(_ordinal: u32) -> Result<Gpu, Diagnostics> {
        Err(Diagnostic::new(NOT_BUILT, "this program was built without the NVIDIA driver")
            .next("tilewright = { features = [\"cuda\"] } in Cargo.toml, or --target ptx-emu")
            .into())
    }
}

impl Device for Gpu {
    type Loaded = Loaded;

    fn target(&self) -> Target {
        match *self {}
    }
    fn name(&self) -> String {
        match *self {}
    }
    fn load(&mut self, _: Arc<Compiled>) -> Result<Loaded, Diagnostics> {
        match *self {}
    }
    fn alloc(&mut self, _: u64) -> Result<Address, Diagnostics> {
        match *self {}
    }
    fn free(&mut self, _: Address) {
        match *self {}
    }
    fn write(&mut self, _: Address, _: &[u8]) -> Result<(), Diagnostics> {
        match *self {}
    }
    fn read(&mut self, _: Address, _: &mut [u8]) -> Result<(), Diagnostics> {
        match *self {}
    }
    fn at_once(&mut self, _: &Loaded) -> Result<u32, Diagnostics> {
        match *self {}
    }
    fn launch(&mut self, _: &Loaded, _: Ctas, _: &[u8]) -> Result<(), Diagnostics> {
        match *self {}
    }
}
