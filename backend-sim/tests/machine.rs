//! The shipped machine: its arithmetic as the published study states it.

use std::sync::atomic::{AtomicU32, Ordering};
use tilewright_core::elem::ElemType;
use tilewright_sim::machine::{FieldId, Machine, Status, field, quantity};
use tilewright_sim::units::{Bytes, Cycles, Ps};

#[test]
fn the_shipped_constants_give_the_published_times() {
    let m = Machine::ahbm();
    assert_eq!(m.hbm.slice_rate.time_for(128 << 10), Ps::from_ns(512)); // K of a decode tile: 128 KiB at 256 B/ns
    assert_eq!(m.gemm_time(ElemType::F16, 8, 1024, 64), Ps(131_072)); // 2 * 8 * 1024 * 64 / 8000
    assert_eq!(m.composite_tile_time(ElemType::F16), Ps(16_384)); // 2 * 32 * 32 * 64 / 8000
    assert_eq!(m.scratch.rate.time_for(8192), Ps::from_ns(16)); // an A and a B tile
    assert_eq!(m.math_time(8 * 1024), Ps::from_ns(32));
    assert_eq!(m.math_time(8), Ps::from_ns(1)); // a whole number of quanta
    assert_eq!(m.cycles(Cycles(43)), Ps::from_ns(43));
    assert_eq!(m.scratch.capacity, Bytes(1 << 20));
    assert_eq!(m.status(field::cpu::select), Status::Assumed);
}

/// A file with this text, loaded with these flags; the folder is removed.
fn load(text: &str, sets: &[&str]) -> Machine {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("good-{}-{}.toml", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let machine = Machine::load(path.to_str().unwrap(), &sets);
    std::fs::remove_file(&path).unwrap();
    machine.unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_printed_machine_loads_to_itself() {
    let sets = ["hbm.slice_rate=250 GiB/s", "queue.setup=0.123 ns", "gemm.factor_f32=0.3", "scratch.capacity=1000 B"];
    let changed = load("name = \"mine \\\"X\\\"\"\nextends = \"ahbm\"\n", &sets);
    for machine in [Machine::ahbm(), changed] {
        assert_eq!(load(&machine.to_toml(), &[]), machine);
    }
}

/// Units, prefixes and spellings that load, each with its value in base units.
#[test]
fn a_value_may_be_written_in_any_of_its_units() {
    let rows = [
        (
            "hbm.slice_rate",
            256_000_000_000,
            &["256 GB/s", "0.256 TB/s", "256000 MB/s", "2.56e11 B/s", "256_000 MB/s"][..],
        ),
        ("hbm.slice_rate", 274_877_906_944, &["256 GiB/s", "0.25 TiB/s"]),
        ("hbm.read_latency", 13_000, &["13 ns", "13ns", "13000 ps", "0.013 us", "\"13 ns\"", " 13.000 ns "]),
        ("scratch.capacity", 1 << 20, &["1 MiB", "1024 KiB", "1048576 B", "1.048576 MB"]),
        ("cpu.clock", 1_000_000_000, &["1 GHz", "1000 MHz"]),
        ("cpu.load", 9, &["9 cycles", "9e0 cycles"]),
        ("gemm.peak_f16", 8_000_000_000_000, &["8 TFLOP/s", "0.008 PFLOP/s"]),
        ("gemm.factor_f64", 125_000, &["0.125", "1.25e-1"]),
        ("queue.depth", 4, &["4", "4.0"]),
    ];
    for (path, base, texts) in rows {
        let id = FieldId::find(path).unwrap();
        for text in texts {
            let machine = load("extends = \"ahbm\"\n", &[&format!("{path}={text}")]);
            assert_eq!(machine.value(id), base, "{path}={text}");
            assert_eq!(machine.status(id), Status::Set);
        }
    }
}

#[test]
fn every_field_loads_at_both_ends_of_its_range_and_not_beyond() {
    let load = |id: FieldId, units: u64| {
        let value = quantity::show(id.row().kind, units);
        Machine::load("ahbm", &[format!("{id}={value}")]).map(|m| m.value(id))
    };
    for id in FieldId::all() {
        let (min, max) = id.row().range;
        assert_eq!(load(id, min).ok(), Some(min), "{id}");
        // The number of PEs has a limit of its own.
        assert!(load(id, max).ok() == Some(max) || id.row().section == "topology", "{id}");
        assert!(load(id, max + 1).is_err() && (min == 0 || load(id, min - 1).is_err()), "{id}");
    }
}

#[test]
fn the_hash_follows_every_value_and_no_name() {
    let ahbm = Machine::ahbm();
    assert_eq!(load(&ahbm.to_toml().replace("name = \"AHBM\"", "name = \"Other\""), &[]).hash(), ahbm.hash());
    let mut seen = vec![ahbm.hash()];
    for id in FieldId::all() {
        let next = if ahbm.value(id) < id.row().range.1 { ahbm.value(id) + 1 } else { id.row().range.0 };
        let value = quantity::show(id.row().kind, next);
        seen.push(Machine::load("ahbm", &[format!("{id}={value}")]).unwrap().hash());
    }
    let all = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), all);
}

