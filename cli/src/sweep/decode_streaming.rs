//! `decode-streaming`: one PE alone streams all keys and values of a context through its engines, three command forms.

use super::figures::{Table, figure};
use super::plan::{Flag, Plan, Point};
use super::{Column, Study};
use crate::plot::{Axis, Body, Figure};
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_harness::cli::Cell;
use tilewright_sim::timing::Timing;

pub struct DecodeStreaming;

/// Query heads, all of one KV head; length of a head.
const HEADS: usize = 8;
const D_HEAD: usize = 128;
/// Tokens of a tile of the primitive form (AHBM.md 10.8: inferred from the published figures).
const TILE: usize = 256;

impl Study for DecodeStreaming {
    fn name(&self) -> &'static str {
        "decode-streaming"
    }
    fn about(&self) -> &'static str {
        "One PE streams a whole context: bandwidth and engine times of three command forms"
    }
    fn flags(&self) -> &'static [Flag] {
        &[]
    }
    fn columns(&self, _: &Plan) -> &'static [Column] {
        const {
            &[
                Column::key("variant"),
                Column::key("s_kv"),
                Column::exact("M"),
                Column::within("latency_ns", 2e-3),
                Column::within("gemm_busy_ns", 2e-3),
                Column::within("dma_busy_ns", 2e-3),
                Column::exact("kv_bytes"),
                Column::within("achieved_bw_gbs", 2e-3),
                Column::within("achieved_tflops", 2e-3),
                Column::within("mac_util", 2e-3),
                Column::within("dma_occupancy", 2e-3),
            ]
        }
    }
    fn golden(&self, _: &Plan) -> Result<&'static str, &'static str> {
        Ok("decode_streaming.csv")
    }
    fn contexts(&self) -> &'static [usize] {
        &[2048, 4096, 8192, 16384]
    }
    fn points(&self, plan: &Plan) -> Result<Vec<Point>, Diagnostics> {
        let mut points = Vec::new();
        for &s_kv in &plan.contexts {
            for form in ["primitive", "composite", "composite_extended"] {
                let sizes = format!("pes=1,h-q={HEADS},d-head={D_HEAD},tile={TILE}");
                let key = vec![form.into(), s_kv.into()];
                let instance = plan.long(form, s_kv, 1, &sizes)?;
                points.push(Point { key, instance, cubes: 1, users: 1, machine: None });
            }
        }
        Ok(points)
    }
    fn row(&self, point: &Point, plan: &Plan, t: &Timing) -> Result<Vec<Cell>, Diagnostics> {
        let s_kv = point.instance.settings.integer("s-kv")?;
        let bytes = 2 * (s_kv * D_HEAD) as u64 * ElemType::F16.bytes();
        let flops = 2.0 * 2.0 * (HEADS * s_kv * D_HEAD) as f64;
        let ns = t.wall.as_ns();
        // Of the engine, as it multiplies f16.
        let peak = plan.machine.gemm.peak_f16.0 as f64 / 1e12;
        let (gemm, dma) =
            (t.sums.gemm.as_ns() + t.sums.gemm_tiles.as_ns(), t.sums.dma.as_ns() + t.sums.dma_tiles.as_ns());
        let tflops = flops / ns / 1e3;
        Ok(vec![
            HEADS.into(),
            ns.into(),
            gemm.into(),
            dma.into(),
            bytes.into(),
            (bytes as f64 / ns).into(),
            tflops.into(),
            (tflops / peak).into(),
            (dma / ns).into(),
        ])
    }
    fn figures(&self, plan: &Plan, table: &Table<'_>) -> Result<Vec<Figure>, Diagnostics> {
        let slice = plan.machine.hbm.slice_rate.0 as f64 / 1e9;
        let limits = vec![(slice, format!("roofline: {slice} GB/s of a slice"))];
        let curves = table.curves(&["variant"], "s_kv", "achieved_bw_gbs");
        let body = Body::Curves { curves, x: Axis::Log, y: Axis::Linear, limits };
        let (name, context) = (self.name(), "context, tokens");
        Ok(vec![
            figure(
                format!("{name}-bandwidth"),
                format!("{name}: bandwidth of one PE against its roofline"),
                [context, "keys and values, GB/s"],
                body,
            ),
            figure(
                format!("{name}-engines"),
                format!("{name}: what works, at the longest context"),
                ["", "share of the wall"],
                table.engines(&["variant"], "s_kv"),
            ),
        ])
    }
}
