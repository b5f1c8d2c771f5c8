//! `plan size`: PEs for a number of users within a latency.

use super::asked::{count, real};
use super::fault::told;
use super::flags::flag;
use super::{Answer, Asked, Query};
use clap::{Arg, ArgMatches};
use serde_json::{Value, json};
use tilewright_core::diag::Diagnostics;
use tilewright_planner::effects::Effect;
use tilewright_planner::options::Opt;
use tilewright_planner::size::{Demand, Sizing, size, size_sharded};
use tilewright_planner::view;

pub(super) struct SizeQuery;

impl Query for SizeQuery {
    fn name(&self) -> &'static str {
        "size"
    }
    fn about(&self) -> &'static str {
        "PEs for so many users at an average context (--s-kv) within a time a token"
    }
    fn flags(&self) -> Vec<Arg> {
        vec![
            flag("users", "N", "Users at once").default_value("1"),
            flag("tpot-slo-s", "SECONDS", "Longest time of a token").default_value("0.1"),
        ]
    }
    fn answer(&self, asked: &Asked, matches: &ArgMatches) -> Result<Answer, Diagnostics> {
        let demand = Demand {
            users: count(matches, "users").map_err(told)?.unwrap_or(1),
            context: asked.work.s_kv,
            tpot_goal_s: real(matches, "tpot-slo-s").map_err(told)?.unwrap_or(0.1),
        };
        demand.check().map_err(told)?;
        if asked.options.has(Opt::Sizing) {
            return Ok(sharded(asked, &demand));
        }
        let s = size(&asked.model, &asked.machine, &demand);
        let row = vec![
            ("users", json!(demand.users)),
            ("avg_context_tokens", json!(demand.context)),
            ("tpot_slo_s", json!(demand.tpot_goal_s)),
            ("pes_capacity", json!(s.pes_capacity)),
            ("pes_kv", json!(s.pes_kv)),
            ("pes_per_replica", json!(s.pes_per_replica)),
            ("batch_at_slo_requests", json!(s.batch_at_goal)),
            ("users_per_replica", json!(s.users_per_replica)),
            ("replicas", json!(s.replicas)),
            ("total_pes", json!(s.total_pes)),
            ("binding_axis", json!(s.binding.name())),
        ];
        Ok(Answer::new(asked).main_rows("size_deployment", "deployment", vec![row]))
    }
}

/// With the option `sizing`.
fn sharded(asked: &Asked, demand: &Demand) -> Answer {
    let baseline = size(&asked.model, &asked.machine, demand);
    let without = |pes: f64| {
        let effect = Effect { option: Opt::Sizing, figure: "total_pes", without: baseline.total_pes as f64, with: pes };
        if effect.without == effect.with { Vec::new() } else { vec![effect] }
    };
    let row = vec![
        ("users", json!(demand.users)),
        ("avg_context_tokens", json!(demand.context)),
        ("tpot_slo_s", json!(demand.tpot_goal_s)),
    ];
    match size_sharded(&asked.model, &asked.machine, demand, asked.options) {
        Sizing::Found(s) => {
            let t = &s.topology;
            let found = [
                ("reachable", json!(true)),
                ("cp", json!(t.cp)),
                ("tp", json!(t.tp)),
                ("pp", json!(t.pp)),
                ("pes_per_replica", json!(t.total_pes())),
                ("users_per_replica", json!(t.b)),
                ("replicas", json!(s.replicas)),
                ("total_pes", json!(s.total_pes)),
                ("tpot_s", json!(s.tpot_s)),
                ("binding_axis", json!(s.binding.name())),
            ];
            let row = row.into_iter().chain(found).collect();
            Answer::new(asked)
                .main_rows("size_deployment", "deployment of the fewest PEs", vec![row])
                .hidden_object("topology", view::topology(t))
                .effects(&without(s.total_pes as f64))
        }
        Sizing::Unreachable(fastest) => {
            let best = fastest.map_or(Value::Null, |(_, s)| json!(s));
            let row = row.into_iter().chain([("reachable", json!(false)), ("fastest_tpot_s", best)]).collect();
            let line = match fastest {
                Some((t, s)) => format!(
                    "goal unreachable: one user takes {:.4} s a token on the fastest deployment, cp {} tp {} pp {}",
                    s, t.cp, t.tp, t.pp
                ),
                None => "goal unreachable: no deployment of the search fits the model and one user".to_string(),
            };
            Answer::new(asked).main_rows("size_deployment", "no deployment", vec![row]).lines([line])
        }
    }
}
