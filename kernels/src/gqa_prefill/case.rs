//! The prefill kernel on the command line: parameters, configurations, random tensors, the check.

use super::{Plan, Problem, launch, placement, reference};
use crate::attention::{Heads, Mode, Tier, params};
use crate::config::Configs;
use crate::of_head;
use ndarray::Array3;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, Param, Rule, Settings};

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
    ],
    case,
};

fn case(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
    type Make = fn(&Settings, Inputs, &Limits) -> Result<Box<dyn Case>, Diagnostics>;
    let cases: [Make; 3] =
        [PrefillCase::<f16, f16>::boxed, PrefillCase::<f16, f32>::boxed, PrefillCase::<bf16, f32>::boxed];
    params::by_types(s, cases)?(s, inputs, limits)
}

fn problem(s: &Settings, limits: &Limits) -> Result<Problem, Diagnostics> {
    let mode = s.pick("mode", &Mode::ALL.map(|m| (m.name(), m)))?;
    let tile = Some(s.integer("tile")?).filter(|n| *n != 0).unwrap_or(*TILE.on(limits).1);
    Ok(Problem {
        heads: Heads { h_q: s.integer("h-q")?, h_kv: s.integer("h-kv")?, kv_per_cube: mode.kv_per_cube(), cubes: None },
        d_head: s.integer("d-head")?,
        t_q: s.integer("t-q")?,
        s_kv: s.integer("s-kv")?,
        tile,
        causal: s.pick("causal", &[("yes", true), ("no", false)])?,
    })
}

struct PrefillCase<T, A> {
    problem: Problem,
    plan: Plan,
    tier: Tier,
    q: Tensor<T, 3>,
    k: Tensor<T, 3>,
    v: Tensor<T, 3>,
    o: Tensor<T, 3>,
    acc: std::marker::PhantomData<A>,
}

impl<T: Float + DotInto<A>, A: Float> PrefillCase<T, A> {
    fn boxed(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let problem = problem(s, limits)?;
        let plan = problem.check(T::ELEM, A::ELEM, limits.scratch_bytes)?;
        let home = placement(&plan);
        let rows = [problem.heads.h_kv, plan.sizes.heads * problem.t_q, problem.d_head];
        let tokens = [problem.heads.h_kv, problem.s_kv, problem.d_head];
        // The launcher scales q by 1 / sqrt(d) and rounds once; the reference starts from what was rounded.
        let scale = 2.0 / (problem.d_head as f64).sqrt();
        Ok(Box::new(PrefillCase::<T, A> {
            problem,
            plan,
            tier: s.pick("tier", &Tier::ALL.map(|t| (t.name(), t)))?,
            q: inputs.uniform("q", rows, -scale..scale).placed(home.clone()),
            k: inputs.uniform("k", tokens, -2.0..2.0).placed(home.clone()),
            v: inputs.uniform("v", tokens, -1.0..1.0).placed(home.clone()),
            o: inputs.output(rows).placed(home),
            acc: std::marker::PhantomData,
        }))
    }
}

impl<T: Float + DotInto<A>, A: Float> Case for PrefillCase<T, A> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let inputs = [&self.q, &self.k, &self.v];
        Ok(launch::<T, A>(&self.plan, self.tier, self.problem.causal, inputs, &mut self.o))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let mut expected = Array3::zeros(self.q.dims());
        for (head, mut out) in expected.outer_iter_mut().enumerate() {
            let [q, k, v] = [&self.q, &self.k, &self.v].map(|t| of_head(t, head));
            out.assign(&reference(q.view(), k.view(), v.view(), self.plan.sizes.heads, self.problem.causal));
        }
        Ok(vec![Agreement::of("o", self.o.as_any(), &expected.into_dyn(), Rule::Attention { acc: A::ELEM })])
    }
    fn facts(&self) -> Vec<(String, String)> {
        let group = format!("{} PEs a KV head, at most {} rows each", self.plan.group.pes, self.plan.sizes.rows);
        vec![
            ("tier".to_string(), format!("{}, tile {} tokens", self.tier.name(), self.plan.sizes.tile)),
            ("group".to_string(), group),
        ]
    }
}
