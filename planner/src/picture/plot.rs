//! Curves and points over two axes.

use super::Scene;
use super::text::Unit;

/// An axis; its range is that of the data unless it is given.
#[derive(Clone, Debug)]
pub struct Axis {
    pub label: String,
    pub unit: Unit,
    pub log: bool,
    /// Of a linear axis: also show zero.
    pub from_zero: bool,
}

/// Points with one look.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    /// Which colour: 0 to 5.
    pub colour: usize,
    pub joined: bool,
    pub dots: bool,
    pub points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Drawn with an empty dot: not feasible.
    pub hollow: bool,
    /// A class of its own instead of the series' colour, as `e0` to `e3`.
    pub shade: Option<usize>,
}

impl Point {
    pub fn at(x: f64, y: f64) -> Point {
        Point { x, y, hollow: false, shade: None }
    }
}

/// A line across, with a word.
#[derive(Clone, Debug)]
pub struct Mark {
    pub at: f64,
    pub text: String,
    pub vertical: bool,
}

#[derive(Clone, Debug)]
pub struct Plot {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    pub marks: Vec<Mark>,
    /// The deployment itself.
    pub here: Option<[f64; 2]>,
}

/// Values on an axis, and where they lie.
struct Scale {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let part = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + (self.to - self.from) * part
    }
    fn has(&self, value: f64) -> bool {
        value >= self.low && value <= self.high
    }
}

const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 40.0;

impl Plot {
    pub fn draw(&self, width: f64, height: f64) -> Scene {
        let mut scene = Scene::new(self.title.clone(), width);
        let legend = self.legend(&mut scene, width);
        scene.height = height + legend;
        let points = || self.series.iter().flat_map(|s| &s.points);
        let here = self.here;
        let xs: Vec<f64> = points().map(|p| p.x).chain(here.map(|h| h[0])).collect();
        let ys: Vec<f64> = points().map(|p| p.y).chain(here.map(|h| h[1])).collect();
        let (Some(x), Some(y)) =
            (scale(&self.x, &xs, LEFT, width - RIGHT), scale(&self.y, &ys, legend + height - BOTTOM, legend + TOP))
        else {
            scene.text([width / 2.0, legend + height / 2.0], "middle", "t2", "no point is feasible");
            return scene;
        };
        axes(&mut scene, self, &x, &y);
        for mark in &self.marks {
            draw_mark(&mut scene, mark, &x, &y);
        }
        for series in &self.series {
            draw_series(&mut scene, self, series, &x, &y);
        }
        if let Some([hx, hy]) = here {
            scene.dot([x.at(hx), y.at(hy)], 7.0, "here", "this deployment");
        }
        scene
    }
    /// The names of the series, in a line or several; gives the height they take.
    fn legend(&self, scene: &mut Scene, width: f64) -> f64 {
        let named: Vec<&Series> = self.series.iter().filter(|s| !s.name.is_empty()).collect();
        let (mut x, mut y) = (LEFT, 14.0);
        for series in &named {
            let wide = 26.0 + 6.6 * series.name.chars().count() as f64;
            if x + wide > width && x > LEFT {
                (x, y) = (LEFT, y + 16.0);
            }
            scene.rect([x, y - 9.0, 10.0, 10.0], format!("f{}", series.colour), "");
            scene.text([x + 14.0, y], "start", "t", series.name.clone());
            x += wide;
        }
        if named.is_empty() { 0.0 } else { y + 4.0 }
    }
}

fn scale(axis: &Axis, values: &[f64], from: f64, to: f64) -> Option<Scale> {
    let usable = values.iter().copied().filter(|v| v.is_finite() && (!axis.log || *v > 0.0));
    let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        return None;
    }
    let (low, high) = if axis.log {
        // A flat curve gets an axis too.
        if high / low < 1.5 { (low / 2.0, high * 2.0) } else { (low / 1.08, high * 1.08) }
    } else {
        let low = if axis.from_zero { low.min(0.0) } else { low };
        let room = if high > low { (high - low) * 0.06 } else { 1.0 };
        (if axis.from_zero { low } else { low - room }, high + room)
    };
    Some(Scale { low, high, log: axis.log, from, to })
}

