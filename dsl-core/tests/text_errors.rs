//! What the parser says, by table: every input is wrong in one way; the place and the text are what a user sees.

use tilewright_core::ir::text::{parse, read};

/// Body lines of a kernel, and the fault: `line:col: text`, counted from the body's first line.
const BODIES: &[(&str, &str, &str)] = &[
    ("TW-E0230", "%a = ad %n, 1 : i32", "1:6: there is no op `ad`"),
    ("TW-E0230", "%a = add %n 1 : i32", "1:13: expected `,`, found `1`"),
    ("TW-E0230", "%a = add %n, : i32", "1:14: expected a value, found `:`"),
    ("TW-E0230", "%a = add %n, 1 : i33", "1:18: `i33` is not a type"),
    ("TW-E0230", "%a, %b = add %n, 1 : i32", "1:1: results of `add`: 1, names before it: 2"),
    ("TW-E0230", "add %n, 1 : i32", "1:1: results of `add`: 1, names before it: 0"),
    ("TW-E0230", "%a add %n, 1 : i32", "1:4: expected `=`, found `add`"),
    ("TW-E0230", "%a = %n", "1:6: expected an op, found `%n`"),
    ("TW-E0230", "keep %n ;", "1:9: unexpected character ';'"),
    ("TW-E0230", "keep %x[%n];", "1:8: expected an op, found `[`"),
    ("TW-E0230", "%a = load %x[%n;] : f32", "1:16: unexpected character ';'"),
    ("TW-E0230", "%a = load %x[%n, 0 : f32", "1:20: expected `,`, found `:`"),
    ("TW-E0230", "%a = load %x[0] cache none : f32", "1:23: expected keep or stream, found `none`"),
    ("TW-E0230", "%a = load %x[0] vec -1 : f32", "1:21: expected a number from 0 to 4294967295, found `-1`"),
    ("TW-E0230", "%a = load %x[0] : tile<8 x 4xf32>", "1:24: `8` is not lengths and an element type like `8x64xf16`"),
    ("TW-E0230", "%a = load %x[0] : tile<8xf33>", "1:24: `8xf33` is not lengths and an element type like `8x64xf16`"),
    ("TW-E0230", "%a = load %x[0] : tile<>", "1:24: expected lengths and an element type like `8x64xf16`, found `>`"),
    ("TW-E0230", "%a = cmp less %n, 1:i32 : i1", "1:10: expected lt, le, gt, ge, eq or ne, found `less`"),
    ("TW-E0230", "send pe.up, %n", "1:9: expected north, east, south or west, found `up`"),
    ("TW-E0230", "send card.east, %n", "1:10: expected a port: pe.DIR, cube.DIR, sip.DIR or peer.N, found `.`"),
    ("TW-E0230", "barrier", "2:1: expected cube or launch, found `}`"),
    ("TW-E0230", "assert true, fine", "1:14: expected a quoted text, found `fine`"),
    ("TW-E0230", "assert true, \"fine", "1:14: this quoted text does not end on its line, or has a bad escape"),
    ("TW-E0230", "assert true, \"\\u{d800}\"", "1:14: this quoted text does not end on its line, or has a bad escape"),
    ("TW-E0230", "if %n {", "3:1: expected an op, found the end of the text"),
    ("TW-E0230", "}", "2:1: expected the end of the text, found `}`"),
    ("TW-E0230", "yield %n", "1:1: there is no op `yield`"),
    ("TW-E0230", "while {\nkeep %n\n}", "3:1: expected `while`, found `}`"),
    ("TW-E0230", "while {\nwhile carry %n\n}", "2:13: expected `(`, found `%n`"),
    ("TW-E0230", "for %i in 0 {\n}", "1:13: expected `..`, found `{`"),
    (
        "TW-E0230",
        "keep %n loc(k.rs)",
        "1:12: expected `(file:line:col inlined at file:line:col)`, an odd file name quoted",
    ),
    (
        "TW-E0230",
        "keep %n loc(k.rs:1:2 at k.rs:1:2)",
        "1:12: expected `(file:line:col inlined at file:line:col)`, an odd file name quoted",
    ),
    ("TW-E0230", "keep %", "1:6: expected a name after `%`"),
    ("TW-E0230", "keep %'2", "1:6: expected a name after `%`"),
    ("TW-E0230", "keep %n'", "1:6: expected a number after `'`, as in `%x'2`"),
    ("TW-E0230", "keep %n'99999999999", "1:6: expected a number after `'`, as in `%x'2`"),
    ("TW-E0231", "keep %m", "1:6: `%m` is not defined before this use"),
    ("TW-E0231", "keep %n'2", "1:6: `%n'2` is not defined before this use"),
    ("TW-E0231", "%n = add 1:i32, 1 : i32", "1:1: `%n` is defined a second time"),
    ("TW-E0231", "%a, %a = add 1:i32, 1 : i32", "1:5: `%a` is defined a second time"),
    (
        "TW-E0231",
        "%a = if true {\n%a = add %n, 1 : i32\nyield %a\n} else {\nyield %n\n}",
        "2:1: `%a` is defined a second time",
    ),
    ("TW-E0231", "%a = if true {\nyield %a\n} else {\nyield %n\n}", "2:7: `%a` is not defined before this use"),
    ("TW-E0231", "%a = while carry (%b = %n, %b = %n) {\n}", "1:28: `%b` is defined a second time"),
    ("TW-E0231", "%a = reduce_with %n axis 0 (%b, %b) {\n}", "1:33: `%b` is defined a second time"),
    (
        "TW-E0232",
        "%a = load %x[0] : tile<2x2x2x2x2xf32>",
        "1:19: a tile has 1 to 4 axes, lengths above zero and at most 4194304 elements",
    ),
    (
        "TW-E0232",
        "%a = load %x[0] : tile<0x8xf32>",
        "1:19: a tile has 1 to 4 axes, lengths above zero and at most 4194304 elements",
    ),
    (
        "TW-E0232",
        "%a = load %x[0] : tile<?x8xf32>",
        "1:19: a tile has 1 to 4 axes, lengths above zero and at most 4194304 elements",
    ),
    (
        "TW-E0232",
        "%a = load %x[0] : tile<4294967295x4294967295xf32>",
        "1:19: a tile has 1 to 4 axes, lengths above zero and at most 4194304 elements",
    ),
    ("TW-E0232", "%a = load %x[0] : view<2x2x2x2x2xf32>", "1:19: a view has 1 to 4 axes"),
    ("TW-E0233", "keep 1", "1:6: nothing tells the type of `1`: write `1:i32`"),
    ("TW-E0233", "store %o[0], 1.5", "1:14: nothing tells the type of `1.5`: write `1.5:i32`"),
    ("TW-E0233", "%a = reduce_with 5 axis 0 (%b, %c) {\n}", "1:18: nothing tells the type of `5`: write `5:i32`"),
    ("TW-E0233", "keep 1:i33", "1:6: `i33` is not an element type"),
    ("TW-E0233", "keep 128:i8", "1:6: `128` is not a constant of type i8"),
    ("TW-E0233", "keep -1:u64", "1:6: `-1` is not a constant of type u64"),
    ("TW-E0233", "keep 1.5:i32", "1:6: `1.5` is not a constant of type i32"),
    ("TW-E0233", "keep 1:i1", "1:6: `1` is not a constant of type i1"),
    ("TW-E0233", "keep 1.0:f8e4m3", "1:6: `1.0` is not a constant of type f8e4m3"),
    ("TW-E0233", "keep 1e400:f64", "1:6: `1e400` is not a constant of type f64"),
    ("TW-E0233", "keep 65520.0:f16", "1:6: `65520.0` is not a constant of type f16"),
    ("TW-E0233", "keep 0x10000:f16", "1:6: `0x10000` is not a constant of type f16"),
    ("TW-E0233", "keep 0x1:i32", "1:6: `0x1` is not a constant of type i32"),
    ("TW-E0233", "%a = cmp lt %n, 5 : i1", "1:17: `5` is not a constant of type i1"),
    ("TW-E0233", "%a = load %x[1.0] : f32", "1:14: `1.0` is not a constant of type i32"),
    ("TW-E0233", "%a = load %x[2147483648] : f32", "1:14: `2147483648` is not a constant of type i32"),
];

