//! How many PEs a service takes: users, their context, and the time a token may take.

use crate::errors::Fault;
use crate::explore::{degrees, score};
use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::model::Model;
use crate::options::Options;
use crate::roofline::roofline;
use crate::topology::{MAX_DEGREE, Phase, Placement, Topology, Work};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    pub users: u64,
    /// Average, in tokens.
    pub context: u64,
    /// Longest time of a token.
    pub tpot_goal_s: f64,
}

/// What made the deployment as large as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Capacity,
    Kv,
    Throughput,
}

impl Axis {
    pub const fn name(self) -> &'static str {
        match self {
            Axis::Capacity => "capacity",
            Axis::Kv => "kv",
            Axis::Throughput => "throughput",
        }
    }
}

/// PEs, by what they are for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// For the weights alone.
    pub pes_capacity: u64,
    /// For weights and the K and V of a replica's users.
    pub pes_kv: u64,
    pub pes_per_replica: u64,
    /// Requests of a step within the goal; 0: one takes longer.
    pub batch_at_goal: u64,
    pub users_per_replica: u64,
    pub replicas: u64,
    pub total_pes: u64,
    pub binding: Axis,
}

/// Most users, and most PEs of a result.
const MAX_USERS: u64 = 1 << 40;

impl Demand {
    /// # Errors
    /// `TW-E0712`: no users, or a goal that no step meets.
    pub fn check(&self) -> Result<(), Fault> {
        let fault = |flag, value: String, needs: &str| Err(Fault::Query { flag, value, needs: needs.into() });
        if !(1..=MAX_USERS).contains(&self.users) {
            return fault("--users", self.users.to_string(), "1 to 2^40 users");
        }
        if !(self.tpot_goal_s > 0.0 && self.tpot_goal_s.is_finite()) {
            return fault("--tpot-slo-s", self.tpot_goal_s.to_string(), "seconds, above 0");
        }
        Work::new(Phase::Decode, self.context).check()
    }
}

/// The baseline: the whole model on one PE for time, on as many as it takes for capacity.
pub fn size(model: &Model, machine: &Machine, demand: &Demand) -> Size {
    let work = Work::new(Phase::Decode, demand.context);
    let inputs = Inputs::new(model, machine, &Topology::single(), &work);
    let roofline = roofline(&inputs, 1.0, Options::BASELINE);
    let batch_at_goal = roofline.max_batch(demand.tpot_goal_s);
    let users_per_replica = batch_at_goal.clamp(1, demand.users);
    let replicas = demand.users.div_ceil(users_per_replica);
    let weights = roofline.active_params * inputs.e;
    let kv = users_per_replica as f64 * inputs.s * roofline.kv_bytes_per_token;
    let pes_for = |bytes: f64| (bytes / machine.hbm_bytes).ceil() as u64;
    let (pes_capacity, pes_kv) = (pes_for(weights), pes_for(weights + kv));
    let pes_per_replica = pes_capacity.max(pes_kv);
    let binding = match () {
        () if replicas > 1 => Axis::Throughput,
        () if pes_kv > pes_capacity => Axis::Kv,
        () => Axis::Capacity,
    };
    Size {
        pes_capacity,
        pes_kv,
        pes_per_replica,
        batch_at_goal,
        users_per_replica,
        replicas,
        total_pes: pes_per_replica.saturating_mul(replicas),
        binding,
    }
}

/// A service, sized by the step of its sharded replica.
#[derive(Clone, Copy, Debug)]
pub struct Sized {
    /// Of one replica; `b` is its users.
    pub topology: Topology,
    pub replicas: u64,
    pub total_pes: u64,
    /// Of a step with that many users.
    pub tpot_s: f64,
    pub binding: Axis,
}

/// What sizing found.
#[derive(Clone, Copy, Debug)]
pub enum Sizing {
    Found(Sized),
    /// No deployment of one user meets the goal: the fastest that fits, if any does.
    Unreachable(Option<(Topology, f64)>),
}

/// Option `sizing`: of all deployments that fit, the one that serves the users within the goal on the fewest PEs, then in the
/// shortest step. A replica's users are as many as fit its memory and the goal, found by bisection, since both only grow.
pub fn size_sharded(model: &Model, machine: &Machine, demand: &Demand, o: Options) -> Sizing {
    let work = Work::new(Phase::Decode, demand.context);
    let mut inputs = Inputs::new(model, machine, &Topology::single(), &work);
    let mut best: Option<Sized> = None;
    let mut fastest: Option<(Topology, f64)> = None;
    for topology in deployments(model, machine) {
        let mut run = |b: u64| score(&mut inputs, Topology { b, ..topology }, o);
        let one = run(1);
        if !one.feasible() {
            continue;
        }
        if fastest.is_none_or(|(_, s)| one.latency_s < s) {
            fastest = Some((topology, one.latency_s));
        }
        if one.latency_s > demand.tpot_goal_s {
            continue;
        }
        let most = demand.users.min(MAX_DEGREE);
        let users = largest(most, |b| {
            let p = run(b);
            p.feasible() && p.latency_s <= demand.tpot_goal_s
        });
        let replicas = demand.users.div_ceil(users);
        // Users spread evenly over the replicas that it takes.
        let b = demand.users.div_ceil(replicas);
        let point = run(b);
        let fits_more = run((users + 1).min(MAX_DEGREE)).feasible();
        let binding = match () {
            () if users == most && replicas == 1 && b == 1 => Axis::Capacity,
            () if fits_more && replicas > 1 => Axis::Throughput,
            () if point.kv_bytes > 0.0 && !fits_more => Axis::Kv,
            () => Axis::Capacity,
        };
        let total_pes = topology.total_pes().saturating_mul(replicas);
        let found =
            Sized { topology: Topology { b, ..topology }, replicas, total_pes, tpot_s: point.latency_s, binding };
        let better = |old: &Sized| (total_pes, found.tpot_s) < (old.total_pes, old.tpot_s);
        if best.as_ref().is_none_or(better) {
            best = Some(found);
        }
    }
    best.map_or(Sizing::Unreachable(fastest), Sizing::Found)
}

/// What a replica may be: ranks of tp on PEs as long as they fit a cube, those of cp on cubes.
fn deployments(model: &Model, machine: &Machine) -> Vec<Topology> {
    let placed = |(cp, tp, pp, dp): (u64, u64, u64, u64)| {
        let on_pe = tp <= machine.pes_per_cube;
        let tp_placement = if on_pe { Placement::Pe } else { Placement::Cube };
        (dp == 1).then_some(Topology { cp, tp, pp, tp_placement, ..Topology::single() })
    };
    degrees(model).filter_map(placed).collect()
}

/// The largest of 1 to `most` that passes, where 1 does and none passes after one that fails.
fn largest(most: u64, mut passes: impl FnMut(u64) -> bool) -> u64 {
    let (mut low, mut high) = (1, most + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if passes(middle) { low = middle } else { high = middle }
    }
    low
}
