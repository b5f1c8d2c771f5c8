//! How each tensor of a layer is cut, and the part of the first rank.

use super::Scene;
use super::text::{bytes, count, three};
use crate::inputs::Inputs;
use crate::step::Step;

/// Most cuts that are drawn as lines.
const LINES: f64 = 64.0;

/// A tensor: extents, into how many parts each is cut, and the extents of this PE's part.
struct Cut {
    name: &'static str,
    rows: f64,
    columns: f64,
    row_parts: f64,
    column_parts: f64,
    own: [f64; 2],
}

pub fn sharding(i: &Inputs<f64>, step: &Step<f64>, width: f64) -> Scene {
    let mut scene = Scene::new("how tensors are cut, one layer", width);
    let across = match width {
        w if w < 400.0 => 2,
        w if w < 700.0 => 3,
        _ => 5,
    };
    let wide = width / f64::from(across);
    let mut y = 4.0;
    for (n, cut) in cuts(i, step).iter().enumerate() {
        let column = n % across as usize;
        if n > 0 && column == 0 {
            y += 150.0;
        }
        draw(&mut scene, i, cut, [column as f64 * wide + 4.0, y], wide - 12.0);
    }
    scene.height = y + 150.0;
    scene
}

fn cuts(i: &Inputs<f64>, step: &Step<f64>) -> Vec<Cut> {
    let sh = &step.shards;
    let (queries, keys) = (i.q_heads * i.h, i.kv_heads * i.h);
    let shared = if i.kv_split { i.tp } else { i.tp.min(i.kv_heads) };
    let own_keys = sh.kh * i.h;
    let columns = |name, width, parts, own| Cut {
        name,
        rows: i.d,
        columns: width,
        row_parts: 1.0,
        column_parts: parts,
        own: [i.d, own],
    };
    let rows = |name, height, parts, own| Cut {
        name,
        rows: height,
        columns: i.d,
        row_parts: parts,
        column_parts: 1.0,
        own: [own, i.d],
    };
    let cache = |name| Cut {
        name,
        rows: i.s,
        columns: keys,
        row_parts: i.cp,
        column_parts: shared,
        own: [sh.s_local, own_keys],
    };
    let ffn = sh.ffn_divisor * i.ep;
    let mut all = vec![
        columns("W_Q", queries, i.tp, sh.hq * i.h),
        columns("W_K", keys, shared, own_keys),
        columns("W_V", keys, shared, own_keys),
        rows("W_O", queries, i.tp, sh.hq * i.h),
        cache("K cache"),
        cache("V cache"),
    ];
    if i.ffn_matrices > 2.0 {
        all.push(columns("gate", i.f, ffn, sh.fp_held));
    }
    all.push(columns("up", i.f, ffn, sh.fp_held));
    all.push(rows("down", i.f, ffn, sh.fp_held));
    all
}

fn draw(scene: &mut Scene, i: &Inputs<f64>, cut: &Cut, [x, y]: [f64; 2], room: f64) {
    scene.text([x, y + 12.0], "start", "t strong", cut.name);
    let extents = format!("{} × {}", count(cut.rows), count(cut.columns));
    scene.text([x + room, y + 12.0], "end", "t2 small", extents);
    // The longer side fills its room; the other keeps at least a fifth of it.
    let shape = (cut.columns / cut.rows).clamp(0.2, 5.0);
    let (most_w, most_h) = (room, 86.0);
    let (w, h) = if shape > most_w / most_h { (most_w, most_w / shape) } else { (most_h * shape, most_h) };
    let (left, top) = (x, y + 20.0);
    scene.rect([left, top, w, h], "cube", "");
    let part = [w * (cut.own[1] / cut.columns).min(1.0), h * (cut.own[0] / cut.rows).min(1.0)];
    let note = format!("{} × {} of rank 0", three(cut.own[0]), three(cut.own[1]));
    scene.rect([left, top, part[0].max(1.0), part[1].max(1.0)], "part", note);
    if cut.column_parts <= LINES {
        for n in 1..(cut.column_parts as usize) {
            let at = left + w * n as f64 / cut.column_parts;
            scene.line([at, top], [at, top + h], "cut");
        }
    }
    if cut.row_parts <= LINES {
        for n in 1..(cut.row_parts as usize) {
            let at = top + h * n as f64 / cut.row_parts;
            scene.line([left, at], [left + w, at], "cut");
        }
    }
    let size = bytes(cut.own[0] * cut.own[1] * i.e);
    let parts = match (cut.row_parts > 1.0, cut.column_parts > 1.0) {
        (false, false) => "whole".to_string(),
        (true, false) => format!("{} in rows", cut.row_parts),
        (false, true) => format!("{} in columns", cut.column_parts),
        (true, true) => format!("{} × {}", cut.row_parts, cut.column_parts),
    };
    scene.text([x, y + 119.0], "start", "t2 small", parts);
    scene.text([x, y + 132.0], "start", "t2 small", format!("this PE {size}"));
}
