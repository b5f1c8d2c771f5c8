//! The check of messages and barriers before a run. `tests/tir/check/*.tir` carry the launch on a line `// launch: …`,
//! `// error: CODE text` on the line an error begins at, `// also: text` on every line it shows, and `// remark: text`.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use tilewright_core::check::{Capacity, Findings, Limits, Param, Shape, capacity, check};
use tilewright_core::data::Data;
use tilewright_core::elem::ElemType;
use tilewright_core::interp::{self, Mesh, Options};
use tilewright_core::ir::text::parse;
use tilewright_core::ir::{Literal, Module, Type, verify};
use tilewright_core::launch::{Arg, Grid, LaunchConfig, Ready};
use tilewright_core::passes;
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;

fn module(text: &str) -> Module {
    let m = parse(text, "t.tir").unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&m).unwrap_or_else(|e| panic!("{e}\n{text}"));
    m
}

/// A kernel and its launch.
struct Case {
    module: Module,
    grid: Grid,
    depth: u32,
    params: Vec<Param>,
}

impl Case {
    fn new(text: &str, (cubes, pes): (usize, usize), depth: u32) -> Case {
        Case { module: module(text), grid: Grid::cubes(cubes).pes(pes), depth, params: Vec::new() }
    }
    /// From a text with a line `// launch: CUBESxPES depth D ARGS`; an argument is `NAME[LENGTH]` or an i32.
    fn of_text(text: &str) -> Case {
        let launch = text.lines().find_map(|l| l.strip_prefix("// launch: ")).expect("a launch line");
        let mut words = launch.split(' ');
        let (cubes, pes) = words.next().and_then(|w| w.split_once('x')).expect("CUBESxPES");
        let depth = words.nth(1).and_then(|w| w.parse().ok()).expect("a depth");
        let mut case = Case::new(text, (cubes.parse().unwrap(), pes.parse().unwrap()), depth);
        case.params = words
            .map(|w| match w.split_once('[') {
                Some((_, length)) => Param::View(vec![length.trim_end_matches(']').parse().unwrap()]),
                None => Param::Scalar(w.parse::<i32>().unwrap().into()),
            })
            .collect();
        case
    }
    fn shape(&self) -> Shape<'_> {
        let (mesh, params) = (Mesh::default(), self.params.clone());
        Shape { module: passes::expand(&self.module), grid: self.grid, mesh, depth: self.depth, params }
    }
    fn check(&self) -> Findings {
        check(&self.shape(), &Limits::default())
    }
    /// The codes of the check, then those of a run.
    fn both(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let tensor = |ty: Type, dims: &[usize]| {
            let n = dims.iter().product();
            let data = Some(Data::splat(Literal::zero(ty.elem()), n));
            AnyTensor::new(ty.elem(), dims.to_vec(), data, Placement::default())
        };
        let types: Vec<Type> = self.module.params.iter().map(|v| self.module.ty(*v)).collect();
        let mut tensors: Vec<AnyTensor> = self
            .params
            .iter()
            .zip(&types)
            .map(|(p, ty)| match p {
                Param::View(dims) => tensor(*ty, dims),
                Param::Scalar(_) => tensor(Type::Scalar(ElemType::I32), &[0]),
            })
            .collect();
        let args = tensors.iter_mut().zip(&self.params).zip(&types).map(|((t, p), ty)| match (p, ty) {
            (Param::Scalar(value), _) => Arg::Scalar(*value),
            (Param::View(_), Type::View(view)) if !view.writable => Arg::View(t),
            (Param::View(_), _) => Arg::ViewMut(t),
        });
        let config = LaunchConfig { grid: self.grid, queue_depth: Some(self.depth), ..LaunchConfig::default() };
        let ready = Ready { module: self.module.clone().into(), args: args.collect(), config };
        let codes = |d: &tilewright_core::diag::Diagnostics| d.0.iter().map(|d| d.code).collect::<Vec<_>>();
        let ran = interp::run(ready, &Options::default()).err().unwrap_or_default();
        (codes(&self.check().errors), codes(&ran))
    }
}

fn inputs() -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tir/check");
    let files = fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())).map(|e| e.unwrap().path());
    let mut texts: Vec<(String, String)> = files
        .map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&p).unwrap()))
        .collect();
    texts.sort();
    texts
}

