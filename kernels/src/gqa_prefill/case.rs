//! The prefill kernel on the command line: parameters, configurations, random tensors, the check.

use super::{Plan, Problem, launch, placement, reference};
use crate::attention::case::{Planned, Shapes, Tensors, case};
use crate::attention::{Heads, Mode, Tier, params};
use crate::config::{self, Configs};
use crate::of_head;
use ndarray::Array2;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{KernelDef, Limits, Param, Settings};

/// Tokens of a KV tile. AHBM's is the published one; a GPU's keeps keys and values in shared memory.
const TILE: Configs<usize> = Configs { ahbm: 1024, sm_80: 128, sm_90a: 128 };

const PARAMS: &[Param] = &[
    params::MODE,
    params::TIER,
    Param::one_of("causal", &["yes", "no"], "no", "whether a query token sees only the tokens up to its own"),
    params::S_KV,
    Param::integer("t-q", 0..=1 << 20, "8", "query tokens"),
    params::H_Q,
    params::H_KV,
    Param::integer("sips", 0..=1 << 20, "1", "SIPs over which KV heads go, each with as many cubes"),
    params::D_HEAD,
    params::TILE,
    params::ELEM,
    params::ACC,
];

/// The prefill kernel as the command line and the self-test see it.
pub const GQA_PREFILL: KernelDef = KernelDef {
    name: "gqa_prefill",
    about: "grouped-query attention, prefill, short context: KV tiles read once a group and passed on",
    params: PARAMS,
    instances: &[
        "mode=A1,elem=f16,acc=f16,tile=128,s-kv=512",
        "mode=A2,elem=f16,acc=f16,tile=128,s-kv=512",
        "mode=A4,elem=f16,acc=f16,tile=128,s-kv=512",
        "mode=B,elem=f16,acc=f16,tile=128,s-kv=512",
        "mode=A1,tier=composite,elem=f16,acc=f32,tile=128,s-kv=512",
        "mode=A4,tier=composite,elem=f16,acc=f32,tile=128,s-kv=512",
        "mode=A2,tier=composite-fused,elem=f16,acc=f32,tile=128,s-kv=512",
        "mode=B,tier=composite-fused,elem=bf16,acc=f32,tile=128,s-kv=512",
        "mode=A1,causal=yes,elem=f16,acc=f32,tile=64,s-kv=200,t-q=130,h-q=16,h-kv=8",
        "mode=A2,causal=yes,tier=composite-fused,elem=f16,acc=f32,tile=64,s-kv=200,t-q=37,h-q=24,h-kv=8",
        "mode=A4,causal=yes,tier=composite,elem=bf16,acc=f32,tile=64,s-kv=40,t-q=40,h-q=8,h-kv=8,d-head=128",
        "mode=A1,elem=f16,acc=f32,tile=64,s-kv=65,t-q=1,h-q=24,h-kv=8,d-head=256",
        "mode=A2,causal=yes,elem=f16,acc=f32,tile=64,s-kv=90,t-q=20,h-q=24,h-kv=8,sips=2",
    ],
    case: case::<Prefill, 3>,
};

fn problem(s: &Settings, limits: &Limits) -> Result<Problem, Diagnostics> {
    let mode = s.pick("mode", &Mode::ALL.map(|m| (m.name(), m)))?;
    let tile = config::chosen(s, "tile")?.unwrap_or(*TILE.on(limits).1);
    Ok(Problem {
        heads: Heads { h_q: s.integer("h-q")?, h_kv: s.integer("h-kv")?, kv_per_cube: mode.kv_per_cube(), cubes: None },
        sips: s.integer("sips")?,
        d_head: s.integer("d-head")?,
        t_q: s.integer("t-q")?,
        s_kv: s.integer("s-kv")?,
        tile,
        causal: s.pick("causal", &[("yes", true), ("no", false)])?,
    })
}

/// A launch, in the terms of the command line.
struct Prefill {
    plan: Plan,
    tier: Tier,
    causal: bool,
}

impl Planned<3> for Prefill {
    fn of(s: &Settings, elem: ElemType, acc: ElemType, limits: &Limits) -> Result<(Self, Shapes<3>), Diagnostics> {
        let problem = problem(s, limits)?;
        let plan = problem.check(elem, acc, limits.scratch_bytes)?;
        let home = placement(&plan);
        let Problem { heads, d_head, t_q, s_kv, causal, .. } = problem;
        let shapes = Shapes {
            rows: [heads.h_kv, plan.sizes.heads * t_q, d_head],
            kv: vec![(["k", "v"], [heads.h_kv, s_kv, d_head])],
            on_q: home.clone(),
            on_kv: home.clone(),
            on_o: home,
        };
        Ok((Prefill { plan, tier: s.pick("tier", &Tier::ALL.map(|t| (t.name(), t)))?, causal }, shapes))
    }
    fn launch<'a, T: Float + DotInto<A>, A: Float>(&'a self, t: &'a mut Tensors<T, 3>) -> Launch<'a> {
        let [k, v] = &t.kv[0];
        launch::<T, A>(&self.plan, self.tier, self.causal, [&t.q, k, v], &mut t.o)
    }
    fn expected<T: Elem>(&self, t: &Tensors<T, 3>, head: usize) -> Array2<f64> {
        let [k, v] = &t.kv[0];
        let [q, k, v] = [&t.q, k, v].map(|t| of_head(t, head));
        reference(q.view(), k.view(), v.view(), self.plan.sizes.heads, self.causal)
    }
    fn facts(&self) -> Vec<(String, String)> {
        let group = format!("{} PEs a KV head, at most {} rows each", self.plan.group.pes, self.plan.sizes.rows);
        vec![
            ("tier".to_string(), format!("{}, tile {} tokens", self.tier.name(), self.plan.sizes.tile)),
            ("group".to_string(), group),
        ]
    }
}
