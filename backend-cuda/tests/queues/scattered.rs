//! Rows that go to their owners: as parcels with what belongs to them, all at once where each thread can send its own; and
//! programs that come to their cluster behind their first copies.

use super::common::{Value, some};
use super::{How, emulator, how, numbers, on, ready, same, schedules};
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;
use tilewright_cuda::Target;
use tilewright_cuda::launch::compile_for;

/// Every PE owns a row and a sum of the tiles of its cube, and is sent the others' parts of them. `columns`: of a tile;
/// `elem`: of its elements.
pub(super) fn scattered(pes: usize, columns: usize, elem: ElemType) -> String {
    let send = |pe: usize| {
        format!(
            "  %other{pe} = cmp ne %me, {pe}:i32 : i1
  if %other{pe} {{
    %a{pe} = rows %sums, {pe} : tile<1x{elem}>
    %b{pe} = rows %tile, {pe} : tile<1x{columns}x{elem}>
    send peer.{pe}, %a{pe}
    send peer.{pe}, %b{pe}
  }}
"
        )
    };
    let recv = |pe: usize| {
        format!(
            "  %own{pe} = cmp eq %me, {pe}:i32 : i1
  %s{pe}, %r{pe} = if %own{pe} {{
    %c{pe} = rows %sums, {pe} : tile<1x{elem}>
    %d{pe} = rows %tile, {pe} : tile<1x{columns}x{elem}>
    yield %c{pe}, %d{pe}
  }} else {{
    %e{pe} = recv peer.{pe} : tile<1x{elem}>
    %f{pe} = recv peer.{pe} : tile<1x{columns}x{elem}>
    yield %e{pe}, %f{pe}
  }}
"
        )
    };
    let add = |pe: usize| {
        let (s, r) = if pe == 1 { ("s0", "r0") } else { (&*format!("t{}", pe - 1), &*format!("q{}", pe - 1)) };
        format!(
            "  %t{pe} = add %{s}, %s{pe} : tile<1x{elem}>
  %q{pe} = add %{r}, %r{pe} : tile<1x{columns}x{elem}>
"
        )
    };
    let [sends, recvs]: [String; 2] = [(0..pes).map(send).collect(), (0..pes).map(recv).collect()];
    let adds: String = (1..pes).map(add).collect();
    let last = pes - 1;
    format!(
        "kernel @scattered(%x: view<?x?x{elem}>, %y: view_mut<?x?x{elem}>, %z: view_mut<?x{elem}>) {{
  %me = pe_id : i32
  %id = program_id : i32
  %from = mul %id, {columns} : i32
  %raw = load %x[%from, 0] : tile<{columns}x{pes}x{elem}>
  %tile = trans %raw : tile<{pes}x{columns}x{elem}>
  %sums = reduce_sum %tile axis 1 : tile<{pes}x{elem}>
{sends}{recvs}{adds}  store %y[%id, 0], %q{last}
  store %z[%id], %t{last}
}}
"
    )
}

#[test]
fn rows_go_to_their_owners_with_their_sums_as_one_parcel() {
    for (pes, columns, threads, elem) in [
        (8, 128, 128, ElemType::I32),
        (8, 64, 128, ElemType::I32),
        (5, 32, 64, ElemType::I32),
        (4, 128, 64, ElemType::I32),
        (8, 64, 128, ElemType::I64),
        (2, 96, 128, ElemType::I32),
    ] {
        let view = |dims: &[usize]| Value::Tensor(some(elem, dims));
        let args = [view(&[2 * pes * columns, pes]), view(&[2 * pes, columns]), view(&[2 * pes])];
        same(&scattered(pes, columns, elem), how(pes, threads, 3), &args);
    }
}

#[test]
fn rows_that_nobody_owns_stay() {
    let view = |dims: &[usize]| Value::Tensor(some(ElemType::I32, dims));
    let taller = [("tile<128x4x", "tile<128x8x"), ("tile<4x128x", "tile<8x128x"), ("tile<4xi32>", "tile<8xi32>")];
    let tir = taller.iter().fold(scattered(4, 128, ElemType::I32), |tir, (from, to)| tir.replace(from, to));
    for threads in [32, 64, 128, 256] {
        same(&tir, how(4, threads, 3), &[view(&[2 * 4 * 128, 8]), view(&[8, 128]), view(&[8])]);
    }
}

#[test]
fn two_rows_go_to_one_owner() {
    let view = |dims: &[usize]| Value::Tensor(some(ElemType::I32, dims));
    let two = [
        ("tile<1x128x", "tile<2x128x"),
        ("tile<128x4x", "tile<128x8x"),
        ("tile<4x128x", "tile<8x128x"),
        ("tile<4xi32>", "tile<8xi32>"),
        ("  store %y[%id", "  %at = mul %id, 2 : i32\n  store %y[%at"),
    ];
    let tir = two.iter().fold(scattered(4, 128, ElemType::I32), |tir, (from, to)| tir.replace(from, to));
    for threads in [32, 128] {
        same(&tir, how(4, threads, 3), &[view(&[2 * 4 * 128, 8]), view(&[16, 128]), view(&[8])]);
    }
}

