//! `plan stages`: a step, stage by stage.

use super::{Answer, Asked, Query};
use clap::ArgMatches;
use serde_json::json;
use tilewright_core::diag::Diagnostics;
use tilewright_planner::effects::{effects, step_figures};
use tilewright_planner::explain::{ExplainedStage, explain_stages};
use tilewright_planner::options::Opt;
use tilewright_planner::shapes::shapes;
use tilewright_planner::shards::uneven;
use tilewright_planner::step::step;
use tilewright_planner::view::{self, Keyed};

pub(super) struct Stages;

impl Query for Stages {
    fn name(&self) -> &'static str {
        "stages"
    }
    fn about(&self) -> &'static str {
        "Latency of a step, stage by stage, with memory and totals"
    }
    fn answer(&self, asked: &Asked, _: &ArgMatches) -> Result<Answer, Diagnostics> {
        let inputs = asked.inputs()?;
        let s = step(&inputs, asked.options);
        let shapes: Vec<Keyed> = shapes(&inputs, &s)
            .iter()
            .map(|x| {
                vec![
                    ("stage", json!(x.stage.name())),
                    ("input_shapes", json!(x.inputs)),
                    ("weight_shapes", json!(x.weights)),
                    ("output_shapes", json!(x.outputs)),
                ]
            })
            .collect();
        let mut answer = Answer::new(asked)
            .hidden_object("topology", view::topology(&asked.topology))
            .main_rows("stages", "stages, per PE and layer", s.rows.present().map(view::stage).collect())
            .object("derived", "what follows from the deployment", view::derived(&s))
            .object("memory", "memory of a PE", view::memory(&s))
            .object("totals", "totals", view::totals_more(&s));
        if asked.options.has(Opt::Ceil) {
            let rows = uneven(&inputs, &s.shards).into_iter().map(|u| -> Keyed {
                vec![
                    ("shards", json!(u.what)),
                    ("whole", view::number(u.whole)),
                    ("ranks", view::number(u.ranks)),
                    ("largest", view::number(u.largest)),
                    ("smallest", view::number(u.smallest)),
                ]
            });
            answer = answer.rows("uneven", "warning: uneven shards; the largest sets the pace", rows.collect());
        }
        if asked.explain {
            let explained = explain_stages(&inputs, &asked.machine, asked.options);
            answer = answer.rows("shapes", "shapes of tensors, per PE, in elements", shapes);
            answer = answer.value("explain", explained.iter().map(explained_json).collect::<Vec<_>>());
            answer = answer.lines(explained.iter().flat_map(explained_lines));
        }
        let figures = |o| step_figures(&inputs, o);
        Ok(answer.effects(&effects(asked.options, figures)))
    }
}

pub(super) fn explained_json(x: &ExplainedStage) -> serde_json::Value {
    let formulas: Vec<_> = x
        .formulas
        .iter()
        .map(|f| json!({"name": f.name, "formula": f.formula, "numbers": f.numbers, "value": f.value, "unit": f.unit}))
        .collect();
    json!({
        "stage": x.id.name(),
        "what": x.id.what(),
        "bound": x.bound.name(),
        "visible_s": x.visible_s,
        "first_knob": x.first_knob.map(|(knob, _)| knob.name()),
        "first_knob_gain_ratio": x.first_knob.map(|(_, gain)| gain),
        "formulas": formulas,
    })
}

pub(super) fn explained_lines(x: &ExplainedStage) -> Vec<String> {
    let knob = match x.first_knob {
        Some((knob, gain)) => format!("; double {} first: {:.1} % shorter", knob.name(), gain * 100.0),
        None => String::new(),
    };
    let mut lines = vec![format!("{} {}: {} bound{knob}", x.id.name(), x.id.what(), x.bound.name())];
    lines.extend(x.formulas.iter().map(formula_line));
    lines
}

pub(super) fn formula_line(f: &tilewright_planner::formula::Substituted) -> String {
    let value = if f.value.fract() == 0.0 && f.value.abs() < 1e15 {
        format!("{:.0}", f.value)
    } else {
        format!("{:.6e}", f.value)
    };
    let unit = if f.unit.is_empty() { String::new() } else { format!(" {}", f.unit) };
    if f.formula == f.numbers || f.formula == value {
        format!("  {} = {value}{unit}", f.name)
    } else if f.numbers == value {
        format!("  {} = {} = {value}{unit}", f.name, f.formula)
    } else {
        format!("  {} = {} = {} = {value}{unit}", f.name, f.formula, f.numbers)
    }
}
