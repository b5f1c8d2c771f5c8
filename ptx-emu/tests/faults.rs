//! Each fault, as it is told: the line, the statement, the block and thread, and the other party of a race.

mod common;

use common::{Arg, fault, kernel, run_text, run_with};
use tilewright_ptx_emu::{Limits, Memory, Module};

fn words(n: usize) -> Arg {
    Arg::Words((0..n as u32).collect())
}
/// Of one block of 64 threads on a buffer of 64 words.
fn of(body: &str) -> String {
    fault(&kernel(64, 1, body), 1, &mut [words(64)])
}
fn fine(body: &str) {
    if let Err(fault) = run_text(&kernel(64, 1, body), 1, &mut [words(64)]) {
        panic!("{body}\n{fault}");
    }
}
/// `%d1`: the thread's word of the buffer. `%r2`: its word of the tile.
const PLACES: &str = "mad.wide.u32 %d1, %r0, 4, %d0;\nmov.u32 %r1, tile;\nmad.lo.u32 %r2, %r0, 4, %r1;\n";

#[test]
fn an_instruction_nobody_knows_is_told_with_its_line() {
    let unknown = |inst: &str| Module::parse(&kernel(32, 0, inst)).expect_err(inst).to_string();
    assert_eq!(
        unknown("wgmma.fence.sync.aligned;"),
        "the emulator does not know `wgmma`\n  line 8: wgmma.fence.sync.aligned"
    );
    assert!(unknown("add.rz.f32 %r1, %r1, %r1;").contains("know `add.rz` of this type\n  line 8"));
    assert!(unknown("ld.global.L9::odd.u32 %r1, [%d0];").contains("the modifier `.L9::odd`"));
    assert!(unknown("add.u32 %r1, %r2, %q7;").contains("the operand `%q7`"));
    assert!(unknown("add.u32 %r1, %r2, %r3, %r4;").contains("the operand `%r4`"));
    assert!(unknown("bra $NOWHERE;").contains("the label `$NOWHERE`"));
    assert!(unknown("ld.global.v2.u32 %r1, [%d0];").contains("a vector of 2 with 1 registers"));
    assert!(unknown("mov.u32 %r1, %smid;").contains("the operand `%smid`"));
    assert!(unknown("shfl.bfly.b32 %r1, %r2, 1, 31;").contains("without `.sync`"));
}
#[test]
fn accesses_outside_memory() {
    let outside = of("add.u64 %d1, %d0, 256;\nld.global.u32 %r1, [%d1];");
    assert_eq!(
        outside,
        "4 bytes at 0x100000100 are outside global memory\n  line 10: ld.global.u32 %r1, [%d1]\n  block 0, thread 0"
    );
    assert!(of(&format!("{PLACES}st.global.u32 [%d1+4], %r0;")).ends_with("block 0, thread 63"));
    assert!(
        of("mov.u32 %r1, tile;\nst.shared.u32 [%r1+1024], %r0;").contains("4 bytes at 0x800 are outside shared memory")
    );
    // A null pointer, in shared memory too.
    assert!(of("mov.u32 %r1, 0;\nst.shared.u32 [%r1], %r0;").contains("at 0x0 are outside shared memory"));
    assert!(of("mov.u64 %d1, 0;\nst.global.u32 [%d1], %r0;").contains("at 0x0 are outside global memory"));
    assert!(of("ld.param.u64 %d1, [a0+8];").contains("8 bytes at 0x8 are outside parameter memory"));
    assert!(
        of("mov.u64 %d1, tile;\nadd.u64 %d1, %d1, 0x7F0000000000;\nst.u32 [%d1+1024], %r0;").contains("outside shared")
    );
}
#[test]
fn an_access_is_aligned_to_all_that_it_moves() {
    let misaligned = of("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d0+8];");
    assert!(
        misaligned.starts_with("16 bytes of global memory at 0x100000008, which is not a multiple of 16\n  line 9")
    );
    assert!(of("mov.u32 %r1, tile;\nst.shared.u32 [%r1+2], %r0;").contains("4 bytes of shared memory at 0x402, which"));
}
#[test]
fn what_nobody_wrote_is_not_read() {
    let unwritten = fault(&kernel(32, 1, "ld.global.u32 %r1, [%d0];"), 1, &mut [Arg::Unwritten(64)]);
    assert!(unwritten.starts_with("nobody wrote the 4 bytes of global memory at 0x100000000"), "{unwritten}");
    let half = "mov.u32 %r1, tile;\nmov.b16 %h0, 7;\nst.shared.b16 [%r1], %h0;\nld.shared.b32 %r2, [%r1];";
    let half = fault(&kernel(1, 1, half), 1, &mut [words(1)]);
    assert!(half.contains("nobody wrote the 4 bytes of shared memory"), "{half}");
}
#[test]
fn a_register_nobody_wrote_decides_nothing() {
    let undefined = "what %r5 holds comes from a register that nobody wrote\n  line 10: st.global.u32 [%d0], %r5";
    assert!(of("add.u32 %r5, %r4, 1;\nst.global.u32 [%d0], %r5;").starts_with(undefined));
    assert!(of("@%p0 bra $L;\n$L:").contains("what %p0 holds"));
    assert!(of("setp.eq.u32 %p1, %r9, 0;\n@%p1 ret;").contains("what %p1 holds"));
    assert!(of("ld.global.u32 %r1, [%d7];").contains("what %d7 holds"));
    // Thread 33 alone skips the load.
    let one = format!("{PLACES}setp.ne.u32 %p1, %r0, 33;\n@%p1 ld.global.u32 %r3, [%d1];\nst.global.u32 [%d1], %r3;");
    assert!(of(&one).ends_with("block 0, thread 33"), "{}", of(&one));
    // What is picked is defined, and what guards it is.
    fine(&format!(
        "{PLACES}setp.lt.u32 %p1, %r0, 9;\n@%p1 ld.global.u32 %r3, [%d1];\nselp.u32 %r4, %r3, 0, %p1;\nst.global.u32 [%d1], %r4;"
    ));
    fine(&format!(
        "{PLACES}setp.lt.u32 %p1, %r0, 9;\n@%p1 ld.global.u32 %r3, [%d1];\nadd.u32 %r3, %r3, 1;\n@%p1 st.global.u32 [%d1], %r3;"
    ));
}
#[test]
fn shared_memory_needs_a_barrier_between_threads() {
    let exchange = |between: &str| {
        format!(
            "{PLACES}st.shared.u32 [%r2], %r0;\n{between}xor.b32 %r3, %r0, 32;\nmad.lo.u32 %r4, %r3, 4, %r1;\nld.shared.u32 %r5, [%r4];"
        )
    };
    fine(&exchange("bar.sync 0;\n"));
    let race = of(&exchange(""));
    // Without the barrier warp 0 finds what nobody wrote; warp 1, that warp 0 is not ordered before it.
    assert!(race.contains("nobody wrote") || race.contains("nothing that orders"), "{race}");
    let after = format!("{}\nst.shared.u32 [%r2], %r3;", exchange("bar.sync 0;\n"));
    assert_eq!(
        of(&after),
        "shared memory at 0x400 is also touched, with nothing that orders the two, by block 0, thread 0 at line 17: \
         st.shared.u32 [%r2], %r3\n  line 16: ld.shared.u32 %r5, [%r4]\n  block 0, thread 32"
    );
    fine(&format!("{}\nbar.sync 0;\nst.shared.u32 [%r2], %r3;", exchange("bar.sync 0;\n")));
}
#[test]
fn a_warp_orders_its_lanes_by_its_own_barrier() {
    let exchange = |between: &str| {
        format!(
            "{PLACES}st.shared.u32 [%r2], %r0;\n{between}xor.b32 %r3, %r0, 1;\nmad.lo.u32 %r4, %r3, 4, %r1;\nld.shared.u32 %r5, [%r4];"
        )
    };
    fine(&exchange("bar.warp.sync -1;\n"));
    assert!(of(&exchange("")).contains("nothing that orders the two, by block 0, thread 1 at line 12: st.shared.u32"));
    // A shuffle orders no memory.
    assert!(of(&exchange("shfl.sync.idx.b32 %r6, %r0, 0, 31, -1;\n")).contains("nothing that orders"));
    // Nor does the warp's barrier order other warps.
    let far = format!(
        "{PLACES}st.shared.u32 [%r2], %r0;\nbar.warp.sync -1;\nxor.b32 %r3, %r0, 32;\nmad.lo.u32 %r4, %r3, 4, %r1;\nst.shared.u32 [%r4], %r0;"
    );
    assert!(of(&far).contains("nothing that orders"));
}
#[test]
fn bytes_of_a_word_belong_to_different_threads() {
    fine(
        "mov.u32 %r1, tile;\nadd.u32 %r1, %r1, %r0;\ncvt.u16.u32 %h0, %r0;\nst.shared.u8 [%r1], %h0;\nld.shared.u8 %h1, [%r1];",
    );
    let bytes = "cvt.u64.u32 %d1, %r0;\nadd.u64 %d1, %d1, %d0;\ncvt.u16.u32 %h0, %r0;\nst.global.u8 [%d1], %h0;\n";
    fine(bytes);
    let next =
        format!("{bytes}xor.b32 %r1, %r0, 1;\ncvt.u64.u32 %d2, %r1;\nadd.u64 %d2, %d2, %d0;\nld.global.u8 %h1, [%d2];");
    assert!(of(&next).starts_with("global memory at 0x100000001 is also touched"), "{}", of(&next));
}
#[test]
fn global_memory_of_a_block_needs_a_barrier_too() {
    let exchange = |between: &str| {
        format!(
            "{PLACES}st.global.u32 [%d1], %r0;\n{between}xor.b32 %r3, %r0, 32;\nmad.wide.u32 %d2, %r3, 4, %d0;\nld.global.u32 %r5, [%d2];"
        )
    };
    fine(&exchange("bar.sync 0;\n"));
    assert!(of(&exchange("")).starts_with("global memory at 0x100000080 is also touched, with nothing that orders the two, by block 0, thread 0 at line 15"));
    // A fence orders one thread's accesses, not two threads.
    assert!(of(&exchange("fence.acq_rel.gpu;\n")).contains("nothing that orders"));
    // All threads store one value by one instruction.
    fine("mov.u32 %r1, 5;\nst.global.u32 [%d0], %r1;");
    assert!(of("st.global.u32 [%d0], %r0;").contains("nothing that orders"));
    // What is read as read-only is written by nobody, ordered or not.
    let read_only = of(&format!("{PLACES}ld.global.nc.u32 %r3, [%d1];\nbar.sync 0;\nst.global.u32 [%d1], %r0;"));
    assert!(
        read_only.contains("is both written and read as read-only (.nc), here and by block 0, thread 0 at line 12"),
        "{read_only}"
    );
}
#[test]
fn blocks_are_ordered_by_nothing() {
    let two = |body: &str| {
        run_text(&kernel(32, 1, &format!("mov.u32 %r6, %ctaid.x;\n{body}")), 2, &mut [words(64)]).map(|_| ())
    };
    let race = two("st.global.u32 [%d0], %r6;").expect_err("two values").to_string();
    assert_eq!(
        race,
        "global memory at 0x100000000 is also touched, with nothing that orders the two, by block 0, thread 31 at line 10: \
         st.global.u32 [%d0], %r6\n  line 10: st.global.u32 [%d0], %r6\n  block 1, thread 31"
    );
    // The same value by the same instruction is what a replicated program stores.
    two("mov.u32 %r1, 5;\nst.global.u32 [%d0], %r1;").expect("one value");
    let reads = "setp.eq.u32 %p0, %r6, 1;\n@%p0 ld.global.u32 %r1, [%d0];\n@!%p0 st.global.u32 [%d0], %r6;";
    two(reads).expect_err("one writes what the other reads");
    two("red.global.add.u32 [%d0], 1;").expect("atomics are ordered");
    two("red.global.add.u32 [%d0], 1;\nld.global.u32 %r1, [%d0];").expect_err("a plain read among atomics");
    two("red.global.add.u32 [%d0], 1;\nld.relaxed.gpu.global.u32 %r1, [%d0];").expect("a relaxed one");
    // An exchange of a word that changes one byte leaves the others to their owners.
    let cas = "setp.eq.u32 %p0, %r6, 1;\n@%p0 ld.global.u8 %r1, [%d0+1];\n@!%p0 atom.global.cas.b32 %r1, [%d0], 0, 7;";
    two(cas).expect("another byte");
    two(&cas.replace("+1", "")).expect_err("the byte that is exchanged");
    let own = "shl.b32 %r1, %r6, 7;\nmad.lo.u32 %r1, %r0, 4, %r1;\ncvt.u64.u32 %d1, %r1;\nadd.u64 %d1, %d1, %d0;\nst.global.u32 [%d1], %r0;";
    two(own).expect("each its own");
    // Bytes of one word are different places.
    let bytes = "cvt.u64.u32 %d1, %r6;\nadd.u64 %d1, %d1, %d0;\nmov.u16 %h1, 3;\nst.global.u8 [%d1], %h1;";
    two(bytes).expect("each its own byte");
}
#[test]
fn lanes_that_a_shuffle_names_have_to_come() {
    let half = "setp.lt.u32 %p0, %r0, 16;\n";
    let missing = of(&format!("{half}@%p0 shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;"));
    assert!(
        missing.starts_with("not all lanes of the warp are here: lanes 0xffff0000 never come\n  line 10"),
        "{missing}"
    );
    fine(
        "setp.lt.u32 %p0, %r0, 32;\nand.b32 %r2, %r0, 31;\nsetp.lt.u32 %p1, %r2, 16;\n@!%p1 bra $L;\nshfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffff;\n$L:",
    );
    let wrong = of("and.b32 %r2, %r0, 31;\nshfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffff;");
    assert!(wrong.starts_with("lane 16 is here, but the mask 0x0000ffff does not name it\n  line 10"), "{wrong}");
    // What a lane outside the mask gives is not defined.
    let outside = "and.b32 %r2, %r0, 31;\nsetp.ge.u32 %p0, %r2, 16;\n@%p0 bra $L;\nshfl.sync.down.b32 %r1, %r0, 8, 31, 0xffff;\nst.global.u32 [%d0], %r1;\n$L:";
    assert!(of(outside).contains("what %r1 holds"), "{}", of(outside));
}
#[test]
fn barriers_are_reached_by_all_of_a_warp_and_of_the_block() {
    let diverged = of("and.b32 %r1, %r0, 1;\nsetp.eq.u32 %p0, %r1, 0;\n@%p0 bra $L;\nbar.sync 0;\n$L:");
    assert!(
        diverged.starts_with("not all lanes of the warp are here: lanes 0x55555555 never come\n  line 12: bar.sync 0"),
        "{diverged}"
    );
    let deadlock = of("setp.ge.u32 %p0, %r0, 32;\n@%p0 bra $L;\nbar.sync 0;\nbra $END;\n$L:\nbar.sync 1;\n$END:");
    assert_eq!(
        deadlock,
        "64 of 64 threads wait at a barrier that the others never reach (warp 0 waits at barrier 0, line 11; warp 1 waits at \
         barrier 1, line 14)\n  line 11: bar.sync 0\n  block 0, thread 0"
    );
    let count = of("setp.ge.u32 %p0, %r0, 32;\n@%p0 bar.sync 2, 64;\n@!%p0 bar.sync 2, 96;\n");
    assert!(count.starts_with("barrier 2 is for 96 threads elsewhere and for 64 here\n  line 10"), "{count}");
    fine("setp.ge.u32 %p0, %r0, 32;\n@%p0 bra $L;\nbar.arrive 3, 64;\nbra $END;\n$L:\nbar.sync 3, 64;\n$END:");
    // Warps that have ended are not waited for.
    fine("setp.ge.u32 %p0, %r0, 32;\n@%p0 ret;\nbar.sync 0;");
}
#[test]
fn an_arrival_orders_what_was_before_it_and_no_more() {
    let pass = |after: &str| {
        format!(
            "{PLACES}setp.ge.u32 %p0, %r0, 32;\n@%p0 bra $GET;\nst.shared.u32 [%r2], %r0;\nbar.arrive 1, 64;\n{after}bra $END;\n\
             $GET:\nbar.sync 1, 64;\nld.shared.u32 %r5, [%r2-128];\n$END:"
        )
    };
    fine(&pass(""));
    assert!(of(&pass("st.shared.u32 [%r2], %r1;\n")).contains("nothing that orders"));
}
#[test]
fn a_run_ends() {
    let limits = Limits { steps: 100_000, ..Limits::default() };
    let endless =
        run_with(&kernel(32, 1, "$L:\nbra $L;"), 1, &mut [words(1)], limits).expect_err("endless").to_string();
    assert_eq!(endless, "more than 100000 instructions\n  line 10: bra $L\n  block 0, thread 0");
    let spin = "$L:\nld.acquire.gpu.global.u32 %r1, [%d0];\nsetp.eq.u32 %p0, %r1, 0;\n@%p0 bra $L;";
    let spin = fault(&kernel(32, 1, spin), 2, &mut [Arg::Words(vec![0])]);
    assert!(
        spin.starts_with("every thread that is left waits for a value that nobody writes\n  line 10: ld.acquire"),
        "{spin}"
    );
    assert!(of("trap;").starts_with("trap\n  line 9: trap"));
    assert_eq!(
        Memory::new(100).alloc(101).expect_err("too much").to_string(),
        "101 bytes more than the limit of 100 bytes"
    );
    let many =
        run_text(&kernel(32, 1, ".shared .b8 more[300000];"), 1, &mut [words(1)]).expect_err("too much").to_string();
    assert_eq!(many, "301024 bytes more than the limit of 232448 bytes");
}
#[test]
fn a_launch_fits_its_kernel() {
    let text = kernel(64, 1, "");
    assert_eq!(fault(&text, 1, &mut []), "the parameters have 0 bytes, the kernel has 8");
    let module = Module::parse(&text).expect("a kernel");
    assert_eq!(module.entry("other").expect_err("another name").to_string(), "no kernel is called other");
}
#[test]
fn copies_are_waited_for() {
    let copy = |wait: &str| {
        format!(
            "{PLACES}cp.async.ca.shared.global [%r2], [%d1], 4;\ncp.async.commit_group;\n{wait}ld.shared.u32 %r5, [%r2];\nst.global.u32 [%d1], %r5;"
        )
    };
    fine(&copy("cp.async.wait_group 0;\n"));
    fine(&copy("cp.async.wait_all;\n"));
    for wait in ["", "bar.sync 0;\n", "cp.async.wait_group 1;\n"] {
        let early = of(&copy(wait));
        assert!(early.starts_with("memory at 0x400 belongs to an asynchronous copy that nobody waited for, of block 0, thread 0 at line 12: cp.async"), "{early}");
    }
    // A wait is a thread's own; others need a barrier besides.
    let other = |between: &str| {
        format!(
            "{PLACES}cp.async.ca.shared.global [%r2], [%d1], 4;\ncp.async.wait_all;\n{between}ld.shared.u32 %r5, [%r2+4];\n"
        )
    };
    assert!(
        of(&other("")).contains("nothing that orders the two") || of(&other("")).contains("nobody waited"),
        "{}",
        of(&other(""))
    );
    // The source belongs to the copy as well.
    let source = of(&format!("{PLACES}cp.async.ca.shared.global [%r2], [%d1], 4;\nst.global.u32 [%d1], %r0;"));
    assert!(source.contains("asynchronous copy that nobody waited for"), "{source}");
    assert!(of(&format!("{PLACES}cp.async.ca.shared.global [%r2], [%d1+2], 4;")).contains("not a multiple of 4"));
}
