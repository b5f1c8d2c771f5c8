//! The stages of a layer in their order, coloured by what each waits for.

use super::Scene;
use super::text::time;
use crate::stages::{Part, Row, StageId};
use crate::step::Step;

const BOX: f64 = 40.0;
const GAP: f64 = 6.0;

/// Attention with its ring and score sum above S5 to S7, then the FFN; below each, a strip with the share of each stage.
pub fn pipeline(step: &Step<f64>, phase_passes: f64, width: f64) -> Scene {
    let mut scene = Scene::new("a layer, stage by stage", width);
    let rows: Vec<&Row<f64>> = step.rows.present().collect();
    let of = |ids: &[&str]| -> Vec<&Row<f64>> { rows.iter().copied().filter(|r| ids.contains(&r.id.name())).collect() };
    let part = |name: &str| -> Vec<&Row<f64>> { rows.iter().copied().filter(|r| part_of(r.id) == name).collect() };
    let before = of(&["S1", "S2", "S3", "S4"]);
    let core = of(&["S5", "S6", "S7", "SA"]);
    let beside = of(&["C1", "C3"]);
    let after = of(&["S8", "S9", "S10", "C2"]);
    let ffn = part("ffn");
    let narrow = width < 600.0;
    let wide = (width - 8.0) / if narrow { 7.0 } else { 11.0 } - GAP;
    let mut y = 16.0;
    scene.text([4.0, y], "start", "t strong", format!("attention, {} a layer", time(step.attention_visible_s)));
    // Room for the boxes beside the core and for its loop.
    let room = beside.len() as f64 * 22.0 + 26.0;
    y += 14.0 + if narrow { 0.0 } else { room };
    let mut x = 4.0;
    for (part, is_core) in [(&before, false), (&core, true), (&after, false)] {
        if narrow && x > 4.0 {
            (x, y) = (4.0, y + BOX + 12.0 + if is_core { room } else { 0.0 });
        }
        if is_core && !core.is_empty() {
            let span = core.len() as f64 * (wide + GAP) - GAP;
            around(&mut scene, &beside, [x, y, span], phase_passes);
        }
        for row in part {
            stage(&mut scene, row, [x, y, wide, BOX]);
            x += wide + GAP;
        }
    }
    y += BOX + 8.0;
    strip(&mut scene, &part("attention"), step.attention_visible_s, y, width);
    y += 38.0;
    scene.text([4.0, y], "start", "t strong", format!("FFN, {} a layer", time(step.ffn_visible_s)));
    y += 10.0;
    let mut x = 4.0;
    for row in &ffn {
        stage(&mut scene, row, [x, y, wide, BOX]);
        x += wide + GAP;
    }
    y += BOX + 8.0;
    strip(&mut scene, &ffn, step.ffn_visible_s, y, width);
    y += 38.0;
    let once = part("step");
    if !once.is_empty() {
        scene.text([4.0, y], "start", "t strong", "once a step");
        y += 10.0;
        let mut x = 4.0;
        for row in once {
            stage(&mut scene, row, [x, y, wide, BOX]);
            x += wide + GAP;
        }
        y += BOX + 26.0;
    }
    let mut x = 4.0;
    for bound in ["compute", "memory", "comm", "trivial"] {
        scene.rect([x, y - 9.0, 10.0, 10.0], bound, "");
        scene.text([x + 14.0, y], "start", "t2", bound);
        x += 80.0;
    }
    scene.height = y + 8.0;
    scene
}

fn stage(scene: &mut Scene, row: &Row<f64>, [x, y, w, h]: [f64; 4]) {
    let note = format!("{} {}: {}", row.id.name(), row.id.what(), time(row.visible_s));
    scene.rect([x, y, w, h], row.bound().name(), note);
    scene.text([x + w / 2.0, y + 16.0], "middle", "t3 strong", row.id.name());
    scene.text([x + w / 2.0, y + 31.0], "middle", "t3 small", time(row.visible_s));
}

/// What runs at the same time as the core, and how often the core is passed.
fn around(scene: &mut Scene, beside: &[&Row<f64>], [x, y, span]: [f64; 3], passes: f64) {
    for (i, row) in beside.iter().enumerate() {
        let top = y - 22.0 * (i as f64 + 1.0);
        let note = format!("{} {}: {}", row.id.name(), row.id.what(), time(row.visible_s));
        scene.rect([x, top, span, 18.0], row.bound().name(), note);
        let text = format!("{} {}", row.id.name(), time(row.visible_s));
        scene.text([x + span / 2.0, top + 13.0], "middle", "t3 small", text);
    }
    let top = y - 22.0 * beside.len() as f64 - 4.0;
    scene.arc([x + span, top], [[x + span, top - 22.0], [x, top - 22.0]], [x, top], "wrap");
    scene.text([x + span / 2.0, top - 19.0], "middle", "t2 small", format!("× {passes}"));
}

/// The part of the time that each stage takes.
fn strip(scene: &mut Scene, rows: &[&Row<f64>], total: f64, y: f64, width: f64) {
    let mut x = 4.0;
    for row in rows {
        let long = if total > 0.0 { row.visible_s / total * (width - 8.0) } else { 0.0 };
        if long < 0.3 {
            continue;
        }
        let note = format!("{}: {}", row.id.name(), time(row.visible_s));
        scene.rect([x, y, (long - 1.0).max(0.3), 10.0], row.bound().name(), note);
        if long > 22.0 {
            scene.text([x + long / 2.0, y + 20.0], "middle", "t2 tiny", row.id.name());
        }
        x += long;
    }
}

/// The part of a step that a stage belongs to, as the page names it.
pub fn part_of(id: StageId) -> &'static str {
    match id.part() {
        Part::Attention => "attention",
        Part::Ffn => "ffn",
        Part::Step => "step",
    }
}
