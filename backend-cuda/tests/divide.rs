//! The short division of f32 is rounded correctly: against quotients in f64, rounded again, which is rounding once.

mod common;

use common::{Value, on, tensor};
use tilewright_core::data::Data;
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;
use tilewright_cuda::Target;
use tilewright_cuda::emulator::Emulator;
use tilewright_cuda::launch::Device;

const TILE: usize = 1024;

/// Divides pairs of numbers between 2^-40 and 2^24, all in range, with bits from a hash, and counts the wrong quotients.
fn kernel(blocks: u64) -> String {
    let [f32s, f64s, i32s, u32s, i1s] = ["f32", "f64", "i32", "u32", "i1"].map(|elem| format!("tile<{TILE}x{elem}>"));
    let number = |name: &str, salt: u32| {
        format!(
            "    %{name}0 = splat {salt}:u32 : {u32s}
    %{name}1 = add %place, %{name}0 : {u32s}
    %{name}2 = mul %{name}1, %m1 : {u32s}
    %{name}3 = shr %{name}2, %s15 : {u32s}
    %{name}4 = xor %{name}2, %{name}3 : {u32s}
    %{name}5 = mul %{name}4, %m2 : {u32s}
    %{name}6 = shr %{name}5, %s15 : {u32s}
    %{name}7 = xor %{name}5, %{name}6 : {u32s}
    %{name}8 = and %{name}7, %keep : {u32s}
    %{name}9 = add %{name}8, %least : {u32s}
    %{name} = bitcast %{name}9 : {f32s}
    %{name}w = cast %{name} : {f64s}
"
        )
    };
    let (a, b) = (number("a", 17), number("b", 77_777_777));
    format!(
        "kernel @divide(%out: view_mut<?xi32>) {{
  %first = program_id : i32
  %n = num_programs : i32
  %m1 = splat 2246822519:u32 : {u32s}
  %m2 = splat 3266489917:u32 : {u32s}
  %s15 = splat 15:u32 : {u32s}
  %keep = splat 2684354559:u32 : {u32s}
  %least = splat 729808896:u32 : {u32s}
  %wrong = for %k in %first..{blocks} step %n carry (%sofar = 0:i32) {{
    %block = mul %k, {TILE} : i32
    %blocks = splat %block : {i32s}
    %inside = iota axis 0 : {i32s}
    %at = add %blocks, %inside : {i32s}
    %place = bitcast %at : {u32s}
{a}{b}    %found = div %a, %b : {f32s}
    %wide = div %aw, %bw : {f64s}
    %exact = cast %wide : {f32s}
    %differ = cmp ne %found, %exact : {i1s}
    %each = cast %differ : {i32s}
    %sum = reduce_sum %each axis 0 : i32
    %more = add %sofar, %sum : i32
    yield %more
  }}
  store %out[%first], %wrong
}}
"
    )
}

fn wrong_quotients(device: &mut impl Device, blocks: u64, programs: usize) -> i64 {
    let out = Value::Tensor(tensor(ElemType::I32, &[programs], Data::zeros(ElemType::I32, programs)));
    let ran = on(device, &kernel(blocks), Grid::cubes(programs), 128, &[out]);
    assert!(ran.errors.is_none(), "{:?}", ran.errors);
    let data = ran.tensors[0].data.as_ref().expect("the tensor has data");
    (0..programs).map(|i| data.get(i).bits as i64).sum()
}

#[test]
fn quotients_are_rounded_correctly() {
    assert_eq!(wrong_quotients(&mut Emulator::new(Target::Sm90a), 64, 4), 0);
}
#[cfg(feature = "cuda")]
#[test]
fn four_thousand_million_quotients_are_rounded_correctly_on_a_gpu() {
    if let Some(mut gpu) = common::gpu("quotients on a GPU") {
        assert_eq!(wrong_quotients(&mut gpu, 1 << 22, 1056), 0);
    }
}
