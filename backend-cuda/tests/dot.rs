//! Products of tiles, as PTX on the emulator: to the bit what the interpreter gives, on numbers whose sums are exact in any
//! order.

mod common;

use common::{Value, both, difference, interpreted, on, parse, some};
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;
use tilewright_cuda::emulator::Emulator;
use tilewright_cuda::{Options, Target, compile};

/// A product of `[m, k]` and `[k, n]`: elements, the sum's element, which operands lie transposed in memory.
#[derive(Clone, Copy)]
struct Case {
    elem: ElemType,
    to: ElemType,
    dims: [usize; 3],
    turned: [bool; 2],
    tf32: bool,
}
const F16: Case =
    Case { elem: ElemType::F16, to: ElemType::F32, dims: [32, 32, 32], turned: [false, false], tf32: false };

impl Case {
    fn of(elem: ElemType, to: ElemType) -> Case {
        Case { elem, to, ..F16 }
    }
    fn sides(&self) -> [[usize; 2]; 2] {
        let [m, k, n] = self.dims;
        let turn = |[a, b]: [usize; 2], turned: bool| if turned { [b, a] } else { [a, b] };
        [turn([m, k], self.turned[0]), turn([k, n], self.turned[1])]
    }
    /// Loads, turns what lies turned, adds to what the third view holds, stores.
    fn tir(&self) -> String {
        let Case { elem, to, dims: [m, k, n], .. } = *self;
        let [[ar, ac], [br, bc]] = self.sides();
        let turn = |name: &str, turned: bool, rows: usize, columns: usize| {
            if turned { format!("  %{name} = trans %{name}0 : tile<{rows}x{columns}x{elem}>\n") } else { String::new() }
        };
        let name = |name: &str, turned: bool| if turned { name.to_string() } else { format!("{name}0") };
        format!(
            "kernel @product(%x: view<?x?x{elem}>, %y: view<?x?x{elem}>, %w: view<?x?x{to}>, %z: view_mut<?x?x{to}>) {{\n\
             \x20 %a0 = load %x[0, 0] : tile<{ar}x{ac}x{elem}>\n{}\x20 %b0 = load %y[0, 0] : tile<{br}x{bc}x{elem}>\n{}\
             \x20 %c = load %w[0, 0] : tile<{m}x{n}x{to}>\n\x20 %d = dot %{}, %{}, %c{} : tile<{m}x{n}x{to}>\n\
             \x20 store %z[0, 0], %d\n}}\n",
            turn("a", self.turned[0], m, k),
            turn("b", self.turned[1], k, n),
            name("a", self.turned[0]),
            name("b", self.turned[1]),
            if self.tf32 { " tf32" } else { "" },
        )
    }
    fn agrees(&self, threads: &[u32]) {
        let [m, _, n] = self.dims;
        let [a, b] = self.sides();
        let view = |elem, dims: [usize; 2]| Value::Tensor(some(elem, &dims));
        let args = [view(self.elem, a), view(self.elem, b), view(self.to, [m, n]), view(self.to, [m, n])];
        for threads in threads {
            let (reference, emulated) = both(&self.tir(), Grid::cubes(1), *threads, &args);
            for (a, b) in reference.iter().zip(&emulated) {
                assert_eq!(difference(a, b, 0), None, "{threads} threads\n{}", self.tir());
            }
        }
    }
}

const TURNS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

