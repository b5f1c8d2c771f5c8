//! Files that no honest program writes: refused with a code, and at once.

use super::support::{Run, temp_dir, tilewright};
use std::time::{Duration, Instant};

/// Far above what a refusal takes, far below what a step that is not linear would.
const SOON: Duration = Duration::from_secs(30);

/// Refused with this code within the time.
fn refused(args: &str, code: &str) {
    let start = Instant::now();
    let Run { code: exit, err, .. } = tilewright(args);
    let head: String = err.chars().take(600).collect();
    assert!(err.starts_with(&format!("error[{code}]")), "{args}: exit {exit}\n{head}");
    assert!(exit == 1 || exit == 2, "{args}: exit {exit}\n{head}");
    assert!(err.len() < 20_000, "{args}: {} bytes of error\n{head}", err.len());
    assert!(start.elapsed() < SOON, "{args}: {:?}", start.elapsed());
}
fn kernel(body: &str) -> String {
    format!("kernel @k(%n: i32) {{\n{body}\n}}\n")
}

#[test]
fn a_tir_file_beyond_a_limit_is_refused_with_a_code() {
    let dir = temp_dir("limits-tir");
    let ir = |name: &str, bytes: &[u8], code: &str| {
        let path = dir.join(name);
        std::fs::write(&path, bytes).expect("the folder can be written");
        refused(&format!("ir {}", path.display()), code);
    };
    ir("nested.tir", kernel(&format!("{}{}", "if true {\n".repeat(65), "}\n".repeat(65))).as_bytes(), "TW-E0232");
    ir("many_ops.tir", kernel(&"keep %n\n".repeat(1_000_001)).as_bytes(), "TW-E0232");
    ir("nul.tir", kernel("keep \0 %n").as_bytes(), "TW-E0230");
    ir("bytes.tir", b"kernel @k(%n: i32) {\n  keep \xff\xfe\n}\n", "TW-E0803");
}

#[test]
fn a_chain_of_nine_machine_files_is_refused_with_a_code() {
    let dir = temp_dir("limits-extends");
    for n in 0..9 {
        let base = if n == 8 { "ahbm".to_string() } else { format!("m{}.toml", n + 1) };
        std::fs::write(dir.join(format!("m{n}.toml")), format!("extends = \"{base}\"\n")).expect("it can be written");
    }
    let run =
        |n: usize| format!("run vector_add --n 8 --timing-only --machine {}", dir.join(format!("m{n}.toml")).display());
    assert_eq!(tilewright(&run(1)).code, 0, "eight are fine:\n{}", tilewright(&run(1)).err);
    refused(&run(0), "TW-E0411");
}
