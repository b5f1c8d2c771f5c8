//! Histogram: `counts[b]` = how many elements of x equal b; elements that are no bin's number are dropped.
//! x: `n` integers, counts: `bins` integers of the same type, i32 or u32, zero at the start.
//! Each program counts its elements in scratch, some bins at a time, and adds each count to memory once, by an atomic.
//! Any n, any bins, any grid.  Work: n bins comparisons; elements are read `bins / 64` times.  Tolerance: exact.

use crate::config::{SMS, Share};
use crate::to_f64;
use ndarray::Array1;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, MakeCase, Param, Rule, Settings, Target};

/// Elements compared at once, and the bins they are compared with.
pub const BLOCK: [usize; 2] = [256, 64];
/// 64 comparisons a thread at once; few programs, because each adds to every bin.
pub const GPU: Share = Share { bytes_per_thread: 256, most: 2 * SMS };

#[kernel]
pub fn histogram<T: Int, const N: usize, const B: usize>(x: View<T, 1>, counts: ViewMut<T, 1>) {
    let bins = counts.len(Axis::<0>);
    let no_bin = !zero::<T>(); // -1, or the largest number: what lies past the end of x
    for first in (0..bins).step_by(B) {
        let bin = iota::<T, D2<N, B>>(Axis::<1>) + first.cast::<T>();
        let mut count = zeros::<T, D1<B>>();
        for i in (program_id() * N..x.len(Axis::<0>)).step_by(num_programs() * N) {
            let x = x.at(i).load_or::<D1<N>>(no_bin);
            let hits: Tile<T, D2<N, B>> = select(bin == x.col(), 1, 0);
            count += hits.sum(Axis::<0>);
        }
        counts.at(first).limit(Axis::<0>, bins - first).atomic_add(count);
    }
}

/// Element by element.
pub fn reference(x: &[f64], bins: usize) -> Array1<f64> {
    let mut counts = Array1::zeros(bins);
    for v in x {
        if (0.0..bins as f64).contains(v) {
            counts[*v as usize] += 1.0;
        }
    }
    counts
}

/// The kernel as the command line and the self-test see it.
pub const HISTOGRAM: KernelDef = KernelDef {
    name: "histogram",
    about: "how many elements of a vector fall into each bin",
    params: &[
        Param::integer("n", 1..=1 << 30, "10000", "length of the vector"),
        Param::integer("bins", 1..=1 << 20, "100", "bins, numbered from 0"),
        Param::one_of(
            "values",
            &["spread", "one-bin"],
            "spread",
            "spread: a fifth of them outside; one-bin: all alike",
        ),
        Param::one_of("elem", &["i32", "u32"], "i32", "type of elements and counts"),
    ],
    instances: &[
        "elem=i32",
        "elem=u32",
        "elem=i32,values=one-bin",
        "elem=u32,values=one-bin",
        "elem=i32,n=1,bins=1",
        "elem=u32,n=2049,bins=65",
    ],
    case: |s, inputs, limits| {
        let case = s.pick::<MakeCase>(
            "elem",
            &[
                ("i32", |s, inputs, on| HistogramCase::<i32>::boxed(s, inputs, -0.125, on)),
                ("u32", |s, inputs, on| HistogramCase::<u32>::boxed(s, inputs, 0.0, on)),
            ],
        )?;
        case(s, inputs, limits)
    },
};

struct HistogramCase<T> {
    x: Tensor<T, 1>,
    counts: Tensor<T, 1>,
    target: Target,
}

impl<T: Int> HistogramCase<T> {
    /// `low`: the smallest element of spread values, as a share of the bins.
    fn boxed(s: &Settings, inputs: Inputs, low: f64, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let (n, bins) = (s.integer("n")?, s.integer("bins")?);
        let middle = (bins / 2) as f64;
        let spread = (bins as f64 * low, bins as f64 * (1.25 + low));
        let numbers = s.pick("values", &[("spread", spread), ("one-bin", (middle, middle))])?;
        let x = inputs.uniform("x", [n], numbers.0..numbers.1);
        Ok(Box::new(HistogramCase::<T> { x, counts: inputs.zeros([bins]), target: limits.target }))
    }
}

impl<T: Int> Case for HistogramCase<T> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let ([n], [block, bins]) = (self.x.dims(), BLOCK);
        let launch = histogram::<T, { BLOCK[0] }, { BLOCK[1] }>(&self.x, &mut self.counts);
        Ok(GPU.launch(launch, self.target, n.div_ceil(block), block * bins * T::ELEM.bytes() as usize))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let [bins] = self.counts.dims();
        let expected = reference(&to_f64(&self.x).to_vec(), bins).into_dyn();
        Ok(vec![Agreement::of("counts", self.counts.as_any(), &expected, Rule::Exact)])
    }
}
