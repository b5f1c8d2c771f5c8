//! The machine as the planner sees it: one PE's rates, and links of three tiers.

use crate::errors::Fault;

/// A tier of links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    pub bytes_per_s: f64,
    /// What each hop adds.
    pub hop_s: f64,
}

/// Rates, capacities and links. [`Machine::default`] is the machine of the golden figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// f16 products of a PE.
    pub peak_flop_per_s: f64,
    /// Part of the peak that the stages count on.
    pub utilisation: f64,
    /// HBM of a PE.
    pub hbm_bytes: f64,
    pub hbm_bytes_per_s: f64,
    /// Between PEs of a cube.
    pub intra: Link,
    /// Between cubes of a SIP.
    pub inter: Link,
    /// Between SIPs.
    pub intersip: Link,
    pub pes_per_cube: u64,
    pub cubes_per_sip: u64,
    /// Elementwise operations of a PE (option `vector`).
    pub math_elem_per_s: f64,
    /// What an exponential costs, in elementwise operations (option `vector`).
    pub exp_ops: f64,
    /// On-chip memory of a PE (options `activations`, `transient`).
    pub scratch_bytes: f64,
    /// Sides of the smallest product that fills the GEMM engine (option `shapes`).
    pub gemm_tile: [u64; 3],
    /// What issuing a command costs (option `shapes`).
    pub issue_s: f64,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            peak_flop_per_s: 8e12,
            utilisation: 0.8,
            hbm_bytes: 6e9,
            hbm_bytes_per_s: 256e9,
            intra: Link { bytes_per_s: 512e9, hop_s: 20e-9 },
            inter: Link { bytes_per_s: 128e9, hop_s: 100e-9 },
            intersip: Link { bytes_per_s: 50e9, hop_s: 1000e-9 },
            pes_per_cube: 8,
            cubes_per_sip: 16,
            math_elem_per_s: 256e9,
            exp_ops: 1.0,
            scratch_bytes: 1048576.0,
            gemm_tile: [16, 16, 16],
            issue_s: 43e-9,
        }
    }
}

impl Machine {
    /// # Errors
    /// `TW-E0706`: a rate that is not above zero or a capacity below it. Latencies and counts come checked from the machine
    /// file.
    pub fn check(&self) -> Result<(), Fault> {
        let rates = [
            ("peak-tflops-f16", self.peak_flop_per_s, 1e12),
            ("utilisation", self.utilisation, 1.0),
            ("bw-hbm-gb-per-s", self.hbm_bytes_per_s, 1e9),
            ("bw-intra-gb-per-s", self.intra.bytes_per_s, 1e9),
            ("bw-inter-gb-per-s", self.inter.bytes_per_s, 1e9),
            ("bw-intersip-gb-per-s", self.intersip.bytes_per_s, 1e9),
        ];
        for (name, value, unit) in rates {
            if !(value > 0.0 && value <= MAX_RATE) {
                return Err(Fault::MachineValue { name, value: value / unit, needs: "a rate above 0" });
            }
        }
        if self.utilisation > 1.0 {
            let needs = "a part of the peak, above 0 and up to 1";
            return Err(Fault::MachineValue { name: "utilisation", value: self.utilisation, needs });
        }
        if !(0.0..=MAX_RATE).contains(&self.hbm_bytes) {
            return Err(Fault::MachineValue { name: "pe-hbm-gb", value: self.hbm_bytes / 1e9, needs: "0 or more" });
        }
        Ok(())
    }
}

/// Beyond every unit of rate or size here: 1e24 a second.
const MAX_RATE: f64 = 1e24;
