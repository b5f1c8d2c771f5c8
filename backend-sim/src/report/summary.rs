//! What every engine did or waited for, over all PEs of a run.

use super::provenance::Provenance;
use crate::engine::{Class, Engine, Stalls};
use crate::fidelity::Fidelity;
use crate::machine::Machine;
use crate::timing::Timing;
use crate::units::Ps;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use serde::{Serialize, Serializer};
use std::fmt;

/// A share of a whole in tenths of a percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(pub u32);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}", self.0 / 10, self.0 % 10))
    }
}
impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(f64::from(self.0) / 10.0)
    }
}

/// How an engine spent its time in one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClassShare {
    pub class: &'static str,
    /// Summed over the PEs.
    #[serde(rename = "time_ps", serialize_with = "ps")]
    pub time: Ps,
    /// The classes of an engine sum to 100.0.
    pub percent: Percent,
}

/// Busy times over the PEs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    #[serde(rename = "min_ps", serialize_with = "ps")]
    pub min: Ps,
    /// Of an even number, the lower of the middle two.
    #[serde(rename = "median_ps", serialize_with = "ps")]
    pub median: Ps,
    #[serde(rename = "max_ps", serialize_with = "ps")]
    pub max: Ps,
    /// The largest over the mean, less 1: 0 if all PEs are equally busy, n - 1 if one of n does all.
    pub imbalance: f64,
}

/// One engine over all PEs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineSummary {
    pub engine: &'static str,
    /// In the order of `Class::ALL`.
    pub classes: Vec<ClassShare>,
    pub busy: Spread,
}

/// A run in a screen of text, or as JSON with times in picoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    #[serde(rename = "wall_ps", serialize_with = "ps")]
    pub wall: Ps,
    pub pes: usize,
    pub engines: Vec<EngineSummary>,
    pub provenance: Provenance,
}

impl Summary {
    /// Of a timing run on this machine; `seed`: of its random input.
    pub fn of_run(machine: &Machine, timing: &Timing, fidelity: Fidelity, seed: Option<u64>) -> Summary {
        let provenance = Provenance::of(machine, &timing.fields, fidelity, seed, timing.event_hash);
        if fidelity == Fidelity::Roofline {
            // Sums know nothing of what an engine waits for.
            return Summary { wall: timing.wall, pes: timing.pes.len(), engines: Vec::new(), provenance };
        }
        Summary::of(timing.wall, timing.pes.iter().map(|pe| &pe.stalls), provenance)
    }
    /// `pes`: the times of each PE, which for each engine sum to the wall.
    pub fn of<'a>(wall: Ps, pes: impl IntoIterator<Item = &'a Stalls>, provenance: Provenance) -> Summary {
        let pes: Vec<&Stalls> = pes.into_iter().collect();
        let engines = Engine::ALL.iter().map(|engine| EngineSummary::of(*engine, &pes)).collect();
        Summary { wall, pes: pes.len(), engines, provenance }
    }
}

impl EngineSummary {
    fn of(engine: Engine, pes: &[&Stalls]) -> EngineSummary {
        let mut all = Stalls::default();
        pes.iter().for_each(|pe| all.add(pe));
        let times = Class::ALL.map(|class| all.get(engine, class));
        let shares = shares(&times);
        let class =
            |((class, time), percent): ((&Class, Ps), Percent)| ClassShare { class: class.name(), time, percent };
        let classes = Class::ALL.iter().zip(times).zip(shares).map(class).collect();
        let busy = Spread::of(pes.iter().map(|pe| pe.get(engine, Class::Busy)).collect());
        EngineSummary { engine: engine.name(), classes, busy }
    }
}

impl Spread {
    /// Of no times, all zero.
    pub fn of(mut times: Vec<Ps>) -> Spread {
        times.sort_unstable();
        let (Some(min), Some(max)) = (times.first(), times.last()) else { return Spread::default() };
        let mean = times.iter().map(|t| t.0 as f64).sum::<f64>() / times.len() as f64;
        let imbalance = if mean == 0.0 { 0.0 } else { max.0 as f64 / mean - 1.0 };
        Spread { min: *min, median: times[(times.len() - 1) / 2], max: *max, imbalance }
    }
}

