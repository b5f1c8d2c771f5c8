//! `cache ls`, `cache clear`, `cache path`: machine code that the NVIDIA driver made, kept for the next process.

use super::{Command, Context, Failure, Format, Outcome, Sheet, args};
use crate::registry::Kernels;
use clap::{Arg, ArgMatches};
use std::io;
use std::path::PathBuf;
use tilewright_cuda::cache::{self, Cache, Entry};

pub(super) struct CacheFolder;

impl Command for CacheFolder {
    fn name(&self) -> &'static str {
        "cache"
    }
    fn flags(&self, command: clap::Command, _: &Kernels) -> clap::Command {
        let dir = || {
            let arg = Arg::new("dir").long("dir").value_name("FOLDER").value_parser(clap::value_parser!(PathBuf));
            arg.help(format!("Another folder [default: {}, else the system's place for caches]", cache::VARIABLE))
        };
        let ls = clap::Command::new("ls").about("What is kept, the oldest first").args(args::output_args());
        let clear = clap::Command::new("clear").about("Remove all that is kept");
        let path = clap::Command::new("path").about("Print the folder; nothing if the cache is off");
        command
            .about("Show or clear the machine code that is kept for the next process")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true)
            .subcommands([ls.arg(dir()), clear.arg(dir()), path.arg(dir())])
    }
    fn run(&self, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
        let Some((what, sub)) = matches.subcommand() else { return Ok(Outcome::Done) }; // the parser requires one
        let cache = match sub.get_one::<PathBuf>("dir") {
            Some(dir) => Cache::at(dir, cache::MAX_BYTES),
            None => Cache::user(),
        };
        let Some(dir) = cache.dir() else {
            writeln!(cx.out, "the cache is off: {} is empty", cache::VARIABLE)?;
            return Ok(Outcome::Done);
        };
        let failed = |what| move |why: io::Error| Failure::from(cache::unusable(what, dir, &why));
        match what {
            "ls" => list(&cache.entries().map_err(failed("list"))?, args::format(sub), cx)?,
            "clear" => {
                let (files, bytes) = cache.clear().map_err(failed("clear"))?;
                let plural = if files == 1 { "" } else { "s" };
                writeln!(cx.out, "removed {files} file{plural}, {bytes} bytes, from {}", dir.display())?;
            }
            _ => writeln!(cx.out, "{}", dir.display())?,
        }
        Ok(Outcome::Done)
    }
}

fn list(entries: &[Entry], format: Format, cx: &mut Context<'_>) -> Result<(), Failure> {
    let mut sheet = Sheet::begin(cx.out, format, &["kernel", "bytes", "last_used_s_ago", "file"])?;
    for entry in entries {
        let kernel = entry.label().unwrap_or_else(|| "damaged; it will be made again".to_string());
        let age = entry.used.elapsed().unwrap_or_default().as_secs();
        let file = entry.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        sheet.row(&[kernel.into(), entry.bytes.into(), age.into(), file.as_str().into()])?;
    }
    let bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let held = format!("{bytes} bytes of at most {}", cache::MAX_BYTES);
    sheet.end(&vec![("held".to_string(), held)])?;
    Ok(())
}
