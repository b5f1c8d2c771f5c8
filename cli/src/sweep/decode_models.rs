//! `decode-models`: long-context decode of one KV head of published models, its query heads' number as the number of cubes.

use super::figures::{Table, figure};
use super::long_decode::PES;
use super::measure::observed;
use super::plan::{Flag, Plan, Point};
use super::{Column, Study};
use crate::plot::Figure;
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::Cell;
use tilewright_kernels::long_decode::Addressing;
use tilewright_sim::timing::Timing;

pub struct DecodeModels;

/// A model, as its authors published it. `params`: in 10^9.
struct Model {
    name: &'static str,
    family: &'static str,
    params: usize,
    h_q: usize,
    h_kv: usize,
    hidden: usize,
    layers: usize,
}

const fn model(
    name: &'static str,
    family: &'static str,
    params: usize,
    [h_q, h_kv, hidden, layers]: [usize; 4],
) -> Model {
    Model { name, family, params, h_q, h_kv, hidden, layers }
}

const MODELS: [Model; 6] = [
    model("llama3-8b", "Meta", 8, [32, 8, 4096, 32]),
    model("llama3-70b", "Meta", 70, [64, 8, 8192, 80]),
    model("qwen2.5-7b", "Alibaba", 7, [28, 4, 3584, 28]),
    model("qwen2.5-72b", "Alibaba", 72, [64, 8, 8192, 80]),
    model("gemma2-27b", "Google", 27, [32, 16, 4608, 46]),
    model("command-r-plus", "Cohere", 104, [96, 8, 12288, 64]),
];

/// The published table takes 128 for all.
const D_HEAD: usize = 128;
const VARIANT: &str = "composite";

const COLUMNS: &[Column] = &[
    Column::key("model"),
    Column::key("family"),
    Column::key("params_b"),
    Column::key("h_q"),
    Column::key("h_kv"),
    Column::key("G"),
    Column::key("d_head"),
    Column::key("full_h_q"),
    Column::key("full_h_kv"),
    Column::key("hidden"),
    Column::key("layers"),
    Column::key("C"),
    Column::key("P"),
    Column::key("N"),
    Column::key("T_q"),
    Column::key("S_kv"),
    Column::key("S_local"),
    Column::key("variant"),
    Column::exact("pe_cpu_cmd_count"),
    Column::exact("pe_cpu_dispatch_cycles"),
    Column::within("latency_ns", 2e-3),
    Column::within("matmul_ns", 3e-2),
    Column::told("comm_ns"),
    Column::told("other_ns"),
];

impl Study for DecodeModels {
    fn name(&self) -> &'static str {
        "decode-models"
    }
    fn about(&self) -> &'static str {
        "Long-context decode of six models: one KV head, as many cubes as it has query heads"
    }
    fn flags(&self) -> &'static [Flag] {
        &[Flag::Addressing]
    }
    fn columns(&self, _: &Plan) -> &'static [Column] {
        COLUMNS
    }
    fn golden(&self, plan: &Plan) -> Result<&'static str, &'static str> {
        match plan.addressing {
            Addressing::Published => Ok("decode_models.csv"),
            Addressing::Sharded => Err("--addressing published"),
        }
    }
    /// A context that the ranks do not divide is not whole in the published figures; here each cube's last PE masks what it
    /// lacks, and its `select` is time of the MATH engine.
    fn tolerance(&self, _: &Plan, column: &Column, key: &[Cell]) -> f64 {
        let of = |name| {
            COLUMNS
                .iter()
                .position(|c| c.name == name)
                .and_then(|i| key.get(i))
                .and_then(Cell::number)
                .unwrap_or_default()
        };
        let whole = of("S_kv") == of("N") * of("S_local");
        if column.name == "matmul_ns" && !whole { 0.15 } else { column.tolerance() }
    }
    fn contexts(&self) -> &'static [usize] {
        &[131_072]
    }
    fn points(&self, plan: &Plan) -> Result<Vec<Point>, Diagnostics> {
        let mut points = Vec::new();
        for m in &MODELS {
            let heads = m.h_q / m.h_kv;
            let cubes = heads;
            for &s_kv in &plan.contexts {
                let instance = plan.long(VARIANT, s_kv, cubes, &format!("pes={PES},h-q={heads},d-head={D_HEAD}"))?;
                let ranks = cubes * PES;
                let sizes =
                    [m.params, heads, 1, heads, D_HEAD, m.h_q, m.h_kv, m.hidden, m.layers, cubes, PES, ranks, 1, s_kv];
                let mut key = vec![Cell::from(m.name), m.family.into()];
                // Rounded down, as published. The kernel's own shares are rounded up, so that they cover every token.
                key.extend(sizes.into_iter().chain([s_kv / ranks]).map(Cell::from));
                key.push(VARIANT.into());
                points.push(Point { key, instance, cubes, users: 1, machine: None });
            }
        }
        Ok(points)
    }
    fn row(&self, point: &Point, _: &Plan, t: &Timing) -> Result<Vec<Cell>, Diagnostics> {
        let (commands, cycles) = observed(t, point.cubes);
        Ok(vec![
            commands.into(),
            cycles.into(),
            t.wall.as_ns().into(),
            (t.sums.gemm.as_ns() + t.sums.math.as_ns() + t.sums.copy.as_ns()).into(),
            (t.sums.dma.as_ns() + t.sums.ipcq.as_ns()).into(),
            (t.sums.dma_tiles.as_ns() + t.sums.gemm_tiles.as_ns() + t.sums.math_tiles.as_ns()).into(),
        ])
    }
    fn figures(&self, plan: &Plan, table: &Table<'_>) -> Result<Vec<Figure>, Diagnostics> {
        let name = format!("{}-{}", self.name(), plan.addressing_name());
        let of = |what: &str, title: &str, y: &str, body| {
            figure(format!("{name}-{what}"), format!("{name}: {title}"), ["", y], body)
        };
        Ok(vec![
            of(
                "latency",
                "one KV head, as many cubes as query heads",
                "latency, ns",
                table.bars(&["model"], &["S_kv"], "latency_ns"),
            ),
            of(
                "dispatch",
                "dispatch of PE 0 in the observed cube",
                "cycles of issue",
                table.bars(&["model"], &["S_kv"], "pe_cpu_dispatch_cycles"),
            ),
            of("engines", "what works", "share of the wall", table.engines(&["model"], "S_kv")),
        ])
    }
}
