//! `plan`: figures of the golden files through the command line, the keys of its JSON, and what it explains.

use super::support::{temp_dir, tilewright, tilewright_in};
use insta::assert_snapshot;
use serde_json::Value;

fn json(args: &str) -> Value {
    let run = tilewright(&format!("plan {args} --json"));
    assert_eq!(run.code, 0, "{}", run.err);
    serde_json::from_str(&run.out).expect("it is JSON")
}
fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}
fn golden(file: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../planner/tests/golden/");
    serde_json::from_str(&std::fs::read_to_string(format!("{path}{file}")).expect("a golden file")).expect("JSON")
}
fn near(found: &Value, expected: &Value) {
    let [f, e] = [found, expected].map(|v| v.as_f64().unwrap_or_else(|| panic!("{v} is no number")));
    assert!((f - e).abs() <= 1e-9 * e.abs(), "{f} is not {e}");
}

/// A deployment of the golden files, its keys as flags.
#[test]
fn flags_named_as_golden_keys_give_the_golden_stages() {
    let golden = golden("stages_topologies.json");
    let columns: Vec<&str> =
        golden["stage_columns"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
    let cases = golden["cases"].as_array().expect("cases");
    for name in ["tp16_cube_replicate", "cp32_two_sips_qoml", "dp4_scope_all"] {
        let case = cases.iter().find(|c| c["topology"] == name).expect("a case");
        let topology = golden["topologies"][name].as_object().expect("a topology");
        let flags = topology.iter().map(|(key, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), String::from);
            format!(" --{} {value}", key.replace('_', "-"))
        });
        let asked = format!(
            "stages --method baseline --model {} --s-kv {} --phase {}{}",
            case["model"],
            case["s_kv_tokens"],
            case["mode"].as_str().expect("a phase"),
            flags.collect::<String>()
        );
        let found = json(&asked);
        let stages = found["stages"].as_array().expect("stages");
        for (row, golden) in stages.iter().zip(case["stages"].as_array().expect("rows")) {
            assert_eq!(keys(row), columns);
            assert_eq!((&row["stage"], &row["bound"]), (&golden[0], &golden[8]));
            near(&row["visible_s"], &golden[4]);
        }
        assert_eq!(found["derived"]["total_pes"], case["derived"][0]);
        assert_eq!(found["memory"]["used_bytes"], case["memory"][4]);
        near(&found["totals"]["full_model_latency_ns"], &case["totals"][2]);
    }
}

#[test]
fn searches_give_the_golden_counts_and_first_points() {
    let golden_runs = golden("auto_explore.json");
    let run = &golden_runs["runs"][0];
    let found = json("explore --method baseline --model \"Llama 3 8B\" --s-kv 4096");
    for key in ["enumerated", "feasible", "fits_memory", "placement_valid", "pareto_size"] {
        assert_eq!(found[key], run[key], "{key}");
    }
    near(&found["pareto"][0]["total_latency_ns"], &run["pareto"][0][9]);

    let joint = golden("joint_explore.json");
    let run = joint["runs"].as_array().expect("runs").iter().find(|r| r["depth"] == "balanced").expect("a run");
    let found = json("hardware --method baseline --depth balanced --model \"Llama 3 8B\" --s-kv 4096");
    assert_eq!((&found["hw_candidates"], &found["pareto_size"]), (&run["hw_candidates"], &run["pareto_size"]));
    near(&found["best"][0]["total_latency_ns"], &run["best"][7]);
    assert_eq!(found["sensitivity"][0]["knob"], run["sensitivity"][0][0]);

    let found = json("suggest --method baseline --model \"Llama 3.1 70B\" --s-kv 131072 --b 8");
    assert_eq!((&found["suggestion"][0]["cp"], &found["suggestion"][0]["tp"]), (&Value::from(8), &Value::from(16)));
    let found = json("size --method baseline --users 500 --tpot-slo-s 0.1");
    assert_eq!(
        (&found["size_deployment"][0]["total_pes"], &found["size_deployment"][0]["replicas"]),
        (&184.into(), &46.into())
    );
    let found = json("roofline --method baseline --s-kv 1024");
    near(&found["knee_batch_requests"], &Value::from(44.6735395189));
}

