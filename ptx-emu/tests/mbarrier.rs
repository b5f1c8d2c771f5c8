//! mbarriers and clusters by their rules: what each orders, what it refuses, and each fault as it is told.

mod common;

use common::{Arg, fault, kernel, run_with};
use tilewright_ptx_emu::{Limits, Module, Schedule};

fn orders() -> impl Iterator<Item = Limits> {
    let random = (0..8).map(Schedule::Random);
    std::iter::once(Schedule::InOrder).chain(random).map(|schedule| Limits { schedule, ..Limits::default() })
}
/// Of 64 threads, in clusters of so many blocks: `%r1` is `tile`, `%r0` the thread, `%r2` the rank, `%p0` thread 0.
fn cluster(size: u32, body: &str) -> String {
    let start = "mov.u32 %r1, tile;\nmov.u32 %r2, %cluster_ctarank;\nsetp.eq.u32 %p0, %r0, 0;\n";
    let head = format!(".reqntid 64, 1, 1 .explicitcluster .reqnctapercluster {size}, 1, 1");
    kernel(64, 1, &format!("{start}{body}")).replace(".reqntid 64, 1, 1", &head)
}
fn outcomes(text: &str, blocks: u32, words: usize) -> Vec<Result<Vec<u32>, String>> {
    let of = |limits| {
        let mut args = [Arg::Words(vec![0; words])];
        run_with(text, blocks, &mut args, limits).map_err(|fault| fault.to_string())?;
        let [Arg::Words(words)] = args else { panic!("a buffer stays one") };
        Ok(words)
    };
    orders().map(of).collect()
}
fn gives(text: &str, blocks: u32, words: &[u32]) {
    for outcome in outcomes(text, blocks, words.len()) {
        assert_eq!(outcome.as_deref().map_err(|told| panic!("{told}\n{text}")), Ok(words));
    }
}
fn is_told(text: &str, blocks: u32, with: &str) {
    for outcome in outcomes(text, blocks, 1024) {
        let told = outcome.expect_err(with);
        assert!(told.contains(with), "{told}\nhas no {with}\n{text}");
    }
}
fn without(text: &str, line: &str) -> String {
    assert!(text.contains(line), "no {line}");
    text.replace(line, "")
}

/// Warp 1 hands warp 0 a word a thread, which warp 0 stores: `tile` has the words from byte 128, an mbarrier for 32 arrivals at 0.
const HANDOVER: &str = "@%p0 mbarrier.init.shared::cta.b64 [%r1], 32;\nbar.sync 0;\nmad.lo.u32 %r3, %r0, 4, %r1;\n\
    setp.lt.u32 %p1, %r0, 32;\n@%p1 bra $TAKE;\nst.shared.u32 [%r3], %r0;\n\
    mbarrier.arrive.shared::cta.b64 %d1, [%r1];\nret;\n$TAKE:\n$WAIT:\n\
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;\n@!%p2 bra $WAIT;\nld.shared.u32 %r4, [%r3+128];\n\
    mad.wide.u32 %d2, %r0, 4, %d0;\nst.global.u32 [%d2], %r4;";
