//! A figure as PNG: its SVG, painted.

use super::svg::Svg;
use super::{Figure, Format};
use tilewright_planner::picture::paint;

pub struct Png;

/// Pixels for one unit of the SVG, so that lines stay fine on screens of today.
const PIXELS: f32 = 2.0;

impl Format for Png {
    fn ending(&self) -> &'static str {
        "png"
    }
    fn render(&self, figure: &Figure) -> Result<Vec<u8>, String> {
        let text = String::from_utf8(Svg.render(figure)?).map_err(|e| e.to_string())?;
        paint(&text, PIXELS)
    }
}
