//! Any order that keeps the edges of the dependency graph means what program order means, by running it; and without the
//! memory or the observe edges it does not.

use proptest::prelude::*;
use std::sync::Arc as Shared;
use tilewright_core::interp::{self, Options};
use tilewright_core::ir::deps::{Edge, Why};
use tilewright_core::ir::text::read;
use tilewright_core::ir::{Deps, Module};
use tilewright_core::launch::{Arg, LaunchConfig, Ready};
use tilewright_core::tensor::Tensor;

fn kernel(lines: &[String]) -> Module {
    let params = "%x: view<?xf32>, %o: view_mut<?xf32>, %p: view_mut<?xf32>";
    let text = format!("kernel @k({params}) {{\n{}\n}}\n", lines.join("\n"));
    read(&text, "k.tir").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A straight line, one op a line; each byte chooses one.
fn lines(bytes: &[u8]) -> Vec<String> {
    let mut out = vec!["%v0 = load %x[0] : f32".to_string()];
    let mut values = vec!["%v0".to_string()];
    for (i, byte) in (1..).zip(bytes) {
        let (kind, rest) = (byte % 8, (byte / 8) as usize);
        let (view, place) = (["%o", "%p"][rest % 2], rest / 2 % 3);
        let value = &values[rest * 7 % values.len()];
        let made = format!("%v{i}");
        let (line, makes) = match kind {
            0 => (format!("{made} = load {view}[{place}] : f32"), true),
            1 => (format!("store {view}[{place}], {value}"), false),
            2 => (format!("atomic_add {view}[{place}], {value}"), false),
            3 => (format!("atomic_max {view}[{place}], {value}"), false),
            4 => (format!("{made} = fma {value}, 0.7, {i}.25 : f32"), true),
            5 => (format!("print \"{{}}\", {value}"), false),
            6 => ("barrier cube".to_string(), false),
            _ => (format!("for %j{i} in 0..3 {{ %w{i} = load %o[%j{i}] : f32 store %p[%j{i}], %w{i} }}"), false),
        };
        out.push(line);
        if makes {
            values.push(made);
        }
    }
    out
}

/// A chance order of the lines that keeps the edges.
fn shuffled(lines: &[String], edges: &[Edge], mut seed: u64) -> Vec<String> {
    let mut waits = vec![0; lines.len()];
    edges.iter().for_each(|e| waits[e.to as usize] += 1);
    let mut ready: Vec<usize> = (0..lines.len()).filter(|i| waits[*i] == 0).collect();
    let mut out = Vec::new();
    while !ready.is_empty() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let done = ready.swap_remove((seed >> 33) as usize % ready.len());
        out.push(lines[done].clone());
        for e in edges.iter().filter(|e| e.from as usize == done) {
            waits[e.to as usize] -= 1;
            if waits[e.to as usize] == 0 {
                ready.push(e.to as usize);
            }
        }
    }
    out
}

/// What both written tensors hold in the end, and what was printed.
fn outcome(lines: &[String]) -> (Vec<f32>, Vec<f32>, Vec<String>) {
    let x = Tensor::from_vec([3], vec![0.5f32, 1.0, 2.0]).expect("three elements");
    let (mut o, mut p) = (Tensor::<f32, 1>::zeros([3]), Tensor::<f32, 1>::zeros([3]));
    let args = vec![Arg::View(x.as_any()), Arg::ViewMut(o.as_any_mut()), Arg::ViewMut(p.as_any_mut())];
    let ready = Ready { module: Shared::new(kernel(lines)), args, config: LaunchConfig::default() };
    let run = interp::run(ready, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    (o.elements().to_vec(), p.elements().to_vec(), run.prints.into_iter().map(|p| p.text).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_order_that_keeps_the_edges_means_the_same(bytes in prop::collection::vec(any::<u8>(), 0..40), seed in any::<u64>()) {
        let lines = lines(&bytes);
        let m = kernel(&lines);
        let deps = Deps::of(&m, m.body);
        let other = shuffled(&lines, deps.edges(), seed);
        prop_assert_eq!(outcome(&other), outcome(&lines), "{}\n{}", deps.text(&m), other.join("\n"));
    }
}

#[test]
fn without_an_edge_the_meaning_changes() {
    let line = lines(&(0..40).map(|i| (i * 37 + 11) as u8).collect::<Vec<_>>());
    let m = kernel(&line);
    let deps = Deps::of(&m, m.body);
    for drops in [|why: Why| matches!(why, Why::Memory(_)), |why: Why| why == Why::Observe] {
        // A barrier stands between some of them, too; on one PE it orders nothing else.
        let kept: Vec<Edge> = deps.edges().iter().copied().filter(|e| !drops(e.why) && e.why != Why::Sync).collect();
        assert!((0..50).any(|seed| outcome(&shuffled(&line, &kept, seed)) != outcome(&line)));
    }
}