#[test]
fn an_arrival_orders_what_the_thread_did_before_for_those_who_wait() {
    let words: Vec<u32> = (32..64).collect();
    gives(&cluster(1, HANDOVER), 1, &words);
    // Without the wait, with a wait for the phase before, or with a test that nobody heeds.
    // A wait for the phase before passes, or never does once this one is over.
    let passes = HANDOVER.replace("[%r1], 0;", "[%r1], 1;");
    for outcome in outcomes(&cluster(1, &passes), 1, 32) {
        let told = outcome.expect_err("no order");
        let by = ["nothing that orders", "nobody wrote", "is waited for, and nothing follows"];
        assert!(by.iter().any(|by| told.contains(by)), "{told}");
    }
    // The arrival goes first.
    let store = "st.shared.u32 [%r3], %r0;\n";
    let early = without(HANDOVER, store).replace("[%r1];\nret;", "[%r1];\nst.shared.u32 [%r3], %r0;\nret;");
    for outcome in outcomes(&cluster(1, &early), 1, 32) {
        let told = outcome.expect_err("no order");
        assert!(told.contains("nothing that orders") || told.contains("nobody wrote"), "{told}");
    }
}
#[test]
fn a_phase_that_nobody_ends_is_told_with_what_is_missing() {
    let one = HANDOVER.replace("[%r1], 32;", "[%r1], 33;");
    let told = fault(&cluster(1, &one), 1, &mut [Arg::Words(vec![0; 32])]);
    assert_eq!(
        told,
        "the mbarrier at 0x400 is waited for, and nothing follows: 1 of 33 arrivals and 0 bytes of phase 0 are missing\n  \
         line 22: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0\n  block 0, thread 0"
    );
    is_told(&cluster(1, &one), 1, "1 of 33 arrivals and 0 bytes of phase 0");
}
#[test]
fn a_state_names_the_phase_it_was() {
    // Each thread waits for the phase in which it came; two phases, of 64 arrivals each.
    let turn = |n: u32| {
        format!(
            "mbarrier.arrive.shared::cta.b64 %d1, [%r1];\n$W{n}:\nmbarrier.try_wait.shared::cta.b64 %p2, [%r1], %d1, 100;\n@!%p2 bra $W{n};\n"
        )
    };
    let body = format!(
        "@%p0 mbarrier.init.shared::cta.b64 [%r1], 64;\nbar.sync 0;\nmad.lo.u32 %r3, %r0, 4, %r1;\nst.shared.u32 [%r3+128], %r0;\n{}\
         xor.b32 %r4, %r0, 32;\nmad.lo.u32 %r4, %r4, 4, %r1;\nld.shared.u32 %r5, [%r4+128];\n{}st.shared.u32 [%r3+128], %r5;\n\
         mad.wide.u32 %d2, %r0, 4, %d0;\nst.global.u32 [%d2], %r5;",
        turn(1),
        turn(2)
    );
    gives(&cluster(1, &body), 1, &(0..64).map(|i| i ^ 32).collect::<Vec<u32>>());
}
#[test]
fn what_an_mbarrier_refuses() {
    let of = |body: &str| fault(&cluster(2, body), 2, &mut [Arg::Words(vec![0; 64])]);
    let init = "@%p0 mbarrier.init.shared::cta.b64 [%r1], 1;\nbar.sync 0;\n";
    assert_eq!(
        of("mbarrier.arrive.shared::cta.b64 _, [%r1];"),
        "the mbarrier at 0x400 is not initialised\n  line 12: mbarrier.arrive.shared::cta.b64 _, [%r1]\n  block 0, thread 0"
    );
    assert!(of("@%p0 mbarrier.init.shared::cta.b64 [%r1], 0;").contains("0x400 is initialised for 0 arrivals"));
    let twice = "mbarrier.init.shared::cta.b64 [%r1], 1;";
    assert!(of(&format!("@%p0 {twice}\n@%p0 {twice}")).contains("is initialised again, without mbarrier.inval"));
    let many = of(&format!("{init}@%p0 mbarrier.arrive.shared::cta.b64 _, [%r1], 2;"));
    assert!(many.contains("gets 2 arrivals, and its phase has room for 1"), "{many}");
    let data = of(&format!("{init}ld.shared.u32 %r5, [%r1+4];"));
    assert!(data.contains("the mbarrier at 0x404 is touched as if it were data"), "{data}");
    let bytes = of(&format!("{init}@%p0 mbarrier.expect_tx.shared::cta.b64 [%r1], 1048576;"));
    assert!(bytes.contains("counts up to 1048575 bytes, and these are 1048576"), "{bytes}");
    // Initialised by a thread that nothing orders before.
    let race = of("setp.eq.u32 %p1, %r0, 32;\n@%p0 mbarrier.init.shared::cta.b64 [%r1], 1;\n\
                   @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1];");
    assert!(race.contains("nothing that orders the two, by block 0, thread 0"), "{race}");
    // Another block's.
    let meet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
    let peer = format!(
        "{init}{meet}mapa.shared::cluster.u32 %r3, %r1, 1;\ncvt.u64.u32 %d1, %r3;\nadd.u64 %d1, %d1, 0x7F0000000000;\n"
    );
    let waits = of(&format!("{peer}mbarrier.test_wait.parity.b64 %p2, [%d1], 0;"));
    assert!(waits.contains("the mbarrier at 0x7f0002000400 belongs to another block"), "{waits}");
    // From block 0 to block 1, counted in block 0.
    let mail = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r3+128], %r0, [%r1];";
    let own = of(&format!("{peer}setp.eq.u32 %p1, %r2, 0;\n@%p1 {mail}\n{meet}"));
    assert!(own.contains("the mbarrier at 0x400 counts what lands in another block's shared memory"), "{own}");
}
#[test]
fn what_a_cluster_refuses() {
    let of = |body: &str| fault(&cluster(2, body), 2, &mut [Arg::Words(vec![0; 64])]);
    assert_eq!(
        of("mapa.shared::cluster.u32 %r3, %r1, 2;"),
        "there is no block 2 in a cluster of 2\n  line 12: mapa.shared::cluster.u32 %r3, %r1, 2\n  block 0, thread 0"
    );
    assert!(of("barrier.cluster.wait.aligned;").contains("to which it has not come\n  line 12"));
    let twice = "barrier.cluster.arrive.aligned;\nbarrier.cluster.arrive.aligned;";
    assert!(of(twice).contains("has come to the cluster's barrier before, and has not waited\n  line 13"));
    let meet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
    // Warp 1 of block 0 waits for warp 0.
    let one = format!(
        "mad.lo.u32 %r3, %r2, 64, %r0;\nshr.u32 %r3, %r3, 5;\nsetp.ne.u32 %p1, %r3, 1;\n@%p1 bra $MEET;\nbar.sync 0;\n$MEET:\n{meet}"
    );
    assert_eq!(
        of(&one),
        "128 of 128 threads wait at a barrier that the others never reach (block 0: warp 0 waits at the cluster's barrier, \
         line 19; warp 1 waits at barrier 0, line 16; block 1: warp 0 waits at the cluster's barrier, line 19; warp 1 waits \
         at the cluster's barrier, line 19)\n  line 19: barrier.cluster.wait.aligned\n  block 0, thread 0"
    );
    let odd = fault(&cluster(2, ""), 3, &mut [Arg::Words(vec![0; 64])]);
    assert_eq!(odd, "3 blocks do not make clusters of 2");
    // Who has ended need not come.
    gives(&cluster(2, &format!("setp.eq.u32 %p1, %r2, 0;\n@%p1 ret;\n{meet}@%p0 st.global.u32 [%d0], %r2;")), 2, &[1]);
    // What is not read is an error.
    let unknown = |inst: &str| Module::parse(&kernel(32, 1, inst)).expect_err(inst).to_string();
    assert!(unknown("mbarrier.arrive_drop.shared::cta.b64 _, [%d0];").contains("know `mbarrier.arrive_drop`"));
    assert!(unknown("cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r1], 16;").contains("no mbarrier counts"));
    assert!(unknown("fence.proxy.tensormap;").contains("a fence of this proxy"));
    assert!(unknown("mbarrier.try_wait.parity.relaxed.cluster.b64 %p0, [%r1], 0;").contains("modifier `.relaxed`"));
}
#[test]
fn special_registers_of_a_cluster() {
    let body = "mov.u32 %r3, %clusterid.x;\nmov.u32 %r4, %nclusterid.x;\nmov.u32 %r5, %cluster_nctarank;\nmov.u32 %r6, %cluster_ctaid.x;\n\
                mapa.shared::cluster.u32 %r7, %r1, 1;\ngetctarank.shared::cluster.u32 %r7, %r7;\nmov.u32 %r8, %ctaid.x;\n\
                mad.wide.u32 %d1, %r8, 32, %d0;\n@%p0 st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};\n\
                @%p0 st.global.v2.u32 [%d1+16], {%r6, %r7};";
    let words: Vec<u32> = (0..4).flat_map(|block| [block % 2, block / 2, 2, 2, block % 2, 1, 0, 0]).collect();
    gives(&cluster(2, body), 4, &words);
}

