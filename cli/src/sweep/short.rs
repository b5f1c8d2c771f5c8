//! `short-decode` and `short-prefill`: one user, four mappings of KV heads to cubes, several contexts, three tiers of commands.
//! Columns as in AHBM.md, sections 8 and 9.

use super::figures::{Bars, Table, figure, over_doublings};
use super::measure::{KIB, MIB, math_count, measure, pe_ns, slices_use};
use super::plan::{Flag, Plan, Point};
use super::{Column, Study};
use crate::plot::{Axis, Body, Figure};
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_harness::cli::Cell;
use tilewright_harness::registry::Inputs;
use tilewright_kernels::attention::Tier;
use tilewright_sim::timing::Timing;

/// What the kernel does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Short {
    Decode,
    Prefill,
}

const BASELINE: &[Column] = &[
    Column::key("mode"),
    Column::key("kv_per_cube"),
    Column::key("C"),
    Column::key("S_kv"),
    Column::timed("wall_us"),
    Column::exact("n_pe"),
    Column::timed("gemm_util"),
    Column::exact("math_count"),
    Column::timed("hbm_bw_util"),
    Column::exact("hbm_read_mb"),
    Column::exact("hbm_write_kb"),
    Column::exact("ipcq_kb"),
    Column::exact("kv_cache_per_cube_mb"),
];

const COMPOSITE: &[Column] = &[
    Column::key("variant"),
    Column::key("mode"),
    Column::key("kv_per_cube"),
    Column::key("C"),
    Column::key("S_kv"),
    Column::timed("wall_us"),
    Column::exact("n_pe"),
    Column::timed("gemm_util"),
    Column::exact("math_count"),
    Column::told("math_pipeline_us"),
    Column::timed("hbm_bw_util"),
    Column::exact("hbm_read_mb"),
    Column::exact("hbm_write_kb"),
    Column::exact("ipcq_kb"),
    Column::exact("kv_cache_per_cube_mb"),
];

