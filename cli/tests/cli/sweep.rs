//! The published tables: every golden row, and what a sweep promises about order, resuming and failures.

use crate::support::{self, tilewright};
use std::fs;

const GOLDEN: &str = "../tests/golden";

fn golden(name: &str) -> String {
    fs::read_to_string(format!("{}/{GOLDEN}/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// A sweep, its golden file, rows that it computes and rows that it compares.
const TABLES: [(&str, &str, usize, usize); 10] = [
    ("short-decode --tier baseline", "short_decode_baseline.csv", 16, 12),
    ("short-decode --tier composite", "short_decode_composite.csv", 16, 12),
    ("short-decode --tier composite-fused", "short_decode_composite_fused.csv", 16, 12),
    ("short-prefill --tier baseline", "short_prefill_baseline.csv", 16, 12),
    ("short-prefill --tier composite", "short_prefill_composite.csv", 16, 12),
    ("short-prefill --tier composite-fused", "short_prefill_composite_fused.csv", 16, 12),
    ("long-decode --addressing published --s-kv 8192,131072,262144", "long_decode_case6.csv", 12, 9),
    ("decode-models --addressing published", "decode_models.csv", 6, 5),
    ("decode-streaming", "decode_streaming.csv", 12, 9),
    ("decode-batch", "decode_batch.csv", 11, 8),
];

#[test]
fn every_sweep_has_the_golden_columns_and_meets_every_golden_row() {
    for (sweep, file, rows, compared) in TABLES {
        let run = tilewright(&format!("sweep {sweep} --csv --quiet --check {GOLDEN}"));
        assert_eq!(run.code, 0, "{sweep}: {}", run.err);
        let header = |text: &str| text.lines().find(|l| !l.starts_with('#')).map(String::from);
        assert_eq!(header(&run.out), header(&golden(file)), "{sweep}");
        assert_eq!(run.out.lines().count(), 1 + rows, "{sweep}");
        assert!(run.err.contains(&format!("{compared} rows compared")), "{sweep}: {}", run.err);
    }
}
#[test]
fn contexts_that_no_table_lists_cost_as_much_a_token_as_those_that_it_does() {
    // Tokens in units of 8192, from two tiles a PE on.
    const CONTEXTS: [f64; 5] = [2.0, 3.0, 5.0, 8.0, 12.0];
    let contexts = CONTEXTS.map(|n| (n * 8192.0).to_string()).join(",");
    for sweep in ["short-decode", "short-prefill"] {
        for tier in ["baseline", "composite", "composite-fused"] {
            let rows = json(&format!("{sweep} --tier {tier} --s-kv {contexts}"))["rows"].clone();
            let walls: Vec<f64> = rows.as_array().unwrap().iter().map(|row| row["wall_us"].as_f64().unwrap()).collect();
            for of_mode in walls.chunks(CONTEXTS.len()) {
                let slope = |a: usize, b: usize| (of_mode[b] - of_mode[a]) / (CONTEXTS[b] - CONTEXTS[a]);
                let whole = slope(0, CONTEXTS.len() - 1);
                for i in 1..CONTEXTS.len() {
                    assert!((slope(i - 1, i) / whole - 1.0).abs() < 0.01, "{sweep} {tier}: {of_mode:?}");
                }
            }
        }
    }
}
#[test]
fn what_the_model_does_not_explain_is_told_beside_the_check() {
    let run = tilewright(&format!("sweep decode-models --addressing published --csv --quiet --check {GOLDEN}"));
    assert!(run.err.contains("check: not explained by the model: up to "), "{}", run.err);
}
#[test]
fn the_slices_of_all_pes_are_faster_than_one() {
    let latency = |addressing: &str| -> f64 {
        let args = format!("sweep long-decode --s-kv 131072 --addressing {addressing} --csv --quiet");
        let out = tilewright(&args).out;
        let row = out.lines().find(|l| l.starts_with("composite,")).expect("the row").split(',');
        row.rev().nth(1).and_then(|cell| cell.parse().ok()).expect("a latency")
    };
    // 7/8 of all bytes over one egress of 128 B/ns, against 1/64 of them over a slice of 256 B/ns.
    assert!(latency("published") > 50.0 * latency("sharded"));
}
#[test]
fn another_machine_misses_the_golden_rows_with_exit_code_4() {
    let run =
        tilewright(&format!("sweep short-decode --modes A1 --set cpu.load=\"90 cycles\" --check {GOLDEN} --quiet"));
    assert_eq!(run.code, 4, "{}", run.err);
    assert!(run.err.contains("miss: A1,1,8,8192: wall_us is "), "{}", run.err);
}
#[test]
fn nothing_to_compare_is_a_miss() {
    let run = tilewright(&format!("sweep short-decode --modes A1 --s-kv 24576 --check {GOLDEN} --quiet"));
    assert_eq!(run.code, 4, "{}", run.err);
    assert!(run.err.contains("0 rows compared"), "{}", run.err);
}
#[test]
fn rows_and_event_hashes_are_the_same_for_one_thread_and_many() {
    let [one, four] = [1, 4].map(|n| tilewright(&format!("sweep short-decode --json --quiet --threads {n}")).out);
    assert!(one.contains("over 16 computed rows"), "{one}");
    assert_eq!(one, four);
}
#[test]
fn a_failed_point_stays_as_a_row_with_its_reason() {
    let run = tilewright("sweep short-decode --modes A1,B --s-kv 8192,4294967296 --csv --quiet");
    assert_eq!(run.code, 1, "{}", run.err);
    let failed: Vec<&str> = run.out.lines().filter(|l| l.contains("failed: TW-E0557")).collect();
    assert!(
        matches!(failed[..], [a1, b] if a1.starts_with("A1,1,8,4294967296,") && b.contains(",4294967296,")),
        "{}",
        run.out
    );
    assert_eq!(run.out.lines().count(), 1 + 4);
    assert!(run.err.contains("error[TW-E0557]"), "{}", run.err);
}
#[test]
fn a_sweep_resumes_from_its_file_and_computes_the_rest() {
    let path = support::temp_dir("resume").join("rows.csv");
    let file = path.display();
    let whole = tilewright("sweep short-decode --modes A1,B --s-kv 8192,16384 --csv --quiet").out;
    tilewright(&format!("sweep short-decode --modes A1 --s-kv 8192,16384 --quiet --out {file}"));
    // A kept row is taken as it stands: this mark comes back.
    let marked = fs::read_to_string(&path).unwrap().replace("57.75", "57.5");
    fs::write(&path, marked).unwrap();
    let resumed = tilewright(&format!("sweep short-decode --modes A1,B --s-kv 8192,16384 --csv --quiet --out {file}"));
    assert_eq!((resumed.code, resumed.out), (0, whole.replace("57.75", "57.5")));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1 + 4);
    // Rows of another accumulator are not these rows.
    let other = tilewright(&format!("sweep short-decode --modes A1 --s-kv 8192 --acc f32 --csv --quiet --out {file}"));
    assert!(other.code == 0 && !other.out.contains("57.5"), "{}{}", other.out, other.err);
}
#[test]
fn a_row_that_was_cut_short_is_computed_again() {
    let path = support::temp_dir("cut").join("rows.csv");
    let args = format!("sweep short-decode --modes B --s-kv 8192,16384 --csv --quiet --out {}", path.display());
    let whole = tilewright(&args).out;
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 30]).unwrap();
    assert_eq!(tilewright(&args).out, whole);
    let lines: Vec<String> = fs::read_to_string(&path).unwrap().lines().map(String::from).collect();
    assert_eq!((lines.len(), lines.last().map(String::as_str)), (4, text.lines().last()));
}
#[test]
fn the_file_of_another_sweep_is_refused() {
    let path = support::temp_dir("other").join("rows.csv");
    fs::write(&path, "a,b\n1,2\n").unwrap();
    let run = tilewright(&format!("sweep decode-batch --quiet --out {}", path.display()));
    assert_eq!(run.code, 1);
    assert!(run.err.contains("error[TW-E0823]"), "{}", run.err);
    assert_eq!(fs::read_to_string(&path).unwrap(), "a,b\n1,2\n");
}
#[test]
fn data_gives_the_same_times_and_checks_values() {
    let args = "sweep short-decode --modes B --s-kv 8192 --csv --quiet";
    let (shapes, data) = (tilewright(args), tilewright(&format!("{args} --with-data --acc f16")));
    assert_eq!((data.code, data.out), (0, shapes.out), "{}", data.err);
}
#[test]
fn a_plot_has_every_row_as_svg_and_the_same_picture_as_png() {
    let dir = support::temp_dir("plots");
    for (sweep, figures) in [
        ("short-decode --modes A1,B --s-kv 8192,16384", 6),
        ("decode-batch --modes A2", 2),
        ("decode-batch-m --modes A2 --s-kv 8192 --batch 1,4", 3),
        ("decode-streaming --s-kv 2048,4096", 2),
        ("long-decode --s-kv 8192 --cubes 7,8", 3),
        ("decode-models", 3),
        ("fan-out --s-kv 8192 --agents 1,8", 2),
        ("hw --s-kv 4096 --factors 1,2 --cubes 2", 2),
    ] {
        let run = tilewright(&format!("sweep {sweep} --csv --quiet --plot \"{}\"", dir.join(sweep).display()));
        assert_eq!(run.code, 0, "{sweep}: {}", run.err);
        assert!(run.err.contains(&format!("plot: {} files in ", 2 * figures)), "{sweep}: {}", run.err);
    }
    let folder = dir.join("short-decode --modes A1,B --s-kv 8192,16384");
    let svg = fs::read_to_string(folder.join("short-decode-baseline-latency.svg")).unwrap();
    // A curve a mode, a dot a row; both names in the legend.
    assert_eq!((svg.matches("<polyline").count(), svg.matches("<circle").count()), (2, 4), "{svg}");
    assert!([">A1<", ">B<", ">8K<", ">16K<"].iter().all(|word| svg.contains(word)), "{svg}");
    let png = fs::read(folder.join("short-decode-baseline-latency.png")).unwrap();
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
    let side = |at: usize| u32::from_be_bytes([png[at], png[at + 1], png[at + 2], png[at + 3]]);
    assert_eq!((side(16), side(20)), (2 * 760, 2 * 420));
    // Tiers that the sweep was not asked for are beside the first, which is 1.
    let tiers = fs::read_to_string(folder.join("short-decode-tiers.svg")).unwrap();
    assert!(["baseline", "composite", "composite-fused"].iter().all(|tier| tiers.contains(&format!(">{tier}<"))));

    let file = dir.join("a file");
    fs::write(&file, "").unwrap();
    let run = tilewright(&format!("sweep decode-batch --modes A2 --csv --quiet --plot \"{}\"", file.display()));
    assert!(run.code == 1 && run.err.contains("error[TW-E0804]: cannot write"), "{}", run.err);
}

