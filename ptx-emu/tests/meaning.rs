//! What instructions compute, against the PTX ISA: corners of rounding, NaN, saturation, shifts, fields of bits.

mod common;

use common::value;

fn f(x: f32) -> u64 {
    x.to_bits().into()
}
/// Of one or two 32-bit operands, as a 32-bit result.
fn r1(inst: &str, a: u64) -> u64 {
    value(&format!("{inst} %r2, %r1"), &[("%r1", a)], "%r2")
}
fn r2(inst: &str, a: u64, b: u64) -> u64 {
    value(&format!("{inst} %r3, %r1, %r2"), &[("%r1", a), ("%r2", b)], "%r3")
}
fn r3(inst: &str, a: u64, b: u64, c: u64) -> u64 {
    value(&format!("{inst} %r4, %r1, %r2, %r3"), &[("%r1", a), ("%r2", b), ("%r3", c)], "%r4")
}
fn h2(inst: &str, a: u64, b: u64) -> u64 {
    value(&format!("{inst} %h3, %h1, %h2"), &[("%h1", a), ("%h2", b)], "%h3")
}
const MINUS: u64 = 0xFFFF_FFFF;
const NAN: u64 = 0x7FC0_0000;
const SUBNORMAL: u64 = 1;

#[test]
fn integers_wrap_and_saturate_where_told() {
    assert_eq!(r2("add.s32", 0x7FFF_FFFF, 1), 0x8000_0000);
    assert_eq!(r2("add.sat.s32", 0x7FFF_FFFF, 1), 0x7FFF_FFFF);
    assert_eq!(r2("sub.sat.s32", 0x8000_0000, 1), 0x8000_0000);
    assert_eq!(r2("mul.hi.s32", MINUS, 2), MINUS);
    assert_eq!(r2("mul.hi.u32", MINUS, 2), 1);
    assert_eq!(r2("div.s32", 0x8000_0000, MINUS), 0x8000_0000);
    assert_eq!(r2("rem.s32", (-7i32) as u32 as u64, 2), MINUS);
    assert_eq!(r2("min.s32", MINUS, 1), MINUS);
    assert_eq!(r2("min.u32", MINUS, 1), 1);
    assert_eq!(h2("min.s16", 0xFFFF, 1), 0xFFFF);
    assert_eq!(r1("abs.s32", MINUS), 1);
    assert_eq!(r3("mad.hi.u32", MINUS, MINUS, 5), 3);
    assert_eq!(value("mul.wide.s32 %d1, %r1, %r2", &[("%r1", MINUS), ("%r2", 3)], "%d1"), (-3i64) as u64);
    assert_eq!(value("mul.wide.u16 %r1, %h1, %h2", &[("%h1", 0xFFFF), ("%h2", 0xFFFF)], "%r1"), 0xFFFE_0001);
    let wide = value("mad.wide.s32 %d2, %r1, 4, %d1", &[("%r1", MINUS), ("%d1", 100)], "%d2");
    assert_eq!(wide, 96);
}
#[test]
fn a_shift_by_the_size_or_more_leaves_nothing_or_the_sign() {
    assert_eq!(r2("shl.b32", 1, 31), 0x8000_0000);
    assert_eq!(r2("shl.b32", 1, 32), 0);
    assert_eq!(r2("shr.u32", MINUS, 200), 0);
    assert_eq!(r2("shr.s32", 0x8000_0000, 200), MINUS);
    assert_eq!(value("shr.s16 %h2, %h1, 9", &[("%h1", 0x8000)], "%h2"), 0xFFC0);
    assert_eq!(value("shl.b64 %d2, %d1, 64", &[("%d1", 1)], "%d2"), 0);
    assert_eq!(r3("shf.l.wrap.b32", 0x8000_0000, 1, 1), 3);
    assert_eq!(r3("shf.l.clamp.b32", 0x1234, 1, 40), 0x1234);
    assert_eq!(r3("shf.r.wrap.b32", 0, 1, 1), 0x8000_0000);
    assert_eq!(r3("shf.r.clamp.b32", 0, 0x55, 32), 0x55);
}
#[test]
fn fields_of_bits() {
    assert_eq!(r3("bfe.u32", 0xABCD_1234, 4, 8), 0x23);
    assert_eq!(r3("bfe.s32", 0x0000_0F00, 8, 4), MINUS);
    // The field goes beyond the register: filled with the register's sign.
    assert_eq!(r3("bfe.s32", 0x8000_0000, 28, 8), 0xFFFF_FFF8);
    assert_eq!(r3("bfe.u32", MINUS, 40, 8), 0);
    assert_eq!(r3("bfe.s32", MINUS, 3, 0), 0);
    let bfi = |from: u64, width: u64| {
        value(&format!("bfi.b32 %r3, %r1, %r2, {from}, {width}"), &[("%r1", 0xFF), ("%r2", 0)], "%r3")
    };
    assert_eq!((bfi(4, 8), bfi(28, 8), bfi(32, 8), bfi(0, 0)), (0xFF0, 0xF000_0000, 0, 0));
    assert_eq!(r3("prmt.b32", 0x4433_2211, 0x8877_6655, 0x7531), 0x8866_4422);
    // The highest bit of a pick: the byte's sign.
    assert_eq!(r3("prmt.b32", 0x8000_0000, 0, 0xB8), 0x0000_FF00);
    let lop3 = |table: &str| {
        let given = [("%r1", 0xF0), ("%r2", 0xCC), ("%r3", 0xAA)];
        value(&format!("lop3.b32 %r4, %r1, %r2, %r3, {table}"), &given, "%r4") & 0xFF
    };
    assert_eq!((lop3("0xea"), lop3("0x96"), lop3("0x01"), lop3("0xca")), (0xEA, 0x96, 0x01, 0xCA));
    assert_eq!((r1("popc.b32", 0xF0F0), r1("clz.b32", 1), r1("clz.b32", 0), r1("brev.b32", 1)), (8, 31, 32, 1 << 31));
    assert_eq!(value("clz.b64 %r1, %d1", &[("%d1", 1)], "%r1"), 63);
}
#[test]
fn a_nan_loses_against_a_number_unless_it_shall_win() {
    assert_eq!(r2("min.f32", NAN, f(1.0)), f(1.0));
    assert_eq!(r2("max.f32", f(1.0), NAN), f(1.0));
    assert_eq!(r2("max.f32", NAN, NAN), 0x7FFF_FFFF);
    assert_eq!(r2("max.NaN.f32", NAN, f(1.0)), 0x7FFF_FFFF);
    assert_eq!(r2("min.f32", f(0.0), f(-0.0)), f(-0.0));
    assert_eq!(r2("max.f32", f(-0.0), f(0.0)), f(0.0));
    assert_eq!(h2("max.NaN.bf16", 0x3F80, 0x7FC0), 0x7FFF);
    assert_eq!(h2("min.f16", 0x7E00, 0x3C00), 0x3C00);
    assert_eq!(r2("min.ftz.f32", SUBNORMAL, f(1.0)), 0);
    assert_eq!(r2("add.rn.f32", f(f32::INFINITY), f(f32::NEG_INFINITY)), 0x7FFF_FFFF);
}
#[test]
fn comparisons_with_a_nan_hold_only_where_they_say_so() {
    let holds =
        |kind: &str, a, b| value(&format!("setp.{kind}.f32 %p1, %r1, %r2"), &[("%r1", a), ("%r2", b)], "%p1") == 1;
    for kind in ["eq", "ne", "lt", "le", "gt", "ge", "num"] {
        assert!(!holds(kind, NAN, f(1.0)), "{kind}");
    }
    for kind in ["equ", "neu", "ltu", "leu", "gtu", "geu", "nan"] {
        assert!(holds(kind, NAN, f(1.0)), "{kind}");
    }
    assert!(holds("eq", f(0.0), f(-0.0)) && holds("equ", f(1.0), f(1.0)) && !holds("neu", f(0.0), f(-0.0)));
    assert!(!holds("gt.ftz", SUBNORMAL, f(0.0)) && holds("gt", SUBNORMAL, f(0.0)));
}
#[test]
fn subnormals_vanish_only_where_told_and_saturation_ends_at_0_and_1() {
    assert_eq!(r2("add.rn.f32", SUBNORMAL, SUBNORMAL), 2);
    assert_eq!(r2("add.rn.ftz.f32", SUBNORMAL, 0x8000_0001), 0);
    assert_eq!(r2("mul.rn.ftz.f32", f(f32::MIN_POSITIVE), f(0.5)), 0);
    assert_eq!(r2("add.rn.sat.f32", f(0.75), f(0.75)), f(1.0));
    assert_eq!(r2("mul.rn.sat.f32", NAN, f(1.0)), 0);
    assert_eq!(r1("ex2.approx.ftz.f32", f(-130.0)), 0);
    assert_eq!(r1("ex2.approx.f32", f(-130.0)), u64::from(2f32.powi(-130).to_bits()));
    assert_eq!(r1("neg.f32", NAN), NAN | 1 << 31);
}
#[test]
fn a_fused_product_rounds_once() {
    // (1 + 2^-12)^2 - 1 - 2^-11 is 2^-24, which a rounded product loses.
    let x = f(1.0 + 2f32.powi(-12));
    assert_eq!(r3("fma.rn.f32", x, x, f(-1.0 - 2f32.powi(-11))), f(2f32.powi(-24)));
    // 3 * 11/8 + 2^-9 lies just above the middle of two bf16; twice rounded it would be at the middle.
    let fma = |a, b, c| value("fma.rn.bf16 %h4, %h1, %h2, %h3", &[("%h1", a), ("%h2", b), ("%h3", c)], "%h4");
    // 1.0078125^2 = 1.01568603515625, plus 2^-30: bf16 neighbours 1.015625 and 1.0234375.
    assert_eq!(fma(0x3F81, 0x3F81, 0x3080), 0x3F82);
    // 1 * 1 + 2^-8 is a tie, to even; with 2^-8 + 2^-16 above it.
    assert_eq!(fma(0x3F80, 0x3F80, 0x3B80), 0x3F80);
    assert_eq!(fma(0x3F80, 0x3F80, 0x3B81), 0x3F81);
    // The sum of 1 and 2^-8 (a tie) and 2^-120 in the product's place: only the last bit set in the cut tells them apart.
    assert_eq!(fma(0x0400, 0x3F80, 0x3F80), 0x3F80);
    let pair = value(
        "fma.rn.f16x2 %r4, %r1, %r2, %r3",
        &[("%r1", 0x3C00_4000), ("%r2", 0x3C00_4200), ("%r3", 0x3C00_0000)],
        "%r4",
    );
    assert_eq!(pair, 0x4000_4600);
    assert_eq!(r2("add.bf16x2", 0x3F80_4000, 0x3F80_4000), 0x4000_4080);
    assert_eq!(h2("add.f16", 0x7BFF, 0x7BFF), 0x7C00);
    assert_eq!(h2("mul.bf16", 0x0080, 0x3F00), 0x0040);
}
#[test]
fn conversions_round_as_told_and_clamp() {
    let cvt =
        |inst: &str, from: &str, bits: u64, to: &str| value(&format!("cvt.{inst} {to}, {from}"), &[(from, bits)], to);
    let to_int = |inst: &str, x: f32| cvt(inst, "%r1", f(x), "%r2") as u32 as i32;
    assert_eq!((to_int("rni.s32.f32", 2.5), to_int("rzi.s32.f32", -2.5)), (2, -2));
    assert_eq!((to_int("rmi.s32.f32", -2.5), to_int("rpi.s32.f32", 2.1)), (-3, 3));
    assert_eq!((to_int("rzi.s32.f32", 3e9), to_int("rzi.s32.f32", -3e9)), (i32::MAX, i32::MIN));
    assert_eq!(to_int("rzi.s32.f32", f32::NAN), 0);
    assert_eq!(cvt("rzi.u32.f32", "%r1", f(-1.0), "%r2"), 0);
    assert_eq!(cvt("rzi.s64.f32", "%r1", f(f32::NAN), "%d1"), 1 << 63);
    assert_eq!(cvt("rzi.s8.f32", "%r1", f(300.0), "%r2"), 127);
    assert_eq!(cvt("rzi.s8.f32", "%r1", f(-300.0), "%h2"), 0xFF80);
    assert_eq!(cvt("rni.f32.f32", "%r1", f(-0.4), "%r2"), f(-0.0));
    assert_eq!(cvt("rn.f32.s64", "%d1", (1 << 40) + (1 << 16) + 1, "%r2"), f(((1u64 << 40) + (1 << 17)) as f32));
    assert_eq!(cvt("rz.f32.s64", "%d1", (1 << 40) + (1 << 17) - 1, "%r2"), f((1u64 << 40) as f32));
    assert_eq!(cvt("rp.f32.s32", "%r1", 0x0100_0001, "%r2"), f(16_777_218.0));
    assert_eq!(cvt("rm.f32.s32", "%r1", (-0x0100_0001i32) as u32 as u64, "%r2"), f(-16_777_218.0));
    assert_eq!(cvt("rz.f16.f32", "%r1", f(65520.0), "%h2"), 0x7BFF);
    assert_eq!(cvt("rn.f16.f32", "%r1", f(65520.0), "%h2"), 0x7C00);
    assert_eq!(cvt("rn.bf16.f32", "%r1", 0x3F80_8000, "%h2"), 0x3F80);
    assert_eq!(cvt("rn.bf16.f32", "%r1", 0x3F81_8000, "%h2"), 0x3F82);
    assert_eq!(cvt("rz.bf16.f32", "%r1", 0x3F80_FFFF, "%h2"), 0x3F80);
    assert_eq!(cvt("f32.f16", "%h1", 0x0001, "%r2"), f(2f32.powi(-24)));
    assert_eq!(cvt("f32.bf16", "%h1", 0x7F81, "%r2"), 0x7FFF_FFFF);
    assert_eq!(cvt("rn.f32.f64", "%d1", f64::MIN_POSITIVE.to_bits(), "%r2"), 0);
    assert_eq!(cvt("rp.f32.f64", "%d1", 1e-50f64.to_bits(), "%r2"), 1);
    assert_eq!(cvt("sat.f32.f32", "%r1", f(1.5), "%r2"), f(1.0));
    assert_eq!(cvt("s32.s8", "%r1", 0x1FF, "%r2"), MINUS);
    assert_eq!(cvt("u32.u8", "%h1", 0x1FF, "%r2"), 0xFF);
    assert_eq!(cvt("sat.u8.s32", "%r1", MINUS, "%r2"), 0);
    assert_eq!(cvt("s64.s32", "%r1", MINUS, "%d2"), u64::MAX);
    assert_eq!(r2("cvt.rn.bf16x2.f32", f(2.0), f(1.0)), 0x4000_3F80);
    assert_eq!(r2("cvt.rn.relu.f16x2.f32", f(-2.0), f(1.0)), 0x0000_3C00);
    assert_eq!(r1("cvt.rna.tf32.f32", 0x3F80_1000), 0x3F80_2000);
}
#[test]
fn floats_of_8_bits_are_finite_and_round_to_even() {
    let to = |kind: &str, x: f32| {
        let inst = format!("cvt.rn.satfinite.{kind}.f32 %h1, %r1, %r2");
        value(&inst, &[("%r1", 0), ("%r2", f(x))], "%h1") as u8
    };
    let e4m3 =
        [(1.0, 0x38), (1.0625, 0x38), (1.1875, 0x3A), (448.0, 0x7E), (1e9, 0x7E), (-1e9, 0xFE), (0.001953125, 1)];
    for (x, bits) in e4m3 {
        assert_eq!(to("e4m3x2", x), bits, "{x}");
    }
    assert_eq!((to("e4m3x2", f32::NAN), to("e4m3x2", 0.0009765625), to("e4m3x2", -0.0)), (0x7F, 0, 0x80));
    for (x, bits) in
        [(1.0, 0x3C), (1.125, 0x3C), (1.375, 0x3E), (57344.0, 0x7B), (f32::INFINITY, 0x7B), (2f32.powi(-16), 1)]
    {
        assert_eq!(to("e5m2x2", x), bits, "{x}");
    }
    let wide = |kind: &str, bits| value(&format!("cvt.rn.f16x2.{kind} %r1, %h1"), &[("%h1", bits)], "%r1");
    assert_eq!(wide("e4m3x2", 0x7E38), 0x5F00_3C00);
    assert_eq!(wide("e4m3x2", 0x0180), 0x1800_8000);
    assert_eq!(wide("e5m2x2", 0x7B3C), 0x7B00_3C00);
    // Every number of 8 bits comes back from f16 as it was.
    for bits in 0..=255u64 {
        for (kind, nan) in [("e4m3x2", 0x7F), ("e5m2x2", 0x7D)] {
            let pair = wide(kind, bits);
            let back = value(&format!("cvt.rn.satfinite.{kind}.f16x2 %h1, %r1"), &[("%r1", pair)], "%h1") & 0xFF;
            let special = bits & 0x7F >= if kind == "e4m3x2" { nan } else { 0x7C };
            assert!(special || back == bits, "{kind} {bits:#x} {back:#x}");
        }
    }
}
#[test]
fn parts_of_registers_are_joined_and_taken_apart() {
    assert_eq!(value("mov.b32 %r1, {%h1, %h2}", &[("%h1", 0x1111), ("%h2", 0x2222)], "%r1"), 0x2222_1111);
    assert_eq!(value("mov.b64 {_, %r1}, %d1", &[("%d1", 7 << 32 | 5)], "%r1"), 7);
    assert_eq!(value("mov.b64 %d1, {%r1, %r2}", &[("%r1", 1), ("%r2", 2)], "%d1"), 2 << 32 | 1);
    assert_eq!(r2("copysign.f32", f(-1.0), f(3.0)), f(-3.0));
    assert_eq!(value("selp.b32 %r3, 1, 2, 0", &[], "%r3"), 2);
}
#[test]
fn roots_and_quotients_are_rounded_once() {
    assert_eq!(r1("sqrt.rn.f32", f(2.0)), f(2f32.sqrt()));
    assert_eq!(r1("rcp.rn.f32", f(3.0)), f(1.0 / 3.0));
    assert_eq!(r2("div.rn.f32", f(1.0), f(10.0)), f(0.1));
    assert_eq!(r1("lg2.approx.f32", f(0.0)), f(f32::NEG_INFINITY));
    assert_eq!(r1("lg2.approx.f32", f(-1.0)), 0x7FFF_FFFF);
    assert_eq!(r1("rsqrt.approx.f32", f(0.25)), f(2.0));
    assert_eq!(r1("tanh.approx.f32", f(100.0)), f(1.0));
    assert_eq!(value("sqrt.rn.f64 %d2, %d1", &[("%d1", 4f64.to_bits())], "%d2"), 2f64.to_bits());
}
