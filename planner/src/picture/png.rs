//! A picture as PNG.

use super::Scene;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg;
use std::sync::Arc;

/// `scale` pixels of the file for one of the scene. The font comes with the program, so that machines without fonts give
/// the same picture.
///
/// # Panics
/// Never for a scene of this crate: each is valid SVG of a few thousand pixels, as the tests paint it.
pub fn png(scene: &Scene, scale: f32) -> Vec<u8> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_source(usvg::fontdb::Source::Binary(Arc::new(epaint_default_fonts::UBUNTU_LIGHT)));
    let family = fonts.faces().next().and_then(|face| face.families.first()).map(|family| family.0.clone());
    // The only family that is there.
    fonts.set_sans_serif_family(family.expect("the font has a name"));
    let options = usvg::Options { fontdb: Arc::new(fonts), ..usvg::Options::default() };
    let tree = usvg::Tree::from_str(&scene.svg(), &options).expect("a scene is valid SVG");
    let side = |length: f64| (length * f64::from(scale)).ceil() as u32;
    let mut pixels = Pixmap::new(side(scene.width), side(scene.height)).expect("a picture is a few thousand pixels");
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().expect("a vector takes every byte")
}
