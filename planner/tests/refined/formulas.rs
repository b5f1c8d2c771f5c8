//! The expressions of every option: sound units, and the bits of the numbers.

use super::support::{B, decode, prefill, with};
use tilewright_planner::options::{Opt, Options};
use tilewright_planner::step::{formulas, step};
use tilewright_planner::{fanout, roofline};

fn all() -> Vec<Options> {
    let alone = Opt::ALL.iter().map(|o| with(*o));
    let without = Opt::ALL.iter().map(|o| Options::refined().without(*o));
    [B, Options::refined()].into_iter().chain(alone).chain(without).collect()
}

#[test]
fn units_of_every_formula_come_out_as_declared() {
    for o in all() {
        let (graph, _) = formulas(o);
        assert_eq!(graph.check_units(), Ok(()), "{}", o.label());
        assert_eq!(roofline::formulas(o).0.check_units(), Ok(()), "roofline, {}", o.label());
    }
    assert_eq!(fanout::formulas().0.check_units(), Ok(()));
}

#[test]
fn expressions_of_every_option_give_the_bits_of_numbers() {
    let cases = [
        decode("Llama 3.1 70B", "base", 131_072),
        prefill("Llama 3.1 70B", "cp32_two_sips_qoml", 8192),
        decode("Mixtral 8x7B", "ep8", 8192).with_requests(16.0),
        prefill("DeepSeek V2 (corrected)", "dp4_scope_all", 8192),
        prefill("Gemma 2 27B", "tp32_cube_cp2_split", 131_072),
        decode("GPT-2", "pp8", 1024),
    ];
    for o in all() {
        let (graph, traced) = formulas(o);
        for i in &cases {
            let s = step(i, o);
            let values = graph.evaluate(&i.values());
            let value = |expr| {
                let name = graph.name_of(expr).expect("results are named");
                values[graph.definitions.iter().position(|d| d.name == name).expect("it is defined")]
            };
            for (number, expr) in [
                (s.latency_s, traced.latency_s),
                (s.throughput_tok_per_s, traced.throughput_tok_per_s),
                (s.efficiency, traced.efficiency),
                (s.memory.used_bytes, traced.memory.used_bytes),
            ] {
                assert_eq!(number.to_bits(), value(expr).to_bits(), "{}: {number}", o.label());
                assert!(number.is_finite() && number > 0.0, "{}: {number}", o.label());
            }
        }
    }
}

/// A page that shows what no one named would show holes.
#[test]
fn every_stage_of_a_step_has_named_times() {
    let (graph, traced) = formulas(Options::refined());
    for row in traced.rows.all() {
        assert!(graph.name_of(row.visible_s).is_some_and(|n| n.starts_with(row.id.name())), "{:?}", row.id);
    }
}
