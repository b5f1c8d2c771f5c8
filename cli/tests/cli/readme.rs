//! The promises of the README and of docs: every command they show runs, and the table that the README shows is what the
//! command prints. (`docs/errors` is run by `pages.rs`.)

use super::support::{clone_of_root, tilewright_in};
use std::path::Path;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn readme() -> String {
    read(&root().join("README.md"))
}

/// What a person would type, of one page: lines of examples, and commands with arguments inside a sentence, without
/// placeholders.
fn commands(text: &str) -> Vec<String> {
    let line = |l: &str| {
        let l = l.trim().trim_start_matches("$ ");
        let args = l.strip_prefix("cargo run --release -- ").or_else(|| l.strip_prefix("tilewright "))?;
        Some(args.split("  ").next().unwrap_or(args).split(" #").next().unwrap_or(args).trim().to_string())
    };
    let in_sentence = |l: &str| {
        let quoted = l.split('`').skip(1).step_by(2).filter_map(line);
        quoted.filter(|args| args.contains(' ')).collect::<Vec<_>>()
    };
    let placeholder = |args: &String| {
        args.contains('…') || args.split(' ').any(|w| w.len() > 2 && w.bytes().all(|b| b.is_ascii_uppercase()))
    };
    let shown = text.lines().flat_map(|l| line(l).map_or_else(|| in_sentence(l), |args| vec![args]));
    shown.filter(|args| !placeholder(args)).collect()
}

/// Runs them in a clone; gives their number.
fn run_all(clone: &Path, page: &Path) -> usize {
    let all = commands(&read(page));
    // All of `verify` takes too long unoptimised; CI runs it on the release build.
    for args in all.iter().filter(|args| *args != "verify") {
        let run = tilewright_in(clone, args);
        assert_eq!(run.code, 0, "{}: tilewright {args}\n{}{}", page.display(), run.out, run.err);
    }
    all.len()
}

#[test]
fn every_command_of_the_readme_succeeds() {
    let shown = run_all(&clone_of_root("readme"), &root().join("README.md"));
    assert!(shown >= 8, "the README shows {shown} commands");
}

#[test]
fn every_command_of_the_docs_succeeds() {
    let clone = clone_of_root("docs");
    let (mut shown, mut folders) = (run_all(&clone, &root().join("CONTRIBUTING.md")), vec![root().join("docs")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("docs can be read") {
            let path = entry.expect("docs can be read").path();
            match path.is_dir() {
                true if path.ends_with("errors") => {}
                true => folders.push(path),
                false => shown += run_all(&clone, &path),
            }
        }
    }
    assert!(shown >= 5, "docs show {shown} commands");
}

#[test]
fn a_command_is_read_as_a_person_would_type_it() {
    let text =
        "$ cargo run --release -- ir --list   # all\nSee `tilewright explain TW-E0405`, `tilewright run KERNEL`.";
    assert_eq!(commands(text), ["ir --list", "explain TW-E0405"]);
}

#[test]
fn the_readme_shows_the_table_that_the_sweep_prints() {
    let shown: Vec<String> = readme().lines().filter(|l| l.starts_with("     ")).map(|l| l.trim().into()).collect();
    let table: Vec<String> = shown.into_iter().filter(|l| l.starts_with("mode ") || l.starts_with("A1 ")).collect();
    assert!(table.len() >= 3, "{table:?}");
    let printed = tilewright_in(root(), "sweep short-decode").out;
    for line in table {
        assert!(printed.lines().any(|l| l.trim() == line), "not printed: {line}\n{printed}");
    }
}
