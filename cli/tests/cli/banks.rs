//! Tiles of the shipped kernels on their way through shared memory: no bank is asked for two words at once.

use rayon::prelude::*;
use tilewright_cuda::launch::compile_for;
use tilewright_harness::registry::{Arch, Inputs, Limits, Target};

#[test]
fn no_shipped_kernel_meets_in_a_bank_on_the_way_to_another_layout() {
    let instances = tilewright_kernels::all().instances();
    let moved = instances.par_iter().flat_map_iter(|instance| {
        let mut case = instance.case(Inputs::ShapesOnly, &Limits::gpu(Target::Cuda, Arch::Sm90a)).expect("listed");
        let launch = case.launch().and_then(|launch| launch.ready()).expect("a launch");
        // What has no PTX yet is counted by `ptxas.rs`.
        let moves = compile_for(&launch, Arch::Sm90a).map_or(Vec::new(), |compiled| compiled.moves);
        let through = moves.into_iter().filter_map(move |of| {
            let swizzle = of.swizzle?;
            let extra =
                swizzle.extra_wavefronts(&of.from, swizzle.store) + swizzle.extra_wavefronts(&of.to, swizzle.load);
            Some((instance.to_string(), swizzle.to_string(), extra))
        });
        through.collect::<Vec<_>>()
    });
    let moved: Vec<_> = moved.collect();
    assert!(!moved.is_empty(), "none goes through shared memory: nothing is shown");
    let meet: Vec<_> = moved.iter().filter(|(.., extra)| *extra > 0).collect();
    assert!(meet.is_empty(), "{meet:#?}");
}
