//! `fan-out`: decode of several agents over one prefix: each agent by itself, all rows to stationary keys and values, or keys and
//! values to distributed rows.

use super::figures::{Table, figure, over_doublings};
use super::long_decode::PES;
use super::measure::{KIB, MIB, measure};
use super::plan::{Flag, Plan, Point};
use super::{Column, Study};
use crate::plot::{Axis, Figure};
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::Cell;
use tilewright_harness::registry::Instance;
use tilewright_kernels::attention::Tier;
use tilewright_sim::timing::Timing;

pub struct FanOut;

/// Tokens of an agent that are its own.
const SUFFIX: usize = 64;
const ALONE: &str = "per_agent";
const STATIONARY: &str = "stationary";
const DISTRIBUTED: &str = "distributed";

/// Long decode of one agent, in the form that the tier's commands belong to.
fn alone(plan: &Plan, s_kv: usize, cubes: usize) -> Result<Instance, Diagnostics> {
    let form = match plan.tier {
        Tier::Plain => "primitive",
        Tier::Composite => "composite",
        Tier::Fused => "composite_extended",
    };
    plan.long(form, s_kv + SUFFIX, cubes, &format!("pes={PES}"))
}

impl Study for FanOut {
    fn name(&self) -> &'static str {
        "fan-out"
    }
    fn about(&self) -> &'static str {
        "Decode of several agents over one prefix: agent by agent, stationary keys and values, distributed rows"
    }
    fn flags(&self) -> &'static [Flag] {
        &[Flag::Tier, Flag::Agents, Flag::Cubes]
    }
    fn columns(&self, _: &Plan) -> &'static [Column] {
        const {
            &[
                Column::key("policy"),
                Column::key("agents"),
                Column::key("S_kv"),
                Column::key("suffix"),
                Column::key("C"),
                Column::timed("latency_us"),
                Column::timed("us_per_agent"),
                Column::timed("gain"),
                Column::exact("hbm_read_mb"),
                Column::exact("ipcq_kb"),
            ]
        }
    }
    fn contexts(&self) -> &'static [usize] {
        &[8192, 65536]
    }
    fn points(&self, plan: &Plan) -> Result<Vec<Point>, Diagnostics> {
        let mut points = Vec::new();
        for &cubes in &plan.cubes {
            for &s_kv in &plan.contexts {
                for &agents in &plan.agents {
                    // Rows go over the cubes by whole agents.
                    let policies = [ALONE, STATIONARY, DISTRIBUTED];
                    let shared = |policy: &&str| *policy != DISTRIBUTED || agents.is_multiple_of(cubes);
                    for policy in policies.into_iter().filter(shared) {
                        let instance = if policy == ALONE {
                            alone(plan, s_kv, cubes)?
                        } else {
                            let acc = &plan.acc;
                            let sizes = format!("agents={agents},suffix={SUFFIX},s-kv={s_kv},cubes={cubes},acc={acc}");
                            let tier = plan.tier.name();
                            plan.kernels.instance(&format!("fan_out:policy={policy},tier={tier},{sizes}"))?
                        };
                        let sizes = [agents, s_kv, SUFFIX, cubes].map(Cell::from);
                        let key = [Cell::from(policy)].into_iter().chain(sizes).collect();
                        points.push(Point { key, instance, cubes, users: 1, machine: None });
                    }
                }
            }
        }
        Ok(points)
    }
    /// The gain is over the agents one after the other, each reading the prefix for itself.
    fn row(&self, point: &Point, plan: &Plan, t: &Timing) -> Result<Vec<Cell>, Diagnostics> {
        let of = |i: usize| point.key.get(i).and_then(Cell::number).unwrap_or_default();
        let (agents, s_kv) = (of(1), of(2) as usize);
        let by_itself = point.key.first() == Some(&Cell::from(ALONE));
        let times = if by_itself { agents } else { 1.0 };
        let one = if by_itself {
            t.wall.as_us()
        } else {
            let instance = alone(plan, s_kv, point.cubes)?;
            measure(&Point { instance, ..point.clone() }, plan)?.wall.as_us()
        };
        let latency = t.wall.as_us() * times;
        Ok(vec![
            latency.into(),
            (latency / agents).into(),
            (one * agents / latency).into(),
            (t.sums.read_bytes as f64 * times / MIB).into(),
            (t.sums.ipcq_bytes as f64 * times / KIB).into(),
        ])
    }
    fn figures(&self, plan: &Plan, table: &Table<'_>) -> Result<Vec<Figure>, Diagnostics> {
        let tier = plan.tier.name();
        let of = |what: &str, title: &str, y: &str, column, axis| {
            let body = over_doublings(table.curves(&["policy", "S_kv"], "agents", column), axis);
            figure(format!("fan-out-{tier}-{what}"), format!("fan-out, {tier}: {title}"), ["agents", y], body)
        };
        Ok(vec![
            of("latency", "all agents", "latency, us", "latency_us", Axis::Log),
            of("gain", "gain over agent by agent", "times", "gain", Axis::Linear),
        ])
    }
}
