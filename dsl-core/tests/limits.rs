//! Untrusted text: limits hold, and size costs linear time. A quadratic step would make these tests run for minutes.

use std::fmt::Write;
use tilewright_core::ir::text::{parse, print_with_locs, read};
use tilewright_core::ir::{MAX_NESTING, MAX_OPS};

fn kernel(body: &str) -> String {
    format!("kernel @k(%n: i32) {{\n{body}}}\n")
}
fn code(text: &str) -> &'static str {
    parse(text, "t.tir").err().map_or("accepted", |f| f.code)
}

#[test]
fn a_million_ops_and_one_are_refused() {
    assert_eq!(code(&kernel(&"keep %n ".repeat(MAX_OPS + 1))), "TW-E0232");
}

#[test]
fn a_long_line_takes_linear_time() {
    let m = read(&kernel(&"keep %n ".repeat(100_000)), "t.tir").unwrap();
    assert_eq!(print_with_locs(&m).lines().count(), 100_002);
}

#[test]
fn regions_nest_to_the_limit_and_no_deeper() {
    let nested = |ifs: usize| kernel(&format!("{}{}", "if true {\n".repeat(ifs), "}\n".repeat(ifs)));
    assert!(read(&nested(MAX_NESTING - 1), "t.tir").is_ok());
    assert_eq!(code(&nested(MAX_NESTING)), "TW-E0232");
    assert_eq!(code(&nested(1_000_000)), "TW-E0232");
    assert_eq!(code(&kernel(&"while {\n".repeat(1_000_000))), "TW-E0232");
}

#[test]
fn long_names_lists_and_call_chains_take_linear_time() {
    let long = "x".repeat(1 << 20);
    let mut body =
        format!("%{long} = add %n, 1 : i32\n%\"{long} \" = add %{long}, 1 : i32\nprint \"{long}\"\n// {long}\n");
    // Many uses of one name, so that marks are counted.
    (2..20_000).for_each(|i| writeln!(body, "%q'{i} = add %n, 1 : i32").unwrap());
    let names = |c: char| (0..20_000).map(|i| format!("%{c}{i}")).collect::<Vec<_>>();
    let carry: Vec<String> = names('c').iter().map(|c| format!("{c} = %n")).collect();
    let (results, yields) = (names('a').join(", "), names('c').join(", "));
    writeln!(body, "{results} = for %i in 0..9 carry ({}) {{\nyield {yields}\n}}", carry.join(", ")).unwrap();
    writeln!(body, "keep %n loc(k.rs:1:1{})", " inlined at k.rs:2:2".repeat(20_000)).unwrap();
    let m = read(&kernel(&body), "t.tir").unwrap_or_else(|e| panic!("{}", e.0[0].message));
    assert!(parse(&print_with_locs(&m), "t.tir").is_ok_and(|n| n == m));
}

#[test]
fn messages_stay_short_whatever_the_text_holds() {
    let long = "x".repeat(1 << 20);
    for bad in [format!("%{long}"), format!("%\"{long}\""), long.clone(), "9".repeat(1 << 20), "8x".repeat(1 << 19)] {
        for line in [format!("keep {bad}"), format!("{bad} = add"), format!("%a = load %n[0] : tile<{bad}xf32>")] {
            let fault = parse(&kernel(&line), "t.tir").unwrap_err();
            assert!(fault.text.len() < 200, "{}", &fault.text[..200]);
        }
    }
}

#[test]
fn a_thousand_errors_are_told_and_no_more() {
    let body: String = (0..1_500).map(|i| format!("%{i} = exp %n : i32\n")).collect();
    assert_eq!(read(&kernel(&body), "t.tir").unwrap_err().0.len(), 1000);
}
