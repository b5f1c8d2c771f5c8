//! Checks of bounds against the interpreter: what is proved, or passes at launch, leaves no error record.

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use tilewright_core::interp::{Interp, Options};
use tilewright_core::ir::text::read;
use tilewright_core::ir::{Module, OpId};
use tilewright_core::launch::{Arg, Backend, Grid, LaunchConfig, Ready};
use tilewright_core::passes::bounds::{Checks, Placement, place_checks};
use tilewright_core::passes::facts::{Known, KnownArg};
use tilewright_core::passes::{self};
use tilewright_core::tensor::Tensor;

fn kernel(body: &str) -> Module {
    let text =
        format!("kernel @b(%x: view<?xf32>, %y: view<?x32xf32>, %o: view_mut<?xf32>, %n: i32, %m: i32) {{\n{body}}}\n");
    read(&text, "b.tir").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Accesses in nests of loops and conditions; indices are sums, products, clamps and choices of loop indices, ids,
/// parameters and lengths.
fn body(bytes: &[u8]) -> String {
    let mut out = String::from(
        "%pid = program_id : i32\n%xs = len %x axis 0 : i32\n%ys = len %y axis 0 : i32\n%os = len %o axis 0 : i32\n",
    );
    let mut visible: Vec<String> = ["%pid", "%xs", "%ys", "%os", "%n", "%m"].map(String::from).to_vec();
    // How each open region ends, and what can be seen after it.
    let mut open: Vec<(String, usize)> = Vec::new();
    let mut bytes = bytes.iter().copied();
    for i in 0.. {
        let Some(kind) = bytes.next() else { break };
        let mut byte = || bytes.next().unwrap_or(0) as usize;
        let (a, b) = (byte(), byte());
        let any = |c: usize| match c % 3 {
            0 => format!("{}:i32", [0, 1, 2, 4, 8, 16, 31][c / 3 % 7]),
            _ => visible[visible.len() - 1 - c / 3 % visible.len()].clone(),
        };
        let (x, y) = (any(a), any(b));
        let size = [1, 2, 4, 8, 16][byte() % 5];
        match kind % 16 {
            0 | 1 if open.len() < 4 => {
                let (step, end) = ([1, 2, 4, 8, 16][byte() % 5], ["%xs", "%ys", "%os", "32"][byte() % 4]);
                let lo = if a % 2 == 0 { "0".to_string() } else { x };
                out += &format!("for %i{i} in {lo}..{end} step {step} {{\n");
                open.push(("}".into(), visible.len()));
                visible.push(format!("%i{i}"));
            }
            2 | 3 if open.len() < 4 => {
                let (first, second) = (condition(byte(), &x, &y), condition(byte(), &any(byte()), &any(byte())));
                let join = ["and", "or"][byte() % 2];
                out += &format!(
                    "%p{i} = {first}\n%q{i} = {second}\n%r{i} = {join} %p{i}, %q{i} : i1\n%s{i} = not %r{i} : i1\n"
                );
                let rest = format!("%d{i} = rem {x}, {size} : i32\n%t{i} = cmp eq %d{i}, 0:i32 : i1\n");
                out += &rest;
                out += &format!("if %{}{i} {{\n", ["p", "r", "s", "t"][byte() % 4]);
                open.push(("}".into(), visible.len()));
            }
            4 if open.len() < 4 => {
                out += &format!("%e{i} = while carry (%w{i} = {x}) {{\n%g{i} = cmp lt %w{i}, {y} : i1\nwhile %g{i}\n");
                open.push((format!("%z{i} = add %w{i}, {size} : i32\nyield %z{i}\n}}"), visible.len()));
                visible.push(format!("%w{i}"));
            }
            5 => {
                if let Some((end, before)) = open.pop() {
                    out += &format!("{end}\n");
                    visible.truncate(before);
                }
            }
            6 => {
                if let Some((end, before)) = open.last().filter(|(end, _)| end == "}").cloned()
                    && out.rfind("\nif ") > out.rfind("\nfor ")
                    && out.rfind("\nif ") > out.rfind("\n}")
                {
                    out += &format!("{end} else {{\n");
                    visible.truncate(before);
                }
            }
            7 | 8 => out += &format!("%l{i} = load %x[{x}] : tile<{size}xf32>\nprint \"{{}}\", %l{i}\n"),
            9 => out += &format!("%l{i} = load %y[{x}, {y}] : tile<{size}xf32>\nprint \"{{}}\", %l{i}\n"),
            10 => out += &format!("store %o[{x}], 1.0:f32\n"),
            11 => out += &format!("%l{i} = load %x[{x}] limit 0: {y} : tile<{size}xf32>\nprint \"{{}}\", %l{i}\n"),
            12 => {
                let mask = condition(byte(), &any(byte()), &any(byte()));
                out += &format!("%c{i} = {mask}\n%v{i} = select %c{i}, {x}, {y} : i32\n");
                visible.push(format!("%v{i}"));
            }
            kind => {
                const OPS: [&str; 10] = ["add", "sub", "mul", "minimum", "maximum", "rem", "div", "shl", "shr", "and"];
                out += &format!("%v{i} = {} {x}, {y} : i32\n", OPS[(kind as usize + a) % 10]);
                visible.push(format!("%v{i}"));
            }
        }
    }
    open.iter().rev().for_each(|(end, _)| out += &format!("{end}\n"));
    out
}
fn condition(pred: usize, x: &str, y: &str) -> String {
    format!("cmp {} {x}, {y} : i1", ["lt", "le", "gt", "ge", "eq", "ne"][pred % 6])
}

/// Accesses that are shown to be inside for this launch, by placement; and the lines of those that were not.
struct Shown {
    proved: BTreeSet<OpId>,
    passed: BTreeSet<OpId>,
}

fn shown(m: &Module, checks: &Checks, launch: &Known) -> Shown {
    let failed: BTreeSet<OpId> = checks.fail_at(m, launch).into_iter().collect();
    let of = |p: Placement| checks.0.iter().filter(move |c| c.placement == p).map(|c| c.op);
    Shown {
        proved: of(Placement::Proved).collect(),
        passed: of(Placement::AtLaunch).filter(|op| !failed.contains(op)).collect(),
    }
}

fn check(bytes: &[u8], (n, m): (i32, i32), lens: [usize; 3], pes: usize) -> Result<(usize, usize), String> {
    let module = Arc::new(kernel(&body(bytes)));
    let (x, y) = (Tensor::<f32, 1>::zeros([lens[0]]), Tensor::<f32, 2>::zeros([lens[1], 32]));
    let mut o = Tensor::<f32, 1>::zeros([lens[2]]);
    let args = vec![
        Arg::View(x.as_any()),
        Arg::View(y.as_any()),
        Arg::ViewMut(o.as_any_mut()),
        Arg::Scalar(n.into()),
        Arg::Scalar(m.into()),
    ];
    let config = LaunchConfig { grid: Grid::cubes(1).pes(pes), ..LaunchConfig::default() };
    let ready = Ready { module: module.clone(), args, config };
    let launch = Known::of(&ready);
    let mut interp = Interp::new(Options { max_steps: 30_000, ..Options::default() });
    let codes_and_lines: Vec<(&str, u32)> = match interp.execute(ready) {
        Ok(_) => Vec::new(),
        Err(e) => e.0.iter().map(|d| (d.code, d.labels.first().map_or(0, |l| l.place.line))).collect(),
    };
    let outside: BTreeSet<u32> =
        codes_and_lines.iter().filter(|(code, _)| matches!(*code, "TW-E0310" | "TW-E0311")).map(|(_, l)| *l).collect();
    let line = |op: OpId| module.locs.get(module.op(op).loc).map_or(0, |loc| loc.place.line);
    let (mut proved, mut passed) = (0, 0);
    for known in [Known::default(), launch.clone(), Known { grid: None, ..launch.clone() }] {
        let shown = shown(&module, &place_checks(&module, &known).0, &launch);
        (proved, passed) = (proved + shown.proved.len(), passed + shown.passed.len());
        for op in shown.proved.iter().chain(&shown.passed) {
            if outside.contains(&line(*op)) {
                let text = tilewright_core::ir::text::print(&module);
                return Err(format!("line {} was shown to be inside\n{launch:?}\n{text}", line(*op)));
            }
        }
    }
    Ok((proved, passed))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_to_be_inside_is_inside(
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        (n, m) in (-4..40i32, -4..40i32),
        (a, b, c) in (0..9usize, 0..40usize, 0..65usize),
        pes in 1..4usize,
    ) {
        let found = check(&bytes, (n, m), [a * 8, b, c], pes);
        prop_assert!(found.is_ok(), "{}", found.unwrap_err());
    }
}

#[test]
fn random_accesses_are_proved_and_pass_often_enough_to_mean_something() {
    let (mut proved, mut passed, mut state) = (0, 0, 3u64);
    for _ in 0..60 {
        let bytes: Vec<u8> = (0..120)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        let found = check(&bytes, (5, 9), [64, 20, 33], 2).unwrap();
        (proved, passed) = (proved + found.0, passed + found.1);
    }
    assert!(proved > 60 && passed > 20, "{proved} proved, {passed} passed");
}

const LAUNCH: &str = "%pid = program_id : i32\n%at = mul %pid, 8 : i32\n%t = load %x[%at] : tile<8xf32>\nkeep %t\n";

fn launch(len: usize, pes: usize) -> Known {
    let lens = |n: usize| KnownArg::Lens(vec![n]);
    Known { grid: Some(Grid::cubes(1).pes(pes)), args: vec![lens(len), KnownArg::Lens(vec![1, 32]), lens(1)] }
}

#[test]
fn a_check_at_launch_is_evaluated_with_the_launchs_numbers() {
    let m = kernel(LAUNCH);
    let (checks, _) = place_checks(&m, &Known::default());
    insta::assert_snapshot!(checks.0[0].condition, @"0 <= program_id * 8, program_id * 8 + 8 <= len(%x, 0)");
    assert_eq!(checks.0[0].placement, Placement::AtLaunch);
    assert_eq!(checks.fail_at(&m, &launch(64, 8)), []);
    assert_eq!(checks.fail_at(&m, &launch(63, 8)), [checks.0[0].op]);
    assert_eq!(checks.fail_at(&m, &launch(64, 9)), [checks.0[0].op]);
    // Compiled for one launch, the same access is proved.
    assert_eq!(place_checks(&m, &launch(64, 8)).0.counts().proved, 1);
}

#[test]
fn denied_checks_in_place_are_errors_each_with_its_line() {
    let body = "%f = load %x[%n] : f32\n%i = cast %f : i32\n%g = load %x[%i] : f32\nstore %o[%i], %g\nkeep %g\n";
    let deny = passes::Options { deny_in_kernel_checks: true, ..passes::Options::default() };
    let denied = passes::optimise(&kernel(body), &deny).expect_err("two accesses depend on data");
    insta::assert_snapshot!(denied);
    let clamped = "%f = load %x[%n] else 0.0 : f32\n%i = cast %f : i32\n%g = load %x[%i] else 0.0 : f32\nstore inside %o[%i], %g\n";
    assert!(passes::optimise(&kernel(clamped), &deny).is_ok());
}

#[test]
fn a_kernel_that_denies_checks_needs_no_option() {
    let denying = |body: &str| {
        let mut m = kernel(body);
        m.deny.in_kernel_checks = true;
        m
    };
    let refused = |m: &Module, known: Known| {
        let options = passes::Options { known, ..passes::Options::default() };
        passes::optimise(m, &options).map_or_else(|e| e.0.iter().map(|d| d.message.clone()).collect(), |_| Vec::new())
    };
    // For all launches, what the host can check is no check in the kernel; for one, it has to hold.
    let at_launch = denying(LAUNCH);
    assert_eq!(refused(&at_launch, Known::default()), Vec::<String>::new());
    let whole = |len: usize| {
        let mut known = launch(len, 8);
        known.args.extend([KnownArg::Scalar(1.into()), KnownArg::Scalar(1.into())]);
        known
    };
    assert_eq!(refused(&at_launch, whole(64)), Vec::<String>::new());
    let told = "for this launch, the kernel would have to check the bounds of this load";
    assert_eq!(refused(&at_launch, whole(63)), [told]);
    // A check before a loop is one in the kernel.
    let before = "%f = load %x[%n] else 0.0 : f32\n%i = cast %f : i32\nfor %k in 0..%m {\n%j = add %i, %k : i32\nstore %o[%j], 1.0:f32\n}\n";
    assert_eq!(refused(&denying(before), Known::default()), ["this store checks its bounds in the kernel"]);
}

#[test]
fn a_proof_lets_a_read_leave_its_loop() {
    let body =
        "for %i in 0..%n {\n%t = load %y[0, 24] : tile<8xf32>\n%u = load %x[0] : tile<8xf32>\nkeep %t\nkeep %u\n}\n";
    let lens = KnownArg::Lens(vec![8]);
    let known = Known { grid: None, args: vec![lens.clone(), KnownArg::Lens(vec![1, 32]), lens] };
    let moved = |known: Known| {
        let options = passes::Options { known, ..passes::Options::default() };
        let remarks = passes::optimise(&kernel(body), &options).unwrap().remarks;
        remarks.iter().filter(|r| r.pass == "licm" && r.verdict == passes::Verdict::Applied).count()
    };
    assert_eq!((moved(Known::default()), moved(known)), (0, 2));
}
