//! Dropout in little memory: `y[i] = 0` with probability p, else `x[i] / (1 - p)`; no mask is stored, the seed is the mask.
//! x, y: `n` numbers of f16, bf16 or f32.  Contract: 0 <= p < 1; any n, any grid: the choice depends on the seed and on i alone.
//! Work: n elements read and as many written, a quarter of a Philox block each.  Tolerance: row `elementwise` of the one table.

use crate::config::{ANY_NUMBER, Share};
use crate::contract::number;
use crate::philox::{philox, unit};
use crate::to_f64;
use ndarray::Array1;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, MakeCase, Param, Rule, Settings, Target};

/// Counters a program takes at once: each gives four words, for four elements.
pub const BLOCK: usize = 256;
/// A block of counters a program: few threads, each with four vectors of its elements in flight.
pub const GPU: Share = Share { bytes_per_thread: 64, most: ANY_NUMBER };

/// Element `4 N b + N u + j` takes word u of counter `N b + j`. `scale`: `1 / (1 - p)`.
#[kernel]
pub fn dropout<T: Float, const N: usize>(
    x: View<T, 1>,
    y: ViewMut<T, 1>,
    p: Scalar<f32>,
    scale: Scalar<f32>,
    seed: Scalar<u32>,
) {
    let blocks = (x.len(Axis::<0>) + (4 * N - 1)) / (4 * N);
    for b in (program_id()..blocks).step_by(num_programs()) {
        let counter = iota::<u32, D1<N>>(Axis::<0>) + (b * N).cast::<u32>();
        let words = philox([counter, zeros(), zeros(), zeros()], [seed, scalar(0)]);
        for u in unroll(0..4) {
            let i = b * (4 * N) + u * N;
            let x = x.at(i).load_or::<D1<N>>(0.0).cast::<f32>();
            let kept = select(unit(words[u]) >= p, x * scale, 0.0);
            y.at(i).store_inside(kept.cast::<T>());
        }
    }
}

/// f64. Philox once more, as the paper writes it: a 64-bit product, word by word.
pub fn reference(x: &[f64], p: f64, scale: f64, seed: u32) -> Array1<f64> {
    let kept = |i: usize| {
        let (block, u, j) = (i / (4 * BLOCK), i / BLOCK % 4, i % BLOCK);
        let words = philox_words([(block * BLOCK + j) as u32, 0, 0, 0], [seed, 0]);
        f64::from(words[u] >> 8) / f64::from(1 << 24) >= p
    };
    x.iter().enumerate().map(|(i, x)| if kept(i) { x * scale } else { 0.0 }).collect()
}

/// Philox 4x32-10 of one counter on the host.
pub fn philox_words(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    (0..10).fold(counter, |[c0, c1, c2, c3], round: u32| {
        let k0 = key[0].wrapping_add(round.wrapping_mul(0x9E37_79B9));
        let k1 = key[1].wrapping_add(round.wrapping_mul(0xBB67_AE85));
        let (p0, p1) = (u64::from(c0) * 0xD251_1F53, u64::from(c2) * 0xCD9E_8D57);
        [(p1 >> 32) as u32 ^ c1 ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c3 ^ k1, p0 as u32]
    })
}

/// The kernel as the command line and the self-test see it.
pub const DROPOUT: KernelDef = KernelDef {
    name: "dropout",
    about: "elements of a vector set to zero at random, the others scaled up; no mask in memory",
    params: &[
        Param::integer("n", 1..=1 << 30, "10000", "length of the vectors"),
        Param::number("p", "0.25", "probability of a zero"),
        Param::integer("mask-seed", 0..=u32::MAX as usize, "7", "which elements are dropped"),
        Param::one_of("elem", &["f16", "bf16", "f32"], "f16", "element type"),
    ],
    instances: &[
        "elem=f16",
        "elem=bf16",
        "elem=f32",
        "elem=f32,n=1,p=0",
        "elem=bf16,n=4097,p=0.5,mask-seed=4294967295",
        "elem=f32,n=1025,p=0.999",
    ],
    case: |s, inputs, limits| {
        let case = s.pick::<MakeCase>(
            "elem",
            &[
                ("f16", DropoutCase::<f16>::boxed),
                ("bf16", DropoutCase::<bf16>::boxed),
                ("f32", DropoutCase::<f32>::boxed),
            ],
        )?;
        case(s, inputs, limits)
    },
};

struct DropoutCase<T> {
    x: Tensor<T, 1>,
    y: Tensor<T, 1>,
    p: f32,
    scale: f32,
    seed: u32,
    target: Target,
}

impl<T: Float> DropoutCase<T> {
    fn boxed(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let n = [s.integer("n")?];
        let p = number("p", s.number("p")?, 0.0..1.0)?;
        let seed = u32::try_from(s.integer("mask-seed")?).unwrap_or(u32::MAX);
        let (x, y) = (inputs.uniform("x", n, -4.0..4.0), inputs.output(n));
        Ok(Box::new(DropoutCase::<T> { x, y, p, scale: 1.0 / (1.0 - p), seed, target: limits.target }))
    }
}

impl<T: Float> Case for DropoutCase<T> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let ([n], block) = (self.x.dims(), 4 * BLOCK);
        let launch = dropout::<T, BLOCK>(&self.x, &mut self.y, self.p, self.scale, self.seed);
        Ok(GPU.launch(launch, self.target, n.div_ceil(block), block * T::ELEM.bytes() as usize))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let x = to_f64(&self.x).to_vec();
        let expected = reference(&x, self.p.into(), self.scale.into(), self.seed).into_dyn();
        Ok(vec![Agreement::of("y", self.y.as_any(), &expected, Rule::Elementwise)])
    }
}
