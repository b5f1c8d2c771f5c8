//! Broken arenas, which no text can express: every rule refuses its break. Breaks by chance: `fuzz`, target `modules`.

use super::verify;
use crate::elem::ElemType;
use crate::ir::literal::Literal;
use crate::ir::loc::{Loc, LocId, Place};
use crate::ir::module::{Def, Module, OpId, RegionId, Results, ValueId};
use crate::ir::ops::Op;
use crate::ir::text::parse;
use crate::ir::types::{Dims, MAX_OPS, Type, ViewType};
use std::collections::BTreeSet;

fn sound() -> Module {
    let m = parse(include_str!("../../../../tests/tir/every_op.tir"), "every_op.tir").expect("a sound text");
    assert!(verify(&m).is_ok());
    m
}
fn codes(m: &Module) -> BTreeSet<&'static str> {
    verify(m).err().unwrap_or_default().0.iter().map(|d| d.code).collect()
}
/// The only code that the verifier finds after `change`.
fn code(change: impl FnOnce(&mut Module)) -> &'static str {
    let mut m = sound();
    change(&mut m);
    let codes = codes(&m);
    assert!(codes.len() < 2, "{codes:?}");
    codes.first().copied().unwrap_or("accepted")
}
fn find(m: &Module, is: impl Fn(&Op) -> bool) -> OpId {
    (0..m.num_ops() as u32).map(OpId).find(|op| is(&m.op(*op).op)).expect("every op is there")
}
fn region_of(m: &Module, op: OpId) -> usize {
    m.regions.iter().position(|r| r.ops.contains(&op)).expect("every op is in a region")
}

#[test]
fn ids_point_into_their_arenas() {
    let far = ValueId(u32::MAX);
    assert_eq!(code(|m| m.ops[30].op.each_operand_mut(&mut |v| *v = far)), "TW-E0240");
    assert_eq!(code(|m| m.ops[30].results = Results { first: far, count: u32::MAX }), "TW-E0240");
    assert_eq!(code(|m| m.params.push(far)), "TW-E0240");
    assert_eq!(code(|m| m.body = RegionId(u32::MAX)), "TW-E0240");
    assert_eq!(code(|m| m.regions[0].ops.push(OpId(u32::MAX))), "TW-E0240");
    assert_eq!(code(|m| m.regions[2].yields.push(far)), "TW-E0240");
    assert_eq!(code(|m| m.regions[1].args.push(far)), "TW-E0240");
    assert_eq!(code(|m| m.values[40].def = Def::Result(OpId(u32::MAX), 0)), "TW-E0240");
    assert_eq!(code(|m| m.values[40].def = Def::Arg(RegionId(u32::MAX), 0)), "TW-E0240");
    let branch = |op: &Op| matches!(op, Op::If(_));
    assert_eq!(
        code(|m| {
            let op = find(m, branch);
            m.ops[op.index()].op.each_region_mut(&mut |r| *r = RegionId(u32::MAX));
        }),
        "TW-E0240"
    );
}

#[test]
fn everything_has_one_place() {
    assert_eq!(code(|m| m.regions[0].ops.push(OpId(5))), "TW-E0241");
    assert_eq!(code(|m| m.regions[0].ops.retain(|op| op.0 != 5)), "TW-E0241");
    assert_eq!(code(|m| m.body = RegionId(1)), "TW-E0241");
    assert_eq!(code(|m| m.regions.push(Default::default())), "TW-E0241");
    assert_eq!(code(|m| m.params.swap(0, 1)), "TW-E0241");
    assert_eq!(code(|m| m.ops[5].results.count += 1), "TW-E0241");
    assert_eq!(code(|m| m.regions[1].args.reverse()), "TW-E0241");
    let region_op = |op: &Op| matches!(op, Op::For(_));
    // A loop moved into its own body is a cycle that nothing reaches.
    assert_eq!(
        code(|m| {
            let op = find(m, region_op);
            let (home, body) = (region_of(m, op), m.op(op).op.regions()[0]);
            m.regions[home].ops.retain(|o| *o != op);
            m.regions[body.index()].ops.push(op);
        }),
        "TW-E0241"
    );
}

