//! Options that change the work of a layer.

use super::support::{B, decode, has, near, of, prefill, row, with};
use tilewright_planner::options::Opt;
use tilewright_planner::shards::uneven;
use tilewright_planner::stages::StageId;

#[test]
fn kv_read_charges_for_k_and_v_instead_of_scores() {
    // 70B, cp 4 tp 8, S 131072: K and V of 32768 tokens and one head are 16 MiB, 65.5 us; the baseline has 25 us.
    let i = decode("Llama 3.1 70B", "base", 131_072);
    let s = of(&i, B);
    let scores: f64 = [StageId::S5, StageId::S6, StageId::S7].map(|id| row(&i, B, id).visible_s).iter().sum();
    near(scores, 25.06752e-6);
    let fused = row(&i, with(Opt::KvRead), StageId::Sa);
    near(fused.mem_bytes, 2.0 * 32768.0 * 128.0 * 2.0);
    near(fused.visible_s, 65.536e-6);
    assert!(!has(&i, with(Opt::KvRead), StageId::S5));
    near(of(&i, with(Opt::KvRead)).attention_visible_s - s.attention_visible_s, 65.536e-6 - scores);
    // At S 8192 and 64 requests: 262 us against 100 us.
    let i = decode("Llama 3.1 70B", "b64", 8192);
    near(row(&i, with(Opt::KvRead), StageId::Sa).visible_s, 262.144e-6);
}

#[test]
fn causal_prefill_multiplies_the_lower_triangle() {
    let i = prefill("Llama 3 8B", "base", 8192);
    let square = row(&i, B, StageId::S5).flops;
    near(row(&i, with(Opt::Causal), StageId::S5).flops, square * (8193.0 / 2.0) / 8192.0);
    // Decode sees everything: nothing changes.
    let i = decode("Llama 3 8B", "base", 8192);
    near(row(&i, with(Opt::Causal), StageId::S5).flops, row(&i, B, StageId::S5).flops);
}

#[test]
fn a_windowed_layer_multiplies_its_window() {
    // Gemma 2 27B at S 8192 on one PE: every second layer sees 4096 tokens, the first 4096 rows fewer.
    let i = prefill("Gemma 2 27B", "single_pe", 8192);
    let full = 8192.0 * 8193.0 / 2.0;
    let windowed = 4096.0 * 4097.0 / 2.0 + 4096.0 * 4096.0;
    near(row(&i, with(Opt::Causal), StageId::S5).flops, 2.0 * 128.0 * 32.0 * (full + windowed) / 2.0);
}

#[test]
fn moe_holds_all_experts_and_reads_those_that_are_touched() {
    let i = decode("Mixtral 8x7B", "single_pe", 8192);
    let o = with(Opt::Moe);
    // One token: two experts of width 14336; products are those of the baseline.
    near(row(&i, o, StageId::F2).mem_bytes, row(&i, B, StageId::F2).mem_bytes);
    near(row(&i, o, StageId::F2).flops, row(&i, B, StageId::F2).flops);
    // Eight tokens touch 8 (1 - (3/4)^8) experts.
    let many = i.with_requests(8.0);
    near(row(&many, o, StageId::F2).mem_bytes, 8.0 * (1.0 - 0.75f64.powi(8)) * 14336.0 * 4096.0 * 2.0);
    near(of(&i, o).memory.ffn_weights_bytes, 45_097_156_608.0 * 2.0);
    near(of(&i, B).memory.ffn_weights_bytes, 45_097_156_608.0 * 2.0 / 4.0);
}

