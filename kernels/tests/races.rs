//! Every shipped kernel is free of races, writes all of its outputs before anything reads them, and has the same values
//! to the bit in whatever order its programs run.

use tilewright::core_api::interp::{EveryOrder, Order};
use tilewright::registry::{Inputs, Limits, Target};

#[test]
fn every_listed_instance_has_the_same_values_in_every_order() {
    let limits = Limits { target: Target::Sim, scratch_bytes: 1 << 20 };
    for instance in tilewright_kernels::all().instances() {
        let mut all = EveryOrder { orders: Order::adversarial(1), ..EveryOrder::default() };
        let case = instance.case(Inputs::Random { seed: 1 }, &limits);
        let mut case = case.unwrap_or_else(|e| panic!("{instance}: {e}"));
        let run = case.launch().and_then(|launch| launch.run(&mut all));
        run.unwrap_or_else(|e| panic!("{instance}: {e}"));
        for agreement in case.check().unwrap_or_else(|e| panic!("{instance}: {e}")) {
            assert!(agreement.agrees(), "{instance}: {agreement:?}");
        }
    }
}