/// The times as parts of their sum: rounded down to tenths of a percent, then a tenth more for the largest remainders, ties
/// to the first, so that they sum to 100.0 whatever the times. Of no time at all, the last class has it all (`idle`).
fn shares(times: &[Ps; Class::ALL.len()]) -> [Percent; Class::ALL.len()] {
    const WHOLE: u128 = 1000;
    let total: u128 = times.iter().map(|t| u128::from(t.0)).sum();
    let mut out = [Percent(0); Class::ALL.len()];
    if total == 0 {
        out[Class::ALL.len() - 1] = Percent(WHOLE as u32);
        return out;
    }
    let exact = times.map(|t| u128::from(t.0) * WHOLE);
    for (percent, exact) in out.iter_mut().zip(exact) {
        *percent = Percent((exact / total) as u32);
    }
    let mut by_remainder: Vec<usize> = (0..out.len()).collect();
    by_remainder.sort_by_key(|i| std::cmp::Reverse(exact[*i] % total));
    let missing = WHOLE as u32 - out.iter().map(|p| p.0).sum::<u32>();
    by_remainder.iter().take(missing as usize).for_each(|i| out[*i].0 += 1);
    out
}

fn ps<S: Serializer>(time: &Ps, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_u64(time.0)
}

/// A line with the wall, a table, and the provenance.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:.3} us on {} PEs{}", self.wall.as_us(), self.pes, self.provenance.mark())?;
        if self.engines.is_empty() {
            return write!(f, "{}", self.provenance);
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        let classes = Class::ALL.iter().map(|c| c.name());
        let busy = ["busy us: min", "median", "max", "imbalance"];
        table.set_header(["% of time"].into_iter().chain(classes).chain(busy));
        for row in &self.engines {
            let time = |t: Ps| format!("{:.3}", t.as_us());
            let busy = [time(row.busy.min), time(row.busy.median), time(row.busy.max)];
            let percents = row.classes.iter().map(|c| c.percent.to_string());
            let imbalance = format!("{:.1} %", row.busy.imbalance * 100.0);
            table.add_row([row.engine.to_owned()].into_iter().chain(percents).chain(busy).chain([imbalance]));
        }
        for column in table.column_iter_mut() {
            let first = column.index == 0;
            column.set_cell_alignment(if first { CellAlignment::Left } else { CellAlignment::Right });
            column.set_padding((0, 2)).set_constraint(ColumnConstraint::ContentWidth);
        }
        for line in table.lines() {
            writeln!(f, "{}", line.trim_end())?;
        }
        write!(f, "{}", self.provenance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_third_each_still_sums_to_a_hundred() {
        let third = |n| Ps(n);
        let tenths = |times: [u64; 7]| shares(&times.map(third)).map(|p| p.0);
        assert_eq!(tenths([1, 1, 1, 0, 0, 0, 0]), [334, 333, 333, 0, 0, 0, 0]);
        assert_eq!(tenths([1, 0, 0, 0, 0, 0, 2]), [333, 0, 0, 0, 0, 0, 667]);
        assert_eq!(tenths([0; 7]), [0, 0, 0, 0, 0, 0, 1000]);
        assert_eq!(tenths([u64::MAX; 7]), [143, 143, 143, 143, 143, 143, 142]);
    }

    proptest! {
        #[test]
        fn shares_sum_to_a_hundred_and_are_off_by_less_than_a_tenth(times in prop::array::uniform7(0u64..u64::MAX)) {
            let total: f64 = times.iter().map(|t| *t as f64).sum();
            let shares = shares(&times.map(Ps));
            prop_assert_eq!(shares.iter().map(|p| p.0).sum::<u32>(), 1000);
            for (share, time) in shares.iter().zip(times) {
                prop_assert!(total == 0.0 || (f64::from(share.0) - time as f64 / total * 1000.0).abs() < 1.0 + 1e-6);
            }
        }
    }

    #[test]
    fn imbalance_is_the_largest_over_the_mean() {
        let spread = |times: &[u64]| Spread::of(times.iter().map(|t| Ps(*t)).collect());
        assert_eq!(spread(&[4, 1, 3, 8]), Spread { min: Ps(1), median: Ps(3), max: Ps(8), imbalance: 1.0 });
        assert_eq!(spread(&[5, 5, 5]).imbalance, 0.0);
        assert_eq!(spread(&[0, 0, 0, 7]).imbalance, 3.0); // one of four does all
        assert_eq!(spread(&[0, 0]).imbalance, 0.0);
        assert_eq!(spread(&[]), Spread::default());
    }
}
