//! Random modules and texts: what is built reads back and verifies; what is broken is refused without panic.

use proptest::prelude::*;
use tilewright_core::ir::loc::Place;
use tilewright_core::ir::text::{parse, print, print_with_locs, read};
use tilewright_core::ir::{Module, verify};
use tilewright_test_random::{Purpose, Source, TIR_WORDS, module};

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
        let m = module(&bytes, Purpose::Reading);
        prop_assert!(verify(&m).is_ok(), "{}\n{}", verify(&m).unwrap_err(), print(&m));
        let text = print(&m);
        let again = parse(&text, "t.tir");
        prop_assert!(again.as_ref().is_ok_and(|n| *n == m), "{again:?}\n{text}");
        prop_assert_eq!(print(&again.unwrap()), text);
    }

    #[test]
    fn locations_read_as_they_print(bytes in bytes()) {
        let m = module(&bytes, Purpose::Reading);
        let text = print_with_locs(&m);
        let again = parse(&text, "t.tir").map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert!(again == m);
        prop_assert_eq!(places(&again), places(&m));
        prop_assert_eq!(print_with_locs(&again), text);
    }

    #[test]
    fn a_damaged_text_is_refused_or_read_without_panic(bytes in bytes(), choices in bytes()) {
        let text = Source::bytes(&choices).damaged(&print_with_locs(&module(&bytes, Purpose::Reading)), &TIR_WORDS);
        if let Ok(m) = read(&text, "t.tir") {
            prop_assert!(parse(&print(&m), "t.tir").is_ok_and(|n| n == m), "{}", print(&m));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_soup_of_tokens_does_not_panic(soup in prop::collection::vec(prop::sample::select(&TIR_WORDS[..]), 0..60), any in any::<String>()) {
        let _ = read(&format!("kernel @k(%n: i32, %x: view<?xf16>) {{\n{}\n}}\n", soup.join(" ")), "t.tir");
        let _ = read(&any, "t.tir");
    }
}
