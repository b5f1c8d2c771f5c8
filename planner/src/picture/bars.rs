//! Bars to both sides of a line: how far each knob moves a figure.

use super::Scene;
use super::text::three;

/// A row: what was turned, and what both turns change, as parts of the figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Swing {
    pub name: String,
    pub doubled: f64,
    pub halved: f64,
}

/// Largest first; bars to the left shorten the time, to the right they lengthen it.
pub fn tornado(title: &str, swings: &[Swing], width: f64) -> Scene {
    let mut scene = Scene::new(title, width);
    let size = |s: &Swing| s.doubled.abs().max(s.halved.abs());
    let mut rows: Vec<&Swing> = swings.iter().collect();
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let widest = rows.iter().map(|s| size(s)).fold(0.0, f64::max);
    let label = if width < 500.0 { 96.0 } else { 150.0 };
    let middle = label + (width - label) / 2.0;
    let scale = ((width - label) / 2.0 - 52.0) / if widest > 0.0 { widest } else { 1.0 };
    scene.text([middle - 6.0, 14.0], "end", "t2 small", "shorter");
    scene.text([middle + 6.0, 14.0], "start", "t2 small", "longer");
    for (i, row) in rows.iter().enumerate() {
        let y = 22.0 + 26.0 * i as f64;
        scene.text([label - 8.0, y + 13.0], "end", "t", row.name.clone());
        bar(&mut scene, "doubled", row.doubled, middle, scale, y);
        bar(&mut scene, "halved", row.halved, middle, scale, y);
    }
    scene.height = 22.0 + 26.0 * rows.len() as f64 + 4.0;
    scene.line([middle, 18.0], [middle, scene.height - 4.0], "axis");
    scene
}

fn bar(scene: &mut Scene, turn: &str, change: f64, middle: f64, scale: f64, y: f64) {
    let percent = change * 100.0;
    // Below what the label can show.
    if percent.abs() < 0.0005 {
        return;
    }
    let long = change.abs() * scale;
    let sign = if change < 0.0 { "−" } else { "+" };
    let text = format!("{sign}{} %", three(percent.abs()));
    let note = format!("{turn}: {text}");
    if change < 0.0 {
        scene.rect([middle - long, y, long, 18.0], "better", note);
        scene.text([middle - long - 4.0, y + 13.0], "end", "t small", text);
    } else {
        scene.rect([middle, y, long, 18.0], "worse", note);
        scene.text([middle + long + 4.0, y + 13.0], "start", "t small", text);
    }
}
