//! `docs/errors`: every code has an example there, and each example does what it says. What can be run is run: the wrong
//! form gives its code and exactly the message that is shown, the right form gives no error. Of examples in Rust the
//! message has to be one that some other test shows.
//!
//! `UPDATE_DOCS=1` writes the messages.

use super::examples;
use super::support::{self, tilewright, tilewright_in};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const BOOK: [&str; 13] = [
    "trace", "ops", "access", "ir", "messages", "run", "races", "timing", "machine", "launch", "gpu", "planner",
    "command",
];

/// Codes in Rust whose message no other test shows: each needs what a test has not.
const UNSEEN: [(&str, &str); 16] = [
    ("TW-E0240", "tests of the verifier compare codes: the ids of a broken module are no text to rely on"),
    ("TW-E0241", "as TW-E0240"),
    ("TW-E0243", "as TW-E0240"),
    ("TW-E0246", "as TW-E0240"),
    ("TW-E0248", "as TW-E0240"),
    ("TW-E0249", "as TW-E0240"),
    ("TW-E0242", "a million ops"),
    ("TW-E0317", "a second of time"),
    ("TW-E0319", "what parses and traces is verified, so no kernel shows it"),
    ("TW-E0324", "tests of orders compare codes and values"),
    ("TW-E0354", "tests of limits compare codes"),
    ("TW-E0612", "what the verifier accepts has no such use"),
    ("TW-E0640", "a driver that fails in a way no other code has"),
    ("TW-E0824", "a shipped kernel that is wrong"),
    ("TW-E0842", "a GPU, and a shipped kernel that is wrong"),
    ("TW-E0826", "a system that refuses threads"),
];

/// One entry of the book: kind and text of its blocks.
struct Entry {
    code: String,
    wrong: (String, String),
    message: String,
    right: (String, String),
}

fn path(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../docs/errors/{page}.md"))
}

fn entries(text: &str) -> Vec<Entry> {
    let entry = |entry: &str| {
        let (code, body) = entry.split_once('\n').expect("a heading");
        let blocks: Vec<(String, String)> = body
            .split("```")
            .skip(1)
            .step_by(2)
            .map(|b| b.split_once('\n').expect("a block"))
            .map(|(kind, text)| (kind.to_string(), text.to_string()))
            .collect();
        let [wrong, (text, message), right] = <[_; 3]>::try_from(blocks).expect(code);
        assert_eq!(text, "text", "{code}");
        Entry { code: code.to_string(), wrong, message, right }
    };
    text.split("\n## ").skip(1).map(entry).collect()
}

fn all() -> Vec<Entry> {
    BOOK.iter().flat_map(|page| entries(&std::fs::read_to_string(path(page)).expect(page))).collect()
}

/// What is said of a form, without the line that every message ends with; empty if nothing is wrong.
fn said((kind, text): &(String, String), code: &str, form: &str) -> String {
    let dir = support::temp_dir(&format!("page_{code}_{form}"));
    let failed = |run: support::Run| if run.code == 0 { String::new() } else { run.err };
    let said = match kind.as_str() {
        "tir" if text.starts_with("// launch: ") => examples::launched(text),
        "tir" => {
            std::fs::write(dir.join("kernel.tir"), text).expect("it can be written");
            failed(tilewright_in(&dir, "ir kernel.tir"))
        }
        "toml" if text.starts_with("# model.toml\n") => {
            machine_files(&dir, text);
            failed(tilewright_in(&dir, "plan memory --model model.toml"))
        }
        "json" => {
            std::fs::write(dir.join("config.json"), text).expect("it can be written");
            failed(tilewright_in(&dir, "plan memory --model config.json"))
        }
        "toml" => {
            let first = machine_files(&dir, text);
            failed(tilewright_in(&dir, &format!("machine show --machine {first}")))
        }
        "sh" => {
            std::fs::write(dir.join("some.tir"), "kernel @some() {\n}\n").expect("it can be written");
            let runs = text.lines().map(|line| line.strip_prefix("tilewright ").expect("a command of ours"));
            // In order, and the last one tells.
            let last = runs.fold(None, |_, args| Some(tilewright_in(&dir, args)));
            failed(last.expect("a command"))
        }
        _ => String::new(),
    };
    let lines =
        said.lines().filter(|line| !line.starts_with(" = more: ") && !line.trim_start().starts_with("= more: "));
    lines.map(|line| format!("{line}\n")).collect::<String>().trim_end().to_string()
}

