//! `short-decode`: one user's decode step, four mappings of KV heads to cubes, several contexts.
//! Columns as in AHBM.md, sections 8 and 9.

use super::plan::{Plan, Point};
use super::{Column, Measured, Study, decode};
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_sim::timing::Timing;

pub struct ShortDecode;

impl Study for ShortDecode {
    fn name(&self) -> &'static str {
        "short-decode"
    }
    fn about(&self) -> &'static str {
        "Short-context decode: wall time, utilisation and traffic of the mappings A1, A2, A4, B"
    }
    fn columns(&self) -> &'static [Column] {
        const {
            &[
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
            ]
        }
    }
    fn golden(&self) -> &'static str {
        "short_decode_baseline.csv"
    }
    fn contexts(&self) -> &'static [usize] {
        &[8192, 16384, 32768, 65536]
    }
    fn points(&self, plan: &Plan) -> Result<Vec<Point>, Diagnostics> {
        let mut points = Vec::new();
        for &mode in &plan.modes {
            for &s_kv in &plan.contexts {
                let cubes = decode::cubes(&plan.instance(mode, s_kv)?, mode)?;
                let key = vec![mode.name().into(), mode.kv_per_cube().into(), cubes.into(), s_kv.into()];
                points.push(Point { key, mode, s_kv, users: 1 });
            }
        }
        Ok(points)
    }
    fn measure(&self, point: &Point, plan: &Plan) -> Result<Measured, Diagnostics> {
        let instance = plan.instance(point.mode, point.s_kv)?;
        let cubes = decode::cubes(&instance, point.mode)?;
        let t = decode::measure(&instance, plan, point.users, cubes)?;
        let d_head = instance.settings.integer("d-head")?;

        // Time of all PEs together, the denominator of both utilisations.
        let pe_ns = t.wall.as_ns() * t.n_pe as f64;
        let bytes = t.sums.read_bytes + t.sums.write_bytes;
        let rate_ns = plan.machine.hbm.slice_rate.0 as f64 / 1e9;
        let cells = vec![
            t.wall.as_us().into(),
            t.n_pe.into(),
            ((t.sums.gemm.as_ns() + t.sums.gemm_tiles.as_ns()) / pe_ns).into(),
            math_count(&t).into(),
            (bytes as f64 / (pe_ns * rate_ns)).into(),
            (t.sums.read_bytes as f64 / MIB).into(),
            (t.sums.write_bytes as f64 / KIB).into(),
            (t.sums.ipcq_bytes as f64 / KIB).into(),
            (kv_cache(point, d_head) as f64 / MIB).into(),
        ];
        Ok(Measured { cells, fields: t.fields, event_hash: t.event_hash })
    }
}

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * 1024.0;

/// Commands that the published count takes; `mul` and the copies of yielded tiles are not in it.
const COUNTED: [&str; 7] = ["reduce_max", "reduce_sum", "exp", "sub", "add", "div", "maximum"];

fn math_count(t: &Timing) -> u64 {
    COUNTED.iter().filter_map(|mnemonic| t.commands.get(mnemonic)).sum::<u64>() + t.composite_math_ops
}

/// Bytes of keys and values of f16 in one cube.
fn kv_cache(point: &Point, d_head: usize) -> u64 {
    let elements = 2 * point.mode.kv_per_cube() * point.s_kv * d_head;
    elements as u64 * ElemType::F16.bytes()
}
