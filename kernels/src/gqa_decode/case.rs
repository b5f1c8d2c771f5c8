//! The decode kernel on the command line: parameters, configurations, random tensors, the check.

use super::{Plan, Problem, launch, placements, reference};
use crate::attention::{Heads, Mode, Tier, params};
use crate::config::Configs;
use crate::of_head;
use ndarray::{Array2, Axis as Dim};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, Param, Rule, Settings, spread};

/// What the kernel is specialised to.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Tokens of a KV tile.
    pub tile: usize,
}

/// AHBM's is the published one. The GPUs' keep keys and values of a tile within shared memory, and
/// sums of f16 within their tolerance: with tiles of 64 tokens they round too often.
pub const CONFIGS: Configs<Config> =
    Configs { ahbm: Config { tile: 1024 }, sm_80: Config { tile: 128 }, sm_90a: Config { tile: 128 } };

const PARAMS: &[Param] = &[
    params::MODE,
    params::TIER,
    Param::integer("kv-per-cube", 0..=1 << 20, "0", "KV heads a cube, instead of --mode (0: as the mode says)"),
    params::S_KV,
    Param::integer("t-q", 0..=1 << 20, "1", "query tokens; decode takes one"),
    params::H_Q,
    params::H_KV,
    params::D_HEAD,
    Param::integer("cubes", 0..=1 << 20, "0", "cubes of the launch (0: as many as the mapping needs)"),
    params::TILE,
    params::ELEM,
    params::ACC,
];

/// The decode kernel as the command line and the self-test see it.
pub const GQA_DECODE: KernelDef = KernelDef {
    name: "gqa_decode",
    about: "grouped-query attention, decode, short context: one query token against the KV cache",
    params: PARAMS,
    instances: &[
        "mode=A1,elem=f16,acc=f16",
        "mode=A2,elem=f16,acc=f16",
        "mode=A4,elem=f16,acc=f16",
        "mode=B,elem=f16,acc=f16",
        "mode=A1,elem=f16,acc=f32",
        "mode=A2,elem=f16,acc=f32",
        "mode=A4,elem=f16,acc=f32",
        "mode=B,elem=f16,acc=f32",
        "mode=A1,elem=bf16,acc=f32",
        "mode=A2,elem=bf16,acc=f32",
        "mode=A4,elem=bf16,acc=f32",
        "mode=B,elem=bf16,acc=f32",
        "mode=A1,tier=composite,tile=64,s-kv=2048,elem=f16,acc=f32",
        "mode=A2,tier=composite,tile=64,s-kv=1024,elem=f16,acc=f32",
        "mode=A4,tier=composite,tile=64,s-kv=512,elem=f16,acc=f32",
        "mode=B,tier=composite,tile=64,s-kv=256,elem=f16,acc=f16",
        "mode=A1,tier=composite-fused,tile=64,s-kv=2048,elem=f16,acc=f16",
        "mode=A2,tier=composite-fused,tile=64,s-kv=1024,elem=f16,acc=f32",
        "mode=A4,tier=composite-fused,tile=64,s-kv=512,elem=bf16,acc=f32",
        "mode=B,tier=composite-fused,tile=64,s-kv=256,elem=f16,acc=f32",
    ],
    case,
};

fn problem(s: &Settings, limits: &Limits) -> Result<Problem, Diagnostics> {
    let (_, config) = CONFIGS.on(limits);
    let or = |n: usize, default: usize| if n == 0 { default } else { n };
    let mode = s.pick("mode", &Mode::ALL.map(|m| (m.name(), m)))?;
    Ok(Problem {
        heads: Heads {
            h_q: s.integer("h-q")?,
            h_kv: s.integer("h-kv")?,
            kv_per_cube: or(s.integer("kv-per-cube")?, mode.kv_per_cube()),
            cubes: Some(s.integer("cubes")?).filter(|c| *c != 0),
        },
        d_head: s.integer("d-head")?,
        t_q: s.integer("t-q")?,
        s_kv: s.integer("s-kv")?,
        tile: or(s.integer("tile")?, config.tile),
    })
}