/// Writes a file for each line `# NAME`; gives the first one's name.
fn machine_files(dir: &Path, text: &str) -> String {
    let name = |line: &str| line.strip_prefix("# ").filter(|n| n.ends_with(".toml")).map(String::from);
    let mut files: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (name(line), files.last_mut()) {
            (Some(name), _) => files.push((name, String::new())),
            (None, Some((_, text))) => *text += &format!("{line}\n"),
            (None, None) => files.push(("machine.toml".into(), format!("{line}\n"))),
        }
    }
    for (name, text) in &files {
        std::fs::write(dir.join(name), text).expect("it can be written");
    }
    files.into_iter().next().expect("a file").0
}

#[test]
fn every_code_has_a_text_and_an_example_and_explain_shows_both() {
    let book: BTreeMap<String, Entry> = all().into_iter().map(|e| (e.code.clone(), e)).collect();
    let list = tilewright("explain --list").out;
    let listed: Vec<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    let found: Vec<&str> = book.keys().map(String::as_str).collect();
    assert_eq!(found, listed, "codes in docs/errors, and codes that there are");
    for (code, entry) in &book {
        let page = tilewright(&format!("explain {code}")).out;
        let (text, rest) = page.split_once("\nExample:\n").unwrap_or_else(|| panic!("{code}: no example\n{page}"));
        let words = text.split_whitespace().count() - 1;
        assert!(words >= 25, "{code} says too little, {words} words: {text}");
        let (example, rest) = rest.split_once("\nSays:\n").expect(code);
        let (message, instead) = rest.split_once("\nInstead:\n").expect(code);
        assert!(message.contains(&format!("error[{code}]: ")), "{code} shows another message:\n{message}");
        assert!(!example.trim().is_empty() && !instead.trim().is_empty(), "{code}");
        assert_ne!(entry.wrong.1, entry.right.1, "{code}");
    }
}

#[test]
fn every_example_that_can_be_run_gives_its_message_and_its_mended_form_none() {
    let mut wrong = Vec::new();
    for page in BOOK {
        let text = std::fs::read_to_string(path(page)).expect(page);
        let mut updated = text.clone();
        for entry in entries(&text).iter().filter(|e| e.wrong.0 != "rust") {
            let code = &entry.code;
            let said_now = said(&entry.wrong, code, "wrong");
            if !said_now.starts_with(&format!("error[{code}]: ")) {
                wrong.push(format!("{code}: the wrong form gives\n{said_now}"));
            }
            let mended = said(&entry.right, code, "right");
            if !mended.is_empty() {
                wrong.push(format!("{code}: the right form gives\n{mended}"));
            }
            let old = format!("## {code}\n```{}\n{}```\n```text\n{}```", entry.wrong.0, entry.wrong.1, entry.message);
            let new = format!("## {code}\n```{}\n{}```\n```text\n{said_now}\n```", entry.wrong.0, entry.wrong.1);
            if old != new && std::env::var_os("UPDATE_DOCS").is_none() {
                wrong.push(format!("{code}: the message is now\n{said_now}"));
            }
            updated = updated.replace(&old, &new);
        }
        if updated != text && std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path(page), updated).expect("docs/errors can be written");
        }
    }
    assert!(wrong.is_empty(), "{}\nUPDATE_DOCS=1 writes messages", wrong.join("\n"));
}

#[test]
fn messages_of_examples_in_rust_are_those_that_tests_show() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let roots = ["tests", "backend-cuda", "backend-sim", "dsl-core", "harness", "kernels", "cli/tests/cli"];
    let (mut shown, mut folders): (String, Vec<PathBuf>) = (String::new(), roots.map(|r| root.join(r)).into());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder can be read") {
            let path = entry.expect("it can be read").path();
            let is_text = path.extension().is_some_and(|e| e == "rs" || e == "snap" || e == "stderr" || e == "tir");
            if path.is_dir() {
                folders.push(path);
            } else if is_text && !path.ends_with("errors.rs") {
                shown += &std::fs::read_to_string(&path).expect("it can be read");
            }
        }
    }
    let mut missing = Vec::new();
    for entry in all().iter().filter(|e| e.wrong.0 == "rust") {
        let headline = entry.message.lines().next().and_then(|l| l.split_once("]: ")).expect(&entry.code).1;
        let known = UNSEEN.iter().any(|(code, _)| *code == entry.code);
        if known == shown.contains(headline) {
            missing.push(format!("{}: {headline}", entry.code));
        }
    }
    assert!(missing.is_empty(), "no test shows these, or one does and `UNSEEN` says no: {missing:#?}");
}
