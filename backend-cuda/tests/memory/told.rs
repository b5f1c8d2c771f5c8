//! What a kernel tells: accesses outside, divisions by zero, assertions, lines, arguments that do not fit.

use super::common::{self, Value, difference, runs, some};
use super::{alone_tells_the_same, tells_the_same, view};
use tilewright_core::data::Data;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::Literal;
use tilewright_core::launch::Grid;
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;

#[test]
fn a_load_or_store_outside_is_told_as_the_interpreter_tells_it() {
    let tir = "kernel @shift(%x: view<?x?xf32>, %y: view_mut<?x?xf32>, %by: i32) {
  %p = program_id : i32
  %q = mul %p, 3 : i32
  %r = add %q, %by : i32
  %t = load %x[%r, %by] : tile<3x20xf32>
  store %y[%q, %by], %t
}
";
    for by in [-25, -3, -1, 0, 1, 2, 7, i32::MAX, i32::MIN] {
        let told = tells_the_same(
            tir,
            &[view(ElemType::F32, &[12, 21]), view(ElemType::F32, &[12, 24]), Value::Scalar(by.into())],
        );
        assert_eq!(told.is_empty(), by == 0, "{told}");
    }
}

#[test]
fn one_element_outside_is_told_and_counts_as_zero() {
    let tir = "kernel @one(%x: view<?x?xf32>, %y: view_mut<?xf32>, %by: i32) {
  %p = program_id : i32
  %r = add %p, %by : i32
  %t = load %x[%r, 2] : f32
  %u = load %x[%r, 3] else 7.0 : f32
  %s = add %t, %u : f32
  store %y[%r], %s
  store inside %y[%r], %s
}
";
    for by in [-1, 0, 2] {
        let told =
            tells_the_same(tir, &[view(ElemType::F32, &[5, 3]), view(ElemType::F32, &[5]), Value::Scalar(by.into())]);
        assert_eq!(told.is_empty(), by == 0, "{told}");
    }
}

#[test]
fn divisions_by_zero_are_counted() {
    for elem in ["i32", "u8", "i64", "i16"] {
        let tir = format!(
            "kernel @div(%x: view<?x{elem}>, %y: view_mut<?x{elem}>, %d: {elem}) {{
  %a = load %x[0] : tile<10x10x{elem}>
  %b = load %x[7] : tile<10x10x{elem}>
  %q = div %a, %b : tile<10x10x{elem}>
  %r = rem %b, %a : tile<10x10x{elem}>
  %s = add %q, %r : tile<10x10x{elem}>
  %e = load %x[5] : {elem}
  %f = div %e, %d : {elem}
  %g = splat %f : tile<10x10x{elem}>
  %h = add %s, %g : tile<10x10x{elem}>
  store inside %y[0], %h
}}
"
        )
        .replace("?x", "?x?x")
        .replace("[0]", "[0, 0]")
        .replace("[7]", "[7, 3]")
        .replace("[5]", "[5, 5]");
        let elem = ElemType::from_name(elem).unwrap_or(ElemType::I32);
        let x = some(elem, &[20, 20]);
        let zero = Literal::int(elem, 0).unwrap_or_else(|| 0.into());
        assert!(
            !alone_tells_the_same(&tir, &[Value::Tensor(x), view(elem, &[10, 10]), Value::Scalar(zero)]).is_empty()
        );
    }
}

#[test]
fn an_assertion_that_does_not_hold_is_told_with_its_text() {
    let tir = "kernel @check(%n: i32) {
  %p = program_id : i32
  %ok = cmp lt %p, %n : i1
  assert %ok, \"too many programs\"
  for %i in 0..%n {
    %even = cmp ne %i, 1:i32 : i1
    assert %even, \"never one\"
  }
}
";
    for n in [0, 1, 3, 4] {
        tells_the_same(tir, &[Value::Scalar(n.into())]);
    }
}