#[test]
fn moe_puts_ep_inside_the_ffn_group_and_pays_for_the_exchange() {
    let (one, eight) = (decode("Mixtral 8x7B", "base", 8192), decode("Mixtral 8x7B", "ep8", 8192));
    let o = with(Opt::Moe);
    // The baseline's ep divides weights for nothing; here 32 ranks hold them all, however they are divided.
    assert!(of(&eight, B).memory.ffn_weights_bytes < of(&one, B).memory.ffn_weights_bytes / 7.9);
    near(of(&eight, o).memory.ffn_weights_bytes, of(&one, o).memory.ffn_weights_bytes);
    assert!(has(&eight, o, StageId::Ce) && !has(&one, o, StageId::Ce));
    // Two experts of each token, there and back, 7 of 8 elsewhere.
    near(row(&eight, o, StageId::Ce).comm_bytes, 2.0 * 7.0 / 8.0 * 2.0 * 4096.0 * 2.0);
    // A dense model has no experts to divide.
    let dense = decode("Llama 3 8B", "ep8", 8192);
    near(of(&dense, o).memory.ffn_weights_bytes, of(&decode("Llama 3 8B", "base", 8192), o).memory.ffn_weights_bytes);
}

#[test]
fn mla_stores_the_latent_once() {
    let i = decode("DeepSeek V2", "base", 8192);
    let (off, on) = (of(&i, B), of(&i, with(Opt::Mla)));
    // 60 layers, 2048 tokens, 576 elements of 2 bytes, on every rank of tp; off: K and V of 16 heads.
    near(on.memory.kv_bytes, 60.0 * 2048.0 * 1152.0);
    near(off.memory.kv_bytes, 60.0 * 2048.0 * 65536.0 / 8.0);
    near(row(&i, with(Opt::Mla), StageId::S4).mem_bytes, 1152.0);
}

#[test]
fn the_cheaper_form_of_latent_attention_is_absorbed_in_decode_and_naive_in_prefill() {
    let o = with(Opt::Mla).with(Opt::KvRead);
    let flops = |i| row(&i, o, StageId::Sa).flops;
    // 16 heads: queries and outputs through 128 x 512, scores over 576 and values over 512 at 2048 positions.
    let heads = 16.0;
    let absorbed = 2.0 * heads * (2.0 * 128.0 * 512.0 + 2048.0 * (576.0 + 512.0));
    near(flops(decode("DeepSeek V2", "base", 8192)), absorbed);
    let (t, passes) = (2048.0, 4.0);
    let naive = 2.0 * heads * passes * (t * 512.0 * 2.0 * 128.0 + t * t * (128.0 + 128.0 + 64.0));
    near(flops(prefill("DeepSeek V2", "base", 8192)), naive);
}

#[test]
fn ceil_keeps_the_tokens_that_rounding_down_loses() {
    let i = decode("Llama 3.1 70B", "cp96_not_dividing", 8192);
    let s = of(&i, with(Opt::Ceil));
    assert_eq!((of(&i, B).shards.s_local, s.shards.s_local), (85.0, 86.0));
    // And what does not divide is told: 8192 tokens over 96, 28672 columns over 768.
    let told: Vec<(f64, f64, f64)> = uneven(&i, &s.shards).iter().map(|u| (u.ranks, u.largest, u.smallest)).collect();
    assert_eq!(told, [(96.0, 86.0, 85.0), (768.0, 38.0, 37.0)]);
}

#[test]
fn vector_prices_elementwise_work_on_its_engine() {
    let i = prefill("Llama 3 8B", "base", 8192);
    let o = with(Opt::Vector);
    // 4 operations an element of 2048 x 4096 at 256 Gelem/s.
    near(row(&i, o, StageId::F1).compute_s, 4.0 * 2048.0 * 4096.0 / 256e9);
    assert_eq!(row(&i, B, StageId::F1).compute_s, 0.0);
    // A maximum, a difference, an exponential and a sum for each score of 4 heads.
    near(row(&i, o, StageId::S6).compute_s, 4.0 * 4.0 * 2048.0 * 8192.0 / 256e9);
    assert!(row(&i, o, StageId::S9).visible_s > row(&i, B, StageId::S9).visible_s);
}

