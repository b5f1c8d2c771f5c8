//! From the annotated function to checked, printed IR: the decode kernel, traced anew each time. Budget: 5 ms.
//! The figure is above what one launch pays: `retrace` also compares with the trace on record.

use divan::Bencher;
use tilewright::ir::text::print;
use tilewright::prelude::*;
use tilewright_kernels::attention::{Heads, Reduce, Tier};
use tilewright_kernels::gqa_decode::{Deal, How, Problem, launch};

fn main() {
    divan::main();
}

#[divan::bench]
fn trace_verify_print_decode(bencher: Bencher) {
    let heads = Heads { h_q: 64, h_kv: 8, kv_per_cube: 1, cubes: None };
    let deal = Deal::Ranges;
    let problem = Problem { heads, d_head: 64, batch: 1, t_q: 1, causal: false, s_kv: 8192, tile: 1024, deal };
    let plan = problem.check(ElemType::F16, ElemType::F16, 1 << 20).expect("the published configuration");
    let rows = || Tensor::<f16, 3>::shape_only([8, 8, 64]);
    let (q, kv, mut o) = (rows(), Tensor::<f16, 3>::shape_only([8, 8192, 64]), rows());
    let how = How { tier: Tier::Plain, reduce: Reduce::Chain, stages: 1 };
    bencher.bench_local(|| {
        let launch = launch::<f16, f16>(&plan, how, [&q, &kv, &kv], &mut o).retrace(true);
        print(&launch.trace().expect("traces and verifies")).len()
    });
}
