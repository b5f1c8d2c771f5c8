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
        Ok(Report::Reference(_)) => Err("no clock".into()),
        Err(e) => Err(told(&e)),
    }
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
        "hbm.slice_rate=1 B/s",
        "hbm.slice_rate=1 TB/s",
    ];
    for set in sets {
        match time_ns(&[set]) {
            Ok(ns) => assert!(ns.is_finite() && (0.0..1e16).contains(&ns), "{set}: {ns}"),
            Err(e) => assert!(e.starts_with("TW-E"), "{set}: {e}"),
        }
    }
}
