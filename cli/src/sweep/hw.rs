//! `hw`: a search over four rates of the machine, two SIPs, for decode and prefill: what each rate gains, the machines that none
//! beats in latency and area, and a balanced one.
//!
//! Area is a proxy, in units of the machine itself: `1 - sum(share) + sum(share * factor)`, a share of the area for each rate and
//! the rest for what the search leaves alone. The shares are assumed (`--area` gives others).

use super::figures::{Table, figure, over_doublings};
use super::long_decode::PES;
use super::plan::{Flag, Plan, Point};
use super::{Column, Study};
use crate::errors;
use crate::plot::{Axis, Body, Curve, Figure};
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::{Cell, Facts};
use tilewright_planner::pareto::frontier;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::Timing;
use tilewright_sim::units::Rate;

pub struct Hw;

/// A rate that the search varies: its name, and the share of the machine's area that grows with it.
const KNOBS: [&str; 4] = ["gemm", "math", "cube", "sip"];
pub const AREA: [f64; 4] = [0.35, 0.10, 0.15, 0.05];

const SIPS: usize = 2;
/// Query tokens of a piece of prefill; with 8 query heads of a KV head 128 rows meet every part of the context.
const CHUNK: usize = 16;
const DECODE: &str = "decode";
const PREFILL: &str = "prefill";

/// `gemm=0.35,math=0.1`.
pub fn shares(area: &[f64; 4]) -> String {
    KNOBS.iter().zip(area).map(|(name, share)| format!("{name}={share}")).collect::<Vec<_>>().join(",")
}

/// Reads `--area`: what is not named keeps its share.
///
/// # Errors
/// An unknown knob, a share below 0, more than the whole.
pub fn area(given: Option<&String>) -> Result<[f64; 4], Diagnostics> {
    let mut area = AREA;
    let Some(text) = given else { return Ok(area) };
    let wrong = |part: &str| {
        let allowed = format!("{} with shares from 0 on, together at most 1", KNOBS.join(", "));
        Diagnostics::from(errors::list_value("area", part, &allowed, &shares(&AREA)))
    };
    for part in text.split(',') {
        let (name, share) = part.split_once('=').ok_or_else(|| wrong(part))?;
        let knob = KNOBS.iter().position(|knob| *knob == name).ok_or_else(|| wrong(part))?;
        area[knob] = share.parse().ok().filter(|x| (0.0..=1.0).contains(x)).ok_or_else(|| wrong(part))?;
    }
    if area.iter().sum::<f64>() > 1.0 { Err(wrong(text)) } else { Ok(area) }
}

/// The machine with its rates multiplied. Between cubes both what a message gets and what a cube serves to others' reads.
fn scaled(machine: &Machine, [gemm, math, cube, sip]: [f64; 4]) -> Machine {
    let mut m = machine.clone();
    let times = |rate: Rate, by: f64| Rate(((rate.0 as f64 * by).round() as u64).max(1));
    m.gemm.peak_f16 = times(m.gemm.peak_f16, gemm);
    m.math.rate = times(m.math.rate, math);
    m.queue.cube_rate = times(m.queue.cube_rate, cube);
    m.egress.rate = times(m.egress.rate, cube);
    m.sip.rate = times(m.sip.rate, sip);
    m
}

/// Every combination, the last knob fastest.
fn grid(factors: &[f64]) -> Vec<[f64; 4]> {
    let mut grid = vec![[1.0; 4]];
    for knob in 0..KNOBS.len() {
        let with = |point: &[f64; 4]| {
            let point = *point;
            factors.iter().map(move |factor| {
                let mut next = point;
                next[knob] = *factor;
                next
            })
        };
        grid = grid.iter().flat_map(with).collect();
    }
    grid
}

fn area_of(shares: &[f64; 4], factors: &[f64; 4]) -> f64 {
    1.0 + shares.iter().zip(factors).map(|(share, factor)| share * (factor - 1.0)).sum::<f64>()
}

