//! A step told in formulas: what each stage does, with the numbers in it, and what would make it shorter.

use crate::formula::{Graph, Substituted, substituted};
use crate::hardware::Knob;
use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::options::Options;
use crate::stages::{Bound, StageId};
use crate::step::{formulas, step};

/// A stage in formulas.
#[derive(Clone, Debug)]
pub struct ExplainedStage {
    pub id: StageId,
    pub bound: Bound,
    pub visible_s: f64,
    /// The value of the machine whose doubling shortens the stage most, and the part of its time that goes.
    pub first_knob: Option<(Knob, f64)>,
    pub formulas: Vec<Substituted>,
}

/// Every stage that the deployment has. `machine` is the one in `inputs`.
pub fn explain_stages(inputs: &Inputs<f64>, machine: &Machine, o: Options) -> Vec<ExplainedStage> {
    let all = explain(inputs, o);
    let now = step(inputs, o);
    let doubled: Vec<_> = Knob::ALL
        .iter()
        .map(|knob| {
            let (mut machine, mut inputs) = (*machine, *inputs);
            knob.scale(&mut machine, 2.0);
            inputs.set_machine(&machine);
            (*knob, step(&inputs, o))
        })
        .collect();
    let stage = |row: &crate::stages::Row<f64>| {
        let of = |s: &crate::step::Step<f64>| s.rows.all().iter().find(|r| r.id == row.id).map_or(0.0, |r| r.visible_s);
        let gains = doubled.iter().map(|(knob, s)| (*knob, 1.0 - of(s) / row.visible_s));
        // The first of equals, so that ties go by the order of the knobs.
        let best = gains.filter(|(_, gain)| *gain > 0.0).reduce(|best, x| if x.1 > best.1 { x } else { best });
        let prefix = format!("{}.", row.id.name());
        ExplainedStage {
            id: row.id,
            bound: row.bound(),
            visible_s: row.visible_s,
            first_knob: best.filter(|_| row.visible_s > 0.0),
            formulas: all.iter().filter(|f| f.name.starts_with(&prefix)).cloned().collect(),
        }
    };
    now.rows.present().map(stage).collect()
}

/// Every formula of a step, with these inputs in it.
pub fn explain(inputs: &Inputs<f64>, o: Options) -> Vec<Substituted> {
    let (graph, _) = formulas(o);
    substituted(&graph, &inputs.values())
}

/// The formulas of a step with the general text of each: both arms of every choice.
pub fn general(o: Options) -> (Graph, Vec<(String, String)>) {
    let (graph, _) = formulas(o);
    let texts = graph.definitions.iter().map(|d| (d.name.clone(), crate::formula::formula_text(&graph, d))).collect();
    (graph, texts)
}
