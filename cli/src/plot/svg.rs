//! A figure as SVG text, without styles or scripts, so that every viewer shows the same.

use super::scale::{Scale, label};
use super::{Axis, Body, Curve, Figure, Format};
use std::fmt::Write;

pub struct Svg;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
/// Edges of the drawing area; the legend is right of it.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 590.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 360.0;
/// Told apart by most eyes (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"];

impl Format for Svg {
    fn ending(&self) -> &'static str {
        "svg"
    }
    fn render(&self, figure: &Figure) -> Result<Vec<u8>, String> {
        let mut page = Page(String::new());
        page.draw(figure);
        let size = format!(r#"width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}""#);
        let open =
            format!(r#"<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">"#);
        Ok(format!("{open}\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}</svg>\n", page.0).into_bytes())
    }
}

/// The elements of a picture so far.
struct Page(String);

impl Page {
    fn draw(&mut self, figure: &Figure) {
        self.text((LEFT, 26.0), "start", "#000", 15, &figure.title);
        self.text(((LEFT + RIGHT) / 2.0, BOTTOM + 44.0), "middle", "#333", 12, &figure.x);
        let (x, y) = (18.0, (TOP + BOTTOM) / 2.0);
        let turned = format!(r##"text-anchor="middle" fill="#333" transform="rotate(-90 {x} {y})""##);
        self.element(format_args!(r#"<text x="{x}" y="{y}" {turned}>{}</text>"#, escaped(&figure.y)));
        match &figure.body {
            Body::Curves { curves, x, y, limits } => self.curves(curves, (*x, *y), limits),
            Body::Bars { groups, series } => self.bars(groups, series),
        }
        self.line((LEFT, BOTTOM), (RIGHT, BOTTOM), "#000", "");
        self.line((LEFT, TOP), (LEFT, BOTTOM), "#000", "");
    }
    fn curves(&mut self, curves: &[Curve], (x, y): (Axis, Axis), limits: &[(f64, String)]) {
        let points = || curves.iter().flat_map(|c| &c.points);
        let across = Scale::of(x, points().map(|p| p.0), LEFT + 14.0, RIGHT - 14.0);
        let up = Scale::of(y, points().map(|p| p.1).chain(limits.iter().map(|l| l.0)), BOTTOM, TOP + 8.0);
        self.heights(&up);
        let mut marked: Vec<f64> = points().map(|p| p.0).collect();
        marked.sort_by(f64::total_cmp);
        marked.dedup();
        // What was computed is what is marked, unless there is too much of it.
        let marked = if marked.len() <= 10 { marked } else { across.ticks() };
        for value in marked {
            let at = across.at(value);
            self.line((at, BOTTOM), (at, BOTTOM + 4.0), "#000", "");
            self.text((at, BOTTOM + 18.0), "middle", "#333", 12, &label(value));
        }
        for (value, word) in limits {
            let at = up.at(*value);
            self.line((LEFT, at), (RIGHT, at), "#a00", r#" stroke-dasharray="5 4""#);
            self.text((RIGHT - 4.0, at - 5.0), "end", "#a00", 11, word);
        }
        for (i, curve) in curves.iter().enumerate() {
            let shown = curve.points.iter().filter(|p| across.shows(p.0) && up.shows(p.1));
            let places: Vec<(f64, f64)> = shown.map(|p| (across.at(p.0), up.at(p.1))).collect();
            let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let colour = colour(i);
            self.element(format_args!(
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
                path.join(" ")
            ));
            for (x, y) in places {
                self.element(format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{colour}"/>"#));
            }
        }
        self.legend(curves.iter().map(|c| c.name.as_str()));
    }
    fn bars(&mut self, groups: &[String], series: &[(String, Vec<f64>)]) {
        let up = Scale::of(Axis::Linear, series.iter().flat_map(|s| s.1.iter().copied()), BOTTOM, TOP + 8.0);
        self.heights(&up);
        let room = (RIGHT - LEFT) / groups.len().max(1) as f64;
        let wide = room * 0.8 / series.len().max(1) as f64;
        for (g, group) in groups.iter().enumerate() {
            let left = LEFT + room * (g as f64 + 0.1);
            for (s, value) in series.iter().enumerate().filter_map(|(s, (_, values))| Some((s, *values.get(g)?))) {
                let (top, x) = (up.at(value), left + wide * s as f64);
                let (colour, high) = (colour(s), BOTTOM - top);
                self.element(format_args!(
                    r#"<rect x="{x:.1}" y="{top:.1}" width="{wide:.1}" height="{high:.1}" fill="{colour}"/>"#
                ));
            }
            // Names that do not fit side by side stand on two heights.
            let crowded = room < 7.0 * group.chars().count() as f64;
            let lower = if crowded && g % 2 == 1 { 13.0 } else { 0.0 };
            self.text((left + room * 0.4, BOTTOM + 16.0 + lower), "middle", "#333", 11, group);
        }
        self.legend(series.iter().map(|s| s.0.as_str()));
    }
    /// Grid and labels of the axis that goes up.
    fn heights(&mut self, up: &Scale) {
        for tick in up.ticks() {
            let at = up.at(tick);
            self.line((LEFT, at), (RIGHT, at), "#ddd", "");
            self.text((LEFT - 6.0, at + 4.0), "end", "#333", 12, &label(tick));
        }
    }
    fn legend<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        for (i, name) in names.enumerate() {
            let (x, y, colour) = (RIGHT + 16.0, TOP + 10.0 + 19.0 * i as f64, colour(i));
            let top = y - 9.0;
            self.element(format_args!(r#"<rect x="{x}" y="{top}" width="11" height="11" fill="{colour}"/>"#));
            self.text((x + 17.0, y), "start", "#000", 12, name);
        }
    }
    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str, more: &str) {
        self.element(format_args!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{colour}"{more}/>"#
        ));
    }
    fn text(&mut self, (x, y): (f64, f64), anchor: &str, colour: &str, size: u32, text: &str) {
        let text = escaped(text);
        self.element(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{text}</text>"#
        ));
    }
    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{element}");
    }
}

fn colour(i: usize) -> &'static str {
    COLOURS[i % COLOURS.len()]
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