impl Study for Short {
    fn name(&self) -> &'static str {
        match self {
            Short::Decode => "short-decode",
            Short::Prefill => "short-prefill",
        }
    }
    fn about(&self) -> &'static str {
        match self {
            Short::Decode => "Short-context decode: wall time, utilisation and traffic of the mappings A1, A2, A4, B",
            Short::Prefill => "Short-context prefill of 8 tokens: the same, with KV tiles passed on inside a group",
        }
    }
    fn flags(&self) -> &'static [Flag] {
        &[Flag::Tier, Flag::Modes]
    }
    fn columns(&self, plan: &Plan) -> &'static [Column] {
        match plan.tier {
            Tier::Plain => BASELINE,
            Tier::Composite | Tier::Fused => COMPOSITE,
        }
    }
    fn golden(&self, plan: &Plan) -> Result<&'static str, &'static str> {
        Ok(match (self, plan.tier) {
            (Short::Decode, Tier::Plain) => "short_decode_baseline.csv",
            (Short::Decode, Tier::Composite) => "short_decode_composite.csv",
            (Short::Decode, Tier::Fused) => "short_decode_composite_fused.csv",
            (Short::Prefill, Tier::Plain) => "short_prefill_baseline.csv",
            (Short::Prefill, Tier::Composite) => "short_prefill_composite.csv",
            (Short::Prefill, Tier::Fused) => "short_prefill_composite_fused.csv",
        })
    }
    /// Prefill's queueing rule is a fit (AHBM.md 0), and utilisations go with the wall. In the fused tier of decode the time
    /// of tiles at the GEMM engine is a little short (AHBM.md 5).
    fn tolerance(&self, plan: &Plan, column: &Column, _: &[Cell]) -> f64 {
        match (self, plan.tier) {
            (Short::Prefill, _) => 3e-2,
            (Short::Decode, Tier::Fused) if column.name == "gemm_util" => 1e-2,
            (Short::Decode, _) => 5e-3,
        }
    }
    fn contexts(&self) -> &'static [usize] {
        &[8192, 16384, 32768, 65536]
    }
    fn points(&self, plan: &Plan) -> Result<Vec<Point>, Diagnostics> {
        let kernel = match self {
            Short::Decode => "gqa_decode",
            Short::Prefill => "gqa_prefill",
        };
        let variant: Option<Cell> = match plan.tier {
            Tier::Plain => None,
            Tier::Composite => Some("composite".into()),
            Tier::Fused => Some("composite_fused".into()),
        };
        let mut points = Vec::new();
        for &mode in &plan.modes {
            for &s_kv in &plan.contexts {
                let mut point = plan.mapped(plan.short(kernel, mode, s_kv)?, mode, s_kv, [])?;
                point.key.splice(..0, variant.clone());
                points.push(point);
            }
        }
        Ok(points)
    }
    fn row(&self, point: &Point, plan: &Plan, t: &Timing) -> Result<Vec<Cell>, Diagnostics> {
        let of = |name: &str| point.instance.settings.integer(name);
        // Keys and values of f16 in one cube.
        let cache = 2 * (of("h-kv")? / point.cubes.max(1)) * of("s-kv")? * of("d-head")?;
        let mut cells: Vec<Cell> = vec![
            t.wall.as_us().into(),
            t.n_pe.into(),
            ((t.sums.gemm.as_ns() + t.sums.gemm_tiles.as_ns()) / pe_ns(t)).into(),
            math_count(t).into(),
        ];
        if plan.tier != Tier::Plain {
            cells.push(t.sums.math_tiles.as_us().into());
        }
        cells.extend([
            Cell::from(slices_use(plan, t)),
            (t.sums.read_bytes as f64 / MIB).into(),
            (t.sums.write_bytes as f64 / KIB).into(),
            (t.sums.ipcq_bytes as f64 / KIB).into(),
            ((cache as u64 * ElemType::F16.bytes()) as f64 / MIB).into(),
        ]);
        Ok(cells)
    }
    fn figures(&self, plan: &Plan, table: &Table<'_>) -> Result<Vec<Figure>, Diagnostics> {
        let (name, tier) = (self.name(), plan.tier.name());
        let of = |what: &str, title: &str, axes, body| {
            figure(format!("{name}-{tier}-{what}"), format!("{name}, {tier}: {title}"), axes, body)
        };
        let context = "context, tokens";
        let curves = |y, axis| over_doublings(table.curves(&["mode"], "S_kv", y), axis);
        let trade = table.curves(&["S_kv"], "kv_cache_per_cube_mb", "wall_us");
        Ok(vec![
            of("latency", "latency by mapping", [context, "latency, us"], curves("wall_us", Axis::Log)),
            of(
                "memory",
                "use of memory bandwidth",
                [context, "share of the slices"],
                curves("hbm_bw_util", Axis::Linear),
            ),
            of("gemm", "use of the GEMM engines", [context, "share of the wall"], curves("gemm_util", Axis::Linear)),
            of(
                "per-cube",
                "what a cube holds against latency",
                ["keys and values in a cube, MiB", "latency, us"],
                over_doublings(trade, Axis::Log),
            ),
            of(
                "engines",
                "what works, at the longest context",
                ["", "share of the wall"],
                table.engines(&["mode"], "S_kv"),
            ),
            figure(
                format!("{name}-tiers"),
                format!("{name}: tiers at the longest context"),
                ["", "latency relative to baseline"],
                self.tiers(plan)?,
            ),
        ])
    }
}

impl Short {
    /// Every tier at the longest context, relative to the first.
    fn tiers(&self, plan: &Plan) -> Result<Body, Diagnostics> {
        let longest = plan.contexts.iter().copied().max().unwrap_or_default();
        let (mut bars, mut first) = (Bars::default(), Vec::new());
        for tier in Tier::ALL {
            let plan = Plan { tier, contexts: vec![longest], inputs: Inputs::ShapesOnly, ..plan.clone() };
            for (i, (point, mode)) in self.points(&plan)?.iter().zip(&plan.modes).enumerate() {
                let wall = measure(point, &plan)?.wall.as_us();
                if first.len() == i {
                    first.push(wall);
                }
                bars.add(mode.name().to_string(), tier.name().to_string(), wall / first[i]);
            }
        }
        Ok(bars.body())
    }
}
