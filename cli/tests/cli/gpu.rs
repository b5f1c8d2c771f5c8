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

/// By kernel: instances that the emulator runs in seconds, where the listed ones are larger.
const SMALL: [&str; 21] = [
    "gqa_decode:mode=A1,s-kv=2048,elem=f16,acc=f32",
    "gqa_decode:mode=A2,s-kv=1024,elem=bf16,acc=f32",
    "gqa_decode:mode=A4,s-kv=512,elem=f16,acc=f16",
    "gqa_decode:mode=B,s-kv=256,elem=f16,acc=f32",
    "gqa_decode:mode=A1,tier=composite,tile=64,s-kv=1024,elem=f16,acc=f32",
    "gqa_decode:mode=A2,tier=composite-fused,tile=64,s-kv=512,elem=bf16,acc=f32",
    "gqa_decode:mode=A1,reduce=scatter,tile=32,s-kv=512,elem=f16,acc=f32",
    "gqa_decode:mode=A2,reduce=scatter,tile=32,s-kv=256,elem=bf16,acc=f32,h-q=40",
    "gqa_decode:mode=A4,reduce=scatter,s-kv=512,elem=f16,acc=f16",
    "gqa_decode:mode=A4,tile=32,s-kv=321,elem=f16,acc=f32",
    "gqa_decode:mode=A2,t-q=8,causal=yes,s-kv=250,elem=bf16,acc=f32",
    "gqa_decode:mode=A1,t-q=2,batch=2,causal=yes,s-kv=300,elem=f16,acc=f32",
    "gqa_prefill:mode=A1,elem=f16,acc=f32,tile=64,s-kv=65,t-q=1,h-q=24,h-kv=8",
    "gqa_prefill:mode=A2,causal=yes,tier=composite-fused,elem=f16,acc=f32,tile=64,s-kv=100,t-q=37,h-q=24,h-kv=8",
    "gqa_prefill:mode=A4,causal=yes,tier=composite,elem=bf16,acc=f32,tile=64,s-kv=40,t-q=40,h-q=8,h-kv=8",
    "long_decode:form=composite,acc=f32,cubes=7,s-kv=1000,h-q=7",
    "long_decode:form=composite_extended,elem=bf16,acc=f32,cubes=12,s-kv=2000",
    "long_decode:form=primitive,acc=f16,cubes=16,s-kv=100,h-q=1,d-head=64",
    "fan_out:policy=stationary,acc=f32,agents=3,t-q=2,suffix=5,s-kv=1000,cubes=7,h-q=3,d-head=64,tile=32",
    "fan_out:policy=distributed,elem=bf16,acc=f32,agents=6,t-q=3,suffix=7,s-kv=700,cubes=3,pes=4,h-q=2,tile=64",
    "fan_out:policy=stationary,acc=f16,agents=4,s-kv=600,cubes=2",
];

#[test]
fn every_kernel_agrees_with_f64_on_the_emulator_for_each_architecture() {
    let kernels = [
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
    ];
    let all = format!("{} {}", kernels.join(" "), SMALL.join(" "));
    for arch in ["sm_80", "sm_90a"] {
        let run = tilewright(&format!("verify {all} --target ptx-emu --arch {arch} --json --quiet"));
        assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
        let json: Value = serde_json::from_str(&run.out).expect("JSON");
        let rows = json["rows"].as_array().expect("rows");
        let of = |kernel: &'static str| {
            rows.iter().filter(move |row| row["instance"].as_str().is_some_and(|name| name.starts_with(kernel)))
        };
        for kernel in kernels.into_iter().chain(["gqa_decode", "gqa_prefill", "long_decode", "fan_out"]) {
            assert!(of(kernel).count() > 2, "{kernel}");
        }
        for row in rows {
            assert_eq!(row["result"], "agrees", "{row}");
            assert_eq!(
                (row["target"].as_str(), row["device"].as_str()),
                (Some("ptx-emu"), Some(&*format!("PTX emulator, {arch}")))
            );
        }
        assert!(run.err.contains(" 0 disagree, 0 failed, 0 skipped"), "{}", run.err);
    }
}
