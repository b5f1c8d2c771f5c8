//! NVIDIA's assembler, where somebody has installed it (`TILEWRIGHT_PTXAS`, or `ptxas` on the path). Nothing needs it: the
//! driver has one of its own. It tells beforehand what code it makes of a text.

use crate::target::Target;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// The assembler.
#[derive(Clone, Debug)]
pub struct Ptxas {
    program: PathBuf,
}

/// What it made of the kernels of one text, the most that one of them takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assembled {
    /// Of a thread.
    pub registers: u32,
    /// Bytes of a thread.
    pub stack: u32,
    pub spill_stores: u32,
    pub spill_loads: u32,
    /// What it warned of.
    pub warnings: Vec<String>,
    /// Machine instructions that use a thread's own memory, if the disassembler beside it could tell.
    pub local_accesses: Option<u32>,
}

impl Ptxas {
    /// `None`: it is not installed.
    pub fn find() -> Option<Ptxas> {
        if let Some(path) = std::env::var_os("TILEWRIGHT_PTXAS") {
            return Some(PathBuf::from(path)).filter(|path| path.is_file()).map(|program| Ptxas { program });
        }
        let path = std::env::var_os("PATH")?;
        let program = std::env::split_paths(&path).map(|folder| folder.join("ptxas")).find(|file| file.is_file());
        program.map(|program| Ptxas { program })
    }
    /// # Errors
    /// What it says of a text that it refuses; or that it cannot be run.
    pub fn assemble(&self, text: &str, target: Target) -> Result<Assembled, String> {
        let scratch = Scratch::new()?;
        let (source, cubin) = (scratch.file("kernel.ptx"), scratch.file("kernel.cubin"));
        std::fs::write(&source, text).map_err(|e| format!("{}: {e}", source.display()))?;
        let mut command = Command::new(&self.program);
        command.args(["-v", "-arch", target.name(), "-o"]).args([&cubin, &source]);
        let output = run(&mut command)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Err(said);
        }
        Ok(Assembled { local_accesses: self.local_accesses(&cubin), ..read(&said) })
    }
    /// LDL and STL in the machine code.
    fn local_accesses(&self, cubin: &Path) -> Option<u32> {
        let disassembler = self.program.with_file_name("nvdisasm");
        let output = run(Command::new(disassembler).args(["-c"]).arg(cubin)).ok().filter(|o| o.status.success())?;
        let code = String::from_utf8_lossy(&output.stdout).into_owned();
        let local = |line: &&str| line.split([' ', '\t', '.']).any(|word| word == "LDL" || word == "STL");
        Some(code.lines().filter(local).count() as u32)
    }
}

fn run(command: &mut Command) -> Result<Output, String> {
    command.output().map_err(|e| format!("{} cannot be run: {e}", command.get_program().display()))
}

/// The lines of `-v`: `Used 32 registers, …`, `0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads`.
fn read(said: &str) -> Assembled {
    let mut found = Assembled::default();
    for line in said.lines() {
        for part in line.split([',', ':']).map(str::trim) {
            let number = || part.split(' ').find_map(|word| word.parse::<u32>().ok()).unwrap_or(0);
            let field = match part {
                _ if part.ends_with(" registers") => &mut found.registers,
                _ if part.ends_with(" bytes stack frame") => &mut found.stack,
                _ if part.ends_with(" bytes spill stores") => &mut found.spill_stores,
                _ if part.ends_with(" bytes spill loads") => &mut found.spill_loads,
                _ => continue,
            };
            *field = number().max(*field);
        }
        // Advice that matters comes as information: C7510 says that a product could not be pipelined.
        if line.contains("warning") || line.contains("(C75") {
            found.warnings.push(line.trim().to_string());
        }
    }
    found
}

/// A folder that is gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tilewright-ptxas-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Scratch(path))
    }
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}
impl Drop for Scratch {
    fn drop(&mut self) {
        // It lies in a folder for temporary files: what stays there is removed in time.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_several_kernels_are_the_largest_of_each() {
        let said = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90a'
ptxas info    : Function properties for a
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 26 registers, used 1 barriers, 396 bytes cmem[0]
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized
";
        let found = read(said);
        let figures = (found.registers, found.stack, found.spill_stores, found.spill_loads);
        assert_eq!(figures, (40, 8, 4, 12));
        assert_eq!(found.warnings.len(), 1);
    }
}
