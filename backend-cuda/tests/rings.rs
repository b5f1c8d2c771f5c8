//! Loads that run turns ahead of their loop: any number of stages gives the same bits, at any number of turns, in any order
//! of the threads and of the copies.

mod common;

use common::{Value, difference, emulated, interpreted, parse, some};
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;
use tilewright_core::passes::facts::{Known, KnownArg};
use tilewright_cuda::{Options, Target, compile};
use tilewright_ptx_emu::Schedule;

/// A product over all of k, block by block, in a loop of blocks.
fn product(stages: u32, elem: ElemType, depth: usize) -> String {
    format!(
        "kernel @product(%a: view<?x?x{elem}>, %b: view<?x?x{elem}>, %c: view_mut<?x?xf32>) {{
  %0 = len %a axis 0 : i32
  %1 = len %a axis 1 : i32
  for %row in 0..%0 step 16 {{
    %2 = splat 0.0 : tile<16x32xf32>
    %sum = for %k in 0..%1 step {depth} stages {stages} carry (%acc = %2) {{
      %x = load %a[%row, %k] else 0.0 : tile<16x{depth}x{elem}>
      %y = load %b[%k, 0] else 0.0 : tile<{depth}x32x{elem}>
      %3 = dot %x, %y, %acc : tile<16x32xf32>
      yield %3
    }}
    store inside %c[%row, 0], %sum
  }}
}}
"
    )
}

#[test]
fn any_number_of_stages_gives_the_same() {
    // Lengths with a ragged last turn, with fewer turns than slots, with none.
    for (elem, k, depth) in [
        (ElemType::F16, 128, 16),
        (ElemType::F16, 104, 16),
        (ElemType::BF16, 37, 16),
        (ElemType::F16, 16, 16),
        (ElemType::F32, 50, 12),
        (ElemType::F16, 96, 24),
    ] {
        let view = |elem, a, b| Value::Tensor(some(elem, &[a, b]));
        let args = [view(elem, 40, k), view(elem, k, 32), view(ElemType::F32, 40, 32)];
        let reference = interpreted(&product(1, elem, depth), Grid::cubes(1), 64, &args);
        for stages in 1..=4 {
            let module = parse(&product(stages, elem, depth));
            for schedule in [Schedule::InOrder, Schedule::Random(1), Schedule::Random(2)] {
                let found = emulated(&module, 64, schedule, &args);
                for (a, b) in reference.tensors.iter().zip(&found) {
                    assert_eq!(difference(a, b, 0), None, "{elem}, k {k}, {stages} stages, {schedule:?}");
                }
            }
        }
    }
}

/// The code of the innermost loop: from the last label that is branched back to, to that branch.
fn innermost(text: &str) -> &str {
    // What is rarely reached stands behind the end.
    let text = text.split("\n    ret;").next().unwrap_or(text);
    let back = text.match_indices("bra.uni $L").filter_map(|(at, _)| {
        let label = text[at + "bra.uni ".len()..].split(';').next()?;
        let from = text[..at].rfind(&format!("\n{label}:"))?;
        Some(&text[from..at])
    });
    back.min_by_key(|code| code.len()).unwrap_or("")
}
fn code(tir: &str, target: Target) -> String {
    let options = Options { known: Known::default(), ..Options::new(target, 64) };
    compile(&parse(tir), &options).unwrap_or_else(|e| panic!("{e}")).printed.text
}
#[test]
fn a_turn_adds_to_its_addresses_and_multiplies_none() {
    let text = code(&product(3, ElemType::F32, 16), Target::Sm90a);
    let turn = innermost(&text);
    assert!(turn.contains("cp.async.ca") && turn.contains("fma.rn.f32"), "{turn}");
    for multiplies in ["mad.lo.s64", "mad.lo.u64", "mul.lo.s64", "mad.wide.s32"] {
        assert!(!turn.contains(multiplies), "{multiplies} in {turn}");
    }
}
#[test]
fn a_turn_asks_of_each_load_whether_its_index_is_the_last_and_nothing_else() {
    let text = code(&product(3, ElemType::F16, 16), Target::Sm90a);
    let turn = innermost(&text);
    assert_eq!(turn.matches("setp.le.s32").count(), 2, "{turn}");
    for wide in ["setp.ge.s64", "setp.lt.s64", "sub.s64"] {
        assert!(!turn.contains(wide), "{wide} in {turn}");
    }
}
#[test]
fn limits_that_a_turn_changes_are_asked_for_each_turn() {
    // They say that the tile ends inside the view too. The other axis of the same load stays.
    let load = "load %a[%row, %k] else 0.0";
    let tir = product(3, ElemType::F16, 16).replace(load, "load %a[%row, %k] limit 1: %left else 0.0");
    let tir = tir.replace(
        "      %x =",
        "      %left = sub %1, %k : i32
      %x =",
    );
    let turn = innermost(&code(&tir, Target::Sm90a)).to_string();
    assert_eq!(turn.matches("setp.ge.s64").count(), 1, "{turn}");
}
#[test]
fn an_operand_that_no_turn_changes_is_read_before_the_first() {
    // The left one is not the loop's: of 16 x 16 it is one `ldmatrix`.
    let tir = product(2, ElemType::F16, 16).replace("      %x = load %a[%row, %k] else 0.0 : tile<16x16xf16>\n", "");
    let tir = tir.replace("    %2 = splat", "    %x = load %a[%row, 0] else 0.0 : tile<16x16xf16>\n    %2 = splat");
    let (kept, read) = (code(&tir, Target::Sm90a), code(&product(2, ElemType::F16, 16), Target::Sm90a));
    let reads = |text: &str| innermost(text).matches("ldmatrix").count();
    assert_eq!(reads(&kept) + 1, reads(&read), "{kept}");
    assert_eq!(kept.matches("ldmatrix").count(), read.matches("ldmatrix").count());
}
#[test]
fn fewer_stages_than_asked_for_are_told_with_the_loop() {
    let remarks = |stages: u32| {
        let tir = product(stages, ElemType::F32, 256);
        let compiled = compile(&parse(&tir), &Options::new(Target::Sm80, 64)).unwrap_or_else(|e| panic!("{e}"));
        let of_rings = compiled.remarks.iter().filter(|remark| remark.pass == "ring");
        of_rings.map(|remark| remark.to_string()).collect::<Vec<_>>()
    };
    // 16 x 256 and 256 x 32 of 4 bytes are 48 KiB a stage, of the 99 KiB of sm_80.
    assert_eq!(remarks(2), Vec::<String>::new());
    assert_eq!(remarks(3), ["test.tir:6:5: ring: declined: for has 2 of 3 stages: shared memory holds no more"]);
}

