//! `parse(print(m)) == m`, and the text that is printed is the text that was read.
use tilewright_core::ir::text::{parse, print};

fn round_trips(text: &str) {
    let m = parse(text, "t.tir").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let printed = print(&m);
    assert_eq!(printed, text);
    let again = parse(&printed, "t.tir").unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert!(again == m);
}

#[test]
fn every_form_reads_as_it_prints() {
    round_trips(
        r#"kernel @decode<T=f16, G=8, group="Group { pes: 8 }">(%q: view<?x?x64xf16>, %o: view_mut<?x64xf16, strides [?, 1]>, %tiles: i32) {
  %0 = cube_id : i32
  %first = mul %0, 1024 : i32
  %q'2 = load %q[%first, 0, 0] limit 0: %tiles vec 4 cache stream else 0.0 : tile<8x64xf16>
  %x = splat 0.5 : tile<8x64xf16>
  %m'2, %o'3 = for %t in 1..%tiles step 2 stages 3 carry (%m = %x, %o'2 = -1.0:f32) {
    %1 = trans %q'2 : tile<64x8xf16>
    %s = dot %q'2, %1 : tile<8x8xf32>
    %s'2 = composite {
      %2 = dot %q'2, %1, %s tf32 : tile<8x8xf32>
      yield %2
    }
    %3 = cmp lt %t, 5:i32 : i1
    %4 = if %3 {
      send pe.west, %s'2
      yield %x
    } else {
      %5 = recv peer.3 : tile<8x64xf16>
      yield %5
    }
    %6 = reduce_with %s axis 0 (%a, %b) {
      %7 = add %a, %b : f32
      yield %7
    }
    %8 = reduce_max %6 axis 0 : f32
    yield %4, %8
  }
  %9 = while carry (%i = 0:i32) {
    %10 = cmp lt %i, %tiles : i1
    while %10
    %11 = add %i, 1 : i32
    yield %11
  }
  store inside %o[%9, 0:i64], %m'2
  print "x {} \"y\"", %o'3
  assert true, "fine"
  barrier cube
}
"#,
    );
}
