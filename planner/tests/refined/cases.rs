//! What is known of models: bytes of K and V, of latents, of windows; experts held and read; shapes at the edge.

use super::support::{B, decode, near, of, row, topology, with};
use tilewright_planner::inputs::Inputs;
use tilewright_planner::machine::Machine;
use tilewright_planner::model::{Model, custom, named};
use tilewright_planner::options::{Opt, Options};
use tilewright_planner::stages::StageId;
use tilewright_planner::step::step;
use tilewright_planner::suggest::{SLACK, suggest};
use tilewright_planner::topology::{KvShardMode, Phase, Placement, Topology, Work};

fn shaped(hidden: u64, q_heads: u64, kv_heads: u64, d_head: u64, layers: u64) -> Model {
    Model { hidden, q_heads, kv_heads, d_head, layers, ..custom() }
}

/// P01: 2 * Hk * h * e * L, with the head dimension as given, never hidden over heads.
#[test]
fn kv_bytes_of_a_token_take_the_kv_heads_and_the_head_dimension() {
    assert_eq!(named("Qwen 3 4B").expect("a preset").kv_bytes_per_token(), 147_456.0);
    assert_eq!(shaped(5120, 32, 8, 128, 40).kv_bytes_per_token(), 163_840.0);
    assert_eq!(shaped(2880, 64, 8, 64, 24).kv_bytes_per_token(), 49_152.0);
    let i = decode("Llama 3.1 70B", "single_pe", 32768);
    near(of(&i, B).memory.kv_bytes, 10_737_418_240.0);
    // W_Q and W_O are d x Hq*h: 2560 x 4096.
    let i = decode("Qwen 3 4B", "single_pe", 4096);
    near(row(&i, B, StageId::S2).mem_bytes, 2560.0 * 4096.0 * 2.0);
    near(row(&i, B, StageId::S10).mem_bytes, 2560.0 * 4096.0 * 2.0);
}

#[test]
fn kv_read_reads_kv_heads_never_query_heads() {
    let i = decode("Llama 3.1 70B", "single_pe", 32768);
    near(row(&i, with(Opt::KvRead), StageId::Sa).mem_bytes, 2.0 * 32768.0 * 8.0 * 128.0 * 2.0);
}

/// Eight ranks and one KV head: parts add up to the head, copies are each a whole one.
#[test]
fn shards_of_a_split_head_add_up_to_it() {
    let model = Model { kv_heads: 1, ..custom() };
    let kv = |kv_shard_mode| {
        let t = Topology { cp: 1, tp: 8, kv_shard_mode, ..Topology::default() };
        let i = Inputs::new(&model, &Machine::default(), &t, &Work::new(Phase::Decode, 4096));
        [step(&i, B).memory.kv_bytes, step(&i, Options::refined()).memory.kv_bytes]
    };
    let whole = model.kv_bytes_per_token() * 4096.0;
    assert_eq!(kv(KvShardMode::Split), [whole / 8.0; 2]);
    assert_eq!(kv(KvShardMode::Replicate), [whole; 2]);
}

/// P02: (512 + 64) * 2 bytes a token and layer, once; replicated over tp, divided over cp.
#[test]
fn a_latent_cache_is_57_times_smaller_than_its_heads() {
    let kv = |model: &str, tp, cp, b, o| {
        let t = Topology { tp, cp, b, tp_placement: Placement::Cube, ..Topology::single() };
        let i =
            Inputs::new(&named(model).expect("a preset"), &Machine::default(), &t, &Work::new(Phase::Decode, 131_072));
        step(&i, o).memory.kv_bytes
    };
    let on = with(Opt::Mla);
    assert_eq!(kv("DeepSeek V3", 1, 1, 1, on), 9_210_691_584.0);
    assert_eq!(kv("DeepSeek V3", 1, 1, 1, on) / 131_072.0, 70_272.0);
    for tp in [1, 8, 16] {
        assert_eq!(kv("DeepSeek V3", tp, 1, 1, on), 9_210_691_584.0, "on every rank of tp");
        assert_eq!(kv("DeepSeek V3", tp, 4, 64, on), 64.0 * 9_210_691_584.0 / 4.0);
    }
    assert_eq!(kv("DeepSeek V2", 1, 1, 1, on) / 131_072.0 / 60.0, 1152.0);
    near(kv("DeepSeek V2", 1, 1, 1, B) / kv("DeepSeek V2", 1, 1, 1, on), 65_536.0 / 1152.0);
}

