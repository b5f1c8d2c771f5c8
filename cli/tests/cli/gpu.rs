//! What the commands say of GPUs where there is none: the PTX of a kernel, its figures, its layouts, and its values on the
//! emulator.

use super::support::{self, tilewright};
use serde_json::Value;

fn ok(args: &str) -> String {
    let run = tilewright(args);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{args}\n{}", run.out);
    run.out
}

#[test]
fn the_ptx_stage_prints_one_module_and_nothing_else() {
    for (flags, arch, threads) in [("", "sm_90a", 256), ("--arch sm_80 --threads 128", "sm_80", 128)] {
        let ptx = ok(&format!("ir vector_add:elem=f32 --stage ptx {flags}"));
        assert!(ptx.starts_with(".version "), "{ptx}");
        assert!(ptx.contains(&format!("\n.target {arch}\n")), "{ptx}");
        assert!(ptx.contains(&format!("\n.reqntid {threads}, 1, 1\n.minnctapersm ")), "{ptx}");
        assert!(ptx.ends_with("\n}\n"), "{ptx}");
    }
}

#[test]
fn figures_follow_the_ptx_as_comments_and_are_json_beside_it() {
    let (ptx, all) = (ok("ir row_softmax:elem=f32 --stage ptx"), ok("ir row_softmax:elem=f32 --stage ptx --stats"));
    let figures = all.strip_prefix(&ptx).expect("the same text first");
    assert!(figures.lines().all(|line| line.starts_with("// ")), "{figures}");
    for name in ["parameters: ", "grid: ", "threads: 64", "by opcode: ", "ptxas: ", "lowering ms: "] {
        assert!(figures.lines().any(|line| line.starts_with(&format!("// {name}"))), "{name}\n{figures}");
    }
    let json: Value = serde_json::from_str(&ok("ir row_softmax:elem=f32 --stage ptx --stats --json")).expect("JSON");
    assert_eq!((json["text"].as_str(), json["arch"].as_str()), (Some(ptx.as_str()), Some("sm_90a")));
    let stats = &json["stats"];
    let opcodes = stats["by opcode"].as_object().expect("opcodes");
    let sum: u64 = opcodes.values().filter_map(Value::as_u64).sum();
    assert_eq!(stats["instructions"].as_u64(), Some(sum), "{stats}");
    let statements = ptx.lines().filter(|line| line.starts_with("    ") && !line.contains(".reg ")).count();
    assert_eq!(sum, statements as u64, "every instruction is counted once");
    assert!(stats["all ms"].as_f64().is_some_and(|ms| ms > 0.0), "{stats}");
}

#[test]
fn the_layout_stage_says_where_every_tile_lies() {
    let layout = ok("ir vector_add:elem=f32 --stage layout");
    for part in ["kernel @vector_add: 256 threads", "layouts", "conversions", "shared memory", "barriers"] {
        assert!(layout.contains(part), "{part}\n{layout}");
    }
}

#[test]
fn a_file_is_compiled_for_any_launch() {
    let path = support::temp_dir("ptx_of_a_file").join("add.tir");
    std::fs::write(&path, ok("ir vector_add:elem=f32")).expect("it can be written");
    let ptx = ok(&format!("ir {} --stage ptx", path.display()));
    assert!(ptx.contains("ld.global") && ptx.contains(".entry tw_vector_add"), "{ptx}");
    // Nothing is known of lengths, so there is less to be read at once.
    assert_ne!(ptx, ok("ir vector_add:elem=f32 --stage ptx"));
}

#[test]
fn what_has_no_ptx_yet_is_told_with_its_line() {
    let run = tilewright("ir gqa_decode:mode=A1 --stage ptx");
    // The kernel is not at fault.
    assert_eq!((run.code, run.out.as_str()), (1, ""), "{}", run.err);
    assert!(run.err.starts_with("error[TW-E0610]: `recv` has no PTX yet"), "{}", run.err);
}

#[test]
fn every_kernel_that_has_ptx_agrees_with_f64_on_the_emulator_for_each_architecture() {
    for arch in ["sm_80", "sm_90a"] {
        let run = tilewright(&format!("verify --target ptx-emu --arch {arch} --json --quiet"));
        assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
        let json: Value = serde_json::from_str(&run.out).expect("JSON");
        let rows = json["rows"].as_array().expect("rows");
        let of = |kernel: &'static str| {
            rows.iter().filter(move |row| row["instance"].as_str().is_some_and(|name| name.starts_with(kernel)))
        };
        for kernel in [
            "vector_add",
            "row_softmax",
            "layer_norm",
            "dropout",
            "histogram",
            "read_contiguous",
            "read_slabs",
            "matmul",
            "matmul_leaky_relu",
            "persistent_matmul",
            "grouped_gemm",
            "fused_attention",
            "gqa_decode:mode=B",
        ] {
            assert!(of(kernel).count() > 2, "{kernel}");
            for row in of(kernel) {
                assert_eq!(row["result"], "agrees", "{row}");
                assert_eq!(
                    (row["target"].as_str(), row["device"].as_str()),
                    (Some("ptx-emu"), Some(&*format!("PTX emulator, {arch}")))
                );
            }
        }
        assert!(run.err.contains(" 0 disagree, 0 failed, ") && run.err.contains("TW-E0610 `recv`"), "{}", run.err);
    }
}
