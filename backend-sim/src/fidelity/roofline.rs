//! The roofline: what each PE asks of one resource, over that resource's rate. Latencies, dependencies, the order of
//! commands and everything that PEs share are left out, so no schedule of the same programs can be faster.

use crate::engine::Usage;
use crate::engine::ipcq::Link;
use crate::machine::Machine;
use crate::timing::{Demand, Place, Traffic};
use crate::units::{Ps, Rate};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// What a bound counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Bytes that a PE loads, streams or stores in one slice, over the slice's bandwidth.
    Slice,
    /// Bytes that a PE reads from one slice of another cube, over the egress' bandwidth.
    Egress,
    /// Bytes of a PE's channel, over the rate at which they leave a port and the rate at which they enter the next.
    Queue,
    /// Operations of a PE's `dot`s over the peak.
    Gemm,
    /// Operations of a PE's composites, in padded tiles, over the peak.
    Composite,
    /// Elements of a PE's elementwise commands, reductions and copies over the rate, each a whole number of quanta.
    Math,
    /// Cycles that a PE spends to issue, and fixed overheads, between its first and its last log record.
    Issue,
    /// Shared: all bytes through the port of one PE, each at its rate there.
    SharedPort,
    /// Shared: all bytes that other cubes read from one cube, over the egress' bandwidth.
    SharedEgress,
}

impl Resource {
    /// As JSON and metrics name it.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Slice => "slice",
            Resource::Egress => "egress",
            Resource::Queue => "queue",
            Resource::Gemm => "gemm",
            Resource::Composite => "composite",
            Resource::Math => "math",
            Resource::Issue => "issue",
            Resource::SharedPort => "shared-port",
            Resource::SharedEgress => "shared-egress",
        }
    }
}

/// One PE, or one cube, and a resource; the time that it takes at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bound {
    pub resource: Resource,
    #[serde(rename = "time_ps", serialize_with = "ps")]
    pub time: Ps,
    /// Of the machine, all SIPs counted through.
    pub cube: usize,
    /// None for a whole cube.
    pub pe: Option<usize>,
}

/// The largest bound of each resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Roofline {
    /// Of resources that a PE has for itself, the largest first: none is above the schedule.
    pub own: Vec<Bound>,
    /// Of servers that PEs share: none is above the time by events, though it may be above the schedule.
    pub shared: Vec<Bound>,
}

impl Roofline {
    /// Of what programs ask of a machine.
    pub fn of(machine: &Machine, demand: &Demand) -> Roofline {
        let mut all = Largest::default();
        for t in &demand.traffic {
            own_bytes(machine, t, &mut all);
        }
        for (user, time) in channels(machine, demand) {
            all.add(Resource::Queue, user, time);
        }
        for &(place, tally) in &demand.pes {
            all.add(Resource::Gemm, place, tally.dots);
            all.add(Resource::Composite, place, tally.tiles);
            all.add(Resource::Math, place, tally.math);
            all.add(Resource::Issue, place, tally.issue);
        }
        let mut shared = Largest::default();
        shared_servers(machine, demand, &mut shared);
        Roofline { own: all.sorted(), shared: shared.sorted() }
    }
    /// The largest bound of what a PE has for itself: 0 if nothing was asked for.
    pub fn time(&self) -> Ps {
        self.own.first().map_or(Ps::ZERO, |b| b.time)
    }
    /// What bounds the schedule, in words.
    pub fn why(&self) -> String {
        self.own.first().map_or_else(|| "nothing is asked of any engine".to_owned(), |b| format!("bound by {b}"))
    }
}

/// By resource, the largest bound so far; of equal ones the first.
#[derive(Default)]
struct Largest(BTreeMap<Resource, Bound>);

impl Largest {
    fn add(&mut self, resource: Resource, at: Place, time: Ps) {
        self.put(Bound { resource, time, cube: at.cube, pe: Some(at.pe) });
    }
    fn put(&mut self, new: Bound) {
        if new.time > Ps::ZERO {
            let known = self.0.entry(new.resource).or_insert(new);
            if known.time < new.time {
                *known = new;
            }
        }
    }
    fn sorted(self) -> Vec<Bound> {
        let mut all: Vec<Bound> = self.0.into_values().collect();
        all.sort_by_key(|b| std::cmp::Reverse(b.time));
        all
    }
}

