//! The queues of a kernel: where messages lie with their receiver, and which word tells of what. A place of the plan means
//! the same in every program, so that each knows where to write at the other end.

use super::parcel::{Message, Parcel, messages, parcels};
use super::wire::{self, Wire};
use crate::talk::{channel, kinds};
use rustc_hash::FxHashMap;
use tilewright_core::ir::ops::Port;
use tilewright_core::ir::{Module, OpId, Type};

/// The queues that go one way: through a cluster's shared memory, or through global memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Queues by the port that their receiver names, peers last, by rank.
    pub boxes: Vec<InBox>,
    /// The ports that messages are sent to, peers last, by rank.
    pub targets: Vec<Port>,
    /// How each kind of message lies in its slot.
    wires: FxHashMap<(Port, Type), Wire>,
    /// By the op that moves it.
    parcels: FxHashMap<OpId, Parcel>,
    /// The kinds of a channel that say which they are: there are several, and data decides what comes.
    kinds: FxHashMap<Port, Vec<Type>>,
}

/// The slots of a queue, with its receiver. Each takes a parcel at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InBox {
    pub port: Port,
    pub slots: u32,
    pub slot_bytes: u32,
    /// Where in a slot the message says its kind.
    pub kind_at: Option<u32>,
    /// A slot may take more than one parcel: who sends waits until the last one has been read.
    pub reused: bool,
    /// The bytes that a slot gets, where it gets one parcel and it is known which.
    pub known: Option<u32>,
}

impl InBox {
    pub fn bytes(&self) -> u32 {
        self.slots * self.slot_bytes
    }
}

/// Bytes of a kind.
const WORD: u32 = 4;
/// Messages start where the widest access can.
const ALIGNED: u32 = 16;

