//! What `bench` says of a GPU where there is none: the rows that it would time, with the peers beside them.

use super::support::tilewright;

#[test]
fn rows_are_listed_with_the_fastest_peer_and_peers_without_a_row_are_named() {
    let run = tilewright(
        "bench decode extend --list --shape b=16,d=64,dtype=f16 --shape tq=8,d=64,dtype=f16 --peers tests/data/peers.jsonl",
    );
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    // The table's columns are as wide as their widest cell; one blank stands for any number of them.
    let lines: Vec<String> = run.out.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let instance = "gqa_decode:mode=B,h-q=1024,h-kv=128,s-kv=8192,d-head=64,elem=f16,acc=f32";
    let extended = "gqa_decode:mode=A1,h-q=64,h-kv=8,t-q=8,s-kv=8192,d-head=64,elem=f16,acc=f32";
    let long = "gqa_decode:mode=A1,h-q=64,h-kv=8,t-q=8,s-kv=65536,d-head=64,elem=f16,acc=f32";
    assert_eq!(
        lines,
        [
            "op shape instance best_peer peer_us".to_string(),
            format!("decode b=16,tq=1,s=8192,hq=64,hkv=8,d=64,dtype=float16 {instance} triton_split64 64.50"),
            format!("extend b=1,tq=8,s=8192,hq=64,hkv=8,d=64,causal=false,dtype=float16 {extended} triton 50.20"),
            format!("extend b=1,tq=8,s=65536,hq=64,hkv=8,d=64,causal=false,dtype=float16 {long}"),
            "peers without a row of ours: gemm m=1024,n=1024,k=1024,dtype=float16 (cublas)".to_string(),
        ]
    );
}

#[test]
fn without_a_word_every_group_is_listed_and_an_instance_stands_for_itself() {
    let all = tilewright("bench --list --csv").out;
    for op in ["vector_add", "decode", "extend", "prefill", "gemm"] {
        assert!(all.lines().any(|line| line.starts_with(op)), "{op}\n{all}");
    }
    let none = tilewright("bench launch --list --csv").out;
    assert_eq!(none, "op,shape,instance,best_peer,peer_us\n", "launches and messages are no kernel's work");
    let one = tilewright("bench matmul:m=3,n=4,k=5,elem=f32 --list --csv").out;
    assert_eq!(
        one,
        "op,shape,instance,best_peer,peer_us\ngemm,\"m=3,n=4,k=5,dtype=float32\",\"matmul:m=3,n=4,k=5,elem=f32\",,\n"
    );
}

#[test]
fn what_cannot_be_timed_is_told_before_a_gpu_is_looked_for() {
    for (args, code) in [
        ("bench nothing", "TW-E0801"),
        ("bench decode --shape s=1", "TW-E0845"),
        ("bench decode --shape s", "TW-E0844"),
        ("bench decode --peers missing.jsonl", "TW-E0"),
    ] {
        let run = tilewright(args);
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{args}");
        assert!(run.err.starts_with(&format!("error[{code}")), "{args}: {}", run.err);
    }
}
