//! Kernels on the command line: each is a subcommand whose flags are its parameters. An instance
//! (`gqa_decode:mode=A1`) is short for the kernel with flags, and is written out before the arguments are parsed.

use super::{Failure, args};
use crate::errors;
use crate::registry::{Instance, Kernel, Kernels, Param, Settings};
use clap::{Arg, ArgMatches, Command};
use std::ffi::OsString;

/// Reads a `.tir` file: the subcommand that stands where a kernel would.
pub(super) const FILE: &str = "file";

/// Commands whose first word is a kernel.
const TAKE_A_KERNEL: [&str; 2] = ["run", "ir"];

/// Names that no parameter of a kernel may have.
pub(super) fn reserved() -> Vec<String> {
    let mut all = args::machine_args();
    all.extend(args::output_args());
    all.extend(args::launch_args());
    all.extend([args::seed_arg(), args::no_check_arg(), args::target_arg()]);
    let long = all.iter().filter_map(Arg::get_long).map(str::to_string);
    long.chain(["help", "version", "list", "stage", "remarks", "loc", "arch", "stats"].map(str::to_string)).collect()
}

/// Writes instances and `.tir` files out as subcommands.
pub(super) fn expand(args: Vec<OsString>, kernels: &Kernels) -> Result<Vec<OsString>, Failure> {
    let takes_kernel = args.get(1).and_then(|a| a.to_str()).is_some_and(|a| TAKE_A_KERNEL.contains(&a));
    if !takes_kernel {
        return Ok(args);
    }
    let is_ir = args[1] == "ir";
    let mut out = args[..2].to_vec();
    let mut rest = args.into_iter().skip(2);
    for arg in rest.by_ref() {
        let text = arg.to_str().unwrap_or_default();
        // Before a kernel `--` would make its flags plain words, which nobody reads.
        if text == "--" && !out.iter().any(|a| a.to_str().is_some_and(|a| kernels.find(a).is_ok())) {
            continue;
        }
        let instance = text.split_once(':').filter(|(name, _)| kernels.find(name).is_ok());
        if let Some((name, _)) = instance {
            let settings = kernels.instance(text)?.settings;
            out.push(name.into());
            out.extend(settings.given().map(|(name, value)| format!("--{name}={value}").into()));
            break;
        }
        let file = is_ir && text.ends_with(".tir") && out.last().is_none_or(|last| last != FILE);
        if file {
            out.extend([FILE.into(), arg]);
            break;
        }
        out.push(arg);
    }
    out.extend(rest);
    Ok(out)
}

/// Adds one subcommand per kernel. The flags of `command` itself may stand before or after the kernel.
pub(super) fn with_kernels(command: Command, kernels: &Kernels) -> Command {
    let command = command
        .subcommand_value_name("KERNEL")
        .subcommand_help_heading("Kernels")
        .disable_help_subcommand(true)
        .allow_external_subcommands(true)
        .external_subcommand_value_parser(clap::value_parser!(OsString));
    kernels.iter().fold(command, |command, kernel| {
        let flags = kernel.params().iter().map(flag);
        let heading = format!("Parameters of {}", kernel.name());
        command.subcommand(Command::new(kernel.name()).about(kernel.about()).next_help_heading(heading).args(flags))
    })
}

fn flag(param: &'static Param) -> Arg {
    let help = format!("{} [{}] [default: {}]", param.help, param.values, param.default);
    Arg::new(param.name).long(param.name).value_name("VALUE").help(help).allow_hyphen_values(true)
}

/// The kernel that was named, with the values of its flags.
pub(super) fn instance(name: &str, matches: &ArgMatches, kernels: &Kernels) -> Result<Instance, Failure> {
    let word = name.split(':').next().unwrap_or(name);
    let kernel: &'static dyn Kernel = kernels.find(word)?;
    let given = |p: &Param| matches.get_one::<String>(p.name).map(|value| (p.name, value.clone()));
    let mut settings = Settings::new(kernel.params());
    for (name, value) in kernel.params().iter().filter_map(given) {
        settings = settings.with(name, value);
    }
    settings.check()?;
    Ok(Instance { kernel, settings })
}

/// The usage error for a command without a kernel.
pub(super) fn no_kernel(command: &str, kernels: &Kernels) -> Failure {
    errors::no_kernel(command, kernels).into()
}