/// The rows of a sweep in JSON, and what it says of itself.
fn json(args: &str) -> serde_json::Value {
    let run = tilewright(&format!("sweep {args} --json --quiet"));
    assert_eq!(run.code, 0, "{args}: {}", run.err);
    serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{args}: {e}\n{}", run.out))
}
#[test]
fn agents_gain_where_they_share_what_is_read_once() {
    let rows = json("fan-out --s-kv 8192 --agents 1,8 --cubes 8")["rows"].clone();
    let of = |policy: &str, agents: u64, column: &str| {
        let same = |row: &&serde_json::Value| row["policy"] == policy && row["agents"] == agents;
        rows.as_array().unwrap().iter().find(same).map(|row| row[column].as_f64().unwrap())
    };
    // An agent by itself is its own measure, eight read eight prefixes one after the other.
    assert_eq!((of("per_agent", 1, "gain"), of("per_agent", 8, "gain")), (Some(1.0), Some(1.0)));
    assert_eq!(of("per_agent", 8, "latency_us"), of("per_agent", 1, "latency_us").map(|us| 8.0 * us));
    let [alone, shared] = ["per_agent", "stationary"].map(|policy| of(policy, 8, "hbm_read_mb").unwrap());
    assert!(shared < alone / 4.0, "{shared} MiB against {alone}");
    let [stationary, distributed] = ["stationary", "distributed"].map(|policy| of(policy, 8, "gain").unwrap());
    assert!(stationary > 1.5 && stationary > distributed, "{stationary} and {distributed}");
    // Rows go over the cubes by whole agents, so that one agent is not distributed over eight.
    assert_eq!(of("distributed", 1, "gain"), None);
}
#[test]
fn requests_over_one_context_share_what_is_read_and_fill_the_products() {
    let rows = json("decode-batch-m --modes A1 --s-kv 8192 --batch 1,4,16 --tier composite")["rows"].clone();
    let of = |batch: u64, column: &str| {
        rows.as_array().unwrap().iter().find(|row| row["B"] == batch).map(|row| row[column].as_f64().unwrap()).unwrap()
    };
    // One request is what `short-decode` times.
    let alone = json("short-decode --modes A1 --s-kv 8192 --tier composite")["rows"][0].clone();
    assert_eq!((of(1, "wall_us"), of(1, "gain")), (alone["wall_us"].as_f64().unwrap(), 1.0));
    assert_eq!([1, 4, 16].map(|b| (of(b, "rows"), of(b, "padded_rows"))), [(8.0, 32.0), (32.0, 32.0), (128.0, 128.0)]);
    // A composite pads 8 rows to 32: four requests multiply as long as one, for four times as many products.
    assert!(of(4, "gemm_util") > 3.0 * of(1, "gemm_util"), "{rows}");
    assert!(of(4, "gain") > 2.5 && of(16, "gain") > of(4, "gain"), "{rows}");
    // With sums in f32 the rows of 16 requests leave room for half a tile.
    let wide = json("decode-batch-m --modes B --s-kv 8192 --batch 16 --acc f32")["rows"][0].clone();
    assert_eq!((wide["rows"].as_u64(), wide["tile"].as_u64()), (Some(128), Some(512)));
    // A PE that has fewer tokens than a tile takes a shorter one.
    let short = json("decode-batch-m --modes A1 --s-kv 4096 --batch 1")["rows"][0].clone();
    assert_eq!(short["tile"].as_u64(), Some(512));
    // Keys and values are read once, rows of queries for each.
    assert!(of(16, "hbm_read_mb") < 1.2 * of(1, "hbm_read_mb"), "{rows}");
}
#[test]
fn a_search_of_machines_resumes_and_tells_sensitivities_front_and_balance() {
    let path = support::temp_dir("hw").join("rows.csv");
    let args = format!("hw --s-kv 4096 --factors 1,2 --cubes 2 --out {}", path.display());
    let first = json(&args);
    let rows = first["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3 * 16);
    let wall = |phase: &str, factors: [u64; 4]| {
        let names = ["gemm", "math", "cube", "sip"];
        let same = |row: &&serde_json::Value| {
            row["phase"] == phase && names.iter().zip(factors).all(|(name, factor)| row[*name] == factor)
        };
        rows.iter().find(same).and_then(|row| row["wall_us"].as_f64()).unwrap()
    };
    // No rate that is doubled makes a phase slower, and each is used by one of them.
    for phase in ["decode", "chunk", "prefill"] {
        assert!(wall(phase, [2, 2, 2, 2]) < wall(phase, [1, 1, 1, 1]), "{phase}");
    }
    for knob in 0..4 {
        let mut doubled = [1; 4];
        doubled[knob] = 2;
        assert!(wall("chunk", doubled) < wall("chunk", [1; 4]), "{knob}");
    }
    // A KV head of prefill has a cube, and nothing passes between cubes or SIPs.
    assert!(wall("prefill", [2, 1, 1, 1]) < wall("prefill", [1; 4]));
    assert_eq!(wall("prefill", [1, 1, 2, 2]), wall("prefill", [1; 4]));
    let facts = first["facts"].as_object().unwrap();
    for name in ["sensitivity to gemm", "sensitivity to sip", "front 1", "balanced (least latency x area)"] {
        let told = facts.iter().find(|(fact, _)| fact.starts_with(name)).map(|(_, text)| text.as_str().unwrap());
        assert!(told.is_some_and(|text| text.contains("decode")), "{name}: {facts:?}");
    }
    // All rows are kept: nothing is computed again, and the findings are the same.
    let again = json(&args);
    assert!(again["facts"]["event hash"].as_str().unwrap().ends_with("over 0 computed rows"), "{again}");
    assert_eq!((&again["rows"], again["facts"].get("front 1")), (&first["rows"], facts.get("front 1")));
    let other = json(&format!("{args} --area gemm=0.5"));
    assert_ne!(other["rows"][47]["area"], rows[47]["area"], "rows of other shares are not these rows");
}
