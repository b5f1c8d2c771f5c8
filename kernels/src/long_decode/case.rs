//! Long-context decode on the command line: parameters, random tensors, the check.

use super::{Addressing, Form, Plan, Problem, launch, placements, reference};
use crate::attention::params;
use crate::config::Configs;
use crate::to_f64;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, Param, Rule, Settings};

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
    case: |s, inputs, limits| {
        type Make = fn(&Settings, Inputs, &Limits) -> Result<Box<dyn Case>, Diagnostics>;
        let cases: [Make; 3] = [LongCase::<f16, f16>::boxed, LongCase::<f16, f32>::boxed, LongCase::<bf16, f32>::boxed];
        params::by_types(s, cases)?(s, inputs, limits)
    },
};

struct LongCase<T, A> {
    plan: Plan,
    q: Tensor<T, 2>,
    k: Tensor<T, 2>,
    v: Tensor<T, 2>,
    o: Tensor<T, 2>,
    acc: std::marker::PhantomData<A>,
}

impl<T: Float + DotInto<A>, A: Float> LongCase<T, A> {
    fn boxed(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
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
        let plan = problem.check(T::ELEM, A::ELEM, limits.scratch_bytes)?.in_tiles_of(config.elems / problem.d_head);
        let [on_q, on_k, on_v, on_o] = placements(&plan, addressing);
        let (rows, tokens) = ([problem.rows, problem.d_head], [problem.s_kv, problem.d_head]);
        // The launcher scales q by 1 / sqrt(d) and rounds once; the reference starts from what was rounded.
        let scale = 2.0 / (problem.d_head as f64).sqrt();
        Ok(Box::new(LongCase::<T, A> {
            plan,
            q: inputs.uniform("q", rows, -scale..scale).placed(on_q),
            k: inputs.uniform("k", tokens, -2.0..2.0).placed(on_k),
            v: inputs.uniform("v", tokens, -1.0..1.0).placed(on_v),
            o: inputs.output(rows).placed(on_o),
            acc: std::marker::PhantomData,
        }))
    }
}

impl<T: Float + DotInto<A>, A: Float> Case for LongCase<T, A> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        Ok(launch::<T, A>(&self.plan, [&self.q, &self.k, &self.v], &mut self.o))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let [q, k, v] = [&self.q, &self.k, &self.v].map(to_f64);
        let expected = reference(q.view(), k.view(), v.view()).into_dyn();
        Ok(vec![Agreement::of("o", self.o.as_any(), &expected, Rule::Attention { acc: A::ELEM })])
    }
    fn facts(&self) -> Vec<(String, String)> {
        let (split, sizes) = (self.plan.split, self.plan.sizes);
        let tiles = format!("first {} tokens, then {} at a time", sizes.first, sizes.step);
        vec![
            ("share".to_string(), format!("{} tokens a PE, {tiles}", split.share())),
            ("root".to_string(), format!("cube {}", split.mesh().root())),
        ]
    }
}
