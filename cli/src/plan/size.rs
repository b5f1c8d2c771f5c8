//! `plan size`: PEs for a number of users within a latency.

use super::asked::{count, real};
use super::fault::told;
use super::flags::flag;
use super::{Answer, Asked, Query};
use clap::{Arg, ArgMatches};
use serde_json::json;
use tilewright_core::diag::Diagnostics;
use tilewright_planner::size::{Demand, size};

pub(super) struct Sizing;

impl Query for Sizing {
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
