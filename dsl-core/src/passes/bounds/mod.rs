//! Where the bounds of each access are checked. An access with a fill, or that drops what is outside, needs no check.
//! Every other one is, in this order of preference: proved inside its view; checked by the host at launch, where its
//! indices come from parameters, lengths, ids and loops over them; checked once before a loop, where they come from
//! values made before it; checked in place.
//!
//! A side table: the module carries no checks. A check at launch or before a loop asks whether *every* index that the
//! access can take is inside; where that fails, the access keeps its check in place, so that no run is refused that
//! would have stayed inside. `prover.rs`, `proof.rs`, `linear.rs`: proofs. `need.rs`: what an index needs to be known.
//! `deny.rs`: kernels that refuse checks. `text.rs`: conditions for people.

mod deny;
mod linear;
mod need;
mod proof;
mod prover;
mod text;

pub use deny::CODES;
pub use prover::{Open, Prover};

use super::facts::Known;
use super::remark::{Remark, Verdict};
use crate::ir::ops::{Access, Bounds};
use crate::ir::{Module, Op, OpId, Type, ValueId};
use need::{Made, Needs};
use std::fmt;

const PASS: &str = "bounds";
/// Where an access is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Nowhere: it is inside in every run.
    Proved,
    /// By the host, before the run.
    AtLaunch,
    /// In the kernel, once before this loop.
    Hoisted { before: OpId },
    /// In the kernel, where it stands.
    InPlace,
}

/// The check of one access.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub op: OpId,
    pub placement: Placement,
    /// What is not shown to hold, for people: `0 <= %i, %i + 8 <= len(%x, 0)`; empty where it is proved.
    pub condition: String,
    /// What makes the number that only the run knows, if there is one: a load, a receive, the loop that carries it.
    pub origin: Option<OpId>,
}

/// How many accesses are checked where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub proved: usize,
    pub at_launch: usize,
    pub hoisted: usize,
    pub in_place: usize,
}
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { proved, at_launch, hoisted, in_place } = self;
        write!(f, "{proved} proved, {at_launch} checked at launch, {hoisted} before a loop, {in_place} in place")
    }
}

/// The checks of a module's accesses, in text order; accesses that need none are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checks(pub Vec<Check>);

impl Checks {
    pub fn counts(&self) -> Counts {
        let mut out = Counts::default();
        for check in &self.0 {
            *match check.placement {
                Placement::Proved => &mut out.proved,
                Placement::AtLaunch => &mut out.at_launch,
                Placement::Hoisted { .. } => &mut out.hoisted,
                Placement::InPlace => &mut out.in_place,
            } += 1;
        }
        out
    }
    /// Evaluates the checks at launch: the accesses among them that these numbers do not show to be inside. They keep
    /// their check in place in this launch.
    pub fn fail_at(&self, m: &Module, launch: &Known) -> Vec<OpId> {
        let prover = Prover::new(m, launch);
        let at_launch = self.0.iter().filter(|check| check.placement == Placement::AtLaunch);
        at_launch.map(|check| check.op).filter(|op| !is_proved(m, &prover, *op)).collect()
    }
}

/// The access of an op that has to stay inside its view, and the type of what it moves.
pub fn checked_access(m: &Module, op: OpId) -> Option<(&Access, Type)> {
    let (bounds, at, value) = match &m.op(op).op {
        Op::Load(o) if o.fill.0.is_none() => return Some((&o.at, o.to.0)),
        Op::Store(o) => (o.bounds, &o.at, o.value),
        Op::AtomicAdd(o) => (o.bounds, &o.at, o.value),
        Op::AtomicMax(o) => (o.bounds, &o.at, o.value),
        _ => return None,
    };
    match bounds {
        Bounds::All => Some((at, m.ty(value))),
        Bounds::Inside => None,
    }
}

/// Whether the op is an access that is surely inside its view.
pub(super) fn is_proved(m: &Module, prover: &Prover<'_>, op: OpId) -> bool {
    checked_access(m, op).is_some_and(|(at, ty)| prover.open_axes(op, at, ty).is_empty())
}

/// Finds the place of every check, under what is known of the launch.
pub fn place_checks(m: &Module, known: &Known) -> (Checks, Vec<Remark>) {
    let (prover, needs, texts) = (Prover::new(m, known), Needs::of(m), text::Conditions::new(m));
    let (mut checks, mut remarks) = (Vec::new(), Vec::new());
    m.each_op(&mut |op| {
        let Some((at, ty)) = checked_access(m, op) else { return };
        let open = prover.open_axes(op, at, ty);
        let made = needs.all(deciding(at, ty, &open).into_iter());
        let placement = if open.is_empty() { Placement::Proved } else { place(&needs, op, made) };
        let origin = made.and_then(|made| needs.origin(m, made));
        let check = Check { op, placement, condition: texts.of(at, ty, &open), origin };
        remarks.push(remark(m, &check));
        checks.push(check);
    });
    (Checks(checks), remarks)
}

/// What decides whether an access is inside along these axes.
fn deciding(at: &Access, ty: Type, open: &[Open]) -> Vec<ValueId> {
    let axes: Vec<usize> = open.iter().map(|open| open.axis).collect();
    let mut out: Vec<ValueId> = axes.iter().filter_map(|axis| at.index.get(*axis).copied()).collect();
    let of_view = |axis: u32| (axis as usize + at.index.len()).checked_sub(ty.dims().map_or(0, |d| d.rank()));
    let limits = at.limits.iter().filter(|(axis, _)| of_view(*axis).is_some_and(|axis| axes.contains(&axis)));
    out.extend(limits.map(|(_, n)| *n));
    out
}
fn place(needs: &Needs, op: OpId, made: Option<Made>) -> Placement {
    let Some(made) = made else { return Placement::AtLaunch };
    match needs.loops[op.index()].get(made.loops) {
        Some(outer) => Placement::Hoisted { before: *outer },
        None => Placement::InPlace,
    }
}

fn remark(m: &Module, check: &Check) -> Remark {
    let condition = &check.condition;
    let (verdict, text) = match check.placement {
        Placement::Proved => (Verdict::Applied, "needs no check: it is inside in every run".to_string()),
        Placement::AtLaunch => (Verdict::Applied, format!("is checked at launch: {condition}")),
        Placement::Hoisted { before } => {
            let line = super::edit::place(m, before);
            (Verdict::Applied, format!("is checked once before the loop at {line}: {condition}"))
        }
        Placement::InPlace => {
            let why = check.origin.map_or(String::new(), |from| format!("; it depends on {}", deny::source(m, from)));
            let next = deny::remedy(m, check.op);
            (
                Verdict::Declined,
                format!("is checked in place: not shown is {condition}{why}; to spare the check, {next}"),
            )
        }
    };
    Remark::new(PASS, verdict, m, check.op, text)
}