impl Study for Hw {
    fn name(&self) -> &'static str {
        "hw"
    }
    fn about(&self) -> &'static str {
        "Search the machine's rates for decode and prefill on two SIPs: sensitivities, latency against area, a balanced point"
    }
    fn flags(&self) -> &'static [Flag] {
        &[Flag::Factors, Flag::Area, Flag::Cubes]
    }
    fn columns(&self, _: &Plan) -> &'static [Column] {
        const {
            &[
                Column::key("phase"),
                Column::key("sips"),
                Column::key("C"),
                Column::key("S_kv"),
                Column::key("gemm"),
                Column::key("math"),
                Column::key("cube"),
                Column::key("sip"),
                Column::timed("wall_us"),
                Column::exact("area"),
                Column::timed("gemm_tflops"),
                Column::timed("math_gelem_per_s"),
                Column::timed("cube_gb_per_s"),
                Column::timed("sip_gb_per_s"),
            ]
        }
    }
    fn golden(&self, _: &Plan) -> Result<&'static str, &'static str> {
        Err("leave out --check")
    }
    fn contexts(&self) -> &'static [usize] {
        &[131_072]
    }
    fn points(&self, plan: &Plan) -> Result<Vec<Point>, Diagnostics> {
        let mut points = Vec::new();
        for (&cubes, &s_kv) in plan.cubes.iter().flat_map(|c| plan.contexts.iter().map(move |s| (c, s))) {
            let decode = plan.long("composite", s_kv, cubes, &format!("sips={SIPS},pes={PES}"))?;
            let acc = &plan.acc;
            let sizes = format!("t-q={CHUNK},suffix={CHUNK},s-kv={s_kv},sips={SIPS},cubes={cubes},pes={PES},acc={acc}");
            let prefill = plan.kernels.instance(&format!("fan_out:agents=1,{sizes}"))?;
            for factors in grid(&plan.factors) {
                let machine = Box::new(scaled(&plan.machine, factors));
                for (phase, instance) in [(DECODE, &decode), (PREFILL, &prefill)] {
                    let sizes = [SIPS, cubes, s_kv].map(Cell::from);
                    let key = [Cell::from(phase)].into_iter().chain(sizes).chain(factors.map(factor)).collect();
                    let (instance, machine) = (instance.clone(), Some(machine.clone()));
                    points.push(Point { key, instance, cubes, users: 1, machine });
                }
            }
        }
        Ok(points)
    }
    fn row(&self, point: &Point, plan: &Plan, t: &Timing) -> Result<Vec<Cell>, Diagnostics> {
        let mut factors = [1.0; 4];
        for (own, cell) in factors.iter_mut().zip(point.key.iter().skip(4)) {
            *own = cell.number().unwrap_or(1.0);
        }
        let m = point.machine.as_deref().unwrap_or(&plan.machine);
        let per = |rate: Rate, unit: f64| Cell::from(rate.0 as f64 / unit);
        Ok(vec![
            t.wall.as_us().into(),
            area_of(&plan.area, &factors).into(),
            per(m.gemm.peak_f16, 1e12),
            per(m.math.rate, 1e9),
            per(m.queue.cube_rate, 1e9),
            per(m.sip.rate, 1e9),
        ])
    }
    fn findings(&self, _: &Plan, table: &Table<'_>) -> Facts {
        searches(table).iter().flat_map(Search::told).collect()
    }
    fn figures(&self, _: &Plan, table: &Table<'_>) -> Result<Vec<Figure>, Diagnostics> {
        Ok(searches(table).iter().flat_map(Search::figures).collect())
    }
}

/// A whole factor as a count, as a file of rows gives it back.
fn factor(x: f64) -> Cell {
    Cell::read(&format!("{x}"))
}

/// The machines of one number of cubes and one context.
struct Search {
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
    decode: f64,
    prefill: f64,
    area: f64,
}

impl Spec {
    /// The geometric mean of both phases.
    fn latency(&self) -> f64 {
        (self.decode * self.prefill).sqrt()
    }
    fn told(&self) -> String {
        let knobs = KNOBS.iter().zip(self.factors).map(|(name, factor)| format!("{name} x{factor}"));
        let Spec { decode, prefill, area, .. } = self;
        let knobs = knobs.collect::<Vec<_>>().join(", ");
        format!("{knobs}: latency {:.3} (decode {decode:.3}, prefill {prefill:.3}), area {area:.3}", self.latency())
    }
}