/// What a text announces, or a check finds, as lines `LINE KIND TEXT`.
fn announced(text: &str) -> Vec<(u32, String, String)> {
    let mut out = Vec::new();
    for (line, s) in (1..).zip(text.lines()) {
        for mark in s.split("// ").skip(1) {
            if let Some((kind @ ("error" | "also" | "remark"), what)) = mark.split_once(": ") {
                out.push((line, kind.to_string(), what.trim().to_string()));
            }
        }
    }
    out
}
fn found(findings: &Findings) -> Vec<(u32, String, String)> {
    let mut out = Vec::new();
    for d in &findings.errors.0 {
        let line = d.labels.first().map_or(0, |l| l.place.line);
        out.push((line, "error".to_string(), format!("{} {}", d.code, d.message)));
        out.extend(d.labels.iter().map(|l| (l.place.line, "also".to_string(), l.text.clone())));
    }
    let line = |r: &tilewright_core::check::Remark| r.at.as_ref().map_or(0, |l| l.place.line);
    out.extend(findings.remarks.iter().map(|r| (line(r), "remark".to_string(), r.text.clone())));
    out
}

#[test]
fn every_announced_fault_is_found_with_all_its_lines_and_no_other() {
    let mut wrong = String::new();
    for (name, text) in inputs() {
        let mut open = announced(&text);
        for (line, kind, what) in found(&Case::of_text(&text).check()) {
            let fits = |(l, k, part): &(u32, String, String)| {
                *l == line && *k == kind && {
                    let (code, part) =
                        if kind == "error" { part.split_once(' ').unwrap() } else { ("", part.as_str()) };
                    what.starts_with(code) && what.contains(part)
                }
            };
            match open.iter().position(fits) {
                Some(i) => drop(open.remove(i)),
                None => wrong += &format!("{name}:{line}: not announced: {kind}: {what}\n"),
            }
        }
        open.iter().for_each(|(line, kind, part)| wrong += &format!("{name}:{line}: missing: {kind}: {part}\n"));
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// What the check calls too shallow, a run calls a deadlock; a message too many may fill the queue first.
fn as_a_run_says(code: &str) -> &[&str] {
    match code {
        "TW-E0330" => &["TW-E0301"],
        "TW-E0304" => &["TW-E0304", "TW-E0303"],
        "TW-E0302" => &["TW-E0302"],
        "TW-E0305" => &["TW-E0305"],
        "TW-E0301" => &["TW-E0301"],
        "TW-E0306" => &["TW-E0306"],
        "TW-E0307" => &["TW-E0307"],
        "TW-E0312" => &["TW-E0312"],
        other => panic!("{other} is not a code of the check"),
    }
}

#[test]
fn a_run_meets_what_the_check_finds_and_nothing_where_it_finds_nothing() {
    for (name, text) in inputs() {
        let (checked, ran) = Case::of_text(&text).both();
        assert_eq!(checked.is_empty(), ran.is_empty(), "{name}: {checked:?}, {ran:?}");
        if let Some(first) = checked.first() {
            assert!(ran.iter().any(|code| as_a_run_says(first).contains(code)), "{name}: {checked:?}, {ran:?}");
        }
    }
}

/// PEs of a cube in a ring, or two in a line, each send `m` messages to the next and then receive `m`.
fn exchange(m: u32, ring: bool) -> String {
    let (to, from): (&[&str], &[&str]) = if ring {
        (
            &["east", "east", "east", "south", "north", "west", "west", "west"],
            &["south", "west", "west", "west", "east", "east", "east", "north"],
        )
    } else {
        (&["east", "west"], &["east", "west"])
    };
    let mut text = String::from("kernel @exchange() {\n%id = pe_id : i32\n");
    for pe in 0..to.len() {
        text += &format!(
            "%c{pe} = cmp eq %id, {pe}:i32 : i1\nif %c{pe} {{\nfor %i{pe} in 0..{m}:i32 {{\nsend pe.{}, %i{pe}\n}}\nfor %j{pe} in 0..{m}:i32 {{\n%g{pe} = recv pe.{} : i32\nkeep %g{pe}\n}}\n}}\n",
            to[pe], from[pe]
        );
    }
    text + "}\n"
}

#[test]
fn an_exchange_needs_as_many_slots_as_messages() {
    for ring in [false, true] {
        let pes = if ring { 8 } else { 2 };
        for (m, depth) in (0..=6).flat_map(|m| (1..=5).map(move |depth| (m, depth))) {
            let case = Case::new(&exchange(m, ring), (1, pes), depth);
            let answer = capacity(&case.shape(), &Limits::default());
            if m <= depth {
                assert_eq!((answer, case.both()), (Capacity::Enough, (vec![], vec![])), "{m} messages, depth {depth}");
                continue;
            }
            let Capacity::Needs(enough) = answer else { panic!("{m} messages, depth {depth}: {answer:?}") };
            assert_eq!(enough.all, m);
            assert_eq!(case.both(), (vec!["TW-E0330"], vec!["TW-E0301"]));
            assert_eq!(Case { depth: enough.all, ..case }.both(), (vec![], vec![]), "with the depth that is named");
        }
    }
}

#[test]
fn only_the_ports_that_need_it_are_deepened() {
    // PE 0 sends five East before PE 1, which first sends one West, reads any.
    let text = "kernel @lop() {
  %id = pe_id : i32
  %zero = cmp eq %id, 0:i32 : i1
  if %zero {
    for %i in 0..5:i32 {
      send pe.east, %i
    }
    for %k in 0..2:i32 {
      %g = recv pe.east : i32
      keep %g
    }
  } else {
    for %l in 0..2:i32 {
      send pe.west, %l
    }
    for %j in 0..5:i32 {
      %h = recv pe.west : i32
      keep %h
    }
  }
}\n";
    let findings = Case::new(text, (1, 2), 1).check();
    insta::assert_snapshot!(findings.errors, @"
    error[TW-E0330]: the queues are too small: depth 1 -> 2 suffices
    --> t.tir:6:7
     = note: PE 0 waits here for space in the queue to PE 1
     = note: t.tir:14:7: PE 1 waits here for space in the queue to PE 0
     = note: needed by port: pe.west: 2
     = next: launch with `--queue-depth 2`, or receive before sending more
     = more: tilewright explain TW-E0330
    ");
}

#[test]
fn a_deadlock_is_told_from_a_shallow_queue() {
    let receive_first = "kernel @d() {\n%id = pe_id : i32\n%c = cmp eq %id, 0:i32 : i1\nif %c {\n%g = recv pe.east : i32\nsend pe.east, %g\n} else {\n%h = recv pe.west : i32\nsend pe.west, %h\n}\n}\n";
    let case = Case::new(receive_first, (1, 2), 1);
    match capacity(&case.shape(), &Limits::default()) {
        Capacity::Never(errors) => insta::assert_snapshot!(errors, @"
        error[TW-E0301]: deadlock: 2 programs wait for each other
        --> t.tir:5:1
         = note: PE 0 waits here for a message from PE 1 (pe.east)
         = note: t.tir:8:1: PE 1 waits here for a message from PE 0 (pe.west)
         = note: the cycle, each waits for the next: PE 0 -> PE 1 -> PE 0
         = next: let one of them send before it receives
         = more: tilewright explain TW-E0301
        "),
        other => panic!("{other:?}"),
    }
}

/// All 128 PEs pass messages East along their rows, `n` each.
fn rows(n: u64) -> String {
    format!(
        "kernel @rows() {{
  %id = pe_id : i32
  %col = rem %id, 4 : i32
  %later = cmp gt %col, 0:i32 : i1
  %last = cmp eq %col, 3:i32 : i1
  %inner = not %last : i1
  for %i in 0:i64..{n}:i64 {{
    if %later {{
      %g = recv pe.west : i64
      keep %g
    }}
    if %inner {{
      send pe.east, %i
    }}
  }}
}}\n"
    )
}

#[test]
fn loops_take_turns_in_bounded_memory_and_a_limit_ends_them() {
    let started = Instant::now();
    let findings = Case::new(&rows(1000), (16, 8), 1).check();
    assert!(findings.errors.is_empty() && findings.remarks.is_empty(), "{findings:?}");
    assert!(findings.steps < 2_000_000, "{}", findings.steps);
    let endless = Case::new(&rows(1 << 60), (16, 8), 4);
    let findings = check(&endless.shape(), &Limits { max_steps: 100_000, ..Limits::default() });
    assert!(findings.errors.is_empty(), "{}", findings.errors);
    let remarks: Vec<String> = findings.remarks.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(remarks.join("\n"), @"remark: t.tir:8:5: messages are not checked before the run: it takes more than 100000 steps, which end here");
    let huge = Case::new(&rows(1), (1 << 40, 8), 4).check();
    assert!(huge.errors.is_empty() && huge.remarks.len() == 1, "{huge:?}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn a_kernel_without_messages_costs_nothing() {
    let case = Case::new("kernel @k() {\n  %id = program_id : i32\n  keep %id\n}\n", (1 << 12, 1 << 12), 4);
    assert_eq!(case.check(), Findings::default());
    assert_eq!(capacity(&case.shape(), &Limits::default()), Capacity::Enough);
}
