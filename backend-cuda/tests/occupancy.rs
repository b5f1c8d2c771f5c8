//! How many CTAs an SM is asked to hold: by what their threads hold.

mod common;

use common::parse;
use tilewright_core::passes::facts::Known;
use tilewright_cuda::{Options, Target, compile};

fn ctas(tir: &str, threads: u32, target: Target) -> u32 {
    let options = Options { known: Known::default(), ..Options::new(target, threads) };
    compile(&parse(tir), &options).unwrap_or_else(|e| panic!("{e}")).kernel.min_ctas_per_sm
}
/// Adds up rows of 16, so many elements a turn.
fn sums(elements: u32) -> String {
    format!(
        "kernel @sums(%x: view<?x?xf32>, %y: view_mut<?x?xf32>) {{
  %zero = splat 0.0 : tile<{rows}x16xf32>
  %n = len %x axis 0 : i32
  %sum = for %i in 0..%n step {rows} carry (%acc = %zero) {{
    %a = load %x[%i, 0] else 0.0 : tile<{rows}x16xf32>
    %b = add %acc, %a : tile<{rows}x16xf32>
    yield %b
  }}
  store inside %y[0, 0], %sum
}}
",
        rows = elements / 16
    )
}

#[test]
fn a_kernel_that_holds_little_fills_an_sm() {
    assert_eq!(ctas(&sums(256), 256, Target::Sm90a), 8);
    assert_eq!(ctas(&sums(256), 256, Target::Sm80), 6);
    assert_eq!(ctas(&sums(1024), 1024, Target::Sm90a), 2);
}

#[test]
fn no_more_ctas_are_asked_for_than_an_sm_takes() {
    assert_eq!(ctas(&sums(32), 32, Target::Sm90a), 32);
    assert_eq!(ctas(&sums(32), 32, Target::Sm80), 16);
}

#[test]
fn what_a_thread_holds_takes_room() {
    let of = |elements| ctas(&sums(elements), 128, Target::Sm90a);
    let asked = [128, 1024, 4096, 8192].map(of);
    assert!(asked.is_sorted_by(|a, b| a >= b) && asked[0] > asked[3], "{asked:?}");
}