/// Each block parks a word a thread; after the cluster's barrier each reads those of the other.
const PARK: &str = "mad.lo.u32 %r3, %r0, 4, %r1;\nmad.lo.u32 %r4, %r2, 100, %r0;\nst.shared.u32 [%r3], %r4;\n\
    barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\nxor.b32 %r5, %r2, 1;\n\
    mapa.shared::cluster.u32 %r6, %r3, %r5;\nld.shared::cluster.u32 %r7, [%r6];\nmov.u32 %r8, %ctaid.x;\n\
    mad.lo.u32 %r8, %r8, 64, %r0;\nmad.wide.u32 %d1, %r8, 4, %d0;\nst.global.u32 [%d1], %r7;\n\
    barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;";
#[test]
fn blocks_read_each_others_shared_memory_between_barriers() {
    let words: Vec<u32> = (0..4 * 64).map(|i| ((i / 64 % 2) ^ 1) * 100 + i % 64).collect();
    gives(&cluster(2, PARK), 4, &words);
    // By generic addresses.
    let generic = PARK.replace(
        "ld.shared::cluster.u32 %r7, [%r6];",
        "cvt.u64.u32 %d2, %r6;\nadd.u64 %d2, %d2, 0x7F0000000000;\nld.u32 %r7, [%d2];",
    );
    gives(&cluster(2, &generic), 4, &words);
    // A relaxed arrival publishes no memory, and the address of another block is none of this one's.
    is_told(&cluster(2, &PARK.replace("arrive.release", "arrive.relaxed")), 4, "nothing that orders");
    is_told(&cluster(2, &PARK.replace("ld.shared::cluster", "ld.shared::cta")), 4, "are outside shared memory");
    for outcome in outcomes(
        &cluster(2, &without(PARK, "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;")),
        4,
        256,
    ) {
        let told = outcome.expect_err("no barrier at the end");
        assert!(told.contains("may have ended before: it waits for nothing") || told.contains("has ended"), "{told}");
    }
}
/// Block 0 hands block 1 a word a thread through global memory, and tells it by an mbarrier of block 1.
const PUBLISH: &str = "@%p0 mbarrier.init.shared::cta.b64 [%r1], 1;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n\
    mad.wide.u32 %d1, %r0, 4, %d0;\nsetp.eq.u32 %p1, %r2, 1;\n@%p1 bra $TAKE;\nst.global.u32 [%d1], %r0;\nbar.sync 0;\n\
    mapa.shared::cluster.u32 %r3, %r1, 1;\n@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\nbra.uni $END;\n$TAKE:\n\
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r1], 0;\n@!%p2 bra $TAKE;\nld.global.u32 %r4, [%d1];\n\
    add.u32 %r4, %r4, 1;\nst.global.u32 [%d1+256], %r4;\n$END:";
