//! No run can tell a module from what a pass makes of it: the same bits in memory and the same lines printed, by the
//! interpreter. A fault may go with an op that nothing needs; none may come.

use super::common::runnable;
use proptest::prelude::*;
use std::sync::Arc;
use tilewright_core::data::Data;
use tilewright_core::interp::{Interp, Options};
use tilewright_core::ir::text::print;
use tilewright_core::ir::{Element, Literal, Module, Type, verify};
use tilewright_core::launch::{Arg, Backend, LaunchConfig, Ready};
use tilewright_core::passes::facts::Known;
use tilewright_core::passes::{self, Optimised};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_core::with_elem;

/// Faults after which a program goes on.
const RECORDS: [&str; 4] = ["TW-E0310", "TW-E0311", "TW-E0313", "TW-E0314"];

struct Ran {
    codes: Vec<&'static str>,
    tensors: Vec<Data>,
    prints: Vec<String>,
}

/// Some bits for the `n`-th element of the `i`-th argument: small numbers, and every third one anything.
fn some(ty: tilewright_core::elem::ElemType, i: usize, n: usize) -> Literal {
    let small = ((i * 5 + n * 3) % 7) as i128 - 1;
    let bits = (i as u64 * 31 + n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let any = with_elem!(ty, T => Literal { elem: ty, bits: Element::to_bits(<T as Element>::from_bits(bits)) });
    let number = Literal::int(ty, small.max(0)).or_else(|| Literal::float(ty, small as f64));
    if n % 3 == 2 { any } else { number.unwrap_or(any) }
}

enum Given {
    Tensor(AnyTensor, bool),
    Scalar(Literal),
}

fn run(m: &Module) -> Ran {
    let mut given: Vec<Given> = Vec::new();
    for (i, p) in m.params.iter().enumerate() {
        given.push(match m.ty(*p) {
            Type::View(view) => {
                let dims: Vec<usize> = (0..view.rank as usize).map(|axis| 1 + (i + axis * 2) % 4).collect();
                let mut data = Data::zeros(view.elem, dims.iter().product());
                (0..data.len()).for_each(|n| data.set(n, some(view.elem, i, n)));
                let tensor = AnyTensor::new(view.elem, dims, Some(data), Placement::default());
                Given::Tensor(tensor, view.writable)
            }
            Type::Scalar(elem) | Type::Tile(elem, _) => Given::Scalar(some(elem, i, i)),
        });
    }
    let args = given.iter_mut().map(|g| match g {
        Given::Tensor(t, true) => Arg::ViewMut(t),
        Given::Tensor(t, false) => Arg::View(t),
        Given::Scalar(lit) => Arg::Scalar(*lit),
    });
    let ready = Ready { module: Arc::new(m.clone()), args: args.collect(), config: LaunchConfig::default() };
    let mut interp = Interp::new(Options { max_steps: 4_000, ..Options::default() });
    let result = interp.execute(ready);
    let tensors = given.into_iter().filter_map(|g| match g {
        Given::Tensor(t, _) => t.data,
        Given::Scalar(_) => None,
    });
    let codes = result.err().map_or(Vec::new(), |e| e.0.iter().map(|d| d.code).collect());
    Ran { codes, tensors: tensors.collect(), prints: interp.prints().iter().map(|p| p.text.clone()).collect() }
}

fn same_bits(a: &Data, b: &Data) -> bool {
    a.len() == b.len() && (0..a.len()).all(|i| a.get(i) == b.get(i))
}

/// What differs between the runs of two modules; nothing where the first does not get to its end.
fn difference(before: &Module, after: &Module) -> Option<String> {
    let (a, b) = (run(before), run(after));
    if a.codes.iter().any(|code| !RECORDS.contains(code)) {
        return None;
    }
    if let Some(new) = b.codes.iter().find(|code| !a.codes.contains(code)) {
        return Some(format!("{new} is new"));
    }
    if let Some(i) = a.tensors.iter().zip(&b.tensors).position(|(a, b)| !same_bits(a, b)) {
        return Some(format!("tensor {i}: {:?} and {:?}", a.tensors[i], b.tensors[i]));
    }
    (a.prints != b.prints).then(|| format!("printed {:?} and {:?}", a.prints, b.prints))
}

fn optimised(m: &Module) -> Optimised {
    passes::optimise(m, &passes::Options::default()).expect("nothing is denied")
}

type Pass = (&'static str, fn(&Module) -> Module);
const PASSES: [Pass; 6] = [
    ("fold", passes::fold),
    ("dce", passes::dce),
    ("canonicalise", |m| passes::canonicalise(m).0),
    ("cse", |m| passes::cse(m).0),
    ("licm", |m| passes::licm(m, &Known::default()).0),
    ("optimise", |m| optimised(m).module),
];

fn check(m: &Module) -> Result<(), TestCaseError> {
    for (name, pass) in PASSES {
        let after = pass(m);
        prop_assert!(verify(&after).is_ok(), "{name}: {}\n{}", verify(&after).unwrap_err(), print(&after));
        if let Some(difference) = difference(m, &after) {
            prop_assert!(false, "{name}: {difference}\n{}\n{}", print(m), print(&after));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn passes_keep_every_bit_of_random_modules(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
        check(&runnable(&bytes))?;
    }
}

/// The property above says something: most random modules run to their end, and the passes find work in them.
#[test]
fn random_modules_run_and_give_the_passes_work() {
    let (mut ended, mut changed, mut state) = (0, 0, 1u64);
    for _ in 0..100 {
        let bytes: Vec<u8> = (0..600)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        let m = runnable(&bytes);
        ended += usize::from(run(&m).codes.iter().all(|code| RECORDS.contains(code)));
        changed += usize::from(optimised(&m).remarks.iter().any(|r| r.verdict == passes::Verdict::Applied));
    }
    assert!(ended >= 50 && changed >= 50, "{ended} of 100 ended, {changed} changed");
}
