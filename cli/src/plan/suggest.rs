//! `plan suggest`: the smallest deployment that fits.

use super::{Answer, Asked, Query};
use clap::ArgMatches;
use tilewright_core::diag::Diagnostics;
use tilewright_planner::effects::effects;
use tilewright_planner::suggest::{SLACK, suggest};
use tilewright_planner::view;

pub(super) struct Suggest;

impl Query for Suggest {
    fn name(&self) -> &'static str {
        "suggest"
    }
    fn about(&self) -> &'static str {
        "The smallest deployment that fits, with a tenth of the memory free"
    }
    fn answer(&self, asked: &Asked, _: &ArgMatches) -> Result<Answer, Diagnostics> {
        let s = suggest(&asked.model, &asked.machine, asked.topology.b, &asked.work, SLACK, asked.options);
        let whole = view::topology(&s.topology);
        let effects = effects(asked.options, |o| {
            let s = suggest(&asked.model, &asked.machine, asked.topology.b, &asked.work, SLACK, o);
            vec![
                ("pes_used", s.placed.total_pes),
                ("weights_bytes", s.memory.weights_bytes),
                ("kv_bytes", s.memory.kv_bytes),
                ("used_bytes", s.memory.used_bytes),
            ]
        });
        Ok(Answer::new(asked)
            .main_rows("suggestion", "the smallest deployment that fits", vec![view::suggestion(&s)])
            .hidden_object("topology", whole)
            .effects(&effects))
    }
}
