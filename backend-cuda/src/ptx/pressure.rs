//! How many registers a kernel keeps alive at once, before ptxas has seen it: enough to say how many CTAs an SM should
//! hold, which ptxas wants to be told (PTX.md 2).

use super::blocks::Blocks;
use super::body::{Body, Line};
use super::inst::{Addr, Base, Bin, Mma, Op, Space, Special, Src};
use super::ty::{Class, Reg, Ty};

/// 32-bit registers alive at the fullest place. Of integers that are equal in all threads one in `EQUAL` counts: parameters
/// are read from constant memory where they are used, and most of the rest gets registers of its own, one for a warp.
/// Constants of f64 arithmetic count: no instruction has room for one. In a kernel with products on tensor cores, whose many
/// unrolled addresses would outnumber the tiles, what is only computed from integers counts as a fixed number.
pub fn pressure(body: &Body) -> u32 {
    fullest(body, &|_| true)
}
/// The same where each warp goes on by itself.
pub fn pressure_by_warp(body: &Body) -> u32 {
    fullest(body, &|line| line.by_warp)
}
fn fullest(body: &Body, counts: &dyn Fn(&Line) -> bool) -> u32 {
    let lines: Vec<&Line> = body.lines().collect();
    let blocks = Blocks::of(&lines);
    let regs = Numbers::of(body, &lines);
    // What is alive at the start of each block, until nothing changes.
    let mut alive: Vec<Set> = vec![regs.none(); blocks.count()];
    let mut todo: Vec<usize> = (0..blocks.count()).collect();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); blocks.count()];
    for (block, next) in blocks.next.iter().enumerate() {
        next.iter().for_each(|n| before[*n].push(block));
    }
    let at_end = |alive: &[Set], block: usize| {
        let mut set = regs.none();
        blocks.next[block].iter().for_each(|next| set.add(&alive[*next]));
        set
    };
    while let Some(block) = todo.pop() {
        let mut set = at_end(&alive, block);
        blocks.range(block).rev().for_each(|at| regs.step(&mut set, lines[at]));
        if set != alive[block] {
            alive[block] = set;
            todo.extend(&before[block]);
        }
    }
    let mut most = 0;
    for block in 0..blocks.count() {
        let mut set = at_end(&alive, block);
        for at in blocks.range(block).rev() {
            if counts(lines[at]) {
                most = most.max(regs.halves(&set));
            }
            regs.step(&mut set, lines[at]);
            if counts(lines[at]) {
                most = most.max(regs.halves(&set));
            }
        }
    }
    let constants = lines.iter().map(|line| wide_constants(&line.inst.op)).sum::<u32>().min(MOST_CONSTANTS);
    let peak = most.div_ceil(2 * EQUAL) + constants;
    let counted: Vec<&Line> = lines.iter().copied().filter(|line| counts(line)).collect();
    if has_products(&lines) { (peak + ADDRESSES * buffers(&counted) + runs(&lines)).max(LEAST) } else { peak }
}

/// What is added for addresses into a buffer of shared memory, which are not counted: ptxas makes them again where registers
/// are short, but not all of them (chains of two products spilled with 16 in all).
const ADDRESSES: u32 = 16;
/// A kernel with products has at least so many: with 64 in all, small ones spilled.
const LEAST: u32 = 80;

/// A tall product of f64 takes its operands in runs of neighbouring registers, which ptxas fills beside those that are read
/// for the next (64 x 64 sums in four warps spilled without).
const RUNS: u32 = 24;

fn runs(lines: &[&Line]) -> u32 {
    let tall = |line: &&&Line| matches!(line.inst.op, Op::Mma { how: Mma::F64, .. });
    if lines.iter().any(|line| tall(&line)) { RUNS } else { 0 }
}
fn has_products(lines: &[&Line]) -> bool {
    lines.iter().any(|line| matches!(line.inst.op, Op::Mma { .. }))
}

fn buffers(lines: &[&Line]) -> u32 {
    let mut seen = Vec::new();
    for line in lines {
        if let Op::BufferBase { buffer, .. } = &line.inst.op
            && !seen.contains(buffer)
        {
            seen.push(*buffer);
        }
    }
    seen.len() as u32
}

/// The integer that an instruction computes, if it only computes one.
fn address(op: &Op) -> Option<Reg> {
    let integer = |ty: Ty| matches!(ty, Ty::B32 | Ty::U32 | Ty::S32 | Ty::B64 | Ty::U64 | Ty::S64);
    match op {
        Op::Special { d, .. } | Op::BufferBase { d, .. } | Op::Mov { d, a: Src::Imm(_), .. } => Some(*d),
        Op::Bin { ty, d, .. } | Op::Tern { ty, d, .. } | Op::Un { ty, d, .. } if integer(*ty) => Some(*d),
        Op::Cvt { to, from, d, .. } if integer(*to) && integer(*from) => Some(*d),
        _ => None,
    }
}

