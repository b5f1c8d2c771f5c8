//! Command lines of the whole `tilewright` program, in this process, their output thrown away. They end where arguments
//! are read, or soon after: what would run a kernel names a machine that does not exist, or is tiny and timed only.

use crate::{Answer, Input};
use std::ffi::OsString;
use tilewright_cli::app;
use tilewright_core::diag::{Color, render};
use tilewright_harness::cli::Failure;
use tilewright_test_random::Source;

const COMMANDS: [&str; 9] = ["run", "ir", "verify", "explain", "sweep", "bench", "help", "run", "ir"];
const WORDS: [&str; 62] = [
    "vector_add",
    "row_softmax",
    "matmul",
    "gqa_decode",
    "gqa_decode:mode=A1",
    "matmul:m=3,n=4",
    "vector_add:n=",
    "vector_add:",
    "row_softmax:=,",
    "nothing",
    "x.tir",
    "missing/x.tir",
    "file",
    "sim",
    "decode",
    "TW-E0101",
    "TW-E9999",
    "tw-e0401",
    "--machine",
    "ahbm",
    "missing.toml",
    "--machine=",
    "--set",
    "hbm.slice_rate=1 GB/s",
    "queue.depth=0",
    "nonsense",
    "--json",
    "--csv",
    "--quiet",
    "-q",
    "-qq",
    "--seed",
    "--target",
    "reference",
    "cuda",
    "ptx-emu",
    "--grid",
    "1x8",
    "0x0",
    "8x8x8x8",
    "x",
    "99999999999999999999x8",
    "--queue-depth",
    "--timing-only",
    "--help",
    "-h",
    "--version",
    "-V",
    "--list",
    "--stage",
    "traced",
    "ptx",
    "--loc",
    "--",
    "-",
    "",
    "é",
    "--mode=B",
    "--elem=f16",
    "--n=7",
    "--tokens=1",
    "--runs",
];

pub fn input(from: &mut Source<'_>) -> Input {
    let args = if from.once_in(16) { tiny(from) } else { stopped(from) };
    let shown = format!("{args:?}");
    let args = std::iter::once("tilewright".to_string()).chain(args).map(OsString::from).collect();
    Input { shown, check: Box::new(move || check(args)) }
}
/// Any arguments; what runs a kernel meets a machine that is not there.
fn stopped(from: &mut Source<'_>) -> Vec<String> {
    let command = if from.once_in(12) { from.one_of(&WORDS) } else { from.one_of(&COMMANDS) };
    let mut args = vec![command.to_string()];
    for _ in 0..from.below(7) {
        args.push(word(from));
    }
    if !["ir", "explain", "help"].contains(&command) {
        args.push("--machine=missing/machine.toml".to_string());
    }
    args
}
fn word(from: &mut Source<'_>) -> String {
    match from.below(6) {
        0 => from.number(),
        1 => {
            let word = from.one_of(&WORDS);
            from.damaged(word, &WORDS)
        }
        2 => format!("{}={}", from.one_of(&WORDS), from.number()),
        _ => from.one_of(&WORDS).to_string(),
    }
}
/// A kernel so small that any launch of it is over at once.
fn tiny(from: &mut Source<'_>) -> Vec<String> {
    let mut args = vec!["run".to_string(), "vector_add".to_string(), format!("--n={}", from.below(300))];
    args.push("--timing-only".to_string());
    for _ in 0..from.below(3) {
        args.push(match from.below(5) {
            0 => format!("--grid={}x{}", from.number(), from.number()),
            1 => format!("--queue-depth={}", from.number()),
            2 => format!("--target={}", from.one_of(&["sim", "reference", "cuda", "gpu"])),
            3 => {
                format!("--set={}", from.one_of(&["queue.depth=1", "hbm.slice_rate=1 GB/s", "cpu.clock=2 GHz", "x=1"]))
            }
            _ => from.one_of(&["--json", "--quiet"]).to_string(),
        });
    }
    args
}

/// A result, or an error with a code, or the parser's own words.
fn check(args: Vec<OsString>) -> Result<Answer, String> {
    match app().dispatch(args, &mut std::io::sink()) {
        Ok(_) => Ok(Answer::Accepted),
        Err(Failure::Usage(e)) => {
            let text = e.render().to_string();
            if text.is_empty() { Err("a usage error without words".into()) } else { Ok(Answer::Refused) }
        }
        Err(Failure::Output(e)) => Err(format!("a sink cannot be written: {e}")),
        Err(Failure::Errors(refused)) => {
            let texts: Vec<String> = refused.0.iter().map(|d| render(d, Color::Never)).collect();
            let coded = !texts.is_empty() && texts.iter().all(|t| t.starts_with("error[TW-E"));
            if coded { Ok(Answer::Refused) } else { Err(format!("refused without a code: {texts:?}")) }
        }
    }
}