#[test]
fn global_memory_is_ordered_by_arrivals_and_waits_for_the_cluster_alone() {
    let words: Vec<u32> = (0..64).chain(1..65).collect();
    gives(&cluster(2, PUBLISH), 2, &words);
    for narrow in
        [PUBLISH.replace("arrive.release.cluster", "arrive"), PUBLISH.replace("parity.acquire.cluster", "parity")]
    {
        is_told(&cluster(2, &narrow), 2, "is also touched, with nothing that orders the two, by block 0");
    }
}
/// Thread 0 fetches 256 bytes of global memory; all store them again.
const FETCH: &str = "mad.wide.u32 %d1, %r0, 4, %d0;\n@!%p0 bra $GO;\nmbarrier.init.shared::cta.b64 [%r1], 1;\n\
    fence.proxy.async.shared::cta;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;\nadd.u32 %r3, %r1, 256;\n\
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%d0], 256, [%r1];\n$GO:\nbar.sync 0;\n\
    mad.lo.u32 %r4, %r0, 4, %r1;\n$W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;\n@!%p1 bra $W;\n\
    ld.shared.u32 %r5, [%r4+256];\nadd.u32 %r5, %r5, 7;\nst.global.u32 [%d1+256], %r5;";
#[test]
fn bulk_copies_of_global_memory() {
    let words: Vec<u32> = [0; 64].into_iter().chain([7; 64]).collect();
    gives(&cluster(1, FETCH), 1, &words);
    let wait = "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;\n@!%p1 bra $W;\n";
    for outcome in outcomes(&cluster(1, &without(FETCH, wait)), 1, 128) {
        let told = outcome.expect_err("no wait");
        assert!(told.contains("nobody waited for") || told.contains("nobody wrote"), "{told}");
    }
    // What it reads is not to be written meanwhile.
    let over = FETCH.replace("bar.sync 0;\n", "bar.sync 0;\nst.global.u32 [%d1], %r0;\n");
    is_told(&cluster(1, &over), 1, "belongs to an asynchronous copy that nobody waited for");
    is_told(&cluster(1, &FETCH.replace("[%d0], 256, [", "[%d0], 248, [")), 1, "a bulk copy of 248 bytes");
    is_told(&cluster(1, &FETCH.replace("[%r3], [%d0]", "[%r3], [%d0+8]")), 1, "which is not a multiple of 16");
    is_told(&cluster(1, &FETCH.replace("_, [%r1], 256;", "_, [%r1], 240;")), 1, "0 of 1 arrivals and -16 bytes");
}
#[test]
fn who_waits_for_a_phase_for_a_time_gives_up() {
    let body = "@%p0 mbarrier.init.shared::cta.b64 [%r1], 1;\nbar.sync 0;\nmov.u64 %d1, %clock64;\n$W:\n\
        mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;\n@%p1 bra $END;\nmov.u64 %d2, %clock64;\n\
        sub.u64 %d2, %d2, %d1;\nsetp.lt.u64 %p2, %d2, 17179869184;\n@%p2 bra $W;\n@%p0 st.global.u32 [%d0], 7;\n$END:";
    gives(&cluster(1, body), 1, &[7]);
    // With an arrival nobody gives up.
    let told = body.replace("bar.sync 0;\n", "bar.sync 0;\n@%p0 mbarrier.arrive.shared::cta.b64 _, [%r1];\n");
    gives(&cluster(1, &told), 1, &[0]);
}
