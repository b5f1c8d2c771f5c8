//! `plan explore`: every deployment of the grid, and the frontier.

use super::asked::count;
use super::fault::told;
use super::flags::flag;
use super::{Answer, Asked, Query};
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::{Value, json};
use tilewright_core::diag::Diagnostics;
use tilewright_planner::effects::{Figures, effects};
use tilewright_planner::explore::{Exploration, explore};
use tilewright_planner::sensitivity::parallelism;
use tilewright_planner::view::{self, Keyed};

pub(super) struct Explore;

impl Query for Explore {
    fn name(&self) -> &'static str {
        "explore"
    }
    fn about(&self) -> &'static str {
        "Search nine knobs of parallelism: the frontier of latency, PEs and efficiency"
    }
    fn flags(&self) -> Vec<Arg> {
        vec![
            flag("top", "N", "Also list the N fastest feasible deployments"),
            Arg::new("sensitivity")
                .long("sensitivity")
                .action(ArgAction::SetTrue)
                .help("Also vary one knob at a time around the fastest deployment of the frontier"),
        ]
    }
    fn answer(&self, asked: &Asked, matches: &ArgMatches) -> Result<Answer, Diagnostics> {
        let top = count(matches, "top").map_err(told)?.unwrap_or(0);
        let b = asked.topology.b;
        let x = explore(&asked.model, &asked.machine, b, &asked.work, asked.options);
        let effects = effects(asked.options, |o| figures(&explore(&asked.model, &asked.machine, b, &asked.work, o)));
        let rows = |at: &[usize]| -> Vec<Keyed> { at.iter().map(|i| view::point(&x.points[*i])).collect() };
        let shown = usize::try_from(top).unwrap_or(usize::MAX).min(x.ranked.len());
        let mut answer = Answer::new(asked).object("counts", "points", counts(&x)).main_rows(
            "pareto",
            "points that none beats in latency, PEs and efficiency",
            rows(&x.pareto),
        );
        for (key, value) in counts(&x) {
            answer = answer.value(key, value);
        }
        if shown > 0 {
            answer = answer.rows("fastest", "fastest feasible points", rows(&x.ranked[..shown]));
        }
        if matches.get_flag("sensitivity")
            && let Some(first) = x.pareto.first()
        {
            let around = &x.points[*first].topology;
            let s = parallelism(&asked.model, &asked.machine, around, &asked.work, asked.options);
            let samples = s.samples.iter().flat_map(|(name, all)| all.iter().map(|sample| view::sample(name, sample)));
            let title = "one knob at a time around the first point of the frontier";
            answer = answer.rows("sensitivity", title, samples.collect());
        }
        Ok(answer.effects(&effects))
    }
}

/// What options move in a search.
fn figures(x: &Exploration) -> Figures {
    let first = x.pareto.first().map(|i| &x.points[*i]);
    let of = |f: fn(&tilewright_planner::explore::Point) -> f64| first.map_or(0.0, f);
    vec![
        ("points", x.points.len() as f64),
        ("feasible", x.ranked.iter().map(|i| x.points[*i].count as f64).sum()),
        ("pareto_size", x.pareto.len() as f64),
        ("fastest_latency_ns", of(|p| p.latency_s * 1e9)),
        ("fastest_pes_used", of(|p| p.pes_used)),
        ("fastest_throughput_tok_per_s", of(|p| p.throughput_tok_per_s)),
    ]
}

fn counts(x: &Exploration) -> Keyed {
    let latency = |i: Option<&usize>| i.map_or(Value::Null, |i| json!(x.points[*i].latency_s * 1e9));
    let of = |test: fn(&tilewright_planner::explore::Point) -> bool| json!(x.points.iter().filter(|p| test(p)).count());
    vec![
        ("enumerated", json!(x.points.len())),
        ("feasible", json!(x.ranked.len())),
        ("fits_memory", of(|p| p.fits)),
        ("placement_valid", of(|p| p.placement_valid)),
        ("pareto_size", json!(x.pareto.len())),
        ("feasible_latency_min_ns", latency(x.ranked.first())),
        ("feasible_latency_max_ns", latency(x.ranked.last())),
    ]
}
