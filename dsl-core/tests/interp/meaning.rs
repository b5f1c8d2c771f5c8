//! `docs/meaning.md` says what the op table and the interpreter's rules say.

use tilewright_core::interp::meaning;

/// `UPDATE_DOCS=1` rewrites it.
#[test]
fn the_table_of_meanings_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/meaning.md");
    let page = meaning::page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "UPDATE_DOCS=1 cargo test -p tilewright-core --test interp");
}
