//! Rings between blocks through global memory, with counters: right in any order; planted faults are caught in any.

mod common;

use common::{Arg, run_with};
use tilewright_ptx_emu::{Fault, Limits, Schedule};

const RING: &str = include_str!("data/global_ring.ptx");
const BLOCKS: u32 = 5;
const WORDS: usize = 256;

fn orders() -> impl Iterator<Item = Limits> {
    let random = (0..12).map(Schedule::Random);
    std::iter::once(Schedule::InOrder).chain(random).map(|schedule| Limits { schedule, ..Limits::default() })
}
fn sums(text: &str, limits: Limits) -> Result<Vec<u32>, Fault> {
    let n = BLOCKS as usize * WORDS;
    let given = Arg::Words((0..n as u32).map(|i| i * i % 9973).collect());
    let (slots, flags) = (Arg::Unwritten(BLOCKS as usize * 2048), Arg::Words(vec![0; BLOCKS as usize * 64]));
    let mut args = [given, Arg::Words(vec![0; n]), slots, flags];
    run_with(text, BLOCKS, &mut args, limits)?;
    let [_, Arg::Words(sums), ..] = args else { panic!("a buffer stays one") };
    Ok(sums)
}
/// What each block gets.
fn expected() -> Vec<u32> {
    let at = |i: usize| (i * i % 9973) as u32;
    (0..WORDS).map(|i| (0..BLOCKS as usize).map(|of| at(of * WORDS + i)).sum()).collect()
}
fn caught(line: &str, other: &str, by: &[&str]) {
    assert!(RING.contains(line), "no {line}");
    for limits in orders() {
        let told = match sums(&RING.replacen(line, other, 1), limits) {
            Ok(_) => panic!("{line}: {by:?} is not caught with {limits:?}"),
            Err(fault) => fault.to_string(),
        };
        assert!(by.iter().any(|by| told.contains(by)), "{limits:?}\n{told}\nis none of {by:?}");
    }
}

#[test]
fn a_ring_with_counters_in_global_memory_sums_the_same_in_any_order() {
    let all = expected();
    for limits in orders() {
        let sums = sums(RING, limits).unwrap_or_else(|fault| panic!("{limits:?}\n{fault}"));
        assert!(sums.chunks(WORDS).all(|block| block == all), "{limits:?}");
    }
}
#[test]
fn planted_faults_of_counters_are_caught() {
    let races = ["nothing that orders", "nobody wrote"];
    let stuck = "waits for a value that nobody writes";
    // Nothing is published, or nothing is taken over.
    caught("@%p0 st.release.gpu.global.u32 [%d5]", "@%p0 st.relaxed.gpu.global.u32 [%d5]", &races);
    caught("ld.acquire.gpu.global.u32 %r24, [%d4];", "ld.relaxed.gpu.global.u32 %r24, [%d4];", &races);
    // Who receives goes on one message early, who sends does not wait for its slot.
    caught("setp.lt.s32 %p2, %r24, %r23;", "setp.lt.s32 %p2, %r24, %r20;", &races);
    caught("ld.acquire.gpu.global.u32 %r24, [%d4+128];", "mov.u32 %r24, 100;", &races);
    // One ahead: everybody waits.
    caught("setp.lt.s32 %p1, %r24, %r22;", "setp.lt.s32 %p1, %r24, %r23;", &[stuck]);
    caught("    @%p0 st.release.gpu.global.u32 [%d6+128], %r23;\n", "", &[stuck]);
    // The counter goes before the words of the other warp.
    caught("%r15};\n    bar.sync 0;\n    @%p0 st.release", "%r15};\n    @%p0 st.release", &races);
}
#[test]
fn a_shrunk_ring_loses_messages_or_races() {
    // One slot, with the counters of two. Where the second message comes before the receiver has begun, the first is lost.
    let text = RING.replace("shl.b32 %r26, %r21, 10;", "mov.b32 %r26, 0;");
    let mut races = 0;
    for limits in orders() {
        match sums(&text, limits) {
            Ok(sums) => assert!(sums.chunks(WORDS).any(|block| block != expected()), "{limits:?}"),
            Err(fault) => {
                assert!(fault.to_string().contains("nothing that orders"), "{fault}");
                races += 1;
            }
        }
    }
    assert!(races > 0);
}
