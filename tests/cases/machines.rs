//! Machine files: what a rate does to a time; machines and shapes at the edge.

use crate::support::*;
use tilewright::prelude::*;
use tilewright::sim::machine::Machine;
use tilewright::{Report, Runtime};

/// 4 MiB of f32, a MiB at a time, each dropped before the next needs its place.
#[kernel]
fn stream(x: View<f32, 1>) {
    for i in 0..16 {
        keep(x.at(i * 65536).load::<D1<65536>>());
    }
}
fn time_ns(sets: &[&str]) -> Result<f64, String> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_string()).collect();
    let machine = Machine::load("ahbm", &sets).map_err(|e| told(&e))?;
    let mut on = Runtime::sim_with(machine).timing_only().map_err(|e| told(&e))?;
    let x = Tensor::<f32, 1>::shape_only([1 << 20]).placed(Placement::at(0, 0));
    match stream(&x).run(&mut on) {
        Ok(Report::Sim(sim)) => Ok(sim.timing.wall.as_ns()),
        Ok(Report::Reference(_) | Report::Gpu(_)) => Err("no clock".into()),
        Err(e) => Err(told(&e)),
    }
}
/// 4 MiB at once, from the own slice into a scratch that holds them.
#[kernel]
fn whole(x: View<f32, 1>) {
    keep(x.at(0).load::<D1<1048576>>());
}
/// In ps, at this rate of a slice; the same from `--set` and from a file that extends the shipped machine.
fn whole_ps(rate: &str) -> u64 {
    let file = std::env::temp_dir().join(format!("tilewright-rate-{}.toml", std::process::id()));
    let text = format!("extends = \"ahbm\"\n[hbm]\nslice_rate = \"{rate}\"\n[scratch]\ncapacity = \"8 MiB\"\n");
    std::fs::write(&file, text).expect("the folder for temporary files takes one");
    let sets = [format!("hbm.slice_rate={rate}"), "scratch.capacity=8 MiB".to_string()];
    let machines = [Machine::load("ahbm", &sets), Machine::load(&file.display().to_string(), &[])];
    let walls = machines.map(|machine| {
        let mut on = Runtime::sim_with(machine.unwrap_or_else(|e| panic!("{e}"))).timing_only().expect("a clock");
        let x = Tensor::<f32, 1>::shape_only([1 << 20]).placed(Placement::at(0, 0));
        match whole(&x).run(&mut on) {
            Ok(Report::Sim(sim)) => sim.timing.wall.0,
            Ok(Report::Reference(_) | Report::Gpu(_)) => panic!("no clock"),
            Err(e) => panic!("{e}"),
        }
    });
    std::fs::remove_file(&file).expect("written above");
    assert_eq!(walls[0], walls[1], "{rate}: a flag and a file");
    walls[0]
}
#[test]
fn four_mib_of_the_own_slice_take_their_bytes_over_the_rate_and_the_latency() {
    assert_eq!(whole_ps("256 GB/s"), (16384 + 13) * 1000);
    assert_eq!(whole_ps("0.256 TB/s"), (16384 + 13) * 1000);
    assert_eq!(whole_ps("512 GB/s"), (8192 + 13) * 1000);
    // 256 Gb/s, as it would be written: bits are 8 times slower.
    assert_eq!(whole_ps("32 GB/s"), (131072 + 13) * 1000);
    // 4 MiB over 256 GiB a second: 2^22 / 2^38 s, to the ps of each of the 1024 units.
    let gib = whole_ps("256 GiB/s") - 13_000;
    assert!(gib.abs_diff(1_000_000_000_000 >> 16) <= 1024, "{gib}");
}
#[test]
fn a_rate_is_bytes_a_second_in_every_spelling() {
    let at = |rate: &str| time_ns(&[&format!("hbm.slice_rate={rate}")]).unwrap();
    let base = at("256 GB/s");
    assert_eq!(base, time_ns(&[]).unwrap(), "the shipped rate");
    assert!((16384.0..16384.0 * 1.05).contains(&base), "{base}");
    assert_eq!(at("0.256 TB/s"), base);
    // GiB are larger: the transfer alone shrinks by 1.073741824.
    let saved = base - at("256 GiB/s");
    let expected = 16384.0 * (1.0 - 1.0 / 1.073741824);
    assert!((saved - expected).abs() < 1.0, "{saved}, not {expected}");
}
#[test]
fn what_is_no_rate_is_refused_with_a_code() {
    let wrong = ["256 Gb/s", "256", "256 GB", "256 gb/s", "-1 GB/s", "0 GB/s", "1e400 GB/s", "nan GB/s", ""];
    for rate in wrong {
        let told = time_ns(&[&format!("hbm.slice_rate={rate}")]).unwrap_err();
        assert!(told.starts_with("TW-E04"), "{rate}: {told}");
    }
    // 256 GB a ns: more than any link, and still a rate.
    let fast = time_ns(&["hbm.slice_rate=256 GB/ns"]);
    assert!(fast.as_ref().is_ok_and(|t| *t > 0.0) || fast.as_ref().is_err_and(|e| e.starts_with("TW-E04")), "{fast:?}");
    let told = time_ns(&["hbm.slice_rat=256 GB/s"]).unwrap_err();
    assert!(told.contains("`slice_rat`") && told.starts_with("TW-E04"), "{told}");
}
#[test]
fn a_degenerate_machine_is_refused_or_gives_a_finite_time() {
    let sets = [
        "queue.depth=0",
        "scratch.capacity=0 B",
        "scratch.capacity=1 B",
        "egress.rate=0 GB/s",
        "hbm.read_latency=1 s",
        "hbm.read_latency=1099511627776 ns",
        "hbm.slice_rate=1 MB/s",
        "hbm.slice_rate=1 TB/s",
        "egress.rate=10 TB/s",
        "egress.buffer=0",
        "topology.sips=0",
        "topology.cube_rows=0",
        "topology.pe_cols=0",
        "topology.pe_cols=1",
        "topology.pe_rows=4294967296",
        "cpu.clock=0 GHz",
        "gemm.peak_f16=0 TFLOP/s",
        "hbm.transfer_unit=0 B",
        "hbm.transfer_unit=4294967296 B",
    ];
    for set in sets {
        match time_ns(&[set]) {
            Ok(ns) => assert!(ns.is_finite() && (0.0..1e15).contains(&ns), "{set}: {ns}"),
            Err(e) => {
                let field = set.split(['.', '=']).nth(1).unwrap_or(set);
                let refused = e.starts_with("TW-E04") && e.contains(field);
                // A machine may be sound and still too small or too slow for this run.
                let stopped = e.starts_with("TW-E0353") || e.starts_with("TW-E0354");
                assert!(refused || stopped, "{set}: {e}");
            }
        }
    }
}
