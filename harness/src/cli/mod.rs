//! The command line that every tilewright program has. A command is one file here and one line in [`App::new`]; a
//! program may add its own ([`App::command`]). `args.rs`: flags that commands share. `pick.rs`: kernels on the command
//! line. `sheet.rs`, `progress.rs`: what goes to standard output and to standard error.
//!
//! Kept true: results go to standard output, everything else to standard error; no panic and no broken pipe shows a
//! backtrace; the exit code is one of [`Outcome`]'s and [`Failure`]'s.

mod args;
mod cache;
mod explain;
mod internal;
mod ir;
mod machine;
mod pick;
mod progress;
mod run;
mod sheet;
mod verify;
mod watching;

pub use args::{Common, Format, machine_args, output_args};
pub use progress::{Progress, note};
pub use sheet::{Cell, Facts, Sheet};

use crate::errors;
use crate::registry::Kernels;
use clap::ArgMatches;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use tilewright_core::diag::{CodePage, Color, Diagnostic, Diagnostics, render};

/// Runs the command line for these kernels: the whole `main` of a program.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     tilewright_harness::cli_main(tilewright_harness::kernels![])
/// }
/// ```
pub fn cli_main(kernels: Kernels) -> ExitCode {
    App::new(kernels).main()
}

/// One command: its flags, and what it does.
pub trait Command: Sync {
    fn name(&self) -> &'static str;
    /// The command with its flags; only its name is already there.
    fn flags(&self, command: clap::Command, kernels: &Kernels) -> clap::Command;
    /// Does the work; results to `cx.out`.
    ///
    /// # Errors
    /// Whatever keeps the command from its result.
    fn run(&self, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure>;
}

/// What a command works with.
pub struct Context<'a> {
    pub kernels: &'a Kernels,
    /// Standard output. Flushed when the command ends, and by whoever wants rows to appear at once.
    pub out: &'a mut dyn Write,
    /// All error codes of this program, by code.
    pub pages: &'a [CodePage],
}

/// How a command that worked ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Exit code 0.
    Done,
    /// A kernel's values are wrong, or a point of a sweep failed: exit code 2.
    KernelError,
    /// A result differs from the one it was checked against: exit code 4.
    CheckMiss,
}

/// Why a command did not work.
#[derive(Debug)]
pub enum Failure {
    /// Exit code 2 if the kernel or its IR is at fault, else 1.
    Errors(Diagnostics),
    /// Standard output cannot be written; a reader that went away is no failure.
    Output(io::Error),
    /// A usage error in the words of the parser of arguments: exit code 1.
    Usage(clap::Error),
}

/// A command line under construction.
pub struct App {
    kernels: Kernels,
    commands: Vec<&'static dyn Command>,
}

