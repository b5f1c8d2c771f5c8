//! How many seeded faults are caught, and by what. Each shipped kernel with messages, and texts with barriers, is changed
//! in one place; the change must be refused (verifier, check before the run), stop the run, or show in the values.
//! `docs/mutants.md` is the table: `UPDATE_DOCS=1 cargo test -p tilewright-kernels --test mutants` writes it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tilewright::Runtime;
use tilewright::core_api::data::{Data, Stored};
use tilewright::core_api::launch::{Arg, Backend, Grid, LaunchConfig, Ready};
use tilewright::core_api::passes::for_timing;
use tilewright::core_api::placement::Placement;
use tilewright::core_api::tensor::AnyTensor;
use tilewright::diag::Diagnostics;
use tilewright::ir::text::{print, read};
use tilewright::ir::{Element, Module};
use tilewright::registry::{Agreement, Inputs, Limits, Target};

const FILE: &str = "mutant.tir";

/// What is done to one place of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    DropBarrier,
    DropRecv,
    DropSend,
    SwapSends,
    WrongPort,
    LargerTile,
    WrongAddress,
    ShallowQueue,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Class::DropBarrier => "drop a barrier",
            Class::DropRecv => "drop a recv",
            Class::DropSend => "drop a send",
            Class::SwapSends => "swap two sends",
            Class::WrongPort => "wrong port",
            Class::LargerTile => "larger tile at one end",
            Class::WrongAddress => "wrong id or address arithmetic",
            Class::ShallowQueue => "queue of one message",
        }
    }
}

/// Who catches a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Verifier,
    Check,
    Run,
    Values,
    Nobody,
}

struct Mutant {
    class: Class,
    text: String,
    /// The changed line of `text`; `None` for a change of the launch.
    line: Option<u32>,
    depth: Option<u32>,
}

fn mutants(text: &str) -> Vec<Mutant> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        for (class, new) in changes(line, lines.get(i + 1).copied()) {
            let mut changed = lines.clone();
            changed[i] = &new;
            if class == Class::SwapSends {
                changed[i + 1] = line;
            }
            let added = new.matches('\n').count() as u32;
            out.push(Mutant { class, text: changed.join("\n") + "\n", line: Some(i as u32 + 1 + added), depth: None });
        }
    }
    out.push(Mutant { class: Class::ShallowQueue, text: text.to_string(), line: None, depth: Some(1) });
    out
}

/// What can be done to a line, with the lines that take its place.
fn changes(line: &str, next: Option<&str>) -> Vec<(Class, String)> {
    let code = line.trim_start();
    let indent = &line[..line.len() - code.len()];
    let mut out = Vec::new();
    if code.starts_with("barrier ") {
        out.push((Class::DropBarrier, "// dropped".to_string()));
    }
    if let Some((port, value)) = code.strip_prefix("send ").and_then(|s| s.split_once(", ")) {
        out.push((Class::DropSend, "// dropped".to_string()));
        out.push((Class::WrongPort, format!("{indent}send {}, {value}", opposite(port))));
        if let Some(next) = next.filter(|n| n.trim_start().starts_with("send ")) {
            out.push((Class::SwapSends, next.to_string()));
        }
    }
    if let Some((result, port, ty)) = received(code) {
        let zero = if ty.ends_with("i32>") {
            "0:i32"
        } else if ty.ends_with("f32>") {
            "0.0:f32"
        } else {
            "0.0:f16"
        };
        out.push((Class::DropRecv, format!("{indent}{result} = splat {zero} : {ty}")));
        out.push((Class::WrongPort, format!("{indent}{result} = recv {} : {ty}", opposite(port))));
        // Twice as long, of which the rest of the program takes the first half.
        if let Some((length, rest)) = ty.strip_prefix("tile<").and_then(|t| t.split_once('x')) {
            let large = format!("tile<{}x{rest}", 2 * length.parse::<u32>().unwrap());
            let text = format!("{indent}%large = recv {port} : {large}\n{indent}{result} = rows %large, 0 : {ty}");
            out.push((Class::LargerTile, text));
        }
    }
    for (from, to) in [(" = mul ", " = add "), (" = add ", " = sub "), (" = rem ", " = div "), (" = div ", " = rem ")] {
        if code.contains(from) && code.ends_with(" : i32") {
            out.push((Class::WrongAddress, line.replacen(from, to, 1)));
        }
    }
    out
}
fn received(code: &str) -> Option<(&str, &str, &str)> {
    let (result, rest) = code.split_once(" = recv ")?;
    let (port, ty) = rest.split_once(" : ")?;
    Some((result, port, ty))
}
fn opposite(port: &str) -> String {
    let words = [("east", "west"), ("west", "east"), ("north", "south"), ("south", "north")];
    let (kind, dir) = port.split_once('.').unwrap();
    let (_, other) = words.iter().find(|(d, _)| *d == dir).unwrap();
    format!("{kind}.{other}")
}