#[test]
fn lines_are_printed_program_by_program_as_the_interpreter_prints_them() {
    let tir = "kernel @show(%x: view<?xf16>, %y: view<?x?xi8>, %a: f32) {
  %p = program_id : i32
  %q = mul %p, 3 : i32
  %t = load %x[%q] : tile<5xf16>
  %u = load %y[%p, 0] : tile<3x30xi8>
  %m = cmp lt %u, %u : tile<3x30xi1>
  print \"no value\"
  for %i in 0..%p {
    %v = load %x[%i] : f16
    print \"{} of {}: {} {} {}\", %i, %p, %t, %v, %a
    print \"{} {}\", %u, %m
  }
  %wrong = cmp lt %p, 2:i32 : i1
  assert %wrong, \"a line stays when something is wrong\"
}
";
    let told =
        tells_the_same(tir, &[view(ElemType::F16, &[16]), view(ElemType::I8, &[6, 30]), Value::Scalar(1.5f32.into())]);
    assert!(told.contains("a line stays"), "{told}");
}

#[test]
fn lines_beyond_the_room_are_counted() {
    let tir = "kernel @many(%x: view<?xf32>, %n: i32) {
  %t = load %x[0] : tile<64xf32>
  for %i in 0..%n {
    print \"{}\", %t
  }
}
";
    let n = 9_000;
    let args = [view(ElemType::F32, &[64]), Value::Scalar(n.into())];
    let (_, emulated) = runs(tir, Grid::cubes(1).pes(1), 32, &args);
    let room = (tilewright_cuda::outcome::prints::ROOM / 65) as usize;
    assert!(emulated.errors.is_none(), "{:?}", emulated.errors);
    let last = emulated.prints.last().map_or(String::new(), |line| line.text.clone());
    assert_eq!((emulated.prints.len(), last), (room + 1, format!("({} more lines found no room)", n as usize - room)));
}

#[test]
fn what_nobody_has_written_is_not_read() {
    let tir = "kernel @copy(%x: view<?xf32>, %y: view_mut<?xf32>) {
  %t = load %x[0] : tile<8xf32>
  store %y[0], %t
}
";
    let mut x = some(ElemType::F32, &[8]);
    let y = some(ElemType::F32, &[8]);
    x.unwritten = tilewright_core::unwritten::Unwritten::all(8);
    x.unwritten.remove(0..7);
    let (_, emulated) = runs(tir, Grid::cubes(1).pes(1), 32, &[Value::Tensor(x), Value::Tensor(y)]);
    let told = emulated.errors.map_or(String::new(), |e| e.to_string());
    assert!(told.contains("TW-E0660") && told.contains("test.tir:2"), "{told}");
}

#[test]
fn arguments_that_do_not_fit_are_refused_as_the_interpreter_refuses_them() {
    let tir = "kernel @fit(%x: view<?x8xf32>, %y: view_mut<?xf32>, %n: i32) {
  %l = len %x axis 0 : i32
  keep %l
}
";
    let shape =
        |dims: &[usize]| Value::Tensor(AnyTensor::new(ElemType::F32, dims.to_vec(), None, Placement::default()));
    let (x, y, n) = (view(ElemType::F32, &[2, 8]), view(ElemType::F32, &[2]), Value::Scalar(1.into()));
    for args in [
        [view(ElemType::F16, &[2, 8]), y.clone(), n.clone()],
        [view(ElemType::F32, &[2, 9]), y.clone(), n.clone()],
        [view(ElemType::F32, &[16]), y.clone(), n.clone()],
        [x.clone(), n.clone(), y.clone()],
        [x.clone(), y.clone(), Value::Scalar(1i64.into())],
        [shape(&[1 << 31, 8]), y.clone(), n.clone()],
    ] {
        assert!(tells_the_same(tir, &args).contains("TW-E0318"));
    }
}

/// On PTX a combine also runs where the tile has no element, so what it divides by tells nothing.
#[test]
fn a_combine_on_ptx_tells_of_no_division_by_zero() {
    let tir = "kernel @last(%x: view<?x?xi32>, %y: view_mut<?xi32>) {
  %t = load %x[0, 0] : tile<5x7xi32>
  %r = reduce_with %t axis 1 (%a, %b) {
    %q = div %a, %b : i32
    %m = mul %q, %b : i32
    yield %m
  }
  store %y[0], %r
}
";
    let x = Value::Tensor(common::tensor(ElemType::I32, &[5, 7], Data::zeros(ElemType::I32, 35)));
    let args = [x, view(ElemType::I32, &[5])];
    let (reference, emulated) = runs(tir, Grid::cubes(1).pes(1), 32, &args);
    assert_eq!((reference.errors.is_some(), emulated.errors.is_some()), (true, false));
    assert_eq!(difference(&reference.tensors[1], &emulated.tensors[1], 0), None);
}
