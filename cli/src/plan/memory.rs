//! `plan memory`: what a PE holds, what is held twice, and how it grows.

use super::{Answer, Asked, Query};
use clap::ArgMatches;
use serde_json::json;
use tilewright_core::diag::Diagnostics;
use tilewright_planner::effects::{effects, step_figures};
use tilewright_planner::memory::{Axis, CurvePoint, curve};
use tilewright_planner::replication::{duplicates, hints};
use tilewright_planner::step::step;
use tilewright_planner::view::{self, Keyed};

pub(super) struct Memory;

/// Where the curves are drawn.
const CONTEXTS: [u64; 6] = [1024, 8192, 65536, 131_072, 1_048_576, 10_000_000];
const REQUESTS: [u64; 6] = [1, 2, 8, 32, 128, 512];

impl Query for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }
    fn about(&self) -> &'static str {
        "Memory of a PE: weights, KV and transient, duplicates and advice, curves against context and requests"
    }
    fn answer(&self, asked: &Asked, _: &ArgMatches) -> Result<Answer, Diagnostics> {
        let inputs = asked.inputs()?;
        let o = asked.options;
        let s = step(&inputs, o);
        let duplicates = duplicates(&inputs, &s, o).into_iter().map(|d| -> Keyed {
            vec![
                ("tensor", json!(d.tensor)),
                ("per_pe_bytes", view::number(d.per_pe_bytes)),
                ("copies", view::number(d.copies)),
                ("wasted_bytes", view::number(d.wasted_bytes)),
            ]
        });
        let hints = hints(&inputs, &s).into_iter().map(|h| -> Keyed {
            vec![
                ("category", json!(h.category)),
                ("severity", json!(h.severity)),
                ("hint", json!(h.name)),
                ("text", json!(h.text)),
            ]
        });
        let tokens = curve(&inputs, Axis::Context, asked.topology.b, &CONTEXTS, o);
        let requests = curve(&inputs, Axis::Requests, asked.work.s_kv, &REQUESTS, o);
        let whole = vec![
            ("weights_bytes", view::number(asked.model.active_params() as f64 * asked.model.bytes_per_elem)),
            ("kv_bytes_per_token", view::number(asked.model.kv_bytes_per_token())),
            ("kv_bytes", view::number(asked.model.kv_bytes_per_token() * asked.work.s_kv as f64)),
        ];
        let figures = |o| step_figures(&inputs, o);
        Ok(Answer::new(asked)
            .hidden_object("topology", view::topology(&asked.topology))
            .object("memory", "memory of a PE", view::memory(&s))
            .object("whole_model", "whole model, one request, for reference", whole)
            .rows("duplicates", "held more than once", duplicates.collect())
            .rows("hints", "advice", hints.collect())
            .main_rows("vs_s_kv", "against tokens of context", tokens.iter().map(row).collect())
            .rows("vs_b", "against requests", requests.iter().map(row).collect())
            .effects(&effects(o, figures)))
    }
}

fn row(p: &CurvePoint) -> Keyed {
    let gb = |bytes: f64| json!(bytes / 1e9);
    vec![
        ("axis_value", json!(p.axis)),
        ("weights_gb", gb(p.weights_bytes)),
        ("kv_gb", gb(p.kv_bytes)),
        ("transient_gb", gb(p.transient_bytes)),
        ("used_gb", gb(p.used_bytes)),
        ("free_gb", gb(p.free_bytes)),
        ("over_budget", json!(p.over_budget)),
    ]
}
