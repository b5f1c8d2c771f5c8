//! `docs/meaning.md` says what the op table and the interpreter's rules say.

use std::collections::BTreeMap;
use tilewright_core::interp::meaning;
use tilewright_core::ir::text::{op_text, read};

/// `UPDATE_DOCS=1` rewrites it.
#[test]
fn the_table_of_meanings_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/meaning.md");
    // The longest line of an op in every_op.tir shows what it can hold.
    let m = read(include_str!("../../../tests/tir/every_op.tir"), "every_op.tir").unwrap_or_else(|e| panic!("{e}"));
    let mut written: BTreeMap<&str, String> = BTreeMap::new();
    m.each_op(&mut |op| {
        let (text, longest) = (op_text(&m, op), written.entry(m.op(op).op.mnemonic()).or_default());
        if text.len() > longest.len() {
            *longest = text;
        }
    });
    let page = meaning::page(&|row| match row.unary {
        Some(_) => {
            format!("%y = {} %x : tile<8x64x{}>", row.mnemonic, if row.family == "bits" { "i32" } else { "f16" })
        }
        None => written[row.mnemonic].clone(),
    });
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "UPDATE_DOCS=1 cargo test -p tilewright-core --test interp");
}
