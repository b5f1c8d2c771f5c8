//! docs/ir.md: its tables come from the op table and the pages, its kernels are read and print as they stand.
//! `UPDATE_DOCS=1` rewrites the tables.

use std::collections::BTreeMap;
use std::fs;
use tilewright_core::diag::CodePage;
use tilewright_core::elem::Class;
use tilewright_core::ir::codes;
use tilewright_core::ir::text::{op_text, print, read};
use tilewright_core::ir::{Effect, Op};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/ir.md");

fn page() -> String {
    fs::read_to_string(PAGE).unwrap_or_else(|e| panic!("{PAGE}: {e}"))
}

/// Text in a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// One table a family: how an op is written, its elements, its effect, its meaning. The spelling is its longest line in
/// `every_op.tir`.
fn ops() -> String {
    let m = read(include_str!("../../tests/tir/every_op.tir"), "every_op.tir").unwrap_or_else(|e| panic!("{e}"));
    let mut written: BTreeMap<&str, String> = BTreeMap::new();
    m.each_op(&mut |op| {
        let (text, longest) = (op_text(&m, op), written.entry(m.op(op).op.mnemonic()).or_default());
        if text.len() > longest.len() {
            *longest = text;
        }
    });
    let (mut out, mut family) = (String::new(), "");
    for row in Op::ROWS {
        if row.family != family {
            family = row.family;
            out += &format!(
                "\n### {}{}\n\n| op | elements | effect | meaning |\n|---|---|---|---|\n",
                family[..1].to_uppercase(),
                &family[1..]
            );
        }
        let (text, elements) = (cell(&written[row.mnemonic]), row.class.map_or("", elements));
        out += &format!("| `{text}` | {elements} | {} | {} |\n", effect(row.effect), cell(row.doc));
    }
    out + "\n"
}
fn elements(class: Class) -> &'static str {
    match class {
        Class::Any => "any",
        Class::Num => "numbers",
        Class::Int => "integers",
        Class::Float => "floats",
        Class::Bits => "integers, i1",
    }
}
fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Pure => "pure",
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Atomic => "read and write",
        Effect::Queue => "queue",
        Effect::Sync => "sync",
        Effect::Observe => "observe",
        Effect::Control => "control",
    }
}

fn codes() -> String {
    let row = |page: &CodePage| format!("| {} | {} |\n", page.code, cell(page.title));
    let rows: String = codes::CODES.iter().copied().flatten().map(row).collect();
    format!("\n| code | error |\n|---|---|\n{rows}\n")
}

/// The page with what stands between `<!-- name: … -->` and `<!-- end -->` replaced.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let (before, rest) = page.split_once(&format!("<!-- {name}: ")).expect("the mark of the table");
    let (mark, rest) = rest.split_once("-->\n").expect("the end of the mark");
    let (_, after) = rest.split_once("<!-- end -->").expect("the end of the table");
    format!("{before}<!-- {name}: {mark}-->\n{table}<!-- end -->{after}")
}

#[test]
fn the_tables_are_those_of_the_source() {
    let want = with_table(&with_table(&page(), "ops", &ops()), "codes", &codes());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(PAGE, &want).expect("docs/ir.md can be written");
    }
    assert!(page() == want, "docs/ir.md is out of date: UPDATE_DOCS=1 cargo test -p tilewright-core --test docs_ir");
}

#[test]
fn the_kernels_of_the_page_are_valid_and_canonical() {
    let page = page();
    let kernels: Vec<&str> = page.split("```tir\n").skip(1).filter_map(|s| s.split("```").next()).collect();
    assert!(kernels.len() >= 2);
    for text in kernels {
        let m = read(text, "docs/ir.md").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(print(&m), text);
    }
}
