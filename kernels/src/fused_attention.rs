//! Fused attention, causal or not: `o[h] = softmax(scale q[h] . k[h / G]^T) . v[h / G]`; the scores never reach memory.
//! q, o: `h_q x T x D`, k, v: `h_kv x S x D`, of f16, bf16 or f32, plain numbers; G = h_q / h_kv; scale = 1 / sqrt(D).
//! Causal: the last row of q sees all S tokens, each row above it one less, so row i sees `max(0, i + 1 + S - T)`.
//! A row that sees no token is 0.  Any T, S and D.
//! Contract: h_q is a multiple of h_kv, the tiles fit into scratch.  Accumulates in f32.
//! Work: `4 h_q T S D` flops, half of it when causal and T = S; bound by compute.  Tolerance: row `attention` of the one table.

use crate::attention::Partial;
use crate::config;
use crate::contract::{Clause, refuse, scratch};
use crate::{of_head, open, to_f64, widened};
use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, ArrayView3, Axis as Dim, Ix1, s};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{
    Agreement, Case, Inputs, KernelDef, Limits, MakeCase, Param, Rule, Settings, Target, spread,
};

/// Rows of q a program works on, tokens of k and v it takes a step, and those of a step where some may be masked.
pub const BLOCK: [usize; 3] = [64, 64, 64];
/// The same on a GPU for elements of 16 bits. Tall: each of the four warps has 32 rows, so that half as much of k and v is read
/// from shared memory for a score. Wide: what a causal mask cuts off is a smaller part of a block. Where the sums of long head
/// vectors take most registers, masked steps are short.
const GPU_TALL: [usize; 3] = [128, 64, 64];
const GPU_TALL_LONG: [usize; 3] = [128, 64, 16];
const GPU_WIDE: [usize; 3] = [64, 128, 128];
const GPU_LONGEST: [usize; 3] = [64, 64, 16];
/// Elements of short head vectors, and of long ones.
const GPU_SHORT_HEAD: usize = 64;
const GPU_LONG_HEAD: usize = 128;
/// Threads of a program on a GPU: a row's scores, weights and sums stay in one warp; of f32, which the threads multiply, twice
/// as many.
pub const GPU_THREADS: u32 = 128;
/// Steps whose k and v are on their way at once on a GPU.
pub const STAGES: usize = 2;
/// Rows of q in f32 on a GPU: with 64, 255 registers a thread were not enough for ragged ones.
const GPU_F32_ROWS: usize = 32;

#[kernel]
pub fn fused_attention<T: Float + DotInto<f32>, const BM: usize, const BN: usize, const BT: usize, const D: usize>(
    q: View<T, 3>,
    k: View<T, 3>,
    v: View<T, 3>,
    o: ViewMut<T, 3>,
    scale: Scalar<f32>,
    #[comptime] causal: bool,
    #[comptime] d_head: usize,
    #[comptime] stages: usize,
) {
    let (heads, rows, tokens) = (q.len(Axis::<0>), q.len(Axis::<1>), k.len(Axis::<1>));
    let (group, blocks) = (heads / k.len(Axis::<0>), (rows + (BM - 1)) / BM);
    let len = open([(D, d_head)]);
    let c = scale * std::f32::consts::LOG2_E;
    for block in (program_id()..heads * blocks).step_by(num_programs()) {
        // Last rows first: under a causal mask they see most, and what is short fills the gaps at the end.
        let (head, row) = (block / blocks, (blocks - 1 - block % blocks) * BM);
        let kv_head = head / group;
        let q = q.at(head, row, 0).load_sized_or::<D2<BM, D>>(&len, 0.0);

        // How many tokens the first and the last row of the block see.
        let ahead = tokens - rows + 1;
        let (fewest, most) = if causal { (row + ahead, minimum(row + BM, rows) - 1 + ahead) } else { (tokens, tokens) };
        // Where no row is masked, every token exists.
        let whole = maximum(fewest, 0) / BN * BN;
        let tile = |from: View<T, 3>, t: Scalar<i32>| from.at(kv_head, t, 0).load_sized::<D2<BN, D>>(&len);
        let edge = |from: View<T, 3>, t: Scalar<i32>| from.at(kv_head, t, 0).load_sized_or::<D2<BT, D>>(&len, 0.0);
        let mut part = Partial { m: full(f32::LOWEST), l: zeros(), o: zeros_sized(&len) };
        for t in (0..whole).step_by(BN).stages(stages) {
            part = step(part, dot(q, tile(k, t).trans()), tile(v, t), c);
        }
        for t in (whole..most).step_by(BT).stages(stages) {
            let token = iota::<i32, D2<BM, BT>>(Axis::<1>) + t;
            let last = if causal { iota(Axis::<0>) + fewest } else { full(tokens) };
            let s = select(token < last, dot(q, edge(k, t).trans()), f32::LOWEST);
            part = step(part, s, edge(v, t), c);
        }
        let share = select(part.m > f32::LOWEST, 1.0 / part.l, 0.0);
        o.at(head, row, 0).store_inside((part.o * share.col()).cast::<T>());
    }
}

