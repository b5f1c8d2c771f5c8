//! The prefill kernel on the command line: parameters, configurations, random tensors, the check.

use super::{Plan, Problem, launch, placement, reference};
use crate::attention::{Heads, Mode, Tier};
use crate::gqa_decode::CONFIGS;
use crate::of_head;
use ndarray::Array3;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, Param, Rule, Settings};

const PARAMS: &[Param] = &[
    Param::one_of("mode", &["A1", "A2", "A4", "B"], "A1", "how KV heads map to cubes: 1, 2, 4 or 8 KV heads a cube"),
    Param::one_of(
        "tier",
        &["baseline", "composite", "composite-fused"],
        "baseline",
        "commands the accelerator is given",
    ),
    Param::one_of("causal", &["yes", "no"], "no", "whether a query token sees only the tokens up to its own"),
    Param::integer("s-kv", 0..=1 << 40, "8192", "context length in tokens"),
    Param::integer("t-q", 0..=1 << 20, "8", "query tokens"),
    Param::integer("h-q", 0..=1 << 20, "64", "query heads"),
    Param::integer("h-kv", 0..=1 << 20, "8", "KV heads"),
    Param::integer("d-head", 0..=1 << 20, "64", "length of a head vector"),
    Param::integer("tile", 0..=1 << 30, "0", "tokens of a KV tile (0: the target's configuration)"),
    Param::one_of("elem", &["f16", "bf16"], "f16", "element type of the tensors"),
    Param::one_of("acc", &["f16", "f32"], "f16", "element type of scores, sums and outputs on the way"),
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
    let bf16_in_f16: Make = |_, _, _| Err(crate::contract::bf16_in_f16().into());
    let (in_f16, in_f32) = s.pick::<(Make, Make)>(
        "elem",
        &[
            ("f16", (PrefillCase::<f16, f16>::boxed, PrefillCase::<f16, f32>::boxed)),
            ("bf16", (bf16_in_f16, PrefillCase::<bf16, f32>::boxed)),
        ],
    )?;
    s.pick("acc", &[("f16", in_f16), ("f32", in_f32)])?(s, inputs, limits)
}

fn problem(s: &Settings, limits: &Limits) -> Result<Problem, Diagnostics> {
    let mode = s.pick("mode", &Mode::ALL.map(|m| (m.name(), m)))?;
    let tile = Some(s.integer("tile")?).filter(|n| *n != 0).unwrap_or(CONFIGS.on(limits).1.tile);
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
