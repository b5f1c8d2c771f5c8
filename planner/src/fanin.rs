//! What joins the results of agents costs: tokens that have to be read anew, since K and V of a branch depend on its history
//! and cannot be concatenated.

use crate::errors::Fault;
use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::model::Model;
use crate::options::{Opt, Options};
use crate::step::step;
use crate::topology::{Phase, Topology, Work};

/// What the agents produce, and how it could be made less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Join {
    pub agents: u64,
    /// Tokens of an agent's full text.
    pub full: u64,
    /// Tokens of an agent's result in a schema, or of its summary.
    pub schema: u64,
    /// Part of the results that others repeat.
    pub repeated: f64,
    /// Part of the summaries whose evidence is opened, and its tokens.
    pub opened: f64,
    pub evidence: u64,
    /// Agents of a reducer's group.
    pub group: u64,
    /// Latent tokens that stand for an agent.
    pub latent: u64,
}

impl Default for Join {
    fn default() -> Join {
        Join { agents: 8, full: 1000, schema: 50, repeated: 0.3, opened: 0.2, evidence: 200, group: 4, latent: 16 }
    }
}

impl Join {
    /// # Errors
    /// `TW-E0712`: a count of zero, or a part that is none.
    pub fn check(&self) -> Result<(), Fault> {
        const MOST: u64 = 1_000_000;
        let counts = [
            ("--agents", self.agents),
            ("--full-tokens", self.full),
            ("--schema-tokens", self.schema),
            ("--evidence-tokens", self.evidence),
            ("--group", self.group),
            ("--latent-tokens", self.latent),
        ];
        for (flag, value) in counts {
            if !(1..=MOST).contains(&value) {
                return Err(Fault::Query { flag, value: value.to_string(), needs: format!("1 to {MOST}") });
            }
        }
        for (flag, value) in [("--repeated", self.repeated), ("--opened", self.opened)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(Fault::Query { flag, value: value.to_string(), needs: "a part, 0 to 1".into() });
            }
        }
        Ok(())
    }
}

/// One way to join.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rung {
    pub name: &'static str,
    /// Tokens that the joining agent reads.
    pub tokens: u64,
    /// K and V of them, of all layers, in bytes.
    pub kv_bytes: f64,
    /// Prefill over the shared prefix, with what parallel reducers take before.
    pub join_s: f64,
    /// Added to every later token.
    pub per_token_s: f64,
    pub note: &'static str,
}

/// The ladder: from full text down to a bound that needs a trained model. `prefix` tokens are shared and read by all.
pub fn ladder(
    model: &Model,
    machine: &Machine,
    topology: &Topology,
    prefix: u64,
    join: &Join,
    o: Options,
) -> Vec<Rung> {
    let o = o.with(Opt::Chunked);
    let prefill = |new: u64, over: u64| {
        let work = Work { t_q: Some(new), ..Work::new(Phase::Prefill, over + new) };
        step(&Inputs::new(model, machine, topology, &work), o).latency_s
    };
    let decode = |tokens: u64, over: u64| {
        let work = Work::new(Phase::Decode, over + tokens);
        tokens as f64 * step(&Inputs::new(model, machine, topology, &work), o).latency_s
    };
    let agents = join.agents as f64;
    let whole = |tokens: f64| (tokens.ceil() as u64).max(1);
    let summaries = agents * join.schema as f64;
    let groups = join.agents.div_ceil(join.group);
    // A reducer reads its group's results and writes one; all reduce at the same time.
    let of_group = join.group.min(join.agents) * join.schema;
    let reducing = prefill(of_group, prefix) + decode(join.schema, prefix + of_group);
    let rungs = [
        ("full text", join.agents * join.full, 0.0, "every agent's text"),
        ("schema", join.agents * join.schema, 0.0, "results in a schema"),
        ("merged", whole(summaries * (1.0 - join.repeated)), 0.0, "and what others repeat left out"),
        (
            "handles",
            whole(summaries + join.opened * agents * join.evidence as f64),
            0.0,
            "summaries, and the evidence of those that are opened",
        ),
        ("reducers", groups * join.schema, reducing, "groups reduced in parallel first"),
        ("latent", join.agents * join.latent, 0.0, "a bound: needs a model trained for it"),
    ];
    let per_token = kv_per_token(model, o);
    let rung = |(name, tokens, before, note): (&'static str, u64, f64, &'static str)| {
        let kv_bytes = tokens as f64 * per_token;
        let shards = (topology.cp * topology.tp.min(model.kv_heads) * topology.pp) as f64;
        Rung {
            name,
            tokens,
            kv_bytes,
            join_s: before + prefill(tokens, prefix),
            // Stages of pp read one after the other: a token waits for all of them.
            per_token_s: kv_bytes / machine.hbm_bytes_per_s / shards * topology.pp as f64,
            note,
        }
    };
    rungs.into_iter().map(rung).collect()
}

fn kv_per_token(model: &Model, o: Options) -> f64 {
    match model.latent {
        Some(l) if o.has(Opt::Mla) => (l.latent + l.rope) as f64 * model.bytes_per_elem * model.layers as f64,
        _ => model.kv_bytes_per_token(),
    }
}