fn own_bytes(machine: &Machine, t: &Traffic, all: &mut Largest) {
    match t.usage {
        Usage::Load | Usage::Tile | Usage::Store => {
            all.add(Resource::Slice, t.user, machine.hbm.slice_rate.time_for(t.bytes.0));
            if leaves_cube(t) {
                all.add(Resource::Egress, t.user, machine.egress.rate.time_for(t.bytes.0));
            }
        }
        Usage::Send { .. } | Usage::Receive { .. } => {}
    }
}
/// Reads of another cube pass that cube's egress.
fn leaves_cube(t: &Traffic) -> bool {
    let read = match t.usage {
        Usage::Load | Usage::Tile => true,
        Usage::Store | Usage::Send { .. } | Usage::Receive { .. } => false,
    };
    read && t.home.cube != t.user.cube
}
/// A channel has one flit in flight: its hops and the two ends of each follow one another.
fn channels(machine: &Machine, demand: &Demand) -> impl Iterator<Item = (Place, Ps)> {
    let mut sums: BTreeMap<u32, (Place, Ps)> = BTreeMap::new();
    for t in &demand.traffic {
        if let Usage::Send { channel } | Usage::Receive { channel } = t.usage {
            let sum = sums.entry(channel).or_insert((t.user, Ps::ZERO));
            sum.1 += port_rate(machine, t).time_for(t.bytes.0);
        }
    }
    sums.into_values()
}
/// The rate of bytes at the port they go through.
fn port_rate(machine: &Machine, t: &Traffic) -> Rate {
    match (t.usage, t.link) {
        (Usage::Receive { .. }, Some(Link::Cube)) => machine.queue.cube_rate,
        (Usage::Receive { .. }, Some(Link::Sip)) => machine.sip.rate,
        (Usage::Receive { .. }, Some(Link::Mesh) | None) => machine.hbm.slice_rate,
        (Usage::Load | Usage::Tile | Usage::Store | Usage::Send { .. }, _) => machine.hbm.slice_rate,
    }
}
fn shared_servers(machine: &Machine, demand: &Demand, all: &mut Largest) {
    let (mut ports, mut egress) = (BTreeMap::new(), BTreeMap::new());
    for t in &demand.traffic {
        let of_rate: &mut u64 = ports.entry((t.home, port_rate(machine, t))).or_default();
        *of_rate = of_rate.saturating_add(t.bytes.0);
        if leaves_cube(t) {
            let of_cube: &mut u64 = egress.entry(t.home.cube).or_default();
            *of_cube = of_cube.saturating_add(t.bytes.0);
        }
    }
    let mut times: BTreeMap<Place, Ps> = BTreeMap::new();
    for ((home, rate), bytes) in ports {
        *times.entry(home).or_default() += rate.time_for(bytes);
    }
    for (home, time) in times {
        all.add(Resource::SharedPort, home, time);
    }
    for (cube, bytes) in egress {
        let time = machine.egress.rate.time_for(bytes);
        all.put(Bound { resource: Resource::SharedEgress, time, cube, pe: None });
    }
}

/// `slice traffic of cube 0 PE 3 (1.024 us)`
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.resource {
            Resource::Slice => "slice traffic of",
            Resource::Egress => "reads from another cube by",
            Resource::Queue => "messages of",
            Resource::Gemm => "dots of",
            Resource::Composite => "composites of",
            Resource::Math => "elementwise work of",
            Resource::Issue => "issue costs of",
            Resource::SharedPort => "all traffic at the port of",
            Resource::SharedEgress => "all reads that leave",
        };
        write!(f, "{what} cube {}", self.cube)?;
        if let Some(pe) = self.pe {
            write!(f, " PE {pe}")?;
        }
        write!(f, " ({:.3} us)", self.time.as_us())
    }
}

pub(super) fn ps<S: Serializer>(time: &Ps, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_u64(time.0)
}