#[test]
fn each_element_type_is_multiplied_however_its_operands_lie() {
    let types = [
        (ElemType::F16, ElemType::F32),
        (ElemType::F16, ElemType::F16),
        (ElemType::BF16, ElemType::F32),
        (ElemType::F32, ElemType::F32),
        (ElemType::F64, ElemType::F64),
        (ElemType::I8, ElemType::I32),
        (ElemType::U8, ElemType::I32),
        (ElemType::F8E4M3, ElemType::F32),
        (ElemType::F8E5M2, ElemType::F32),
    ];
    for (elem, to) in types {
        for turned in TURNS {
            Case { turned, ..Case::of(elem, to) }.agrees(&[128]);
        }
    }
}
#[test]
fn f64_is_multiplied_by_the_products_that_a_target_has() {
    for (target, name) in [(Target::Sm80, "m8n8k4"), (Target::Sm90a, "m16n8k16")] {
        for (dims, turned) in
            [([64, 32, 64], [false, false]), ([32, 40, 24], [true, true]), ([8, 16, 32], [false, true])]
        {
            let case = Case { dims, turned, ..Case::of(ElemType::F64, ElemType::F64) };
            let made = compile(&parse(&case.tir()), &Options::new(target, 128)).unwrap_or_else(|e| panic!("{e}"));
            let products: Vec<&str> = made.printed.text.lines().filter(|line| line.contains("mma.sync")).collect();
            assert!(!products.is_empty() && products.iter().all(|line| line.contains(name)), "{target}: {products:?}");
            let [a, b] = case.sides();
            let view = |[rows, columns]: [usize; 2]| Value::Tensor(some(ElemType::F64, &[rows, columns]));
            let to = [dims[0], dims[2]];
            let args = [view(a), view(b), view(to), view(to)];
            let wanted = interpreted(&case.tir(), Grid::cubes(1), 128, &args);
            let ran = on(&mut Emulator::new(target), &case.tir(), Grid::cubes(1), 128, &args);
            assert!(ran.errors.is_none(), "{target}: {}", ran.errors.unwrap_or_default());
            assert_eq!(difference(&wanted.tensors[3], &ran.tensors[3], 0), None, "{target}, {dims:?}, {turned:?}");
        }
    }
}
#[test]
fn f32_may_be_multiplied_with_ten_bits_of_mantissa() {
    for turned in TURNS {
        Case { turned, tf32: true, ..Case::of(ElemType::F32, ElemType::F32) }.agrees(&[64]);
    }
}
#[test]
fn any_number_of_warps_shares_a_product() {
    Case { dims: [64, 32, 64], ..F16 }.agrees(&[32, 64, 256, 1024]);
    Case { dims: [16, 64, 32], turned: [false, true], ..F16 }.agrees(&[32, 128, 512]);
    Case { dims: [48, 16, 80], ..Case::of(ElemType::BF16, ElemType::F32) }.agrees(&[32, 128]);
    Case { dims: [64, 16, 64], ..Case::of(ElemType::F32, ElemType::F32) }.agrees(&[32, 256, 1024]);
}
#[test]
fn lengths_that_no_instruction_divides_are_filled_with_zeros() {
    for dims in [[1, 1, 1], [3, 5, 7], [17, 33, 9], [40, 24, 72], [100, 100, 20]] {
        for turned in TURNS {
            Case { dims, turned, ..F16 }.agrees(&[64]);
        }
        for (elem, to) in [
            (ElemType::I8, ElemType::I32),
            (ElemType::F32, ElemType::F32),
            (ElemType::F64, ElemType::F64),
            (ElemType::F8E4M3, ElemType::F32),
        ] {
            Case { dims, turned: [true, false], ..Case::of(elem, to) }.agrees(&[128]);
        }
    }
}
#[test]
fn few_rows_are_multiplied_as_the_transpose() {
    for rows in [1, 8, 16] {
        for turned in TURNS {
            Case { dims: [rows, 64, 64], turned, ..F16 }.agrees(&[32, 128]);
        }
    }
}

/// Two products, one of which feeds the other, as attention has them.
fn chained(rows: usize, tokens: usize, d: usize) -> String {
    format!(
        "kernel @chain(%q: view<?x?xf16>, %k: view<?x?xf16>, %v: view<?x?xf16>, %o: view_mut<?x?xf32>) {{
  %0 = load %q[0, 0] : tile<{rows}x{d}xf16>
  %1 = load %k[0, 0] : tile<{tokens}x{d}xf16>
  %2 = trans %1 : tile<{d}x{tokens}xf16>
  %3 = dot %0, %2 : tile<{rows}x{tokens}xf32>
  %m = reduce_max %3 axis 1 : tile<{rows}xf32>
  %4 = broadcast %m axis 1 : tile<{rows}x{tokens}xf32>
  %5 = sub %3, %4 : tile<{rows}x{tokens}xf32>
  %6 = splat -64.0 : tile<{rows}x{tokens}xf32>
  %7 = maximum %5, %6 : tile<{rows}x{tokens}xf32>
  %p = cast %7 : tile<{rows}x{tokens}xf16>
  %w = load %v[0, 0] : tile<{tokens}x{d}xf16>
  %s = dot %p, %w : tile<{rows}x{d}xf32>
  %8 = broadcast %m axis 1 : tile<{rows}x{d}xf32>
  %9 = add %s, %8 : tile<{rows}x{d}xf32>
  store %o[0, 0], %9
}}
"
    )
}
#[test]
fn a_product_feeds_another() {
    for (rows, tokens, d) in [(64, 64, 32), (64, 32, 64), (8, 64, 32), (16, 24, 40), (100, 40, 24)] {
        for threads in [32, 128] {
            let view = |elem, a, b| Value::Tensor(some(elem, &[a, b]));
            let args = [
                view(ElemType::F16, rows, d),
                view(ElemType::F16, tokens, d),
                view(ElemType::F16, tokens, d),
                view(ElemType::F32, rows, d),
            ];
            let (reference, emulated) = both(&chained(rows, tokens, d), Grid::cubes(1), threads, &args);
            for (a, b) in reference.iter().zip(&emulated) {
                assert_eq!(difference(a, b, 0), None, "{rows} {tokens} {d}, {threads} threads");
            }
        }
    }
}

