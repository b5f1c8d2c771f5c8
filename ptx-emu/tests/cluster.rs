//! Clusters: rings through the shared memory of the next block, in any order of blocks and of what lands; planted faults, which
//! are caught in any.

mod common;

use common::{Arg, run_with};
use tilewright_ptx_emu::{Fault, Limits, Schedule};

const RING: &str = include_str!("data/cluster_ring.ptx");
const BULK: &str = include_str!("data/cluster_bulk.ptx");
const BLOCKS: u32 = 12;
const WORDS: usize = 256;

fn orders() -> impl Iterator<Item = Limits> {
    let random = (0..12).map(Schedule::Random);
    std::iter::once(Schedule::InOrder).chain(random).map(|schedule| Limits { schedule, ..Limits::default() })
}
fn with(text: &str, line: &str, other: &str) -> String {
    assert!(text.contains(line), "no {line}");
    text.replace(line, other)
}
fn without_last(text: &str, line: &str) -> String {
    let at = text.rfind(line).expect(line);
    format!("{}{}", &text[..at], &text[at + line.len()..])
}

/// What three clusters of four blocks get.
fn sums(text: &str, limits: Limits) -> Result<Vec<u32>, Fault> {
    let n = BLOCKS as usize * WORDS;
    let mut args = [Arg::Words((0..n as u32).map(|i| i * i % 9973).collect()), Arg::Words(vec![0; n])];
    run_with(text, BLOCKS, &mut args, limits)?;
    let [_, Arg::Words(sums)] = args else { panic!("a buffer stays one") };
    Ok(sums)
}
fn expected() -> Vec<u32> {
    let at = |i: usize| (i * i % 9973) as u32;
    let block = |block: usize| (0..WORDS).map(move |i| (0..4).map(|of| at((block / 4 * 4 + of) * WORDS + i)).sum());
    (0..BLOCKS as usize).flat_map(block).collect()
}
fn right(text: &str) {
    for limits in orders() {
        assert_eq!(sums(text, limits).unwrap_or_else(|fault| panic!("{limits:?}\n{fault}")), expected());
    }
}
/// In any order, it is told with one of these.
fn caught(text: &str, by: &[&str]) {
    for limits in orders() {
        let told = match sums(text, limits) {
            Ok(_) => panic!("{by:?} is not caught with {limits:?}"),
            Err(fault) => fault.to_string(),
        };
        assert!(by.iter().any(|by| told.contains(by)), "{limits:?}\n{told}\nis none of {by:?}");
    }
}

const RACES: [&str; 3] = ["nobody waited for", "nothing that orders", "nobody wrote"];
const STUCK: &str = "is waited for, and nothing follows";

#[test]
fn stores_into_the_next_blocks_memory_sum_the_same_in_any_order() {
    right(RING);
}
#[test]
fn bulk_copies_into_the_next_blocks_memory_sum_the_same_in_any_order() {
    right(BULK);
}
#[test]
fn a_swapped_phase_is_caught() {
    for text in [RING, BULK] {
        // Who receives goes on before the message is there; who sends waits for a message that nobody has sent.
        caught(&with(text, "[%r27], %r23", "[%r27], %r24"), &RACES);
        caught(&with(text, "[%r27], %r24", "[%r27], %r23"), &[STUCK]);
        // The phase is taken for the slot's number.
        caught(&with(text, "[%r27], %r23", "[%r27], %r21"), &[RACES[0], RACES[1], RACES[2], STUCK]);
    }
}
#[test]
fn a_dropped_arrival_is_caught() {
    for text in [RING, BULK] {
        caught(&with(text, "    @%p0 mbarrier.arrive.shared::cluster.b64 _, [%r29];\n", ""), &[STUCK]);
        caught(&with(text, "    @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r27], 1024;\n", ""), &[STUCK]);
        caught(&with(text, "[%r27], 1024", "[%r27], 1040"), &[STUCK]);
        // All threads come where one is expected.
        let all = with(text, "@%p0 mbarrier.arrive.shared::cluster", "mbarrier.arrive.shared::cluster");
        caught(&all, &["and its phase has room for", RACES[0], RACES[1], STUCK]);
    }
}
#[test]
fn a_shrunk_ring_is_caught() {
    for text in [RING, BULK] {
        // One slot, with the mbarriers of two.
        let one = with(text, "shl.b32 %r26, %r21, 10;", "mov.b32 %r26, 0;");
        caught(&one, &RACES);
        // Nobody waits until the slot is free.
        let wait = "    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r27], %r24;\n    @!%p1 bra $EMPTY;\n";
        caught(&with(text, wait, ""), &RACES);
    }
}
#[test]
fn an_order_that_is_missing_between_threads_of_the_receiver_is_caught() {
    // The slot is given back before the other warp has read it.
    caught(&without_last(RING, "    bar.sync 0;\n"), &RACES);
    caught(&with(RING, "    @!%p2 bra $FULL;\n", ""), &RACES);
    caught(&with(BULK, "    @!%p2 bra $FULL;\n", ""), &RACES);
}
#[test]
fn a_bulk_copy_needs_a_fence_and_a_barrier_before_it() {
    caught(
        &with(BULK, "    fence.proxy.async.shared::cta;\n", ""),
        &["no fence.proxy.async since the store of", RACES[1]],
    );
    let bar = "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n";
    caught(&with(BULK, bar, "    fence.proxy.async.shared::cta;\n"), &RACES);
    // The stage of the other slot, which may still be read.
    caught(&with(BULK, "add.u32 %r30, %r30, %r26;", "mad.lo.u32 %r30, %r0, 16, %r30;"), &RACES);
}
#[test]
fn blocks_of_a_cluster_meet_before_the_first_and_after_the_last_access() {
    let start = "    barrier.cluster.arrive.relaxed.aligned;\n    barrier.cluster.wait.acquire.aligned;\n";
    let end = "    barrier.cluster.arrive.relaxed.aligned;\n    barrier.cluster.wait.aligned;\n";
    for text in [RING, BULK] {
        caught(&with(text, start, "    bar.sync 0;\n"), &["may not have begun", "is not initialised"]);
        caught(&with(text, end, ""), &["may have ended before", "has ended"]);
        // A relaxed arrival publishes nothing but mbarriers, and those by their fence.
        caught(&with(text, "    fence.mbarrier_init.release.cluster;\n", ""), &["nothing that orders"]);
        right(&with(&with(text, "    fence.mbarrier_init.release.cluster;\n", ""), "arrive.relaxed", "arrive.release"));
    }
}
