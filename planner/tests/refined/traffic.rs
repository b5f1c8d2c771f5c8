//! Options that change what goes over links, and how a step is put together.

use super::support::{B, decode, near, of, prefill, row, with};
use tilewright_planner::options::Opt;
use tilewright_planner::stages::StageId;

#[test]
fn ffn_tokens_work_for_every_rank_whose_tokens_are_gathered() {
    let o = with(Opt::FfnTokens);
    let i = prefill("Llama 3 8B", "base", 8192);
    near(row(&i, o, StageId::F2).flops, 4.0 * row(&i, B, StageId::F2).flops);
    // Gathered and scattered over 4 ranks, then summed over 8: 3 shares each, and 2 * 7/8.
    let share = 2048.0 * 4096.0 * 2.0;
    near(row(&i, o, StageId::Cf1).comm_bytes, (3.0 + 3.0 + 1.75) * share);
    // In decode the ranks of cp have the same token; replicas have others.
    let i = decode("Llama 3 8B", "base", 8192);
    near(row(&i, o, StageId::F2).flops, row(&i, B, StageId::F2).flops);
    let i = decode("Llama 3 8B", "dp4_scope_all", 8192);
    near(row(&i, o, StageId::F2).flops, 4.0 * row(&i, B, StageId::F2).flops);
}

#[test]
fn throughput_counts_batch_replicas_and_busy_stages() {
    let mut i = decode("Llama 3 8B", "pp8", 8192);
    i.dp = 2.0;
    i.b = 4.0;
    let latency = of(&i, B).latency_s;
    near(of(&i, B).throughput_tok_per_s, 1.0 / latency);
    near(of(&i, with(Opt::Throughput)).throughput_tok_per_s, 4.0 * 2.0 * 8.0 / latency);
    // A burst of 4 micro-batches keeps 8 stages busy 4 of 11 turns.
    i.micro = 4.0;
    near(of(&i, with(Opt::Throughput)).throughput_tok_per_s, 4.0 * 2.0 * 8.0 / latency * 4.0 / 11.0);
}

#[test]
fn utilisation_is_of_one_pe() {
    let i = decode("Llama 3 8B", "base", 8192);
    near(of(&i, with(Opt::Utilisation)).efficiency, 32.0 * of(&i, B).efficiency);
}

#[test]
fn placement_counts_the_crossings_of_one_ring() {
    let i = prefill("Llama 3 8B", "cp2_pp16_dp4_hops_exceed_ring", 8192);
    let (off, on) = (of(&i, B).placed, of(&i, with(Opt::Placement)).placed);
    // 128 cubes are 8 SIPs; but a ring of two lies on two cubes of one.
    assert_eq!((off.ring_hops_inter, off.ring_hops_sip), (0.0, 7.0));
    assert_eq!((on.ring_hops_inter, on.ring_hops_sip), (1.0, 0.0));
    // A ring of 32 cubes crosses one border.
    let i = prefill("Llama 3 8B", "cp32_two_sips_kv", 8192);
    assert_eq!(of(&i, with(Opt::Placement)).placed.ring_hops_sip, 1.0);
    // Stages of pp on other SIPs do not slow the sum over cp.
    let i = decode("Llama 3 8B", "pp8", 8192);
    assert!(row(&i, with(Opt::Placement), StageId::S8).comm_s < row(&i, B, StageId::S8).comm_s);
}

#[test]
fn collectives_pay_each_tier_for_its_own_ranks() {
    let i = decode("Llama 3.1 70B", "cp96_not_dividing", 8192);
    // 768 ranks on a flat ring between SIPs: 1534 us of hops alone.
    let (off, on) = (row(&i, B, StageId::Cf1), row(&i, with(Opt::Collectives), StageId::Cf1));
    assert!(off.comm_s > 1534e-6);
    // 8 PEs: 4 hops of 20 ns; 16 cubes: 6 of 100; 6 SIPs on a ring: 5 of 1000; both ways.
    let hops = 2.0 * (4.0 * 20e-9 + 6.0 * 100e-9 + 5.0 * 1000e-9);
    assert!(on.comm_s > hops && on.comm_s < hops + 2e-6, "{}", on.comm_s);
    near(on.comm_bytes, off.comm_bytes);
    // One rank sends nothing.
    let i = decode("Llama 3.1 70B", "single_pe", 8192);
    assert_eq!(row(&i, with(Opt::Collectives), StageId::Cf1).comm_s, 0.0);
}