#[test]
fn activations_count_where_they_miss_the_scratch() {
    let i = decode("Llama 3 8B", "base", 8192);
    // One token stays on chip: only the weight of the norm is read.
    near(row(&i, with(Opt::Activations), StageId::S1).mem_bytes, 4096.0 * 2.0);
    near(row(&i, B, StageId::S1).mem_bytes, 2.0 * 4096.0 * 2.0);
    // 2048 tokens do not: x and q go through HBM.
    let i = prefill("Llama 3 8B", "base", 8192);
    let weights = row(&i, B, StageId::S2).mem_bytes;
    near(row(&i, with(Opt::Activations), StageId::S2).mem_bytes, weights + 2048.0 * (4096.0 + 512.0) * 2.0);
}

#[test]
fn shapes_pad_one_row_to_a_tile_and_issue_commands() {
    let i = decode("Llama 3 8B", "base", 8192);
    let (off, on) = (row(&i, B, StageId::S2), row(&i, with(Opt::Shapes), StageId::S2));
    near(on.compute_s, 16.0 * off.compute_s);
    near(on.visible_s, off.memory_s + 43e-9);
}

#[test]
fn head_adds_thirteen_percent_to_llama_3_8b() {
    let i = decode("Llama 3 8B", "single_pe", 8192);
    let (off, on) = (of(&i, B), of(&i, with(Opt::Head)));
    let added = on.memory.weights_bytes - off.memory.weights_bytes;
    near(added, 2.0 * (2.0 * 128_256.0 * 4096.0 + 65.0 * 4096.0));
    assert!((added / on.memory.weights_bytes - 0.13).abs() < 0.005);
    near(on.latency_s - off.latency_s, 128_256.0 * 4096.0 * 2.0 / 256e9);
}

#[test]
fn presets_with_a_plain_ffn_have_two_matrices() {
    let i = decode("GPT-2", "single_pe", 1024);
    let o = with(Opt::Presets);
    near(of(&i, o).memory.ffn_weights_bytes, of(&i, B).memory.ffn_weights_bytes * 2.0 / 3.0);
    assert!(has(&i, B, StageId::F2) && !has(&i, o, StageId::F2));
    // The released Falcon 40B has 8 KV heads and about 41 B parameters.
    let corrected = decode("Falcon 40B (corrected)", "single_pe", 1024);
    let params = of(&corrected, o).memory.weights_bytes / 2.0;
    assert!((40e9..42e9).contains(&params), "{params}");
    assert!(of(&decode("Falcon 40B", "single_pe", 1024), B).memory.weights_bytes / 2.0 > 56e9);
}

#[test]
fn chunked_separates_new_tokens_from_context() {
    let mut i = prefill("Llama 3 8B", "base", 8192);
    i.t_q = 256.0;
    let o = with(Opt::Chunked).with(Opt::Causal);
    assert_eq!((of(&i, B).shards.t, of(&i, o).shards.t), (2048.0, 64.0));
    // 256 rows over 7936 tokens before them and their own triangle, divided over cp.
    let pairs = (256.0 * 7936.0 + 256.0 * 257.0 / 2.0) / 4.0;
    near(row(&i, o, StageId::S5).flops, 2.0 * pairs * 128.0 * 4.0);
    // Few rows over a long context: the ring carries Q and its state instead of K and V.
    let kv = 2.0 * 2048.0 * 128.0 * 2.0;
    let qoml = 64.0 * 4.0 * (2.0 * 128.0 + 2.0) * 2.0;
    near(row(&i, o, StageId::C1).comm_bytes, 3.0 * qoml);
    near(row(&i, B, StageId::C1).comm_bytes, 3.0 * kv);
}

#[test]
fn transient_knows_the_batch_and_what_stays_on_chip() {
    let i = decode("Llama 3 8B", "base", 8192);
    let o = with(Opt::Transient);
    assert_eq!((of(&i, B).memory.transient_bytes, of(&i, o).memory.transient_bytes), (36864.0, 0.0));
    let many = i.with_requests(1024.0);
    assert_eq!(of(&many, B).memory.transient_bytes, 36864.0);
    // x in and out, and q, k, v or gate and up, whichever is wider: 1024 rows, less 1 MiB.
    near(of(&many, o).memory.transient_bytes, 1024.0 * (2.0 * 4096.0 + 896.0) * 2.0 - 1_048_576.0);
}