/// Two products in a row over all of k and v, for two warps: so many tokens a turn, and columns to sum up.
fn two_products_of([tokens, columns]: [usize; 2], stages: u32) -> String {
    format!(
        "kernel @two_products(%q: view<?x?xf16>, %k: view<?x?xf16>, %v: view<?x?xf16>, %o: view_mut<?x?xf32>) {{
  %0 = len %k axis 0 : i32
  %1 = load %q[0, 0] else 0.0 : tile<64x64xf16>
  %2 = splat 0.0 : tile<64x{columns}xf32>
  %sum = for %t in 0..%0 step {tokens} stages {stages} carry (%acc = %2) {{
    %x = load %k[%t, 0] else 0.0 : tile<{tokens}x64xf16>
    %3 = trans %x : tile<64x{tokens}xf16>
    %s = dot %1, %3 : tile<64x{tokens}xf32>
    %p = cast %s : tile<64x{tokens}xf16>
    %y = load %v[%t, 0] else 0.0 : tile<{tokens}x{columns}xf16>
    %4 = dot %p, %y, %acc : tile<64x{columns}xf32>
    yield %4
  }}
  store inside %o[0, 0], %sum
}}
"
    )
}
/// Where the sums are half of the registers.
fn two_products(stages: u32) -> String {
    two_products_of([64, 128], stages)
}
fn turn_of([tokens, columns]: [usize; 2]) -> String {
    let lens = [[64, 64], [512, 64], [512, columns], [64, columns]];
    let known = Known { grid: None, args: lens.map(|lens| KnownArg::Lens(lens.to_vec())).to_vec() };
    let options = Options { known, ..Options::new(Target::Sm90a, 64) };
    let module = parse(&two_products_of([tokens, columns], 2));
    innermost(&compile(&module, &options).unwrap_or_else(|e| panic!("{e}")).printed.text).to_string()
}
#[test]
fn where_scores_take_the_registers_and_not_the_sums_a_turn_waits_once() {
    let turn = turn_of([128, 64]);
    assert_eq!(turn.matches("cp.async.wait_group").count(), 1, "{turn}");
    assert!(turn.matches("mma.sync").count() > 64, "{turn}");
}
#[test]
fn where_registers_are_short_each_products_tiles_are_waited_for_and_filled_before_it() {
    let turn = turn_of([64, 128]);
    let parts: Vec<&str> = turn.split("cp.async.wait_group 1;\n    bar.sync 0;").collect();
    let [_, first, second] = parts.as_slice() else { panic!("{turn}") };
    let count = |part: &str, word: &str| part.matches(word).count();
    for part in [first, second] {
        assert_eq!(count(part, "cp.async.commit_group"), 1, "{part}");
        assert!(count(part, "cp.async.c") > 1 && count(part, "mma.sync") > 1, "{part}");
    }
    // What the second product reads of the first is packed before its tiles are waited for.
    assert_eq!((count(first, ", {%h"), count(second, ", {%h")), (32, 0), "{turn}");
}
#[test]
fn a_parted_turn_gives_the_same_with_any_number_of_stages() {
    let view = |elem, a, b| Value::Tensor(some(elem, &[a, b]));
    for tokens in [0, 64, 200] {
        let args = [
            view(ElemType::F16, 64, 64),
            view(ElemType::F16, tokens, 64),
            view(ElemType::F16, tokens, 128),
            view(ElemType::F32, 64, 128),
        ];
        let reference = interpreted(&two_products(1), Grid::cubes(1), 64, &args).tensors;
        let whole = emulated(&parse(&two_products(1)), 64, Schedule::InOrder, &args);
        // The interpreter adds up the weights one by one.
        let differs = reference.iter().zip(&whole).find_map(|(a, b)| difference(a, b, 1024));
        assert_eq!(differs, None, "{tokens} tokens");
        for stages in 2..=4 {
            let module = parse(&two_products(stages));
            for schedule in [Schedule::InOrder, Schedule::Random(1), Schedule::Random(2)] {
                let found = emulated(&module, 64, schedule, &args);
                let differs = whole.iter().zip(&found).find_map(|(a, b)| difference(a, b, 0));
                assert_eq!(differs, None, "{tokens} tokens, {stages} stages, {schedule:?}");
            }
        }
    }
}
