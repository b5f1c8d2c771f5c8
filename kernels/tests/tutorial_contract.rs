//! What the launch contracts of the tutorial kernels refuse, with the texts a user gets.

use insta::assert_snapshot;
use tilewright::Runtime;
use tilewright::registry::{Inputs, Limits, Target, Values};
use tilewright_kernels::grouped_gemm::Groups;

/// An AHBM PE has 1 MiB of scratch.
fn refused(word: &str) -> String {
    let limits = Limits { target: Target::Sim, arch: None, scratch_bytes: 1 << 20 };
    let instance = tilewright_kernels::all().instance(word);
    match instance.and_then(|i| i.case(Inputs::ShapesOnly, &limits)) {
        Ok(_) => "accepted".to_string(),
        Err(e) => e.to_string(),
    }
}

#[test]
fn numbers_outside_their_range_are_refused() {
    for p in ["1", "-0.1", "0.9999999999"] {
        assert!(refused(&format!("dropout:p={p}")).contains("TW-E0560"), "{p}");
    }
    assert_snapshot!(refused("dropout:p=1"));
    assert_snapshot!(refused("layer_norm:eps=0"));
    assert_snapshot!(refused("matmul_leaky_relu:slope=1e39"));
}
#[test]
fn tiles_that_do_not_fit_into_scratch_are_refused_with_what_fits() {
    assert_snapshot!(refused("layer_norm:columns=100000"));
    assert_snapshot!(refused("fused_attention:d-head=4096,elem=f32"));
}
#[test]
fn what_the_text_says_fits_runs() {
    for word in ["layer_norm:columns=13797", "fused_attention:d-head=547,elem=f32,h-q=1,h-kv=1"] {
        let instance = tilewright_kernels::all().instance(word).unwrap();
        let mut sim = Runtime::sim();
        let mut case = instance.case(Inputs::Random { seed: 1 }, &sim.limits()).unwrap();
        case.launch().unwrap().run(&mut sim).unwrap_or_else(|e| panic!("{e}"));
    }
    assert!(refused("layer_norm:columns=13798").contains("13797"));
    assert!(refused("fused_attention:d-head=548,elem=f32").contains("547"));
}
#[test]
fn heads_that_do_not_divide_are_refused() {
    assert_snapshot!(refused("fused_attention:h-q=7,h-kv=2"));
}
#[test]
fn problems_without_an_extent_are_refused_all_at_once() {
    let text = |sizes: &[[usize; 3]]| Groups::pack(sizes).map_or_else(|e| e.to_string(), |_| "accepted".to_string());
    assert_eq!(text(&[[0, 1, 1], [3, 2, 1]]), "accepted");
    assert_snapshot!(text(&[]));
    assert_snapshot!(text(&[[1, 0, 4], [4, 4, 4], [4, 4, 0]]));
    assert_snapshot!(text(&[[usize::MAX, 1, 1], [usize::MAX, 1, 1]]));
}
#[test]
fn every_word_that_a_parameter_allows_has_an_entry() {
    for (kernel, param) in tilewright_kernels::all().iter().flat_map(|k| k.params().iter().map(move |p| (k, p))) {
        let Values::OneOf(words) = param.values else { continue };
        for word in words {
            // Some words are refused together with the defaults of others; a word without an entry never is.
            let told = refused(&format!("{}:{}={word}", kernel.name(), param.name));
            assert!(told == "accepted" || told.starts_with("error[TW-E05") && !told.contains("TW-E059"), "{told}");
        }
    }
}