#[test]
fn no_operand_meets_in_a_bank_on_its_way_to_a_product() {
    let types = [
        (ElemType::F16, ElemType::F32, false),
        (ElemType::BF16, ElemType::F32, false),
        (ElemType::F32, ElemType::F32, false),
        (ElemType::F32, ElemType::F32, true),
        (ElemType::F64, ElemType::F64, false),
        (ElemType::F8E4M3, ElemType::F32, false),
        (ElemType::I8, ElemType::I32, false),
        (ElemType::U8, ElemType::I32, false),
    ];
    for (elem, to, tf32) in types {
        let bytes = elem.bytes() == 1 && to == ElemType::I32;
        // Bytes of a left operand whose k runs down the rows are read one by one; rows of less than 64 bytes are too narrow.
        for turned in TURNS.into_iter().filter(|turned| !(bytes && turned[0])) {
            for dims in [[32, 32, 32], [64, 64, 64]].into_iter().skip(usize::from(bytes)) {
                let extra = extra_wavefronts(&Case { elem, to, dims, turned, tf32 });
                assert_eq!(extra, 0, "{elem}, {dims:?}, {turned:?}");
            }
        }
    }
    let wide = Case { dims: [64, 64, 128], ..Case::of(ElemType::I8, ElemType::I32) };
    assert_eq!(extra_wavefronts(&wide), 0, "rows of 128 bytes");
    for turned in TURNS {
        let narrow = Case { dims: [8, 64, 64], turned, ..Case::of(ElemType::F64, ElemType::F64) };
        assert_eq!(extra_wavefronts(&narrow), 0, "rows of 64 bytes, {turned:?}");
    }
}
/// Of a run on either target.
fn extra_wavefronts(case: &Case) -> u64 {
    let ([a, b], [m, _, n]) = (case.sides(), case.dims);
    let view = |elem, dims: [usize; 2]| Value::Tensor(some(elem, &dims));
    let args = [view(case.elem, a), view(case.elem, b), view(case.to, [m, n]), view(case.to, [m, n])];
    let of = |target| {
        let mut device = Emulator::new(target);
        on(&mut device, &case.tir(), Grid::cubes(1), 128, &args);
        assert!(device.banks.wavefronts > 0, "nothing went through shared memory: {}", case.tir());
        device.banks.extra
    };
    of(Target::Sm80) + of(Target::Sm90a)
}
#[test]
fn bytes_whose_k_runs_down_the_rows_are_read_as_matrices() {
    for elem in [ElemType::I8, ElemType::U8] {
        let case = Case { dims: [128, 64, 128], ..Case::of(elem, ElemType::I32) };
        let made = compile(&parse(&case.tir()), &Options::new(Target::Sm80, 128)).unwrap_or_else(|e| panic!("{e}"));
        let count = |what: &str| made.printed.text.matches(what).count();
        // Of 64 x 64 sums a warp: four times sixteen columns, in two steps of 32 of k.
        assert_eq!([count("ldmatrix.sync.aligned.m8n8.x4.trans"), count("prmt.b32"), count("ld.shared")], [8, 32, 0]);
        case.agrees(&[128, 256]);
    }
}
