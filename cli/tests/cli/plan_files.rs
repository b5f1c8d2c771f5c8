//! What `plan report`, `plan picture` and `plan check` give.

use crate::support::{temp_dir, tilewright_in};
use serde_json::Value;

#[test]
fn the_report_is_one_page_that_names_no_other() {
    let dir = temp_dir("plan-report");
    let run = tilewright_in(&dir, "plan report --model \"Llama 3 8B\" --s-kv 8192 --cp 2 --out page.html");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let page = std::fs::read_to_string(dir.join("page.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("Where to put"));
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "the page mentions {outside}");
    }
}

#[test]
fn pictures_are_files_of_the_kind_that_their_name_says() {
    let dir = temp_dir("plan-pictures");
    let run = tilewright_in(&dir, "plan picture --view pipeline --out a.svg --json");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(std::fs::read_to_string(dir.join("a.svg")).unwrap().starts_with("<svg"));
    tilewright_in(&dir, "plan picture --view sip --width 600 --out a.png");
    assert!(std::fs::read(dir.join("a.png")).unwrap().starts_with(b"\x89PNG"));
    let refused = [
        ("--view pipelin", "error[TW-E0707]"),
        ("--out a.gif", "error[TW-E0707]"),
        ("--width 20", "error[TW-E0712]"),
        ("--out nowhere/a.svg", "error[TW-E0804]"),
    ];
    for (flags, code) in refused {
        let run = tilewright_in(&dir, &format!("plan picture {flags}"));
        assert!(run.code != 0 && run.err.contains(code), "{flags}: {}", run.err);
    }
}

#[test]
fn the_refined_method_is_near_the_simulator_or_says_why() {
    let dir = temp_dir("plan-check");
    let run = tilewright_in(&dir, "plan check --model \"Llama 3.1 70B\" --s-kv 16384 --json");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let answer: Value = serde_json::from_str(&run.out).unwrap();
    let rows = answer["stages"].as_array().unwrap();
    assert!(rows.len() >= 8, "{rows:?}");
    let text = tilewright_in(&dir, "plan check --model \"Llama 3.1 70B\" --s-kv 16384").out;
    for row in rows {
        let (mapping, stage) = (row["mapping"].as_str().unwrap(), row["stage"].as_str().unwrap());
        let gap = row["refined_gap_ratio"].as_f64().unwrap();
        let simulated = row["simulated_s"].as_f64().unwrap();
        assert!(simulated > 0.0 && gap.abs() < 1.0, "{row}");
        let told = text.lines().any(|line| line.starts_with(&format!("{mapping} {stage}: ")));
        assert_eq!(told, gap.abs() > 0.15, "{row}");
    }
}
