//! `parse(print(m)) == m`, and the text that is printed is the text that was read. Random modules: `properties.rs`.

use std::collections::BTreeSet;
use tilewright_core::elem::{Class, ElemType};
use tilewright_core::ir::Op;
use tilewright_core::ir::text::{parse, print, print_with_locs, read};

const EVERY_OP: &str = include_str!("../../tests/tir/every_op.tir");

#[test]
fn every_op_reads_as_it_prints() {
    let m = read(EVERY_OP, "every_op.tir").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(print(&m), EVERY_OP);
    assert_eq!(parse(&print_with_locs(&m), "other.tir").map(|m| print_with_locs(&m)), Ok(print_with_locs(&m)));
}

#[test]
fn every_op_with_a_form_of_its_own_is_in_the_text_of_every_op() {
    let m = parse(EVERY_OP, "every_op.tir").unwrap();
    let rows = Op::ROWS.iter().filter(|row| row.unary.is_none());
    let mut open: BTreeSet<&str> = rows.map(|row| row.mnemonic).collect();
    m.each_op(&mut |op| {
        open.remove(m.op(op).op.mnemonic());
    });
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn every_op_of_one_operand_reads_as_it_prints_on_every_element_it_takes() {
    let fits = |class: Option<Class>, elem: &ElemType| class.is_some_and(|class| elem.is(class));
    for row in Op::ROWS.iter().filter(|row| row.unary.is_some()) {
        for &elem in ElemType::ALL {
            let op = row.mnemonic;
            let text = format!(
                "kernel @k(%x: {elem}) {{\n  %0 = {op} %x : {elem}\n  %1 = splat %0 : tile<2x3x{elem}>\n  \
                 %2 = {op} %1 : tile<2x3x{elem}>\n  keep %2\n}}\n"
            );
            let printed = read(&text, "k.tir").map(|m| print(&m)).ok();
            assert_eq!(printed, fits(row.class, &elem).then_some(text), "{op} of {elem}");
        }
    }
}

/// Body lines that print otherwise than they were written, but read the same.
#[test]
fn other_spellings_are_read() {
    let text = |body: &str| format!("kernel @k(%n: i32, %lo: i32, %hi: i32) {{\n{body}}}\n");
    let printed = |body: &str| {
        let m = read(&text(body), "k.tir").unwrap_or_else(|e| panic!("{e}"));
        let all = print(&m);
        all.lines().skip(1).take_while(|l| *l != "}").map(|l| format!("{}\n", l.trim_start())).collect::<String>()
    };
    let table = [
        ("%a'7 = add %n, -0 : i32\nkeep %a'7 // twice\n", "%a = add %n, 0 : i32\nkeep %a\n"),
        ("%a   =\tadd %n\n  , 1 :\n\n i32 keep %a", "%a = add %n, 1 : i32\nkeep %a\n"),
        ("%a = add %n, 1 : i32\r\nkeep %a\r\n", "%a = add %n, 1 : i32\nkeep %a\n"),
        ("%\"a\" = add %n, 1:i32 : i32\nkeep %a\n", "%a = add %n, 1 : i32\nkeep %a\n"),
        ("%7 = add %n, 1 : i32\n%\"7\" = add %7, 1 : i32\n", "%0 = add %n, 1 : i32\n%\"7\" = add %0, 1 : i32\n"),
        ("for %i in %lo..%hi {\nkeep %i }", "for %i in %lo..%hi {\nkeep %i\n}\n"),
        ("if true { } else { }", "if true {\n}\n"),
        (
            "keep 0x7c00:f16 keep 1e3:f32 keep 5:f64 keep 1e-7:f16",
            "keep 0x7c00:f16\nkeep 1000.0:f32\nkeep 5.0:f64\nkeep 1.1920929e-7:f16\n",
        ),
        ("%loc = pe_id : i32 keep %loc loc(k.rs:1:2)", "%loc = pe_id : i32\nkeep %loc\n"),
        ("%true = pe_id : i32 %if = add %true, 1 : i32", "%true = pe_id : i32\n%if = add %true, 1 : i32\n"),
    ];
    for (body, want) in table {
        assert_eq!(printed(body), want, "{body}");
    }
}

#[test]
fn what_a_kernel_denies_is_part_of_it() {
    let denying = "kernel @k(%n: i32) deny(in_kernel_checks) {\n  keep %n\n}\n";
    let m = read(denying, "k.tir").unwrap();
    assert_eq!(print(&m), denying);
    assert!(m.deny.in_kernel_checks);
    assert_ne!(m, parse("kernel @k(%n: i32) {\n  keep %n\n}\n", "k.tir").unwrap());
    // A pass keeps it, and a name of an op or a value may be the same word.
    assert_eq!(tilewright_core::passes::for_timing(&m), m);
    let names = "kernel @deny(%deny: i32) deny(in_kernel_checks) {\n  keep %deny\n}\n";
    assert_eq!(print(&parse(names, "k.tir").unwrap()), names);
}

#[test]
fn a_byte_order_mark_and_a_missing_last_newline_do_not_matter() {
    let m = parse("\u{feff}kernel @k() {}", "k.tir").unwrap();
    assert_eq!(print(&m), "kernel @k() {\n}\n");
}
