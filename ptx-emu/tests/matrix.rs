//! Matrices that a warp holds: products of every shape against plain sums, loads, stores, transposition, and what is wrong
//! about them.

mod common;

use common::{Arg, fault, kernel, run_text};

/// What the only buffer of the last argument holds after a run of one warp.
fn ran(body: &str, given: Vec<u32>, out: usize) -> Vec<u32> {
    let mut args = [Arg::Words(given), Arg::Words(vec![0; out])];
    if let Err(fault) = run_text(&kernel(32, 2, body), 1, &mut args) {
        panic!("{body}\n{fault}");
    }
    let [_, Arg::Words(out)] = args else { panic!("a buffer stays one") };
    out
}
/// A number that every element type holds.
fn small(i: usize) -> i32 {
    (i * 7919 % 13) as i32 - 6
}

/// A shape with its types: elements a register, and how a number becomes bits.
struct Shape {
    name: &'static str,
    types: &'static str,
    size: [usize; 3],
    per: usize,
    bits: fn(i32) -> u32,
    result: fn(u32) -> f64,
}

fn f16(n: i32) -> u32 {
    half::f16::from_f32(n as f32).to_bits().into()
}
fn bf16(n: i32) -> u32 {
    half::bf16::from_f32(n as f32).to_bits().into()
}
fn as_f32(bits: u32) -> f64 {
    f32::from_bits(bits).into()
}
fn as_i32(bits: u32) -> f64 {
    (bits as i32).into()
}

const SHAPES: [Shape; 9] = [
    Shape { name: "m16n8k16", types: "f32.f16.f16.f32", size: [16, 8, 16], per: 2, bits: f16, result: as_f32 },
    Shape { name: "m16n8k8", types: "f32.f16.f16.f32", size: [16, 8, 8], per: 2, bits: f16, result: as_f32 },
    Shape { name: "m16n8k16", types: "f32.bf16.bf16.f32", size: [16, 8, 16], per: 2, bits: bf16, result: as_f32 },
    Shape { name: "m16n8k8", types: "f32.bf16.bf16.f32", size: [16, 8, 8], per: 2, bits: bf16, result: as_f32 },
    Shape {
        name: "m16n8k8",
        types: "f32.tf32.tf32.f32",
        size: [16, 8, 8],
        per: 1,
        bits: |n| (n as f32).to_bits(),
        result: as_f32,
    },
    Shape {
        name: "m16n8k4",
        types: "f32.tf32.tf32.f32",
        size: [16, 8, 4],
        per: 1,
        bits: |n| (n as f32).to_bits(),
        result: as_f32,
    },
    Shape {
        name: "m16n8k32",
        types: "s32.s8.s8.s32",
        size: [16, 8, 32],
        per: 4,
        bits: |n| n as u8 as u32,
        result: as_i32,
    },
    Shape {
        name: "m16n8k16",
        types: "s32.s8.s8.s32",
        size: [16, 8, 16],
        per: 4,
        bits: |n| n as u8 as u32,
        result: as_i32,
    },
    Shape {
        name: "m16n8k32",
        types: "s32.u8.u8.s32",
        size: [16, 8, 32],
        per: 4,
        bits: |n| (n + 6) as u32,
        result: as_i32,
    },
];

