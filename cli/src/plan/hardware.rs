//! `plan hardware`: machine and parallelism together.

use super::asked::{real, text};
use super::fault::told;
use super::flags::flag;
use super::{Answer, Asked, Query};
use clap::{Arg, ArgMatches};
use std::path::Path;
use tilewright_core::diag::Diagnostics;
use tilewright_planner::cost::CostModel;
use tilewright_planner::effects::effects;
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
        vec![
            flag("depth", "DEPTH", help).default_value("balanced"),
            flag("cost-file", "FILE", "Weights of the knobs, and a cap, in TOML (option `cost`)"),
            flag("cost-cap", "X", "Most that a machine may cost; the machine itself costs 6 (option `cost`)"),
        ]
    }
    fn answer(&self, asked: &Asked, matches: &ArgMatches) -> Result<Answer, Diagnostics> {
        let word = text(matches, "depth").unwrap_or_default();
        let depth = Depth::ALL.into_iter().find(|d| d.name() == word).ok_or_else(|| {
            told(Fault::Choice { what: "--depth", found: word, known: Depth::NAMES.map(String::from).to_vec() })
        })?;
        let question = Question {
            model: &asked.model,
            base: &asked.machine,
            work: asked.work,
            b: asked.topology.b,
            depth,
            cost: cost(matches).map_err(told)?,
            options: asked.options,
        };
        let found = search(&question);
        let effects = effects(asked.options, |o| {
            let found = search(&Question { options: o, ..question });
            found.bests.first().map_or_else(Vec::new, |best| {
                vec![
                    ("best_latency_ns", best.point.latency_s * 1e9),
                    ("best_cost_score_ratio", best.cost),
                    ("best_pes_used", best.point.pes_used),
                    ("largest_doubling_gain_ratio", found.sensitivity.first().map_or(0.0, |d| d.speedup)),
                ]
            })
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
            .lines([format!("{} machines, {} with a deployment that fits", found.candidates, found.bests.len())])
            .effects(&effects))
    }
}

fn cost(matches: &ArgMatches) -> Result<CostModel, Fault> {
    let mut cost = match text(matches, "cost-file") {
        Some(file) => CostModel::load(Path::new(&file))?,
        None => CostModel::ASSUMED,
    };
    if let Some(cap) = real(matches, "cost-cap")? {
        cost.cap = Some(cap);
    }
    Ok(cost)
}
