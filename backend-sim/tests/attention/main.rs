//! Timing of short-context attention against the published tables, and against the executable reading of AHBM.md (its
//! `ahbm.py`). The reading adds floats, here every time is a whole picosecond; so equal means: the same events in the same
//! order, also where queues, contention and composites decide.

mod kernels;

use kernels::{Case, Tier};
use tilewright_sim::cases::bench_case;
use tilewright_sim::engine::{Class, Engine, Heap, Wheel};
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::Timing;
use tilewright_sim::units::Bytes;

/// The rows of a golden table, each by column name.
fn table(name: &str) -> Vec<Vec<(String, String)>> {
    let path = format!("{}/../tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut lines = text.lines().filter(|l| !l.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| names.iter().map(|n| n.to_string()).zip(line.split(',').map(String::from)).collect();
    lines.map(row).collect()
}
fn cell<'a>(row: &'a [(String, String)], column: &str) -> &'a str {
    &row.iter().find(|(name, _)| name == column).unwrap().1
}
fn number(row: &[(String, String)], column: &str) -> f64 {
    cell(row, column).parse().unwrap()
}
fn close(what: &str, got: f64, want: f64, tolerance: f64) {
    assert!((got / want - 1.0).abs() <= tolerance, "{what}: {got}, want {want} within {tolerance}");
}
/// The published column: `mul` and copies are not in it.
fn math_count(t: &Timing) -> u64 {
    ["reduce_max", "reduce_sum", "exp", "sub", "add", "div", "maximum"].iter().filter_map(|m| t.commands.get(m)).sum()
}

#[test]
fn the_decode_table_is_met() {
    let machine = Machine::ahbm();
    for row in table("short_decode_baseline.csv") {
        let [kv, s_kv] = ["kv_per_cube", "S_kv"].map(|c| cell(&row, c).parse::<usize>().unwrap());
        let t = Case::decode(kv, s_kv, Tier::Plain).time::<Wheel>(&machine, 1);
        let what = |column: &str| format!("{} {s_kv} {column}", cell(&row, "mode"));
        assert_eq!(t.n_pe as f64, number(&row, "n_pe"), "{}", what("n_pe"));
        assert_eq!(math_count(&t) as f64, number(&row, "math_count"), "{}", what("math_count"));
        assert_eq!(t.sums.read_bytes as f64 / 1048576.0, number(&row, "hbm_read_mb"), "{}", what("hbm_read_mb"));
        assert_eq!(t.sums.write_bytes as f64 / 1024.0, number(&row, "hbm_write_kb"), "{}", what("hbm_write_kb"));
        assert_eq!(t.sums.ipcq_bytes as f64 / 1024.0, number(&row, "ipcq_kb"), "{}", what("ipcq_kb"));
        let wall = t.wall.as_us();
        close(&what("wall_us"), wall, number(&row, "wall_us"), 0.005);
        let pe_ns = wall * 1e3 * t.n_pe as f64;
        close(&what("gemm_util"), t.sums.gemm.as_ns() / pe_ns, number(&row, "gemm_util"), 0.005);
        let bytes = (t.sums.read_bytes + t.sums.write_bytes) as f64;
        close(&what("hbm_bw_util"), bytes / (pe_ns * 256.0), number(&row, "hbm_bw_util"), 0.005);
    }
}

/// Walls in ns of the executable reading of AHBM.md (plain Python floats; here every time is a whole picosecond).
const READING: [(usize, usize, f64); 12] = [
    (1, 24576, 4962.996),
    (1, 32768, 6322.718),
    (1, 65536, 11761.606),
    (2, 24576, 8802.097),
    (2, 32768, 11521.541),
    (2, 40960, 14240.985),
    (4, 24576, 16476.299),
    (4, 32768, 21915.187),
    (4, 40960, 27354.075),
    (8, 24576, 32564.898),
    (8, 32768, 43442.674),
    (8, 40960, 54320.45),
];

#[test]
fn walls_are_those_of_the_executable_reading_also_where_no_table_is() {
    let machine = Machine::ahbm();
    for (kv, s_kv, wall) in READING {
        let t = Case::decode(kv, s_kv, Tier::Plain).time::<Wheel>(&machine, 1);
        close(&format!("{kv} heads a cube, {s_kv} tokens"), t.wall.as_ns(), wall, 1e-6);
    }
}

