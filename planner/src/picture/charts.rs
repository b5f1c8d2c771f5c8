//! Curves of one deployment: roofline, batch, memory, time of a step.

use super::plot::{Axis, Mark, Plot, Point, Series};
use super::text::{Unit, count, three};
use super::{Scene, Subject};
use crate::memory::Memory;
use crate::options::Opt;
use crate::roofline::Roofline;

/// Contexts of the curves, in tokens: powers of two from 1 Ki to 2 Mi.
const CONTEXTS: std::ops::RangeInclusive<i32> = 10..=21;
/// Requests of the curves: powers of two from 1 to 2 Ki.
const REQUESTS: std::ops::RangeInclusive<i32> = 0..=11;

pub const HEIGHT: f64 = 300.0;

fn powers(range: std::ops::RangeInclusive<i32>) -> Vec<f64> {
    range.map(|power| 2f64.powi(power)).collect()
}

fn axis(label: &str, unit: Unit, log: bool) -> Axis {
    Axis { label: label.to_string(), unit, log, from_zero: !log }
}
fn line(name: &str, colour: usize, points: impl Iterator<Item = (f64, f64)>) -> Series {
    let points = points.map(|(x, y)| Point::at(x, y)).collect();
    Series { name: name.to_string(), colour, joined: true, dots: false, points }
}
fn upright(at: f64, text: String) -> Mark {
    Mark { at, text, vertical: true }
}

/// The part of the peak that a large batch reaches, against context.
pub fn utilisation(s: &Subject<'_>, width: f64) -> Scene {
    let contexts = powers(CONTEXTS);
    let at = |context: f64| s.roofline(|i| i.s = context).utilisation_at_s;
    let now = s.roofline(|_| ());
    Plot {
        title: "part of the peak that decode can reach".into(),
        x: axis("tokens of context", Unit::Count, true),
        y: axis("part of the peak, large batch", Unit::Percent, false),
        series: vec![line("", 0, contexts.iter().map(|c| (*c, at(*c))))],
        marks: vec![upright(now.balance_context, format!("L* {}", count(now.balance_context.floor())))],
        here: Some([s.inputs.s, now.utilisation_at_s]),
    }
    .draw(width, HEIGHT)
}

/// The time of a step and of a token, against requests.
pub fn batch(s: &Subject<'_>, width: f64) -> Scene {
    let requests = powers(REQUESTS);
    let of = |b: f64| s.roofline(|i| i.b = b);
    let now = s.roofline(|_| ());
    let stars = |r: &Roofline<f64>| {
        let mut marks = vec![
            upright(r.critical_batch, format!("B* {}", three(r.critical_batch))),
            upright(2.0 * r.critical_batch, format!("2B* {}", three(2.0 * r.critical_batch))),
        ];
        if r.knee_batch > 0.0 {
            marks.push(upright(r.knee_batch, format!("knee {}", three(r.knee_batch))));
        }
        marks
    };
    Plot {
        title: "decode on one PE, against requests".into(),
        x: axis("requests of a step", Unit::Count, true),
        y: axis("time", Unit::Seconds, true),
        series: vec![
            line("a step", 0, requests.iter().map(|b| (*b, of(*b).step_s))),
            line("a token of it", 1, requests.iter().map(|b| (*b, of(*b).per_token_s))),
        ],
        marks: stars(&now),
        here: Some([s.inputs.b, now.step_s]),
    }
    .draw(width, HEIGHT)
}

/// B* when the products of the machine, or its bandwidth, are scaled.
pub fn intensity(s: &Subject<'_>, width: f64) -> Scene {
    let factors: Vec<f64> = (-8..=8).map(|n| 2f64.powf(f64::from(n) / 4.0)).collect();
    let products = |by: f64| s.roofline(|i| i.peak = s.inputs.peak * by).critical_batch;
    let bandwidth = |by: f64| s.roofline(|i| i.w = s.inputs.w * by).critical_batch;
    let now = s.roofline(|_| ());
    Plot {
        title: "the batch that balances the machine".into(),
        x: axis("times the machine's own value", Unit::Plain, true),
        y: axis(&format!("B*; now {} FLOP/B", three(now.arithmetic_intensity)), Unit::Plain, true),
        series: vec![
            line("products of a PE", 0, factors.iter().map(|k| (*k, products(*k)))),
            line("bandwidth of HBM", 1, factors.iter().map(|k| (*k, bandwidth(*k)))),
        ],
        marks: vec![],
        here: Some([1.0, now.critical_batch]),
    }
    .draw(width, HEIGHT)
}

/// What a PE holds, when one of context and requests grows: K and V move, and with the option `transient` that too.
fn budget(
    s: &Subject<'_>,
    [title, label]: [&str; 2],
    values: &[f64],
    at: impl Fn(f64) -> Memory<f64>,
    here: f64,
    width: f64,
) -> Scene {
    let m = s.step.memory;
    let moves = s.options.has(Opt::Transient);
    let used =
        |m1: Memory<f64>| m.weights_bytes + if moves { m1.transient_bytes } else { m.transient_bytes } + m1.kv_bytes;
    Plot {
        title: title.into(),
        x: axis(label, Unit::Count, true),
        y: axis("bytes of a PE", Unit::Bytes, true),
        series: vec![
            line("used", 0, values.iter().map(|v| (*v, used(at(*v))))),
            line("K and V", 1, values.iter().map(|v| (*v, at(*v).kv_bytes))),
            line("weights", 2, values.iter().map(|v| (*v, m.weights_bytes))),
        ],
        marks: vec![Mark { at: m.budget_bytes, text: "HBM of a PE".into(), vertical: false }],
        here: Some([here, m.used_bytes]),
    }
    .draw(width, HEIGHT)
}

pub fn memory_context(s: &Subject<'_>, width: f64) -> Scene {
    let at = |context: f64| s.step_with(|i| i.s = context).memory;
    budget(s, ["memory against context", "tokens of context"], &powers(CONTEXTS), at, s.inputs.s, width)
}

pub fn memory_requests(s: &Subject<'_>, width: f64) -> Scene {
    let at = |b: f64| s.step_with(|i| i.b = b).memory;
    budget(s, ["memory against requests", "requests of a stage"], &powers(REQUESTS), at, s.inputs.b, width)
}

/// The first token and each that follows, against context.
pub fn steps(s: &Subject<'_>, width: f64) -> Scene {
    let contexts = powers(CONTEXTS);
    let time = |context: f64, decode: bool| {
        s.step_with(|i| {
            (i.s, i.decode) = (context, decode);
            i.t_q = 0.0;
        })
        .latency_s
    };
    Plot {
        title: "time to the first token, and of each after it".into(),
        x: axis("tokens of context", Unit::Count, true),
        y: axis("time", Unit::Seconds, true),
        series: vec![
            line("first token (TTFT)", 1, contexts.iter().map(|c| (*c, time(*c, false)))),
            line("each after it (TPOT)", 0, contexts.iter().map(|c| (*c, time(*c, true)))),
        ],
        marks: vec![],
        here: Some([s.inputs.s, s.step.latency_s]),
    }
    .draw(width, HEIGHT)
}
