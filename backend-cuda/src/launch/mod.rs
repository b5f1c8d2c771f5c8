//! From a launch to a run on a device: which variant of a kernel it needs, its parameter block, its tensors' bytes, what
//! comes back. `class.rs`: what a variant relies on. `compiled.rs`: that variant alone. `args.rs`: the parameter block.
//! `device.rs`: what a device has to do, which the driver and the emulator both can. `variants.rs`: the variants that a
//! device has loaded. `host.rs`: one launch, over host tensors or resident ones. `resident.rs`: one over memory that is
//! there already, made ready once. `observed.rs`: where a kernel leaves records and lines.

mod args;
mod class;
mod compiled;
mod device;
mod host;
mod observed;
mod resident;
mod variants;

pub use args::{Bound, Places, bytes_of};
pub use class::Class;
pub use compiled::compile_for;
pub use device::{Address, Ctas, Device};
pub use host::{Outcome, execute};
pub use resident::{Resident, resident};
pub use variants::{DEFAULT_THREADS, Variants};
