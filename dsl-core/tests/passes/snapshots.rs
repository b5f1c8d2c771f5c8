//! `tests/tir/passes/*.tir`: a kernel, then a section for each pass: `=== PASS`, the kernel after that pass, and
//! what the pass says; or `=== facts`, `=== bounds`, the tables beside a module. `UPDATE_TIR=1` writes the sections anew; a change of them is to be read as one of the pass.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use tilewright_core::ir::text::{print, read, value_names};
use tilewright_core::ir::{Module, ValueId, verify};
use tilewright_core::passes::bounds::place_checks;
use tilewright_core::passes::facts::{Fact, Facts, Known};
use tilewright_core::passes::{self, Options, Remark};

const MARK: &str = "=== ";

fn files() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tir/passes");
    let entries = fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut files: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

fn run(pass: &str, m: &Module) -> (Module, Vec<Remark>) {
    match pass {
        "fold" => (passes::fold(m), Vec::new()),
        "dce" => (passes::dce(m), Vec::new()),
        "expand" => (passes::expand(m).into_owned(), Vec::new()),
        "canonicalise" => passes::canonicalise(m),
        "cse" => passes::cse(m),
        "licm" => passes::licm(m, &Known::default()),
        "ahead" => passes::ahead(m),
        "optimise" => {
            let out = passes::optimise(m, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
            (out.module, out.remarks)
        }
        other => panic!("there is no pass {other}"),
    }
}

/// Tables beside the module, a line for each value or access.
fn table(name: &str, m: &Module) -> Option<String> {
    let mut out = format!("{MARK}{name}\n");
    match name {
        "bounds" => {
            let (checks, remarks) = place_checks(m, &Known::default());
            remarks.iter().for_each(|remark| writeln!(out, "{remark}").expect("a string takes all"));
            writeln!(out, "{}", checks.counts()).expect("a string takes all");
        }
        "facts" => {
            let (facts, names) = (Facts::of(m, &Known::default()), value_names(m));
            for v in (0..m.num_values() as u32).map(ValueId).filter(|v| m.literal(*v).is_none()) {
                if let Some(Fact { lo, hi, divisor }) = facts.get(m, v) {
                    writeln!(out, "{}: {lo}..={hi}, a multiple of {divisor}", names[v.index()]).expect("as above");
                }
            }
        }
        _ => return None,
    }
    Some(out)
}

fn section(pass: &str, m: &Module) -> String {
    if let Some(table) = table(pass, m) {
        return table;
    }
    let (after, remarks) = run(pass, m);
    verify(&after).unwrap_or_else(|e| panic!("{pass}: {e}\n{}", print(&after)));
    let mut out = format!("{MARK}{pass}\n{}", print(&after));
    remarks.iter().for_each(|remark| writeln!(out, "// {remark}").expect("a string takes all"));
    out
}

#[test]
fn every_pass_does_what_is_on_record() {
    let mut wrong = String::new();
    for path in files() {
        let name = path.file_name().unwrap().to_string_lossy().to_string();
        let recorded = fs::read_to_string(&path).unwrap();
        let kernel = recorded.split(MARK).next().unwrap_or_default();
        let m = read(kernel, &name).unwrap_or_else(|e| panic!("{e}"));
        let passes = recorded.lines().filter_map(|line| line.strip_prefix(MARK));
        let found = passes.map(|pass| section(pass, &m)).fold(kernel.to_string(), |text, s| text + &s);
        if found == recorded {
            continue;
        }
        if std::env::var_os("UPDATE_TIR").is_some() {
            fs::write(&path, found).unwrap();
        } else {
            wrong += &format!("{name}:\n{found}\n");
        }
    }
    assert!(wrong.is_empty(), "not as recorded (UPDATE_TIR=1 writes it):\n{wrong}");
}
