//! The decode kernel on the command line: parameters, configurations, random tensors, the check.

use super::{CONFIGS, Deal, How, Plan, Problem, Rows, launch, placements, reference};
use crate::attention::case::{Planned, Shapes, Tensors, case};
use crate::attention::{Heads, Mode, PES_PER_CUBE, Reduce, Tier, params};
use crate::{config, of_head};
use ndarray::Array2;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{KernelDef, Limits, Param, Settings};

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
    Param::integer("t-q", 0..=1 << 20, "1", "query tokens of a request: the last of its context"),
    Param::one_of("causal", &["yes", "no"], "no", "whether a query token sees only the tokens up to its own"),
    Param::integer("batch", 0..=1 << 20, "1", "requests over the one context, whose rows share products"),
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
    about: "grouped-query attention, decode and extension, short context: some query tokens against the KV cache",
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
        "mode=A1,tile=64,s-kv=1001,elem=f16,acc=f32",
        "mode=A1,tile=32,s-kv=9,elem=bf16,acc=f32,h-q=24,d-head=128",
        "mode=A2,tier=composite,tile=64,s-kv=640,elem=f16,acc=f32",
        "mode=B,tier=composite-fused,tile=64,s-kv=200,elem=f16,acc=f16",
        "mode=B,tile=32,s-kv=1,elem=f16,acc=f32",
        "mode=A1,deal=turns,tile=32,s-kv=1001,elem=f16,acc=f32",
        "mode=A4,deal=turns,reduce=scatter,tile=32,s-kv=33,elem=bf16,acc=f32",
        "mode=A1,t-q=8,tile=64,s-kv=1024,elem=f16,acc=f32",
        "mode=A2,t-q=8,causal=yes,tile=64,s-kv=250,elem=bf16,acc=f32,d-head=128",
        "mode=A4,t-q=3,causal=yes,tier=composite-fused,tile=64,s-kv=65,elem=f16,acc=f32,h-q=40",
        "mode=B,t-q=2,causal=yes,batch=2,tier=composite,tile=32,s-kv=64,elem=f16,acc=f16",
        "mode=A1,batch=4,reduce=scatter,deal=turns,tile=32,s-kv=300,elem=f16,acc=f32",
        "mode=A1,stages=1,tile=32,s-kv=3000,elem=f16,acc=f32",
        "mode=A2,stages=3,tile=32,s-kv=3000,elem=bf16,acc=f32",
        "mode=B,stages=4,tile=32,s-kv=700,elem=f16,acc=f32",
    ],
    case: case::<Decode, 3>,
};

/// A launch, in the terms of the command line.
struct Decode {
    plan: Plan,
    how: How,
    threads: Option<u32>,
    /// What a report says.
    facts: Vec<(String, String)>,
}

impl Planned<3> for Decode {
    fn of(s: &Settings, elem: ElemType, acc: ElemType, limits: &Limits) -> Result<(Self, Shapes<3>), Diagnostics> {
        let (name, config) = CONFIGS.on(limits);
        let (h_kv, d_head) = (s.integer("h-kv")?, s.integer("d-head")?);
        let mode = config::picked(s, "mode", Mode::ALL.map(|m| (m.name(), m)))?.unwrap_or((config.mode)(h_kv));
        let (batch, t_q, h_q) = (s.integer("batch")?, s.integer("t-q")?, s.integer("h-q")?);
        // What the contract refuses has no rows yet.
        let rows = Rows { batch, t_q, heads: h_q.checked_div(h_kv).unwrap_or(0), causal: false }.count();
        let turn = (config.turn)(rows, d_head);
        let kv_per_cube = config::chosen(s, "kv-per-cube")?.unwrap_or(mode.kv_per_cube());
        // Sums of f16 are not what a configuration is tuned for.
        let (tile, reduce) = if acc == ElemType::F16 {
            (config.tile_f16, Reduce::Chain)
        } else {
            (turn.tile, (config.reduce)(rows, PES_PER_CUBE / kv_per_cube))
        };
        let problem = Problem {
            heads: Heads { h_q, h_kv, kv_per_cube, cubes: config::chosen(s, "cubes")? },
            d_head,
            batch,
            t_q,
            causal: s.pick("causal", &[("yes", true), ("no", false)])?,
            s_kv: s.integer("s-kv")?,
            tile: config::chosen(s, "tile")?.unwrap_or(tile),
            deal: config::picked(s, "deal", Deal::ALL.map(|d| (d.name(), d)))?.unwrap_or(config.deal),
        };
        let plan = problem.check(elem, acc, limits.scratch_bytes)?;
        let how = How {
            tier: s.pick("tier", &Tier::ALL.map(|t| (t.name(), t)))?,
            reduce: config::picked(s, "reduce", Reduce::ALL.map(|r| (r.name(), r)))?.unwrap_or(reduce),
            stages: config::chosen(s, "stages")?.unwrap_or(turn.stages(problem.tile, d_head, elem)),
        };
        let [on_q, on_kv, on_o] = placements(&plan);
        let shapes = Shapes {
            rows: [h_kv, plan.sizes.rows.count(), d_head],
            kv: vec![(["k", "v"], [h_kv, problem.s_kv, d_head])],
            on_q,
            on_kv,
            on_o,
        };
        let facts = facts(name, how, &plan, problem.kv_bytes_per_cube(elem));
        Ok((Decode { plan, how, threads: turn.threads, facts }, shapes))
    }
    fn launch<'a, T: Float + DotInto<A>, A: Float>(&'a self, t: &'a mut Tensors<T, 3>) -> Launch<'a> {
        let [k, v] = &t.kv[0];
        let launch = launch::<T, A>(&self.plan, self.how, [&t.q, k, v], &mut t.o);
        match self.threads {
            Some(threads) => launch.threads(threads),
            None => launch,
        }
    }
    fn expected<T: Elem>(&self, t: &Tensors<T, 3>, head: usize) -> Array2<f64> {
        let [k, v] = &t.kv[0];
        let [_, tokens, _] = k.dims();
        let [q, k, v] = [&t.q, k, v].map(|t| of_head(t, head));
        reference(q.view(), k.view(), v.view(), |row| self.plan.sizes.rows.seen(row, tokens))
    }
    fn facts(&self) -> Vec<(String, String)> {
        self.facts.clone()
    }
}

/// `config`: the name of the target's configuration.
fn facts(config: &str, how: How, plan: &Plan, kv_bytes_per_cube: u64) -> Vec<(String, String)> {
    let Plan { group, tiles, sizes, .. } = plan;
    let Rows { batch, t_q, heads, .. } = sizes.rows;
    let up_to = if sizes.cut.even { "" } else { "up to " };
    let fact = |name: &str, value: String| (name.to_string(), value);
    vec![
        fact("configuration", format!("{config}, tile {} tokens", sizes.cut.tile)),
        fact("partials meet", format!("{}, {} stages", how.reduce.name(), how.stages)),
        fact("group", format!("{} PEs a KV head, {up_to}{tiles} tiles each", group.pes)),
        fact("query rows", format!("{batch} x {t_q} x {heads} of a KV head (requests, tokens, heads)")),
        fact("kv cache per cube", format!("{kv_bytes_per_cube} B")),
    ]
}
