//! What the rows of a search of machines say: sensitivities, the front, a balanced machine, and their pictures.

use super::{DECODE, KNOBS, PHASES, PREFILL, SIPS, prompt};
use crate::plot::{Axis, Body, Curve, Figure};
use crate::sweep::figures::{Table, figure, over_doublings};
use tilewright_harness::cli::Facts;
use tilewright_planner::pareto::frontier;

/// The machines of one number of cubes and one context.
pub(super) struct Search {
    name: String,
    specs: Vec<Spec>,
    /// Of `specs`: those that none beats in latency and area, by latency.
    front: Vec<usize>,
    /// Of `specs`: the least latency x area.
    balanced: Option<usize>,
}

/// A machine. Ratios are to the machine as it is.
#[derive(Clone, Debug)]
struct Spec {
    factors: [f64; 4],
    /// The wall of each phase.
    phases: [f64; PHASES.len()],
    area: f64,
}

impl Spec {
    /// The geometric mean of all phases.
    fn latency(&self) -> f64 {
        self.phases.iter().product::<f64>().powf(1.0 / self.phases.len() as f64)
    }
    fn told(&self) -> String {
        let knobs = KNOBS.iter().zip(self.factors).map(|(name, factor)| format!("{name} x{factor}"));
        let knobs = knobs.collect::<Vec<_>>().join(", ");
        let phases = each_phase(|phase| format!("{:.3}", self.phases[phase]));
        format!("{knobs}: latency {:.3} ({phases}), area {:.3}", self.latency(), self.area)
    }
}

/// `decode 1, chunk 2, prefill 3`.
fn each_phase(text: impl Fn(usize) -> String) -> String {
    let told: Vec<String> = PHASES.iter().enumerate().map(|(i, name)| format!("{name} {}", text(i))).collect();
    told.join(", ")
}

/// Machines of which all phases were timed, beside the machine as it is; nothing without that.
pub(super) fn searches(table: &Table<'_>) -> Vec<Search> {
    let rows = table.numbers(&["phase"], ["C", "S_kv", "gemm", "math", "cube", "sip", "wall_us", "area"]);
    let mut sizes: Vec<[f64; 2]> = Vec::new();
    for (_, row) in rows.iter().filter(|(phase, _)| phase == DECODE) {
        if !sizes.contains(&[row[0], row[1]]) {
            sizes.push([row[0], row[1]]);
        }
    }
    let of = |size: [f64; 2]| {
        let walls = |factors: &[f64]| {
            let wall = |phase: &str| {
                let tokens = if phase == PREFILL { prompt(size[1] as usize) as f64 } else { size[1] };
                let same = |(p, row): &&(String, [f64; 8])| {
                    p == phase && row[..2] == [size[0], tokens] && row[2..6] == *factors
                };
                rows.iter().find(same).map(|(_, row)| row[6])
            };
            let [decode, chunk, prefill] = PHASES.map(wall);
            Some([decode?, chunk?, prefill?])
        };
        let base = walls(&[1.0; 4])?;
        let decodes = rows.iter().filter(|(phase, row)| phase == DECODE && row[..2] == size);
        let specs: Vec<Spec> = decodes
            .filter_map(|(_, row)| {
                let factors = [row[2], row[3], row[4], row[5]];
                let own = walls(&factors)?;
                Some(Spec { factors, phases: std::array::from_fn(|i| own[i] / base[i]), area: row[7] })
            })
            .collect();
        let axes: Vec<[f64; 3]> = specs.iter().map(|s| [s.latency(), s.area, 0.0]).collect();
        let balanced = (0..specs.len()).min_by(|a, b| {
            let product = |i: &usize| specs[*i].latency() * specs[*i].area;
            product(a).total_cmp(&product(b))
        });
        let name = format!("{} cubes of {SIPS} SIPs, {} tokens", size[0], size[1]);
        Some(Search { name, front: frontier(&axes), balanced, specs })
    };
    sizes.into_iter().filter_map(of).collect()
}

