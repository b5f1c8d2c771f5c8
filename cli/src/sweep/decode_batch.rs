//! `decode-batch`: B users decode at once on one SIP, each on cubes of its own.

use super::figures::{Table, figure, over_doublings};
use super::plan::{Flag, Plan, Point};
use super::{Column, Study};
use crate::plot::{Axis, Figure};
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::Cell;
use tilewright_kernels::attention::Tier;
use tilewright_sim::timing::Timing;

pub struct DecodeBatch;

impl Study for DecodeBatch {
    fn name(&self) -> &'static str {
        "decode-batch"
    }
    fn about(&self) -> &'static str {
        "Concurrent users on disjoint cubes of one SIP: latency and throughput for B = 1, 2 and as many as fit"
    }
    fn flags(&self) -> &'static [Flag] {
        &[Flag::Tier, Flag::Modes]
    }
    fn columns(&self, _: &Plan) -> &'static [Column] {
        const {
            &[
                Column::key("mode"),
                Column::key("kv_per_cube"),
                Column::key("C"),
                Column::key("S_kv"),
                Column::key("B"),
                Column::exact("capacity"),
                Column::timed("agg_latency_us"),
                Column::timed("mean_user_latency_us"),
                Column::timed("throughput_users_per_us"),
            ]
        }
    }
    fn golden(&self, plan: &Plan) -> Result<&'static str, &'static str> {
        match plan.tier {
            Tier::Plain => Ok("decode_batch.csv"),
            Tier::Composite | Tier::Fused => Err("--tier baseline"),
        }
    }
    fn contexts(&self) -> &'static [usize] {
        &[8192]
    }
    fn points(&self, plan: &Plan) -> Result<Vec<Point>, Diagnostics> {
        let mut points = Vec::new();
        for &mode in &plan.modes {
            for &s_kv in &plan.contexts {
                let one = plan.mapped(plan.short("gqa_decode", mode, s_kv)?, mode, s_kv, [])?;
                for users in batches(capacity(plan, one.cubes)) {
                    let mut point = Point { users, ..one.clone() };
                    point.key.push(users.into());
                    points.push(point);
                }
            }
        }
        Ok(points)
    }
    fn row(&self, point: &Point, plan: &Plan, t: &Timing) -> Result<Vec<Cell>, Diagnostics> {
        let users: Vec<f64> = t.users.iter().map(|wall| wall.as_us()).collect();
        Ok(vec![
            capacity(plan, point.cubes).into(),
            t.wall.as_us().into(),
            (users.iter().sum::<f64>() / users.len() as f64).into(),
            (point.users as f64 / t.wall.as_us()).into(),
        ])
    }
    fn figures(&self, plan: &Plan, table: &Table<'_>) -> Result<Vec<Figure>, Diagnostics> {
        let of = |what: &str, y: &str, column| {
            let curves = table.curves(&["mode"], "B", column);
            let title = format!("{}, {}: {what} of several users", self.name(), plan.tier.name());
            let body = over_doublings(curves, Axis::Linear);
            figure(format!("{}-{}-{what}", self.name(), plan.tier.name()), title, ["users at once", y], body)
        };
        Ok(vec![
            of("throughput", "decode steps per us", "throughput_users_per_us"),
            of("latency", "latency of all, us", "agg_latency_us"),
        ])
    }
}

/// Users of so many cubes that fit into one SIP.
fn capacity(plan: &Plan, cubes: usize) -> usize {
    plan.machine.cubes_per_sip() / cubes.max(1)
}

/// 1, 2 and the capacity, each once. A user that does not fit at all is still tried: the launch says why it fails.
fn batches(capacity: usize) -> Vec<usize> {
    let capacity = capacity.max(1);
    let mut batches = vec![1, 2, capacity];
    batches.retain(|b| *b <= capacity);
    batches.dedup();
    batches
}
