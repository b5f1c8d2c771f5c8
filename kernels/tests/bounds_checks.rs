//! No shipped kernel checks bounds while it runs: where an access needs a check at all (`load_or` and `store_inside` need
//! none and are not counted), a launch knows enough to prove it, and for all launches at once the host can check it.

use std::collections::BTreeSet;
use tilewright::core_api::passes::facts::Known;
use tilewright::core_api::passes::{Options, optimise};
use tilewright::registry::{Inputs, Instance, Limits, Target};

const LIMITS: Limits = Limits { target: Target::Sim, arch: None, scratch_bytes: 1 << 20 };

#[test]
fn every_shipped_kernel_checks_where_it_is_on_record() {
    let mut table = String::new();
    for kernel in tilewright_kernels::all().iter() {
        let mut rows = BTreeSet::new();
        for instance in Instance::all_of(kernel) {
            let name = instance.to_string();
            let mut case = instance.case(Inputs::ShapesOnly, &LIMITS).unwrap_or_else(|e| panic!("{name}: {e}"));
            let ready = case.launch().and_then(|launch| launch.ready()).unwrap_or_else(|e| panic!("{name}: {e}"));
            for (launches, known) in [("its launch", Known::of(&ready)), ("all launches", Known::default())] {
                let optimised = optimise(&ready.module, &Options { known, deny_in_kernel_checks: true, ahead: true });
                let checks = optimised.unwrap_or_else(|e| panic!("{name}: {e}")).checks;
                rows.insert(format!("  for {launches}: {}\n", checks.counts()));
            }
        }
        table += &format!("{}\n{}", kernel.name(), rows.into_iter().collect::<String>());
    }
    insta::assert_snapshot!(table);
}