/// One more tile of tokens (online softmax, as in `attention::Partial`). The weight of a score is a power of two of one
/// product and sum, `2^(s c - m c)` with c = scale log2(e): maxima are those of the scores before they are scaled. Where the
/// maximum stays, the sums so far keep their weight: 1, not the rounding of `m c`, which would grow with each tile.
#[device]
fn step<T: DotInto<f32>, const BM: usize, const BN: usize, const D: usize>(
    part: Partial<f32, BM, D>,
    s: Tile<f32, D2<BM, BN>>,
    v: Tile<T, D2<BN, D>>,
    c: Scalar<f32>,
) -> Partial<f32, BM, D> {
    let m = maximum(part.m, s.max(Axis::<1>));
    // The maximum of a row that has seen nothing is no score.
    let base = select(m > f32::LOWEST, m * c, 0.0);
    let p = exp2(fma(s, c, (-base).col()));
    let a = exp2((part.m - m) * c);
    Partial { m, l: part.l * a + p.sum(Axis::<1>), o: dot_acc(p.cast::<T>(), v, part.o * a.col()) }
}

/// f64, one row of q after another, over the tokens it sees. q: `h_q x T x D`, not scaled; k, v: `h_kv x S x D`.
pub fn reference(q: ArrayView3<f64>, k: ArrayView3<f64>, v: ArrayView3<f64>, causal: bool) -> Array3<f64> {
    let (heads, rows, _) = q.dim();
    let (kv_heads, tokens, _) = k.dim();
    let mut o = Array3::zeros(q.dim());
    for head in 0..heads {
        let (k, v) = (k.index_axis(Dim(0), head * kv_heads / heads), v.index_axis(Dim(0), head * kv_heads / heads));
        for i in 0..rows {
            o.slice_mut(s![head, i, ..]).assign(&row(q.slice(s![head, i, ..]), k, v, seen(i, rows, tokens, causal)));
        }
    }
    o
}
/// Tokens that row `i` of so many sees.
fn seen(i: usize, rows: usize, tokens: usize, causal: bool) -> usize {
    if causal { (i + 1 + tokens).saturating_sub(rows) } else { tokens }
}
/// Over the first `seen` of the tokens; 0 if there are none. q: `D`; k, v: `S x D`.
fn row(q: ArrayView1<f64>, k: ArrayView2<f64>, v: ArrayView2<f64>, seen: usize) -> Array1<f64> {
    let scores = k.slice(s![..seen, ..]).dot(&q) / (q.len() as f64).sqrt();
    let max = scores.fold(f64::NEG_INFINITY, |m, &s| m.max(s));
    let weights = scores.mapv(|s| (s - max).exp());
    if seen > 0 { weights.dot(&v.slice(s![..seen, ..])) / weights.sum() } else { Array1::zeros(q.len()) }
}

