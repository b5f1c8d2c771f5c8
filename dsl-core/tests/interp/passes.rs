//! Scalar folding and dead code removal: text in, text out; and values that they must not change.

use crate::support::{Launch, module};
use tilewright_core::elem::{Class, ElemType};
use tilewright_core::ir::Op;
use tilewright_core::ir::text::print;
use tilewright_core::passes;

fn fold(lines: &str) -> String {
    print(&passes::fold(&module(&format!("kernel @f(%n: i32, %x: f32) {{\n{lines}}}\n"))))
}
fn dce(lines: &str) -> String {
    print(&passes::dce(&module(&format!("kernel @d(%n: i32, %v: view<?xf32>) {{\n{lines}}}\n"))))
}

#[test]
fn scalar_ops_on_constants_become_their_values() {
    insta::assert_snapshot!(fold("%a = mul 6, 7 : i32\n%b = add %a, %n : i32\n%c = cmp lt %a, 50:i32 : i1\n%d = cast 510.0:f32 : i8\nkeep %b\nkeep %c\nkeep %d\n"), @r#"
    kernel @f(%n: i32, %x: f32) {
      %b = add 42, %n : i32
      keep %b
      keep true
      keep 127:i8
    }
    "#);
}
#[test]
fn values_pass_into_and_out_of_regions() {
    insta::assert_snapshot!(fold("%k = shl 1, 4 : i32\n%s = for %i in 0..%k carry (%a = %k) {\n%j = sub 5, 2 : i32\n%b = add %i, %j : i32\nyield %j\n}\nkeep %s\n"), @r#"
    kernel @f(%n: i32, %x: f32) {
      %s = for %i in 0..16 carry (%a = 16:i32) {
        %b = add %i, 3 : i32
        yield 3:i32
      }
      keep %s
    }
    "#);
}
#[test]
fn what_leaves_an_error_record_is_not_folded() {
    insta::assert_snapshot!(fold("%a = div 1, 0 : i32\n%b = rem %a, 3 : i32\n%c = div 1.0, 0.0 : f32\nkeep %b\nkeep %c\n"), @r#"
    kernel @f(%n: i32, %x: f32) {
      %a = div 1, 0 : i32
      %b = rem %a, 3 : i32
      keep %b
      keep 0x7f800000:f32
    }
    "#);
}
/// IEEE numbers have none of these identities (N07).
#[test]
fn there_is_no_algebra() {
    insta::assert_snapshot!(fold("%a = mul %x, 0.0 : f32\n%b = sub %x, %x : f32\n%c = add %x, 0.0 : f32\n%d = div %x, %x : f32\nkeep %a\nkeep %b\nkeep %c\nkeep %d\n"), @r#"
    kernel @f(%n: i32, %x: f32) {
      %a = mul %x, 0.0 : f32
      %b = sub %x, %x : f32
      %c = add %x, 0.0 : f32
      %d = div %x, %x : f32
      keep %a
      keep %b
      keep %c
      keep %d
    }
    "#);
}
#[test]
fn a_select_with_a_constant_mask_is_the_chosen_side() {
    insta::assert_snapshot!(fold("%c = cmp gt 2:i32, 1:i32 : i1\n%a = select %c, %x, 0.5 : f32\n%b = select false, %x, %a : f32\nkeep %b\n"), @r#"
    kernel @f(%n: i32, %x: f32) {
      keep %x
    }
    "#);
}
#[test]
fn an_if_with_a_constant_condition_keeps_its_structure() {
    insta::assert_snapshot!(fold("%c = cmp gt 2:i32, 1:i32 : i1\n%a = if %c {\n%b = add 1, 1 : i32\nyield %b\n} else {\nyield %n\n}\nkeep %a\n"), @r#"
    kernel @f(%n: i32, %x: f32) {
      %a = if true {
        yield 2:i32
      } else {
        yield %n
      }
      keep %a
    }
    "#);
}

#[test]
fn unused_values_and_reads_go_with_what_only_they_used() {
    insta::assert_snapshot!(dce("%a = add %n, 1 : i32\n%t = load %v[%a] : tile<8xf32>\n%e = exp %t : tile<8xf32>\n%b = add %n, 2 : i32\nkeep %b\n"), @r#"
    kernel @d(%n: i32, %v: view<?xf32>) {
      %b = add %n, 2 : i32
      keep %b
    }
    "#);
}
#[test]
fn effects_stay_and_so_do_the_loops_around_them() {
    insta::assert_snapshot!(dce("%s, %u = for %i in 0..%n carry (%a = 0:i32, %b = 0:i32) {\n%c = add %a, %i : i32\n%d = mul %b, 3 : i32\nsend pe.east, %i\nyield %c, %d\n}\n%g = recv pe.west : f32\n"), @r#"
    kernel @d(%n: i32, %v: view<?xf32>) {
      %s, %u = for %i in 0..%n carry (%a = 0:i32, %b = 0:i32) {
        %c = add %a, %i : i32
        %d = mul %b, 3 : i32
        send pe.east, %i
        yield %c, %d
      }
      %g = recv pe.west : f32
    }
    "#);
}
#[test]
fn control_around_nothing_goes() {
    insta::assert_snapshot!(dce("%c = cmp lt %n, 3:i32 : i1\n%s = for %i in 0..%n carry (%a = 0:i32) {\n%k = if %c {\nyield %a\n} else {\n%j = add %a, 1 : i32\nyield %j\n}\nyield %k\n}\nbarrier cube\n"), @r#"
    kernel @d(%n: i32, %v: view<?xf32>) {
      barrier cube
    }
    "#);
}

#[test]
fn for_timing_is_a_fixed_point_of_both() {
    let m = module(
        "kernel @t(%v: view<?xf32>) {\n%z = mul 0, 8 : i32\n%c = cmp eq %z, 0:i32 : i1\n%a = load %v[0] : f32\n%b = load %v[1] : f32\n%s = select %c, %a, %b : f32\nkeep %s\n}\n",
    );
    let timed = passes::for_timing(&m);
    insta::assert_snapshot!(print(&timed), @r#"
    kernel @t(%v: view<?xf32>) {
      %a = load %v[0] : f32
      keep %a
    }
    "#);
    assert!(passes::for_timing(&timed) == timed && passes::fold(&timed) == timed && passes::dce(&timed) == timed);
}

/// A folded module prints the same bits as the traced one, special values included.
#[test]
fn folding_keeps_every_bit() {
    let values =
        ["0x7f800000", "0xff800000", "0x7fc00000", "-0.0", "1.0", "-200.0", "8388608.5", "1e-45", "16777217.0"];
    let mut text = String::from("kernel @f(%one: f32) {\n");
    let mut n = 0;
    for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (a, b))) {
        for op in ["add", "sub", "mul", "div", "maximum", "minimum", "max_nan"] {
            text.push_str(&format!(
                "%x{n} = {op} {a}, {b} : f32\n%y{n} = bitcast %x{n} : u32\nprint \"{{}}\", %y{n}\n"
            ));
            n += 1;
        }
    }
    for a in values {
        let on_floats = |class: Option<Class>| class.is_some_and(|class| ElemType::F32.is(class));
        for op in Op::ROWS.iter().filter(|r| r.unary.is_some() && on_floats(r.class)).map(|r| r.mnemonic) {
            text.push_str(&format!(
                "%x{n} = {op} {a} : f32\n%y{n} = cast %x{n} : f16\n%z{n} = bitcast %y{n} : u16\nprint \"{{}}\", %z{n}\n"
            ));
            n += 1;
        }
    }
    let traced = module(&(text + "}\n"));
    let folded = passes::fold(&traced);
    assert_eq!(folded.num_ops(), n, "only the prints are left");
    let prints = |m| Launch::of(m).scalar(1.0f32).run().result.unwrap().prints;
    assert_eq!(prints(traced), prints(folded));
}
