//! Random deployments of random models on random machines.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tilewright_planner::hardware::Knob;
use tilewright_planner::machine::Machine;
use tilewright_planner::model::{Model, presets};
use tilewright_planner::topology::{CpRing, FfnShardScope, KvShardMode, Phase, Placement, SipTopology, Topology, Work};

pub struct Random(Xoshiro256PlusPlus);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(seed))
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
    /// One to 2^`bits`, small ones as often as large ones.
    fn degree(&mut self, bits: usize) -> u64 {
        let high = 1usize << self.below(bits + 1);
        // Half of them are powers of two.
        (if self.below(2) == 0 { high } else { 1 + self.below(high) }) as u64
    }
    /// Between a quarter and the fourfold.
    fn factor(&mut self) -> f64 {
        4f64.powf(self.below(2001) as f64 / 1000.0 - 1.0)
    }
    pub fn model(&mut self) -> &'static Model {
        &presets()[self.below(presets().len())]
    }
    pub fn machine(&mut self) -> Machine {
        let mut machine = Machine { utilisation: self.of(&[0.5, 0.8, 1.0]), ..Machine::default() };
        for knob in Knob::ALL {
            knob.scale(&mut machine, self.factor());
        }
        machine
    }
    pub fn topology(&mut self) -> Topology {
        Topology {
            cp: self.degree(7),
            tp: self.degree(6),
            pp: self.degree(4),
            dp: self.degree(3),
            ep: self.degree(4),
            b: self.degree(8),
            kv_shard_mode: self.of(KvShardMode::ALL),
            ffn_shard_scope: self.of(FfnShardScope::ALL),
            tp_placement: self.of(Placement::ALL),
            cp_placement: self.of(Placement::ALL),
            cp_ring_variant: self.of(CpRing::ALL),
            sip_topology: self.of(SipTopology::ALL),
        }
    }
    pub fn work(&mut self) -> Work {
        let phase = self.of(Phase::ALL);
        Work::new(phase, 255 + self.degree(20))
    }
}
