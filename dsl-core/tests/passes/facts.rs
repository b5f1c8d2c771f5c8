//! Facts against the interpreter: every integer that a random scalar program makes is what its fact says, whether the
//! launch is known or not.

use proptest::prelude::*;
use std::sync::Arc;
use tilewright_core::interp::{self, Interp, Options};
use tilewright_core::ir::text::{read, value_names};
use tilewright_core::ir::{Literal, Module, ValueId};
use tilewright_core::launch::{Arg, Backend, Grid, LaunchConfig, Ready};
use tilewright_core::passes::facts::{Facts, Known};
use tilewright_core::tensor::Tensor;

/// Programs of integer ops over `%n`, `%w`, ids, lengths and loops. Every value is printed with its name.
struct Program {
    lines: Vec<String>,
    /// Names and types that can be used here.
    visible: Vec<(String, &'static str)>,
    made: usize,
}

const TYPES: [&str; 5] = ["i32", "i8", "u8", "i64", "u64"];
const CONSTANTS: [i64; 12] = [0, 1, 2, 3, 7, 8, 16, 100, -1, -8, 64, 127];

impl Program {
    fn of(bytes: &[u8]) -> String {
        let visible = vec![("%n".to_string(), "i32"), ("%w".to_string(), "i64"), ("%b".to_string(), "u8")];
        let mut p = Program { lines: Vec::new(), visible, made: 0 };
        let mut bytes = bytes.iter().copied();
        p.ops(&mut bytes, 0);
        format!("kernel @f(%n: i32, %w: i64, %b: u8, %x: view<?x24xf32>) {{\n{}\n}}\n", p.lines.join("\n"))
    }
    fn ops(&mut self, bytes: &mut impl Iterator<Item = u8>, depth: usize) {
        let until = if depth == 0 { 1000 } else { 5 };
        for _ in 0..until {
            let Some(kind) = bytes.next() else { return };
            match kind % 16 {
                0 if depth < 3 => self.counted(bytes, depth),
                1 if depth < 3 => self.choice(bytes, depth),
                2 => self.place(kind),
                3 => self.cast(bytes),
                4 => self.select(bytes),
                _ => self.binary(bytes),
            }
        }
    }
    fn show(&mut self, name: &str) {
        self.lines.push(format!("print \"{name} {{}}\", {name}"));
    }
    fn fresh(&mut self, ty: &'static str, op: String) {
        let name = format!("%v{}", self.made);
        self.made += 1;
        self.lines.push(format!("{name} = {op} : {ty}"));
        self.show(&name);
        self.visible.push((name, ty));
    }
    /// A value of this type: one that is visible, or a constant.
    fn value(&self, ty: &str, choice: u8) -> String {
        let fit: Vec<&String> = self.visible.iter().filter(|(_, t)| *t == ty).map(|(name, _)| name).collect();
        if choice.is_multiple_of(3) || fit.is_empty() {
            let n = CONSTANTS[choice as usize / 3 % CONSTANTS.len()];
            return format!("{}:{ty}", if ty.starts_with('u') { n.abs() } else { n });
        }
        fit[fit.len() - 1 - choice as usize / 3 % fit.len()].clone()
    }
    fn ty(&mut self, choice: u8) -> &'static str {
        // Mostly of a type that is there already.
        let (_, ty) = self.visible[choice as usize / 4 % self.visible.len()];
        if choice.is_multiple_of(4) { TYPES[choice as usize / 4 % TYPES.len()] } else { ty }
    }
    fn binary(&mut self, bytes: &mut impl Iterator<Item = u8>) {
        const OPS: [&str; 13] =
            ["add", "sub", "mul", "div", "rem", "mul_hi", "maximum", "minimum", "and", "or", "xor", "shl", "shr"];
        let mut byte = || bytes.next().unwrap_or(0);
        let (op, ty, a, b) = (byte(), byte(), byte(), byte());
        let ty = self.ty(ty);
        let (a, b) = (self.value(ty, a), self.value(ty, b));
        match op % 16 {
            13 => self.fresh(ty, format!("neg {a}")),
            14 => self.fresh(ty, format!("abs {a}")),
            15 => self.fresh(ty, format!("not {a}")),
            op => self.fresh(ty, format!("{} {a}, {b}", OPS[op as usize])),
        }
    }
    fn cast(&mut self, bytes: &mut impl Iterator<Item = u8>) {
        let (from, to) = (bytes.next().unwrap_or(0), bytes.next().unwrap_or(0));
        let (name, _) = self.visible[from as usize % self.visible.len()].clone();
        self.fresh(TYPES[to as usize % TYPES.len()], format!("cast {name}"));
    }
    fn place(&mut self, kind: u8) {
        const PLACES: [&str; 8] = [
            "program_id",
            "num_programs",
            "pe_id",
            "num_pes",
            "cube_id",
            "num_cubes",
            "len %x axis 0",
            "len %x axis 1",
        ];
        self.fresh("i32", PLACES[kind as usize / 16 % PLACES.len()].to_string());
    }
    fn condition(&mut self, bytes: &mut impl Iterator<Item = u8>) -> String {
        let mut byte = || bytes.next().unwrap_or(0);
        let (pred, a, b) = (byte(), byte(), byte());
        let pred = ["lt", "le", "gt", "ge", "eq", "ne"][pred as usize % 6];
        let mut name = format!("%c{}", self.made);
        self.made += 1;
        self.lines.push(format!("{name} = cmp {pred} {}, {} : i1", self.value("i32", a), self.value("i32", b)));
        let (join, by, c) = (byte(), byte(), byte());
        let other = format!("%x{}", self.made);
        match join % 6 {
            0 => {
                // That something divides a value.
                let (x, rest) = (self.value("i32", c), format!("%y{}", self.made));
                self.lines.push(format!("{rest} = {} {x}, {} : i32", ["rem", "and"][by as usize % 2], by / 2 % 17));
                self.lines.push(format!("{other} = cmp eq {rest}, 0:i32 : i1"));
                name = other;
            }
            1 => {
                self.lines.push(format!("{other} = not {name} : i1"));
                name = other;
            }
            2 | 3 => {
                let second = format!("%z{}", self.made);
                let (x, y) = (self.value("i32", by), self.value("i32", c));
                self.lines.push(format!("{second} = cmp ge {x}, {y} : i1"));
                self.lines.push(format!("{other} = {} {name}, {second} : i1", ["and", "or"][join as usize % 2]));
                name = other;
            }
            _ => {}
        }
        self.made += 1;
        let shown = format!("%s{}", self.made);
        self.made += 1;
        self.lines.push(format!("{shown} = cast {name} : i32"));
        self.show(&shown);
        name
    }
    fn select(&mut self, bytes: &mut impl Iterator<Item = u8>) {
        let mask = self.condition(bytes);
        let (a, b) = (bytes.next().unwrap_or(0), bytes.next().unwrap_or(0));
        let (a, b) = (self.value("i32", a), self.value("i32", b));
        self.fresh("i32", format!("select {mask}, {a}, {b}"));
    }
    fn counted(&mut self, bytes: &mut impl Iterator<Item = u8>, depth: usize) {
        let mut byte = || bytes.next().unwrap_or(0);
        let (lo, hi, step, first) = (byte(), byte(), byte(), byte());
        let step = [1, 2, 3, 4, 8, 16][step as usize % 6];
        // So that a loop ends soon, whatever its ends are.
        let (lo, hi) = (self.value("i32", lo), self.value("i32", hi));
        let bounded = format!("%h{}", self.made);
        self.lines.push(format!("{bounded}low = maximum {lo}, -20 : i32"));
        self.lines.push(format!("{bounded} = minimum {hi}, 20 : i32"));
        self.visible.extend([(format!("{bounded}low"), "i32"), (bounded.clone(), "i32")]);
        let (index, arg, out) = (format!("%i{}", self.made), format!("%a{}", self.made), format!("%o{}", self.made));
        self.made += 1;
        let first = self.value("i32", first);
        self.lines
            .push(format!("{out} = for {index} in {bounded}low..{bounded} step {step} carry ({arg} = {first}) {{"));
        let before = self.visible.len();
        self.visible.extend([(index.clone(), "i32"), (arg.clone(), "i32")]);
        self.show(&index);
        self.show(&arg);
        self.ops(bytes, depth + 1);
        let next = self.value("i32", bytes.next().unwrap_or(1));
        self.visible.truncate(before);
        self.lines.push(format!("yield {next}\n}}"));
        self.show(&out);
        self.visible.push((out, "i32"));
    }
    fn choice(&mut self, bytes: &mut impl Iterator<Item = u8>, depth: usize) {
        let cond = self.condition(bytes);
        let out = format!("%r{}", self.made);
        self.made += 1;
        let before = self.visible.len();
        self.lines.push(format!("{out} = if {cond} {{"));
        self.ops(bytes, depth + 1);
        let then = self.value("i32", bytes.next().unwrap_or(1));
        self.visible.truncate(before);
        self.lines.push(format!("yield {then}\n}} else {{"));
        self.ops(bytes, depth + 1);
        let other = self.value("i32", bytes.next().unwrap_or(1));
        self.visible.truncate(before);
        self.lines.push(format!("yield {other}\n}}"));
        self.show(&out);
        self.visible.push((out, "i32"));
    }
}