#[test]
fn limits_types_and_constants_are_kept() {
    assert_eq!(code(|m| m.ops = vec![m.ops[0].clone(); MAX_OPS + 1]), "TW-E0242");
    let bad = [
        Type::Tile(ElemType::F32, Dims::SCALAR),
        Type::Tile(ElemType::F32, Dims::new(&[8]).and_then(|d| d.with(0, 0)).expect("an axis")),
        Type::Tile(ElemType::F32, Dims::new(&[8, 8]).and_then(|d| d.with(0, u32::MAX)).expect("an axis")),
        Type::View(ViewType { rank: 0, ..ViewType::dynamic(ElemType::F32, 1, false) }),
        Type::View(ViewType { rank: 200, ..ViewType::dynamic(ElemType::F32, 1, false) }),
        Type::View(ViewType { strides: [None, Some(1), None, None], ..ViewType::dynamic(ElemType::F32, 1, false) }),
    ];
    for ty in bad {
        assert_eq!(code(|m| m.values[0].ty = ty), "TW-E0243", "{ty}");
    }
    let bits = |elem, bits| Def::Const(Literal { elem, bits });
    for (elem, value) in [(ElemType::I1, 2), (ElemType::I8, 255), (ElemType::U8, 256), (ElemType::F16, 1 << 16)] {
        assert_eq!(
            code(|m| {
                let ty = Type::Scalar(elem);
                m.values.push(crate::ir::Value { ty, def: bits(elem, value), name: None });
            }),
            "TW-E0243"
        );
    }
}

#[test]
fn regions_nest_to_the_limit() {
    let m =
        parse(&format!("kernel @k() {{ {} {} }}", "if true {".repeat(63), "}".repeat(63)), "t.tir").expect("63 deep");
    assert!(verify(&m).is_ok());
    let mut deeper = m.clone();
    // The arms of the innermost `if` take a copy of the outermost one, whose own arms are new.
    let (mut op, new) = (m.ops[0].clone(), OpId(m.num_ops() as u32));
    let mut first = m.num_regions() as u32;
    op.op.each_region_mut(&mut |r| {
        *r = RegionId(first);
        first += 1;
    });
    deeper.ops.push(op);
    deeper.regions.extend([Default::default(), Default::default()]);
    let innermost = m.op(OpId(new.0 - 1)).op.regions()[0];
    deeper.regions[innermost.index()].ops.push(new);
    assert_eq!(codes(&deeper), BTreeSet::from(["TW-E0242"]));
}

#[test]
fn a_use_comes_behind_the_op_that_makes_it() {
    let makes = |op: &Op| matches!(op, Op::CubeId(_));
    assert_eq!(
        code(|m| {
            let op = find(m, makes);
            let home = region_of(m, op);
            m.regions[home].ops.retain(|o| *o != op);
            m.regions[home].ops.push(op);
        }),
        "TW-E0246"
    );
    let counted = |op: &Op| matches!(op, Op::For(_));
    let inside = |m: &mut Module| {
        let op = find(m, counted);
        let (result, body) = (m.op(op).results.first, m.op(op).op.regions()[0]);
        m.regions[body.index()].yields[0] = result;
    };
    let mut m = sound();
    inside(&mut m);
    let found = verify(&m).expect_err("used inside");
    assert_eq!(found.0[0].message, "a value is used inside the op that makes it");
}

#[test]
fn the_body_has_no_values_and_every_op_has_a_place() {
    assert_eq!(code(|m| m.regions[0].yields.push(ValueId(0))), "TW-E0248");
    assert_eq!(code(|m| m.ops[9].loc = LocId::UNKNOWN), "TW-E0249");
}

#[test]
fn a_chain_of_calls_that_is_a_circle_ends() {
    let mut m = sound();
    let place = Place { file: "new.rs".into(), line: 1, col: 1 };
    let next = LocId(m.locs.intern(Loc { place: place.clone(), inlined_at: None }).0 + 1);
    m.ops[9].loc = m.locs.intern(Loc { place, inlined_at: Some(next) });
    assert!(verify(&m).is_ok());
    assert_eq!(m.locs.chain(m.ops[9].loc).len(), 1);
}
