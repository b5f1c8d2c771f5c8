//! Texts for the reader of `.tir`, the verifier and the printer.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| tilewright_fuzz::take_tir(bytes));