/// Every lane's registers from memory, as the PTX ISA draws the fragments.
#[test]
fn a_product_of_each_shape_is_the_sum_over_k() {
    for shape in &SHAPES {
        let Shape { per, size: [m, n, k], .. } = *shape;
        let unsigned = shape.types.contains("u8");
        let number = |i: usize| if unsigned { small(i) + 6 } else { small(i) };
        let (a, b) =
            (|row: usize, at: usize| number(row * 31 + at), |at: usize, column: usize| number(at * 17 + column + 5));
        let c = |row: usize, column: usize| small(row * 3 + column) * 4;
        let word = |values: Vec<i32>| {
            let width = 32 / per;
            let field = |(at, n): (usize, &i32)| (shape.bits)(if unsigned { n - 6 } else { *n }) << (at * width % 32);
            values.iter().enumerate().map(field).fold(0, |all, bits| all | bits)
        };
        let (regs_a, regs_b) = (m * k / 32 / per, k * n / 32 / per);
        let mut given = Vec::new();
        for lane in 0..32 {
            let (group, thread) = (lane / 4, lane % 4);
            for reg in 0..regs_a {
                // Two registers a step of k: the upper eight rows, the lower.
                let (row, first) = (group + reg % 2 * 8, thread * per + reg / 2 * 4 * per);
                given.push(word((0..per).map(|at| a(row, first + at)).collect()));
            }
            for reg in 0..regs_b {
                let first = thread * per + reg * 4 * per;
                given.push(word((0..per).map(|at| b(first + at, group)).collect()));
            }
            for (row, column) in [(0, 0), (0, 1), (8, 0), (8, 1)] {
                let n = c(group + row, thread * 2 + column);
                given.push(if shape.types.starts_with("s32") { n as u32 } else { (n as f32).to_bits() });
            }
        }
        let names = |from: usize, count: usize| {
            let list: Vec<String> = (from..from + count).map(|i| format!("%r{i}")).collect();
            format!("{{{}}}", list.join(", "))
        };
        let words = regs_a + regs_b + 4;
        let loads: String = (0..words).map(|i| format!("ld.global.b32 %r{}, [%d2+{}];\n", i + 1, i * 4)).collect();
        let (va, vb, vc) = (names(1, regs_a), names(1 + regs_a, regs_b), names(1 + regs_a + regs_b, 4));
        let body = format!(
            "mad.wide.u32 %d2, %r0, {}, %d0;\n{loads}mma.sync.aligned.{}.row.col.{} {vc}, {va}, {vb}, {vc};\n\
             mad.wide.u32 %d3, %r0, 16, %d1;\nst.global.v4.b32 [%d3], {vc};",
            words * 4,
            shape.name,
            shape.types
        );
        let out = ran(&body, given, 128);
        for lane in 0..32 {
            for (i, (row, column)) in [(0, 0), (0, 1), (8, 0), (8, 1)].into_iter().enumerate() {
                let (row, column) = (lane / 4 + row, lane % 4 * 2 + column);
                let sum = (0..k).map(|at| a(row, at) * b(at, column)).sum::<i32>() + c(row, column);
                let found = (shape.result)(out[lane * 4 + i]);
                assert_eq!(found, f64::from(sum), "{} {} at {row}, {column}", shape.name, shape.types);
            }
        }
    }
}

/// Of f64, a register holds one element.
#[test]
fn a_product_of_f64_is_the_sum_over_k() {
    for (shape, [m, k]) in [("m8n8k4", [8, 4]), ("m16n8k4", [16, 4]), ("m16n8k8", [16, 8]), ("m16n8k16", [16, 16])] {
        let (a, b) = (|row: usize, at: usize| small(row * 31 + at), |at: usize, column: usize| small(at * 17 + column));
        let c = |row: usize, column: usize| small(row * 3 + column) * 4;
        let (halves, steps) = (m / 8, k / 4);
        let (regs_a, regs_c) = (halves * steps, 2 * halves);
        let sums = || (0..regs_c).map(|i| (i / 2 * 8, i % 2));
        let mut given = Vec::new();
        for (group, thread) in (0..32).map(|lane| (lane / 4, lane % 4)) {
            let of_a = (0..regs_a).map(|reg| a(group + reg % halves * 8, thread + reg / halves * 4));
            let of_b = (0..steps).map(|reg| b(thread + reg * 4, group));
            let of_c = sums().map(|(row, column)| c(group + row, thread * 2 + column));
            given.extend(of_a.chain(of_b).chain(of_c).flat_map(|n| words(f64::from(n))));
        }
        let count = regs_a + steps + regs_c;
        let loads: String = (0..count).map(|i| format!("ld.global.b64 %d{}, [%d2+{}];\n", i + 4, i * 8)).collect();
        let names = |from: usize, count: usize| {
            let list: Vec<String> = (from + 4..from + 4 + count).map(|i| format!("%d{i}")).collect();
            format!("{{{}}}", list.join(", "))
        };
        let (va, vb, vc) = (names(0, regs_a), names(regs_a, steps), names(regs_a + steps, regs_c));
        let stores = (0..regs_c).map(|i| format!("st.global.b64 [%d3+{}], %d{};\n", i * 8, 4 + regs_a + steps + i));
        let body = format!(
            "mad.wide.u32 %d2, %r0, {}, %d0;\n{loads}mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64 {vc}, {va}, {vb}, {vc};\n\
             mad.wide.u32 %d3, %r0, {}, %d1;\n{}",
            count * 8,
            regs_c * 8,
            stores.collect::<String>()
        );
        let out = ran(&body, given, 32 * regs_c * 2);
        for (lane, (i, (row, column))) in (0..32).flat_map(|lane| sums().enumerate().map(move |at| (lane, at))) {
            let (row, column) = (lane / 4 + row, lane % 4 * 2 + column);
            let sum = (0..k).map(|at| a(row, at) * b(at, column)).sum::<i32>() + c(row, column);
            let at = (lane * regs_c + i) * 2;
            assert_eq!(out[at..at + 2], words(f64::from(sum)), "{shape} at {row}, {column}");
        }
    }
}
fn words(n: f64) -> [u32; 2] {
    [n.to_bits() as u32, (n.to_bits() >> 32) as u32]
}

