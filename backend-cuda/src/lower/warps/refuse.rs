//! What of a `map_reduce` cannot be run by each warp by itself, with the reason: it is run turn by turn by all threads then
//! (`passes::expand`).

use super::super::errors::MAX_TILE_REGS;
use super::super::held::held;
use super::super::scope::WARP;
use crate::compile::{Options, counts_up};
use tilewright_core::elem::Class;
use tilewright_core::ir::ops::{self, Op};
use tilewright_core::ir::{Module, OpId, Type, ValueId};
use tilewright_core::passes::bounds::{Checks, Placement, Prover};

/// By op: why not. `checks`: of the optimised module `m`.
pub(crate) fn refused(m: &Module, checks: &Checks, options: &Options) -> Vec<(OpId, String)> {
    let prover = Prover::new(m, &options.known);
    let mut out = Vec::new();
    m.each_op(&mut |op| {
        if let Op::MapReduce(o) = &m.op(op).op {
            let why = of_program(options).or_else(|| of_ops(m, &prover, checks, o)).or_else(|| of_tiles(m, options, o));
            out.extend(why.map(|why| (op, why)));
        }
    });
    out
}

fn of_program(options: &Options) -> Option<String> {
    (options.threads <= WARP).then(|| format!("a program of {} threads has one warp", options.threads))
}

/// Faults are told in the order of turns, which warps do not keep.
fn of_ops(m: &Module, prover: &Prover<'_>, checks: &Checks, o: &ops::MapReduce) -> Option<String> {
    let is_checked = |op: OpId| {
        let placed = checks.0.iter().find(|check| check.op == op).map(|check| &check.placement);
        matches!(placed, Some(Placement::Hoisted { .. } | Placement::InPlace))
    };
    let may_divide_by_zero = |op: &Op| match op {
        Op::Div(ops::Div { b, .. }) | Op::Rem(ops::Rem { b, .. }) => {
            let known = prover.facts().get(m, *b).is_some_and(|fact| fact.lo > 0 || fact.hi < 0);
            m.ty(*b).elem().is(Class::Int) && !known
        }
        _ => false,
    };
    let mut why = None;
    for region in [o.body, o.merge] {
        m.walk(region, &mut |op| {
            let data = &m.op(op).op;
            let reason = match data {
                Op::For(inner) if inner.range.step.is_some_and(|step| !counts_up(prover, m, step)) => {
                    Some("holds a loop whose step may be below 1")
                }
                _ if is_checked(op) => Some("has an access that is checked where it stands"),
                _ if may_divide_by_zero(data) => Some("has a divisor that may be 0"),
                _ => None,
            };
            why = why.take().or(reason);
        });
    }
    why.map(str::to_string)
}

/// A tile that 32 threads cannot hold, or tiles that do not fit shared memory once for each warp.
fn of_tiles(m: &Module, options: &Options, o: &ops::MapReduce) -> Option<String> {
    let (mut why, mut bytes) = (None, 0u64);
    for region in [o.body, o.merge] {
        m.walk(region, &mut |op| {
            let (is_load, is_trans) = (matches!(m.op(op).op, Op::Load(_)), matches!(m.op(op).op, Op::Trans(_)));
            for v in m.op(op).results.iter() {
                let Type::Tile(elem, dims) = m.ty(v) else { continue };
                // What products read, and nothing else, takes no registers.
                let feeds = (is_load || is_trans) && only_products(m, v);
                let regs = dims.elems() * u64::from(held(elem).bytes()) / 4 / u64::from(WARP);
                if feeds {
                    bytes += u64::from(is_load) * dims.elems() * elem.bytes();
                } else if regs > MAX_TILE_REGS as u64 / 2 {
                    why.get_or_insert_with(|| format!("{} takes {regs} registers of a warp's threads", m.ty(v)));
                }
            }
        });
    }
    let (all, room) = (bytes * u64::from(options.threads / WARP), u64::from(options.target.shared_bytes()));
    why.or_else(|| (all > room).then(|| format!("its tiles take {all} bytes of shared memory, of {room}")))
}

fn only_products(m: &Module, v: ValueId) -> bool {
    let mut only = true;
    m.each_op(&mut |op| {
        let data = m.op(op);
        data.op.each_region(&mut |r| only &= !m.region(r).yields.contains(&v));
        if data.op.operands().contains(&v) {
            only &= match &data.op {
                Op::Dot(o) => o.c != Some(v),
                Op::Trans(_) => only_products(m, data.results.first),
                _ => false,
            };
        }
    });
    only
}
