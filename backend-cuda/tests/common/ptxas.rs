//! NVIDIA's assembler, where it is installed (`TILEWRIGHT_PTXAS`, or `ptxas` on the path).

use std::path::PathBuf;
use std::process::Command;
use tilewright_cuda::Target;

pub enum Assembled {
    Right,
    /// It is not installed.
    Skipped(String),
    /// What it said.
    Wrong(String),
}

fn program() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("TILEWRIGHT_PTXAS") {
        return Some(PathBuf::from(path)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("ptxas")).find(|file| file.is_file())
}

/// Modules of one target, many kernels in one file: starting the assembler takes longer than a kernel. Each kernel must
/// have a name of its own. Spills are errors too.
pub fn assemble(target: Target, modules: &[String]) -> Assembled {
    let Some(program) = program() else {
        return Assembled::Skipped(format!(
            "ptxas for {target} (not found: set TILEWRIGHT_PTXAS, or put it on the path)"
        ));
    };
    let folder = std::env::temp_dir().join(format!("tilewright-ptxas-{}-{target}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for PTX");
    let mut log = String::new();
    for (part, modules) in modules.chunks(64).enumerate() {
        let file = folder.join(format!("{part}.ptx"));
        std::fs::write(&file, joined(modules)).expect("the file is written");
        let out = Command::new(&program)
            .args(["-v", "-arch", target.name(), "-o", "/dev/null"])
            .arg(&file)
            .output()
            .expect("ptxas runs");
        let said = String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
        let spills = said.lines().any(|line| line.contains("spill") && !line.contains(" 0 bytes spill stores"));
        if !out.status.success() || spills {
            log += &format!("{}:\n{said}\n", file.display());
        }
    }
    if log.is_empty() {
        std::fs::remove_dir_all(&folder).ok();
        return Assembled::Right;
    }
    Assembled::Wrong(log)
}
/// One header, then every kernel.
fn joined(modules: &[String]) -> String {
    let entry = ".visible .entry";
    let shared = modules.iter().find(|text| text.contains(".extern .shared")).or(modules.first());
    let header = shared.and_then(|text| text.split(entry).next()).unwrap_or("");
    let kernels = modules.iter().filter_map(|text| text.find(entry).map(|at| &text[at..]));
    header.to_string() + &kernels.collect::<Vec<_>>().join("\n")
}