/// Numbers equal in all threads that take one register of a thread together: found by what ptxas needs for shipped kernels.
const EQUAL: u32 = 4;
/// Registers that constants of f64 arithmetic take at most: more of them are made anew where they are used. A division or a
/// root of f64 becomes a routine that takes as many.
const MOST_CONSTANTS: u32 = 16;

fn wide_constants(op: &Op) -> u32 {
    let count = |operands: &[Src]| 2 * operands.iter().filter(|a| matches!(a, Src::Imm(_))).count() as u32;
    match op {
        Op::Bin { op: Bin::DivRn, ty: Ty::F64, .. } | Op::Math { ty: Ty::F64, .. } => MOST_CONSTANTS,
        Op::Bin { ty: Ty::F64, a, b, .. } => count(&[*a, *b]),
        Op::Tern { ty: Ty::F64, a, b, c, .. } => count(&[*a, *b, *c]),
        _ => 0,
    }
}

/// Registers as bits.
#[derive(Clone, PartialEq)]
struct Set(Vec<u64>);

impl Set {
    fn add(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

/// Which bit stands for a register. Wide ones come first; truth values have none.
struct Numbers {
    wide: usize,
    narrow: usize,
    truth: usize,
    /// By bit: it is not equal in all threads.
    varies: Vec<bool>,
    /// By bit: it holds a parameter, or an address that is made again.
    is_free: Vec<bool>,
}

impl Numbers {
    fn of(body: &Body, lines: &[&Line]) -> Numbers {
        let count = |class: Class| body.count(class) as usize;
        let wide = count(Class::B64).next_multiple_of(WORD);
        let narrow = wide + count(Class::B32);
        let truth = narrow + count(Class::B16);
        let all = truth + count(Class::Pred);
        let mut regs = Numbers { wide, narrow, truth, varies: vec![false; all], is_free: vec![false; all] };
        let products = has_products(lines);
        for line in lines {
            if let Op::Ld { space: Space::Param, d, .. } = &line.inst.op {
                d.iter().for_each(|reg| {
                    let bit = regs.bit(*reg);
                    regs.is_free[bit] = true;
                });
            }
            if let Some(reg) = address(&line.inst.op).filter(|_| products) {
                let bit = regs.bit(reg);
                regs.is_free[bit] = true;
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for line in lines {
                changed |= regs.spread(line);
            }
        }
        regs
    }
    /// Notes what varies because of an instruction; whether that is new.
    fn spread(&mut self, line: &Line) -> bool {
        let op = &line.inst.op;
        let mut varies = !is_integer(op) || line.inst.guard.is_some_and(|guard| self.varies[self.bit(guard.pred)]);
        each_reg(op, &mut |reg, written| varies |= !written && self.varies[self.bit(reg)]);
        let mut changed = false;
        if varies {
            each_reg(op, &mut |reg, written| {
                let bit = self.bit(reg);
                changed |= written && !self.varies[bit];
                self.varies[bit] |= written;
            });
        }
        changed
    }
    fn none(&self) -> Set {
        Set(vec![0; self.truth.div_ceil(WORD)])
    }
    fn bit(&self, reg: Reg) -> usize {
        let at = reg.index as usize;
        match reg.class {
            Class::B64 => at,
            Class::B32 => self.wide + at,
            Class::B16 => self.narrow + at,
            Class::Pred => self.truth + at,
        }
    }
    /// `None`: it takes no room.
    fn room(&self, reg: Reg) -> Option<usize> {
        let bit = self.bit(reg);
        (bit < self.truth && !self.is_free[bit]).then_some(bit)
    }
    /// From what is alive after an instruction to what is alive before it.
    fn step(&self, set: &mut Set, line: &Line) {
        // A guarded instruction may leave what was there.
        if line.inst.guard.is_none() {
            each_reg(&line.inst.op, &mut |reg, written| {
                if let Some(bit) = self.room(reg).filter(|_| written) {
                    set.0[bit / WORD] &= !(1 << (bit % WORD));
                }
            });
        }
        each_reg(&line.inst.op, &mut |reg, written| {
            if let Some(bit) = self.room(reg).filter(|_| !written) {
                set.0[bit / WORD] |= 1 << (bit % WORD);
            }
        });
    }
    /// Halves of 32-bit registers, times `EQUAL`.
    fn halves(&self, set: &Set) -> u32 {
        let mut sum = 0;
        for (at, mut word) in set.0.iter().copied().enumerate() {
            while word != 0 {
                let bit = at * WORD + word.trailing_zeros() as usize;
                let halves = match bit {
                    _ if bit < self.wide => 4,
                    _ if bit < self.narrow => 2,
                    // Two halves of a loaded word stay in one register.
                    _ => 1,
                };
                sum += halves * if self.varies[bit] { EQUAL } else { 1 };
                word &= word - 1;
            }
        }
        sum
    }
}

/// Whether its result is an integer of what it reads and of nothing else, so that a warp may have it once.
fn is_integer(op: &Op) -> bool {
    let float = |ty: Ty| matches!(ty, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64 | Ty::F16x2 | Ty::Bf16x2);
    match op {
        Op::Special { from, .. } => *from != Special::TidX,
        Op::Ld { space, .. } => *space == Space::Param,
        Op::Bin { ty, .. } | Op::Tern { ty, .. } | Op::Un { ty, .. } | Op::Setp { ty, .. } => !float(*ty),
        Op::Cvt { to, from, .. } => !float(*to) && !float(*from),
        Op::Mov { .. } | Op::Selp { .. } | Op::Lop3 { .. } | Op::Bfe { .. } | Op::Bfi { .. } => true,
        Op::Pack { .. } | Op::Unpack { .. } | Op::EvictFirst { .. } | Op::BufferBase { .. } => true,
        Op::Cluster(op) => op.is_integer(),
        _ => false,
    }
}

const WORD: usize = u64::BITS as usize;

/// Every register that an instruction names, and whether it writes it.
fn each_reg(op: &Op, f: &mut dyn FnMut(Reg, bool)) {
    let mut all = |written: &[Reg], read: &[Src], at: Option<&Addr>| {
        written.iter().for_each(|reg| f(*reg, true));
        for src in read {
            match src {
                Src::Reg(reg) => f(*reg, false),
                Src::Imm(_) => {}
            }
        }
        match at.map(|at| at.base) {
            Some(Base::Reg(reg)) => f(reg, false),
            Some(Base::Params) | None => {}
        }
    };
    let regs = |regs: &[Reg]| regs.iter().map(|reg| Src::Reg(*reg)).collect::<Vec<_>>();
    match op {
        Op::Mov { d, a, .. } | Op::Un { d, a, .. } | Op::Math { d, a, .. } => all(&[*d], &[*a], None),
        Op::Special { d, .. } | Op::BufferBase { d, .. } | Op::EvictFirst { d } => all(&[*d], &[], None),
        Op::Bin { d, a, b, .. } | Op::Setp { d, a, b, .. } => all(&[*d], &[*a, *b], None),
        Op::Tern { d, a, b, c, .. } | Op::Lop3 { d, a, b, c, .. } => all(&[*d], &[*a, *b, *c], None),
        Op::Cvt { d, a, .. } | Op::Bfe { d, a, .. } => all(&[*d], &regs(&[*a]), None),
        Op::CvtPack { d, hi, lo, .. } => all(&[*d], &regs(&[*hi, *lo]), None),
        Op::Bfi { d, a, into, .. } => all(&[*d], &regs(&[*a, *into]), None),
        Op::Selp { d, a, b, p, .. } => all(&[*d], &[*a, *b, (*p).into()], None),
        Op::Pack { d, parts, .. } => all(&[*d], &regs(parts), None),
        Op::Unpack { d, a, .. } => all(d, &regs(&[*a]), None),
        Op::Ld { d, at, .. } => all(d, &[], Some(at)),
        Op::St { a, at, .. } => all(&[], &regs(a), Some(at)),
        Op::Red { at, a, .. } => all(&[], &[*a], Some(at)),
        Op::Atom { d, at, a, b, .. } => all(&[*d], &[*a, b.unwrap_or(Src::Imm(0))], Some(at)),
        Op::AtomRelease { d, at, a, .. } => all(&[*d], &[*a], Some(at)),
        Op::LdAcquire { d, at, .. } => all(&[*d], &[], Some(at)),
        Op::StRelease { at, a, .. } => all(&[], &regs(&[*a]), Some(at)),
        Op::Cluster(op) => op.each_reg(f),
        Op::BarOr { d, a } => all(&[*d], &regs(&[*a]), None),
        Op::Shfl { d, a, b, .. } => all(&[*d], &[(*a).into(), *b], None),
        Op::Mma { d, a, b, c, .. } => {
            [a, b, c].into_iter().for_each(|read| all(&[], &regs(read), None));
            all(d, &[], None);
        }
        Op::LdMatrix { d, at, .. } => all(d, &[], Some(at)),
        Op::MovMatrix { d, a } => all(&[*d], &regs(&[*a]), None),
        Op::CopyAsync { to, from, .. } => {
            all(&[], &[], Some(to));
            all(&[], &[], Some(from));
        }
        Op::CopyCommit | Op::CopyWait { .. } => {}
        Op::Bar | Op::WarpSync | Op::Part | Op::Join | Op::Bra { .. } | Op::Label(_) | Op::Ret => {}
    }
}
