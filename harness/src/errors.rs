//! The texts and codes of what can go wrong at the command line and in the kernel registry.
//! 0590-0599: values of kernel parameters. 08xx: the command line.
//! (Contracts of launches, machine files, kernels: with the crates that check them.)

use crate::nearest::nearest;
use crate::registry::{Kernels, Param, Values};
use crate::target::Target;
use std::path::Path;
use tilewright_core::diag::{CodePage, Diagnostic};

/// One page per code of this crate, for `explain`.
pub const CODES: &[CodePage] = &[
    CodePage {
        code: "TW-E0590",
        title: "a kernel parameter has a value that is not allowed",
        page: "Every kernel declares what each of its parameters may be: one of a set of words, or a number in a range. \
               `tilewright run KERNEL --help` lists them with their defaults.",
    },
    CodePage {
        code: "TW-E0591",
        title: "a kernel asks for a parameter that it does not declare",
        page: "The kernel's `case` function reads a parameter that is not in its table of parameters, reads it as \
               something it is not, or has no entry for a word that it allows. Declare it: `Param::integer(\"n\", 1..=4096, \"256\", \"elements\")`.",
    },
    CodePage {
        code: "TW-E0592",
        title: "a kernel has no such parameter",
        page: "An assignment `NAME=VALUE` of an instance, or a flag `--NAME VALUE`, names a parameter that the kernel does \
               not have. `tilewright run KERNEL --help` lists its parameters.",
    },
    CodePage {
        code: "TW-E0593",
        title: "the tensors of a run are too large",
        page: "A run with data holds all tensors in the memory of this computer, and its f64 reference several times as much. \
               Choose smaller sizes. Time alone needs no data: `--timing-only`.",
    },
    CodePage {
        code: "TW-E0801",
        title: "no such kernel",
        page: "The program has no kernel of this name. `tilewright ir --list` prints one instance of every kernel a line. \
               A program has the kernels that its `cli_main(kernels![…])` names.",
    },
    CodePage {
        code: "TW-E0802",
        title: "an instance is not written as KERNEL:NAME=VALUE,NAME=VALUE",
        page: "An instance is one shell word: the kernel, a colon, and assignments with commas between and no blanks, \
               for example `gqa_decode:mode=A1,acc=f32`. `tilewright ir --list` prints all of them.",
    },
    CodePage {
        code: "TW-E0803",
        title: "a file cannot be read",
        page: "The file is missing, is a folder, may not be read, is not UTF-8 text, or is larger than the limit for untrusted \
               text (16 MiB).",
    },
    CodePage {
        code: "TW-E0804",
        title: "a file cannot be written",
        page: "The folder is missing or may not be written, or the disk is full. Nothing of a result is lost that \
               was already printed, and rows that a sweep had already written stay in its file.",
    },
    CodePage {
        code: "TW-E0805",
        title: "no such error code",
        page: "Codes look like TW-E0312; `312` and `E0312` are understood, too. `tilewright explain --list` \
               prints all that this program can give, with the codes of its own kernels.",
    },
    CodePage {
        code: "TW-E0806",
        title: "the name of a kernel is taken",
        page: "The command line could not tell two kernels of one name apart, nor a kernel from the word `file`, which stands \
               before a file in `ir file PATH`. Give the kernel another `name`.",
    },
    CodePage {
        code: "TW-E0807",
        title: "a kernel parameter has the name of a flag",
        page: "The flags of the commands, such as `--seed` or `--grid`, are taken, and a kernel may name each parameter once. \
               Rename the parameter.",
    },
    CodePage {
        code: "TW-E0808",
        title: "a grid is not written as CUBESxPES",
        page: "`--grid 8x8` launches 8 cubes of 8 PEs, `--grid 2x16x8` two SIPs of 16 cubes of 8 PEs. Each number \
               is at least 1, and no more than the machine has (TW-E0540). Without the flag a kernel chooses its \
               own grid.",
    },
    CodePage {
        code: "TW-E0809",
        title: "a backend without a clock is asked for time alone",
        page: "`--timing-only` times a kernel without data, and `--fidelity` says how time is estimated. The reference \
               interpreter computes values and has no clock: use the simulator, or leave the flag out.",
    },
    CodePage {
        code: "TW-E0810",
        title: "an order of the emulator for a target that is none",
        page: "`--schedule SEED` mixes the warps, the thread blocks and the asynchronous copies of the emulator as the seed says. \
               A GPU runs them in an order of its own, and the other targets have none: use `--target ptx-emu`, or leave the flag \
               out.",
    },
    CodePage {
        code: "TW-E0899",
        title: "internal error",
        page: "Something in tilewright itself went wrong: a bug, whatever the input was. No result of the command \
               is to be trusted. Please report the command line and the message; `RUST_BACKTRACE=1` adds where it \
               happened.",
    },
];

/// The value of a kernel parameter is not one of those allowed.
pub fn value(name: &str, found: &str, allowed: &Values) -> Diagnostic {
    let d = Diagnostic::new("TW-E0590", format!("--{name} cannot be `{found}`")).note(format!("allowed: {allowed}"));
    match allowed {
        Values::OneOf(words) => match nearest(found, words.iter().copied()).or(words.first().copied()) {
            Some(word) => d.next(format!("--{name} {word}")),
            None => d,
        },
        Values::Integer(range) => {
            let wanted = found.parse::<i128>().unwrap_or(0);
            let near = if wanted > *range.end() as i128 { range.end() } else { range.start() };
            d.next(format!("--{name} {near}"))
        }
        Values::Number => d.next(format!("--{name} 0.5")),
    }
}

