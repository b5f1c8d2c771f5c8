//! Values of the decode kernel on the simulator against f64, every mapping, both accumulators, short and long context.

use tilewright::Runtime;
use tilewright::registry::{Inputs, Limits, Target};

/// The published context lengths' ends.
const CONTEXTS: [usize; 2] = [8192, 65536];

fn agrees_everywhere(acc: &str) {
    let limits = Limits { target: Target::Sim, arch: None, scratch_bytes: 1 << 20 };
    for s_kv in CONTEXTS {
        for mode in ["A1", "A2", "A4", "B"] {
            let word = format!("gqa_decode:mode={mode},acc={acc},s-kv={s_kv}");
            let instance = tilewright_kernels::all().instance(&word).unwrap_or_else(|e| panic!("{e}"));
            let case = instance.case(Inputs::Random { seed: 1 }, &limits);
            let mut case = case.unwrap_or_else(|e| panic!("{word}: {e}"));
            let run = case.launch().and_then(|launch| launch.run(&mut Runtime::sim()));
            run.unwrap_or_else(|e| panic!("{word}: {e}"));
            for agreement in case.check().unwrap_or_else(|e| panic!("{word}: {e}")) {
                assert!(agreement.agrees(), "{word}: {agreement:?}");
            }
        }
    }
}

#[test]
fn f16_accumulators_agree_at_both_ends_of_the_published_contexts() {
    agrees_everywhere("f16");
}
#[test]
fn f32_accumulators_agree_at_both_ends_of_the_published_contexts() {
    agrees_everywhere("f32");
}
/// One head of a longer context than was published, which does not come out even.
#[test]
fn a_long_context_agrees() {
    let instance = tilewright_kernels::all().instance("gqa_decode:h-q=8,h-kv=1,acc=f32,s-kv=131073").unwrap();
    let limits = Limits { target: Target::Sim, arch: None, scratch_bytes: 1 << 20 };
    let mut case = instance.case(Inputs::Random { seed: 1 }, &limits).unwrap_or_else(|e| panic!("{e}"));
    case.launch().and_then(|launch| launch.run(&mut Runtime::sim())).unwrap_or_else(|e| panic!("{e}"));
    let outputs = case.check().unwrap_or_else(|e| panic!("{e}"));
    assert!(outputs.iter().all(|output| output.agrees()), "{outputs:?}");
}