#[test]
fn rows_sent_in_some_other_way_are_received_one_by_one() {
    let view = |dims: &[usize]| Value::Tensor(some(ElemType::I32, dims));
    let tir = scattered(4, 128, ElemType::I32).replace("    %b", "    assert %me, \"so\"\n    %b");
    let tir = tir.replace("assert %me", "assert %some").replace("  %raw", "  %some = cmp ge %me, 0:i32 : i1\n  %raw");
    same(&tir, how(4, 64, 3), &[view(&[2 * 4 * 128, 4]), view(&[8, 128]), view(&[8])]);
}

#[test]
fn a_parcel_is_waited_for_once_and_sent_four_words_at_a_time_by_who_holds_it() {
    let view = |dims: &[usize]| Value::Tensor(some(ElemType::I32, dims));
    let mut args = [view(&[2 * 8 * 128, 8]), view(&[16, 128]), view(&[16])];
    let tir = scattered(8, 128, ElemType::I32);
    let made = compile_for(&ready(&tir, how(8, 128, 3), &mut args), Target::Sm90a).unwrap_or_else(|e| panic!("{e}"));
    let lines = |word: &str| made.printed.text.lines().filter(|line| line.contains(word)).count();
    // Lanes meet between making mbarriers and arming them: `ptxas` lets the warp make them.
    let text = &made.printed.text;
    let (init, arm) = (text.rfind("mbarrier.init"), text.find("expect_tx"));
    assert!(text[init.unwrap_or(0)..arm.unwrap_or(0)].contains("bar.warp.sync"), "{text}");
    // Of each of 8 owners: a slot, armed at the start; a wait, and another one where it takes long.
    let waits = ["mbarrier.init", "expect_tx", "try_wait"].map(lines);
    // Once for all owners, as each thread sends its own row: a sum, and 8 elements of each of 16 threads.
    let stores = ["complete_tx::bytes.b32", "complete_tx::bytes.v4.b32"].map(lines);
    assert_eq!((waits, stores), ([8, 8, 16], [1, 2]));
    // Where something else is sent on the way, each owner is sent its row by itself.
    let from = "  %own0 = cmp";
    let tir = tir.replace(from, &format!("  if %other0 {{\n    assert %other0, \"so\"\n  }}\n{from}"));
    let made = compile_for(&ready(&tir, how(8, 128, 3), &mut args), Target::Sm90a).unwrap_or_else(|e| panic!("{e}"));
    let lines = |word: &str| made.printed.text.lines().filter(|line| line.contains(word)).count();
    assert_eq!(["complete_tx::bytes.b32", "complete_tx::bytes.v4.b32"].map(lines), [8, 16]);
}

#[test]
fn a_program_without_turns_ends_where_others_of_its_cluster_wait_for_it() {
    let tir = "kernel @turns(%n: view<?xi32>, %x: view<?x?xf16>, %y: view_mut<?x?xf32>) {
  %me = pe_id : i32
  %count = load %n[%me] : i32
  %q = load %x[0, 0] : tile<16x32xf16>
  %sum = map_reduce %t in 0..%count stages 2 {
    %from = mul %t, 16 : i32
    %k = load %x[%from, 0] : tile<16x32xf16>
    %k1 = trans %k : tile<32x16xf16>
    %s = dot %q, %k1 : tile<16x16xf32>
    yield %s
  } merge (%a, %b) {
    %c = add %a, %b : tile<16x16xf32>
    yield %c
  }
  %first = cmp eq %me, 0:i32 : i1
  if %first {
    %g = recv pe.east : tile<16x16xf32>
    %h = add %sum, %g : tile<16x16xf32>
    store %y[0, 0], %h
  }
  %second = cmp eq %me, 1:i32 : i1
  if %second {
    send pe.west, %sum
  }
}
";
    let how = How { grid: Grid::cubes(1).pes(2), threads: 128, depth: 2 };
    let args = |counts: [i32; 2]| {
        let x = Value::Tensor(some(ElemType::F16, &[16 * 8, 32]));
        [numbers(&counts), x, Value::Tensor(some(ElemType::F32, &[16, 16]))]
    };
    for schedule in schedules() {
        let told = |counts| {
            let ran = on(&mut emulator(Target::Sm90a, schedule), tir, how, &args(counts));
            ran.errors.unwrap_or_default().to_string()
        };
        assert_eq!(told([8, 3]), "", "{schedule:?}");
        assert!(told([8, 0]).contains("takes no turn"), "{schedule:?}: {}", told([8, 0]));
    }
}