#[test]
fn overlap_uses_the_links_of_the_cube_and_the_work_of_all_requests() {
    // A pass that hides a hop inside the cube, and would not hide one between cubes.
    let mut i = prefill("Llama 3 8B", "cp8_pe_tp1", 64);
    i.b = 8.0;
    let (off, on) = (row(&i, B, StageId::C1), row(&i, with(Opt::Overlap), StageId::C1));
    near(on.comm_s, off.comm_s);
    assert!(on.visible_s < off.visible_s, "{} {}", on.visible_s, off.visible_s);
}

#[test]
fn kv_split_sums_once_in_decode_over_the_true_tier() {
    let i = decode("Llama 3.1 70B", "tp32_cube_cp2_split", 8192);
    let o = with(Opt::KvSplit);
    let (off, on) = (row(&i, B, StageId::C3), row(&i, o, StageId::C3));
    // 4 ranks, a SIP's cubes apart, sum the scores of 8 query heads once; the baseline sums 2 heads twice inside a cube.
    let ring = |payload: f64, bw: f64, hop: f64| 1.5 * payload / bw + 6.0 * hop;
    near(off.comm_s, 2.0 * ring(2.0 * 4096.0 * 2.0, 512e9, 20e-9));
    near(on.comm_s, ring(8.0 * 4096.0 * 2.0, 50e9, 1000e-9));
    // Projections are divided; products are not, since a part of a head serves more query heads.
    near(row(&i, o, StageId::S3).flops, row(&i, B, StageId::S3).flops / 4.0);
    near(row(&i, o, StageId::S5).flops, row(&i, B, StageId::S5).flops);
    // With more ranks than query heads, shards add up to the whole: 256 ranks, 64 heads.
    let mut wide = decode("Llama 3.1 70B", "tp16_cube_split", 8192);
    wide.tp = 256.0;
    near(256.0 * row(&wide, o, StageId::S5).flops, 64.0 * 2.0 * 8192.0 * 128.0);
    // `replicate` is the grouping without a sum.
    let i = decode("Llama 3.1 70B", "tp16_cube_replicate", 8192);
    assert!(!super::support::has(&i, o, StageId::C3));
}

#[test]
fn schedule_lies_between_the_busiest_engine_and_the_sum() {
    let i = decode("Llama 3 8B", "base", 8192);
    let (off, on) = (of(&i, B), of(&i, with(Opt::Schedule)));
    let [busiest, sum] = on.bounds_s;
    near(sum, off.latency_s);
    assert!(busiest <= on.latency_s && on.latency_s < sum);
    // HBM is the busiest: its bytes over its rate.
    let bytes: f64 = off.rows.all().iter().map(|r| r.mem_bytes).sum();
    near(busiest, 32.0 * bytes / 256e9);
}

#[test]
fn pipeline_pays_for_sends_between_stages() {
    let i = decode("Llama 3 8B", "pp8", 8192);
    let o = with(Opt::Pipeline);
    // 7 sends of a hidden state; the stages of one replica fill two SIPs.
    near(row(&i, o, StageId::Pp).comm_s, 7.0 * (4096.0 * 2.0 / 50e9 + 1000e-9));
    near(of(&i, o).latency_s - of(&i, B).latency_s, row(&i, o, StageId::Pp).comm_s);
    // The head lies on one stage of eight, the embedding on another.
    let head = of(&i, with(Opt::Head)).memory.weights_bytes - of(&i, B).memory.weights_bytes;
    let placed = of(&i, o.with(Opt::Head)).memory.weights_bytes - of(&i, B).memory.weights_bytes;
    assert!(placed < 0.51 * head, "{placed} {head}");
}
