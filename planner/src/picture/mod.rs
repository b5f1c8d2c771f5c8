//! Pictures of a deployment. A picture is a [`Scene`]: plain shapes with classes, which `svg` writes, `png` paints, and
//! the report page draws. `plot.rs` and `bars.rs` are the two kinds of charts; each other file is one picture or a
//! family of them; `views.rs` lists all.
//!
//! Kept true: a scene is a function of figures alone, and coordinates are rounded, so that the page's JavaScript twin
//! (`report/js/pictures`) gives the same text; a test compares the two.

mod bars;
mod charts;
mod pe;
mod pipeline;
mod plot;
mod png;
mod searches;
mod sip;
mod tensors;
pub mod text;
mod views;

pub use pipeline::part_of;
pub use png::{paint, png};
pub use searches::knob_label;
pub use views::{Subject, VIEWS, View, view};

use std::fmt::Write;

/// Colours and fonts of all pictures, by class.
pub const STYLE: &str = include_str!("style.css");

/// Shapes on a canvas; lengths are pixels of an unscaled picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    pub title: String,
    pub width: f64,
    pub height: f64,
    pub shapes: Vec<Shape>,
}

/// One shape. `class` is a class of [`STYLE`].
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Rect {
        x: f64,
        y: f64,
        w: f64,
        h: f64,
        class: String,
        /// Shown when the pointer rests on it; may be empty.
        note: String,
    },
    Line {
        x1: f64,
        y1: f64,
        x2: f64,
        y2: f64,
        class: String,
    },
    Curve {
        points: Vec<[f64; 2]>,
        class: String,
    },
    /// A cubic from `from` to `to`.
    Arc {
        from: [f64; 2],
        over: [[f64; 2]; 2],
        to: [f64; 2],
        class: String,
    },
    Dot {
        x: f64,
        y: f64,
        r: f64,
        class: String,
        note: String,
    },
    Text {
        x: f64,
        y: f64,
        /// `start`, `middle` or `end`.
        anchor: &'static str,
        class: String,
        text: String,
    },
}

impl Scene {
    pub fn new(title: impl Into<String>, width: f64) -> Scene {
        Scene { title: title.into(), width, height: 0.0, shapes: Vec::new() }
    }
    pub fn rect(&mut self, [x, y, w, h]: [f64; 4], class: impl Into<String>, note: impl Into<String>) {
        self.shapes.push(Shape::Rect { x, y, w, h, class: class.into(), note: note.into() });
    }
    pub fn line(&mut self, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], class: &str) {
        self.shapes.push(Shape::Line { x1, y1, x2, y2, class: class.into() });
    }
    pub fn curve(&mut self, points: Vec<[f64; 2]>, class: impl Into<String>) {
        self.shapes.push(Shape::Curve { points, class: class.into() });
    }
    pub fn arc(&mut self, from: [f64; 2], over: [[f64; 2]; 2], to: [f64; 2], class: &str) {
        self.shapes.push(Shape::Arc { from, over, to, class: class.into() });
    }
    pub fn dot(&mut self, [x, y]: [f64; 2], r: f64, class: impl Into<String>, note: impl Into<String>) {
        self.shapes.push(Shape::Dot { x, y, r, class: class.into(), note: note.into() });
    }
    pub fn text(&mut self, [x, y]: [f64; 2], anchor: &'static str, class: &str, text: impl Into<String>) {
        self.shapes.push(Shape::Text { x, y, anchor, class: class.into(), text: text.into() });
    }
    /// The shapes as SVG elements, without the outer one.
    pub fn body(&self) -> String {
        self.shapes.iter().map(element).collect()
    }
    /// A file of its own, with its style.
    pub fn svg(&self) -> String {
        let (w, h, title) = (number(self.width), number(self.height), escaped(&self.title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
             class=\"picture\"><title>{title}</title><style>{STYLE}</style>\
             <rect width=\"{w}\" height=\"{h}\" class=\"paper\"/>{}</svg>\n",
            self.body()
        )
    }
}

fn element(shape: &Shape) -> String {
    let n = |x: &f64| number(*x);
    let closed = |tag: &str, note: &str| match note {
        "" => "/>".to_string(),
        note => format!("><title>{}</title></{tag}>", escaped(note)),
    };
    match shape {
        Shape::Rect { x, y, w, h, class, note } => {
            let end = closed("rect", note);
            format!("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{class}\"{end}", n(x), n(y), n(w), n(h))
        }
        Shape::Line { x1, y1, x2, y2, class } => {
            format!("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{class}\"/>", n(x1), n(y1), n(x2), n(y2))
        }
        Shape::Curve { points, class } => {
            let mut all = String::new();
            for [x, y] in points {
                let _ = write!(all, "{}{},{}", if all.is_empty() { "" } else { " " }, n(x), n(y));
            }
            format!("<polyline points=\"{all}\" class=\"{class}\"/>")
        }
        Shape::Arc { from, over: [a, b], to, class } => {
            let at = |p: &[f64; 2]| format!("{} {}", n(&p[0]), n(&p[1]));
            format!("<path d=\"M {} C {}, {}, {}\" class=\"{class}\"/>", at(from), at(a), at(b), at(to))
        }
        Shape::Dot { x, y, r, class, note } => {
            let end = closed("circle", note);
            format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" class=\"{class}\"{end}", n(x), n(y), n(r))
        }
        Shape::Text { x, y, anchor, class, text } => {
            let text = escaped(text);
            format!("<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>", n(x), n(y))
        }
    }
}

/// To a tenth of a pixel, as JavaScript prints it.
fn number(x: f64) -> String {
    // Half rounds up on both sides; the sum turns -0 into 0.
    format!("{}", (x * 10.0 + 0.5).floor() / 10.0 + 0.0)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