fn case(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
    let problem = problem(s, limits)?;
    type Make = fn(Problem, Tier, Inputs, &Limits) -> Result<Box<dyn Case>, Diagnostics>;
    let tier = s.pick("tier", &Tier::ALL.map(|t| (t.name(), t)))?;
    let cases: [Make; 3] =
        [DecodeCase::<f16, f16>::boxed, DecodeCase::<f16, f32>::boxed, DecodeCase::<bf16, f32>::boxed];
    params::by_types(s, cases)?(problem, tier, inputs, limits)
}

struct DecodeCase<T, A> {
    problem: Problem,
    plan: Plan,
    tier: Tier,
    /// The name of the target's configuration.
    config: &'static str,
    q: Tensor<T, 3>,
    k: Tensor<T, 3>,
    v: Tensor<T, 3>,
    o: Tensor<T, 3>,
    acc: std::marker::PhantomData<A>,
}

impl<T: Float + DotInto<A>, A: Float> DecodeCase<T, A> {
    fn boxed(problem: Problem, tier: Tier, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let plan = problem.check(T::ELEM, A::ELEM, limits.scratch_bytes)?;
        let [on_q, on_k, on_v, on_o] = placements(&plan);
        let rows = [problem.heads.h_kv, plan.sizes.rows, problem.d_head];
        let tokens = [problem.heads.h_kv, problem.s_kv, problem.d_head];
        // The launcher scales q by 1 / sqrt(d) and rounds once; the reference starts from what was rounded.
        let scale = 2.0 / (problem.d_head as f64).sqrt();
        Ok(Box::new(DecodeCase::<T, A> {
            problem,
            plan,
            tier,
            config: CONFIGS.on(limits).0,
            q: inputs.uniform("q", rows, -scale..scale).placed(on_q),
            k: inputs.uniform("k", tokens, -2.0..2.0).placed(on_k),
            v: inputs.uniform("v", tokens, -1.0..1.0).placed(on_v),
            o: inputs.output(rows).placed(on_o),
            acc: std::marker::PhantomData,
        }))
    }
}

impl<T: Float + DotInto<A>, A: Float> Case for DecodeCase<T, A> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        Ok(launch::<T, A>(&self.plan, self.tier, &self.q, &self.k, &self.v, &mut self.o))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        self.check_some(usize::MAX)
    }
    /// Whole KV heads, so that their keys and values are widened once.
    fn check_some(&self, rows: usize) -> Result<Vec<Agreement>, Diagnostics> {
        let [heads, of_a_head, d] = self.q.dims();
        let heads = spread(rows.div_ceil(of_a_head), heads);
        let mut expected = Array2::zeros([heads.len() * of_a_head, d]);
        for (head, mut out) in heads.iter().zip(expected.axis_chunks_iter_mut(Dim(0), of_a_head)) {
            let [q, k, v] = [&self.q, &self.k, &self.v].map(|t| of_head(t, *head));
            out.assign(&reference(q.view(), k.view(), v.view()));
        }
        let rows: Vec<usize> =
            heads.iter().flat_map(|head| (0..of_a_head).map(move |g| head * of_a_head + g)).collect();
        Ok(vec![Agreement::of_rows("o", self.o.as_any(), &rows, expected.view(), Rule::Attention { acc: A::ELEM })])
    }
    fn facts(&self) -> Vec<(String, String)> {
        let fact = |name: &str, value: String| (name.to_string(), value);
        vec![
            fact("configuration", format!("{}, tile {} tokens", self.config, self.plan.sizes.tile)),
            fact("group", format!("{} PEs a KV head, {} tiles each", self.plan.group.pes, self.plan.tiles)),
            fact("kv cache per cube", format!("{} B", self.problem.kv_bytes_per_cube(T::ELEM))),
        ]
    }
}