#[test]
fn users_side_by_side_meet_the_batch_table() {
    let machine = Machine::ahbm();
    for row in table("decode_batch.csv") {
        let [kv, s_kv, users] = ["kv_per_cube", "S_kv", "B"].map(|c| cell(&row, c).parse::<usize>().unwrap());
        let t = Case::decode(kv, s_kv, Tier::Plain).time::<Wheel>(&machine, users);
        let what = |column: &str| format!("{} B={users} {column}", cell(&row, "mode"));
        close(&what("agg_latency_us"), t.wall.as_us(), number(&row, "agg_latency_us"), 0.005);
        let mean = t.users.iter().map(|u| u.as_us()).sum::<f64>() / users as f64;
        close(&what("mean_user_latency_us"), mean, number(&row, "mean_user_latency_us"), 0.005);
    }
}

#[test]
fn every_engine_of_every_pe_accounts_for_the_whole_wall() {
    let machine = Machine::ahbm();
    let t = Case::decode(1, 16384, Tier::Plain).time::<Wheel>(&machine, 2);
    assert_eq!(t.pes.len(), 128);
    for pe in &t.pes {
        Engine::ALL.iter().for_each(|e| assert_eq!(pe.stalls.total(*e), t.wall, "{e:?} of {pe:?}"));
    }
    let busy = |engine| t.stalls().get(engine, Class::Busy);
    assert_eq!(busy(Engine::Gemm), t.sums.gemm);
    assert_eq!(busy(Engine::Math).0, t.sums.math.0 + t.sums.copy.0);
}

/// Committed: equal on every host, in every profile, for both event sets.
#[test]
fn event_hashes_are_the_committed_ones() {
    let machine = Machine::ahbm();
    let run = |kv| {
        let decode = Case::decode(kv, 16384, Tier::Plain);
        let (wheel, heap) = (decode.time::<Wheel>(&machine, 2), decode.time::<Heap>(&machine, 2));
        assert_eq!(wheel, heap);
        (wheel.events, wheel.event_hash)
    };
    let committed = [
        (30544, 12606400990897579139),
        (29016, 2855958570830436477),
        (28248, 5875119998853246868),
        (27870, 13381262746887913141),
    ];
    assert_eq!([1, 2, 4, 8].map(run), committed);
    let bench = bench_case(&machine).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((bench.events, bench.hash, bench.kv_bytes), (57512, 13748151279292714508, 2 * 8 * 65536 * 64 * 2));
}

/// Wall in ns at 16384 tokens; `kv` heads a cube.
fn check(case: fn(usize, usize, Tier) -> Case, tier: Tier, walls: [(usize, f64); 4], tolerance: f64) {
    let mut machine = Machine::ahbm();
    // The reading has no scratch.
    machine.scratch.capacity = Bytes(1 << 30);
    for (kv, want) in walls {
        let wall = case(kv, 16384, tier).time::<Wheel>(&machine, 1).wall.as_ns();
        assert!((wall / want - 1.0).abs() <= tolerance, "{tier:?}, {kv} heads a cube: {wall}, want {want}");
    }
}

#[test]
fn prefill_passes_tiles_on_as_in_the_reading() {
    let plain = [(1, 62076.854), (2, 66104.320), (4, 87700.286), (8, 134092.462)];
    check(Case::prefill, Tier::Plain, plain, 1e-6);
}
#[test]
fn composites_stream_as_in_the_reading() {
    let prefill = [(1, 62833.522), (2, 66508.724), (4, 87854.538), (8, 134330.426)];
    check(Case::prefill, Tier::Composite, prefill, 1e-6);
    let decode = [(1, 4173.454), (2, 7223.013), (4, 13318.131), (8, 26248.562)];
    check(Case::decode, Tier::Composite, decode, 1e-6);
}
#[test]
fn fused_composites_run_prologue_and_epilogue_as_in_the_reading() {
    let prefill = [(1, 63090.998), (2, 66432.342), (4, 87562.398), (8, 133918.286)];
    check(Case::prefill, Tier::Fused, prefill, 1e-6);
    // The reading's merges wait for all of the last composite; here they begin with its maximum, which is ready earlier.
    let decode = [(1, 4071.315), (2, 6397.026), (4, 11048.448), (8, 21111.612)];
    check(Case::decode, Tier::Fused, decode, 0.01);
}
