//! What travels at once: a parcel is one message, or those that stand side by side and go through one port, such as the parts
//! of a struct. A parcel takes one slot, and is waited for once. Both ends of a queue take the same messages together, so
//! messages go alone where the runs of a queue are not all alike, or where data decides what comes.

use crate::talk::channel;
use tilewright_core::ir::ops::Port;
use tilewright_core::ir::{Module, Op, OpId, RegionId, Type, ValueId};

/// A `send` or a `recv`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub op: OpId,
    pub port: Port,
    pub sends: bool,
    pub ty: Type,
    /// What is sent, or received.
    pub value: ValueId,
    /// It stands in a loop.
    repeated: bool,
    /// It stands right behind another one through the same port, the same way.
    follows: bool,
}

/// Messages that travel as one, at least one, all through one port the same way.
#[derive(Clone, Debug)]
pub(super) struct Parcel(Vec<Message>);

impl Parcel {
    /// Where the parcel is moved: what is sent is complete with the last message, what is received is needed from the first on.
    pub fn moved_by(&self) -> OpId {
        let end = if self.sends() { self.0.last() } else { self.0.first() };
        end.map_or(OpId(0), |message| message.op)
    }
    /// The first message, which is the one that is told of.
    pub fn first(&self) -> OpId {
        self.0.first().map_or(OpId(0), |message| message.op)
    }
    pub fn port(&self) -> Port {
        self.0[0].port
    }
    pub fn sends(&self) -> bool {
        self.0[0].sends
    }
    pub fn channel(&self) -> Port {
        channel(self.port(), self.sends())
    }
    pub fn repeated(&self) -> bool {
        self.0[0].repeated
    }
    pub fn messages(&self) -> u32 {
        self.0.len() as u32
    }
    pub fn types(&self) -> impl Iterator<Item = Type> {
        self.0.iter().map(|message| message.ty)
    }
    pub fn values(&self) -> impl Iterator<Item = ValueId> {
        self.0.iter().map(|message| message.value)
    }
}

/// All messages, in the order of the text.
pub(super) fn messages(m: &Module) -> Vec<Message> {
    let mut out = Vec::new();
    gather(m, m.body, false, &mut out);
    out
}
fn gather(m: &Module, region: RegionId, repeated: bool, out: &mut Vec<Message>) {
    let mut before: Option<(Port, bool)> = None;
    for &op in &m.region(region).ops {
        let data = &m.op(op).op;
        let message = match data {
            Op::Send(o) => Some((o.port, true, o.value)),
            Op::Recv(o) => Some((o.port, false, m.op(op).results.first)),
            _ => None,
        };
        let way = message.map(|(port, sends, _)| (port, sends));
        if let Some((port, sends, value)) = message {
            out.push(Message { op, port, sends, ty: m.ty(value), value, repeated, follows: way == before });
        }
        before = way;
        let repeated = repeated || matches!(data, Op::For(_) | Op::While(_));
        data.each_region(&mut |r| gather(m, r, repeated, out));
    }
}

/// What travels at once of these messages; `by_data`: data decides what comes.
pub(super) fn parcels(messages: &[&Message], by_data: bool) -> Vec<Parcel> {
    let mut runs: Vec<Parcel> = Vec::new();
    for message in messages {
        match runs.last_mut() {
            Some(run) if message.follows => run.0.push(**message),
            _ => runs.push(Parcel(vec![**message])),
        }
    }
    let alike = |of: Port| {
        let mut of_channel = runs.iter().filter(|run| run.channel() == of);
        let first = of_channel.next();
        !by_data && first.is_some_and(|first| of_channel.all(|run| run.types().eq(first.types())))
    };
    let alone = |run: &Parcel| run.0.iter().map(|message| Parcel(vec![*message])).collect();
    runs.iter().flat_map(|run| if alike(run.channel()) { vec![run.clone()] } else { alone(run) }).collect()
}