fn kernel(text: &str) -> Module {
    read(text, "f.tir").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A value that is not what its fact says.
fn contradiction(m: &Module, facts: &Facts, prints: &[String]) -> Option<String> {
    let names = value_names(m);
    for line in prints {
        let Some((name, value)) = line.split_once(' ').filter(|_| line.starts_with('%')) else {
            assert_eq!(line, "(more lines are not shown)");
            continue;
        };
        let v = names.iter().position(|n| n == name).map(|i| ValueId(i as u32)).expect("a value of the module");
        let (fact, value) = (facts.get(m, v).expect("an integer"), value.parse::<i128>().expect("a number"));
        if !fact.holds(value) {
            return Some(format!("{name} is {value}, but {fact:?}"));
        }
    }
    None
}

fn check(bytes: &[u8], n: i32, w: i64, b: u8, rows: usize, grid: Grid) -> Result<usize, String> {
    let text = Program::of(bytes);
    let m = Arc::new(kernel(&text));
    let x = Tensor::<f32, 2>::zeros([rows, 24]);
    let args = vec![Arg::Scalar(n.into()), Arg::Scalar(w.into()), Arg::Scalar(b.into()), Arg::View(x.as_any())];
    let ready = Ready { module: m.clone(), args, config: LaunchConfig { grid, ..LaunchConfig::default() } };
    let knowns = [Known::default(), Known::of(&ready), Known { args: Vec::new(), ..Known::of(&ready) }];
    let mut interp = Interp::new(Options { max_steps: 20_000, ..interp::Options::default() });
    // Divisions by zero leave records; what was printed stands.
    let _ = interp.execute(ready);
    let prints: Vec<String> = interp.prints().iter().map(|p| p.text.clone()).collect();
    for known in knowns {
        if let Some(found) = contradiction(&m, &Facts::of(&m, &known), &prints) {
            return Err(format!("{found}\n{known:?}\n{text}"));
        }
    }
    Ok(prints.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_integer_is_what_its_fact_says(
        bytes in prop::collection::vec(any::<u8>(), 0..160),
        n in prop_oneof![-10..70i32, any::<i32>()],
        w in prop_oneof![-10..70i64, any::<i64>()],
        (b, rows, cubes, pes) in (any::<u8>(), 0..50usize, 1..3usize, 1..3usize),
    ) {
        let checked = check(&bytes, n, w, b, rows, Grid::cubes(cubes).pes(pes));
        prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
    }
}

#[test]
fn a_random_program_prints_what_it_makes() {
    let mut state = 7u64;
    let bytes: Vec<u8> = (0..320)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    let printed = check(&bytes, 5, 6, 7, 8, Grid::cubes(1)).unwrap();
    assert!(printed > 20, "{printed}");
    // A wrong fact is noticed.
    let m = kernel("kernel @k(%n: i32) {\n%a = add %n, 1 : i32\nkeep %a\n}\n");
    let known = Known { args: vec![tilewright_core::passes::facts::KnownArg::Scalar(Literal::from(4))], grid: None };
    let facts = Facts::of(&m, &known);
    assert_eq!(contradiction(&m, &facts, &["%a 5".to_string()]), None);
    assert!(contradiction(&m, &facts, &["%a 6".to_string()]).is_some());
}

#[test]
fn a_length_that_no_index_holds_does_not_keep_the_analysis_busy() {
    let m = tilewright_core::ir::text::parse(
        "kernel @k(%x: view<4294967295xi1>, %on: i1) {
  %n = len %x axis 0 : i32
  %p = program_id : i32
  %q = while carry (%i = %p) {
    while %on
    yield %n
  }
  assert %on, \"{}\"
}
",
        "k.tir",
    );
    let m = m.unwrap_or_else(|e| panic!("{e:?}"));
    let facts = Facts::of(&m, &Known::default());
    let n = ValueId(m.num_values() as u32 - 1);
    assert!(facts.get(&m, n).is_none_or(|fact| fact.hi <= i128::from(i32::MAX)));
}
