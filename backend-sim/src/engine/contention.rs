//! Tests of the fabric as sums (AHBM.md 4 and 6): what requests and messages that meet at a server cost each other. What
//! one alone costs is in `tests/commands.rs`.

use super::fabric::{Cx, Fabric, FabricSpec, Notice, PeIx};
use super::ipcq::{Link, Message};
use super::{Clock, Recorder, Sharing, Wheel};
use crate::machine::Machine;
use crate::units::{Bytes, Ps};

struct Bench {
    fabric: Fabric,
    cx: Cx<Wheel>,
}

impl Bench {
    /// Two cubes of the shipped machine, changed by `set`.
    fn with(set: impl Fn(&mut FabricSpec)) -> Bench {
        let mut spec = FabricSpec::from(&Machine::ahbm());
        set(&mut spec);
        let mut fabric = Fabric::new(spec, Sharing::Shared);
        let mut record = Recorder::new(1);
        for _ in 0..2 {
            fabric.add_cube();
            (0..8).for_each(|_| record.add_pe(0));
        }
        Bench { fabric, cx: Cx { clock: Clock::default(), record } }
    }
    fn new() -> Bench {
        Bench::with(|_| ())
    }
    fn read(&mut self, pe: u32, home: u32, flits: u64) {
        self.fabric.read(&mut self.cx, PeIx(pe), PeIx(home), Bytes(flits * 4096), Ps::ZERO, pe);
    }
    fn send(&mut self, channel: u32, flits: u64) {
        assert!(self.fabric.take_slot(channel), "a free slot");
        let message = Message { bytes: Bytes(flits * 4096), tag: 0, command: 0 };
        self.fabric.send(&mut self.cx, channel, message);
    }
    /// Runs to the end; the notices, each with its time in ns.
    fn run(&mut self) -> Vec<(f64, Notice)> {
        let mut out = Vec::new();
        while let Some(event) = self.cx.clock.advance() {
            if let Some(notice) = self.fabric.handle(&mut self.cx, event) {
                out.push((event.time.as_ns(), notice));
            }
        }
        out
    }
    /// When the reads of these PEs arrived.
    fn arrivals(&mut self, pes: &[u32]) -> Vec<f64> {
        let notices = self.run();
        let arrival = |pe: &u32| {
            let read = Notice::Read { pe: PeIx(*pe), tag: *pe };
            notices.iter().find(|(_, n)| *n == read).map_or(f64::NAN, |(t, _)| *t)
        };
        pes.iter().map(arrival).collect()
    }
}

#[test]
fn a_slice_serves_whole_requests_in_order_of_arrival() {
    let mut b = Bench::new();
    b.read(1, 0, 10);
    b.read(2, 0, 1);
    // The single flit waits for all ten: not flit by flit between the two.
    assert_eq!(b.arrivals(&[1, 2]), [10.0 * 16.0 + 13.0, 11.0 * 16.0 + 13.0]);
}

#[test]
fn the_two_streams_of_a_slice_share_its_port_flit_by_flit() {
    let mut b = Bench::with(|spec| spec.egress_rate = spec.slice_rate);
    b.read(1, 0, 8);
    b.read(8, 0, 4); // from the other cube
    // Four flits of each stand in the port's queue, the local ones first; of the later local ones one follows each.
    // The last remote flit leaves the port as the eighth, then the egress.
    assert_eq!(b.arrivals(&[8, 1]), [8.0 * 16.0 + 16.0 + 13.0, 12.0 * 16.0 + 13.0]);
}

#[test]
fn a_full_egress_stalls_the_remote_stream_and_not_the_local_one() {
    let mut b = Bench::new();
    b.read(8, 0, 16);
    b.read(1, 0, 16);
    // 16 flits of 32 ns through the egress, the first 16 ns behind the port: the remote read is bound by the egress, and
    // the local one fits between its flits.
    let [remote, local] = b.arrivals(&[8, 1])[..] else { panic!("two reads") };
    assert_eq!(remote, 16.0 + 16.0 * 32.0 + 13.0);
    assert!(local < remote && local >= 16.0 * 16.0 + 13.0, "{local}");
}

#[test]
fn a_short_read_holds_the_port_for_its_least_time() {
    let mut b = Bench::new();
    b.fabric.read(&mut b.cx, PeIx(0), PeIx(0), Bytes(512), Ps::ZERO, 0);
    b.read(1, 0, 1);
    assert_eq!(b.arrivals(&[0, 1]), [4.25 + 13.0, 4.25 + 16.0 + 13.0]); // not 2 ns
}

#[test]
fn a_write_holds_the_port_as_a_whole() {
    let mut b = Bench::new();
    b.fabric.write(&mut b.cx, PeIx(0), PeIx(0), Bytes(4 * 4096), Ps::ZERO, 7);
    b.read(1, 0, 1);
    let notices = b.run();
    assert_eq!(notices[0], (4.0 * 16.0 + 13.0, Notice::Written { pe: PeIx(0), tag: 7 }));
    assert_eq!(notices[1].0, 5.0 * 16.0 + 13.0);
}

#[test]
fn channels_of_a_pe_run_side_by_side_and_meet_at_its_port() {
    let mut b = Bench::new();
    let east = b.fabric.add_channel(PeIx(0), PeIx(1), Link::Mesh, 4);
    let south = b.fabric.add_channel(PeIx(0), PeIx(4), Link::Mesh, 4);
    b.send(east, 2);
    b.send(south, 2);
    // Setup 10; the first flits leave one behind the other (18.4 each), and so do the second ones: the port is never
    // held by the receivers, so the channel that is later is so by one flit at the port.
    let notices = b.run();
    let sent: Vec<f64> = notices.iter().map(|(t, _)| *t).collect();
    let first = 10.0 + 2.0 * (18.4 + 16.0) + 2.4; // its second flit waits 2.4 for the other's first
    assert_eq!(sent, [first, first + 18.4]);
}

#[test]
fn messages_of_a_channel_follow_each_other_and_a_slot_comes_back_with_the_receipt() {
    let mut b = Bench::new();
    let channel = b.fabric.add_channel(PeIx(0), PeIx(1), Link::Mesh, 2);
    b.send(channel, 1);
    b.send(channel, 1);
    assert!(!b.fabric.take_slot(channel)); // both are taken until the receiver has the message
    let ends: Vec<f64> = b.run().iter().map(|(t, _)| *t).collect();
    let one = 10.0 + 18.4 + 16.0;
    assert_eq!(ends, [one, 2.0 * one]);
    assert!(b.fabric.receive(channel, 0).is_some());
    b.fabric.return_slot(&mut b.cx, channel);
    assert_eq!(b.run(), [(2.0 * one, Notice::Cpu(PeIx(0)))]); // the sender that waited goes on
    assert!(b.fabric.take_slot(channel));
}