/// The words of a tile of 16 x 16 numbers of 16 bits, then what lanes do with them.
const FILL: &str = "mad.wide.u32 %d2, %r0, 16, %d0;\nld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d2];\nmov.u32 %r5, tile;\n\
                    mad.lo.u32 %r6, %r0, 16, %r5;\nst.shared.v4.b32 [%r6], {%r1, %r2, %r3, %r4};\nbar.warp.sync -1;\n";
fn halves(words: &[u32]) -> Vec<u32> {
    words.iter().flat_map(|word| [word & 0xFFFF, word >> 16]).collect()
}
fn tile() -> Vec<u32> {
    (0..128u32).map(|i| (i * 2) | ((i * 2 + 1) << 16)).collect()
}

#[test]
fn eight_rows_at_eight_addresses_are_a_matrix() {
    // The four quarters of a 16 x 16 tile: lanes 0 to 7 give the rows of the first, and so on.
    let load = |turned: &str| {
        format!(
            "{FILL}and.b32 %r7, %r0, 15;\nshr.u32 %r8, %r0, 4;\nmad.lo.u32 %r9, %r7, 32, %r5;\n\
             mad.lo.u32 %r9, %r8, 16, %r9;\n\
             ldmatrix.sync.aligned.m8n8.x4{turned}.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r9];\n\
             mad.wide.u32 %d3, %r0, 16, %d1;\nst.global.v4.b32 [%d3], {{%r10, %r11, %r12, %r13}};"
        )
    };
    for turned in ["", ".trans"] {
        let out = halves(&ran(&load(turned), tile(), 128));
        for lane in 0..32 {
            for matrix in 0..4 {
                for half in 0..2 {
                    let (mut row, mut column) = (lane / 4, lane % 4 * 2 + half);
                    if !turned.is_empty() {
                        (row, column) = (column, row);
                    }
                    let (row, column) = (row + matrix % 2 * 8, column + matrix / 2 * 8);
                    let found = out[(lane * 4 + matrix) * 2 + half];
                    assert_eq!(found as usize, row * 16 + column, "lane {lane}, matrix {matrix}, half {half} {turned}");
                }
            }
        }
    }
}
#[test]
fn what_is_stored_as_a_matrix_is_loaded_as_one() {
    for (turned, other) in [("", ""), (".trans", ".trans"), (".trans", ""), ("", ".trans")] {
        // From a row-major 16 x 8 piece to another place and back into rows of words.
        let body = format!(
            "{FILL}and.b32 %r7, %r0, 15;\nmad.lo.u32 %r9, %r7, 16, %r5;\n\
             ldmatrix.sync.aligned.m8n8.x2{turned}.shared.b16 {{%r10, %r11}}, [%r9];\nbar.warp.sync -1;\n\
             stmatrix.sync.aligned.m8n8.x2{other}.shared.b16 [%r9+512], {{%r10, %r11}};\nbar.warp.sync -1;\n\
             mad.lo.u32 %r9, %r0, 8, %r5;\nld.shared.v2.b32 {{%r12, %r13}}, [%r9+512];\n\
             mad.wide.u32 %d3, %r0, 8, %d1;\nst.global.v2.b32 [%d3], {{%r12, %r13}};"
        );
        let out = halves(&ran(&body, tile(), 64));
        for (i, found) in out.iter().enumerate() {
            let (matrix, row, column) = (i / 64, i % 64 / 8, i % 8);
            let (row, column) = if turned == other { (row, column) } else { (column, row) };
            assert_eq!(*found as usize, matrix * 64 + row * 8 + column, "{turned} {other} {i}");
        }
    }
}
#[test]
fn a_matrix_is_transposed_between_lanes() {
    let body = "mad.wide.u32 %d2, %r0, 4, %d0;\nld.global.b32 %r1, [%d2];\n\
                movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;\nmad.wide.u32 %d3, %r0, 4, %d1;\nst.global.b32 [%d3], %r2;";
    let out = halves(&ran(body, tile()[..32].to_vec(), 32));
    for (i, found) in out.iter().enumerate() {
        assert_eq!(*found as usize, i % 8 * 8 + i / 8);
    }
}
#[test]
fn the_sum_of_an_instruction_is_rounded_once_to_nearest_even() {
    // 1 in the accumulator, and 16 products of 2^-24 * (1 + 2^-10), each of which a f32 sum would lose.
    let body = "mov.b32 %r1, 0x00010001;\nmov.b32 %r2, 0x3C013C01;\nmov.b32 %r3, 0x3F800000;\n\
                mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r4, %r5, %r6, %r7}, {%r1, %r1, %r1, %r1}, {%r2, %r2}, \
                {%r3, %r3, %r3, %r3};\nst.global.b32 [%d1], %r4;";
    let sum = 1.0 + 16.0 * 2f64.powi(-24) * (1.0 + 2f64.powi(-10));
    assert_eq!(ran(body, vec![0], 1)[0], (sum as f32).to_bits());
}

