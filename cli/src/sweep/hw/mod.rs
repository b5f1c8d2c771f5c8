//! `hw`: a search over four rates of the machine, two SIPs, for decode and prefill: the points. What follows from their rows (what
//! each rate gains, the machines that none beats in latency and area, a balanced one) is in `search.rs`.
//!
//! Area is a proxy, in units of the machine itself: `1 - sum(share) + sum(share * factor)`, a share of the area for each rate and
//! the rest for what the search leaves alone. The shares are assumed (`--area` gives others).

mod search;

use super::figures::Table;
use super::long_decode::PES;
use super::plan::{Flag, Plan, Point};
use super::{Column, Study};
use crate::errors;
use crate::plot::Figure;
use search::{Search, searches};
use std::collections::BTreeSet;
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::{Cell, Facts};
use tilewright_harness::registry::Instance;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::Timing;
use tilewright_sim::units::Rate;

pub struct Hw;

/// A rate that the search varies: its name, and the share of the machine's area that grows with it.
const KNOBS: [&str; 4] = ["gemm", "math", "cube", "sip"];
pub const AREA: [f64; 4] = [0.35, 0.10, 0.15, 0.05];

const SIPS: usize = 2;
/// One query token against a context that lies over all PEs.
const DECODE: &str = "decode";
/// A few query tokens against the same context, which stays where it is: prefill in pieces behind a long context.
const CHUNK: &str = "chunk";
/// The last query tokens of a prompt. A KV head has a cube, so that heads go over the SIPs and no link between cubes is used.
const PREFILL: &str = "prefill";
const PHASES: [&str; 3] = [DECODE, CHUNK, PREFILL];
/// Query heads of a KV head, and the length of a head vector, in all phases.
const HEADS: usize = 8;
const D_HEAD: usize = 128;
const CHUNK_TOKENS: usize = 16;
const PREFILL_TOKENS: usize = 128;
/// Tokens of the prompt, where the context is not shorter: every tile costs the same, so that a longer one changes no ratio.
const PROMPT: usize = 4096;
const PREFILL_TILE: usize = 256;

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
    fn contexts(&self) -> &'static [usize] {
        &[131_072]
    }
    fn points(&self, plan: &Plan) -> Result<Vec<Point>, Diagnostics> {
        let mut points = Vec::new();
        for &cubes in &plan.cubes {
            let runs = runs(plan, cubes)?;
            for factors in grid(&plan.factors) {
                let machine = Box::new(scaled(&plan.machine, factors));
                for (phase, s_kv, instance) in &runs {
                    let sizes = [SIPS, cubes, *s_kv].map(Cell::from);
                    let key = [Cell::from(*phase)].into_iter().chain(sizes).chain(factors.map(factor)).collect();
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

/// What is timed on every machine: phase, tokens, kernel.
fn runs(plan: &Plan, cubes: usize) -> Result<Vec<(&'static str, usize, Instance)>, Diagnostics> {
    let acc = &plan.acc;
    let mut runs = Vec::new();
    for &s_kv in &plan.contexts {
        let sizes = format!("sips={SIPS},pes={PES},h-q={HEADS},d-head={D_HEAD}");
        runs.push((DECODE, s_kv, plan.long("composite", s_kv, cubes, &sizes)?));
        let sizes = format!("agents=1,t-q={CHUNK_TOKENS},suffix={CHUNK_TOKENS},s-kv={s_kv},cubes={cubes},{sizes}");
        let chunk = format!("fan_out:tier=composite-fused,{sizes},acc={acc}");
        runs.push((CHUNK, s_kv, plan.kernels.instance(&chunk)?));
    }
    let prompts: BTreeSet<usize> = plan.contexts.iter().map(|s_kv| prompt(*s_kv)).collect();
    for s_kv in prompts {
        let heads = SIPS * cubes;
        let sizes = format!("h-q={},h-kv={heads},sips={SIPS},d-head={D_HEAD},tile={PREFILL_TILE}", HEADS * heads);
        let sizes = format!("t-q={},s-kv={s_kv},{sizes}", PREFILL_TOKENS.min(s_kv));
        let prefill = format!("gqa_prefill:tier=composite-fused,{sizes},acc={acc}");
        runs.push((PREFILL, s_kv, plan.kernels.instance(&prefill)?));
    }
    Ok(runs)
}
/// Tokens of the prompt beside a context.
fn prompt(s_kv: usize) -> usize {
    s_kv.min(PROMPT)
}

/// A whole factor as a count, as a file of rows gives it back.
fn factor(x: f64) -> Cell {
    Cell::read(&format!("{x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
