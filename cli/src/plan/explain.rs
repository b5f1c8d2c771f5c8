//! `plan explain`: the formula of any number, and the options.

use super::fault::told;
use super::stages::{explained_json, explained_lines, formula_line};
use super::{Answer, Asked, Query};
use clap::{Arg, ArgMatches};
use serde_json::json;
use tilewright_core::diag::Diagnostics;
use tilewright_planner::errors::Fault;
use tilewright_planner::explain::{explain, explain_stages};
use tilewright_planner::inputs::Inputs;
use tilewright_planner::options::Opt;
use tilewright_planner::view::Keyed;

pub(super) struct Explain;

impl Query for Explain {
    fn name(&self) -> &'static str {
        "explain"
    }
    fn about(&self) -> &'static str {
        "The formula behind a number, with the numbers in it: `stage S5`, `memory.kv`, `options`, or all"
    }
    fn flags(&self) -> Vec<Arg> {
        let help = "`stage NAME`, the name of a formula, `options`, or nothing for every formula";
        vec![Arg::new("what").value_name("WHAT").num_args(0..=2).help(help)]
    }
    fn answer(&self, asked: &Asked, matches: &ArgMatches) -> Result<Answer, Diagnostics> {
        let words: Vec<&String> = matches.get_many("what").into_iter().flatten().collect();
        let words: Vec<&str> = words.iter().map(|w| w.as_str()).collect();
        match words[..] {
            ["options"] => Ok(Answer::bare().main_rows("options", "options", Opt::ALL.iter().map(option).collect())),
            [] => Ok(formulas(asked, &asked.inputs()?, |_| true)),
            ["stage", name] | [name] => one(asked, &asked.inputs()?, name),
            [first, ..] => Err(unknown(asked, &asked.inputs()?, first)),
        }
    }
}

fn option(o: &Opt) -> Keyed {
    vec![("option", json!(o.name())), ("baseline", json!(o.baseline())), ("better", json!(o.better()))]
}

/// A stage, or a formula by its name.
fn one(asked: &Asked, inputs: &Inputs<f64>, name: &str) -> Result<Answer, Diagnostics> {
    let stages = explain_stages(inputs, &asked.machine, asked.options);
    let named = |name: &str| stages.iter().find(|s| s.id.name().eq_ignore_ascii_case(name));
    // With `kv-read`, S5 to S7 are one stage.
    let fused = || ["S5", "S6", "S7"].iter().any(|s| s.eq_ignore_ascii_case(name)).then(|| named("SA")).flatten();
    if let Some(stage) = named(name).or_else(fused) {
        return Ok(Answer::new(asked).value("explain", explained_json(stage)).lines(explained_lines(stage)));
    }
    if explain(inputs, asked.options).iter().any(|f| f.name == name) {
        return Ok(formulas(asked, inputs, |n| n == name));
    }
    Err(unknown(asked, inputs, name))
}

fn formulas(asked: &Asked, inputs: &Inputs<f64>, wanted: impl Fn(&str) -> bool) -> Answer {
    let all = explain(inputs, asked.options);
    let chosen: Vec<_> = all.into_iter().filter(|f| wanted(&f.name)).collect();
    let json: Vec<_> = chosen
        .iter()
        .map(|f| {
            json!({"name": f.name, "formula": f.formula, "numbers": f.numbers, "value": f.value, "unit": f.unit,
                   "reason": f.reason})
        })
        .collect();
    let line = |f: &tilewright_planner::formula::Substituted| {
        let reason = if f.reason.is_empty() { String::new() } else { format!("   # {}", f.reason) };
        format!("{}{reason}", formula_line(f).trim_start())
    };
    Answer::new(asked).value("formulas", json).lines(chosen.iter().map(line))
}

fn unknown(asked: &Asked, inputs: &Inputs<f64>, found: &str) -> Diagnostics {
    let stages = explain_stages(inputs, &asked.machine, asked.options);
    let formulas = explain(inputs, asked.options);
    let shown = formulas.into_iter().map(|f| f.name).filter(|n| !n.contains('.') || n.starts_with("memory."));
    let known =
        std::iter::once("options".to_string()).chain(stages.iter().map(|s| s.id.name().to_string())).chain(shown);
    told(Fault::Choice { what: "`plan explain`", found: found.to_string(), known: known.collect() })
}
