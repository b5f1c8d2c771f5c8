//! The decode kernel on the command line: parameters, configurations, random tensors, the check.

use super::{Deal, How, Plan, Problem, launch, placements, reference};
use crate::attention::{Heads, Mode, Reduce, Tier, params};
use crate::config::Configs;
use crate::of_head;
use ndarray::{Array2, Axis as Dim};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, Param, Rule, Settings, spread};

/// What the kernel is specialised to.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Tokens of a KV tile, of heads of so many elements.
    pub tile: fn(usize) -> usize,
    /// The same where sums are f16: with small tiles they round too often for their tolerance.
    pub tile_f16: usize,
    /// Where sums are f32; those of f16 meet in a chain.
    pub reduce: Reduce,
    pub deal: Deal,
    /// Bytes of keys and values that a warp asks for ahead.
    pub ahead_bytes: usize,
    /// Threads of a program, where the target has them.
    pub threads: Option<u32>,
    /// The mapping of so many KV heads.
    pub mode: fn(usize) -> Mode,
}

/// AHBM's is the published one. On Hopper a cube is a cluster of 8 CTAs whose 4 warps take 32 tokens a turn, each with two
/// turns of 16 KiB on their way: what keeps the memory busy from half of the SMs. Partials meet in a chain: scattered they
/// come in one step, but take so much more code, which is read from memory, that a launch takes 0.7 us longer (docs/gpu.md).
/// Ampere has no clusters, and its tiles are the program's.
pub const CONFIGS: Configs<Config> = Configs {
    ahbm: Config {
        tile: |_| 1024,
        tile_f16: 1024,
        reduce: Reduce::Chain,
        deal: Deal::Ranges,
        ahead_bytes: 0,
        threads: None,
        mode: |_| Mode::A1,
    },
    sm_80: Config {
        tile: |_| 128,
        tile_f16: 128,
        reduce: Reduce::Chain,
        deal: Deal::Ranges,
        ahead_bytes: 0,
        threads: None,
        mode: Mode::filling_gpu,
    },
    sm_90a: Config {
        // 16 KiB a turn: in shorter ones a warp waits for itself.
        tile: |d_head| if d_head > 64 { 32 } else { 64 },
        tile_f16: 128,
        reduce: Reduce::Chain,
        deal: Deal::Turns,
        ahead_bytes: 32 << 10,
        threads: Some(128),
        mode: Mode::filling_gpu,
    },
};

impl Config {
    /// Turns whose keys and values are on their way at once.
    fn stages(&self, tile: usize, d_head: usize, elem: ElemType) -> usize {
        let turn = (2 * tile as u64).saturating_mul(d_head as u64).saturating_mul(elem.bytes());
        (self.ahead_bytes as u64 / turn.max(1)).clamp(1, 8) as usize
    }
}

const PARAMS: &[Param] = &[
    Param::one_of(
        "mode",
        &["auto", "A1", "A2", "A4", "B"],
        "auto",
        "how KV heads map to cubes: 1, 2, 4 or 8 KV heads a cube (auto: the target's configuration)",
    ),
    params::TIER,
    Param::one_of(
        "reduce",
        &["auto", "chain", "scatter"],
        "auto",
        "how the partials of a group meet: from neighbour to neighbour, or each row at its owner (auto: as the target is)",
    ),
    Param::one_of(
        "deal",
        &["auto", "ranges", "turns"],
        "auto",
        "which tiles are a PE's: a range, or one in turn with the others of its group (auto: as the target is)",
    ),
    Param::integer("stages", 0..=64, "0", "KV tiles on their way at once on a GPU (0: the target's configuration)"),
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
        "mode=A1,reduce=scatter,deal=turns,tile=32,s-kv=1024,elem=f16,acc=f32",
        "mode=A1,reduce=scatter,tile=32,s-kv=256,elem=bf16,acc=f32,h-q=32,d-head=128",
        "mode=A2,reduce=scatter,tile=32,s-kv=256,elem=f16,acc=f32,h-q=40",
        "mode=A4,reduce=scatter,deal=turns,tile=64,s-kv=512,elem=bf16,acc=f32,h-q=24,d-head=128",
        "mode=B,reduce=scatter,tile=32,s-kv=128,elem=f16,acc=f32",
    ],
    case,
};

/// Where and how a launch runs, next to its problem.
#[derive(Clone, Copy)]
struct Chosen {
    how: How,
    threads: Option<u32>,
    /// The name of the target's configuration.
    config: &'static str,
}