impl Plan {
    /// Of the queues whose ports are `taken`, of so many slots; `by_data`: data decides what comes; `wire`: how the
    /// messages of an op lie.
    pub fn of(
        m: &Module,
        (depth, by_data): (u32, bool),
        taken: &dyn Fn(Port) -> bool,
        wire: &mut dyn FnMut(OpId) -> Option<Wire>,
    ) -> Plan {
        let messages = messages(m);
        let taken: Vec<&Message> = messages.iter().filter(|message| taken(message.port)).collect();
        let mut plan = Plan::default();
        // Who receives decides, so receives come first.
        for message in taken.iter().filter(|message| !message.sends).chain(taken.iter().filter(|m| m.sends)) {
            let key = (channel(message.port, message.sends), message.ty);
            if !plan.wires.contains_key(&key)
                && let Some(wire) = wire(message.op)
            {
                plan.wires.insert(key, wire);
            }
        }
        if by_data {
            let of = taken.iter().map(|message| channel(message.port, message.sends));
            let several = of.map(|port| (port, kinds(m, port))).filter(|(_, kinds)| kinds.len() > 1);
            plan.kinds = several.collect();
        }
        let parcels = parcels(&taken, by_data);
        let mut ports: Vec<Port> = taken
            .iter()
            // A peer that only sends has a box where it is received.
            .filter(|message| !message.sends || !matches!(message.port, Port::Peer(_)))
            .map(|message| if message.sends { channel(message.port, true) } else { message.port })
            .collect();
        ports.sort_unstable();
        ports.dedup();
        plan.boxes = ports.into_iter().map(|port| plan.in_box(port, (depth, by_data), &parcels)).collect();
        plan.targets = taken.iter().filter(|message| message.sends).map(|message| message.port).collect();
        plan.targets.sort_unstable();
        plan.targets.dedup();
        plan.parcels = parcels.into_iter().map(|parcel| (parcel.moved_by(), parcel)).collect();
        plan
    }
    fn in_box(&self, port: Port, (depth, by_data): (u32, bool), parcels: &[Parcel]) -> InBox {
        let of = channel(port, false);
        let here = || parcels.iter().filter(|parcel| parcel.channel() == of);
        let mut sizes: Vec<(u32, u32)> = here().map(|parcel| self.bytes(parcel)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        // By the port that is sent to: how many parcels a program can send there.
        let mut sent: FxHashMap<Port, Option<u32>> = FxHashMap::default();
        for parcel in here().filter(|parcel| parcel.sends()) {
            let count = sent.entry(parcel.port()).or_insert(Some(0));
            *count = count.filter(|_| !parcel.repeated()).map(|n| n + 1);
        }
        let most = sent.values().copied().try_fold(1, |most, n| n.map(|n: u32| n.max(most)));
        let messages = here().map(Parcel::messages).max().unwrap_or(1);
        let depth = depth.div_ceil(messages);
        let slots = most.map_or(depth, |most| most.min(depth));
        let bytes = sizes.last().map_or(0, |(span, _)| *span).next_multiple_of(ALIGNED);
        let kind_at = self.kinds.contains_key(&of).then_some(bytes);
        let slot_bytes = bytes + if kind_at.is_some() { ALIGNED } else { 0 };
        let reused = most.is_none_or(|most| most > slots);
        // A parcel finds its slot by its number's low bits; where slots are used again, memory counts for more.
        let slots = if reused { slots } else { slots.next_power_of_two() };
        let known = match sizes[..] {
            [(_, bytes)] if !reused && !by_data => Some(bytes),
            _ => None,
        };
        InBox { port, slots, slot_bytes, kind_at, reused, known }
    }
    /// The parcel that an op moves; `None`: another one of its messages does.
    pub fn parcel(&self, op: OpId) -> Option<&Parcel> {
        self.parcels.get(&op)
    }
    /// How the messages of a parcel lie.
    pub fn wires(&self, parcel: &Parcel) -> Option<Vec<&Wire>> {
        parcel.types().map(|ty| self.wires.get(&(parcel.channel(), ty))).collect()
    }
    /// Of a parcel: what it spans, and what is counted.
    pub fn bytes(&self, parcel: &Parcel) -> (u32, u32) {
        self.wires(parcel).map_or((0, 0), |wires| wire::bytes(&wires))
    }
    /// The box where a message sent to `port` arrives; of peers the first one.
    pub fn to(&self, port: Port) -> Option<usize> {
        let of = channel(port, true);
        self.boxes.iter().position(|b| channel(b.port, false) == of)
    }
    pub fn from(&self, port: Port) -> Option<usize> {
        self.boxes.iter().position(|b| b.port == port)
    }
    pub fn target(&self, port: Port) -> Option<usize> {
        self.targets.iter().position(|target| *target == port)
    }
    /// Which of its channel's kinds a message is, if messages say so.
    pub fn kind(&self, port: Port, sends: bool, ty: Type) -> Option<u32> {
        let kinds = self.kinds.get(&channel(port, sends))?;
        kinds.iter().position(|kind| *kind == ty).map(|kind| kind as u32)
    }
    /// The bytes that are counted of each message of a channel whose messages say their kind: of the largest, and its kind.
    /// Of others, which are of one kind, the message's.
    pub fn counted_bytes(&self, port: Port, sends: bool) -> u32 {
        let of = channel(port, sends);
        let largest = self.wires.iter().filter(|((port, _), _)| *port == of).map(|(_, wire)| wire.bytes()).max();
        largest.unwrap_or(0) + if self.kinds.contains_key(&of) { WORD } else { 0 }
    }
    /// The target that leads to the box of `port`; of peers the first one.
    pub fn target_of(&self, port: Port) -> Option<usize> {
        let of = channel(port, false);
        self.targets.iter().position(|target| channel(*target, true) == of)
    }
    /// The ranks of peers that messages come from, or go to.
    pub fn peers(&self, sends: bool) -> Vec<u32> {
        let rank = |port: Port| match port {
            Port::Peer(rank) => Some(rank),
            Port::Pe(_) | Port::Cube(_) | Port::Sip(_) => None,
        };
        match sends {
            true => self.targets.iter().filter_map(|port| rank(*port)).collect(),
            false => self.boxes.iter().filter_map(|b| rank(b.port)).collect(),
        }
    }
    /// Every port that is named here, to send or to receive.
    pub fn ports(&self) -> Vec<Port> {
        let mut ports: Vec<Port> = self.targets.iter().copied().chain(self.boxes.iter().map(|b| b.port)).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}
