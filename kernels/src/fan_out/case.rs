//! Shared-prefix attention on the command line: parameters, random tensors, the check.

use super::{Branches, Plan, Policy, Problem, launch, placements, reference};
use crate::attention::params;
use crate::to_f64;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, Param, Rule, Settings};

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
    Param::integer("agents", 0..=1 << 20, "8", "agents that share the prefix"),
    Param::integer("t-q", 0..=1 << 20, "1", "query tokens of an agent, the last of its suffix"),
    Param::integer("suffix", 0..=1 << 20, "64", "tokens of an agent that are its own"),
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
    ],
    case: |s, inputs, limits| {
        type Make = fn(&Settings, Inputs, &Limits) -> Result<Box<dyn Case>, Diagnostics>;
        let cases: [Make; 3] = [FanCase::<f16, f16>::boxed, FanCase::<f16, f32>::boxed, FanCase::<bf16, f32>::boxed];
        params::by_types(s, cases)?(s, inputs, limits)
    },
};

struct FanCase<T, A> {
    plan: Plan,
    q: Tensor<T, 2>,
    kv: [Tensor<T, 2>; 2],
    own: [Tensor<T, 2>; 2],
    o: Tensor<T, 2>,
    acc: std::marker::PhantomData<A>,
}

impl<T: Float + DotInto<A>, A: Float> FanCase<T, A> {
    fn boxed(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let branches = Branches {
            agents: s.integer("agents")?,
            tokens: s.integer("t-q")?,
            heads: s.integer("h-q")?,
            suffix: s.integer("suffix")?,
        };
        let problem = Problem {
            policy: s.pick("policy", &POLICIES)?,
            branches,
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
        let plan = problem.check(T::ELEM, A::ELEM, limits.scratch_bytes)?;
        let [on_q, on_kv, on_o] = placements(&plan.share);
        let (rows, d) = ([branches.rows(), problem.d_head], problem.d_head);
        // The launcher scales q by 1 / sqrt(d) and rounds once; the reference starts from what was rounded.
        let scale = 2.0 / (d as f64).sqrt();
        let tokens = |[k, v]: [&str; 2], n: usize| {
            [inputs.uniform(k, [n, d], -2.0..2.0), inputs.uniform(v, [n, d], -1.0..1.0)]
                .map(|t| t.placed(on_kv.clone()))
        };
        Ok(Box::new(FanCase::<T, A> {
            plan,
            q: inputs.uniform("q", rows, -scale..scale).placed(on_q),
            kv: tokens(["k", "v"], problem.prefix),
            own: tokens(["own_k", "own_v"], branches.agents * branches.suffix),
            o: inputs.output(rows).placed(on_o),
            acc: std::marker::PhantomData,
        }))
    }
}

impl<T: Float + DotInto<A>, A: Float> Case for FanCase<T, A> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        Ok(launch::<T, A>(&self.plan, &self.q, self.kv.each_ref(), self.own.each_ref(), &mut self.o))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let (q, kv, own) = (to_f64(&self.q), self.kv.each_ref().map(to_f64), self.own.each_ref().map(to_f64));
        let views = [kv[0].view(), kv[1].view()];
        let expected = reference(self.plan.share.branches, q.view(), views, [own[0].view(), own[1].view()]);
        Ok(vec![Agreement::of("o", self.o.as_any(), &expected.into_dyn(), Rule::Attention { acc: A::ELEM })])
    }
    fn facts(&self) -> Vec<(String, String)> {
        let share = self.plan.share;
        vec![
            ("rows".to_string(), format!("{} a PE, of {}", share.rows, share.branches.rows())),
            ("share".to_string(), format!("{} tokens a PE, {} at a time", share.prefix_share(), share.tile)),
        ]
    }
}
