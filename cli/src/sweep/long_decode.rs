//! `long-decode`: one KV head's tokens over C cubes of 8 PEs, four command forms ("Case 6" of the published study).

use super::figures::{Table, figure, over_doublings};
use super::measure::observed;
use super::plan::{Flag, Plan, Point};
use super::{Column, Study};
use crate::plot::{Axis, Figure};
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::Cell;
use tilewright_kernels::long_decode::Addressing;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::Timing;

pub struct LongDecode;

/// PEs of a cube.
pub const PES: usize = 8;
const HEADS: usize = 8;
const D_HEAD: usize = 128;

/// A command form as the table names it: the kernel's form, and the edge of the blocks in which it issues a product (the
/// study's hand-tiled form multiplies 16 x 16 x 16 at a time).
const FORMS: [(&str, &str, Option<u32>); 4] = [
    ("primitive_tiled", "primitive_tiled", Some(16)),
    ("primitive", "primitive", None),
    ("composite", "composite", None),
    ("composite_extended", "composite_extended", None),
];

fn in_blocks(machine: &Machine, edge: u32) -> Machine {
    let mut machine = machine.clone();
    machine.gemm.dot_block = edge;
    machine
}

impl Study for LongDecode {
    fn name(&self) -> &'static str {
        "long-decode"
    }
    fn about(&self) -> &'static str {
        "Long-context decode over C cubes: latency and dispatch of four command forms"
    }
    fn flags(&self) -> &'static [Flag] {
        &[Flag::Addressing, Flag::Cubes]
    }
    fn columns(&self, _: &Plan) -> &'static [Column] {
        const {
            &[
                Column::key("variant"),
                Column::key("S_kv"),
                Column::key("C"),
                Column::key("P"),
                Column::key("T_q"),
                Column::key("d_head"),
                Column::key("h_q"),
                Column::key("h_kv"),
                Column::exact("pe_cpu_cmd_count"),
                Column::exact("pe_cpu_dispatch_cycles"),
                Column::timed("latency_ns"),
                Column::note("shown"),
            ]
        }
    }
    fn golden(&self, plan: &Plan) -> Result<&'static str, &'static str> {
        match plan.addressing {
            Addressing::Published => Ok("long_decode_case6.csv"),
            Addressing::Sharded => Err("--addressing published"),
        }
    }
    /// How small reads share the port is a stand-in (AHBM.md 10.4); only the hand-tiled form has them.
    fn tolerance(&self, _: &Plan, _: &Column, key: &[Cell]) -> f64 {
        if key.first() == Some(&Cell::from("primitive_tiled")) { 6.1e-2 } else { 1e-2 }
    }
    fn contexts(&self) -> &'static [usize] {
        &[8192, 65536, 131_072, 262_144, 524_288, 1_048_576]
    }
    fn points(&self, plan: &Plan) -> Result<Vec<Point>, Diagnostics> {
        let mut points = Vec::new();
        for &cubes in &plan.cubes {
            for &s_kv in &plan.contexts {
                for (variant, form, dot_block) in FORMS {
                    let instance = plan.long(form, s_kv, cubes, &format!("pes={PES},h-q={HEADS},d-head={D_HEAD}"))?;
                    let sizes = [s_kv, cubes, PES, 1, D_HEAD, HEADS, 1];
                    let key = [Cell::from(variant)].into_iter().chain(sizes.map(Cell::from)).collect();
                    let machine = dot_block.map(|edge| Box::new(in_blocks(&plan.machine, edge)));
                    points.push(Point { key, instance, cubes, users: 1, machine });
                }
            }
        }
        Ok(points)
    }
    fn row(&self, point: &Point, _: &Plan, t: &Timing) -> Result<Vec<Cell>, Diagnostics> {
        let (commands, cycles) = observed(t, point.cubes);
        Ok(vec![commands.into(), cycles.into(), t.wall.as_ns().into(), "full".into()])
    }
    fn figures(&self, plan: &Plan, table: &Table<'_>) -> Result<Vec<Figure>, Diagnostics> {
        let by: &[&str] = if plan.cubes.len() > 1 { &["variant", "C"] } else { &["variant"] };
        let name = format!("{}-{}", self.name(), plan.addressing_name());
        let of = |what: &str, title: &str, axes, body| {
            figure(format!("{name}-{what}"), format!("{name}: {title}"), axes, body)
        };
        let curves = |column| over_doublings(table.curves(by, "S_kv", column), Axis::Log);
        let context = "context, tokens";
        Ok(vec![
            of("latency", "latency by command form", [context, "latency, ns"], curves("latency_ns")),
            of(
                "dispatch",
                "dispatch of PE 0 in the root's cube",
                [context, "cycles of issue"],
                curves("pe_cpu_dispatch_cycles"),
            ),
            of("engines", "what works, at the longest context", ["", "share of the wall"], table.engines(by, "S_kv")),
        ])
    }
}
