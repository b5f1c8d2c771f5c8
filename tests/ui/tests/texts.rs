//! What rustc and the macros say about kernels that must not compile. The texts belong to one compiler version.

use std::path::PathBuf;
use std::process::Command;

/// The version the `.stderr` files were written by.
const PINNED: &str = "rustc 1.95.";

#[test]
fn mistakes_are_told_at_their_place() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let found = Command::new(rustc).arg("--version").output().map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    match found {
        Ok(version) if version.starts_with(PINNED) => trybuild::TestCases::new().compile_fail("cases/*.rs"),
        found => println!("skipped: {} texts of {PINNED}x, this is {found:?}", files("rs").len()),
    }
}

/// Where names come from that a kernel author cannot look up: what generated code calls, the crate behind the facade,
/// its modules.
const INTERNAL: [&str; 3] = ["__rt", "tilewright_core", "lang::"];

#[test]
fn no_text_names_what_an_author_cannot_look_up() {
    let texts = files("stderr");
    assert!(texts.len() > 30, "{} texts", texts.len());
    for file in texts {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        for (line, text) in text.lines().enumerate() {
            // rustc names the crate, not a path, where it counts the impls that would do.
            let text = text.replace("found in the `tilewright_core` crate", "found");
            let named = INTERNAL.iter().find(|name| text.contains(**name));
            assert_eq!(named, None, "{}:{}: {text}", file.display(), line + 1);
        }
    }
}

fn files(extension: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir("cases").into_iter().flatten().flatten().map(|f| f.path());
    files.filter(|f| f.extension().is_some_and(|e| e == extension)).collect()
}
