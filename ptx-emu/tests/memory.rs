//! Kinds of memory and of accesses: vectors, narrow values, variables, generic addresses, atomics, shuffles by segments.

mod common;

use common::{Arg, kernel, run_text};
use tilewright_ptx_emu::{Launch, Limits, Memory, Module, run};

/// The buffer's words after one block of 32 threads.
fn after(body: &str, words: Vec<u32>) -> Vec<u32> {
    let mut args = [Arg::Words(words)];
    run_text(&kernel(32, 1, body), 1, &mut args).unwrap_or_else(|fault| panic!("{body}\n{fault}"));
    let [Arg::Words(words)] = args else { panic!("a buffer stays one") };
    words
}
const FIRST: &str = "setp.eq.u32 %p0, %r0, 0;\n";

#[test]
fn vectors_and_narrow_values() {
    let eight = "@%p0 ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d0];\n\
                 @%p0 st.global.v8.b32 [%d0+32], {%r8, %r7, %r6, %r5, %r4, %r3, %r2, %r1};";
    let words = after(&format!("{FIRST}{eight}"), (0..16).collect());
    assert_eq!(words[8..], [7, 6, 5, 4, 3, 2, 1, 0]);
    let narrow = "@%p0 ld.global.s8 %r1, [%d0];\n@%p0 ld.global.u8 %r2, [%d0];\n@%p0 ld.global.s16 %h1, [%d0];\n\
                  @%p0 cvt.s32.s16 %r3, %h1;\n@%p0 st.global.v2.u32 [%d0+8], {%r1, %r2};\n@%p0 st.global.u32 [%d0+16], %r3;";
    assert_eq!(after(&format!("{FIRST}{narrow}"), vec![0x8090, 0, 0, 0, 0])[2..], [0xFFFF_FF90, 0x90, 0xFFFF_8090]);
    let halves =
        "@%p0 ld.global.v4.b16 {%h0, %h1, %h2, %h3}, [%d0];\n@%p0 st.global.v4.b16 [%d0+8], {%h3, %h2, %h1, %h0};";
    assert_eq!(
        after(&format!("{FIRST}{halves}"), vec![0x0002_0001, 0x0004_0003, 0, 0])[2..],
        [0x0003_0004, 0x0001_0002]
    );
}
#[test]
fn variables_of_a_module_keep_what_they_hold() {
    let text = ".version 7.8\n.target sm_80\n.address_size 64\n.const .align 4 .u32 table[3] = {5, 6, 0x7};\n\
                .global .align 8 .u32 count = 40;\n\
                .visible .entry k(.param .u64 out) .maxntid 64, 1, 1 {\n.reg .b32 %r<6>; .reg .b64 %d<4>;\n\
                { .reg .pred q; mov.u64 %d1, count; }\nld.param.u64 %d0, [out]; /* two\nlines */ mov.u32 %r0, %ntid.x;\n\
                ld.const.u32 %r1, [table+4];\natom.global.add.u32 %r2, [%d1], 1;\nadd.u32 %r2, %r2, %r1;\n\
                st.global.v2.u32 [%d0], {%r2, %r0};\nret;\n}\n.visible .entry other() .reqntid 1 { ret; }\n";
    let module = Module::parse(text).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(module.entries().iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["k", "other"]);
    let mut memory = Memory::new(1 << 20);
    let out = memory.alloc(8).expect("room");
    for count in [40, 41, 42u32] {
        let launch = Launch { blocks: 1, threads: Some(1), shared_bytes: 0, params: &out.to_le_bytes() };
        run(&module.entries()[0], &launch, &mut memory, Limits::default()).unwrap_or_else(|fault| panic!("{fault}"));
        let mut bytes = [0; 8];
        memory.read(out, &mut bytes).expect("its own");
        assert_eq!(bytes, [[(count + 6) as u8, 0, 0, 0], [1, 0, 0, 0]].concat()[..]);
    }
}
#[test]
fn a_generic_address_is_of_global_or_of_shared_memory() {
    let body = "mov.u64 %d1, tile;\ncvta.shared.u64 %d1, %d1;\nmad.wide.u32 %d2, %r0, 4, %d1;\nst.u32 [%d2], %r0;\n\
                cvta.to.shared.u64 %d3, %d2;\ncvt.u32.u64 %r1, %d3;\nld.shared.u32 %r2, [%r1];\n\
                cvta.to.global.u64 %d4, %d0;\nmad.wide.u32 %d4, %r0, 4, %d4;\nst.u32 [%d4], %r2;";
    assert_eq!(after(body, vec![0; 32]), (0..32).collect::<Vec<u32>>());
}
#[test]
fn atomics_give_what_was_there() {
    let of = |inst: &str, start: u32| {
        after(&format!("{FIRST}@%p0 {inst};\n@%p0 st.global.u32 [%d0+4], %r1;"), vec![start, 0])
    };
    assert_eq!(of("atom.global.inc.u32 %r1, [%d0], 7", 7), [0, 7]);
    assert_eq!(of("atom.global.dec.u32 %r1, [%d0], 7", 0), [7, 0]);
    assert_eq!(of("atom.global.cas.b32 %r1, [%d0], 3, 9", 3), [9, 3]);
    assert_eq!(of("atom.global.cas.b32 %r1, [%d0], 3, 9", 4), [4, 4]);
    assert_eq!(of("atom.global.min.s32 %r1, [%d0], -1", 4), [u32::MAX, 4]);
    assert_eq!(of("atom.global.max.u32 %r1, [%d0], 5", 4), [5, 4]);
    assert_eq!(of("atom.acq_rel.gpu.global.exch.b32 %r1, [%d0], 5", 4), [5, 4]);
    let pair = after("mov.b32 %r1, 0x3f803f80;\nred.global.add.noftz.bf16x2 [%d0], %r1;", vec![0]);
    assert_eq!(pair, [0x4200_4200]);
    let vector = after("mov.b32 %r1, 0x3f800000;\nred.global.add.v2.f32 [%d0], {%r1, %r1};", vec![0, 0]);
    assert_eq!(vector, [32f32.to_bits(); 2]);
    // In shared memory, after one thread has made it zero.
    let shared = format!(
        "{FIRST}mov.u32 %r1, tile;\nmov.u32 %r3, 0;\n@%p0 st.shared.u32 [%r1], %r3;\nbar.sync 0;\nred.shared.add.u32 [%r1], %r0;\n\
         bar.sync 0;\nld.shared.u32 %r2, [%r1];\n@%p0 st.global.u32 [%d0], %r2;"
    );
    assert_eq!(after(&shared, vec![0]), [496]);
}
#[test]
fn shuffles_stay_in_their_segment() {
    let of =
        |inst: &str| after(&format!("{inst}\nmad.wide.u32 %d1, %r0, 4, %d0;\nst.global.u32 [%d1], %r1;"), vec![0; 32]);
    assert_eq!(of("shfl.sync.up.b32 %r1, %r0, 1, 0x1800, -1;")[..10], [0, 0, 1, 2, 3, 4, 5, 6, 8, 8]);
    assert_eq!(of("shfl.sync.down.b32 %r1|%p1, %r0, 2, 31, -1;")[29..], [31, 30, 31]);
    assert_eq!(of("shfl.sync.bfly.b32 %r1, %r0, 3, 31, -1;")[..4], [3, 2, 1, 0]);
    assert_eq!(of("shfl.sync.idx.b32 %r1, %r0, 5, 0x181f, -1;")[7..10], [5, 13, 13]);
    assert_eq!(of("elect.sync _|%p1, -1;\nselp.u32 %r1, 1, 0, %p1;")[..2], [1, 0]);
    assert_eq!(of("activemask.b32 %r1;")[0], u32::MAX);
    assert_eq!(of("mov.u32 %r1, %lanemask_le;")[..3], [1, 3, 7]);
    // Clocks go on.
    let clock = "mov.u64 %d2, %globaltimer;\nnanosleep.u32 20;\nmov.u64 %d3, %clock64;\nsetp.gt.u64 %p1, %d3, %d2;\nselp.u32 %r1, 1, 0, %p1;";
    assert_eq!(of(clock)[3], 1);
}
