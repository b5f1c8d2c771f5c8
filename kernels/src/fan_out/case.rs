//! Shared-prefix attention on the command line: parameters, random tensors, the check.

use super::{Branches, Plan, Policy, Problem, launch, placements, reference};
use crate::attention::case::{Planned, Shapes, Tensors, case};
use crate::attention::{Tier, params};
use crate::to_f64;
use ndarray::Array2;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{KernelDef, Limits, Param, Settings};

const POLICIES: [(&str, Policy); 2] = [("stationary", Policy::Stationary), ("distributed", Policy::Distributed)];

/// Tokens of a tile on a GPU: keys and values of so many lie in registers and shared memory beside 64 rows.
const GPU_TILE: usize = 64;

const PARAMS: &[Param] = &[
    Param::one_of(
        "policy",
        &["stationary", "distributed"],
        "stationary",
        "rows go to keys and values, or these to rows",
    ),
    params::TIER,
    Param::integer("agents", 0..=1 << 20, "8", "agents that share the prefix"),
    Param::integer("t-q", 0..=1 << 20, "1", "query tokens of an agent, the last of its suffix"),
    Param::integer("suffix", 0..=1 << 20, "64", "tokens of an agent that are its own"),
    Param::integer(
        "suffix-step",
        0..=1 << 20,
        "0",
        "tokens that each agent has more of its own than the one before it",
    ),
    params::S_KV,
    Param::integer("sips", 0..=1 << 20, "1", "SIPs that hold the prefix, each on as many cubes"),
    Param::integer("cubes", 0..=1 << 20, "8", "cubes of a SIP that hold the prefix, 1 to 16"),
    Param::integer("pes", 0..=1 << 20, "8", "PEs of each cube: 1, 2, 4 or 8"),
    Param::integer("h-q", 0..=1 << 20, "8", "query heads of the KV head"),
    Param::integer("d-head", 0..=1 << 20, "128", "length of a head vector"),
    Param::integer("tile", 0..=1 << 22, "0", "tokens of a tile (0: up to 1024, as many as fit; on a GPU 64)"),
    params::ELEM,
    params::ACC,
];

/// The fan-out kernel as the command line and the self-test see it.
pub const FAN_OUT: KernelDef = KernelDef {
    name: "fan_out",
    about: "attention of several agents over a prefix that they share, each with tokens of its own after it",
    params: PARAMS,
    instances: &[
        "policy=stationary,acc=f16",
        "policy=distributed,acc=f32",
        "policy=stationary,acc=f32,agents=3,t-q=2,suffix=5,s-kv=1000,cubes=7,h-q=3,d-head=64,tile=32",
        "policy=distributed,elem=bf16,acc=f32,agents=6,t-q=3,suffix=7,s-kv=700,cubes=3,pes=4,h-q=2,tile=64",
        "policy=stationary,acc=f32,agents=2,suffix=9,s-kv=900,sips=2,cubes=3,h-q=4,d-head=64",
        "policy=stationary,tier=composite,acc=f32,agents=2,suffix=70,s-kv=1000,cubes=3,h-q=3,d-head=64,tile=32",
        "policy=distributed,tier=composite-fused,acc=f32,agents=4,t-q=2,suffix=9,s-kv=700,cubes=2,h-q=3,d-head=64,tile=64",
        "policy=stationary,acc=f32,agents=3,t-q=2,suffix=3,suffix-step=40,s-kv=500,cubes=3,h-q=3,d-head=64,tile=16",
        "policy=distributed,tier=composite,acc=f32,agents=4,suffix=1,suffix-step=30,s-kv=300,cubes=2,h-q=3,d-head=64,tile=32",
    ],
    case: case::<Plan, 2>,
};

impl Planned<2> for Plan {
    fn of(s: &Settings, elem: ElemType, acc: ElemType, limits: &Limits) -> Result<(Self, Shapes<2>), Diagnostics> {
        let branches = Branches { agents: s.integer("agents")?, tokens: s.integer("t-q")?, heads: s.integer("h-q")? };
        let (suffix, step): (usize, usize) = (s.integer("suffix")?, s.integer("suffix-step")?);
        let problem = Problem {
            policy: s.pick("policy", &POLICIES)?,
            tier: s.pick("tier", &Tier::ALL.map(|t| (t.name(), t)))?,
            branches,
            suffixes: (0..branches.agents).map(|agent| suffix + agent * step).collect(),
            d_head: s.integer("d-head")?,
            prefix: s.integer("s-kv")?,
            sips: s.integer("sips")?,
            cubes: s.integer("cubes")?,
            pes: s.integer("pes")?,
            tile: match (s.integer("tile")?, limits.arch) {
                (0, Some(_)) => GPU_TILE,
                (tile, _) => tile,
            },
        };
        let plan = problem.check(elem, acc, limits.scratch_bytes)?;
        let [on_q, on_kv, on_o] = placements(&plan.share);
        let d = problem.d_head;
        let kv = vec![(["k", "v"], [problem.prefix, d]), (["own_k", "own_v"], [plan.places.all, d])];
        Ok((plan, Shapes { rows: [branches.rows(), d], kv, on_q, on_kv, on_o }))
    }
    fn launch<'a, T: Float + DotInto<A>, A: Float>(&'a self, t: &'a mut Tensors<T, 2>) -> Launch<'a> {
        launch::<T, A>(self, &t.q, t.kv[0].each_ref(), t.kv[1].each_ref(), &mut t.o)
    }
    fn expected<T: Elem>(&self, t: &Tensors<T, 2>, _: usize) -> Array2<f64> {
        let (q, [kv, own]) = (to_f64(&t.q), [0, 1].map(|i| t.kv[i].each_ref().map(to_f64)));
        let views = [kv[0].view(), kv[1].view()];
        reference(self.share.branches, &self.places.of_agent, q.view(), views, [own[0].view(), own[1].view()])
    }
    fn facts(&self) -> Vec<(String, String)> {
        let share = self.share;
        vec![
            ("tier".to_string(), share.tier.name().to_string()),
            ("rows".to_string(), format!("{} a PE, of {}", share.rows, share.branches.rows())),
            ("share".to_string(), format!("{} tokens a PE, {} at a time", share.prefix_share(), share.tile)),
        ]
    }
}
