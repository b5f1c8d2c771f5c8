//! The README's promises: every command it shows runs, and the table it shows is what the command prints.

use super::support::tilewright_at_root;

fn readme() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// What stands behind each `cargo run --release --`.
fn commands() -> Vec<String> {
    let text = readme();
    let lines = text.lines().filter_map(|l| l.trim().strip_prefix("$ cargo run --release -- "));
    lines.map(|l| l.split("  #").next().unwrap_or(l).trim().to_string()).collect()
}

#[test]
fn every_command_of_the_readme_succeeds() {
    let all = commands();
    assert!(all.len() >= 8, "the README shows {} commands", all.len());
    // All of `verify` takes too long unoptimised; CI runs it on the release build.
    for args in all.iter().filter(|args| *args != "verify") {
        let run = tilewright_at_root(args);
        assert_eq!(run.code, 0, "tilewright {args}\n{}{}", run.out, run.err);
    }
}
#[test]
fn the_readme_shows_the_table_that_the_sweep_prints() {
    let shown: Vec<String> = readme().lines().filter(|l| l.starts_with("     ")).map(|l| l.trim().into()).collect();
    let table: Vec<String> = shown.into_iter().filter(|l| l.starts_with("mode ") || l.starts_with("A1 ")).collect();
    assert!(table.len() >= 3, "{table:?}");
    let printed = tilewright_at_root("sweep short-decode").out;
    for line in table {
        assert!(printed.lines().any(|l| l.trim() == line), "not printed: {line}\n{printed}");
    }
}
