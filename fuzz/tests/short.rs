//! The short version: a thousand inputs a target.

use tilewright_fuzz::{MAX_MEMORY_KIB, Tally, Target, peak_memory_kib, run};

fn fed(target: Target) -> Tally {
    let tally = run(target, 1, 0, 1000);
    assert!(tally.finds.is_empty(), "{target:?}: {:#?}", tally.finds);
    // Damage that nothing survives, or that nothing notices, would find nothing.
    assert!((10..=900).contains(&tally.accepted), "{target:?} accepts {}", tally.accepted);
    assert!(peak_memory_kib().is_none_or(|kib| kib < MAX_MEMORY_KIB));
    tally
}

#[test]
fn a_thousand_texts_are_read_or_refused() {
    fed(Target::Tir);
}
#[test]
fn a_thousand_machines_are_loaded_or_refused() {
    fed(Target::Machine);
}
#[test]
fn a_thousand_command_lines_are_answered() {
    fed(Target::Flags);
}
#[test]
fn a_thousand_modules_are_refused_or_mean_the_same_after_every_pass() {
    fed(Target::Modules);
}
#[test]
fn a_thousand_models_are_read_or_refused() {
    fed(Target::Model);
}
#[test]
fn a_thousand_rows_of_other_programs_are_read_or_refused() {
    fed(Target::Peers);
}
