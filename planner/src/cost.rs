//! What a machine costs, in units of the base machine's knobs. The baseline weighs all six alike; a file may weigh them by
//! area or power.

use crate::errors::{Fault, Spot};
use crate::hardware::Knob;
use crate::machine::Machine;
use serde::Deserialize;
use std::path::Path;

/// Weights of the knobs, in the order of [`Knob::ALL`], and the most that a machine may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    pub weights: [f64; 6],
    pub cap: Option<f64>,
}

impl CostModel {
    /// All alike: 6 at the base.
    pub const EQUAL: CostModel = CostModel { weights: [1.0; 6], cap: None };
    /// Assumed, where no file gives better ones: bandwidth of HBM and products take most area and power. They add up to 6,
    /// so that a base machine costs the same.
    pub const ASSUMED: CostModel = CostModel { weights: [1.0, 2.0, 1.5, 0.5, 0.5, 0.5], cap: None };

    /// Weighted sum of value over base.
    pub fn of(&self, machine: &Machine, base: &Machine) -> f64 {
        let parts = Knob::ALL.iter().zip(self.weights);
        parts.map(|(knob, weight)| weight * (knob.get(machine) / knob.get(base))).sum()
    }
    pub fn allows(&self, cost: f64) -> bool {
        self.cap.is_none_or(|cap| cost <= cap)
    }
    /// Weights from a TOML file with a line a knob; one that is left out weighs nothing.
    ///
    /// # Errors
    /// `TW-E0703`, `TW-E0708`: it cannot be read, or has another line.
    pub fn load(path: &Path) -> Result<CostModel, Fault> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Fault::Unreadable { path: path.to_path_buf(), cause: e.to_string() })?;
        CostModel::parse(&path.display().to_string(), &text)
    }
    fn parse(file: &str, text: &str) -> Result<CostModel, Fault> {
        let malformed = |cause: String, byte: usize| Fault::ModelFile { cause, at: Spot::at(file, text, byte) };
        let read: File =
            toml::from_str(text).map_err(|e| malformed(e.message().to_string(), e.span().map_or(0, |s| s.start)))?;
        let weights = [
            read.pe_hbm_gb,
            read.bw_hbm_gb_per_s,
            read.peak_tflops_f16,
            read.bw_intra_gb_per_s,
            read.bw_inter_gb_per_s,
            read.bw_intersip_gb_per_s,
        ];
        match weights.iter().chain(&read.cap).find(|w| !(0.0..1e12).contains(*w)) {
            Some(weight) => Err(malformed(format!("a weight of {weight}: it needs 0 or more"), 0)),
            None => Ok(CostModel { weights, cap: read.cap }),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct File {
    pe_hbm_gb: f64,
    bw_hbm_gb_per_s: f64,
    peak_tflops_f16: f64,
    bw_intra_gb_per_s: f64,
    bw_inter_gb_per_s: f64,
    bw_intersip_gb_per_s: f64,
    cap: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::CostModel;
    use crate::machine::Machine;

    #[test]
    fn the_base_machine_costs_six_under_both_models() {
        let base = Machine::default();
        assert_eq!(CostModel::EQUAL.of(&base, &base), 6.0);
        assert_eq!(CostModel::ASSUMED.of(&base, &base), 6.0);
    }
    #[test]
    fn a_file_weighs_what_it_names_and_a_wrong_line_is_told() {
        let model = CostModel::parse("cost.toml", "bw_hbm_gb_per_s = 2.5\ncap = 8\n").expect("it reads");
        assert_eq!((model.weights, model.cap), ([0.0, 2.5, 0.0, 0.0, 0.0, 0.0], Some(8.0)));
        let fault = CostModel::parse("cost.toml", "cap = 8\nhbm = 1\n").expect_err("no such knob");
        assert_eq!((fault.code(), fault.spot().expect("a place").line), ("TW-E0708", 2));
        let fault = CostModel::parse("cost.toml", "bw_hbm_gb_per_s = -1\n").expect_err("below zero");
        assert_eq!(fault.message(), "the model's file is malformed: a weight of -1: it needs 0 or more");
    }
}
