//! What rustc and the macros say about kernels that must not compile. The texts belong to one compiler version.

use std::process::Command;

/// The version the `.stderr` files were written by.
const PINNED: &str = "rustc 1.95.";

#[test]
fn mistakes_are_told_at_their_place() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let found = Command::new(rustc).arg("--version").output().map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    match found {
        Ok(version) if version.starts_with(PINNED) => trybuild::TestCases::new().compile_fail("cases/*.rs"),
        found => println!("skipped: {} texts of {PINNED}x, this is {found:?}", cases()),
    }
}

fn cases() -> usize {
    let files = std::fs::read_dir("cases").into_iter().flatten().flatten();
    files.filter(|f| f.path().extension().is_some_and(|e| e == "rs")).count()
}
