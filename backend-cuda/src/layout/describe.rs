//! A compiled kernel's layouts, conversions and shared memory as text: `ir --stage layout`.

use super::convert::{Conversion, conversion, turned};
use super::infer::is_anew;
use crate::compile::{Compiled, WARPS};
use crate::ptx::{Memory, Op};
use std::fmt::Write;
use tilewright_core::ir::text::{op_text, value_names};
use tilewright_core::ir::{Type, ValueId};

/// One tile a line: its basis vectors by register, lane and warp bit, and how often the whole is repeated along each axis.
pub fn describe(compiled: &Compiled) -> String {
    let Compiled { module: m, kernel, layouts, moves, plan, .. } = compiled;
    let mut out = format!("kernel @{}: {} threads\n", m.name, kernel.threads);
    let turns = compiled.remarks.iter().filter(|remark| remark.pass == WARPS);
    turns.for_each(|remark| _ = writeln!(out, "{remark}"));
    out.push_str("\nlayouts\n");
    let (names, mut rows) = (value_names(m), Vec::new());
    for v in (0..m.num_values() as u32).map(ValueId) {
        if let (Type::Tile(..), Some(layout)) = (m.ty(v), layouts.get(v)) {
            let layout = if is_anew(m, v) { "made at each use".to_string() } else { layout.to_string() };
            rows.push((format!("%{}", names[v.index()].trim_start_matches('%')), m.ty(v).to_string(), layout));
        }
    }
    let wide =
        |column: fn(&(String, String, String)) -> &String| rows.iter().map(|row| column(row).len()).max().unwrap_or(0);
    let (first, second) = (wide(|row| &row.0), wide(|row| &row.1));
    for (name, ty, layout) in &rows {
        let _ = writeln!(out, "  {name:first$}  {ty:second$}  {layout}");
    }
    out.push_str("\nconversions\n");
    for moved in moves {
        let by_matrix = moved.swizzle.is_none() && moved.ty.elem().bytes() == 2;
        let how = match conversion(&moved.from, &moved.to) {
            Conversion::Rename(_) => "renamed".to_string(),
            _ if by_matrix && turned(&moved.from, &moved.to).is_some() => {
                format!("matrices turned in the warp, {}", moved.to.regs() / 2)
            }
            Conversion::Shuffle(s) => format!("shuffled in the warp, {} exchanges", s.regs.len() << s.picks.len()),
            Conversion::Shared => match &moved.swizzle {
                Some(swizzle) => format!("through shared memory: {swizzle}"),
                None => "through shared memory, piece by piece".to_string(),
            },
        };
        let _ = writeln!(
            out,
            "  {}: for `{}`\n    from {}\n    to   {}\n    {how}",
            moved.ty,
            op_text(m, moved.op),
            moved.from,
            moved.to
        );
    }
    if moves.is_empty() {
        out.push_str("  none\n");
    }
    let _ = writeln!(out, "\nshared memory: {} bytes", plan.bytes);
    let lines: Vec<_> = kernel.body.lines().collect();
    for (buffer, (offset, bytes)) in plan.offsets.iter().zip(&plan.sizes).enumerate() {
        let touched = lines.iter().filter_map(|line| line.touch.map(|touch| (line.loc, touch)));
        let mine = touched.filter(|(_, touch)| matches!(touch.memory, Memory::Shared(b) if b.0 as usize == buffer));
        let (writes, reads): (Vec<_>, Vec<_>) = mine.partition(|(_, touch)| touch.writes);
        let _ = writeln!(out, "  {bytes} bytes at {offset}: {} stores, {} loads", writes.len(), reads.len());
    }
    let barriers = lines.iter().filter(|line| matches!(line.inst.op, Op::Bar | Op::BarOr { .. })).count();
    let _ = writeln!(out, "barriers: {barriers}");
    out
}
