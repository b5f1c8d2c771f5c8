//! The texts and codes of the sweeps, 0820 to 0839, and of the probes and benchmarks on a GPU, 0840 to 0845.

use std::path::Path;
use tilewright_core::diag::{CodePage, Diagnostic};

/// A kernel that is to be timed is wrong.
pub const NOT_TIMED: &str = "TW-E0842";

/// One page per code, for `explain`.
pub const CODES: &[CodePage] = &[
    CodePage {
        code: "TW-E0820",
        title: "a flag's list holds a value that is not allowed",
        page: "Lists are written with commas and without blanks: `--s-kv 8192,16384 --modes A1,B`. Each value is \
               checked before the first point runs, so that a sweep does not end halfway over a misspelling.",
    },
    CodePage {
        code: "TW-E0821",
        title: "no such tier",
        page: "A tier says which commands a PE is given for a KV tile: `baseline` one per operation, `composite` the product of \
               query and keys as one, `composite-fused` that product and all of the rest as two. Values are the same.",
    },
    CodePage {
        code: "TW-E0822",
        title: "a golden file cannot be used",
        page: "`--check DIR` reads the sweep's golden CSV file from the folder. Its columns must be those of the sweep, and its \
               values numbers. Some flags ask for what the study did not publish, such as keys and values in each PE's own slice: \
               then there is no such file.",
    },
    CodePage {
        code: "TW-E0823",
        title: "the file of --out belongs to another sweep",
        page: "A sweep resumes from the rows that `--out FILE` already holds. The columns of this file are not those that the \
               sweep writes. Choose another file, or remove this one.",
    },
    CodePage {
        code: "TW-E0824",
        title: "a kernel's values are wrong in a sweep",
        page: "With `--with-data` every point also computes values and compares them with the f64 reference. A point that \
               disagrees gives no figures. `tilewright verify KERNEL` shows the disagreement.",
    },
    CodePage {
        code: "TW-E0825",
        title: "points of a sweep failed in an earlier run",
        page: "A failed point stays in the file of `--out` as a row that starts its measured columns with `failed:` and the \
               reason, and is not computed again. Remove its row to try again.",
    },
    CodePage {
        code: "TW-E0826",
        title: "the threads of a sweep cannot be started",
        page: "The system refuses more threads, or the memory for their stacks. Points of a sweep are independent \
               and rows do not depend on the number of threads, so fewer only take longer: `--threads 2`.",
    },
    CodePage {
        code: "TW-E0840",
        title: "a probe needs a target that has a memory to stream from",
        page: "`probe` measures on a GPU (`--target cuda`) or on the machine model (`--target sim`), and runs every arm without \
               a clock on the emulator (`--target ptx-emu`). The interpreter that defines every op has neither.",
    },
    CodePage {
        code: "TW-E0841",
        title: "slabs do not fit the pool",
        page: "Each slab lies in a part of the pool of its own, so `--slabs` of them times `--slab-kib` must not exceed \
               `--pool-mib`. On a GPU a pool that does not fit the free memory is halved until it does, and slabs that then do \
               not fit are left out with this reason.",
    },
    CodePage {
        code: NOT_TIMED,
        title: "a kernel's values are wrong, so that it is not timed",
        page: "`bench --target cuda` runs each kernel once and compares its values with the f64 reference before it is timed: a \
               wrong kernel has no speed. `tilewright verify --target cuda` shows the disagreement.",
    },
    CodePage {
        code: "TW-E0843",
        title: "a file of peers' rows cannot be used",
        page: "`bench --peers PATH` reads what other programs measured: a file, or a folder's files that end in `.json` or \
               `.jsonl`, with one JSON object a line. A row has `peer` and `op` (texts), `shape` (an object of numbers, texts and \
               truth values) and `us` (a positive number). Lines that do not begin an object are passed over, and so are \
               objects without `us`, which measure something else than a time.",
    },
    CodePage {
        code: "TW-E0844",
        title: "a filter of shapes is not written as one",
        page: "`bench --shape NAME=VALUE,NAME=VALUE` keeps the rows whose shape has all of these values, by the names that the \
               column `shape` shows: `s`, `d`, `dtype`, `m`, … Given several times, a row is kept if one of them fits.",
    },
    CodePage {
        code: "TW-E0845",
        title: "no row has the shape that was asked for",
        page: "The filters of `bench` (words for kernels or groups, and `--shape`) leave nothing to time. `bench --list` prints the \
               rows that there are, without a GPU. Other sizes are timed by naming an instance, as `ir --list` prints them.",
    },
];

