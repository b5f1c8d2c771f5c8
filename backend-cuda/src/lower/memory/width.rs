//! How many elements an access may move at once: those that are aligned together, and of them those that exist together
//! or not at all.

use tilewright_core::ir::ops::Access;
use tilewright_core::ir::{Def, Dims, Module, Op, OpId, Type};
use tilewright_core::passes::bounds::Prover;
use tilewright_core::passes::facts::Facts;

/// Bytes that one instruction moves for a thread. Memory from a device's allocator is aligned to more.
const MAX_BYTES: u64 = 16;

/// Elements that are aligned together: a power of two. The author's hint can only lower it. `addresses`: by parameter,
/// what divides the addresses of its views.
pub fn vector(m: &Module, prover: &Prover<'_>, addresses: &[u32], op: OpId) -> u32 {
    width(m, addresses, op, |at, dims| aligned(m, prover.facts(), at, dims))
}
/// Of these, the elements that exist together.
pub fn together(m: &Module, prover: &Prover<'_>, addresses: &[u32], op: OpId) -> u32 {
    width(m, addresses, op, |at, dims| gcd(aligned(m, prover.facts(), at, dims), ends(m, prover.facts(), at, dims)))
}

fn width(m: &Module, addresses: &[u32], op: OpId, divisor: impl Fn(&Access, Dims) -> u128) -> u32 {
    let data = m.op(op);
    let (Some(at), Some(ty)) = (data.op.access(), moved(m, op)) else { return 1 };
    let Some(dims) = ty.dims().filter(|dims| dims.rank() > 0) else { return 1 };
    // An atomic takes one element.
    if matches!(data.op, Op::AtomicAdd(_) | Op::AtomicMax(_)) {
        return 1;
    }
    let hint = at.vec.unwrap_or(u32::MAX).max(1);
    let bytes = match m.def(at.view) {
        Def::Param(param) => addresses.get(param as usize).map_or(MAX_BYTES, |by| MAX_BYTES.min(u64::from(*by))),
        Def::Const(_) | Def::Result(..) | Def::Arg(..) => MAX_BYTES,
    };
    let most = (bytes / ty.elem().bytes()).min(u64::from(hint)) as u32;
    let divisor = divisor(at, dims);
    let mut width = 1;
    while width * 2 <= most && divisor.is_multiple_of(u128::from(width) * 2) {
        width *= 2;
    }
    width
}

fn moved(m: &Module, op: OpId) -> Option<Type> {
    match &m.op(op).op {
        Op::Load(o) => Some(o.to.0),
        Op::Store(o) => Some(m.ty(o.value)),
        Op::AtomicAdd(o) => Some(m.ty(o.value)),
        Op::AtomicMax(o) => Some(m.ty(o.value)),
        _ => None,
    }
}

/// Divides every number that decides where a run of elements begins.
fn aligned(m: &Module, facts: &Facts, at: &Access, dims: Dims) -> u128 {
    let last = at.index.len() - 1;
    let along = u128::from(dims.as_slice()[dims.rank() - 1]);
    let begins = gcd(along, facts.get(m, at.index[last]).map_or(1, |fact| fact.divisor));
    // Rows begin at multiples of their length.
    if last == 0 { begins } else { gcd(begins, facts.len_divisor(m, at.view, last as u32)) }
}
/// Divides every number that decides which elements of the last axis exist.
fn ends(m: &Module, facts: &Facts, at: &Access, dims: Dims) -> u128 {
    let last = at.index.len() - 1;
    let limits = at.limits.iter().filter(|(axis, _)| *axis as usize + 1 == dims.rank());
    let limits = limits.map(|(_, n)| facts.get(m, *n).map_or(1, |fact| fact.divisor));
    limits.fold(facts.len_divisor(m, at.view, last as u32), gcd)
}
fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
