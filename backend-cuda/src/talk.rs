//! What code with messages is made for: how programs are arranged, and how many messages a queue holds.

use tilewright_core::check::{self, Capacity, Limits, Shape};
use tilewright_core::diag::Diagnostics;
use tilewright_core::interp::Mesh;
use tilewright_core::ir::ops::Port;
use tilewright_core::ir::{Module, Op, Type};
use tilewright_core::launch::{DEFAULT_QUEUE_DEPTH, Ready};

/// Part of the class of a launch with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Talk {
    /// PEs of a cube.
    pub pes: u32,
    /// Cubes of a SIP, where messages go between cubes.
    pub cubes: Option<u32>,
    /// Messages that a queue holds.
    pub depth: u32,
    /// A depth with which the launch completes too: where memory is short, a queue may have fewer places than `depth`.
    pub least: u32,
    /// Every message is known, and each is received: nothing is left at the end.
    pub proved: bool,
}

/// Bytes of messages that are no reason to ask how many places a queue needs.
const LITTLE: u64 = 16 << 10;
/// Steps of the check before a launch, which every new one pays: 0.1 s.
const LIMITS: Limits = Limits { max_steps: 2_000_000, max_programs: 1 << 18 };

impl Talk {
    /// Where no launch says anything: the cube of the AHBM machine, queues of the usual depth.
    pub const DEFAULT: Talk =
        Talk { pes: 8, cubes: Some(16), depth: DEFAULT_QUEUE_DEPTH, least: DEFAULT_QUEUE_DEPTH, proved: false };

    /// Of a launch, whose messages are checked; `None`: it has none.
    ///
    /// # Errors
    /// Sends and receives that do not match, queues that are too small.
    pub fn of(launch: &Ready<'_>) -> Result<Option<Talk>, Diagnostics> {
        let Some(ports) = ports(&launch.module) else { return Ok(None) };
        let shape = Shape::of(launch, Mesh::default(), DEFAULT_QUEUE_DEPTH);
        let found = check::check(&shape, &LIMITS);
        found.errors.finish()?;
        let proved = found.remarks.is_empty();
        let (grid, depth) = (launch.config.grid, shape.depth);
        let between = ports.iter().any(|port| matches!(port, Port::Cube(_)));
        let short = depth > 1 && u64::from(depth) * bytes(&launch.module) > LITTLE;
        let least =
            if short { least(&Shape { depth: 1, ..shape }).map_or(depth, |least| least.min(depth)) } else { depth };
        Ok(Some(Talk { pes: grid.pes as u32, cubes: between.then_some(grid.cubes as u32), depth, least, proved }))
    }
}

/// The ports of a module's messages; `None`: it has none.
pub fn ports(m: &Module) -> Option<Vec<Port>> {
    let mut ports = Vec::new();
    m.each_op(&mut |op| match &m.op(op).op {
        Op::Send(o) => ports.push(o.port),
        Op::Recv(o) => ports.push(o.port),
        _ => {}
    });
    ports.sort_unstable();
    ports.dedup();
    (!ports.is_empty()).then_some(ports)
}

/// A queue as its receiver names it; all queues of peers are one.
pub fn channel(port: Port, sends: bool) -> Port {
    match port {
        Port::Pe(dir) if sends => Port::Pe(dir.opposite()),
        Port::Cube(dir) if sends => Port::Cube(dir.opposite()),
        Port::Sip(dir) if sends => Port::Sip(dir.opposite()),
        Port::Peer(_) => Port::Peer(0),
        Port::Pe(_) | Port::Cube(_) | Port::Sip(_) => port,
    }
}

/// The types of a channel's messages, in the order of the ops. A message says its place here where data may mix them up.
pub fn kinds(m: &Module, of: Port) -> Vec<Type> {
    let mut kinds = Vec::new();
    m.each_op(&mut |op| {
        let (port, ty) = match &m.op(op).op {
            Op::Send(o) => (channel(o.port, true), m.ty(o.value)),
            Op::Recv(o) => (channel(o.port, false), o.to.0),
            _ => return,
        };
        if port == of && !kinds.contains(&ty) {
            kinds.push(ty);
        }
    });
    kinds
}

/// One message of each receive.
fn bytes(m: &Module) -> u64 {
    let mut bytes = 0;
    m.each_op(&mut |op| {
        if let Op::Recv(o) = &m.op(op).op
            && let Type::Tile(elem, dims) = o.to.0
        {
            bytes += elem.bytes() * dims.elems();
        }
    });
    bytes
}

/// `None`: it follows data.
fn least(shape: &Shape<'_>) -> Option<u32> {
    match check::capacity(shape, &LIMITS) {
        Capacity::Enough => Some(1),
        Capacity::Needs(found) => Some(found.all),
        Capacity::Never(_) | Capacity::Unknown(_) => None,
    }
}
