//! Every elementwise op of the table, for every element type that its row allows, on tiles and on scalars: the emulator
//! gives what the interpreter gives, to the bit except for NaNs that arithmetic makes and for the functions of *Math*
//! (`math_error.rs` measures those). Every module assembles for every target.

mod common;
#[path = "common/ptxas.rs"]
mod ptxas;

use common::{Ran, Value, interpreted, on, parse, tensor};
use ptxas::Assembled;
use std::fmt::Write as _;
use tilewright_core::data::Data;
use tilewright_core::elem::{Class, ElemType, Kind};
use tilewright_core::ir::ops::OpRow;
use tilewright_core::ir::{Literal, Op};
use tilewright_core::launch::Grid;
use tilewright_cuda::emulator::Emulator;
use tilewright_cuda::launch::Device;
use tilewright_cuda::{Options, Target, compile};

/// Elements of a tile, and turns of the loop over scalars.
const TILE: usize = 512;
const TURNS: usize = 96;

/// How results are compared.
#[derive(Clone, Copy, PartialEq)]
enum Equal {
    /// To the bit: moves and sign bits.
    Bits,
    /// To the bit, but any NaN is a NaN.
    Values,
    /// As far apart as this many floats.
    Near(u64),
}

/// Where the operands come from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Tiles,
    /// Turn by turn.
    Scalars,
    /// Turn by turn, the last operand a constant: an immediate, where the instruction takes one.
    Constant,
}
/// Constants that each turn meets.
const CONSTANTS: usize = 5;

/// One op with its element types.
struct Case {
    name: String,
    /// `add %a, %b`
    text: String,
    operands: Vec<ElemType>,
    result: ElemType,
    equal: Equal,
    /// A divisor of zero leaves an error record.
    divides: bool,
}

fn cases(families: &[&str]) -> Vec<Case> {
    Op::ROWS.iter().filter(|row| families.contains(&row.family)).flat_map(cases_of).collect()
}
fn cases_of(row: &OpRow) -> Vec<Case> {
    let of = |class: Class| ElemType::ALL.iter().copied().filter(move |e| e.is(class)).collect::<Vec<_>>();
    let alike = |operands: &str, equal: Equal| {
        let class = row.class.unwrap_or(Class::Any);
        let n = operands.split(',').count();
        let case = |e: ElemType| {
            let divides = matches!(row.name, "Div" | "Rem") && e.is(Class::Int);
            case(row, format!("{} {operands}", row.mnemonic), vec![e; n], e, equal, divides)
        };
        of(class).into_iter().map(case).collect::<Vec<_>>()
    };
    match (row.family, row.name) {
        (_, "Fma") => alike("%a, %b, %c", Equal::Values),
        (_, "Neg" | "Abs") => alike("%a", Equal::Bits),
        (_, "Sqrt" | "Floor" | "RoundEven") => alike("%a", Equal::Values),
        ("math", _) if row.unary.is_some() => alike("%a", Equal::Near(5)),
        ("bits", _) if row.unary.is_some() => alike("%a", Equal::Bits),
        ("arithmetic" | "bits", _) if row.unary.is_none() => alike("%a, %b", Equal::Values),
        (_, "Cmp") => of(Class::Any).into_iter().flat_map(|e| comparisons(row, e)).collect(),
        (_, "Select") => {
            let case = |e| case(row, "select %a, %b, %c".into(), vec![ElemType::I1, e, e], e, Equal::Bits, false);
            of(Class::Any).into_iter().map(case).collect()
        }
        (_, "Cast" | "Bitcast") => conversions(row),
        (family, name) => panic!("how is `{name}` of {family} written? A new op needs a lowering and a line here"),
    }
}
fn case(row: &OpRow, text: String, operands: Vec<ElemType>, result: ElemType, equal: Equal, divides: bool) -> Case {
    let word = text.split(" %").next().unwrap_or("").replace(' ', "_");
    let name = format!("{word}_{}_{result}", operands.last().map_or(row.mnemonic, |e| e.name()));
    Case { name, text, operands, result, equal, divides }
}
fn comparisons(row: &OpRow, e: ElemType) -> Vec<Case> {
    let preds: &[&str] = match e.kind() {
        Kind::Storage => &[],
        Kind::Bool => &["eq", "ne"],
        _ => &["lt", "le", "gt", "ge", "eq", "ne"],
    };
    let case = |pred: &&str| case(row, format!("cmp {pred} %a, %b"), vec![e, e], ElemType::I1, Equal::Bits, false);
    preds.iter().map(case).collect()
}
fn conversions(row: &OpRow) -> Vec<Case> {
    let bits = row.name == "Bitcast";
    let fits = |a: ElemType, b: ElemType| !bits || a.bytes() == b.bytes() && (a == ElemType::I1) == (b == ElemType::I1);
    let equal = if bits { Equal::Bits } else { Equal::Values };
    let case = |(a, b)| case(row, format!("{} %a", row.mnemonic), vec![a], b, equal, false);
    let pairs = ElemType::ALL.iter().flat_map(|a| ElemType::ALL.iter().map(|b| (*a, *b)));
    pairs.filter(|(a, b)| fits(*a, *b)).map(case).collect()
}

