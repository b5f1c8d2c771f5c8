//! How many registers a kernel keeps alive at once, before ptxas has seen it: enough to say how many CTAs an SM should
//! hold, which ptxas wants to be told (PTX.md 2).

use super::body::{Body, Line};
use super::inst::{Addr, Base, Label, Op, Space, Src};
use super::places::places;
use super::ty::{Class, Reg, Ty};
use rustc_hash::{FxHashMap, FxHashSet};

/// What is added for addresses that are not counted: ptxas makes them again where registers are short.
const ADDRESSES: u32 = 16;
/// A kernel with products has at least so many: with 64 in all, small ones spilled.
const LEAST: u32 = 80;

/// 32-bit registers alive at the fullest place. In a kernel with products on tensor cores, whose many unrolled addresses would
/// outnumber the tiles, integers, addresses and parameters count as a fixed number. Registers live from the first line that names them to the last, and around
/// every loop that uses what was made before it.
pub fn pressure(body: &Body) -> u32 {
    let lines: Vec<&Line> = body.lines().collect();
    let tiles_only = lines.iter().any(|line| matches!(line.inst.op, Op::Mma { .. }));
    let remade: FxHashSet<Reg> = if tiles_only {
        lines.iter().filter_map(|line| address(&line.inst.op)).collect()
    } else {
        FxHashSet::default()
    };
    let mut life: FxHashMap<Reg, (usize, usize)> = FxHashMap::default();
    let (mut labels, mut loops): (FxHashMap<Label, usize>, Vec<(usize, usize)>) = Default::default();
    let places = if tiles_only { places(body) } else { (0..lines.len()).collect() };
    for (at, line) in places.into_iter().zip(&lines) {
        let mut name = |reg: Reg| {
            let (first, last) = life.entry(reg).or_insert((at, at));
            (*first, *last) = ((*first).min(at), (*last).max(at));
        };
        if let Some(guard) = line.inst.guard {
            name(guard.pred);
        }
        each_reg(&line.inst.op, &mut name);
        match line.inst.op {
            Op::Label(label) => {
                labels.insert(label, at);
            }
            Op::Bra { to, .. } => loops.extend(labels.get(&to).map(|from| (*from, at)).filter(|(from, to)| from < to)),
            _ => {}
        }
    }
    // Inner loops end first.
    for (from, to) in loops {
        for (first, last) in life.values_mut().filter(|(first, last)| *first < from && (from..=to).contains(last)) {
            (*first, *last) = (*first, to);
        }
    }
    let mut change = vec![0i64; lines.len() + 1];
    for (reg, (first, last)) in life.into_iter().filter(|(reg, _)| !remade.contains(reg)) {
        let words = match reg.class {
            Class::Pred => 0,
            Class::B16 | Class::B32 => 1,
            Class::B64 => 2,
        };
        change[first] += words;
        change[last] -= words;
    }
    let mut alive = 0;
    let peak = change.into_iter().map(|by| {
        alive += by;
        alive
    });
    let peak = peak.max().unwrap_or(0).max(0) as u32;
    if tiles_only { (peak + ADDRESSES).max(LEAST) } else { peak }
}

/// The integer that an instruction computes, if it only computes one.
fn address(op: &Op) -> Option<Reg> {
    let integer = |ty: Ty| matches!(ty, Ty::B32 | Ty::U32 | Ty::S32 | Ty::B64 | Ty::U64 | Ty::S64);
    match op {
        Op::Ld { space: Space::Param, d, .. } => d.first().copied(),
        Op::Special { d, .. } | Op::BufferBase { d, .. } | Op::Mov { d, a: Src::Imm(_), .. } => Some(*d),
        Op::Bin { ty, d, .. } | Op::Tern { ty, d, .. } | Op::Un { ty, d, .. } if integer(*ty) => Some(*d),
        Op::Cvt { to, from, d, .. } if integer(*to) && integer(*from) => Some(*d),
        _ => None,
    }
}

/// Every register that an instruction names.
fn each_reg(op: &Op, f: &mut dyn FnMut(Reg)) {
    let mut all = |regs: &[Reg], srcs: &[Src], at: Option<&Addr>| {
        regs.iter().for_each(|reg| f(*reg));
        for src in srcs {
            match src {
                Src::Reg(reg) => f(*reg),
                Src::Imm(_) => {}
            }
        }
        match at.map(|at| at.base) {
            Some(Base::Reg(reg)) => f(reg),
            Some(Base::Params) | None => {}
        }
    };
    match op {
        Op::Mov { d, a, .. } | Op::Un { d, a, .. } | Op::Math { d, a, .. } => all(&[*d], &[*a], None),
        Op::Special { d, .. } | Op::BufferBase { d, .. } | Op::EvictFirst { d } => all(&[*d], &[], None),
        Op::Bin { d, a, b, .. } | Op::Setp { d, a, b, .. } => all(&[*d], &[*a, *b], None),
        Op::Tern { d, a, b, c, .. } | Op::Lop3 { d, a, b, c, .. } => all(&[*d], &[*a, *b, *c], None),
        Op::Cvt { d, a, .. } | Op::Bfe { d, a, .. } => all(&[*d, *a], &[], None),
        Op::CvtPack { d, hi, lo, .. } => all(&[*d, *hi, *lo], &[], None),
        Op::Bfi { d, a, into, .. } => all(&[*d, *a, *into], &[], None),
        Op::Selp { d, a, b, p, .. } => all(&[*d, *p], &[*a, *b], None),
        Op::Pack { d, parts, .. } => {
            all(&[*d], &[], None);
            all(parts, &[], None);
        }
        Op::Unpack { d, a, .. } => {
            all(&[*a], &[], None);
            all(d, &[], None);
        }
        Op::Ld { d, at, .. } => all(d, &[], Some(at)),
        Op::St { a, at, .. } => all(a, &[], Some(at)),
        Op::Red { at, a, .. } => all(&[], &[*a], Some(at)),
        Op::Atom { d, at, a, b, .. } => all(&[*d], &[*a, b.unwrap_or(Src::Imm(0))], Some(at)),
        Op::AtomRelease { d, at, a, .. } => all(&[*d], &[*a], Some(at)),
        Op::LdAcquire { d, at, .. } => all(&[*d], &[], Some(at)),
        Op::BarOr { d, a } => all(&[*d, *a], &[], None),
        Op::Shfl { d, a, b, .. } => all(&[*d, *a], &[*b], None),
        Op::Mma { d, a, b, c, .. } => [d, a, b, c].into_iter().for_each(|regs| all(regs, &[], None)),
        Op::LdMatrix { d, at, .. } => all(d, &[], Some(at)),
        Op::CopyAsync { to, from, .. } => {
            all(&[], &[], Some(to));
            all(&[], &[], Some(from));
        }
        Op::CopyCommit | Op::CopyWait { .. } => {}
        Op::Bar | Op::Bra { .. } | Op::Label(_) | Op::Ret => {}
    }
}
