//! Programs that run the page, and how values come back.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tilewright_planner::machine::Machine;
use tilewright_planner::model::named;
use tilewright_planner::options::Options;
use tilewright_planner::report::Report;
use tilewright_planner::topology::{Phase, Topology, Work};

/// A program of one of these names on the path that answers `--version`.
pub fn program(names: &[&'static str]) -> Option<&'static str> {
    names.iter().copied().find(|name| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success()))
}

/// Said where the harness does not hide it.
pub fn skipped(what: &str, why: &str) {
    let _ = writeln!(std::io::stdout(), "\nskipped: {what} ({why})");
}

/// A file that the programs read.
pub fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("a scratch file");
    path
}

/// What a script of this folder prints as JSON.
pub fn run(script: &str, args: &[&Path]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page").join(script);
    let output = Command::new("node").arg(script).args(args).output().expect("node was found");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {said}"))
}

/// A number of a page, written as JavaScript writes it: every digit counts.
pub fn number(text: &Value) -> f64 {
    let text = text.as_str().expect("numbers come as text");
    match text {
        "Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        _ => text.parse().unwrap_or(f64::NAN),
    }
}

/// Equal to twelve digits; counts in every digit.
pub fn same(what: &str, rust: f64, page: f64) {
    let is_count = rust.fract() == 0.0 && !what.ends_with("_s");
    let near = (rust - page).abs() <= 1e-12 * rust.abs();
    let equal = rust == page || rust.is_nan() && page.is_nan() || near && !is_count;
    assert!(equal, "{what}: {rust:?} in Rust, {page:?} on the page");
}

/// The report that most tests look at.
pub fn report() -> String {
    let (model, machine) = (named("Llama 3 8B").expect("a preset"), Machine::default());
    Report {
        model: &model,
        machine: &machine,
        machine_name: "the planner's own".into(),
        topology: Topology::default(),
        work: Work::new(Phase::Decode, 8192),
        options: Options::refined(),
        facts: vec![],
    }
    .html()
}
