//! Modules that no builder makes: one of their parts is exchanged for another, or for one that does not exist.

use crate::source::Source;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::{
    Arenas, Def, Dims, Element, Literal, LocId, Module, OpId, RegionId, Results, Type, ValueId, ViewType,
};
use tilewright_core::with_elem;

/// One to three changes. Half of them keep the types as they are, so that the module may well be accepted.
pub fn damage(m: &mut Module, from: &mut Source<'_>) {
    for _ in 0..1 + from.below(3) {
        if from.below(2) == 0 { alike(m, from) } else { anything(m, from) }
    }
}

/// An id of an arena of `len`, or the first behind it, or the last there is.
fn id(from: &mut Source<'_>, len: usize) -> u32 {
    match from.below(24) {
        0 => len as u32,
        1 => u32::MAX,
        _ => from.below(len) as u32,
    }
}
fn any_type(from: &mut Source<'_>) -> Type {
    let elem = from.one_of(ElemType::ALL);
    let lens: Vec<usize> = (0..1 + from.below(4)).map(|_| 1 + from.below(4)).collect();
    match (from.below(4), Dims::new(&lens)) {
        (0, _) | (_, None) => Type::Scalar(elem),
        (1, _) => Type::View(ViewType::dynamic(elem, 1 + from.below(5), from.below(2) == 0)),
        (2, Some(dims)) => Type::Tile(elem, dims.with(0, from.one_of(&[0, u32::MAX, 1 << 22, 5])).unwrap_or(dims)),
        (_, Some(dims)) => Type::Tile(elem, dims),
    }
}
/// The `nth` operand of an op becomes `v`.
fn set_operand(a: &mut Arenas<'_>, op: usize, nth: usize, v: ValueId) {
    let mut i = 0;
    a.ops[op].op.each_operand_mut(&mut |slot| {
        if i == nth {
            *slot = v;
        }
        i += 1;
    });
}

/// A change after which every op may still have the types that it needs.
fn alike(m: &mut Module, from: &mut Source<'_>) {
    let a = m.arenas_mut();
    if a.ops.is_empty() {
        return;
    }
    let (op, region) = (from.below(a.ops.len()), from.below(a.regions.len()));
    match from.below(6) {
        // An operand becomes another value of its type.
        0 | 1 => {
            let operands = a.ops[op].op.operands();
            let nth = from.below(operands.len());
            let Some(old) = operands.get(nth) else { return };
            let ty = a.values[old.index() % a.values.len()].ty;
            let like: Vec<usize> = (0..a.values.len()).filter(|v| a.values[*v].ty == ty).collect();
            let new = like[from.below(like.len())];
            set_operand(&mut { a }, op, nth, ValueId(new as u32));
        }
        // Another constant.
        2 | 3 => {
            let consts: Vec<usize> =
                (0..a.values.len()).filter(|v| matches!(a.values[*v].def, Def::Const(_))).collect();
            let Some(v) = consts.get(from.below(consts.len())) else { return };
            let elem = a.values[*v].ty.elem();
            let bits = if from.below(2) == 0 { from.below(9) as u64 } else { from.bits() };
            let bits = with_elem!(elem, T => Element::to_bits(<T as Element>::from_bits(bits)));
            a.values[*v].def = Def::Const(Literal { elem, bits });
        }
        // Two ops change places.
        4 => {
            let ops = &mut a.regions[region].ops;
            let (i, j) = (from.below(ops.len()), from.below(ops.len()));
            if !ops.is_empty() {
                ops.swap(i, j);
            }
        }
        // An op becomes another with the same results, or the same op with other attributes.
        _ => {
            let types = |op: usize| {
                let Results { first, count } = a.ops[op].results;
                (0..count as usize).map(|i| a.values.get(first.index() + i).map(|v| v.ty)).collect::<Vec<_>>()
            };
            let want = types(op);
            let like: Vec<usize> =
                (0..a.ops.len()).filter(|o| types(*o) == want && !a.ops[*o].op.has_regions()).collect();
            if let Some(other) = like.get(from.below(like.len())).filter(|_| !a.ops[op].op.has_regions()) {
                a.ops[op].op = a.ops[*other].op.clone();
            }
        }
    }
}

/// Any change at all.
fn anything(m: &mut Module, from: &mut Source<'_>) {
    let mut a = m.arenas_mut();
    if a.ops.is_empty() || a.values.is_empty() {
        return;
    }
    let (values, ops, regions) = (a.values.len(), a.ops.len(), a.regions.len());
    let (value, op, region) = (from.below(values), from.below(ops), from.below(regions));
    match from.below(18) {
        0 => {
            let (nth, v) = (from.below(4), ValueId(id(from, values)));
            set_operand(&mut a, op, nth, v);
        }
        1 => a.values[value].ty = any_type(from),
        2 => a.ops[op].op.set_result_type(any_type(from)),
        3 => drop(a.regions[region].ops.pop()),
        4 => a.regions[region].ops.push(OpId(id(from, ops))),
        5 => {
            a.regions.iter_mut().for_each(|r| r.ops.retain(|o| o.index() != op));
            let to = from.below(a.regions[region].ops.len());
            a.regions[region].ops.insert(to, OpId(op as u32));
        }
        6 => a.regions[region].yields.push(ValueId(id(from, values))),
        7 => drop(a.regions[region].yields.pop()),
        8 => a.regions[region].args.push(ValueId(id(from, values))),
        9 => a.regions[region].args.reverse(),
        10 => {
            let other = a.ops[from.below(ops)].op.clone();
            a.ops[op].op = other;
        }
        // A region that is another's, perhaps the one that the op stands in.
        11 | 12 => {
            let with: Vec<usize> = (0..ops).filter(|o| a.ops[*o].op.has_regions()).collect();
            let Some(op) = with.get(from.below(with.len())) else { return };
            let r = RegionId(id(from, regions));
            a.ops[*op].op.each_region_mut(&mut |slot| *slot = r);
        }
        13 => a.ops[op].results = Results { first: ValueId(id(from, values)), count: from.below(3) as u32 },
        14 => {
            a.values[value].def = match from.below(4) {
                0 => Def::Param(id(from, 8)),
                1 => Def::Arg(RegionId(id(from, regions)), id(from, 3)),
                2 => Def::Result(OpId(id(from, ops)), id(from, 3)),
                _ => Def::Const(Literal { elem: from.one_of(ElemType::ALL), bits: from.bits() }),
            }
        }
        15 => a.ops[op].loc = LocId(id(from, 4)),
        16 => a.regions[region] = Default::default(),
        _ => {
            let other = from.below(regions);
            a.regions.swap(region, other);
        }
    }
    match from.below(40) {
        0 => m.body = RegionId(id(from, regions)),
        1 => m.params.push(ValueId(id(from, values))),
        2 => drop(m.params.pop()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::{Purpose, module};

    /// Damage meets what damage has left.
    #[test]
    fn results_with_the_last_numbers_there_are_may_be_damaged_again() {
        for seed in 0..200 {
            let mut from = Source::seeded(seed);
            let mut m = module(&from.some_bytes(100), Purpose::Running);
            m.arenas_mut().ops.iter_mut().for_each(|op| op.results = Results { first: ValueId(u32::MAX), count: 2 });
            damage(&mut m, &mut from);
        }
    }
}