/// The kernel as the command line and the self-test see it.
pub const FUSED_ATTENTION: KernelDef = KernelDef {
    name: "fused_attention",
    about: "softmax(q . k^T / sqrt(D)) . v, causal or not, scores never in memory",
    params: &[
        Param::integer("h-q", 1..=1 << 16, "4", "query heads"),
        Param::integer("h-kv", 1..=1 << 16, "2", "KV heads"),
        Param::integer("t-q", 1..=1 << 20, "128", "query tokens"),
        Param::integer("s-kv", 1..=1 << 20, "192", "context length in tokens"),
        Param::integer("d-head", 1..=1 << 20, "64", "length of a head vector"),
        Param::one_of("causal", &["yes", "no"], "no", "whether a query token sees only the tokens up to its own"),
        Param::one_of("elem", &["f16", "bf16", "f32"], "f16", "element type"),
        Param::integer("stages", 0..=64, "0", "steps on their way at once on a GPU (0: the target's configuration)"),
    ],
    instances: &[
        "causal=no,elem=f16",
        "causal=no,elem=bf16",
        "causal=no,elem=f32",
        "causal=yes,elem=f16",
        "causal=yes,elem=bf16",
        "causal=yes,elem=f32",
        "causal=no,elem=f16,t-q=1,s-kv=1,d-head=1",
        "causal=yes,elem=f16,t-q=65,s-kv=97,d-head=40",
        "causal=yes,elem=f32,t-q=70,s-kv=3,d-head=63",
        "causal=yes,elem=f16,t-q=65,s-kv=400,stages=1",
        "causal=no,elem=bf16,s-kv=400,stages=3",
        "causal=yes,elem=f16,s-kv=400,d-head=128,stages=4",
        "causal=no,elem=bf16,t-q=150,s-kv=333,d-head=128",
        "causal=yes,elem=f16,t-q=150,s-kv=333,d-head=128,stages=3",
        "causal=yes,elem=bf16,t-q=70,s-kv=200,d-head=200",
    ],
    case: |s, inputs, limits| {
        let case = s.pick::<MakeCase>(
            "elem",
            &[
                ("f16", AttentionCase::<f16>::boxed),
                ("bf16", AttentionCase::<bf16>::boxed),
                ("f32", AttentionCase::<f32>::boxed),
            ],
        )?;
        case(s, inputs, limits)
    },
};

const RULE: Rule = Rule::Attention { acc: ElemType::F32 };

struct AttentionCase<T> {
    q: Tensor<T, 3>,
    k: Tensor<T, 3>,
    v: Tensor<T, 3>,
    o: Tensor<T, 3>,
    causal: bool,
    stages: usize,
    target: Target,
}

/// Bytes of scratch a step holds at its peak: scores and weights; and for each column of a head q, k, v, the running and
/// the new output.
fn scratch_need(elem: ElemType) -> (u64, u64) {
    let [rows, tokens, _] = BLOCK.map(|n| n as u64);
    let fixed = rows * tokens * (3 * 4 + elem.bytes()) + 6 * rows * 4;
    (fixed, (rows + 2 * tokens) * elem.bytes() + rows * (3 * 4 + elem.bytes()))
}

impl<T: Float + DotInto<f32>> AttentionCase<T> {
    /// Rows of q a program works on, and tokens it takes a step.
    fn block(&self) -> [usize; 3] {
        let [_, rows, d] = self.q.dims();
        match self.target {
            Target::Sim | Target::Reference => BLOCK,
            Target::Cuda | Target::PtxEmu if T::ELEM.bytes() <= 2 => gpu_block([rows, d], self.causal, self.stages),
            Target::Cuda | Target::PtxEmu => [GPU_F32_ROWS, BLOCK[1], BLOCK[2]],
        }
    }
    fn boxed(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let (h_q, h_kv, d) = (s.integer("h-q")?, s.integer("h-kv")?, s.integer("d-head")?);
        if !h_q.is_multiple_of(h_kv) {
            let message = format!("{h_q} query heads do not divide among {h_kv} KV heads");
            let next = format!("use `--h-q {}`", h_q.next_multiple_of(h_kv));
            return Err(refuse(Clause::QueryHeads, message, next).into());
        }
        let (fixed, column) = scratch_need(T::ELEM);
        let next = match limits.scratch_bytes.saturating_sub(fixed) / column {
            0 => "use a machine with more scratch, e.g. `--set scratch.capacity=\"2 MiB\"`".to_string(),
            most => format!("use at most `--d-head {most}`"),
        };
        scratch(&format!("tiles of head vectors of {d}"), fixed + column * d as u64, limits.scratch_bytes, next)?;
        let (queries, tokens) = ([h_q, s.integer("t-q")?, d], [h_kv, s.integer("s-kv")?, d]);
        Ok(Box::new(AttentionCase::<T> {
            q: inputs.uniform("q", queries, -2.0..2.0),
            k: inputs.uniform("k", tokens, -2.0..2.0),
            v: inputs.uniform("v", tokens, -1.0..1.0),
            o: inputs.output(queries),
            causal: s.pick("causal", &[("yes", true), ("no", false)])?,
            stages: config::chosen(s, "stages")?.unwrap_or(STAGES),
            target: limits.target,
        }))
    }
}

