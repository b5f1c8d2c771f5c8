//! `plan hardware`: machine and parallelism together.

use super::asked::text;
use super::fault::told;
use super::flags::flag;
use super::{Answer, Asked, Query};
use clap::{Arg, ArgMatches};
use serde_json::json;
use tilewright_core::diag::Diagnostics;
use tilewright_planner::errors::Fault;
use tilewright_planner::hardware::{Depth, Query as Question, search};
use tilewright_planner::view::{self, Keyed};

pub(super) struct Hardware;

impl Query for Hardware {
    fn name(&self) -> &'static str {
        "hardware"
    }
    fn about(&self) -> &'static str {
        "Search machine and parallelism together: the frontier of latency and cost, and what each knob gains"
    }
    fn flags(&self) -> Vec<Arg> {
        let help = "two_stage: this machine; balanced: each knob once and doubled, 64 machines; coarse: and doubled again, 729";
        vec![flag("depth", "DEPTH", help).default_value("balanced")]
    }
    fn answer(&self, asked: &Asked, matches: &ArgMatches) -> Result<Answer, Diagnostics> {
        let word = text(matches, "depth").unwrap_or_default();
        let depth = Depth::ALL.into_iter().find(|d| d.name() == word).ok_or_else(|| {
            told(Fault::Choice { what: "--depth", found: word, known: Depth::NAMES.map(String::from).to_vec() })
        })?;
        let found = search(&Question {
            model: &asked.model,
            base: &asked.machine,
            work: asked.work,
            b: asked.topology.b,
            depth,
            options: asked.options,
        });
        let best: Vec<Keyed> = found.bests.first().map(view::joint).into_iter().collect();
        let pareto = found.pareto.iter().map(|i| view::joint(&found.bests[*i])).collect();
        Ok(Answer::new(asked)
            .value("depth", depth.name())
            .value("hw_candidates", found.candidates)
            .value("hw_with_a_fit", found.bests.len())
            .value("pareto_size", found.pareto.len())
            .rows("best", "lowest latency", best)
            .main_rows("pareto", "machines that none beats in latency and cost", pareto)
            .rows(
                "sensitivity",
                "a knob doubled at the best point",
                found.sensitivity.iter().map(view::doubling).collect(),
            )
            .lines([format!(
                "{} machines, {} with a deployment that fits",
                json!(found.candidates),
                found.bests.len()
            )]))
    }
}
