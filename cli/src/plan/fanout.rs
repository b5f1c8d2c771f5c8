//! `plan fanout`: agents over a shared prefix, and what joining their results costs.

use super::asked::{count, real};
use super::fault::told;
use super::flags::flag;
use super::{Answer, Asked, Query};
use clap::{Arg, ArgMatches};
use serde_json::{Value, json};
use tilewright_core::diag::Diagnostics;
use tilewright_planner::errors::Fault;
use tilewright_planner::fanin::{Join, ladder};
use tilewright_planner::fanout::{Agents, crossover, fanout, formulas};
use tilewright_planner::formula::substituted;
use tilewright_planner::view::{self, Keyed};

pub(super) struct FanOut;

impl Query for FanOut {
    fn name(&self) -> &'static str {
        "fanout"
    }
    fn about(&self) -> &'static str {
        "Agents over a shared prefix (--s-kv): Stationary-KV against Distributed-Q, and what joining costs"
    }
    fn flags(&self) -> Vec<Arg> {
        vec![
            flag("agents", "N", "Agents that share the prefix").default_value("8"),
            flag("tokens", "N", "Private tokens of each").default_value("20"),
            flag("cubes", "N", "Cubes that a KV head lies on").default_value("4"),
            flag("groups", "N", "Groups of Distributed-Q").default_value("2"),
            flag("remap-bytes", "N", "Bytes that a new assignment of rows copies").default_value("0"),
            flag("table-ns", "NS", "Update of the page table").default_value("100"),
            flag("full-tokens", "N", "Tokens of an agent's full text [default: 1000]"),
            flag("schema-tokens", "N", "Tokens of a result in a schema [default: 50]"),
            flag("repeated", "PART", "Part of the results that others repeat [default: 0.3]"),
            flag("opened", "PART", "Part of the summaries whose evidence is opened [default: 0.2]"),
            flag("evidence-tokens", "N", "Tokens of the evidence [default: 200]"),
            flag("group", "N", "Agents of a reducer's group [default: 4]"),
            flag("latent-tokens", "N", "Latent tokens that stand for an agent [default: 16]"),
        ]
    }
    fn answer(&self, asked: &Asked, matches: &ArgMatches) -> Result<Answer, Diagnostics> {
        let inputs = asked.inputs()?;
        let agents = agents(matches).map_err(told)?;
        agents.check(inputs.pes_per_cube).map_err(told)?;
        let join = join(matches).map_err(told)?;
        join.check().map_err(told)?;
        let f = fanout(&inputs, &agents);
        let chosen = if f.distributed_s < f.stationary_s { "Distributed-Q" } else { "Stationary-KV" };
        let terms: Keyed = vec![
            ("rows_per_head", view::number(f.rows_per_head)),
            ("pes_per_kv_head", view::number(f.pes)),
            ("q_multicast_s", json!(f.q_multicast_s)),
            ("local_s", json!(f.local_s)),
            ("reduce_s", json!(f.reduce_s)),
            ("stationary_kv_s", json!(f.stationary_s)),
            ("q_part_s", json!(f.q_part_s)),
            ("remote_kv_s", json!(f.remote_kv_s)),
            ("group_local_s", json!(f.group_local_s)),
            ("group_reduce_s", json!(f.group_reduce_s)),
            ("remap_s", json!(f.remap_s)),
            ("distributed_q_s", json!(f.distributed_s)),
            ("chosen", json!(chosen)),
            ("crossover_rows_per_head", crossover(&inputs, &agents).map_or(Value::Null, |m| json!(m))),
            ("independent_s", json!(f.independent_s)),
            ("gain_over_independent_ratio", json!(f.independent_s / f.stationary_s)),
        ];
        let rungs = ladder(&asked.model, &asked.machine, &asked.topology, asked.work.s_kv, &join, asked.options);
        let rungs = rungs.iter().map(|r| -> Keyed {
            vec![
                ("rung", json!(r.name)),
                ("tokens", json!(r.tokens)),
                ("kv_bytes", view::number(r.kv_bytes)),
                ("join_s", json!(r.join_s)),
                ("per_token_s", json!(r.per_token_s)),
                ("note", json!(r.note)),
            ]
        });
        let mut answer = Answer::new(asked)
            .object("fanout", "one KV head and layer: Stationary-KV, Distributed-Q", terms)
            .main_rows("fanin", "joining the results: tokens that are read anew", rungs.collect());
        if asked.explain {
            let (graph, _) = formulas();
            let values: Vec<f64> = inputs.values().into_iter().chain(agents.values()).collect();
            answer = answer.lines(substituted(&graph, &values).iter().map(super::stages::formula_line));
        }
        Ok(answer)
    }
}

pub(super) fn agents(matches: &ArgMatches) -> Result<Agents<f64>, Fault> {
    let number = |name: &str, default: u64| Ok::<f64, Fault>(count(matches, name)?.unwrap_or(default) as f64);
    Ok(Agents {
        agents: number("agents", 8)?,
        tokens: number("tokens", 20)?,
        cubes: number("cubes", 4)?,
        groups: number("groups", 2)?,
        remap_bytes: number("remap-bytes", 0)?,
        table_s: real(matches, "table-ns")?.unwrap_or(100.0).max(0.0) * 1e-9,
    })
}

fn join(matches: &ArgMatches) -> Result<Join, Fault> {
    let d = Join::default();
    let number = |name: &str, default: u64| Ok::<u64, Fault>(count(matches, name)?.unwrap_or(default));
    let part = |name: &str, default: f64| Ok::<f64, Fault>(real(matches, name)?.unwrap_or(default));
    Ok(Join {
        agents: number("agents", d.agents)?,
        full: number("full-tokens", d.full)?,
        schema: number("schema-tokens", d.schema)?,
        repeated: part("repeated", d.repeated)?,
        opened: part("opened", d.opened)?,
        evidence: number("evidence-tokens", d.evidence)?,
        group: number("group", d.group)?,
        latent: number("latent-tokens", d.latent)?,
    })
}
