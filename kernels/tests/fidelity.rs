//! Roofline <= schedule <= events, for every shipped kernel and for decode at many sizes; and what is shared bounds events.

use proptest::prelude::*;
use tilewright::registry::{Inputs, Limits, Target};
use tilewright::sim::fidelity::{Choice, Gap, Resource};
use tilewright::sim::machine::Machine;
use tilewright::sim::units::Ps;
use tilewright::{Report, Runtime, diag::Diagnostics};

fn gap_on(machine: Machine, word: &str) -> Result<Gap, Diagnostics> {
    let limits = Limits { target: Target::Sim, arch: None, scratch_bytes: machine.scratch.capacity.0 };
    let instance = tilewright_kernels::all().instance(word).unwrap_or_else(|e| panic!("{word}: {e}"));
    let mut case = instance.case(Inputs::ShapesOnly, &limits)?;
    let runtime = Runtime::sim_with(machine).timing_only()?.fidelity(Choice::All)?;
    match case.launch()?.run(&mut { runtime })? {
        Report::Sim(report) => Ok(report.gap.unwrap_or_else(|| panic!("{word}: no gap"))),
        Report::Reference(_) | Report::Gpu(_) => panic!("{word}: no clock"),
    }
}
fn gap(word: &str) -> Gap {
    gap_on(Machine::ahbm(), word).unwrap_or_else(|e| panic!("{word}: {e}"))
}
fn check_order(word: &str, gap: &Gap) {
    assert!(Ps::ZERO < gap.roofline && gap.roofline <= gap.schedule && gap.schedule <= gap.events, "{word}:\n{gap}");
    for bound in &gap.bounds.shared {
        assert!(bound.time <= gap.events, "{word}: {bound}\n{gap}");
    }
}

#[test]
fn each_fidelity_bounds_the_finer_one_for_every_listed_instance() {
    for instance in tilewright_kernels::all().instances() {
        let word = instance.to_string();
        check_order(&word, &gap(&word));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn each_fidelity_bounds_the_finer_one_for_decode_of_any_size(
        mode in prop::sample::select(vec!["A1", "A2", "A4", "B"]),
        tile in prop::sample::select(vec![64usize, 128, 256, 512, 1024]),
        tiles in 1usize..12,
        acc in prop::sample::select(vec!["f16", "f32"]),
    ) {
        let word = format!("gqa_decode:mode={mode},acc={acc},tile={tile},s-kv={}", 8 * tile * tiles);
        check_order(&word, &gap(&word));
    }
    #[test]
    fn without_contention_more_of_a_resource_is_never_slower(
        field in prop::sample::select(vec![
            ("hbm.slice_rate", "512 GB/s"), ("egress.rate", "256 GB/s"), ("gemm.peak_f16", "16 TFLOP/s"),
            ("math.rate", "512 Gelem/s"), ("queue.setup", "5 ns"), ("hbm.read_latency", "6 ns"), ("queue.depth", "8"),
        ]),
        tiles in 1usize..12,
    ) {
        let word = format!("gqa_decode:mode=A2,tile=256,s-kv={}", 8 * 256 * tiles);
        let more = Machine::load("ahbm", &[format!("{}={}", field.0, field.1)]).unwrap_or_else(|e| panic!("{e}"));
        let more = gap_on(more, &word).unwrap_or_else(|e| panic!("{word}: {e}"));
        let gap = gap(&word);
        prop_assert!(more.roofline <= gap.roofline, "{}: {:?}\n{gap}\n{more}", word, field);
        prop_assert!(more.schedule <= gap.schedule, "{}: {:?}\n{gap}\n{more}", word, field);
    }
}

/// Rates of the published machine: 256 B a ns from a slice, 8000 operations a ns, 256 elements a ns and whole ns.
#[test]
fn rooflines_are_what_one_computes_by_hand() {
    let bound = |gap: &Gap, resource| gap.bounds.own.iter().find(|b| b.resource == resource).map(|b| b.time);
    // 64 blocks of 1024 over 8 PEs. Each block: two loads and a store of 4 KiB in the slice of PE 0, one addition.
    let add = gap("vector_add:n=65536,elem=f32");
    assert_eq!(bound(&add, Resource::Slice), Some(Ps::from_ns(8 * 2 * 4096 / 256)), "{add}"); // stores have a lane of their own
    assert_eq!(bound(&add, Resource::Math), Some(Ps::from_ns(8 * 1024 / 256)), "{add}");
    assert_eq!(bound(&add, Resource::Gemm), None, "{add}");
    // What all 8 ask of that slice: more than any of them alone, so sharing decides.
    let port = add.bounds.shared.iter().find(|b| b.resource == Resource::SharedPort).map(|b| b.time);
    assert_eq!(port, Some(Ps::from_ns(8 * 8 * 3 * 4096 / 256)), "{add}");
    assert!(port > Some(add.schedule), "{add}");
    // 1024 tokens a PE: keys and values of 64 f16, the queries of 8 heads; two products of 2 x 8 x 64 x 1024.
    let decode = gap("gqa_decode:mode=A1,s-kv=8192");
    assert_eq!(bound(&decode, Resource::Slice), Some(Ps::from_ns((2 * 1024 + 8) * 64 * 2 / 256)), "{decode}");
    assert_eq!(bound(&decode, Resource::Gemm), Some(Ps(2 * 2 * 8 * 64 * 1024 * 1000 / 8000)), "{decode}");
    assert_eq!(decode.roofline, Ps::from_ns(1028), "{decode}");
}

#[test]
fn decode_is_bound_by_its_slices() {
    let gap = gap("gqa_decode:mode=A1,s-kv=65536");
    assert_eq!(gap.bounds.own.first().map(|b| b.resource), Some(Resource::Slice), "{gap}");
    // Keys and values of 65536 / 8 tokens, and 8 query heads: 64 elements of 2 bytes each over 256 GB/s.
    assert_eq!(gap.roofline, Ps::from_ns((2 * 65536 / 8 + 8) * 64 * 2 / 256), "{gap}");
    assert!(gap.why_events().contains("queueing") || gap.schedule == gap.events, "{gap}");
}
