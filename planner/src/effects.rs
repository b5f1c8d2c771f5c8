//! What an option changes, and by how much: the figures with it, and with everything else the same but it.

use crate::inputs::Inputs;
use crate::options::{Opt, Options};
use crate::step::{Step, step};

/// A figure that an option moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    pub option: Opt,
    pub figure: &'static str,
    pub without: f64,
    pub with: f64,
}

impl Effect {
    /// With over without, less one.
    pub fn relative(&self) -> f64 {
        self.with / self.without - 1.0
    }
}

/// By more than rounding in another order of operations.
fn moved(without: f64, with: f64) -> bool {
    (with - without).abs() > 1e-12 * without.abs().max(with.abs())
}

/// Named figures of a result.
pub type Figures = Vec<(&'static str, f64)>;

/// For each option that is on, the figures that differ when it alone is off; an option that moves none has no row.
pub fn effects(o: Options, figures: impl Fn(Options) -> Figures) -> Vec<Effect> {
    let with = figures(o);
    let of = |option: Opt| {
        let without = figures(o.without(option));
        let pairs: Vec<Effect> = with
            .iter()
            .filter_map(|(figure, with)| {
                // A figure that only exists with the option starts from nothing.
                let without = without.iter().find(|(name, _)| name == figure).map_or(0.0, |(_, x)| *x);
                moved(without, *with).then_some(Effect { option, figure, without, with: *with })
            })
            .collect();
        pairs
    };
    o.iter().flat_map(of).collect()
}

/// The figures of a step that options move.
pub fn step_figures(inputs: &Inputs<f64>, o: Options) -> Figures {
    headline(&step(inputs, o))
}

/// The headline figures.
pub fn headline(s: &Step<f64>) -> Figures {
    vec![
        ("full_model_latency_ns", s.latency_s * 1e9),
        ("throughput_tok_per_s", s.throughput_tok_per_s),
        ("efficiency_ratio", s.efficiency),
        ("weights_bytes", s.memory.weights_bytes),
        ("kv_bytes", s.memory.kv_bytes),
        ("transient_bytes", s.memory.transient_bytes),
        ("total_pes", s.placed.total_pes),
    ]
}
