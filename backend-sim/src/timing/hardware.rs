//! The hardware as programs see it: the fabric, which cubes are in use, who is whose neighbour, the queues between them,
//! and the barriers.

use super::launch::Launch;
use super::program::{Access, ScalarSlot};
use crate::engine::fabric::Cx;
use crate::engine::ipcq::Link;
use crate::engine::{EventSet, Fabric, Kind, PeIx, Sharing};
use crate::machine::{FieldSet, Machine, field};
use crate::placement::{self, Distance};
use crate::units::{Bytes, Ps};
use std::collections::BTreeMap;
use tilewright_core::interp::{Mesh, NoLink, Record, RecordKind};
use tilewright_core::ir::ops::{Port, Scope};
use tilewright_core::ir::{Literal, MAX_RANK, OpId};
use tilewright_core::tensor::AnyTensor;

/// One request of an access.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub home: PeIx,
    pub bytes: Bytes,
    pub extra: Ps,
}

/// The hardware of a run.
pub struct Hardware<'a, Q> {
    pub cx: Cx<Q>,
    pub fabric: Fabric,
    machine: &'a Machine,
    pes_per_cube: usize,
    /// By cube of the machine: its number among those in use.
    numbers: Vec<Option<u32>>,
    /// By PE and port: the channel it sends into, and the one it receives from.
    outgoing: Vec<Option<u32>>,
    incoming: Vec<Option<u32>>,
    /// By PE of a launch: its program.
    pub seats: Vec<usize>,
    /// By channel: the ports at its ends.
    ports: Vec<(Port, Port)>,
    /// PEs that have come to a barrier: by cube in use, and by launch.
    at_cube_barrier: Vec<Vec<PeIx>>,
    at_launch_barrier: Vec<Vec<PeIx>>,
    /// The requests of the access at hand.
    pub requests: Vec<Request>,
    homes: Vec<placement::Request>,
    /// Machine fields that distances came from.
    pub fields: FieldSet,
    /// Faults that do not stop a run.
    pub records: Records,
    /// By launch: how often each of its commands was issued.
    pub issued: Vec<Vec<u64>>,
    /// Turns of loops, of all PEs.
    pub turns: u64,
}

/// Where in a launch a PE is.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    pub ix: PeIx,
    pub launch: u32,
    /// The cube in the launch, the PE in the cube, and the program that they make.
    pub cube: u32,
    pub pe: u32,
    pub program: usize,
}

