//! Figures of a report: curves over an axis and groups of bars, as files. `scale.rs`: values to places. `svg.rs` draws a figure as
//! SVG text, `png.rs` paints that text; both are a [`Format`]. Not here: what a study shows (`sweep`).
//!
//! Kept true: a figure's bytes depend on its numbers alone; the font of the PNG comes with the program.

mod png;
mod scale;
mod svg;

pub use scale::Axis;

use std::path::Path;
use tilewright_core::diag::Diagnostics;
use tilewright_harness::errors::unwritable;

/// A picture with a title and a file name without its ending.
#[derive(Clone, Debug)]
pub struct Figure {
    pub file: String,
    pub title: String,
    /// What the two axes show, with units.
    pub x: String,
    pub y: String,
    pub body: Body,
}

#[derive(Clone, Debug)]
pub enum Body {
    Curves {
        curves: Vec<Curve>,
        x: Axis,
        y: Axis,
        /// Lines across, each with its word: a limit.
        limits: Vec<(f64, String)>,
    },
    Bars {
        groups: Vec<String>,
        /// One value a group; a bar beside those of the other series.
        series: Vec<(String, Vec<f64>)>,
    },
}

/// Points that belong together, in order of x.
#[derive(Clone, Debug)]
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// A way to write a figure.
pub trait Format {
    fn ending(&self) -> &'static str;
    /// # Errors
    /// The figure cannot be drawn; why.
    fn render(&self, figure: &Figure) -> Result<Vec<u8>, String>;
}

const FORMATS: [&dyn Format; 2] = [&svg::Svg, &png::Png];

/// Writes each figure in every format; makes the folder if it is not there. Returns the number of files.
///
/// # Errors
/// A file cannot be written.
pub fn write_all(dir: &Path, figures: &[Figure]) -> Result<usize, Diagnostics> {
    std::fs::create_dir_all(dir).map_err(|e| unwritable(dir, e))?;
    for figure in figures {
        for format in FORMATS {
            let path = dir.join(format!("{}.{}", figure.file, format.ending()));
            let bytes = format.render(figure).map_err(|e| unwritable(&path, e))?;
            std::fs::write(&path, bytes).map_err(|e| unwritable(&path, e))?;
        }
    }
    Ok(figures.len() * FORMATS.len())
}