/// A program that mutants are made of, and how to tell whether values are right.
trait Subject {
    fn name(&self) -> String;
    fn text(&self) -> String;
    /// Runs a module in the place of the program's: what stops it, or whether its values are right.
    fn run(&self, module: &Arc<Module>, depth: Option<u32>) -> (By, Diagnostics);
}

fn judge(runtime: &mut Runtime, ready: Ready<'_>) -> Option<(By, Diagnostics)> {
    if let Err(found) = runtime.check(&ready) {
        return Some((By::Check, found));
    }
    runtime.execute(ready).err().map(|found| (By::Run, found))
}

/// A shipped instance, against its f64 reference.
struct Shipped(String);

impl Subject for Shipped {
    fn name(&self) -> String {
        self.0.split_once(",tile").map_or(self.0.clone(), |(name, _)| name.to_string())
    }
    fn text(&self) -> String {
        let mut case = self.case();
        print(&case.launch().and_then(|launch| launch.trace()).unwrap())
    }
    fn run(&self, module: &Arc<Module>, depth: Option<u32>) -> (By, Diagnostics) {
        let mut case = self.case();
        let mut ready = case.launch().and_then(|launch| launch.ready()).unwrap();
        ready.module = Arc::clone(module);
        ready.config.queue_depth = depth;
        if let Some(caught) = judge(&mut Runtime::reference(), ready) {
            return caught;
        }
        let right = case.check().unwrap().iter().all(Agreement::agrees);
        (if right { By::Nobody } else { By::Values }, Diagnostics::default())
    }
}
impl Shipped {
    fn case(&self) -> Box<dyn tilewright::registry::Case> {
        let limits = Limits { target: Target::Reference, scratch_bytes: u64::MAX };
        let instance = tilewright_kernels::all().instance(&self.0).unwrap_or_else(|e| panic!("{e}"));
        instance.case(Inputs::Random { seed: 1 }, &limits).unwrap_or_else(|e| panic!("{e}"))
    }
}

/// A text over two tensors with an element for every program, against the same text unchanged.
struct Text {
    name: &'static str,
    grid: Grid,
    depth: u32,
}