/// A getter does not fit the declaration of the parameter: a mistake in the kernel's `case`.
pub fn undeclared(name: &str, declared: &[Param]) -> Diagnostic {
    Diagnostic::new("TW-E0591", format!("the kernel reads a parameter `{name}` that it does not declare"))
        .note(format!("declared: {}", names(declared)))
        .next("add a row to the kernel's table of parameters")
}

/// A kernel's table of entries lacks a word that its parameter allows: a mistake in the kernel's `case`.
pub fn no_entry<'a>(name: &str, found: &str, words: impl Iterator<Item = &'a str>) -> Diagnostic {
    Diagnostic::new("TW-E0591", format!("the kernel has no entry for `--{name} {found}`"))
        .note(format!("it has: {}", words.collect::<Vec<_>>().join(", ")))
        .next(format!("add an entry for `{found}`, or take the word out of the parameter's declaration"))
}

/// The tensors of a case do not fit; both sizes in bytes.
pub fn too_large(instance: &str, needed: u128, limit: u128) -> Diagnostic {
    let gib = |bytes: u128| bytes as f64 / (1u64 << 30) as f64;
    let message = format!("`{instance}` needs tensors of {:.1} GiB, the limit is {:.1} GiB", gib(needed), gib(limit));
    Diagnostic::new("TW-E0593", message).next("choose smaller sizes, or time alone: --timing-only")
}

pub fn unknown_parameter(name: &str, known: &[Param]) -> Diagnostic {
    let d = Diagnostic::new("TW-E0592", format!("the kernel has no parameter `{name}`"));
    let d = d.note(format!("its parameters: {}", names(known)));
    did_you_mean(d, name, known.iter().map(|p| p.name))
}

pub fn unknown_kernel(name: &str, kernels: &Kernels) -> Diagnostic {
    let known: Vec<&str> = kernels.iter().map(|k| k.name()).collect();
    let d = Diagnostic::new("TW-E0801", format!("no kernel `{name}`")).note(format!("kernels: {}", known.join(", ")));
    did_you_mean(d, name, known.iter().copied())
}

/// One assignment of an instance has no `=`.
pub fn assignment(list: &str, part: &str) -> Diagnostic {
    Diagnostic::new("TW-E0802", format!("`{part}` in `{list}` is not an assignment"))
        .next("write NAME=VALUE,NAME=VALUE without blanks")
}

pub fn unreadable(path: &Path, why: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new("TW-E0803", format!("cannot read {}: {why}", path.display())).next("name a text file that exists")
}

pub fn unwritable(path: &Path, why: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new("TW-E0804", format!("cannot write {}: {why}", path.display()))
        .next("name a file in a folder that exists and may be written")
}

pub fn unknown_code<'a>(code: &str, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    let d = Diagnostic::new("TW-E0805", format!("no error code `{code}`"));
    match nearest(code, known) {
        Some(near) => d.next(format!("explain {near}")),
        None => d.next("explain --list"),
    }
}

pub fn registered_twice(name: &str) -> Diagnostic {
    Diagnostic::new("TW-E0806", format!("two kernels are named `{name}`")).next("give one of them another name")
}

pub fn kernel_taken(name: &str) -> Diagnostic {
    Diagnostic::new("TW-E0806", format!("a kernel cannot be named `{name}`: the commands use this word themselves"))
        .next("give the kernel another name")
}

pub fn parameter_taken(name: &str) -> Diagnostic {
    Diagnostic::new("TW-E0807", format!("the name `{name}` is taken")).next("rename the parameter")
}

pub fn grid(found: &str) -> Diagnostic {
    Diagnostic::new("TW-E0808", format!("--grid cannot be `{found}`"))
        .note("allowed: CUBESxPES or SIPSxCUBESxPES, whole numbers from 1 on")
        .next("--grid 8x8")
}

pub fn no_kernel(command: &str, kernels: &Kernels) -> Diagnostic {
    let known: Vec<&str> = kernels.iter().map(|k| k.name()).collect();
    Diagnostic::new("TW-E0801", format!("`{command}` needs a kernel"))
        .note(format!("kernels: {}", known.join(", ")))
        .next(format!("{command} {}", known.first().unwrap_or(&"KERNEL")))
}

pub fn no_clock(flag: &str, target: Target) -> Diagnostic {
    Diagnostic::new("TW-E0809", format!("{flag}: the target {target} has no clock")).next("--target sim")
}

pub fn no_schedule(target: Target) -> Diagnostic {
    Diagnostic::new("TW-E0810", format!("--schedule: the target {target} is not the emulator")).next("--target ptx-emu")
}

pub fn internal(what: &str) -> Diagnostic {
    Diagnostic::new("TW-E0899", format!("internal error: {what}"))
        .note("this is a bug in tilewright, whatever the input was")
        .next("please report it with the command line and this message")
}

fn did_you_mean<'a>(d: Diagnostic, word: &str, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    match nearest(word, known) {
        Some(near) => d.next(format!("did you mean `{near}`?")),
        None => d,
    }
}

fn names(params: &[Param]) -> String {
    match params {
        [] => "none".to_string(),
        _ => params.iter().map(|p| p.name).collect::<Vec<_>>().join(", "),
    }
}
