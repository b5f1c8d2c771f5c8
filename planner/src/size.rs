//! How many PEs a service takes: users, their context, and the time a token may take.

use crate::errors::Fault;
use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::model::Model;
use crate::options::Options;
use crate::roofline::roofline;
use crate::topology::{Phase, Topology, Work};

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