impl Case {
    fn forms(&self) -> impl Iterator<Item = Form> {
        // Of one operand that is a constant nothing would be left.
        let constant = (self.operands.len() > 1).then_some(Form::Constant);
        [Form::Tiles, Form::Scalars].into_iter().chain(constant)
    }
    /// A kernel that does it.
    fn tir(&self, form: Form) -> String {
        let names = ["a", "b", "c"];
        let (tile, constant) = (form == Form::Tiles, form == Form::Constant);
        let ty = |e: ElemType| if tile { format!("tile<{TILE}x{e}>") } else { e.to_string() };
        let loaded = self.operands.len() - usize::from(constant);
        let (mut params, mut body) = (String::new(), String::new());
        let at = if tile { "0" } else { "%i" };
        for (e, name) in self.operands.iter().zip(names).take(loaded) {
            let _ = write!(params, "%{name}s: view<?x{e}>, ");
            let _ = writeln!(body, "    %{name} = load %{name}s[{at}] : {}", ty(*e));
        }
        let result = ty(self.result);
        if constant {
            let _ = writeln!(body, "    %first = mul %i, {CONSTANTS} : i32");
            for (j, value) in self.constants().iter().enumerate() {
                let literal = if value.elem == ElemType::I1 { value.to_string() } else { format!("{value:?}") };
                let text = self.text.replace(&format!("%{}", names[loaded]), &literal);
                let _ = writeln!(body, "    %at{j} = add %first, {j} : i32\n    %r{j} = {text} : {result}");
                let _ = writeln!(body, "    store %out[%at{j}], %r{j}");
            }
        } else {
            let _ = writeln!(body, "    %r = {} : {result}\n    store %out[{at}], %r", self.text);
        }
        let body = if tile { body } else { format!("  for %i in 0..{TURNS} step 1 {{\n{body}  }}\n") };
        format!("kernel @{}_{form:?}({params}%out: view_mut<?x{}>) {{\n{body}}}\n", self.name, self.result)
    }
    /// Special values of the last operand, far apart in their list.
    fn constants(&self) -> Vec<Literal> {
        let elem = self.operands[self.operands.len() - 1];
        let all: Vec<Literal> = specials(elem).into_iter().filter(|l| !(self.divides && l.bits == 0)).collect();
        let mut data = Data::zeros(elem, CONSTANTS);
        (0..CONSTANTS).for_each(|j| data.set(j, all[(3 + j * 17) % all.len()]));
        (0..CONSTANTS).map(|j| data.get(j)).collect()
    }
    fn args(&self) -> Vec<Value> {
        let mut random = Random(0x9E37_79B9_97F4_A7C1);
        let columns = self.operands.len();
        let all: Vec<Vec<Literal>> = self.operands.iter().map(|e| specials(*e)).collect();
        let pick = |column: usize, row: usize, random: &mut Random| {
            let (elem, known) = (self.operands[column], &all[column]);
            // Of one operand every special value; of several, pairs at random.
            let literal = match row {
                row if columns == 1 && row < known.len() => known[row],
                row if columns > 1 && row % 4 != 3 => known[random.below(known.len())],
                _ => any(elem, random),
            };
            let zero = self.divides && column == 1 && literal.bits == 0;
            if zero { Literal { elem, bits: 3 } } else { literal }
        };
        let mut data: Vec<Data> = self.operands.iter().map(|e| Data::zeros(*e, TILE)).collect();
        // A stride that is prime to the number of rows spreads the special values over the turns of the loop.
        for row in 0..TILE {
            for (column, data) in data.iter_mut().enumerate() {
                data.set(row * 5 % TILE, pick(column, row, &mut random));
            }
        }
        let operands = self.operands.iter().zip(data).map(|(e, data)| Value::Tensor(tensor(*e, &[TILE], data)));
        let out = Value::Tensor(tensor(self.result, &[TILE], Data::zeros(self.result, TILE)));
        operands.chain([out]).collect()
    }
    fn check(&self, device: &mut impl Device, form: Form) -> Result<(), String> {
        let (tir, grid, mut args) = (self.tir(form), Grid::cubes(1).pes(1), self.args());
        if form == Form::Constant {
            args.remove(self.operands.len() - 1);
        }
        let data = |ran: Ran| match ran.errors {
            Some(e) => Err(format!("{} ({form:?}): {e}", self.name)),
            None => ran.tensors.last().and_then(|t| t.data.clone()).ok_or_else(|| "no data".to_string()),
        };
        let want = data(interpreted(&tir, grid, 128, &args))?;
        let found = data(on(device, &tir, grid, 128, &args))?;
        let wrong: Vec<usize> = (0..want.len()).filter(|i| !self.same(want.get(*i), found.get(*i))).collect();
        let Some(&i) = wrong.first() else { return Ok(()) };
        let row = if form == Form::Constant { i / CONSTANTS } else { i };
        let mut inputs: Vec<String> = args[..args.len() - 1].iter().map(|arg| shown(arg, row)).collect();
        if form == Form::Constant {
            inputs.push(format!("{:?}", self.constants()[i % CONSTANTS]));
        }
        let (name, inputs, count) = (&self.name, inputs.join(", "), wrong.len());
        let (found, want) = (told(found.get(i)), told(want.get(i)));
        Err(format!("{name} ({form:?}): {inputs} gives {found}, the interpreter says {want} ({count} in all)"))
    }
    fn same(&self, want: Literal, found: Literal) -> bool {
        let nan = |l: Literal| l.elem.is(Class::Float) && l.as_float().is_some_and(f64::is_nan);
        match self.equal {
            _ if want.bits == found.bits => true,
            Equal::Bits => false,
            Equal::Values => nan(want) && nan(found),
            Equal::Near(ulps) => nan(want) && nan(found) || want.bits.abs_diff(found.bits) <= ulps,
        }
    }
}
fn told(l: Literal) -> String {
    format!("{:#x}{}", l.bits, l.as_float().map_or(String::new(), |x| format!(" ({x:e})")))
}
fn shown(arg: &Value, i: usize) -> String {
    match arg {
        Value::Tensor(t) => t.data.as_ref().map_or(String::new(), |data| told(data.get(i))),
        Value::Scalar(l) => told(*l),
    }
}

