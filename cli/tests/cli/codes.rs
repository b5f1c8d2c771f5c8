//! Error codes: each that a crate may emit has a page, and each page's code is emitted. Read from the sources, so that a
//! new code cannot be without a page.

use super::support::tilewright;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Lines of all crates' sources, without comments and unit tests.
fn lines() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![root.join("src")];
    for entry in std::fs::read_dir(&root).expect("the workspace can be read") {
        let folder = entry.expect("it can be read").path();
        // What the fuzzer types is no error of ours.
        if !folder.ends_with("fuzz") {
            folders.push(folder.join("src"));
        }
    }
    let (mut lines, mut folders) = (Vec::new(), folders.into_iter().filter(|f| f.is_dir()).collect::<Vec<_>>());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a source folder can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file can be read");
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
                let code = code.lines().map(str::trim).filter(|line| !line.starts_with("//"));
                lines.extend(code.map(String::from));
            }
        }
    }
    lines
}
/// The codes in a line.
fn codes(line: &str) -> impl Iterator<Item = &str> {
    let digits = |c: &str| c.len() == 8 && c[4..].bytes().all(|b| b.is_ascii_digit());
    line.match_indices("\"TW-E").filter_map(move |(at, _)| line.get(at + 1..at + 9).filter(|code| digits(code)))
}
/// The name that a line gives to a code: `NAME: &str = "TW-E0301"`, `NAME = "TW-E0401", …`.
fn name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once(" = ")?;
    let word = before.trim_end_matches(": &str").rsplit(' ').next()?;
    let is_name = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (after.starts_with("\"TW-E") && is_name).then_some(word)
}
fn uses_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|w| w == word)
}

#[test]
fn every_code_that_is_emitted_has_a_page_and_every_page_a_code_that_is() {
    let lines = lines();
    let mut found = BTreeSet::new();
    let mut emitted: BTreeMap<&str, bool> = BTreeMap::new();
    for line in &lines {
        for code in codes(line) {
            found.insert(code);
            let by_page = line.starts_with("code: ") || line.starts_with("CodePage {");
            let used = match name(line) {
                Some(name) => lines.iter().any(|l| l != line && !l.starts_with("code: ") && uses_word(l, name)),
                None => !by_page,
            };
            *emitted.entry(code).or_default() |= used;
        }
    }
    assert!(found.len() > 100, "{found:?}");

    let list = tilewright("explain --list").out;
    let pages: BTreeSet<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(list.lines().count(), pages.len(), "two pages for one code");
    let without_page: Vec<&&str> = found.difference(&pages).collect();
    assert!(without_page.is_empty(), "codes without a page: {without_page:?}");
    let never: Vec<&&str> = pages.iter().filter(|page| !emitted.get(**page).is_some_and(|e| *e)).collect();
    assert!(never.is_empty(), "pages of codes that nothing emits: {never:?}");
}