/// Whole texts.
const TEXTS: &[(&str, &str, &str)] = &[
    ("TW-E0230", "", "1:1: expected `kernel`, found the end of the text"),
    ("TW-E0230", "\u{feff}module", "1:1: expected `kernel`, found `module`"),
    ("TW-E0230", "kernel k() {}", "1:8: expected a kernel name like `@add`, found `k`"),
    ("TW-E0230", "kernel @k(%x) {}", "1:13: expected `:`, found `)`"),
    ("TW-E0230", "kernel @k<T=>() {}", "1:13: expected the value of this key, found `>`"),
    ("TW-E0230", "kernel @k<T=a b>() {}", "1:15: expected `>`, found `b`"),
    ("TW-E0230", "kernel @k() deny {}", "1:18: expected `(`, found `{`"),
    ("TW-E0230", "kernel @k() deny() {}", "1:18: expected `in_kernel_checks`, found `)`"),
    ("TW-E0230", "kernel @k() deny(checks) {}", "1:18: expected `in_kernel_checks`, found `checks`"),
    ("TW-E0230", "kernel @k() allow(in_kernel_checks) {}", "1:13: expected `{`, found `allow`"),
    ("TW-E0230", "kernel @k() {} kernel @l() {}", "1:16: expected the end of the text, found `kernel`"),
    ("TW-E0230", "kernel @k() {", "1:14: expected an op, found the end of the text"),
    ("TW-E0230", "kernel @k(%x: view<?xf32, strides [1, 2]>) {}", "1:37: expected `]`, found `,`"),
    ("TW-E0232", "kernel @k(%x: view<f32>) {}", "1:15: a view has 1 to 4 axes"),
];

