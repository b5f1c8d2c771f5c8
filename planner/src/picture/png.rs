//! A picture as PNG.

use super::Scene;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg;
use std::sync::Arc;

/// `scale` pixels of the file for one of the scene.
///
/// # Panics
/// Never for a scene of this crate: each is valid SVG of a few thousand pixels, as the tests paint it.
pub fn png(scene: &Scene, scale: f32) -> Vec<u8> {
    paint(&scene.svg(), scale).expect("a scene is valid SVG of a few thousand pixels")
}

/// Any SVG, painted. The font comes with the program, so that machines without fonts give the same picture.
///
/// # Errors
/// Why it cannot be painted.
pub fn paint(svg: &str, scale: f32) -> Result<Vec<u8>, String> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_source(usvg::fontdb::Source::Binary(Arc::new(epaint_default_fonts::UBUNTU_LIGHT)));
    let family = fonts.faces().next().and_then(|face| face.families.first()).map(|family| family.0.clone());
    // The only family that is there.
    fonts.set_sans_serif_family(family.ok_or("the font has no name")?);
    let options = usvg::Options { fontdb: Arc::new(fonts), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|e| e.to_string())?;
    let side = |length: f32| (length * scale).ceil() as u32;
    let mut pixels =
        Pixmap::new(side(tree.size().width()), side(tree.size().height())).ok_or("the picture is empty")?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| e.to_string())
}