fn axes(scene: &mut Scene, plot: &Plot, x: &Scale, y: &Scale) {
    for tick in ticks(&plot.x, x) {
        let at = x.at(tick);
        scene.line([at, y.from], [at, y.to], "grid");
        scene.text([at, y.from + 14.0], "middle", "t2 small", plot.x.unit.show(tick));
    }
    for tick in ticks(&plot.y, y) {
        let at = y.at(tick);
        scene.line([x.from, at], [x.to, at], "grid");
        scene.text([x.from - 5.0, at + 3.5], "end", "t2 small", plot.y.unit.show(tick));
    }
    scene.line([x.from, y.from], [x.to, y.from], "axis");
    scene.line([x.from, y.from], [x.from, y.to], "axis");
    scene.text([(x.from + x.to) / 2.0, y.from + 32.0], "middle", "t2", plot.x.label.clone());
    scene.text([x.from + 4.0, y.to + 2.0], "start", "t2 small", plot.y.label.clone());
}

/// Up to eight round values of the axis.
fn ticks(axis: &Axis, scale: &Scale) -> Vec<f64> {
    if scale.log { log_ticks(axis, scale) } else { linear_ticks(scale) }
}

fn log_ticks(axis: &Axis, scale: &Scale) -> Vec<f64> {
    // What comes in powers of two is marked in them.
    let base: f64 = if axis.unit == Unit::Count { 2.0 } else { 10.0 };
    // A power that rounding put just outside is meant.
    let first = (scale.low.ln() / base.ln() - 1e-9).ceil();
    let last = (scale.high.ln() / base.ln() + 1e-9).floor();
    let powers = last - first + 1.0;
    if base == 10.0 && powers < 3.0 {
        let mut all = Vec::new();
        for power in 0..=(powers as usize + 1) {
            for digit in [1.0, 2.0, 5.0] {
                let value = digit * base.powf(first - 1.0 + power as f64);
                if scale.has(value) {
                    all.push(value);
                }
            }
        }
        return all;
    }
    let step = (powers / 8.0).ceil().max(1.0);
    let count = ((last - first) / step).floor().max(0.0) as usize;
    (0..=count).map(|i| base.powf(first + step * i as f64)).filter(|v| scale.has(*v)).collect()
}

fn linear_ticks(scale: &Scale) -> Vec<f64> {
    let rough = (scale.high - scale.low) / 6.0;
    let power = 10f64.powf((rough.ln() / 10f64.ln() + 1e-9).floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough).unwrap_or(power * 10.0);
    let first = (scale.low / step - 1e-9).ceil();
    let count = ((scale.high / step + 1e-9).floor() - first).max(0.0) as usize;
    (0..=count).map(|i| (first + i as f64) * step).collect()
}

fn draw_mark(scene: &mut Scene, mark: &Mark, x: &Scale, y: &Scale) {
    let scale = if mark.vertical { x } else { y };
    if !(mark.at.is_finite() && scale.has(mark.at)) {
        return;
    }
    let at = scale.at(mark.at);
    if mark.vertical {
        scene.line([at, y.from], [at, y.to], "mark");
        let (anchor, dx) = if at > (x.from + x.to) / 2.0 { ("end", -4.0) } else { ("start", 4.0) };
        // Marks side by side say their word at heights of their own.
        let before = scene.shapes.iter().filter(|s| matches!(s, super::Shape::Line { class, .. } if class == "mark"));
        let row = (before.count() - 1) % 4;
        scene.text([at + dx, y.to + 16.0 + 13.0 * row as f64], anchor, "markt small", mark.text.clone());
    } else {
        scene.line([x.from, at], [x.to, at], "limit");
        scene.text([x.to - 4.0, at - 4.0], "end", "t small", mark.text.clone());
    }
}

fn draw_series(scene: &mut Scene, plot: &Plot, series: &Series, x: &Scale, y: &Scale) {
    let shown: Vec<&Point> = series.points.iter().filter(|p| x.has(p.x) && y.has(p.y)).collect();
    if series.joined {
        scene.curve(shown.iter().map(|p| [x.at(p.x), y.at(p.y)]).collect(), format!("line s{}", series.colour));
    }
    if !series.dots {
        return;
    }
    // Of points that lie on each other, the first is drawn.
    let mut taken = std::collections::HashSet::new();
    for point in shown {
        let at = [x.at(point.x), y.at(point.y)];
        let cell = (((at[0] / 2.0 + 0.5).floor()) as i64, ((at[1] / 2.0 + 0.5).floor()) as i64);
        if !taken.insert(cell) {
            continue;
        }
        let (r, class) = match (point.hollow, point.shade) {
            (true, _) => (3.4, format!("hollow s{}", series.colour)),
            (false, Some(shade)) => (2.4, format!("e{shade}")),
            (false, None) => (3.4, format!("f{}", series.colour)),
        };
        let note = format!("{}, {}", plot.x.unit.show(point.x), plot.y.unit.show(point.y));
        scene.dot(at, r, class, note);
    }
}