impl App {
    pub fn new(kernels: Kernels) -> App {
        App {
            kernels,
            commands: vec![
                &run::Run,
                &ir::Ir,
                &verify::Verify,
                &machine::MachineFile,
                &cache::CacheFolder,
                &explain::Explain,
            ],
        }
    }
    /// Adds a command.
    pub fn command(mut self, command: &'static dyn Command) -> App {
        self.commands.push(command);
        self
    }
    /// Reads the arguments of the process and does what they say.
    pub fn main(self) -> ExitCode {
        ExitCode::from(self.run(std::env::args_os().collect()))
    }
    /// Does what these arguments say, the first being the program's name; gives the exit code.
    pub fn run(self, args: Vec<OsString>) -> u8 {
        internal::guarded(|| self.exit_code(args))
    }
    fn exit_code(&self, args: Vec<OsString>) -> u8 {
        // Not `LineWriter`: a table of thousands of rows is written in large pieces.
        let mut out = io::BufWriter::new(io::stdout().lock());
        let result = self.dispatch(args, &mut out);
        let flushed = out.flush().map_err(Failure::Output);
        match result.and_then(|outcome| flushed.map(|()| outcome)) {
            Ok(outcome) => outcome.exit_code(),
            Err(failure) => failure.report(),
        }
    }
    /// The same with results to `out`, and without the last word: errors go back to the caller, panics on.
    ///
    /// # Errors
    /// Whatever keeps the command from its result; what cannot be read as arguments, `--help` and `--version`.
    pub fn dispatch(&self, args: Vec<OsString>, out: &mut dyn Write) -> Result<Outcome, Failure> {
        self.kernels.check(&[pick::FILE], &pick::reserved())?;
        let args = pick::expand(args, &self.kernels)?;
        let matches = self.parser().try_get_matches_from(args)?;
        let pages = self.pages();
        let mut cx = Context { kernels: &self.kernels, out, pages: &pages };
        let chosen = matches.subcommand().and_then(|(name, sub)| Some((self.find(name)?, sub)));
        match chosen {
            Some((command, sub)) => command.run(sub, &mut cx),
            None => Ok(Outcome::Done), // the parser requires a command
        }
    }
    fn find(&self, name: &str) -> Option<&'static dyn Command> {
        self.commands.iter().copied().find(|c| c.name() == name)
    }
    fn parser(&self) -> clap::Command {
        let root = clap::Command::new("tilewright")
            .about("Kernels over tiles: run, time, print and verify them")
            .version(env!("CARGO_PKG_VERSION"))
            .subcommand_required(true)
            .arg_required_else_help(true);
        self.commands.iter().fold(root, |root, c| root.subcommand(c.flags(clap::Command::new(c.name()), &self.kernels)))
    }
    fn pages(&self) -> Vec<CodePage> {
        let tables = crate::codes().chain(self.kernels.codes().iter().copied());
        let mut pages: Vec<CodePage> = tables.flatten().copied().collect();
        pages.sort_by_key(|p| p.code);
        pages
    }
}

impl Outcome {
    fn exit_code(self) -> u8 {
        match self {
            Outcome::Done => 0,
            Outcome::KernelError => 2,
            Outcome::CheckMiss => 4,
        }
    }
}

impl Failure {
    /// Tells the user; gives the exit code.
    fn report(&self) -> u8 {
        match self {
            Failure::Output(e) if e.kind() == io::ErrorKind::BrokenPipe => 0,
            Failure::Output(e) => {
                print_errors(&errors::unwritable(Path::new("standard output"), e).into());
                1
            }
            Failure::Usage(e) => {
                let _ = e.print(); // a reader that went away
                u8::from(e.use_stderr())
            }
            Failure::Errors(errors) => {
                print_errors(errors);
                if errors.0.iter().any(is_kernel_error) { 2 } else { 1 }
            }
        }
    }
}

/// Codes 01xx to 03xx: the kernel, its IR, or its run is at fault. The others: how it was asked for.
fn is_kernel_error(d: &Diagnostic) -> bool {
    matches!(d.code.as_bytes().get(..6), Some(b"TW-E01" | b"TW-E02" | b"TW-E03"))
}

/// All errors on standard error, in colour if that is a terminal and `NO_COLOR` is not set.
fn print_errors(errors: &Diagnostics) {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let color = if wanted && io::stderr().is_terminal() { Color::Always } else { Color::Never };
    let mut err = io::stderr().lock();
    for d in &errors.0 {
        // Nobody is left to be told if standard error is gone.
        let _ = writeln!(err, "{}\n", render(d, color));
    }
}

impl From<Diagnostics> for Failure {
    fn from(d: Diagnostics) -> Failure {
        Failure::Errors(d)
    }
}
impl From<Diagnostic> for Failure {
    fn from(d: Diagnostic) -> Failure {
        Failure::Errors(d.into())
    }
}
impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Failure {
        Failure::Output(e)
    }
}
impl From<clap::Error> for Failure {
    fn from(e: clap::Error) -> Failure {
        Failure::Usage(e)
    }
}
