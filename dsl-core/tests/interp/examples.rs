//! Every op once, as it is documented: a line of `.tir` and what it prints. A row of the op table without an example
//! fails `every_op_has_an_example`. Ops of one operand have a table of values in docs/meaning.md instead.

use crate::support::Launch;
use std::collections::BTreeSet;
use tilewright_core::ir::Op;
use tilewright_core::launch::Grid;

/// What the examples work on.
const GIVEN: &str = r#"kernel @example(%ints: view<?xi32>, %floats: view<?x?xf32>, %out: view_mut<?xi32>) {
  %a = load %ints[0] : tile<4xi32>
  %b = load %ints[4] : tile<4xi32>
  %x = load %floats[0, 0] : tile<3xf32>
  %y = load %floats[1, 0] : tile<3xf32>
  %m = load %floats[0, 0] : tile<2x3xf32>
  %t = cmp lt %x, %y : tile<3xi1>
"#;
const INTS: [i32; 8] = [-7, 7, i32::MIN, 100, 3, -3, -1, 33];
const FLOATS: [f32; 6] = [0.5, -2.0, 4.0, 1.5, -3.0, f32::NAN];

/// A mnemonic, the lines that show it, and the values it prints.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("add", "%r = add %a, %b : tile<4xi32>", "[-4, 4, 2147483647, 133]"),
    ("sub", "%r = sub %a, %b : tile<4xi32>", "[-10, 10, -2147483647, 67]"),
    ("mul", "%r = mul %a, %b : tile<4xi32>", "[-21, -21, -2147483648, 3300]"),
    ("div", "%r = div %a, %b : tile<4xi32>", "[-2, -2, -2147483648, 3]"),
    ("rem", "%r = rem %a, %b : tile<4xi32>", "[-1, 1, 0, 1]"),
    ("mul_hi", "%r = mul_hi %a, %a : tile<4xi32>", "[0, 0, 1073741824, 0]"),
    ("fma", "%r = fma %x, %y, %x : tile<3xf32>", "[1.25, 4, NaN]"),
    ("maximum", "%r = maximum %x, %y : tile<3xf32>", "[1.5, -2, 4]"),
    ("minimum", "%r = minimum %x, %y : tile<3xf32>", "[0.5, -3, 4]"),
    ("max_nan", "%r = max_nan %x, %y : tile<3xf32>", "[1.5, -2, NaN]"),
    ("min_nan", "%r = min_nan %x, %y : tile<3xf32>", "[0.5, -3, NaN]"),
    ("and", "%r = and %a, %b : tile<4xi32>", "[1, 5, -2147483648, 32]"),
    ("or", "%r = or %a, %b : tile<4xi32>", "[-5, -1, -1, 101]"),
    ("xor", "%r = xor %a, %b : tile<4xi32>", "[-6, -6, 2147483647, 69]"),
    ("shl", "%r = shl %a, %b : tile<4xi32>", "[-56, 0, 0, 0]"),
    ("shr", "%r = shr %a, %b : tile<4xi32>", "[-1, 0, -1, 0]"),
    ("cmp", "%r = cmp ne %y, %y : tile<3xi1>", "[false, false, true]"),
    ("select", "%r = select %t, %x, %y : tile<3xf32>", "[0.5, -3, NaN]"),
    ("cast", "%r = cast %y : tile<3xi32>", "[1, -3, 0]"),
    ("bitcast", "%r = bitcast %x : tile<3xi32>", "[1056964608, -1073741824, 1082130432]"),
    ("splat", "%r = splat 7 : tile<2x2xu8>", "[[7, 7], [7, 7]]"),
    ("broadcast", "%r = broadcast %x axis 0 : tile<2x3xf32>", "[[0.5, -2, 4], [0.5, -2, 4]]"),
    ("iota", "%r = iota axis 1 : tile<2x3xi8>", "[[0, 1, 2], [0, 1, 2]]"),
    ("reshape", "%r = reshape %m : tile<3x2xf32>", "[[0.5, -2], [4, 1.5], [-3, NaN]]"),
    ("trans", "%r = trans %m : tile<3x2xf32>", "[[0.5, 1.5], [-2, -3], [4, NaN]]"),
    ("rows", "%r = rows %m, 1 : tile<1x3xf32>", "[[1.5, -3, NaN]]"),
    ("reduce_max", "%r = reduce_max %m axis 1 : tile<2xf32>", "[4, 1.5]"),
    ("reduce_min", "%r = reduce_min %m axis 0 : tile<3xf32>", "[0.5, -3, 4]"),
    ("reduce_sum", "%r = reduce_sum %b axis 0 : i32", "32"),
    ("reduce_with", "%r = reduce_with %a axis 0 (%p, %q) {\n  %d = sub %p, %q : i32\n  yield %d\n}", "2147483534"),
    ("scan_sum", "%r = scan_sum %b axis 0 : tile<4xi32>", "[3, 0, -1, 32]"),
    ("scan_with", "%r = scan_with %x axis 0 (%p, %q) {\n  %d = mul %p, %q : f32\n  yield %d\n}", "[0.5, -1, -4]"),
    (
        "dot",
        "%k = reshape %x : tile<3x1xf32>\n%l = reshape %x : tile<1x3xf32>\n%r = dot %l, %k : tile<1x1xf32>",
        "[[20.25]]",
    ),
    ("load", "%r = load %ints[7] else 5 : tile<2xi32>", "[33, 5]"),
    ("store", "store %out[1], %b\n%r = load %out[0] : tile<6xi32>", "[0, 3, -3, -1, 33, 0]"),
    (
        "atomic_add",
        "store %out[0], %a\natomic_add %out[0], %b\n%r = load %out[0] : tile<4xi32>",
        "[-4, 4, 2147483647, 133]",
    ),
    ("atomic_max", "store %out[0], %a\natomic_max %out[0], %b\n%r = load %out[0] : tile<4xi32>", "[3, 7, -1, 100]"),
    ("len", "%r = len %floats axis 1 : i32", "3"),
    ("pe_id", "%r = pe_id : i32", "1"),
    ("cube_id", "%r = cube_id : i32", "2"),
    ("num_pes", "%r = num_pes : i32", "2"),
    ("num_cubes", "%r = num_cubes : i32", "3"),
    ("program_id", "%r = program_id : i32", "5"),
    ("num_programs", "%r = num_programs : i32", "6"),
    (
        "send",
        "%c = pe_id : i32\n%e = cmp eq %c, 0:i32 : i1\nif %e {\n  send pe.east, %a\n} else {\n  %q = recv pe.west : tile<4xi32>\n  keep %q\n}\n%r = add %c, 0 : i32",
        "1",
    ),
    (
        "recv",
        "%c = pe_id : i32\n%e = cmp eq %c, 0:i32 : i1\n%r = if %e {\n  send pe.east, %b\n  yield %a\n} else {\n  %q = recv pe.west : tile<4xi32>\n  yield %q\n}",
        "[3, -3, -1, 33]",
    ),
    (
        "barrier",
        "%c = pe_id : i32\n%e = cmp eq %c, 0:i32 : i1\nif %e {\n  store %out[0], 9:i32\n}\nbarrier launch\n%r = load %out[0] : i32",
        "9",
    ),
    ("keep", "keep %a\n%r = add 1, 2 : i32", "3"),
    (
        "print",
        "%r = iota axis 0 : tile<65xi32>",
        "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, …] (65 elements)",
    ),
    ("assert", "assert true, \"holds\"\n%r = sub 1.5, 0.5 : f64", "1"),
    (
        "if",
        "%c = cmp lt 1:i32, 2:i32 : i1\n%r = if %c {\n  yield %a\n} else {\n  yield %b\n}",
        "[-7, 7, -2147483648, 100]",
    ),
    ("for", "%r = for %i in 1..10 step 4 carry (%s = 0:i32) {\n  %s'2 = add %s, %i : i32\n  yield %s'2\n}", "15"),
    (
        "while",
        "%r = while carry (%i = 1:i32) {\n  %c = cmp lt %i, 100:i32 : i1\n  while %c\n  %i'2 = mul %i, 3 : i32\n  yield %i'2\n}",
        "243",
    ),
    (
        "map_reduce",
        "%r = map_reduce %i in 1..10 step 4 {\n  %j = mul %i, 2 : i32\n  yield %j\n} merge (%l, %g) {\n  %s = sub %l, %g : i32\n  yield %s\n}",
        "-26",
    ),
    (
        "composite",
        "%r = composite {\n  %k = reshape %x : tile<3x1xf32>\n  %l = reshape %x : tile<1x3xf32>\n  %d = dot %l, %k : tile<1x1xf32>\n  yield %d\n}",
        "[[20.25]]",
    ),
];

#[test]
fn every_op_has_an_example() {
    let rows: BTreeSet<&str> = Op::ROWS.iter().filter(|r| r.unary.is_none()).map(|r| r.mnemonic).collect();
    let shown: BTreeSet<&str> = EXAMPLES.iter().map(|(op, ..)| *op).collect();
    assert_eq!(shown, rows);
    for (op, text, _) in EXAMPLES.iter().filter(|(op, ..)| *op != "print") {
        assert!(text.split_whitespace().any(|word| word == *op), "the example of {op} does not show it");
    }
}

#[test]
fn every_op_prints_what_its_example_says() {
    for (op, lines, want) in EXAMPLES {
        let text = format!("{GIVEN}{lines}\nprint \"{{}}\", %r\n}}\n");
        let ran = Launch::new(&text)
            .input(&[8], INTS.to_vec())
            .input(&[2, 3], FLOATS.to_vec())
            .output(&[6], vec![0i32; 6])
            .grid(Grid::cubes(3).pes(2))
            .run();
        let outcome = ran.result.unwrap_or_else(|e| panic!("{op}: {e}"));
        assert_eq!(outcome.prints.last().map(|p| p.text.as_str()), Some(*want), "{op}");
    }
}
