//! `decode-batch-m`: a decode step of B requests over one context, whose rows share each product: B G rows instead of G.

use super::figures::{Table, figure, over_doublings};
use super::measure::{MIB, measure, pe_ns, slices_use};
use super::plan::{Flag, Plan, Point};
use super::{Column, Study};
use crate::plot::{Axis, Figure};
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_harness::cli::Cell;
use tilewright_harness::registry::Instance;
use tilewright_kernels::attention::{Group, Mode, PES_PER_CUBE, Tier};
use tilewright_kernels::config::chosen;
use tilewright_kernels::gqa_decode::{CONFIGS, Cut, largest_tile};
use tilewright_sim::timing::Timing;

pub struct DecodeBatchM;

impl Study for DecodeBatchM {
    fn name(&self) -> &'static str {
        "decode-batch-m"
    }
    fn about(&self) -> &'static str {
        "Decode of several requests over one context, all rows in the same products, beside one launch each"
    }
    fn flags(&self) -> &'static [Flag] {
        &[Flag::Tier, Flag::Modes, Flag::Batch]
    }
    fn columns(&self, _: &Plan) -> &'static [Column] {
        const {
            &[
                Column::key("mode"),
                Column::key("kv_per_cube"),
                Column::key("C"),
                Column::key("S_kv"),
                Column::key("B"),
                Column::exact("rows"),
                Column::exact("padded_rows"),
                Column::exact("tile"),
                Column::timed("wall_us"),
                Column::timed("us_per_request"),
                Column::timed("gain"),
                Column::timed("gemm_util"),
                Column::timed("hbm_bw_util"),
                Column::exact("hbm_read_mb"),
            ]
        }
    }
    fn contexts(&self) -> &'static [usize] {
        &[8192, 65536]
    }
    fn points(&self, plan: &Plan) -> Result<Vec<Point>, Diagnostics> {
        let mut points = Vec::new();
        for &mode in &plan.modes {
            for &s_kv in &plan.contexts {
                for &batch in &plan.batch {
                    points.push(plan.mapped(of(plan, mode, s_kv, batch)?, mode, s_kv, [batch])?);
                }
            }
        }
        Ok(points)
    }
    /// The gain is over the requests one after the other. `padded_rows` are those that `Q . K^T` multiplies, `gemm_util` counts only
    /// what attention asks for.
    fn row(&self, point: &Point, plan: &Plan, t: &Timing) -> Result<Vec<Cell>, Diagnostics> {
        let setting = |name: &str| point.instance.settings.integer(name);
        let (batch, s_kv, h_q, d_head) = (setting("batch")?, setting("s-kv")?, setting("h-q")?, setting("d-head")?);
        let mode = point.instance.settings.pick("mode", &Mode::ALL.map(|mode| (mode.name(), mode)))?;
        let one = match batch {
            1 => t.wall,
            _ => measure(&Point { instance: of(plan, mode, s_kv, 1)?, ..point.clone() }, plan)?.wall,
        };
        let group = Group { pes: PES_PER_CUBE / mode.kv_per_cube() };
        let cut = Cut::of(s_kv, group, longest_tile(&point.instance)?, CONFIGS.ahbm.deal);
        let products = plan.machine.gemm_time(ElemType::F16, (batch * h_q) as u64, 2 * s_kv as u64, d_head as u64);
        let rows = batch * h_q / setting("h-kv")?.max(1);
        let padded = match plan.tier {
            Tier::Plain => rows,
            Tier::Composite | Tier::Fused => rows.next_multiple_of(plan.machine.gemm.tile_m as usize),
        };
        Ok(vec![
            rows.into(),
            padded.into(),
            cut.tile.into(),
            t.wall.as_us().into(),
            (t.wall.as_us() / batch as f64).into(),
            (one.as_us() * batch as f64 / t.wall.as_us()).into(),
            (products.as_ns() / pe_ns(t)).into(),
            slices_use(plan, t).into(),
            (t.sums.read_bytes as f64 / MIB).into(),
        ])
    }
    fn figures(&self, plan: &Plan, table: &Table<'_>) -> Result<Vec<Figure>, Diagnostics> {
        let of = |what: &str, y: &str, column, axis| {
            let body = over_doublings(table.curves(&["mode", "S_kv"], "B", column), axis);
            let title = format!("{}, {}: {what}", self.name(), plan.tier.name());
            figure(format!("{}-{}-{column}", self.name(), plan.tier.name()), title, ["requests", y], body)
        };
        Ok(vec![
            of("time of a request", "us", "us_per_request", Axis::Log),
            of("gain over one launch each", "times", "gain", Axis::Linear),
            of("products asked for", "share of the GEMM peak", "gemm_util", Axis::Linear),
        ])
    }
}

/// The launch of so many requests: as long as they fit, with the tile of one.
fn of(plan: &Plan, mode: Mode, s_kv: usize, batch: usize) -> Result<Instance, Diagnostics> {
    // One request is the instance of `short-decode`.
    let one = plan.short("gqa_decode", mode, s_kv)?;
    if batch == 1 {
        return Ok(one);
    }
    let of = |name: &str| one.settings.integer(name);
    let rows = batch * (of("h-q")? / of("h-kv")?.max(1));
    let acc = one.settings.pick("acc", &[("f16", ElemType::F16), ("f32", ElemType::F32)])?;
    let fits = largest_tile(rows, of("d-head")?, ElemType::F16, acc, plan.limits().scratch_bytes).unwrap_or_default();
    let shorter = if (1..longest_tile(&one)?).contains(&fits) { format!(",tile={fits}") } else { String::new() };
    plan.kernels.instance(&format!("{one},batch={batch}{shorter}"))
}

/// Tokens of a KV tile at most: of a PE that has fewer, as many as it needs.
fn longest_tile(instance: &Instance) -> Result<usize, Diagnostics> {
    let own = (CONFIGS.ahbm.turn)(1, instance.settings.integer("d-head")?).tile;
    Ok(chosen(&instance.settings, "tile")?.unwrap_or(own))
}