/// The block of a GPU for elements of 16 bits: of those whose sums fit the registers, what was fastest for 4096 tokens.
fn gpu_block([rows, d_head]: [usize; 2], causal: bool, stages: usize) -> [usize; 3] {
    match d_head {
        _ if d_head > GPU_LONG_HEAD => GPU_LONGEST,
        _ if rows <= BLOCK[0] => BLOCK,
        ..=GPU_SHORT_HEAD if causal => GPU_WIDE,
        ..=GPU_SHORT_HEAD => GPU_TALL,
        // Without a ring nothing keeps the products of a step apart, and ragged heads take more registers.
        GPU_LONG_HEAD if stages > 1 => GPU_TALL_LONG,
        _ => BLOCK,
    }
}

impl<T: Float + DotInto<f32>> Case for AttentionCase<T> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let [heads, rows, d] = self.q.dims();
        let scale = (1.0 / (d as f64).sqrt()) as f32;
        let block = self.block();
        let (q, k, v, o) = (&self.q, &self.k, &self.v, &mut self.o);
        let kernel = fused_attention::<T, { BLOCK[0] }, { BLOCK[1] }, { BLOCK[2] }, ANY>;
        Ok(match self.target {
            Target::Sim | Target::Reference => {
                kernel(q, k, v, o, scale, self.causal, d, self.stages).grid(Grid::cubes(1).pes(8))
            }
            Target::Cuda | Target::PtxEmu if T::ELEM.bytes() <= 2 => {
                let kernel = match block {
                    GPU_TALL => fused_attention::<T, { GPU_TALL[0] }, { GPU_TALL[1] }, { GPU_TALL[2] }, ANY>,
                    GPU_TALL_LONG => {
                        fused_attention::<T, { GPU_TALL_LONG[0] }, { GPU_TALL_LONG[1] }, { GPU_TALL_LONG[2] }, ANY>
                    }
                    GPU_LONGEST => {
                        fused_attention::<T, { GPU_LONGEST[0] }, { GPU_LONGEST[1] }, { GPU_LONGEST[2] }, ANY>
                    }
                    GPU_WIDE => fused_attention::<T, { GPU_WIDE[0] }, { GPU_WIDE[1] }, { GPU_WIDE[2] }, ANY>,
                    _ => kernel,
                };
                let grid = Grid::cubes(heads * rows.div_ceil(block[0]));
                kernel(q, k, v, o, scale, self.causal, d, self.stages).grid(grid).threads(GPU_THREADS)
            }
            Target::Cuda | Target::PtxEmu => {
                let kernel = fused_attention::<T, GPU_F32_ROWS, { BLOCK[1] }, { BLOCK[2] }, ANY>;
                let grid = Grid::cubes(heads * rows.div_ceil(block[0]));
                kernel(q, k, v, o, scale, self.causal, d, self.stages).grid(grid).threads(2 * GPU_THREADS)
            }
        })
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let (q, k, v) = (to_f64(&self.q), to_f64(&self.k), to_f64(&self.v));
        let expected = reference(q.view(), k.view(), v.view(), self.causal).into_dyn();
        Ok(vec![Agreement::of("o", self.o.as_any(), &expected, RULE)])
    }
    fn check_some(&self, rows: usize) -> Result<Vec<Agreement>, Diagnostics> {
        let ([heads, length, d], [kv_heads, tokens, _]) = (self.q.dims(), self.k.dims());
        let rows = spread(rows, heads * length);
        let mut expected = Array2::zeros([rows.len(), d]);
        let (mut kv_head, mut kv) = (usize::MAX, [(); 2].map(|()| Array2::zeros([0, d])));
        for (at, mut out) in rows.iter().zip(expected.rows_mut()) {
            let (head, i) = (at / length, at % length);
            if kv_head != head * kv_heads / heads {
                kv_head = head * kv_heads / heads;
                kv = [&self.k, &self.v].map(|t| of_head(t, kv_head));
            }
            let q = widened(Ix1(d), self.q.elements().get(at * d..(at + 1) * d).unwrap_or(&[]));
            out.assign(&row(q.view(), kv[0].view(), kv[1].view(), seen(i, length, tokens, self.causal)));
        }
        Ok(vec![Agreement::of_rows("o", self.o.as_any(), &rows, expected.view(), RULE)])
    }
    fn facts(&self) -> Vec<(String, String)> {
        let [rows, tokens, masked] = self.block();
        vec![(
            "configuration".to_string(),
            format!("{rows} query rows, {tokens} tokens a step, {masked} of a masked one, {} stages", self.stages),
        )]
    }
}
