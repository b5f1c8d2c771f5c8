//! Random modules and texts: what is built reads back and verifies; what is broken is refused without panic.

mod common;

use common::module;
use proptest::prelude::*;
use std::collections::BTreeSet;
use tilewright_core::ir::loc::Place;
use tilewright_core::ir::text::{parse, print, print_with_locs, read};
use tilewright_core::ir::{Module, Op, verify};

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..800)
}
fn places(m: &Module) -> Vec<Vec<Place>> {
    let mut out = Vec::new();
    m.each_op(&mut |op| out.push(m.locs.chain(m.op(op).loc)));
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_module_verifies_and_reads_as_it_prints(bytes in bytes()) {
        let m = module(&bytes);
        prop_assert!(verify(&m).is_ok(), "{}\n{}", verify(&m).unwrap_err(), print(&m));
        let text = print(&m);
        let again = parse(&text, "t.tir");
        prop_assert!(again.as_ref().is_ok_and(|n| *n == m), "{again:?}\n{text}");
        prop_assert_eq!(print(&again.unwrap()), text);
    }

    #[test]
    fn locations_read_as_they_print(bytes in bytes()) {
        let m = module(&bytes);
        let text = print_with_locs(&m);
        let again = parse(&text, "t.tir").map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert!(again == m);
        prop_assert_eq!(places(&again), places(&m));
        prop_assert_eq!(print_with_locs(&again), text);
    }

    #[test]
    fn a_damaged_text_is_refused_or_read_without_panic(bytes in bytes(), damage in prop::collection::vec(any::<(u16, u16, u8)>(), 1..4)) {
        let mut text = print_with_locs(&module(&bytes));
        for (at, other, how) in damage {
            text = damaged(&text, at.into(), other.into(), how);
        }
        if let Ok(m) = read(&text, "t.tir") {
            prop_assert!(parse(&print(&m), "t.tir").is_ok_and(|n| n == m), "{}", print(&m));
        }
    }
}

const TOKENS: [&str; 48] = [
    "%n",
    "%a",
    "%a'2",
    "%\"b c\"",
    "%x",
    "=",
    "add",
    "load",
    "store",
    "for",
    "while",
    "if",
    "else",
    "composite",
    "yield",
    "reduce_with",
    "carry",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ":",
    ",",
    "..",
    "in",
    "axis",
    "i32",
    "f16",
    "tile",
    "view",
    "8x64xf16",
    "0",
    "-1",
    "0x7c00:f16",
    "1e40:f32",
    "true",
    "loc",
    "loc(k.rs:1:2)",
    "\"text\"",
    "keep",
    "limit",
    "step",
    "\n",
    "?",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_soup_of_tokens_does_not_panic(soup in prop::collection::vec(prop::sample::select(&TOKENS[..]), 0..60), any in any::<String>()) {
        let _ = read(&format!("kernel @k(%n: i32, %x: view<?xf16>) {{\n{}\n}}\n", soup.join(" ")), "t.tir");
        let _ = read(&any, "t.tir");
    }
}

/// The text with a byte changed, two tokens exchanged, a token dropped or doubled, or its end cut off.
fn damaged(text: &str, at: usize, other: usize, how: u8) -> String {
    const BYTES: &[u8] = b"{}()[]<>:,.=%@'\"\\/-0x9e?\n\r\x00\xff\xc3 lw";
    let mut tokens: Vec<&str> = text.split_inclusive([' ', '\n', ',', ':']).collect();
    if text.is_empty() {
        return String::new();
    }
    let (i, j) = (at % tokens.len(), other % tokens.len());
    match how % 5 {
        0 => {
            let mut bytes = text.as_bytes().to_vec();
            let i = at % bytes.len();
            bytes[i] = BYTES[other % BYTES.len()];
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        1 => tokens.swap(i, j),
        2 => {
            tokens.remove(i);
        }
        3 => tokens.insert(i, tokens[j]),
        _ => tokens.truncate(i),
    }
    tokens.concat()
}

#[test]
fn the_generator_makes_every_op() {
    let mut open: BTreeSet<&str> = Op::ROWS.iter().map(|row| row.mnemonic).collect();
    let mut state = 1u64;
    for _ in 0..400 {
        let bytes: Vec<u8> = (0..800)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 56) as u8
            })
            .collect();
        let m = module(&bytes);
        m.each_op(&mut |op| {
            open.remove(m.op(op).op.mnemonic());
        });
    }
    assert!(open.is_empty(), "{open:?}");
}
