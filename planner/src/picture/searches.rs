//! What the searches find.

use super::bars::{Swing, tornado};
use super::charts::HEIGHT;
use super::plot::{Axis, Plot, Point, Series};
use super::text::Unit;
use super::{Scene, Subject};
use crate::cost::CostModel;
use crate::explore::{Exploration, explore};
use crate::hardware::{Depth, Knob, Query, search};
use crate::sensitivity::{KNOBS, parallelism};

fn axis(label: &str, unit: Unit) -> Axis {
    Axis { label: label.into(), unit, log: true, from_zero: false }
}

/// The feasible deployments: PEs, latency, and efficiency as a shade; those that none beats.
pub fn pareto(s: &Subject<'_>, width: f64) -> Scene {
    let x = explore(s.model, s.machine, s.topology.b, &s.work, s.options);
    let best = x.ranked.iter().map(|i| x.points[*i].efficiency).fold(0.0, f64::max);
    let shade = |efficiency: f64| if best > 0.0 { ((efficiency / best * 4.0).floor() as usize).min(3) } else { 0 };
    let all = x.ranked.iter().map(|i| {
        let p = &x.points[*i];
        Point { shade: Some(shade(p.efficiency)), ..Point::at(p.pes_used, p.latency_s) }
    });
    let series =
        |name: &str, colour, points, joined| Series { name: name.into(), colour, joined, dots: !joined, points };
    Plot {
        title: "every deployment of the grid that fits".into(),
        x: axis("PEs", Unit::Count),
        y: axis("time of a step; darker: more efficient", Unit::Seconds),
        series: vec![
            series("feasible", 0, all.collect(), false),
            series("fastest for its PEs", 4, frontier_line(&x), true),
        ],
        marks: vec![],
        here: Some([s.step.placed.total_pes, s.step.latency_s]),
    }
    .draw(width, HEIGHT + 40.0)
}

/// The frontier in two dimensions: each number of PEs that is faster than all below it.
fn frontier_line(x: &Exploration) -> Vec<Point> {
    let mut all: Vec<[f64; 2]> = x.ranked.iter().map(|i| [x.points[*i].pes_used, x.points[*i].latency_s]).collect();
    all.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let mut best = f64::INFINITY;
    let mut kept = Vec::new();
    for [pes, latency] in all {
        if latency < best {
            best = latency;
            kept.push(Point::at(pes, latency));
        }
    }
    kept
}

/// One knob of parallelism at a time; what does not fit is hollow.
pub fn knobs(s: &Subject<'_>, width: f64) -> Scene {
    let sensitivity = parallelism(s.model, s.machine, &s.topology, &s.work, s.options);
    let curve = |n: usize| {
        let samples = &sensitivity.samples[n].1;
        let points = samples.iter().filter_map(|sample| {
            let latency = sample.latency_s?;
            Some(Point { hollow: !sample.fits, ..Point::at(sample.value as f64, latency) })
        });
        Series { name: KNOBS[n].name.into(), colour: n, joined: true, dots: true, points: points.collect() }
    };
    Plot {
        title: "one knob of parallelism at a time".into(),
        x: axis("value of the knob; hollow: does not fit", Unit::Count),
        y: axis("time of a step", Unit::Seconds),
        series: (0..KNOBS.len()).map(curve).collect(),
        marks: vec![],
        here: None,
    }
    .draw(width, HEIGHT)
}

/// Each rate of the machine doubled and halved, the deployment kept.
pub fn machine_tornado(s: &Subject<'_>, width: f64) -> Scene {
    let now = s.step.latency_s;
    let with = |knob: Knob, by: f64| {
        let mut machine = *s.machine;
        knob.scale(&mut machine, by);
        s.step_with(|i| i.set_machine(&machine)).latency_s / now - 1.0
    };
    let swings: Vec<Swing> = Knob::ALL
        .iter()
        .map(|k| Swing { name: knob_label(*k).into(), doubled: with(*k, 2.0), halved: with(*k, 0.5) })
        .collect();
    tornado("each value of the machine doubled and halved", &swings, width)
}

pub fn knob_label(knob: Knob) -> &'static str {
    match knob {
        Knob::PeHbm => "HBM size",
        Knob::BwHbm => "HBM rate",
        Knob::Peak => "products",
        Knob::BwIntra => "link in a cube",
        Knob::BwInter => "link of cubes",
        Knob::BwIntersip => "link of SIPs",
    }
}

/// Each machine of the balanced grid with its best deployment: cost and latency, and those that none beats.
pub fn joint(s: &Subject<'_>, width: f64) -> Scene {
    let found = search(&Query {
        model: s.model,
        base: s.machine,
        work: s.work,
        b: s.topology.b,
        depth: Depth::Balanced,
        cost: CostModel::ASSUMED,
        options: s.options,
    });
    let points = |at: &mut dyn Iterator<Item = usize>| -> Vec<Point> {
        at.map(|i| Point::at(found.bests[i].cost, found.bests[i].point.latency_s)).collect()
    };
    let mut frontier = found.pareto.clone();
    frontier.sort_by(|a, b| found.bests[*a].cost.total_cmp(&found.bests[*b].cost));
    Plot {
        title: "machines with each value once and doubled".into(),
        x: Axis { label: "cost: sum of value over base".into(), unit: Unit::Plain, log: false, from_zero: false },
        y: axis("time of a step, best deployment", Unit::Seconds),
        series: vec![
            Series {
                name: "a machine".into(),
                colour: 0,
                joined: false,
                dots: true,
                points: points(&mut (0..found.bests.len())),
            },
            Series {
                name: "none is cheaper and faster".into(),
                colour: 4,
                joined: true,
                dots: false,
                points: points(&mut frontier.into_iter()),
            },
        ],
        marks: vec![],
        here: None,
    }
    .draw(width, HEIGHT)
}
