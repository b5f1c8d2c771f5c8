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
    let run = tilewright("sweep short-decode --modes A1,B --s-kv 1024,8192 --csv --quiet");
    assert_eq!(run.code, 1, "{}", run.err);
    let failed: Vec<&str> = run.out.lines().filter(|l| l.contains("failed: TW-E0555")).collect();
    assert!(matches!(failed[..], [row] if row.starts_with("A1,1,8,1024,")), "{}", run.out);
    assert_eq!(run.out.lines().count(), 1 + 4);
    assert!(run.err.contains("error[TW-E0555]"), "{}", run.err);
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
        ("decode-streaming --s-kv 2048,4096", 2),
        ("long-decode --s-kv 8192 --cubes 7,8", 3),
        ("decode-models", 3),
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
