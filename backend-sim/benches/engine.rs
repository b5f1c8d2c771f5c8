//! `cargo bench -p tilewright-sim`: events per second of the whole engine, and of its event sets alone.

use divan::Bencher;
use divan::counter::ItemsCount;
use tilewright_sim::cases::bench_case;
use tilewright_sim::engine::{Event, EventSet, Heap, Kind, Wheel};
use tilewright_sim::machine::Machine;
use tilewright_sim::units::Ps;

fn main() {
    divan::main();
}

#[divan::bench]
fn decode(bencher: Bencher<'_, '_>) {
    let machine = Machine::ahbm();
    let run = || bench_case(&machine).unwrap_or_else(|e| panic!("{e}"));
    bencher.counter(ItemsCount::new(run().events)).bench(run);
}

/// So many pending events, each replaced by one a flit or a command later.
#[divan::bench(types = [Wheel, Heap], args = [64, 512, 4096])]
fn event_set<Q: EventSet>(bencher: Bencher<'_, '_>, pending: u64) {
    const EVENTS: u64 = 100_000;
    let event = |time, seq| Event { time: Ps(time), seq, target: 0, kind: Kind::Cpu };
    bencher.counter(ItemsCount::new(EVENTS)).bench(|| {
        let mut set = Q::default();
        (0..pending).for_each(|i| set.push(event(i * 97 % 16_000, i)));
        for seq in pending..pending + EVENTS {
            if let Some(e) = set.pop() {
                set.push(event(e.time.0 + [16_000, 10_000, 1_110, 0][seq as usize % 4], seq));
            }
        }
        set
    });
}