/// A file far down sets what a file above it does not.
#[test]
fn the_nearest_file_decides() {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("nearest-{}", std::process::id()));
    std::fs::create_dir_all(dir.join("sub")).unwrap();
    std::fs::write(
        dir.join("base.toml"),
        "name = \"base\"\nextends = \"ahbm\"\n[queue]\ndepth = 2\nsetup = \"1 ns\"\n",
    )
    .unwrap();
    std::fs::write(dir.join("sub/top.toml"), "extends = \"../base.toml\"\nqueue.depth = 3\n").unwrap();
    let machine =
        Machine::load(dir.join("sub/top.toml").to_str().unwrap(), &["queue.latency=5 ns".to_owned()]).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!((machine.queue.depth, machine.queue.setup, machine.queue.latency), (3, Ps::from_ns(1), Ps::from_ns(5)));
    assert_eq!(machine.name, "top");
    assert_eq!(machine.status(field::queue::setup), Status::Set);
    assert_eq!(machine.status(field::queue::unit_overhead), Status::Derived);
}

/// Last start against first: what the published aggregate latency has on top of one user's.
#[test]
fn users_start_apart_by_the_published_offsets() {
    let m = Machine::ahbm();
    let spread = |users, cubes| m.user_starts(users, cubes).into_iter().max();
    assert_eq!(spread(1, 8), Some(Ps(0)));
    assert_eq!(spread(2, 8), Some(Ps(66_020))); // 10 + 8 * 16.16 - 2 * 36.63
    assert_eq!(spread(4, 4), Some(Ps(114_030))); // 3 * (10 + 4 * 16.16 - 36.63)
    assert_eq!(spread(2, 1), Some(Ps(32_320))); // 48.48 - 16.16
    assert_eq!(spread(16, 1), Some(Ps(568_830))); // 15 * 48.48 - 3 * 16.16 - 3 * 36.63
    assert_eq!(m.user_starts(0, 1), []);
}

/// The table of docs/machine.md, from the rows. `UPDATE_DOCS=1` rewrites it.
#[test]
fn the_manual_lists_every_field() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/machine.md");
    let page = std::fs::read_to_string(path).unwrap();
    let marker = "from the rows of `backend-sim/src/machine/spec.rs` -->\n";
    let (before, after) = page.split_once(marker).unwrap();
    let mut table = "\n| field | AHBM | status | from | to | meaning |\n|---|---|---|---|---|---|\n".to_owned();
    let ahbm = Machine::ahbm();
    for id in FieldId::all() {
        let (row, show) = (id.row(), |units| quantity::show(id.row().kind, units));
        let (value, status, (min, max)) = (show(ahbm.value(id)), ahbm.status(id), row.range);
        table += &format!("| `{id}` | {value} | {status} | {} | {} | {} |\n", show(min), show(max), row.doc.trim());
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{marker}{table}")).unwrap();
    }
    assert!(after == table || std::env::var_os("UPDATE_DOCS").is_some(), "UPDATE_DOCS=1 cargo test -p tilewright-sim");
}
