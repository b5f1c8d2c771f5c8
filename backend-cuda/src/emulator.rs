//! The emulator as a device: the same text, the same parameter block, on a CPU.

use crate::compile::Compiled;
use crate::launch::{Address, Ctas, Device};
use crate::target::Target;
use std::sync::Arc;
use tilewright_core::diag::{CodePage, Diagnostic, Diagnostics};
use tilewright_core::ir::LocId;
pub use tilewright_ptx_emu::Schedule;
use tilewright_ptx_emu::{Banks, Fault, Kind, Launch, Limits, Memory, Module, run};

/// A device that runs PTX on the CPU.
#[derive(Debug)]
pub struct Emulator {
    target: Target,
    memory: Memory,
    pub limits: Limits,
    /// What accesses to shared memory took in the last launch.
    pub banks: Banks,
}

/// Bytes that an emulated device has.
const MEMORY: u64 = 4 << 30;

/// SMs of a group that share memory with each other.
const GROUP: u32 = 16;

const FAULT: &str = "TW-E0660";

pub const CODES: &[CodePage] = &[CodePage {
    code: FAULT,
    title: "the emulated GPU met something that a GPU leaves undefined",
    page: "The emulator ran the kernel's PTX and found an access outside every tensor, a read of memory that nobody wrote, a \
           race, a barrier that not all threads reach, or an instruction it does not know. A race between two blocks is one \
           between two programs of the kernel: let each store to its own elements, or use atomics. Anything else the \
           compiler should not emit: please report the kernel and the command. If the module came from a `.tir` file, check \
           its accesses with `--target reference` first.",
}];

impl Emulator {
    pub fn new(target: Target) -> Emulator {
        Emulator { target, memory: Memory::new(MEMORY), limits: Limits::default(), banks: Banks::default() }
    }
}

/// A kernel of the emulator.
#[derive(Clone, Debug)]
pub struct Loaded {
    compiled: Arc<Compiled>,
    module: Module,
}

impl Device for Emulator {
    type Loaded = Loaded;

    fn target(&self) -> Target {
        self.target
    }
    fn name(&self) -> String {
        "PTX emulator".to_string()
    }
    fn load(&mut self, compiled: Arc<Compiled>) -> Result<Loaded, Diagnostics> {
        let module = Module::parse(&compiled.printed.text).map_err(|fault| told(&compiled, &fault))?;
        Ok(Loaded { compiled, module })
    }
    fn alloc(&mut self, bytes: u64) -> Result<Address, Diagnostics> {
        self.memory.alloc(bytes).map(Address).map_err(memory)
    }
    fn free(&mut self, at: Address) {
        self.memory.free(at.0);
    }
    fn write(&mut self, at: Address, bytes: &[u8]) -> Result<(), Diagnostics> {
        self.memory.write(at.0, bytes).map_err(memory)
    }
    fn mark_unwritten(&mut self, at: Address, bytes: u64) -> Result<(), Diagnostics> {
        self.memory.mark_unwritten(at.0, bytes).map_err(memory)
    }
    fn read(&mut self, at: Address, bytes: &mut [u8]) -> Result<(), Diagnostics> {
        self.memory.read(at.0, bytes).map_err(memory)
    }
    /// As on a GPU with as many SMs as the target's largest, by threads and shared memory.
    fn at_once(&mut self, kernel: &Loaded) -> Result<u32, Diagnostics> {
        let (sms, threads, shared) = match self.target {
            Target::Sm80 => (108, 2048, 164 << 10),
            Target::Sm90a => (132, 2048, 228 << 10),
        };
        let kernel = &kernel.compiled.kernel;
        // An SM takes 1 KiB of its own for each CTA.
        let each_sm = (threads / kernel.threads).min(shared / (kernel.shared_bytes + 1024)).min(32);
        // A cluster lies within a group of SMs (PTX.md 10).
        Ok(match kernel.cluster {
            None => sms * each_sm,
            Some(ctas) => sms / GROUP * (GROUP * each_sm / ctas) * ctas,
        })
    }
    fn launch(&mut self, kernel: &Loaded, ctas: Ctas, params: &[u8]) -> Result<(), Diagnostics> {
        let told = |fault| told(&kernel.compiled, &fault);
        let entry = kernel.module.entry(&kernel.compiled.kernel.name).map_err(told)?;
        // A kernel without parameters has a block of some bytes all the same.
        let mut params = params.to_vec();
        params.resize(entry.param_bytes.max(params.len()), 0);
        let shared_bytes = kernel.compiled.kernel.shared_bytes;
        let launch = Launch { blocks: ctas.count, threads: None, shared_bytes, params: &params };
        self.banks = run(entry, &launch, &mut self.memory, self.limits).map_err(told)?.banks;
        Ok(())
    }
}

fn memory(kind: Kind) -> Diagnostics {
    Diagnostic::new(FAULT, kind.to_string()).into()
}
/// With the kernel's line that the PTX came from.
fn told(compiled: &Compiled, fault: &Fault) -> Diagnostics {
    let line = (fault.line as usize).checked_sub(1);
    let loc = line.and_then(|at| compiled.printed.lines.get(at)).copied().unwrap_or(LocId::UNKNOWN);
    let mut told = Diagnostic::new(FAULT, fault.kind.to_string()).at(&compiled.module, loc, "");
    if fault.line > 0 {
        told = told.note(format!("line {} of the PTX: {}", fault.line, fault.statement));
    }
    if let Some((block, thread)) = fault.thread {
        told = told.note(format!("block {block}, thread {thread}"));
    }
    told.into()
}
