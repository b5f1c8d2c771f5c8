//! `explain CODE`: the page on an error code, with an example. `explain --list`: all codes, one a line.

mod examples;

use super::{Command, Context, Failure, Outcome};
use crate::errors;
use crate::registry::Kernels;
use clap::{Arg, ArgAction, ArgMatches};

const WIDTH: usize = 100;

pub(super) struct Explain;

impl Command for Explain {
    fn name(&self) -> &'static str {
        "explain"
    }
    fn flags(&self, command: clap::Command, _: &Kernels) -> clap::Command {
        let code = Arg::new("code").value_name("CODE").help("The code that an error shows, such as TW-E0312");
        let list = Arg::new("list").long("list").action(ArgAction::SetTrue).help("List all codes");
        command
            .about("What an error code means and what to do")
            .args([code.required_unless_present("list"), list.conflicts_with("code")])
    }
    fn run(&self, matches: &ArgMatches, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
        match matches.get_one::<String>("code") {
            Some(code) => page(code, cx),
            None => list(cx),
        }
    }
}

fn page(code: &str, cx: &mut Context<'_>) -> Result<Outcome, Failure> {
    let wanted = full(code);
    let page = cx.pages.iter().find(|p| p.code == wanted);
    let page = page.ok_or_else(|| errors::unknown_code(&wanted, cx.pages.iter().map(|p| p.code)))?;
    writeln!(cx.out, "{}: {}\n\n{}", page.code, page.title, wrapped(page.page))?;
    if let Some(example) = examples::of(page.code) {
        let parts = [("Example", example.wrong), ("Says", example.message), ("Instead", example.right)];
        parts.iter().try_for_each(|(title, text)| write!(cx.out, "\n{title}:\n\n{}", indented(text)))?;
    }
    Ok(Outcome::Done)
}

/// Paragraphs filled to a readable width; indented lines are examples and stay as they are.
fn wrapped(page: &str) -> String {
    let line = |l: &str| if l.starts_with(' ') { l.to_string() } else { textwrap::fill(l, WIDTH) };
    page.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_string() } else { format!("    {line}\n") }).collect()
}

/// `312`, `E0312` and `tw-e0312` are all `TW-E0312`.
fn full(code: &str) -> String {
    let upper = code.trim().to_uppercase();
    let digits = upper.trim_start_matches("TW-").trim_start_matches('E');
    match digits.parse::<u32>() {
        Ok(n) => format!("TW-E{n:04}"),
        Err(_) => upper,
    }
}

fn list(cx: &mut Context<'_>) -> Result<Outcome, Failure> {
    for page in cx.pages {
        writeln!(cx.out, "{}  {}", page.code, page.title)?;
    }
    Ok(Outcome::Done)
}
