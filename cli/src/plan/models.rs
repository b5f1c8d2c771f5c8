//! `plan models`: the library.

use super::{Answer, Asked, Query};
use clap::ArgMatches;
use serde_json::json;
use tilewright_core::diag::Diagnostics;
use tilewright_planner::model::{FAMILIES_NOTE, Model, presets};
use tilewright_planner::view::{self, Keyed};

pub(super) struct Models;

impl Query for Models {
    fn name(&self) -> &'static str {
        "models"
    }
    fn about(&self) -> &'static str {
        "The library of models"
    }
    fn answer(&self, _: &Asked, _: &ArgMatches) -> Result<Answer, Diagnostics> {
        let rows = presets().iter().map(row).collect();
        Ok(Answer::bare().main_rows("models", "presets, by family", rows).lines([FAMILIES_NOTE.to_string()]))
    }
}

fn row(m: &Model) -> Keyed {
    vec![
        ("preset", json!(m.name)),
        ("family", json!(m.family)),
        ("attention", json!(m.attention())),
        ("hidden", json!(m.hidden)),
        ("ffn_dim", json!(m.ffn_dim)),
        ("q_heads", json!(m.q_heads)),
        ("kv_heads", json!(m.kv_heads)),
        ("d_head", json!(m.d_head)),
        ("layers", json!(m.layers)),
        ("bytes_per_elem", view::number(m.bytes_per_elem)),
        ("params_attention_plus_ffn", json!(m.active_params())),
        ("kv_bytes_per_token", view::number(m.kv_bytes_per_token())),
        ("note", json!(m.note)),
    ]
}
