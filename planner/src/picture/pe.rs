//! What each PE of a group of cp ranks holds.

use super::Scene;
use super::text::{bytes, three};
use crate::inputs::Inputs;
use crate::step::Step;

/// Most PEs that are drawn.
const SHOWN: usize = 16;

/// The ranks of tp of cp rank 0, and the bytes of any of them.
pub fn layout(i: &Inputs<f64>, step: &Step<f64>, width: f64) -> Scene {
    let mut scene = Scene::new("what a PE holds", width);
    let y = ranks_of_cp(&mut scene, i, width);
    let ranks = (i.tp as usize).min(SHOWN);
    let columns = (if width < 500.0 { 3 } else { 8 }).min(ranks);
    let wide = ((width - 8.0) / columns as f64).min(150.0);
    for rank in 0..ranks {
        let (column, row) = (rank % columns, rank / columns);
        pe(&mut scene, i, rank as f64, [4.0 + column as f64 * wide, y + row as f64 * 62.0, wide - 6.0, 56.0]);
    }
    let mut y = y + ranks.div_ceil(columns) as f64 * 62.0 + 6.0;
    if i.tp > ranks as f64 {
        scene.text([4.0, y + 8.0], "start", "t2", format!("and {} more ranks of tp", i.tp - ranks as f64));
        y += 20.0;
    }
    memory(&mut scene, step, y, width);
    scene
}

fn ranks_of_cp(scene: &mut Scene, i: &Inputs<f64>, width: f64) -> f64 {
    let shown = i.cp.min(32.0);
    let text = format!("drawn: rank 0 of {} of cp, {} tokens of context each", i.cp, (i.s / i.cp).floor());
    scene.text([4.0, 14.0], "start", "t", text);
    let wide = ((width - 8.0) / shown).min(26.0);
    for rank in 0..shown as usize {
        let at = [4.0 + rank as f64 * wide, 22.0, wide - 3.0, 12.0];
        scene.rect(at, format!("r{}", rank % 12), format!("cp {rank}"));
        if rank == 0 {
            scene.rect([at[0] - 2.0, at[1] - 2.0, at[2] + 4.0, at[3] + 4.0], "frame", "");
        }
    }
    48.0
}

fn pe(scene: &mut Scene, i: &Inputs<f64>, rank: f64, [x, y, w, h]: [f64; 4]) {
    scene.rect([x, y, w, h], "panel", "");
    scene.rect([x, y, w, 4.0], "r0", "");
    scene.text([x + 6.0, y + 18.0], "start", "t strong", format!("tp {rank}"));
    scene.text([x + 6.0, y + 33.0], "start", "t small", query_heads(i, rank));
    scene.text([x + 6.0, y + 47.0], "start", "t small", kv_heads(i, rank));
}

fn query_heads(i: &Inputs<f64>, rank: f64) -> String {
    let edge = |r: f64| (r * i.q_heads / i.tp + 0.5).floor();
    span("Q", edge(rank), edge(rank + 1.0))
}

/// Contiguous, or one that several ranks share.
fn kv_heads(i: &Inputs<f64>, rank: f64) -> String {
    if i.tp <= i.kv_heads {
        let edge = |r: f64| (r * i.kv_heads / i.tp + 0.5).floor();
        return span("KV", edge(rank), edge(rank + 1.0));
    }
    // The ranks of a head follow each other; where they do not divide, some heads have one more.
    let head = (rank * i.kv_heads / i.tp).floor();
    let first = |head: f64| (head * i.tp / i.kv_heads).ceil();
    let ranks = first(head + 1.0) - first(head);
    match (ranks > 1.0, i.kv_split) {
        (false, _) => format!("KV {head}"),
        (true, true) => format!("KV {head}, part {} of {ranks}", rank - first(head) + 1.0),
        (true, false) => format!("KV {head}, one of {ranks}"),
    }
}

fn span(what: &str, first: f64, end: f64) -> String {
    match end - first {
        n if n <= 0.0 => format!("{what} none"),
        1.0 => format!("{what} {first}"),
        _ => format!("{what} {first}–{}", end - 1.0),
    }
}

/// One bar against the budget.
fn memory(scene: &mut Scene, step: &Step<f64>, top: f64, width: f64) {
    let m = &step.memory;
    let parts = [
        ("attention weights", "f0", m.attention_weights_bytes),
        ("FFN weights", "f2", m.ffn_weights_bytes),
        ("other weights", "f5", (m.weights_bytes - m.attention_weights_bytes - m.ffn_weights_bytes).max(0.0)),
        ("KV", "f1", m.kv_bytes),
        ("transient", "f3", m.transient_bytes),
    ];
    let whole = m.budget_bytes.max(m.used_bytes);
    let long = width - 8.0;
    let used = format!(
        "each PE holds {} of {} ({} %)",
        bytes(m.used_bytes),
        bytes(m.budget_bytes),
        three(m.used_bytes / m.budget_bytes * 100.0)
    );
    scene.text([4.0, top + 12.0], "start", "t strong", used);
    let y = top + 20.0;
    scene.rect([4.0, y, long, 22.0], "free", format!("free: {}", bytes(m.slack_bytes)));
    let mut x = 4.0;
    for (name, class, size) in &parts {
        let part = size / whole * long;
        if part > 0.0 {
            scene.rect([x, y, part, 22.0], *class, format!("{name}: {}", bytes(*size)));
        }
        x += part;
    }
    if m.over_budget {
        let at = 4.0 + m.budget_bytes / whole * long;
        scene.line([at, y - 4.0], [at, y + 26.0], "mark");
        scene.text([at - 4.0, y + 36.0], "end", "markt small", "HBM ends here");
    }
    let mut y = y + 50.0;
    let mut x = 4.0;
    for (name, class, size) in parts {
        // What rounding leaves of a sum is no part.
        if size < 16.0 {
            continue;
        }
        let text = format!("{name} {}", bytes(size));
        let wide = 26.0 + 6.4 * text.chars().count() as f64;
        if x + wide > width && x > 4.0 {
            (x, y) = (4.0, y + 16.0);
        }
        scene.rect([x, y - 9.0, 10.0, 10.0], class, "");
        scene.text([x + 14.0, y], "start", "t", text);
        x += wide;
    }
    scene.height = y + 10.0;
}
