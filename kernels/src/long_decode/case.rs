//! Long-context decode on the command line: parameters, random tensors, the check.

use super::{Addressing, Form, Plan, Problem, launch, placements, reference};
use crate::attention::case::{Planned, Shapes, Tensors, case};
use crate::attention::params;
use crate::config::Configs;
use crate::to_f64;
use ndarray::Array2;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{KernelDef, Limits, Param, Settings};

/// What the kernel is specialised to.
#[derive(Clone, Copy, Debug)]
struct Config {
    /// Elements of the keys of a tile at most.
    elems: usize,
}

/// AHBM's tiles are the published ones: as long as asked for, or as its composites stream. GPUs hold keys and values of a
/// tile in shared memory.
const CONFIGS: Configs<Config> = Configs {
    ahbm: Config { elems: usize::MAX },
    sm_80: Config { elems: 128 * 128 },
    sm_90a: Config { elems: 128 * 128 },
};

const PARAMS: &[Param] = &[
    Param::one_of(
        "form",
        &["primitive", "primitive_tiled", "composite", "composite_extended"],
        "primitive",
        "commands of a PE; primitive_tiled is meant for a machine with gemm.dot_block",
    ),
    Param::one_of("addressing", &["sharded", "published"], "sharded", "each PE's own slice, or all in that of one PE"),
    Param::integer("sips", 0..=1 << 20, "1", "SIPs that hold the context, each on as many cubes"),
    Param::integer("cubes", 0..=1 << 20, "8", "cubes of a SIP that hold the context, 1 to 16"),
    Param::integer("pes", 0..=1 << 20, "8", "PEs of each cube: 1, 2, 4 or 8"),
    params::S_KV,
    Param::integer("h-q", 0..=1 << 20, "8", "query heads of the KV head"),
    Param::integer("d-head", 0..=1 << 20, "128", "length of a head vector"),
    Param::integer("tile", 0..=1 << 30, "1024", "tokens of a tile of primitive commands"),
    params::ELEM,
    params::ACC,
];

const FORMS: [(&str, Form); 4] = [
    ("primitive", Form::Primitive),
    ("primitive_tiled", Form::Tiled),
    ("composite", Form::Composite),
    ("composite_extended", Form::Extended),
];

/// The long-context decode kernel as the command line and the self-test see it.
pub const LONG_DECODE: KernelDef = KernelDef {
    name: "long_decode",
    about: "grouped-query attention, decode, long context: one KV head's tokens over cubes and PEs",
    params: PARAMS,
    instances: &[
        "form=primitive,acc=f16",
        "form=primitive_tiled,acc=f32",
        "form=composite,acc=f32",
        "form=composite_extended,acc=f32",
        "form=primitive,acc=f32,cubes=12,s-kv=10000,tile=64",
        "form=primitive_tiled,acc=f32,cubes=7,s-kv=1000,h-q=7",
        "form=composite,acc=f32,cubes=7,s-kv=1000,h-q=7",
        "form=composite_extended,elem=bf16,acc=f32,cubes=7,s-kv=20000,h-q=7",
        "form=composite,acc=f32,cubes=1,s-kv=1000,pes=2,d-head=64",
        "form=composite_extended,acc=f32,cubes=5,s-kv=2600,pes=1,h-q=12,d-head=256",
        "form=primitive,acc=f16,cubes=16,s-kv=100,h-q=1,d-head=64",
        "form=primitive,acc=f32,sips=2,cubes=7,s-kv=3000,h-q=7,tile=64",
    ],
    case: case::<Plan, 2>,
};

impl Planned<2> for Plan {
    fn of(s: &Settings, elem: ElemType, acc: ElemType, limits: &Limits) -> Result<(Self, Shapes<2>), Diagnostics> {
        let problem = Problem {
            rows: s.integer("h-q")?,
            d_head: s.integer("d-head")?,
            s_kv: s.integer("s-kv")?,
            sips: s.integer("sips")?,
            cubes: s.integer("cubes")?,
            pes: s.integer("pes")?,
            form: s.pick("form", &FORMS)?,
            tile: s.integer("tile")?,
        };
        let addressing =
            s.pick("addressing", &[("sharded", Addressing::Sharded), ("published", Addressing::Published)])?;
        let (_, config) = CONFIGS.on(limits);
        let plan = problem.check(elem, acc, limits.scratch_bytes)?.in_tiles_of(config.elems / problem.d_head);
        let [on_q, on_kv, on_o] = placements(&plan, addressing);
        let (rows, tokens) = ([problem.rows, problem.d_head], [problem.s_kv, problem.d_head]);
        Ok((plan, Shapes { rows, kv: vec![(["k", "v"], tokens)], on_q, on_kv, on_o }))
    }
    fn launch<'a, T: Float + DotInto<A>, A: Float>(&'a self, t: &'a mut Tensors<T, 2>) -> Launch<'a> {
        let [k, v] = &t.kv[0];
        launch::<T, A>(self, [&t.q, k, v], &mut t.o)
    }
    fn expected<T: Elem>(&self, t: &Tensors<T, 2>, _: usize) -> Array2<f64> {
        let [k, v] = &t.kv[0];
        let [q, k, v] = [&t.q, k, v].map(to_f64);
        reference(q.view(), k.view(), v.view())
    }
    fn facts(&self) -> Vec<(String, String)> {
        let (split, sizes) = (self.split, self.sizes);
        let tiles = format!("first {} tokens, then {} at a time", sizes.first, sizes.step);
        vec![
            ("share".to_string(), format!("{} tokens a PE, {tiles}", split.share())),
            ("root".to_string(), format!("cube {}", split.mesh().root())),
        ]
    }
}
