//! Flags of all queries, named as the keys of results.

use clap::{Arg, ArgAction};
use tilewright_harness::cli::{machine_args, output_args};

const MODEL: &str = "Model";
const DEPLOYMENT: &str = "Deployment";
const STEP: &str = "Step";
const MACHINE: &str = "Machine";
const METHOD: &str = "Method";

/// A dimension of a model: the flag, and what it is.
pub const DIMENSIONS: [(&str, &str); 6] = [
    ("hidden", "Hidden size"),
    ("ffn-dim", "FFN width; of a mixture, of the active experts together"),
    ("q-heads", "Query heads"),
    ("kv-heads", "KV heads"),
    ("d-head", "Head dimension"),
    ("layers", "Layers"),
];

/// Values that replace those of the machine: flag, unit in words.
pub const RATES: [(&str, &str); 7] = [
    ("pe-hbm-gb", "HBM of a PE in GB [default: 6]"),
    ("bw-hbm-gb-per-s", "HBM bandwidth of a PE in GB/s"),
    ("peak-tflops-f16", "f16 products of a PE in TFLOP/s"),
    ("bw-intra-gb-per-s", "Link between PEs of a cube in GB/s [default: 512]"),
    ("bw-inter-gb-per-s", "Link between cubes of a SIP in GB/s"),
    ("bw-intersip-gb-per-s", "Link between SIPs in GB/s"),
    ("utilisation", "Part of the peak that stages count on [default: 0.8]"),
];

pub(super) fn common() -> Vec<Arg> {
    let mut args = vec![
        flag("model", "NAME", "A preset (`plan models`), a .toml file, or a Hugging Face config.json")
            .default_value("Llama 3 8B")
            .help_heading(MODEL),
    ];
    args.extend(DIMENSIONS.iter().map(|(name, help)| flag(name, "N", help).help_heading(MODEL)));
    args.push(flag("bytes-per-elem", "N", "Bytes of an element").help_heading(MODEL));
    let degrees = [
        ("cp", "Shards of the sequence [default: 4]"),
        ("tp", "Shards of heads [default: 8]"),
        ("pp", "Stages of layers [default: 1]"),
        ("dp", "Replicas [default: 1]"),
        ("ep", "Shards of experts [default: 1]"),
        ("b", "Requests of a stage at once [default: 1]"),
    ];
    args.extend(degrees.iter().map(|(name, help)| flag(name, "N", help).help_heading(DEPLOYMENT)));
    let choices = [
        ("kv-shard-mode", "split or replicate: ranks that share a KV head [default: split]"),
        ("ffn-shard-scope", "TP, TP+CP or TP+CP+DP: ranks that FFN weights are divided over [default: TP+CP]"),
        ("tp-placement", "pe or cube [default: pe]"),
        ("cp-placement", "pe or cube [default: cube]"),
        ("cp-ring-variant", "kv or qoml: what goes round the ring of cp [default: kv]"),
        ("sip-topology", "ring, mesh2d or torus2d [default: ring]"),
    ];
    args.extend(choices.iter().map(|(name, help)| flag(name, "CHOICE", help).help_heading(DEPLOYMENT)));
    args.extend([
        flag("s-kv", "TOKENS", "Context, the new tokens included").default_value("4096").help_heading(STEP),
        flag("phase", "PHASE", "decode or prefill").default_value("decode").help_heading(STEP),
        flag("t-q", "TOKENS", "New tokens [default: 1 in decode, all in prefill]").help_heading(STEP),
        flag("micro-batches", "N", "Micro-batches of a burst through pp [default: an endless stream]")
            .help_heading(STEP),
        flag("include-attention", "BOOL", "Attention counts in latency").default_value("true").help_heading(STEP),
        flag("include-ffn", "BOOL", "The FFN counts in latency").default_value("true").help_heading(STEP),
    ]);
    args.extend(machine_args().into_iter().map(|arg| arg.help_heading(MACHINE)));
    args.extend(RATES.iter().map(|(name, help)| flag(name, "X", help).help_heading(MACHINE)));
    args.extend([
        flag("method", "METHOD", "baseline: the published model; refined: all options on")
            .default_value("refined")
            .help_heading(METHOD),
        flag("with", "OPTION,…", "Options to switch on (`plan explain options` lists them)")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .help_heading(METHOD),
        flag("without", "OPTION,…", "Options to switch off")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .help_heading(METHOD),
        Arg::new("explain")
            .long("explain")
            .action(ArgAction::SetTrue)
            .help("Name the bound, the formula with its numbers, and the first knob to turn"),
    ]);
    args.extend(output_args());
    args
}

/// A value is read by the query, so that a wrong one is told like any other fault.
pub(super) fn flag(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help).allow_hyphen_values(true)
}
