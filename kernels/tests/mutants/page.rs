//! `docs/mutants.md`, from what the suite found.

use super::change::Kind;
use super::subject::By;
use std::collections::BTreeMap;
use std::fmt::Write;

/// One mutant and what became of it.
pub struct Outcome {
    pub program: &'static str,
    pub kind: Kind,
    pub by: By,
    /// Of a survivor: the changed line, and why nothing changes.
    pub survivor: Option<(String, String)>,
}

const HEAD: &str = "# Seeded faults

Each program is changed in one place, and the change must be found: by the verifier, by the check before the run (messages;
`depth`: queues), in a run of the reference interpreter with all its checks (places outside a view, races, reads of
unwritten elements, messages, division by zero, too many steps), by other values in another order of the programs, by
elements that are never written, or, as the last line, by values that disagree with the f64 reference. Whatever shows lines
must show, first of all, a line that takes part: the changed one, one whose place follows from it, or its partner (the
other end of the queue, the other side of the race). Unchanged, every program passes all of this in every order. Written by
`UPDATE_DOCS=1 cargo test -p tilewright-kernels --test mutants`.

";

pub fn page(outcomes: &[Outcome]) -> String {
    let mut out = String::from(HEAD);
    let of = |by: &[By]| outcomes.iter().filter(|o| by.contains(&o.by)).count();
    let (alive, values) = (of(&[By::Nobody]), of(&[By::Values, By::Order, By::NeverWritten]));
    let (all, caught) = (outcomes.len(), outcomes.len() - alive);
    let equal = outcomes.iter().filter(|o| o.survivor.is_some()).count();
    writeln!(
        out,
        "{all} mutants: {equal} change nothing, as a test shows for each; of the other {}, {} are found with their lines, \
         {values} by what they compute alone. Kill rate {}, false alarms 0.\n",
        all - equal,
        caught - values,
        percent(caught, all - equal),
    )
    .unwrap();
    table(&mut out, "program", outcomes, |o| format!("`{}`", o.program));
    table(&mut out, "change", outcomes, |o| o.kind.name().to_string());
    out += "What changes nothing, and what the test shows of it:\n\n";
    let mut survivors: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for o in outcomes {
        if let Some((code, why)) = &o.survivor {
            survivors.entry(why).or_default().push(format!("  - `{}`, {}: `{code}`", o.program, o.kind.name()));
        }
    }
    for (why, list) in survivors {
        writeln!(out, "- {why} ({}):\n{}", list.len(), list.join("\n")).unwrap();
    }
    out
}

/// A row for each name, in the order of their first mutants; a column for each detector.
fn table(out: &mut String, head: &str, outcomes: &[Outcome], name: impl Fn(&Outcome) -> String) {
    let mut names: Vec<String> = Vec::new();
    for o in outcomes {
        let name = name(o);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let columns: Vec<&str> = By::ALL.iter().map(|by| by.name()).collect();
    writeln!(out, "| {head} | mutants | {} | killed |", columns.join(" | ")).unwrap();
    writeln!(out, "|---{}|", "|---".repeat(By::ALL.len() + 2)).unwrap();
    let mut row = |title: &str, of: &dyn Fn(&Outcome) -> bool| {
        let count = |by: By| outcomes.iter().filter(|o| of(o) && o.by == by).count();
        let mutants: usize = By::ALL.iter().map(|by| count(*by)).sum();
        let equal = outcomes.iter().filter(|o| of(o) && o.survivor.is_some()).count();
        let cells: Vec<String> = By::ALL.iter().map(|by| count(*by).to_string()).collect();
        let killed = percent(mutants - count(By::Nobody), mutants - equal);
        writeln!(out, "| {title} | {mutants} | {} | {killed} |", cells.join(" | ")).unwrap();
    };
    for wanted in &names {
        row(wanted, &|o| name(o) == *wanted);
    }
    row("all", &|_| true);
    out.push('\n');
}

/// Rounded down: a mutant that is missed shows.
fn percent(part: usize, all: usize) -> String {
    (100 * part).checked_div(all).map_or("-".to_string(), |n| format!("{n} %"))
}
