//! `.tir` texts: the shipped ones and those of the shipped kernels, damaged.

use crate::{Answer, Input};
use std::ffi::OsString;
use std::sync::LazyLock;
use tilewright_core::diag::{Color, Diagnostics, render};
use tilewright_core::ir::text::{parse, print, print_with_locs, read};
use tilewright_test_random::{Source, TIR_WORDS};

const FILES: [&str; 8] = [
    include_str!("../../tests/tir/every_op.tir"),
    include_str!("../../tests/tir/errors/control.tir"),
    include_str!("../../tests/tir/errors/kernel.tir"),
    include_str!("../../tests/tir/errors/memory.tir"),
    include_str!("../../tests/tir/errors/scopes.tir"),
    include_str!("../../tests/tir/errors/elementwise.tir"),
    include_str!("../../tests/tir/errors/shapes.tir"),
    include_str!("../../dsl-core/benches/decode.tir"),
];
/// Longer texts hold nothing that shorter ones do not, and take more time than they are worth.
const MAX_SEED: usize = 8000;

/// Every listed instance of every shipped kernel with its places, and the files, whole and kernel by kernel.
static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let kernel =
        |text: &str| -> Vec<String> { text.split("\nkernel ").skip(1).map(|k| format!("kernel {k}")).collect() };
    let files = FILES.iter().flat_map(|text| kernel(&format!("\n{text}")).into_iter().chain([(*text).to_string()]));
    files.chain(traced()).filter(|text| text.len() <= MAX_SEED).collect()
});
fn traced() -> Vec<String> {
    let say = |args: &[&str]| {
        let mut out = Vec::new();
        let args = ["tilewright"].iter().chain(args).map(OsString::from).collect();
        let _ = tilewright_cli::app().dispatch(args, &mut out); // no text is no seed
        String::from_utf8(out).unwrap_or_default()
    };
    let instances = say(&["ir", "--list"]);
    instances.lines().map(|instance| say(&["ir", instance, "--loc"])).collect()
}

pub fn input(from: &mut Source<'_>) -> Input {
    let seed = &TEXTS[from.below(TEXTS.len())];
    let text = from.damaged(seed, &TIR_WORDS);
    let shown = text.clone();
    Input { shown, check: Box::new(move || check(&text)) }
}

/// What is read reads back as printed, with and without places; what is refused says where and with a code.
pub fn check(text: &str) -> Result<Answer, String> {
    let module = match read(text, "k.tir") {
        Ok(module) => module,
        Err(refused) => return drawn(&refused),
    };
    for printed in [print(&module), print_with_locs(&module)] {
        match parse(&printed, "k.tir") {
            Ok(again) if again == module => {}
            Ok(_) => return Err(format!("reads back as another module:\n{printed}")),
            Err(e) => return Err(format!("{e}: its own text is refused:\n{printed}")),
        }
    }
    Ok(Answer::Accepted)
}
fn drawn(refused: &Diagnostics) -> Result<Answer, String> {
    for d in &refused.0 {
        let text = render(d, Color::Never);
        if !text.starts_with("error[TW-E02") {
            return Err(format!("refused without a code of the IR:\n{text}"));
        }
    }
    if refused.0.is_empty() { Err("refused without a reason".into()) } else { Ok(Answer::Refused) }
}