impl Search {
    /// The machines that differ from the machine as it is in this knob alone, by factor.
    fn along(&self, knob: usize) -> Vec<&Spec> {
        let alone = |s: &&Spec| s.factors.iter().enumerate().all(|(i, factor)| i == knob || *factor == 1.0);
        let mut specs: Vec<&Spec> = self.specs.iter().filter(alone).collect();
        specs.sort_by(|a, b| a.factors[knob].total_cmp(&b.factors[knob]));
        specs
    }
    pub(super) fn told(&self) -> Facts {
        let fact = |what: &str, text: String| (format!("{what}, {}", self.name), text);
        let mut facts = Facts::new();
        for (knob, name) in KNOBS.iter().enumerate() {
            let changed = self.along(knob).into_iter().filter(|s| s.factors[knob] != 1.0);
            let change = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
            let told =
                changed.map(|s| format!("x{}: {}", s.factors[knob], each_phase(|phase| change(s.phases[phase]))));
            let told: Vec<String> = told.collect();
            if !told.is_empty() {
                facts.push(fact(&format!("sensitivity to {name}"), told.join("; ")));
            }
        }
        let front = self.front.iter().enumerate();
        facts.extend(front.map(|(n, i)| fact(&format!("front {}", n + 1), self.specs[*i].told())));
        facts.extend(self.balanced.map(|i| fact("balanced (least latency x area)", self.specs[i].told())));
        facts
    }
    pub(super) fn figures(&self) -> Vec<Figure> {
        let file = self.name.replace([' ', ','], "-").replace("--", "-");
        let mut curves = Vec::new();
        for (knob, name) in KNOBS.iter().enumerate() {
            for (i, phase) in PHASES.iter().enumerate() {
                let points = self.along(knob).into_iter().map(|s| (s.factors[knob], s.phases[i])).collect();
                curves.push(Curve { name: format!("{phase}, {name}"), points });
            }
        }
        let front = self.front.iter().rev().map(|i| (self.specs[*i].area, self.specs[*i].latency())).collect();
        let mut on_front = vec![Curve { name: "front".to_string(), points: front }];
        on_front.extend(self.balanced.map(|i| {
            let at = (self.specs[i].area, self.specs[i].latency());
            Curve { name: "balanced".to_string(), points: vec![at] }
        }));
        let front = Body::Curves { curves: on_front, x: Axis::Linear, y: Axis::Linear, limits: Vec::new() };
        let latency = "latency over that of the machine as it is";
        vec![
            figure(
                format!("hw-sensitivity-{file}"),
                format!("hw: one rate at a time, {}", self.name),
                ["rate, times that of the machine", latency],
                over_doublings(curves, Axis::Log),
            ),
            figure(
                format!("hw-front-{file}"),
                format!("hw: machines that none beats, {}", self.name),
                ["area, times that of the machine", latency],
                front,
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    #[test]
    fn a_search_tells_what_each_rate_gains_the_front_and_the_balanced_point() {
        let spec = |gemm, decode, prefill, area| {
            let phases = [decode, 1.0, prefill];
            Spec { factors: [gemm, 1.0, 1.0, 1.0], phases, area }
        };
        let specs = vec![spec(0.5, 1.0, 1.44, 0.825), spec(1.0, 1.0, 1.0, 1.0), spec(2.0, 1.0, 0.98, 1.35)];
        let search = Search { name: "test".into(), front: vec![2, 1, 0], balanced: Some(0), specs };
        let told: Vec<String> = search.told().iter().map(|(name, text)| format!("{name}: {text}")).collect();
        assert_snapshot!(told.join("\n"), @r"
        sensitivity to gemm, test: x0.5: decode +0.0 %, chunk +0.0 %, prefill +44.0 %; x2: decode +0.0 %, chunk +0.0 %, prefill -2.0 %
        front 1, test: gemm x2, math x1, cube x1, sip x1: latency 0.993 (decode 1.000, chunk 1.000, prefill 0.980), area 1.350
        front 2, test: gemm x1, math x1, cube x1, sip x1: latency 1.000 (decode 1.000, chunk 1.000, prefill 1.000), area 1.000
        front 3, test: gemm x0.5, math x1, cube x1, sip x1: latency 1.129 (decode 1.000, chunk 1.000, prefill 1.440), area 0.825
        balanced (least latency x area), test: gemm x0.5, math x1, cube x1, sip x1: latency 1.129 (decode 1.000, chunk 1.000, prefill 1.440), area 0.825
        ");
    }
}
