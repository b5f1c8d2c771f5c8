//! What results say of themselves in each form, and the exit code of each kind of end.

use super::support::{self, tilewright};
use serde_json::Value;

fn json(args: &str) -> Value {
    let run = tilewright(&format!("{args} --json"));
    assert_eq!(run.code, 0, "{args}\n{}", run.err);
    serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{args}: {e}\n{}", run.out))
}
fn us(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("no `{name}` in {row}"))
}

#[test]
fn a_fidelity_gives_its_time_and_its_name() {
    let args = "run gqa_decode --timing-only --fidelity";
    let all = json(&format!("{args} all"));
    let gap = &all["rows"][0];
    for fidelity in ["roofline", "schedule", "events"] {
        let one = json(&format!("{args} {fidelity}"));
        assert_eq!(one["facts"]["fidelity"], fidelity, "{one}");
        assert_eq!(us(&one["rows"][0], "wall_us"), us(gap, &format!("{fidelity}_us")), "{fidelity}");
    }
    assert_eq!(all["facts"]["fidelity"], "events");
    assert!(us(gap, "roofline_us") < us(gap, "schedule_us") && us(gap, "schedule_us") <= us(gap, "events_us"), "{gap}");
    // The gap says what makes it: a resource and its PE, what the CPUs waited for, the busiest server.
    for (name, part) in
        [("roofline_why", "slice traffic of cube 0 PE 0"), ("schedule_why", "wait-hbm"), ("events_why", "port of")]
    {
        assert!(gap[name].as_str().is_some_and(|why| why.contains(part)), "{name}: {gap}");
    }
}

#[test]
fn a_fidelity_that_does_not_exist_is_a_usage_error() {
    let run = tilewright("run gqa_decode --fidelity exact");
    assert_eq!(run.code, 1);
    assert!(run.err.contains("[possible values: roofline, schedule, events, all]"), "{}", run.err);
}

#[test]
fn every_form_says_backend_machine_fidelity_and_seed() {
    let args = "run vector_add --n 100 --seed 7";
    let facts = &json(args)["facts"];
    let csv = tilewright(&format!("{args} --csv"));
    assert_eq!((csv.code, csv.out.lines().count()), (0, 2), "a head and a row:\n{}", csv.out);
    let table = tilewright(args).out;
    for (name, value) in
        [("backend", "sim"), ("machine", "AHBM ("), ("fidelity", "events"), ("inputs", "random, seed 7")]
    {
        assert!(facts[name].as_str().is_some_and(|fact| fact.starts_with(value)), "{name}: {facts}");
        assert!(csv.err.lines().any(|l| l.starts_with(&format!("{name}: {value}"))), "{name}:\n{}", csv.err);
        assert!(table.contains(value), "{name}:\n{table}");
    }
    let sweep = &json("sweep short-decode --modes B --s-kv 8192 --with-data --seed 7 --quiet")["facts"];
    for (name, value) in
        [("backend", "sim"), ("machine", "AHBM ("), ("fidelity", "events"), ("inputs", "random, seed 7")]
    {
        assert!(sweep[name].as_str().is_some_and(|fact| fact.starts_with(value)), "{name}: {sweep}");
    }
}

#[test]
fn a_machine_that_is_shown_can_be_loaded_and_gives_the_same_time() {
    let dir = support::temp_dir("shown");
    let shown = tilewright("machine show --set hbm.slice_rate=\"512 GB/s\"").out;
    assert!(shown.contains("slice_rate") && shown.contains("512 GB/s"), "{shown}");
    std::fs::write(dir.join("fast.toml"), &shown).expect("it can be written");
    let wall = |args: &str| us(&json(&format!("run gqa_decode --timing-only {args}"))["rows"][0], "wall_us");
    let fast = wall(&format!("--machine {}", dir.join("fast.toml").display()));
    assert_eq!(fast, wall("--set hbm.slice_rate=\"512 GB/s\""));
    assert!(fast < wall(""), "{fast}");
}

#[test]
fn the_schema_is_json_and_names_every_section() {
    let schema: Value = serde_json::from_str(&tilewright("machine schema").out).expect("JSON");
    assert!(
        ["topology", "hbm", "queue", "gemm", "cpu"].iter().all(|name| schema["properties"][name].is_object()),
        "{schema}"
    );
}

#[test]
fn a_check_before_a_run_can_be_left_out() {
    let [checked, unchecked] = ["", "--no-check"].map(|flag| json(&format!("run gqa_decode --timing-only {flag}")));
    assert_eq!(checked["rows"], unchecked["rows"], "a check changes no time");
}

#[test]
fn stages_of_the_ir_differ_and_read_back() {
    let dir = support::temp_dir("stages");
    let [traced, optimised] = ["traced", "optimised"].map(|stage| {
        let run = tilewright(&format!("ir layer_norm:elem=f16 --stage {stage}"));
        assert_eq!(run.code, 0, "{}", run.err);
        let path = dir.join(format!("{stage}.tir"));
        std::fs::write(&path, &run.out).expect("it can be written");
        assert_eq!(tilewright(&format!("ir {}", path.display())).out, run.out, "{stage}");
        run.out
    });
    assert_ne!(traced, optimised);
    assert!(tilewright("ir layer_norm:elem=f16 --stage optimised --remarks").err.is_empty());
}

#[test]
fn any_kernel_runs_on_several_cubes() {
    for kernel in tilewright("ir --list")
        .out
        .lines()
        .filter_map(|l| l.split(':').next())
        .collect::<std::collections::BTreeSet<_>>()
    {
        // These have a grid that their tensors follow.
        let fixed = ["gqa_decode", "gqa_prefill", "long_decode", "fan_out"];
        if !fixed.contains(&kernel)
            && !["persistent_matmul", "prefix_sum", "read_contiguous", "read_slabs"].contains(&kernel)
        {
            let run = tilewright(&format!("run {kernel} --grid 2x8 --timing-only --json"));
            assert_eq!(run.code, 0, "{kernel}: {}", run.err);
        }
    }
    let run = tilewright("run vector_add --n 30000 --grid 2x8");
    assert!(run.code == 0 && run.out.contains("agrees with f64"), "{}{}", run.out, run.err);
}

#[test]
fn exit_codes_tell_how_a_command_ended() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden");
    let one_point = "sweep short-decode --modes B --s-kv 8192 --quiet";
    let ends = [
        (0, "run vector_add --n 10".to_string()),
        (0, format!("{one_point} --check {golden}")),
        (1, "run vector_add --n 0".to_string()),
        (1, "run".to_string()),
        (1, "run vector_add --machine none.toml".to_string()),
        (2, "ir tests/data/unclosed.tir".to_string()),
        (4, format!("{one_point} --check {golden} --set hbm.slice_rate=\"128 GB/s\"")),
    ];
    for (code, args) in ends {
        let run = tilewright(&args);
        assert_eq!(run.code, code, "{args}\n{}{}", run.out, run.err);
        // A miss is a result that was computed as asked, and no error.
        assert_eq!([1, 2].contains(&code), run.err.contains("error"), "{args}: {}", run.err);
    }
}