impl Text {
    fn values(&self, module: &Arc<Module>, depth: Option<u32>) -> Result<Vec<i32>, (By, Diagnostics)> {
        let n = self.grid.num_programs().unwrap();
        let tensor = || AnyTensor::new(i32::ELEM, vec![n], Some(i32::wrap(vec![-1; n])), Placement::default());
        let (mut x, mut y) = (tensor(), tensor());
        let args = vec![Arg::ViewMut(&mut x), Arg::ViewMut(&mut y)];
        let config = LaunchConfig { grid: self.grid, queue_depth: depth.or(Some(self.depth)), threads: None };
        match judge(&mut Runtime::reference(), Ready { module: Arc::clone(module), args, config }) {
            Some(caught) => Err(caught),
            None => Ok(y.data.as_ref().and_then(|d: &Data| i32::slice(d)).unwrap().to_vec()),
        }
    }
}
impl Subject for Text {
    fn name(&self) -> String {
        self.name.to_string()
    }
    fn text(&self) -> String {
        let path = root().join("tests/tir/mutants").join(self.name);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }
    fn run(&self, module: &Arc<Module>, depth: Option<u32>) -> (By, Diagnostics) {
        let whole = Arc::new(read(&self.text(), FILE).unwrap());
        let right = self.values(&whole, None).unwrap_or_else(|(_, e)| panic!("{}: {e}", self.name));
        match self.values(module, depth) {
            Err(caught) => caught,
            Ok(values) => (if values == right { By::Nobody } else { By::Values }, Diagnostics::default()),
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn subjects() -> Vec<Box<dyn Subject>> {
    let decode = |mode: &str| {
        let sizes = "tile=16,s-kv=256,h-q=16,h-kv=8,d-head=16";
        Box::new(Shipped(format!("gqa_decode:mode={mode},elem=f16,acc=f32,{sizes}"))) as Box<dyn Subject>
    };
    let text = |name, grid, depth| Box::new(Text { name, grid, depth }) as Box<dyn Subject>;
    let mut all: Vec<Box<dyn Subject>> = ["A1", "A2", "A4", "B"].map(decode).into_iter().collect();
    all.push(text("shift.tir", Grid::cubes(2).pes(8), 4));
    all.push(text("halves.tir", Grid::cubes(2).pes(8), 4));
    all.push(text("exchange.tir", Grid::cubes(2).pes(8), 3));
    all
}

/// Why a mutant may survive; each is a change that changes nothing.
fn explained(name: &str, whole: &Module, m: &Mutant, code: &str) -> Option<&'static str> {
    let live = |module: &Module| print(&for_timing(module));
    match m.class {
        Class::ShallowQueue => Some("it completes with one slot a queue, with the same values"),
        Class::WrongAddress if read(&m.text, FILE).is_ok_and(|changed| live(&changed) == live(whole)) => {
            Some("nothing uses the value")
        }
        Class::WrongAddress if name.contains("mode=A1") && code == "%4 = sub %1, %3 : i32" => {
            Some("`%3` is the number of a PE over 8, which is 0")
        }
        Class::DropBarrier if name == "exchange.tir" => Some("no memory is read behind it"),
        Class::DropBarrier
        | Class::DropRecv
        | Class::DropSend
        | Class::SwapSends
        | Class::WrongPort
        | Class::LargerTile
        | Class::WrongAddress => None,
    }
}

/// Whether what was told shows the changed line, one beside it (messages in a row have one cause), or the line of a
/// message or barrier that the changed one was to meet.
fn shows_the_line(m: &Mutant, found: &Diagnostics) -> bool {
    let Some(line) = m.line else { return true };
    let lines: Vec<&str> = m.text.lines().collect();
    let meets = |at: u32| {
        let code = lines.get(at as usize - 1).map_or("", |l| l.trim_start());
        code.starts_with("send ") || code.contains(" = recv ") || code.starts_with("barrier ")
    };
    let mut shown = found.0.iter().flat_map(|d| &d.labels).map(|l| l.place.line);
    shown.any(|at| at.abs_diff(line) <= 1 || meets(at))
}

#[derive(Default)]
struct Row {
    by: BTreeMap<By, usize>,
}

#[test]
fn every_seeded_fault_is_caught_or_changes_nothing() {
    let (mut rows, mut survivors, mut wrong) = (BTreeMap::<(String, Class), Row>::new(), Vec::new(), String::new());
    for subject in subjects() {
        let text = subject.text();
        let whole = Arc::new(read(&text, FILE).unwrap_or_else(|e| panic!("{e}")));
        let (caught, found) = subject.run(&whole, None);
        assert_eq!((caught, found), (By::Nobody, Diagnostics::default()), "{} unchanged", subject.name());
        for m in mutants(&text) {
            let (by, found) = match read(&m.text, FILE) {
                Ok(module) => subject.run(&Arc::new(module), m.depth),
                Err(found) => (By::Verifier, found),
            };
            let line = m.line.map_or(String::new(), |line| format!(", line {line}"));
            let place = format!("{}: {}{line}", subject.name(), m.class.name());
            let code = m.line.and_then(|n| m.text.lines().nth(n as usize - 1)).unwrap_or("").trim();
            match by {
                By::Nobody => match explained(&subject.name(), &whole, &m, code) {
                    Some(why) => survivors.push(format!("{place}: {why}.")),
                    None => writeln!(wrong, "{place} survives: {code}").unwrap(),
                },
                By::Values => {}
                By::Verifier | By::Check | By::Run if m.class == Class::WrongAddress => {}
                By::Verifier | By::Check | By::Run if shows_the_line(&m, &found) => {}
                By::Verifier | By::Check | By::Run => {
                    writeln!(wrong, "{place} shows another line: {code}\n{found}").unwrap()
                }
            }
            *rows.entry((subject.name(), m.class)).or_default().by.entry(by).or_default() += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let page = page(&rows, &survivors);
    println!("{page}");
    let path = root().join("docs/mutants.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(on_disk == page, "docs/mutants.md is not what this test found: run it with UPDATE_DOCS=1");
}

fn page(rows: &BTreeMap<(String, Class), Row>, survivors: &[String]) -> String {
    let count = |row: &Row, by: By| row.by.get(&by).copied().unwrap_or(0);
    let total = |of: &dyn Fn(&Row) -> usize| rows.values().map(of).sum::<usize>();
    let all = total(&|row| row.by.values().sum());
    let alive = total(&|row| count(row, By::Nobody));
    let mut out = String::from(
        "# Seeded faults\n\nEach program is changed in one place, and the change must be refused by the verifier or the check before the run,\n\
         stop the run in the reference interpreter, or show in the values. Written by\n\
         `UPDATE_DOCS=1 cargo test -p tilewright-kernels --test mutants`.\n\n",
    );
    writeln!(out, "{all} mutants: {} caught, {alive} that change nothing, 0 missed.\n", all - alive).unwrap();
    out += "| program | change | mutants | verifier | check | run | values | change nothing |\n|---|---|---|---|---|---|---|---|\n";
    for ((name, class), row) in rows {
        let cells = [By::Verifier, By::Check, By::Run, By::Values, By::Nobody].map(|by| count(row, by).to_string());
        let mutants: usize = row.by.values().sum();
        writeln!(out, "| `{name}` | {} | {mutants} | {} |", class.name(), cells.join(" | ")).unwrap();
    }
    out += "\nWhat changes nothing:\n\n";
    survivors.iter().for_each(|s| writeln!(out, "- {s}").unwrap());
    out
}

#[test]
fn no_shipped_instance_is_accused() {
    let limits = Limits { target: Target::Sim, scratch_bytes: 1 << 20 };
    for instance in tilewright_kernels::all().instances() {
        let mut case = instance.case(Inputs::ShapesOnly, &limits).unwrap_or_else(|e| panic!("{instance}: {e}"));
        let ready = case.launch().and_then(|launch| launch.ready()).unwrap_or_else(|e| panic!("{instance}: {e}"));
        assert_eq!(Runtime::sim().check(&ready), Ok(Vec::new()), "{instance}");
    }
}
