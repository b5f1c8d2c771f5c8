//! The shipped kernels check no bounds while they run: what a launch knows proves every access inside, and where nothing
//! is known of the launch, the host can check it before the run.

use tilewright::core_api::passes::facts::Known;
use tilewright::core_api::passes::{Options, bounds::Counts, optimise};
use tilewright::registry::{Inputs, Limits, Target};

/// Kernels whose contract proves every access.
const PROVED: [&str; 4] = ["gqa_decode", "matmul", "row_softmax", "vector_add"];

#[test]
fn no_access_of_these_kernels_is_checked_in_place() {
    let limits = Limits { target: Target::Sim, scratch_bytes: 1 << 20 };
    let mut table = String::new();
    for instance in tilewright_kernels::all().instances() {
        let name = instance.to_string();
        let kernel = name.split([':', ' ']).next().unwrap_or_default();
        if !PROVED.contains(&kernel) {
            continue;
        }
        let mut case = instance.case(Inputs::ShapesOnly, &limits).unwrap_or_else(|e| panic!("{name}: {e}"));
        let ready = case.launch().and_then(|launch| launch.ready()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let counts = |known: Known| {
            let optimised = optimise(&ready.module, &Options { known, deny_in_kernel_checks: true });
            optimised.unwrap_or_else(|e| panic!("{name}: {e}")).checks.counts()
        };
        let (for_one, for_all) = (counts(Known::of(&ready)), counts(Known::default()));
        assert_eq!(for_one, Counts { proved: for_one.proved, ..Counts::default() }, "{name}");
        assert_eq!((for_all.hoisted, for_all.in_place), (0, 0), "{name}");
        let row = format!("{kernel}: for its launch {for_one}; for any launch {for_all}\n");
        if !table.contains(&row) {
            table += &row;
        }
    }
    insta::assert_snapshot!(table);
}
