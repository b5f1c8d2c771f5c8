//! A figure as PNG: its SVG, painted.

use super::svg::Svg;
use super::{Figure, Format};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::Arc;

pub struct Png;

/// Pixels for one unit of the SVG, so that lines stay fine on screens of today.
const PIXELS: f32 = 2.0;

impl Format for Png {
    fn ending(&self) -> &'static str {
        "png"
    }
    fn render(&self, figure: &Figure) -> Result<Vec<u8>, String> {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_source(fontdb::Source::Binary(Arc::new(epaint_default_fonts::UBUNTU_LIGHT)));
        let family = fonts.faces().next().and_then(|face| face.families.first()).map(|family| family.0.clone());
        fonts.set_sans_serif_family(family.ok_or("the font has no name")?);
        let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
        let text = String::from_utf8(Svg.render(figure)?).map_err(|e| e.to_string())?;
        let tree = Tree::from_str(&text, &options).map_err(|e| e.to_string())?;
        let side = |length: f32| (length * PIXELS).ceil() as u32;
        let mut pixels =
            Pixmap::new(side(tree.size().width()), side(tree.size().height())).ok_or("the figure is empty")?;
        resvg::render(&tree, Transform::from_scale(PIXELS, PIXELS), &mut pixels.as_mut());
        pixels.encode_png().map_err(|e| e.to_string())
    }
}