/// Xorshift: the same numbers in every run.
struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }
}
fn bits_of(elem: ElemType, bits: u64) -> Literal {
    let mask = if elem == ElemType::I1 { 1 } else { u64::MAX >> (64 - elem.bits()) };
    Literal { elem, bits: bits & mask }
}
/// Any bits; of floats, half of them near 1.
fn any(elem: ElemType, random: &mut Random) -> Literal {
    let bits = random.next();
    let near = (bits as i32 as f64) / f64::from(1 << 26);
    match Literal::float(elem, near) {
        Some(literal) if elem.is(Class::Float) && random.below(2) == 0 => literal,
        _ => bits_of(elem, bits),
    }
}
/// Ends of types, ties of narrower ones, and where functions change their ways.
const FLOATS: &str = "0 1 0.5 1.5 2.5 3.5 0.75 2 3 7 10 127.5 128.5 255.5 256.5 448 464 465 480 32767.5 32768.5 57344 61440
    65504 65520 65535.5 2147483647.5 2147483648 4294967295.5 4294967296 9.3e18 1.9e19 1e30 0.1 1e-3 2e-3 1e-5 1e-7 1e-10
    16777217 88.8 87.3 103.9 0.9 1.1 1.0009765625 0.99951171875 0.785398 1.5707963 3.1415927 6.2831855 20 710 745 1e5 inf";

