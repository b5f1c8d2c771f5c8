//! docs/ir.md: its table of codes comes from the pages, its kernels are read and print as they stand. `UPDATE_DOCS=1`
//! rewrites the table.

use std::fs;
use tilewright_core::diag::CodePage;
use tilewright_core::ir::codes;
use tilewright_core::ir::text::{print, read};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/ir.md");

fn page() -> String {
    fs::read_to_string(PAGE).unwrap_or_else(|e| panic!("{PAGE}: {e}"))
}

fn codes() -> String {
    let row = |page: &CodePage| format!("| {} | {} |\n", page.code, page.title.replace('|', "\\|"));
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
fn the_table_is_that_of_the_source() {
    let want = with_table(&page(), "codes", &codes());
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