fn chosen(s: &Settings, limits: &Limits) -> Result<(Problem, Chosen), Diagnostics> {
    let (name, config) = CONFIGS.on(limits);
    let or = |n: usize, default: usize| if n == 0 { default } else { n };
    let (h_kv, d_head) = (s.integer("h-kv")?, s.integer("d-head")?);
    let modes = Mode::ALL.map(|m| (m.name(), Some(m)));
    let mode = s.pick("mode", &[&[("auto", None)], modes.as_slice()].concat())?.unwrap_or((config.mode)(h_kv));
    let reduces = Reduce::ALL.map(|r| (r.name(), Some(r)));
    // Sums of f16 are not what a configuration is tuned for.
    let (tile, reduce) =
        s.pick("acc", &[("f16", (config.tile_f16, Reduce::Chain)), ("f32", ((config.tile)(d_head), config.reduce))])?;
    let reduce = s.pick("reduce", &[&[("auto", None)], reduces.as_slice()].concat())?.unwrap_or(reduce);
    let deals = Deal::ALL.map(|d| (d.name(), Some(d)));
    let deal = s.pick("deal", &[&[("auto", None)], deals.as_slice()].concat())?.unwrap_or(config.deal);
    let tier = s.pick("tier", &Tier::ALL.map(|t| (t.name(), t)))?;
    let problem = Problem {
        heads: Heads {
            h_q: s.integer("h-q")?,
            h_kv,
            kv_per_cube: or(s.integer("kv-per-cube")?, mode.kv_per_cube()),
            cubes: Some(s.integer("cubes")?).filter(|c| *c != 0),
        },
        d_head,
        t_q: s.integer("t-q")?,
        s_kv: s.integer("s-kv")?,
        tile: or(s.integer("tile")?, tile),
    };
    // Both element types that tensors have are as long.
    let stages = or(s.integer("stages")?, config.stages(problem.tile, d_head, ElemType::F16));
    Ok((problem, Chosen { how: How { tier, reduce, deal, stages }, threads: config.threads, config: name }))
}

fn case(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
    let (problem, chosen) = chosen(s, limits)?;
    type Make = fn(Problem, Chosen, Inputs, &Limits) -> Result<Box<dyn Case>, Diagnostics>;
    let cases: [Make; 3] =
        [DecodeCase::<f16, f16>::boxed, DecodeCase::<f16, f32>::boxed, DecodeCase::<bf16, f32>::boxed];
    params::by_types(s, cases)?(problem, chosen, inputs, limits)
}

struct DecodeCase<T, A> {
    problem: Problem,
    plan: Plan,
    chosen: Chosen,
    q: Tensor<T, 3>,
    k: Tensor<T, 3>,
    v: Tensor<T, 3>,
    o: Tensor<T, 3>,
    acc: std::marker::PhantomData<A>,
}

impl<T: Float + DotInto<A>, A: Float> DecodeCase<T, A> {
    fn boxed(problem: Problem, chosen: Chosen, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let plan = problem.check(T::ELEM, A::ELEM, limits.scratch_bytes)?;
        let [on_q, on_k, on_v, on_o] = placements(&plan);
        let rows = [problem.heads.h_kv, plan.sizes.rows, problem.d_head];
        let tokens = [problem.heads.h_kv, problem.s_kv, problem.d_head];
        // The launcher scales q by 1 / sqrt(d) and rounds once; the reference starts from what was rounded.
        let scale = 2.0 / (problem.d_head as f64).sqrt();
        Ok(Box::new(DecodeCase::<T, A> {
            problem,
            plan,
            chosen,
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
        let launch = launch::<T, A>(&self.plan, self.chosen.how, &self.q, &self.k, &self.v, &mut self.o);
        Ok(match self.chosen.threads {
            Some(threads) => launch.threads(threads),
            None => launch,
        })
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
            fact("configuration", format!("{}, tile {} tokens", self.chosen.config, self.plan.sizes.tile)),
            fact("partials meet", format!("{}, {} stages", self.chosen.how.reduce.name(), self.chosen.how.stages)),
            fact("group", format!("{} PEs a KV head, {} tiles each", self.plan.group.pes, self.plan.tiles)),
            fact("kv cache per cube", format!("{} B", self.problem.kv_bytes_per_cube(T::ELEM))),
        ]
    }
}