impl<'a, Q: EventSet> Hardware<'a, Q> {
    pub fn new(machine: &'a Machine, cx: Cx<Q>, launches: usize, sharing: Sharing) -> Hardware<'a, Q> {
        Hardware {
            cx,
            fabric: Fabric::new(machine.into(), sharing),
            machine,
            pes_per_cube: machine.pes_per_cube(),
            numbers: vec![None; machine.num_cubes()],
            outgoing: Vec::new(),
            incoming: Vec::new(),
            seats: Vec::new(),
            ports: Vec::new(),
            at_cube_barrier: Vec::new(),
            at_launch_barrier: vec![Vec::new(); launches],
            requests: Vec::new(),
            homes: Vec::new(),
            fields: FieldSet::default(),
            records: Records::default(),
            issued: Vec::new(),
            turns: 0,
        }
    }
    /// What the run has taken so far: events, and turns of loops.
    pub fn steps(&self) -> u64 {
        self.cx.clock.events() + self.turns
    }
    /// The number of a cube, which is taken into use if it is not yet.
    pub fn use_cube(&mut self, sip: usize, cube: usize) -> u32 {
        let at = sip * self.machine.cubes_per_sip() + cube;
        if let Some(Some(number)) = self.numbers.get(at) {
            return *number;
        }
        let number = self.at_cube_barrier.len() as u32;
        if let Some(slot) = self.numbers.get_mut(at) {
            *slot = Some(number);
        }
        self.fabric.add_cube();
        let ends = self.fabric.num_pes() * self.num_ports();
        self.outgoing.resize(ends, None);
        self.incoming.resize(ends, None);
        self.at_cube_barrier.push(Vec::new());
        number
    }
    /// Whether a cube is in use.
    pub fn in_use(&self, sip: usize, cube: usize) -> bool {
        self.number(sip, cube).is_some()
    }
    fn number(&self, sip: usize, cube: usize) -> Option<u32> {
        self.numbers.get(sip * self.machine.cubes_per_sip() + cube).copied().flatten()
    }
    /// By number of a cube in use: its place in the machine.
    pub fn cubes_in_use(&self) -> Vec<usize> {
        let mut used: Vec<(u32, usize)> = (0..).zip(&self.numbers).filter_map(|(at, n)| Some(((*n)?, at))).collect();
        used.sort_unstable();
        used.into_iter().map(|(_, at)| at).collect()
    }
    fn num_ports(&self) -> usize {
        NAMED_PORTS + self.pes_per_cube
    }
    fn end(&self, pe: PeIx, port: Port) -> usize {
        let number = match port {
            Port::Pe(d) => d as usize,
            Port::Cube(d) => 4 + d as usize,
            Port::Sip(d) => 8 + d as usize,
            Port::Peer(rank) => NAMED_PORTS + rank as usize,
        };
        pe.index() * self.num_ports() + number
    }

    /// The channel that a PE sends into through a port.
    ///
    /// # Errors
    /// The port leads nowhere.
    pub fn outgoing(&mut self, launch: &Launch<'_>, seat: Seat, port: Port) -> Result<u32, NoLink> {
        if let Some(Some(channel)) = self.outgoing.get(self.end(seat.ix, port)) {
            return Ok(*channel);
        }
        let (to, back) = self.mesh().link(launch.grid, seat.program, port)?;
        let to = self.pe(launch, to);
        Ok(self.open(launch, (seat.ix, port), (to, back)))
    }
    /// The channel that a PE receives from through a port.
    ///
    /// # Errors
    /// The port leads nowhere.
    pub fn incoming(&mut self, launch: &Launch<'_>, seat: Seat, port: Port) -> Result<u32, NoLink> {
        if let Some(Some(channel)) = self.incoming.get(self.end(seat.ix, port)) {
            return Ok(*channel);
        }
        let (from, back) = self.mesh().link(launch.grid, seat.program, port)?;
        let from = self.pe(launch, from);
        Ok(self.open(launch, (from, back), (seat.ix, port)))
    }
    /// The meshes of a launch: the interpreter's, with the machine's rows. Cubes of a launch are neighbours as in a launch
    /// that begins at cube 0 (assumed where a launch begins inside a row).
    fn mesh(&self) -> Mesh {
        mesh(self.machine)
    }
    fn open(&mut self, launch: &Launch<'_>, (from, out): (PeIx, Port), (to, back): (PeIx, Port)) -> u32 {
        let link = match out {
            Port::Pe(_) | Port::Peer(_) => Link::Mesh,
            Port::Cube(_) => Link::Cube,
            Port::Sip(_) => {
                self.fields.extend([field::sip::rate, field::sip::latency]);
                Link::Sip
            }
        };
        let channel = self.fabric.add_channel(from, to, link, launch.queue_depth);
        let (sends, receives) = (self.end(from, out), self.end(to, back));
        self.outgoing[sends] = Some(channel);
        self.incoming[receives] = Some(channel);
        self.ports.push((out, back));
        channel
    }
    /// The program of its launch that a PE runs.
    pub fn program_of(&self, pe: PeIx) -> usize {
        self.seats.get(pe.index()).copied().unwrap_or(0)
    }
    /// The ports at the two ends of a channel.
    pub fn ports_of(&self, channel: usize) -> (Port, Port) {
        self.ports[channel]
    }
    /// The PE that runs a program.
    fn pe(&self, launch: &Launch<'_>, program: usize) -> PeIx {
        let (cube, pe) = (program / launch.grid.pes, program % launch.grid.pes);
        let (sip, place) = launch.place_of(cube);
        let number = self.number(sip, place).unwrap_or(0) as usize;
        PeIx((number * self.pes_per_cube + pe) as u32)
    }

    /// A PE comes to a barrier. The last one lets all go on.
    pub fn at_barrier(&mut self, launch: &Launch<'_>, seat: Seat, scope: Scope) {
        let cube = self.fabric.cube_of(seat.ix) as usize;
        let (waiting, all) = match scope {
            Scope::Cube => (&mut self.at_cube_barrier[cube], launch.grid.pes),
            Scope::Launch => (&mut self.at_launch_barrier[seat.launch as usize], launch.programs()),
        };
        let (delay, _) = launch.barrier(scope);
        waiting.push(seat.ix);
        if waiting.len() < all {
            return;
        }
        waiting.sort_unstable();
        for pe in waiting.drain(..) {
            self.cx.clock.after(delay, Kind::Cpu, pe.0);
        }
    }

    /// The requests of a load or store of a PE, into `requests`; and the element that it reads, if time depends on it.
    /// `part`: first place and length along each of the last two axes, where only those are meant.
    pub fn access(
        &mut self,
        launch: &Launch<'_>,
        access: &Access,
        seat: Seat,
        scalars: &[Literal],
        part: Option<[(u32, u32); 2]>,
        direction: Direction,
    ) -> Option<Literal> {
        self.requests.clear();
        let mut region = Region::of(access, scalars);
        if let Some(part) = part {
            region.cut(part);
        }
        self.homes.clear();
        let (tensor, placed) = launch.placed(access.param)?;
        placed.requests(region.start(), region.dims(), (seat.cube as usize, seat.pe as usize), &mut self.homes);
        if let Some(kind) = access.outside {
            let asked = region.dims().iter().map(|n| *n as u64).product::<u64>();
            let inside = self.homes.iter().map(|h| h.bytes).sum::<u64>() / tensor.elem.bytes();
            if asked > inside {
                self.records.add(kind, access.op, seat, asked - inside, region.first_outside(tensor));
            }
        }
        let own = self.fabric.cube_of(seat.ix) as usize;
        for i in 0..self.homes.len() {
            let home = self.homes[i];
            let (sip, cube) = launch.place_of(home.cube);
            let number = self.use_cube(sip, cube) as usize;
            let at = (own, seat.pe as usize);
            let distance = Distance::between(self.machine, at, (number, home.pe));
            let (extra, field) = match direction {
                Direction::Read => distance.read_latency(self.machine),
                Direction::Write => distance.write_latency(self.machine),
            };
            self.fields.extend(field);
            let home_pe = PeIx((number * self.pes_per_cube + home.pe) as u32);
            let bytes = access.element_bytes.unwrap_or(Bytes(home.bytes));
            self.requests.push(Request { home: home_pe, bytes, extra });
        }
        let (_, fill) = access.value?;
        let element = region.element(tensor);
        let fill = fill.and_then(|f| scalars.get(f.0 as usize).copied());
        Some(element.or(fill).unwrap_or(Literal::zero(tensor.elem)))
    }
}

/// Faults that do not stop a run, by launch, op and kind.
#[derive(Debug, Default)]
pub struct Records(BTreeMap<(u32, OpId, RecordKind), Record>);

impl Records {
    /// Adds so many elements that a program met at an op.
    pub fn add(&mut self, kind: RecordKind, op: OpId, seat: Seat, count: u64, coordinate: Vec<i64>) {
        let new = Record { kind, op, pe: seat.program, coordinate, count: 0 };
        let known = self.0.entry((seat.launch, op, kind)).or_insert_with(|| new.clone());
        let count = known.count.saturating_add(count);
        if seat.program < known.pe {
            *known = new;
        }
        known.count = count;
    }
    /// With the launch that each belongs to.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Record)> {
        self.0.iter().map(|((launch, ..), record)| (*launch as usize, record))
    }
}