#[test]
fn a_result_says_how_it_was_made_and_what_each_option_changed() {
    let found = json("stages --model \"Llama 3.1 70B\" --s-kv 131072");
    assert_eq!(found["method"], "refined");
    for key in ["derived", "memory", "totals", "stages", "topology", "options", "facts"] {
        assert!(found.get(key).is_some(), "{key}");
    }
    assert!(found["facts"]["machine"].as_str().expect("a text").starts_with("AHBM ("));
    let options = found["options"].as_array().expect("effects");
    let kv_read = options.iter().find(|o| o["option"] == "kv-read").expect("it moved the latency");
    assert_eq!(kv_read["figure"], "full_model_latency_ns");
    assert!(kv_read["change_ratio"].as_f64().expect("a ratio") > 0.1);
    // A single switch, either way.
    assert_eq!(json("stages --method baseline --with kv-read,moe")["method"], "baseline with kv-read, moe");
    assert_eq!(json("stages --without moe")["method"], "refined without moe");
}

#[test]
fn explain_names_bound_formula_and_first_knob() {
    let run = tilewright("plan explain stage S8 --method baseline --model \"Llama 3 8B\" --s-kv 4096");
    let told = run.out.split("\n\n").next().expect("lines").to_string();
    assert_snapshot!(told, @r"
    S8 partial outputs merged over cp: comm bound; double bw_inter_gb_per_s first: 1.0 % shorter
      S8.flops = 6 * b * T * hq * h * (cp - 1) = 6 * 1 * 1 * 4 * 128 * (4 - 1) = 9216 flop
      S8.comm = 2 * (cp - 1) / cp * (b * hq * (h + 2) * e) / bw_inter + 2 * (cp - 1) * a_inter = 2 * (4 - 1) / 4 * (1 * 4 * (128 + 2) * 2) / 128000000000 + 2 * (4 - 1) * 1e-7 = 6.121875e-7 s
      S8.comm_bytes = floor(2 * (cp - 1) / cp * (b * hq * (h + 2) * e)) = floor(2 * (4 - 1) / 4 * (1 * 4 * (128 + 2) * 2)) = 1560 B
      S8.compute = S8.flops / F = 9216 / 6400000000000 = 1.440000e-9 s
      S8.visible = max(S8.compute, S8.comm) = max(1.44e-9, 6.12188e-7) = 6.121875e-7 s
    ");
    let options = json("explain options");
    assert!(options["options"].as_array().expect("options").len() > 25);
    let wrong = tilewright("plan explain S99");
    assert!(wrong.err.contains("TW-E0707") && wrong.err.contains("did you mean"), "{}", wrong.err);
}

#[test]
fn csv_is_the_main_table_with_all_digits() {
    let run = tilewright("plan stages --method baseline --csv");
    let mut lines = run.out.lines();
    assert_eq!(lines.next(), Some("stage,compute_s,memory_s,comm_s,visible_s,flops,mem_bytes,comm_bytes,bound"));
    assert_eq!(lines.next(), Some("S1,2.56e-9,6.4e-8,0.0,6.4e-8,16384,16384,0,memory"));
    assert_eq!(run.out.lines().count(), 18);
}

#[test]
fn every_command_of_the_page_runs() {
    let page = include_str!("../../../docs/planner.md");
    let commands: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("tilewright plan ")).collect();
    assert!(commands.len() >= 10, "{commands:?}");
    // Some write files.
    let dir = temp_dir("plan-page");
    for command in commands {
        let command = command.split('#').next().expect("the command").trim();
        let run = tilewright_in(&dir, &format!("plan {command}"));
        assert!(run.code == 0 && !run.out.is_empty(), "{command}: {}", run.err);
    }
}

/// A machine file is the project's own; its values, and flags over them, reach the figures.
#[test]
fn machine_files_and_flags_set_the_same_values() {
    let by_set = json("roofline --method baseline --set \"hbm.slice_rate=512 GB/s\"");
    let by_flag = json("roofline --method baseline --bw-hbm-gb-per-s 512");
    assert_eq!(by_set["critical_batch_requests"], 15.625);
    assert_eq!(by_flag["critical_batch_requests"], 15.625);
    assert_eq!(by_flag["facts"]["set"], "bw-hbm-gb-per-s = 512");
}

/// The page's table of options is what `plan explain options` prints.
#[test]
fn the_page_lists_every_option() {
    let page = include_str!("../../../docs/planner.md");
    for option in json("explain options")["options"].as_array().expect("options") {
        let text = |key: &str| option[key].as_str().expect("a text").to_string();
        let row = format!("| `{}` | {} | {} |", text("option"), text("baseline"), text("better"));
        assert!(page.contains(&row), "docs/planner.md lacks\n{row}");
    }
}
