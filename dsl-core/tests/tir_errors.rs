//! Every rule of the verifier that a text can break: `tests/tir/errors/*.tir` carry `// error: CODE text` on the guilty
//! line. An error that is missing and one that is not announced both fail.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tilewright_core::ir::{codes, text, verify};

fn inputs() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tir/errors");
    let entries = fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

/// Line, code, a part of the message.
type Announced = (u32, String, String);

fn announced(text: &str) -> Vec<Announced> {
    let mut out = Vec::new();
    for (line, s) in (1..).zip(text.lines()) {
        for error in s.split("// error: ").skip(1) {
            let (code, part) = error.split_once(' ').expect("a code and a text");
            out.push((line, code.to_string(), part.trim().to_string()));
        }
    }
    out
}

/// What is wrong with the announcements of a text; empty if nothing is.
fn mismatches(file: &str, text: &str) -> String {
    let mut open = announced(text);
    let mut out = String::new();
    let found = text::read(text, file).err().unwrap_or_default().0;
    for d in &found {
        let line = d.labels.first().filter(|l| *l.place.file == *file).map_or(0, |l| l.place.line);
        let fits = |(l, code, part): &Announced| *l == line && code == d.code && d.message.contains(part.as_str());
        match open.iter().position(fits) {
            Some(i) => drop(open.remove(i)),
            None => out += &format!("{file}:{line}: not announced: {} {}\n", d.code, d.message),
        }
    }
    open.iter().for_each(|(line, code, part)| out += &format!("{file}:{line}: missing: {code} {part}\n"));
    out
}

#[test]
fn every_announced_error_is_found_and_no_other() {
    let mut out = String::new();
    for path in inputs() {
        let name = path.file_name().unwrap().to_string_lossy().to_string();
        out += &mismatches(&name, &fs::read_to_string(&path).unwrap());
    }
    assert!(out.is_empty(), "\n{out}");
}

#[test]
fn a_missing_and_a_surplus_error_fail() {
    let sound = "kernel @k(%n: i32) {\n  keep %n // error: TW-E0201 nothing is wrong here\n}\n";
    insta::assert_snapshot!(mismatches("k.tir", sound), @"k.tir:2: missing: TW-E0201 nothing is wrong here");
    let broken = "kernel @k(%n: i32) {\n  %s = exp %n : i32\n}\n";
    insta::assert_snapshot!(mismatches("k.tir", broken), @"k.tir:2: not announced: TW-E0201 exp: `x` is i32, the op needs a float element (f16, bf16, f32, f64)");
}

/// Rules whose break no text can express; `verify::mutations` covers them.
const ARENA_ONLY: [&str; 7] = ["TW-E0240", "TW-E0241", "TW-E0242", "TW-E0243", "TW-E0246", "TW-E0248", "TW-E0249"];

#[test]
fn every_code_of_an_op_or_a_module_has_an_input() {
    let texts = inputs().into_iter().map(|p| fs::read_to_string(p).unwrap());
    let shown: BTreeSet<String> = texts.flat_map(|t| announced(&t)).map(|(_, code, _)| code).collect();
    let pages = codes::FAULTS.iter().chain(verify::CODES).map(|page| page.code);
    let open: Vec<&str> = pages.filter(|c| !shown.contains(*c) && !ARENA_ONLY.contains(c)).collect();
    assert!(open.is_empty(), "no input shows {open:?}");
}

#[test]
fn a_value_that_leaves_its_region_is_shown_where_it_is_made_and_used() {
    let text = "kernel @k(%n: i32) {\n  if true {\n    %a = add %n, 1 : i32\n  }\n  keep %a\n}\n";
    insta::assert_snapshot!(text::read(text, "k.tir").unwrap_err(), @r"
    error[TW-E0245]: a value made inside this `if` arm is used after it
     --> k.tir:5:3
      |
    3 |     %a = add %n, 1 : i32
      |     -- %a is made here
    4 |   }
    5 |   keep %a
      |   ^^^^ %a is used here
      |
      = note: the op: keep %a
      = next: let both arms of the `if` yield it
      = more: tilewright explain TW-E0245
    ");
}