/// Machines whose both phases were timed, beside the machine as it is; nothing without that.
fn searches(table: &Table<'_>) -> Vec<Search> {
    let rows = table.numbers(&["phase"], ["C", "S_kv", "gemm", "math", "cube", "sip", "wall_us", "area"]);
    let mut sizes: Vec<[f64; 2]> = Vec::new();
    for (_, row) in &rows {
        if !sizes.contains(&[row[0], row[1]]) {
            sizes.push([row[0], row[1]]);
        }
    }
    let of = |size: [f64; 2]| {
        let wall = |phase: &str, factors: &[f64]| {
            let same = |(p, row): &&(String, [f64; 8])| p == phase && row[..2] == size && row[2..6] == *factors;
            rows.iter().find(same).map(|(_, row)| row[6])
        };
        let base = [wall(DECODE, &[1.0; 4])?, wall(PREFILL, &[1.0; 4])?];
        let decodes = rows.iter().filter(|(phase, row)| phase == DECODE && row[..2] == size);
        let specs: Vec<Spec> = decodes
            .filter_map(|(_, row)| {
                let factors = [row[2], row[3], row[4], row[5]];
                let prefill = wall(PREFILL, &factors)? / base[1];
                Some(Spec { factors, decode: row[6] / base[0], prefill, area: row[7] })
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
    fn told(&self) -> Facts {
        let fact = |what: &str, text: String| (format!("{what}, {}", self.name), text);
        let mut facts = Facts::new();
        for (knob, name) in KNOBS.iter().enumerate() {
            let changed = self.along(knob).into_iter().filter(|s| s.factors[knob] != 1.0);
            let change = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
            let told = changed
                .map(|s| format!("x{}: decode {}, prefill {}", s.factors[knob], change(s.decode), change(s.prefill)));
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
    fn figures(&self) -> Vec<Figure> {
        let file = self.name.replace([' ', ','], "-").replace("--", "-");
        let mut curves = Vec::new();
        for (knob, name) in KNOBS.iter().enumerate() {
            for (phase, of) in [(DECODE, (|s| s.decode) as fn(&Spec) -> f64), (PREFILL, |s| s.prefill)] {
                let points = self.along(knob).into_iter().map(|s| (s.factors[knob], of(s))).collect();
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
    fn area_is_the_machine_itself_at_factors_of_one_and_grows_by_a_rates_share() {
        assert_eq!(area_of(&AREA, &[1.0; 4]), 1.0);
        assert_eq!(area_of(&AREA, &[2.0, 1.0, 1.0, 1.0]), 1.35);
        assert!((area_of(&AREA, &[0.5; 4]) - (1.0 - 0.65 / 2.0)).abs() < 1e-12);
    }
    #[test]
    fn shares_are_read_or_refused() {
        assert_eq!(area(Some(&"sip=0.2,gemm=0".to_string())).unwrap(), [0.0, 0.10, 0.15, 0.2]);
        for text in ["hbm=0.1", "gemm", "gemm=-1", "gemm=0.9,math=0.2", "gemm=nan"] {
            let why = area(Some(&text.to_string())).unwrap_err();
            assert_eq!(why.0[0].code, "TW-E0820", "{text}");
        }
    }
    #[test]
    fn a_grid_has_every_combination_once_with_the_machine_itself() {
        let all = grid(&[0.5, 1.0, 2.0]);
        assert_eq!((all.len(), all[0], all[1]), (81, [0.5; 4], [0.5, 0.5, 0.5, 1.0]));
        assert!(all.contains(&[1.0; 4]));
    }
    #[test]
    fn rates_of_the_machine_are_multiplied_and_nothing_else() {
        let base = Machine::ahbm();
        assert_eq!(scaled(&base, [1.0; 4]).hash(), base.hash());
        let m = scaled(&base, [2.0, 3.0, 0.5, 4.0]);
        assert_eq!((m.gemm.peak_f16.0, m.math.rate.0), (base.gemm.peak_f16.0 * 2, base.math.rate.0 * 3));
        assert_eq!((m.queue.cube_rate.0, m.egress.rate.0), (base.queue.cube_rate.0 / 2, base.egress.rate.0 / 2));
        assert_eq!((m.sip.rate.0, m.hbm.slice_rate), (base.sip.rate.0 * 4, base.hbm.slice_rate));
    }
    #[test]
    fn a_search_tells_what_each_rate_gains_the_front_and_the_balanced_point() {
        let spec = |gemm, decode, prefill, area| Spec { factors: [gemm, 1.0, 1.0, 1.0], decode, prefill, area };
        let specs = vec![spec(0.5, 1.0, 1.44, 0.825), spec(1.0, 1.0, 1.0, 1.0), spec(2.0, 1.0, 0.98, 1.35)];
        let search = Search { name: "test".into(), front: vec![2, 1, 0], balanced: Some(0), specs };
        let told: Vec<String> = search.told().iter().map(|(name, text)| format!("{name}: {text}")).collect();
        assert_snapshot!(told.join("\n"), @r"
        sensitivity to gemm, test: x0.5: decode +0.0 %, prefill +44.0 %; x2: decode +0.0 %, prefill -2.0 %
        front 1, test: gemm x2, math x1, cube x1, sip x1: latency 0.990 (decode 1.000, prefill 0.980), area 1.350
        front 2, test: gemm x1, math x1, cube x1, sip x1: latency 1.000 (decode 1.000, prefill 1.000), area 1.000
        front 3, test: gemm x0.5, math x1, cube x1, sip x1: latency 1.200 (decode 1.000, prefill 1.440), area 0.825
        balanced (least latency x area), test: gemm x0.5, math x1, cube x1, sip x1: latency 1.200 (decode 1.000, prefill 1.440), area 0.825
        ");
    }
}
