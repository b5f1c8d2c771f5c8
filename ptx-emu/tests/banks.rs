//! Wavefronts of accesses to shared memory, and those that there are because lanes meet in a bank.

mod common;

use common::{Arg, kernel, run_text};
use tilewright_ptx_emu::Banks;

/// Of one store by each of 32 threads, `step` bytes apart, 1024 bytes being there.
fn stores(ty: &str, step: u32) -> Banks {
    let value = if ty == "v4.b32" { "{%r1, %r1, %r1, %r1}" } else { "%r1" };
    let body = format!(
        "mov.u32 %r1, 7;\nmul.lo.u32 %r2, %r0, {step};\nand.b32 %r2, %r2, 1023;\nmov.u32 %r3, tile;\n\
         add.u32 %r3, %r3, %r2;\nst.shared.{ty} [%r3], {value};"
    );
    let ran = run_text(&kernel(32, 0, &body), 1, &mut []).unwrap_or_else(|fault| panic!("{body}\n{fault}"));
    ran.banks
}
fn took(ty: &str, step: u32) -> (u64, u64) {
    let banks = stores(ty, step);
    (banks.wavefronts, banks.extra)
}

#[test]
fn a_bank_gives_or_takes_one_word_a_wavefront() {
    assert_eq!(took("b32", 4), (1, 0), "neighbours");
    assert_eq!(took("b32", 8), (2, 1), "every other word");
    assert_eq!(took("b32", 0), (1, 0), "one word for all");
    assert_eq!(took("v4.b32", 16), (4, 0), "eight lanes a wavefront");
    assert_eq!(took("v4.b32", 32), (8, 4), "every other 16 bytes");
}
#[test]
fn the_first_line_where_lanes_meet_is_told() {
    assert_eq!(stores("b32", 4).line, None);
    let line = stores("b32", 8).line.expect("lanes meet") as usize;
    let text = kernel(32, 0, "");
    assert!(line > text.lines().count() - 3, "{line}");
}
#[test]
fn lanes_that_do_not_take_part_and_other_memory_do_not_count() {
    let body = "mov.u32 %r1, 7;\nmul.lo.u32 %r2, %r0, 8;\nmov.u32 %r3, tile;\nadd.u32 %r3, %r3, %r2;\n\
                setp.lt.u32 %p0, %r0, 16;\n@%p0 st.shared.b32 [%r3], %r1;\nst.global.b32 [%d0], %r1;";
    let mut args = [Arg::Words(vec![0])];
    let ran = run_text(&kernel(32, 1, body), 1, &mut args).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!((ran.banks.wavefronts, ran.banks.extra), (1, 0));
}
