//! Kernels without a fault give the same in any order of warps, blocks and copies; with one planted, they are caught in any.

mod common;

use common::{Arg, kernel, run_with};
use tilewright_ptx_emu::{Fault, Limits, Schedule};

const RING: &str = include_str!("data/ring.ptx");
const MAILBOX: &str = include_str!("data/mailbox.ptx");

fn orders() -> impl Iterator<Item = Limits> {
    let random = (0..12).map(Schedule::Random);
    std::iter::once(Schedule::InOrder).chain(random).map(|schedule| Limits { schedule, ..Limits::default() })
}
fn without(text: &str, line: &str) -> String {
    with(text, line, "")
}
fn with(text: &str, line: &str, other: &str) -> String {
    assert!(text.contains(line), "no {line}");
    text.replace(line, other)
}

/// The sums of the ring, of four tiles that end 100 bytes early.
fn ring(text: &str, limits: Limits) -> Result<Vec<u32>, Fault> {
    let words: Vec<u32> = (0..512 - 25).map(|i| i * i % 97).collect();
    let bytes = words.len() as u32 * 4;
    let mut args = [Arg::Words(words), Arg::Words(vec![0; 32]), Arg::U32(4), Arg::U32(bytes)];
    run_with(text, 1, &mut args, limits)?;
    let [_, Arg::Words(sums), ..] = args else { panic!("a buffer stays one") };
    Ok(sums)
}
fn expected() -> Vec<u32> {
    let at = |i: usize| if i < 512 - 25 { (i * i % 97) as u32 } else { 0 };
    (0..32).map(|t| (0..4).flat_map(|tile| (0..4).map(move |j| tile * 128 + (t ^ 1) * 4 + j)).map(at).sum()).collect()
}
#[test]
fn a_ring_of_asynchronous_copies_sums_the_same_in_any_order() {
    for limits in orders() {
        assert_eq!(ring(RING, limits).unwrap_or_else(|fault| panic!("{limits:?} {fault}")), expected());
    }
}
#[test]
fn a_wait_a_barrier_or_a_commit_that_is_missing_is_caught_in_any_order() {
    let planted = [
        without(RING, "    cp.async.wait_group 1;\n"),
        with(RING, "cp.async.wait_group 1", "cp.async.wait_group 2"),
        without(RING, "    bar.warp.sync -1;\n"),
        without(RING, "    cp.async.commit_group;\n"),
        // The slot is filled before it is read.
        with(RING, "setp.eq.u32 %p2, %r9, 1536", "setp.eq.u32 %p2, %r9, 1024"),
    ];
    for text in planted {
        for limits in orders() {
            let told = ring(&text, limits).expect_err("a planted fault").to_string();
            assert!(
                told.contains("nobody waited for")
                    || told.contains("nothing that orders")
                    || told.contains("nobody wrote"),
                "{told}"
            );
        }
    }
}