/// Where rules have their edges.
fn specials(elem: ElemType) -> Vec<Literal> {
    let width = u64::from(elem.bits());
    let sign = 1u64 << (width - 1);
    match elem.kind() {
        Kind::Bool => vec![bits_of(elem, 0), bits_of(elem, 1)],
        Kind::Storage => (0..256).map(|bits| bits_of(elem, bits)).collect(),
        Kind::Signed | Kind::Unsigned => {
            let small = [0, 1, 2, 3, 7, 100, 127, 128, 255, width - 1, width, width + 1, width / 2];
            let edges = [sign, sign - 1, sign + 1, sign - 2, 1 << (width / 2), 0x1234_5678_9ABC_DEF1, 0x7FFF_FFFF];
            // Ties of every float type that an integer can be rounded to.
            let ties = [8, 11, 24, 53].map(|bits| (1u64 << bits) + 1);
            let all = small.into_iter().chain(edges).chain(ties).chain(ties.map(|n| (n - 1) * 3 + 1));
            all.flat_map(|n| [bits_of(elem, n), bits_of(elem, n.wrapping_neg())]).collect()
        }
        Kind::Float => {
            let quiet_nan = Literal::float(elem, f64::NAN).map_or(0, |l| l.bits);
            let infinity = Literal::float(elem, f64::INFINITY).map_or(0, |l| l.bits);
            let one = Literal::float(elem, 1.0).map_or(0, |l| l.bits);
            let least_normal = infinity & infinity.wrapping_neg();
            let patterns = [
                1,
                2,
                3,
                least_normal,
                least_normal - 1,
                least_normal + 1,
                infinity - 1,
                infinity + 1,
                quiet_nan,
                quiet_nan | 5,
                one + 1,
                one - 1,
            ];
            let values =
                FLOATS.split_whitespace().filter_map(|x| Literal::float(elem, x.parse().ok()?)).map(|l| l.bits);
            values.chain(patterns).flat_map(|bits| [bits_of(elem, bits), bits_of(elem, bits | sign)]).collect()
        }
    }
}

const ALL: &[&str] = &["arithmetic", "bits", "math", "choice", "conversion"];

fn agree(families: &[&str]) {
    for target in Target::ALL {
        agree_on(&mut Emulator::new(target), families);
    }
}
fn agree_on(device: &mut impl Device, families: &[&str]) {
    let cases = cases(families);
    let forms = cases.iter().flat_map(|case| case.forms().map(move |form| (case, form)));
    let wrong: Vec<String> = forms.filter_map(|(case, form)| case.check(device, form).err()).collect();
    assert!(wrong.is_empty(), "{} of {} ops:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn arithmetic_rounds_and_wraps_as_the_interpreter_does() {
    agree(&["arithmetic"]);
}
#[test]
fn bits_are_those_of_the_interpreter() {
    agree(&["bits"]);
}
#[test]
fn functions_are_near_those_of_the_interpreter() {
    agree(&["math"]);
}
#[test]
fn comparisons_and_choices_are_those_of_the_interpreter() {
    agree(&["choice"]);
}
#[test]
fn conversions_between_all_element_types_are_those_of_the_interpreter() {
    agree(&["conversion"]);
}

#[cfg(feature = "cuda")]
#[test]
fn a_gpu_computes_what_the_interpreter_does() {
    if let Some(mut gpu) = common::gpu("elementwise ops on a GPU") {
        agree_on(&mut gpu, ALL);
    }
}

#[test]
fn every_op_assembles_for_every_target() {
    let cases = cases(ALL);
    for target in Target::ALL {
        let options = Options::new(target, 128);
        let text = |case: &Case, form: Form| {
            let compiled = compile(&parse(&case.tir(form)), &options);
            compiled.unwrap_or_else(|e| panic!("{}: {e}", case.name)).printed.text
        };
        let texts: Vec<String> = cases.iter().flat_map(|case| case.forms().map(move |form| text(case, form))).collect();
        match ptxas::assemble(target, &texts) {
            Assembled::Right => {}
            Assembled::Skipped(reason) => common::skipped(&reason),
            Assembled::Wrong(log) => panic!("{log}"),
        }
    }
}
