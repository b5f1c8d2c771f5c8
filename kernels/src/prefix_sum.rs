//! Inclusive prefix sum: `y[i] = x[0] + .. + x[i]`, of a vector longer than any tile.
//! x, y: `n` numbers of T, summed in A: f16, bf16 and f32 in f32, f64 in f64, integers in themselves, where sums wrap.
//! Each program owns a share of whole tiles, one after another. First it says what its share adds up to; once all have
//! spoken it knows what lies before it, and scans its share tile by tile.
//! sums: one A a program, for that exchange.  Contract: at most 128 programs, n <= 2^30.
//! Work: 2 n elements read, n written; bound by memory.  Tolerance: row `matmul` of the one table (products with 1); integers exact.

use crate::to_f64;
use ndarray::Array1;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, MakeCase, Param, Rule, Settings};

/// Elements of a tile.
pub const BLOCK: usize = 512;
/// Programs there may be: 16 cubes of 8 PEs.
pub const PROGRAMS: usize = 128;

#[kernel]
pub fn prefix_sum<T: Num, A: Num, const N: usize, const P: usize>(
    x: View<T, 1>,
    y: ViewMut<T, 1>,
    sums: ViewMut<A, 1>,
) {
    let n = x.len(Axis::<0>);
    let tiles = (n + (N - 1)) / N;
    let share = (tiles + (num_programs() - 1)) / num_programs() * N;
    let first = program_id() * share;
    let end = minimum(first + share, n);

    let mut total = zero::<A>();
    for i in (first..end).step_by(N) {
        total += x.at(i).load_or::<D1<N>>(zero::<T>()).cast::<A>().sum(Axis::<0>);
    }
    sums.at(program_id()).set(total);
    barrier(Scope::Launch);

    let mut before = sums.at(0).limit(Axis::<0>, program_id()).load_or::<D1<P>>(zero::<A>()).sum(Axis::<0>);
    for i in (first..end).step_by(N) {
        let tile = x.at(i).load_or::<D1<N>>(zero::<T>()).cast::<A>();
        y.at(i).store_inside((tile.cumsum(Axis::<0>) + before).cast::<T>());
        before += tile.sum(Axis::<0>);
    }
}

/// f64, one element after another; exact for the integers checked.
pub fn reference(x: &[f64]) -> Array1<f64> {
    let add = |sum: &mut f64, v: &f64| {
        *sum += v;
        Some(*sum)
    };
    x.iter().scan(0.0, add).collect()
}

/// The kernel as the command line and the self-test see it.
pub const PREFIX_SUM: KernelDef = KernelDef {
    name: "prefix_sum",
    about: "y[i] = x[0] + .. + x[i], a vector over all programs",
    params: &[
        Param::integer("n", 1..=1 << 30, "20000", "length of the vectors"),
        Param::integer("cubes", 1..=16, "1", "cubes of the launch, 8 programs each"),
        Param::one_of("elem", &["f16", "bf16", "f32", "f64", "i32", "u32", "i64"], "f32", "element type"),
    ],
    instances: &[
        "elem=f16",
        "elem=bf16",
        "elem=f32",
        "elem=f64",
        "elem=i32",
        "elem=u32",
        "elem=i64",
        "elem=f32,n=1",
        "elem=i32,n=10001,cubes=3",
    ],
    case: |s, inputs, limits| {
        let case = s.pick::<MakeCase>(
            "elem",
            &[
                ("f16", |s, inputs, _| PrefixCase::<f16, f32>::boxed(s, inputs, -1.0..1.0)),
                ("bf16", |s, inputs, _| PrefixCase::<bf16, f32>::boxed(s, inputs, -1.0..1.0)),
                ("f32", |s, inputs, _| PrefixCase::<f32, f32>::boxed(s, inputs, -1.0..1.0)),
                ("f64", |s, inputs, _| PrefixCase::<f64, f64>::boxed(s, inputs, -1.0..1.0)),
                ("i32", |s, inputs, _| PrefixCase::<i32, i32>::boxed(s, inputs, -100.0..100.0)),
                ("u32", |s, inputs, _| PrefixCase::<u32, u32>::boxed(s, inputs, 0.0..100.0)),
                ("i64", |s, inputs, _| PrefixCase::<i64, i64>::boxed(s, inputs, -1e12..1e12)),
            ],
        )?;
        case(s, inputs, limits)
    },
};

struct PrefixCase<T, A> {
    x: Tensor<T, 1>,
    y: Tensor<T, 1>,
    sums: Tensor<A, 1>,
    cubes: usize,
}

impl<T: Num, A: Num> PrefixCase<T, A> {
    fn boxed(s: &Settings, inputs: Inputs, numbers: std::ops::Range<f64>) -> Result<Box<dyn Case>, Diagnostics> {
        let n = [s.integer("n")?];
        let cubes = s.integer("cubes")?;
        // Equal slices, so that a share lies with the PE that scans it, or next to it.
        let shares = Placement::over_cubes(0, cubes).over_pes(&[(0, 8)]);
        let (x, y) = (inputs.uniform("x", n, numbers).placed(shares.clone()), inputs.output(n).placed(shares));
        let sums = inputs.output([PROGRAMS]).placed(Placement::at(0, 0));
        Ok(Box::new(PrefixCase::<T, A> { x, y, sums, cubes }))
    }
}

impl<T: Num, A: Num> Case for PrefixCase<T, A> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let kernel = prefix_sum::<T, A, BLOCK, PROGRAMS>;
        Ok(kernel(&self.x, &mut self.y, &mut self.sums).grid(Grid::cubes(self.cubes).pes(8)))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let expected = reference(&to_f64(&self.x).to_vec()).into_dyn();
        Ok(vec![Agreement::of("y", self.y.as_any(), &expected, Rule::Matmul { acc: A::ELEM })])
    }
}