pub fn no_threads(why: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new("TW-E0826", format!("the threads of the sweep cannot be started: {why}")).next("--threads 2")
}

pub fn list_value(flag: &str, found: &str, allowed: &str, example: &str) -> Diagnostic {
    Diagnostic::new("TW-E0820", format!("--{flag} cannot hold `{found}`"))
        .note(format!("allowed: {allowed}"))
        .next(format!("--{flag} {example}"))
}

pub fn unknown_tier(found: &str, known: &[&str]) -> Diagnostic {
    Diagnostic::new("TW-E0821", format!("no tier `{found}`"))
        .note(format!("tiers: {}", known.join(", ")))
        .next(format!("--tier {}", known.first().unwrap_or(&"baseline")))
}

pub fn golden(file: &Path, why: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new("TW-E0822", format!("golden file {}: {why}", file.display()))
        .next("--check DIR, where DIR holds the golden CSV files")
}

pub fn not_published(study: &str, flags: &str) -> Diagnostic {
    Diagnostic::new(
        "TW-E0822",
        format!("there is no golden file for `{study}` with these flags: the study did not publish it"),
    )
    .next(flags.to_string())
}

pub fn other_sweep(file: &Path, expected: &[String], found: &[String]) -> Diagnostic {
    Diagnostic::new("TW-E0823", format!("{} holds rows of another sweep", file.display()))
        .note(format!("expected the columns {}", expected.join(",")))
        .note(format!("found {}", found.join(",")))
        .next("choose another file for --out")
}

pub fn failed_before(points: usize) -> Diagnostic {
    let (message, rows) = match points {
        1 => ("1 point failed in an earlier run; its row says why".to_string(), "its row"),
        _ => (format!("{points} points failed in an earlier run; their rows say why"), "their rows"),
    };
    Diagnostic::new("TW-E0825", message).next(format!("remove {rows} from the file of --out to compute again"))
}

pub fn wrong_values(instance: &str, fault: &str) -> Diagnostic {
    Diagnostic::new("TW-E0824", format!("`{instance}` disagrees with its reference: {fault}"))
        .next(format!("tilewright verify {instance}"))
}

pub fn no_probe(target: &str) -> Diagnostic {
    Diagnostic::new("TW-E0840", format!("there is nothing to probe on {target}"))
        .next("--target cuda, --target sim or --target ptx-emu")
}

pub fn misfit(what: &str) -> Diagnostic {
    Diagnostic::new("TW-E0841", what.to_string())
        .next("fewer or shorter slabs, or a larger pool: --slabs, --slab-kib, --pool-mib")
}

pub fn peers(file: &str, why: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::new("TW-E0843", format!("peers' rows of {file}: {why}"))
        .next("one JSON object a line: {\"peer\": \"cublas\", \"op\": \"gemm\", \"shape\": {\"m\": 64}, \"us\": 1.5}")
}

pub fn no_filter(text: &str) -> Diagnostic {
    Diagnostic::new("TW-E0844", format!("--shape cannot be `{text}`")).next("--shape s=8192,d=128")
}

pub fn no_such_shape(wanted: &str, first: &str) -> Diagnostic {
    Diagnostic::new("TW-E0845", format!("no row to time has the shape {wanted}"))
        .note(format!("the first row that there is without: {first}"))
        .next("tilewright bench --list")
}