fn of(body: &str) -> String {
    fault(&kernel(64, 1, body), 1, &mut [Arg::Words(vec![0; 64])])
}

#[test]
fn a_lane_that_does_not_come_is_missed() {
    let transpose = "mov.b32 %r1, 0;\nmovmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;";
    let some = of(&format!("setp.eq.u32 %p1, %r0, 5;\n@%p1 ret;\n{transpose}"));
    assert!(some.contains("lanes 0x00000020 never come") && some.contains("movmatrix"), "{some}");
    let guarded = of("setp.eq.u32 %p1, %r0, 5;\nmov.b32 %r1, 0;\n@%p1 movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;");
    assert!(guarded.contains("movmatrix"), "{guarded}");
}
#[test]
fn rows_lie_at_multiples_of_16_bytes_and_inside() {
    let load = |at: &str| format!("mov.u32 %r1, {at};\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r2}}, [%r1];");
    assert!(of(&load("tile+8")).contains("16"), "{}", of(&load("tile+8")));
    assert!(of(&load("tile+1024")).contains("outside shared memory"));
    assert!(of(&load("tile")).contains("nobody"), "{}", of(&load("tile")));
}
#[test]
fn a_matrix_that_another_warp_writes_needs_a_barrier() {
    let body = |barrier: &str| {
        format!(
            "mov.u32 %r1, tile;\nmov.b32 %r2, 0;\nmad.lo.u32 %r3, %r0, 16, %r1;\n\
             st.shared.v4.b32 [%r3], {{%r2, %r2, %r2, %r0}};\n{barrier}\nand.b32 %r4, %r0, 31;\nmad.lo.u32 %r3, %r4, 16, %r1;\n\
             ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r5, %r6, %r7, %r8}}, [%r3];"
        )
    };
    let raced = of(&body(""));
    assert!(raced.contains("ldmatrix") && raced.contains("st.shared.v4"), "{raced}");
    run_text(&kernel(64, 1, &body("bar.sync 0;")), 1, &mut [Arg::Words(vec![0; 64])]).expect("ordered");
}
#[test]
fn an_element_that_nobody_wrote_makes_its_row_and_column_undefined() {
    let product = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r5, %r6, %r7, %r8}, {%r2, %r3}, {%r4}, {%r1, %r1, %r1, %r1};";
    // Lane 31 leaves %r3, its elements of row 15, unwritten: only lanes 28 to 31 are touched, in their lower rows.
    let body = |stored: &str| {
        format!(
            "setp.lt.u32 %p1, %r0, 31;\nmov.b32 %r1, 0;\nmov.b32 %r2, 0;\nmov.b32 %r4, 0;\n@%p1 mov.b32 %r3, 0;\n{product}\n\
             mad.wide.u32 %d1, %r0, 4, %d0;\nst.global.b32 [%d1], {stored};"
        )
    };
    let run = |stored: &str| run_text(&kernel(32, 1, &body(stored)), 1, &mut [Arg::Words(vec![0; 64])]);
    run("%r6").expect("the upper rows are defined");
    let told = run("%r7").expect_err("row 15 is not").to_string();
    assert!(told.contains("thread 28"), "{told}");
}