/// P03: resident, active and read are three numbers.
#[test]
fn a_mixture_is_held_whole_multiplied_by_k_and_read_by_what_is_touched() {
    let work = Work::new(Phase::Decode, 4096);
    let model = named("Mixtral 8x7B").expect("a preset");
    assert_eq!(model.active_params(), 12_616_466_432);
    let i = decode("Mixtral 8x7B", "single_pe", 4096);
    near(of(&i, with(Opt::Moe)).memory.weights_bytes, 2.0 * 46_439_333_888.0);
    let smallest = |o| suggest(&model, &Machine::default(), 1, &work, SLACK, o).topology.total_pes();
    assert!(smallest(with(Opt::Moe)) >= 16, "{}", smallest(with(Opt::Moe)));
    assert!(smallest(with(Opt::Moe).with(Opt::Feasible)) >= 16);
    assert_eq!(smallest(B), 8);
    let touched = |model: &str, tokens: f64| {
        let i = decode(model, "single_pe", 4096).with_requests(tokens);
        let width = i.f / i.active;
        row(&i, with(Opt::Moe), StageId::F2).mem_bytes / (width * i.d * 2.0)
    };
    for (tokens, experts) in [(1.0, 2.0), (2.0, 3.5), (8.0, 7.199), (64.0, 8.0)] {
        for model in ["Mixtral 8x7B", "Mixtral 8x22B", "Grok-1 314B"] {
            assert!((touched(model, tokens) - experts).abs() < 6e-4, "{model} {tokens}: {}", touched(model, tokens));
        }
    }
    for (tokens, experts) in [(1.0, 8.0), (2.0, 15.5), (8.0, 51.62), (64.0, 125.94)] {
        for model in ["Qwen 3 30B", "Qwen 3 235B"] {
            assert!((touched(model, tokens) - experts).abs() < 6e-3, "{model} {tokens}: {}", touched(model, tokens));
        }
    }
    let flops = |tokens: f64| row(&i.with_requests(tokens), with(Opt::Moe), StageId::F2).flops / tokens;
    near(flops(64.0), flops(1.0));
}

/// Gemma 2 27B: 23 of 46 layers keep 4096 tokens.
#[test]
fn a_windowed_layer_keeps_its_window() {
    let i = decode("Gemma 2 27B", "single_pe", 131_072);
    near(of(&i, B).memory.kv_bytes, 49_392_123_904.0);
    near(of(&i, with(Opt::Causal)).memory.kv_bytes, 25_467_813_888.0);
    // A window beyond the context changes nothing.
    let i = decode("Gemma 2 27B", "single_pe", 4000);
    near(of(&i, with(Opt::Causal)).memory.kv_bytes, of(&i, B).memory.kv_bytes);
}

/// S02: finite and never below zero, or refused with the flag.
#[test]
fn shapes_at_the_edge_give_finite_figures() {
    let wide = Topology { cp: 96, tp: 64, ep: 512, b: 0, dp: 4, ..topology("base") };
    let machine = Machine { hbm_bytes: 0.0, ..Machine::default() };
    for o in [B, Options::refined()] {
        for s_kv in [1, 2, 95, 1 << 32] {
            for phase in [Phase::Decode, Phase::Prefill] {
                for model in ["GPT-2", "Mixtral 8x7B", "DeepSeek V3 (corrected)"] {
                    let model = named(model).expect("a preset");
                    let i = Inputs::new(&model, &machine, &wide, &Work::new(phase, s_kv));
                    let s = step(&i, o);
                    for x in [s.latency_s, s.memory.used_bytes, s.memory.slack_bytes, s.efficiency] {
                        assert!(x.is_finite() && x >= 0.0, "{} {s_kv} {phase:?} {x}", model.name);
                    }
                    assert!(s.latency_s * 1e9 < 1e24 && s.memory.over_budget);
                }
            }
        }
    }
    assert_eq!(Work::new(Phase::Decode, 0).check().expect_err("no tokens").code(), "TW-E0705");
    assert_eq!(Topology { tp: 0, ..wide }.check().expect_err("no ranks").code(), "TW-E0704");
}

/// AI = 8e12 / 256e9 = 31.25; 250 would count bits.
#[test]
fn bandwidth_is_in_bytes() {
    let i = decode("Llama 3 8B", "single_pe", 4096);
    let r = tilewright_planner::roofline::roofline(&i, 1.0, B);
    assert_eq!((r.arithmetic_intensity, r.critical_batch), (31.25, 31.25));
}
