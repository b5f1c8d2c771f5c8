//! `plan roofline`: the whole model on one PE.

use super::{Answer, Asked, Query};
use clap::ArgMatches;
use serde_json::{Value, json};
use tilewright_core::diag::Diagnostics;
use tilewright_planner::effects::effects;
use tilewright_planner::formula::substituted;
use tilewright_planner::options::Options;
use tilewright_planner::roofline::{formulas, roofline};
use tilewright_planner::view::{self, Keyed};

pub(super) struct Roofline;

/// Batches of the table.
const BATCHES: [u64; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/// Goals for a token, in seconds.
const GOALS: [f64; 5] = [0.02, 0.05, 0.1, 0.5, 1.0];

impl Query for Roofline {
    fn name(&self) -> &'static str {
        "roofline"
    }
    fn about(&self) -> &'static str {
        "The chip's roofline: critical batch, balance context, knee, decode steps against the batch"
    }
    fn answer(&self, asked: &Asked, _: &ArgMatches) -> Result<Answer, Diagnostics> {
        let inputs = asked.inputs()?;
        let at = |b: f64, o| roofline(&inputs.with_requests(b), 1.0, o);
        let r = at(inputs.b, asked.options);
        let effects = effects(asked.options, |o| {
            let r = at(inputs.b, o);
            vec![
                ("critical_batch_requests", r.critical_batch),
                ("balance_context_tokens", r.balance_context),
                ("kv_bytes_per_token", r.kv_bytes_per_token),
                ("step_s", r.step_s),
            ]
        });
        let critical: Keyed = vec![
            ("active_params", view::number(r.active_params)),
            ("kv_bytes_per_token", view::number(r.kv_bytes_per_token)),
            ("arithmetic_intensity_flop_per_byte", json!(r.arithmetic_intensity)),
            ("critical_batch_requests", json!(r.critical_batch)),
            ("recommended_batch_requests", json!(2.0 * r.critical_batch)),
            ("balance_context_tokens", json!(r.balance_context)),
            ("knee_batch_requests", r.knee().map_or(Value::Null, |b| json!(b))),
            ("utilization_ratio", json!(r.utilisation_at_s)),
            ("compute_s_per_token", json!(r.compute_s_per_token)),
            ("weight_s_per_step", json!(r.weight_s)),
            ("kv_s_per_token", json!(r.kv_s_per_token)),
        ];
        let steps = BATCHES.iter().map(|batch| -> Keyed {
            let b = *batch as f64;
            // A mixture reads more experts for more requests.
            let r = at(b, asked.options);
            vec![
                ("batch_requests", json!(batch)),
                ("weight_s", json!(r.weight_s)),
                ("compute_s", json!(b * r.compute_s_per_token)),
                ("kv_s", json!(b * r.kv_s_per_token)),
                ("total_s", json!(r.step_s)),
                ("per_token_total_s", json!(r.per_token_s)),
                ("bound", json!(r.regime(b).name())),
            ]
        });
        let goals = GOALS.iter().map(|goal| -> Keyed {
            vec![
                ("tpot_slo_s", json!(goal)),
                ("max_batch_requests_at_slo", json!(largest_batch(&at, *goal, asked.options))),
            ]
        });
        let mut answer = Answer::new(asked)
            .object("roofline", "where regimes change", critical.clone())
            .main_rows("step", "a decode step", steps.collect())
            .rows("slo", "largest batch within a goal; 0: none", goals.collect());
        for (key, value) in critical {
            answer = answer.value(key, value);
        }
        if asked.explain {
            let (graph, _) = formulas(asked.options);
            let lines = substituted(&graph, &inputs.values());
            answer = answer.lines(lines.iter().map(super::stages::formula_line));
        }
        Ok(answer.effects(&effects))
    }
}

/// Requests of a step within the goal: as if the weights that are read were those of one request, and then fewer until
/// those that are read for so many fit too.
fn largest_batch(
    at: &impl Fn(f64, Options) -> tilewright_planner::roofline::Roofline<f64>,
    goal: f64,
    o: Options,
) -> u64 {
    let mut b = at(1.0, o).max_batch(goal);
    // Each round lowers the bound or ends; a dense model needs one.
    loop {
        let next = at(b.max(1) as f64, o).max_batch(goal);
        if next >= b {
            return b;
        }
        b = next;
    }
}