/// What each block of seven has got.
fn mailbox(text: &str, limits: Limits) -> Result<Vec<u32>, Fault> {
    let mut args = [Arg::Unwritten(7 * 256), Arg::Words(vec![0; 7 * 32]), Arg::Words(vec![0; 7 * 64])];
    run_with(text, 7, &mut args, limits)?;
    let [.., Arg::Words(got)] = args else { panic!("a buffer stays one") };
    Ok(got)
}
#[test]
fn blocks_hand_each_other_words_in_any_order() {
    let expected: Vec<u32> = (0..7).flat_map(|block| (0..64).map(move |i| (block + 6) % 7 * 1000 + i)).collect();
    for limits in orders() {
        assert_eq!(mailbox(MAILBOX, limits).unwrap_or_else(|fault| panic!("{limits:?} {fault}")), expected);
    }
}
const RELEASE: &str = "@%p1 st.release.gpu.global.u32 [%d4], 1;";
const ACQUIRE: &str = "ld.acquire.gpu.global.u32 %r6, [%d5];\n    setp.eq.u32 %p2, %r6, 0;\n    @%p2 bra $POLL;";
/// With relaxed accesses and fences around them.
fn fenced() -> String {
    let text = with(MAILBOX, RELEASE, "fence.acq_rel.gpu;\n    @%p1 st.relaxed.gpu.global.u32 [%d4], 1;");
    let poll = ACQUIRE.replace("acquire", "relaxed");
    with(&text, ACQUIRE, &format!("{poll}\n    fence.acq_rel.gpu; // after"))
}
#[test]
fn fences_around_relaxed_accesses_order_blocks_as_well() {
    for limits in orders() {
        mailbox(&fenced(), limits).unwrap_or_else(|fault| panic!("{limits:?} {fault}"));
    }
    for limits in orders() {
        let volatile = fenced().replace("st.relaxed.gpu", "st.volatile").replace("ld.relaxed.gpu", "ld.volatile");
        mailbox(&volatile, limits).unwrap_or_else(|fault| panic!("{limits:?} {fault}"));
    }
}
#[test]
fn an_order_between_blocks_that_is_missing_is_caught_in_any_order() {
    let planted = [
        with(MAILBOX, "st.release.gpu", "st.relaxed.gpu"),
        with(MAILBOX, "ld.acquire.gpu", "ld.relaxed.gpu"),
        with(&fenced(), "    fence.acq_rel.gpu; // after\n", ""),
        fenced().replacen("fence.acq_rel.gpu;\n", "", 1),
        // The flag goes before the words of the other warp, or is read for one warp alone.
        MAILBOX.replacen("    bar.sync 0;\n", "", 1),
        with(MAILBOX, "$GOT:\n    bar.sync 0;\n", "$GOT:\n"),
        // The flag goes first.
        with(MAILBOX, "    st.global.u32 [%d3], %r4;\n    bar.sync 0;\n", "    bar.sync 0;\n")
            .replace(RELEASE, &format!("{RELEASE}\n    st.global.u32 [%d3], %r4;")),
    ];
    for (at, text) in planted.iter().enumerate() {
        for limits in orders() {
            let told = mailbox(text, limits).map(|_| ()).expect_err(&format!("{at}: {limits:?}")).to_string();
            assert!(told.contains("nothing that orders") || told.contains("nobody wrote"), "{at}: {told}");
        }
    }
}
#[test]
fn sums_of_floats_go_in_the_order_of_the_blocks() {
    // 1 + 2^24 + ... : the order shows in the last bits.
    let body = "mov.u32 %r1, %ctaid.x;\ncvt.rn.f32.u32 %r2, %r1;\nmul.rn.f32 %r2, %r2, %r2;\nmul.rn.f32 %r2, %r2, 0f4B000000;\n\
                add.rn.f32 %r2, %r2, 0f3F800000;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 red.global.add.f32 [%d0], %r2;";
    let sum = |limits| {
        let mut args = [Arg::Words(vec![0])];
        run_with(&kernel(32, 1, body), 50, &mut args, limits).expect("atomics");
        let [Arg::Words(words)] = &args else { panic!("a buffer stays one") };
        f32::from_bits(words[0])
    };
    let in_order = (0..50u32).fold(0f32, |sum, i| sum + ((i as f32 * i as f32) * 8_388_608.0 + 1.0));
    assert_eq!(sum(Limits::default()), in_order);
}
#[test]
fn a_vote_at_a_barrier_is_one_of_all_warps() {
    // Thread 70 of 96 alone, and all but it.
    let body = "setp.eq.u32 %p0, %r0, 70;\nbar.red.or.pred %p1, 0, %p0;\nbar.red.and.pred %p2, 0, %p0;\n\
                bar.red.or.pred %p3, 0, 96, !%p0;\nbar.red.and.pred %p4, 0, !%p0;\nselp.b32 %r1, 1, 0, %p1;\n\
                @%p2 add.u32 %r1, %r1, 2;\n@%p3 add.u32 %r1, %r1, 4;\n@%p4 add.u32 %r1, %r1, 8;\n\
                mad.wide.u32 %d1, %r0, 4, %d0;\nst.global.u32 [%d1], %r1;";
    for limits in orders() {
        let mut args = [Arg::Words(vec![0; 96])];
        run_with(&kernel(96, 1, body), 1, &mut args, limits).unwrap_or_else(|fault| panic!("{fault}"));
        let [Arg::Words(words)] = &args else { panic!("a buffer stays one") };
        assert_eq!(*words, [5; 96]);
    }
}
#[test]
fn who_waits_for_a_time_gives_up_where_nobody_writes() {
    // Two blocks poll a word; with a store by the second, the first sees it, whatever its clock says.
    let poll = "mov.u64 %d1, %clock64;\n$POLL:\nld.acquire.gpu.global.u32 %r1, [%d0];\nsetp.ne.u32 %p0, %r1, 0;\n@%p0 bra $END;\n\
                mov.u64 %d2, %clock64;\nsub.u64 %d2, %d2, %d1;\nsetp.lt.u64 %p1, %d2, 17179869184;\n@%p1 bra $POLL;\n$END:\n\
                mov.u32 %r2, %ctaid.x;\nmad.wide.u32 %d3, %r2, 4, %d0;\nadd.u32 %r1, %r1, 1;\nsetp.eq.u32 %p2, %r0, 0;\n\
                @%p2 st.global.u32 [%d3+4], %r1;";
    let store = "mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p3, %r2, 1;\n@%p3 st.release.gpu.global.u32 [%d0], 1;\n";
    for (text, seen) in [(poll.to_string(), 1), (store.to_string() + poll, 2)] {
        for limits in orders() {
            let mut args = [Arg::Words(vec![0; 3])];
            run_with(&kernel(32, 1, &text), 2, &mut args, limits).unwrap_or_else(|fault| panic!("{fault}"));
            let [Arg::Words(words)] = &args else { panic!("a buffer stays one") };
            assert_eq!(words[1..], [seen; 2]);
        }
    }
}
#[test]
fn what_diverges_meets_again() {
    // Each lane takes another number of turns; then all sum up.
    let body = "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\n$L:\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r1, %r1, 1;\nsetp.le.u32 %p0, %r1, %r0;\n\
                @%p0 bra $L;\nredux.sync.add.u32 %r3, %r2, -1;\nmatch.any.sync.b32 %r4, %r1, -1;\n\
                vote.sync.ballot.b32 %r5, %p0, -1;\nmad.wide.u32 %d1, %r0, 8, %d0;\nst.global.v2.u32 [%d1], {%r3, %r4};";
    for limits in orders() {
        let mut args = [Arg::Words(vec![0; 64])];
        run_with(&kernel(32, 1, body), 1, &mut args, limits).unwrap_or_else(|fault| panic!("{fault}"));
        let [Arg::Words(words)] = &args else { panic!("a buffer stays one") };
        let all: u32 = (0..32).map(|t: u32| t * (t + 1) / 2).sum();
        assert_eq!(*words, (0..32).flat_map(|t| [all, 1 << t]).collect::<Vec<u32>>());
    }
}