fn fault(text: &str) -> (String, String) {
    match parse(text, "t.tir") {
        Ok(_) => ("accepted".into(), String::new()),
        Err(f) => (f.code.into(), f.to_string()),
    }
}

#[test]
fn every_fault_names_its_place() {
    let mut wrong = String::new();
    for (code, body, want) in BODIES {
        // One line before the body, so that lines count from its first.
        let text = format!("kernel @k(%x: view<?xf32>, %o: view_mut<?xf32>, %n: i32) {{ //\n{body}\n}}\n");
        let (found_code, found) = fault(&text);
        let (line, rest) = found.split_once(':').unwrap_or(("0", ""));
        let found = format!("{}:{rest}", line.parse::<i32>().unwrap() - 1);
        if (found_code.as_str(), found.as_str()) != (code, want) {
            wrong += &format!("{body}\n  want  {code} {want}\n  found {found_code} {found}\n");
        }
    }
    for (code, text, want) in TEXTS {
        let (found_code, found) = fault(text);
        if (found_code.as_str(), found.as_str()) != (code, want) {
            wrong += &format!("{text}\n  want  {code} {want}\n  found {found_code} {found}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn a_fault_is_shown_with_its_line_and_what_to_write() {
    let found = read("kernel @k(%n: i32) {\n  %a = ad %n, 1 : i32\n}\n", "k.tir").unwrap_err();
    insta::assert_snapshot!(found, @r"
    error[TW-E0230]: there is no op `ad`
     --> k.tir:2:8
      |
    2 |   %a = ad %n, 1 : i32
      |        ^^
      |
      = next: compare with what `tilewright ir` prints for a shipped kernel
      = more: tilewright explain TW-E0230
    ");
}
