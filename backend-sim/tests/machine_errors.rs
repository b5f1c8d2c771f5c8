//! Wrong machine files and flags: each is refused with its whole text. Paths are relative to the test's folder.
//! `machine_errors/quantities.rs`: values and their units. `fields.rs`: names, types and ranges. `files.rs`: files that
//! extend each other, and flags.

#[path = "machine_errors/fields.rs"]
mod fields;
#[path = "machine_errors/files.rs"]
mod files;
#[path = "machine_errors/quantities.rs"]
mod quantities;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use tilewright_sim::machine::Machine;

/// A fresh folder with these files.
fn folder(files: &[(&str, &str)]) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let unique = format!("machine-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(unique);
    std::fs::create_dir_all(&dir).unwrap();
    for (name, text) in files {
        std::fs::write(dir.join(name), text).unwrap();
    }
    dir
}

/// What loading the first file says.
fn loaded(files: &[(&str, &str)]) -> String {
    let dir = folder(files);
    let result = Machine::load(dir.join(files[0].0).to_str().unwrap(), &[]);
    std::fs::remove_dir_all(&dir).unwrap();
    let prefix = format!("{}/", dir.display());
    result.map_or_else(|e| e.to_string(), |m| format!("loads: {}", m.name)).replace(&prefix, "")
}

/// What a file that changes the shipped machine says.
fn file(text: &str) -> String {
    loaded(&[("my.toml", &format!("extends = \"ahbm\"\n{text}"))])
}

/// What a file says that gives the slice this rate.
fn rate(value: &str) -> String {
    file(&format!("[hbm]\nslice_rate = {value}\n"))
}

fn set(flags: &[&str]) -> String {
    let flags: Vec<String> = flags.iter().map(|s| (*s).to_owned()).collect();
    Machine::load("ahbm", &flags).map_or_else(|e| e.to_string(), |m| format!("loads: {}", m.name))
}

#[test]
fn all_faults_come_at_once() {
    let text = file("[hbm]\nslice_rat = 1\nread_latency = \"1\"\n[queue]\ndepth = 0\n");
    assert_eq!(text.matches("error[TW-E04").count(), 3, "{text}");
}
