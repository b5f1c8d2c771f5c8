//! `ir KERNEL`: the traced program as text. `ir --list`: the listed instances, one shell word a line.
//! `--stage optimised`: after the passes, with what the launch makes known; `--remarks`: what the passes say.
//! `--stage layout`, `--stage ptx` (`gpu.rs`): what a GPU would run, and figures of it (`stats.rs`).
//! `ir FILE.tir`: reads, verifies and prints a file.

mod gpu;
mod stats;

use super::{Command, Context, Failure, Outcome, args, pick};
use crate::errors;
use crate::inputs::Inputs;
use crate::registry::{Instance, Kernels};
use crate::runtime::Runtime;
use clap::{Arg, ArgAction, ArgMatches, builder::PossibleValuesParser, value_parser};
use serde_json::json;
use std::io::Read;
use std::path::{Path, PathBuf};
use tilewright_core::diag::Diagnostics;
use tilewright_core::ir::{Module, text, verify};
use tilewright_core::passes::{self, facts::Known};

/// Limit on a file of untrusted text.
const MAX_BYTES: u64 = 16 << 20;

/// The stages: as the tracer made it, after the passes, which thread of a GPU holds what, the GPU's code.
const TRACED: &str = "traced";
const OPTIMISED: &str = "optimised";
const LAYOUT: &str = "layout";
const PTX: &str = "ptx";

pub(super) struct Ir;

impl Command for Ir {
    fn name(&self) -> &'static str {
        "ir"
    }
    fn flags(&self, command: clap::Command, kernels: &Kernels) -> clap::Command {
        let list = Arg::new("list").long("list").action(ArgAction::SetTrue).global(true);
        let stage = Arg::new("stage").long("stage").value_name("STAGE").default_value(TRACED).global(true);
        let remarks = Arg::new("remarks").long("remarks").action(ArgAction::SetTrue).global(true);
        let loc = Arg::new("loc").long("loc").action(ArgAction::SetTrue).global(true);
        let json = Arg::new("json").long("json").action(ArgAction::SetTrue).global(true);
        let file = Arg::new("path").value_name("FILE").required(true).value_parser(value_parser!(PathBuf));
        let stats = Arg::new("stats").long("stats").action(ArgAction::SetTrue).global(true);
        let command = command.about("Print the tile IR of a kernel or of a .tir file, or the PTX made of it").args([
            list.help("List the instances, one shell word a line: of one kernel, or of all"),
            stage
                .value_parser(PossibleValuesParser::new([TRACED, OPTIMISED, LAYOUT, PTX]))
                .help("Which form of the program"),
            remarks.help("With what the passes did, and why they did not (not with --stage traced)"),
            loc.help("With the source location of every op"),
            args::arch_arg().global(true).help("What GPU code is compiled for (with --stage layout and ptx)"),
            args::threads_arg().global(true),
            args::fast_math_arg().global(true),
            stats.help("With parameters, instructions, registers and the time it took, as comments (with --stage ptx)"),
            json.help("Results as JSON"),
        ]);
        let command =
            command.subcommand(clap::Command::new(pick::FILE).about("Read, verify and print a file").arg(file));
        pick::with_kernels(command, kernels)
    }
    fn run(&self, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
        let as_json = matches.get_flag("json");
        match matches.subcommand() {
            Some((name, _)) if matches.get_flag("list") => list(&Instance::all_of(cx.kernels.find(name)?), as_json, cx),
            None if matches.get_flag("list") => list(&cx.kernels.instances(), as_json, cx),
            None => Err(pick::no_kernel("ir", cx.kernels)),
            Some((pick::FILE, sub)) => {
                let path = sub.get_one::<PathBuf>("path").cloned().unwrap_or_default();
                let (name, module) = (path.display().to_string(), read(&path)?);
                match stage(sub) {
                    LAYOUT | PTX => gpu::print(&name, gpu::of_file(&module, sub)?, sub, cx),
                    _ => print(&name, &module, &Known::default(), sub, cx),
                }
            }
            Some((name, sub)) => {
                let instance = pick::instance(name, sub, cx.kernels)?;
                if let LAYOUT | PTX = stage(sub) {
                    return gpu::print(&instance.to_string(), gpu::of_kernel(&instance, sub)?, sub, cx);
                }
                let mut case = instance.case(Inputs::ShapesOnly, &Runtime::sim().limits())?;
                let ready = case.launch()?.ready()?;
                print(&instance.to_string(), &ready.module, &Known::of(&ready), sub, cx)
            }
        }
    }
}

fn stage(matches: &ArgMatches) -> &str {
    matches.get_one::<String>("stage").map_or(TRACED, String::as_str)
}

fn list(instances: &[Instance], as_json: bool, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
    if as_json {
        let rows = instances.iter().map(|i| json!({"instance": i.to_string(), "about": i.kernel.about()}));
        writeln!(cx.out, "{}", rows.collect::<serde_json::Value>())?;
    } else {
        instances.iter().try_for_each(|i| writeln!(cx.out, "{i}"))?;
    }
    Ok(Outcome::Done)
}

fn print(
    name: &str,
    traced: &Module,
    known: &Known,
    matches: &ArgMatches,
    cx: &mut Context<'_>,
) -> Result<Outcome, Failure> {
    let stage = stage(matches);
    let optimised = match stage {
        OPTIMISED => {
            let options = passes::Options { known: known.clone(), ..passes::Options::default() };
            Some(passes::optimise(traced, &options)?)
        }
        _ => None,
    };
    let module = optimised.as_ref().map_or(traced, |o| &o.module);
    let ir = if matches.get_flag("loc") { text::print_with_locs(module) } else { text::print(module) };
    let said = optimised.filter(|_| matches.get_flag("remarks"));
    if matches.get_flag("json") {
        let mut row = json!({"instance": name, "stage": stage, "ir": ir});
        if let Some(said) = said {
            row["remarks"] = said.remarks.iter().map(|r| json!(r.to_string())).collect();
            row["checks"] = json!(said.checks.counts().to_string());
        }
        writeln!(cx.out, "{row}")?;
        return Ok(Outcome::Done);
    }
    write!(cx.out, "{ir}")?;
    if let Some(said) = said {
        // As comments, so that the output is still a text that can be read back.
        said.remarks.iter().try_for_each(|remark| writeln!(cx.out, "// {remark}"))?;
        writeln!(cx.out, "// bounds: {}", said.checks.counts())?;
    }
    Ok(Outcome::Done)
}

/// A module from a file: parsed and verified.
fn read(path: &Path) -> Result<Module, Diagnostics> {
    let text = read_text(path).map_err(|why| errors::unreadable(path, why))?;
    let name = path.display().to_string();
    let module = text::parse(&text, &name).map_err(|fault| fault.diagnostic(&text, &name))?;
    verify(&module)?;
    Ok(module)
}

fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::other(format!("it is larger than {} MiB", MAX_BYTES >> 20)));
    }
    Ok(text)
}