/// Which way an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// The box of a tensor that an access asks for: with limits, before it is cut to the tensor.
struct Region {
    rank: usize,
    start: [i64; MAX_RANK],
    dims: [usize; MAX_RANK],
}

impl Region {
    fn of(access: &Access, scalars: &[Literal]) -> Region {
        let value = |slot: &ScalarSlot| {
            let int = scalars.get(slot.0 as usize).and_then(|l| l.as_int()).unwrap_or(0);
            i64::try_from(int).unwrap_or(i64::MAX)
        };
        let rank = access.index.len().min(MAX_RANK);
        let lead = rank.saturating_sub(access.lens.len());
        let (mut start, mut dims) = ([0; MAX_RANK], [1; MAX_RANK]);
        for (to, slot) in start.iter_mut().zip(&access.index) {
            *to = value(slot);
        }
        for (to, len) in dims.iter_mut().skip(lead).zip(&access.lens) {
            *to = *len as usize;
        }
        for (axis, n) in &access.limits {
            if let Some(len) = dims.get_mut(lead + *axis as usize) {
                *len = (*len).min(usize::try_from(value(n)).unwrap_or(0));
            }
        }
        Region { rank, start, dims }
    }
    /// Only so many places from a first one on, along each of the last two axes.
    fn cut(&mut self, part: [(u32, u32); 2]) {
        let lead = self.rank.saturating_sub(part.len());
        for (axis, (first, len)) in (lead..).zip(part) {
            if let (Some(start), Some(dim)) = (self.start.get_mut(axis), self.dims.get_mut(axis)) {
                *start = start.saturating_add(first.into());
                *dim = dim.saturating_sub(first as usize).min(len as usize);
            }
        }
    }
    fn start(&self) -> &[i64] {
        &self.start[..self.rank]
    }
    fn dims(&self) -> &[usize] {
        &self.dims[..self.rank]
    }
    /// The first place outside the tensor, in row-major order.
    fn first_outside(&self, tensor: &AnyTensor) -> Vec<i64> {
        let mut place = self.start().to_vec();
        let ends = place.iter().zip(self.dims()).map(|(s, n)| s.saturating_add(*n as i64));
        let over = ends.zip(&tensor.dims).rposition(|(end, dim)| end > *dim as i64);
        let before = place.iter().any(|s| *s < 0);
        if let (Some(axis), false) = (over, before) {
            place[axis] = place[axis].max(tensor.dims[axis] as i64);
        }
        place
    }
    /// The element at the start; `None` outside the tensor, or without data.
    fn element(&self, tensor: &AnyTensor) -> Option<Literal> {
        let mut at = 0;
        for (start, dim) in self.start().iter().zip(&tensor.dims) {
            let place = usize::try_from(*start).ok().filter(|p| p < dim)?;
            at = at * dim + place;
        }
        tensor.data.as_ref().filter(|d| at < d.len()).map(|d| d.get(at))
    }
}

/// How PEs and cubes of a machine are arranged.
pub fn mesh(machine: &Machine) -> Mesh {
    Mesh { pe_cols: machine.topology.pe_cols as usize, cube_cols: machine.topology.cube_cols as usize }
}

/// `pe`, `cube` and `sip` ports, one a direction.
const NAMED_PORTS: usize = 12;
