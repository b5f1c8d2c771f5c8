//! The buffer of printed lines: two counters, then a line after the other, each with the program that printed it. In units
//! of 8 bytes.

use rustc_hash::FxHashMap;
use tilewright_core::data::Data;
use tilewright_core::interp::Printed;
use tilewright_core::interp::print::{self, MAX_LINES};
use tilewright_core::interp::stall::Scene;
use tilewright_core::ir::{Element, Literal, Module, Op, OpId, Type, ValueId};
use tilewright_core::with_elem;

/// Units that lines may take; the buffer has the counters in front of them.
pub const ROOM: u64 = 1 << 19;
/// The number of units taken, and the number of lines that found no room.
pub const COUNTERS: u64 = 2;

/// Stands where a line begins that found no room: none comes after it.
pub const END: u32 = u32::MAX;

/// Elements of a value that a line has.
pub fn shown(m: &Module, v: ValueId) -> u64 {
    m.ty(v).dims().map_or(1, |dims| dims.elems()).min(print::SHOWN as u64)
}
/// Units of a line: which op and program, then its values.
pub fn units(m: &Module, values: &[ValueId]) -> u64 {
    1 + values.iter().map(|v| shown(m, *v)).sum::<u64>()
}

/// The lines in a buffer, program by program. `ops`: those that print, as lines number them.
pub fn lines_of(scene: Scene<'_>, ops: &[OpId], lost: u64, lines: &[u8]) -> Vec<Printed> {
    let m = scene.module;
    let (units_of, _) = lines.as_chunks::<8>();
    let all: Vec<u64> = units_of.iter().map(|unit| u64::from_le_bytes(*unit)).collect();
    let mut rest = all.as_slice();
    let mut out = Vec::new();
    let mut printed: FxHashMap<usize, u64> = FxHashMap::default();
    while let Some(head) = rest.first() {
        let (number, program) = (*head as u32 as usize, (*head >> 32) as usize);
        let Some((op, o)) = ops.get(number).and_then(|op| match &m.op(*op).op {
            Op::Print(o) => Some((*op, o)),
            _ => None,
        }) else {
            break;
        };
        let taken = units(m, &o.values) as usize;
        if rest.len() < taken {
            break;
        }
        let lines = printed.entry(program).or_default();
        *lines += 1;
        if *lines <= MAX_LINES + 1 {
            let mut at = 1;
            let values: Vec<String> = o.values.iter().map(|v| value(m, *v, rest, &mut at)).collect();
            let text = if *lines > MAX_LINES { print::MORE.to_string() } else { print::line(&o.format.0, &values) };
            let place = m.locs.chain(m.op(op).loc).into_iter().next();
            out.push(Printed { program, who: scene.name(program), place, text });
        }
        rest = &rest[taken..];
    }
    out.sort_by_key(|line| line.program);
    if lost > 0 {
        let text = format!("({lost} more lines found no room)");
        out.push(Printed { program: usize::MAX, who: "all programs".to_string(), place: None, text });
    }
    out
}

fn value(m: &Module, v: ValueId, units: &[u64], at: &mut usize) -> String {
    let elem = m.ty(v).elem();
    // Signed integers are extended by their sign.
    let literal = |unit: u64| with_elem!(elem, T => Literal::from(<T as Element>::from_bits(unit)));
    let n = shown(m, v) as usize;
    let units = &units[*at..*at + n];
    *at += n;
    match m.ty(v) {
        Type::Tile(_, dims) => {
            // What a line does not show is counted, not read.
            let mut data = Data::zeros(elem, dims.elems() as usize);
            units.iter().enumerate().for_each(|(i, unit)| data.set(i, literal(*unit)));
            print::tile(&data, dims)
        }
        Type::Scalar(_) | Type::View(_) => print::scalar(literal(units[0])),
    }
}
