//! Ops on tiles: every element of an elementwise op is what the scalar op gives (which `scalar` holds against oracles);
//! products, reductions and shapes against plain loops in wider types.

use crate::support::{Launch, module};
use tilewright_core::data::{Data, Stored};
use tilewright_core::elem::{Class, ElemType};
use tilewright_core::half::{bf16, f16};
use tilewright_core::interp::{convert, scalar};
use tilewright_core::ir::{Literal, Op, OpId, Type};
use tilewright_core::with_elem;

/// Bit patterns that hit zeros, ends, NaNs, and everything between; small numbers every other time.
fn bits(elem: ElemType, len: usize, seed: u64) -> Data {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut data = Data::zeros(elem, len);
    for i in 0..len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let small = convert::literal(((state >> 20) as i32 % 9 - 4).into(), elem);
        let any = with_elem!(elem, T => Literal::from(<T as tilewright_core::ir::Element>::from_bits(state >> 8)));
        data.set(i, if state & 1 == 0 { small } else { any });
    }
    data
}
fn add<T: Stored>(l: Launch, data: &Data) -> Launch {
    l.input(&[data.len()], T::slice(data).unwrap().to_vec())
}
fn input(l: Launch, data: &Data) -> Launch {
    with_elem!(data.elem(), T => add::<T>(l, data))
}
fn output(l: Launch, elem: ElemType, len: usize) -> Launch {
    with_elem!(elem, T => l.output::<T>(&[len], T::slice(&Data::zeros(elem, len)).unwrap().to_vec()))
}

/// Runs `op` (its operands written `%0`, `%1`, `%2`) on tiles of these elements, and checks each element.
fn check(op: &str, operands: &[ElemType], to: ElemType) {
    // More than one chunk of the f16 loops, and not a multiple of any vector width.
    const LEN: usize = 1037;
    let tiles: Vec<Data> = operands.iter().enumerate().map(|(i, e)| bits(*e, LEN, 3 + i as u64)).collect();
    let name = |i: usize| format!("%x{i}");
    let op = (0..operands.len()).fold(op.to_string(), |text, i| text.replace(&format!("%{i}"), &name(i)));
    let params: Vec<String> = operands.iter().enumerate().map(|(i, e)| format!("%v{i}: view<?x{e}>")).collect();
    let loads: String =
        operands.iter().enumerate().map(|(i, e)| format!("%x{i} = load %v{i}[0] : tile<{LEN}x{e}>\n")).collect();
    let text = format!(
        "kernel @t({}, %y: view_mut<?x{to}>) {{\n{loads}%r = {op} : tile<{LEN}x{to}>\nstore %y[0], %r\n}}\n",
        params.join(", ")
    );
    let launch = output(tiles.iter().fold(Launch::new(&text), input), to, LEN);
    let ran = launch.run();
    let got = ran.tensors.last().unwrap();
    let params: Vec<String> = operands.iter().enumerate().map(|(i, e)| format!("%x{i}: {e}")).collect();
    let one = module(&format!("kernel @s({}) {{\n%r = {op} : {to}\n}}\n", params.join(", ")));
    let mut faults = 0;
    for i in 0..LEN {
        let literals: Vec<Literal> = tiles.iter().map(|t| t.get(i)).collect();
        let want = scalar::eval(&one.op(OpId(0)).op, &literals, Type::Scalar(to)).unwrap();
        faults += usize::from(want.fault.is_some());
        assert_eq!(got.get(i), want.value, "{op} of {literals:?}");
    }
    let codes: &[&str] = if faults > 0 { &["TW-E0313"] } else { &[] };
    assert_eq!(ran.codes(), codes, "{op}");
}

#[test]
fn elementwise_ops_on_tiles_equal_those_on_scalars() {
    let table: [(&[&str], Class); 3] = [
        (&["add", "sub", "mul", "div", "maximum", "minimum"], Class::Num),
        (&["rem", "mul_hi", "shl", "shr"], Class::Int),
        (&["and", "or", "xor"], Class::Bits),
    ];
    for (mnemonics, class) in table {
        for &elem in ElemType::ALL.iter().filter(|e| e.is(class)) {
            mnemonics.iter().for_each(|m| check(&format!("{m} %0, %1"), &[elem; 2], elem));
        }
    }
    for row in Op::ROWS.iter().filter(|row| row.unary.is_some()) {
        for &elem in ElemType::ALL.iter().filter(|e| row.class.is_some_and(|class| e.is(class))) {
            check(&format!("{} %0", row.mnemonic), &[elem], elem);
        }
    }
    for elem in [ElemType::F16, ElemType::BF16, ElemType::F32, ElemType::F64] {
        check("fma %0, %1, %2", &[elem; 3], elem);
        check("max_nan %0, %1", &[elem; 2], elem);
        check("min_nan %0, %1", &[elem; 2], elem);
    }
}

#[test]
fn comparisons_choices_and_casts_on_tiles_equal_those_on_scalars() {
    for &elem in ElemType::ALL {
        if elem.is(Class::Num) {
            ["lt", "le", "gt", "ge", "eq", "ne"]
                .iter()
                .for_each(|p| check(&format!("cmp {p} %0, %1"), &[elem; 2], ElemType::I1));
        }
        check("select %0, %1, %2", &[ElemType::I1, elem, elem], elem);
        ElemType::ALL.iter().for_each(|to| check("cast %0", &[elem], *to));
        let same_size = |to: &&ElemType| to.bytes() == elem.bytes() && (**to == ElemType::I1) == (elem == ElemType::I1);
        ElemType::ALL.iter().filter(same_size).for_each(|to| check("bitcast %0", &[elem], *to));
    }
}

/// Integers -4..4, so that f32 sums are exact.
fn small<T: Stored>(len: usize, seed: usize) -> Vec<T> {
    let value = |i: usize| ((i * 7 + seed * 5 + i / 3) % 9) as i32 - 4;
    (0..len).map(|i| convert::literal(value(i).into(), T::ELEM).get()).collect()
}
fn whole<T: Stored>(v: &T) -> i64 {
    convert::literal(literal(*v), ElemType::I64).as_int().unwrap() as i64
}
fn literal<T: Stored>(v: T) -> Literal {
    Literal { elem: T::ELEM, bits: v.to_bits() }
}

fn product<T: Stored, A: Stored>(m: usize, k: usize, n: usize) {
    let (e, acc) = (T::ELEM, A::ELEM);
    let text = format!(
        "kernel @p(%a: view<?x?x{e}>, %b: view<?x?x{e}>, %y: view_mut<?x?x{acc}>, %z: view_mut<?x?x{acc}>) {{
  %x = load %a[0, 0] : tile<{m}x{k}x{e}>
  %w = load %b[0, 0] : tile<{n}x{k}x{e}>
  %wt = trans %w : tile<{k}x{n}x{e}>
  %p = dot %x, %wt : tile<{m}x{n}x{acc}>
  store %y[0, 0], %p
  %q = dot %x, %wt, %p : tile<{m}x{n}x{acc}>
  store %z[0, 0], %q
}}\n"
    );
    let (a, b) = (small::<T>(m * k, 1), small::<T>(n * k, 2));
    let want: Vec<i64> =
        (0..m * n).map(|i| (0..k).map(|j| whole(&a[i / n * k + j]) * whole(&b[i % n * k + j])).sum()).collect();
    let poison = || vec![A::from_bits(u64::MAX); m * n];
    let ran = Launch::new(&text)
        .input(&[m, k], a)
        .input(&[n, k], b)
        .output(&[m, n], poison())
        .output(&[m, n], poison())
        .run();
    let got = |n| ran.get::<A>(n).iter().map(whole).collect::<Vec<_>>();
    assert_eq!(got(2), want, "{m} x {k} x {n} of {e} into {acc}");
    assert_eq!(got(3), want.iter().map(|v| 2 * v).collect::<Vec<_>>(), "with an accumulator");
}

#[test]
fn products_of_odd_sizes_are_exact_on_small_integers() {
    let sizes = [1, 2, 3, 5, 8, 9, 15, 16, 17, 24, 33];
    for (i, &m) in sizes.iter().enumerate() {
        for (j, &k) in sizes.iter().enumerate() {
            for &n in &sizes {
                product::<f32, f32>(m, k, n);
                // The other element types on a quarter of the sizes: the loop is the same.
                if (i + j) % 4 == 0 {
                    product::<f16, f32>(m, k, n);
                    product::<bf16, f32>(m, k, n);
                    product::<f64, f64>(m, k, n);
                    product::<i8, i32>(m, k, n);
                }
            }
        }
    }
    product::<f16, f16>(5, 9, 17);
    product::<f32, f32>(3, 7, 600);
    product::<tilewright_core::elem::F8E4M3, f32>(9, 5, 8);
    product::<tilewright_core::elem::F8E5M2, f32>(9, 5, 8);
}

/// One value printed by a kernel without arguments.
fn printed(lines: &str) -> String {
    let ran = Launch::new(&format!("kernel @t() {{\n{lines}\nprint \"{{}}\", %r\n}}\n")).run();
    ran.result.unwrap_or_else(|e| panic!("{e}")).prints[0].text.clone()
}

#[test]
fn products_accumulate_in_f32_and_i32_and_round_once() {
    // -128 * -128, 33 times, does not saturate.
    assert_eq!(
        printed("%a = splat -128 : tile<1x33xi8>\n%b = splat -128 : tile<33x1xi8>\n%r = dot %a, %b : tile<1x1xi32>"),
        "[[540672]]"
    );
    assert_eq!(
        printed("%a = splat 255 : tile<1x3xu8>\n%r'2 = splat 255 : tile<3x1xu8>\n%r = dot %a, %r'2 : tile<1x1xi32>"),
        "[[195075]]"
    );
    // f16 into f16: 4096 ones would stick at 2048 if each step were rounded.
    assert_eq!(
        printed(
            "%a = splat 1.0 : tile<1x4096xf16>\n%b = splat 1.0 : tile<4096x1xf16>\n%r = dot %a, %b : tile<1x1xf16>"
        ),
        "[[4096]]"
    );
    // 1 + 2^-12 in 64 rows (N08): full precision keeps it, tf32 does not.
    let v = "%a = splat 1.0 : tile<1x64xf32>\n%b = splat 1.0002441 : tile<64x1xf32>\n";
    assert_eq!(printed(&format!("{v}%r = dot %a, %b : tile<1x1xf32>")), "[[64.015625]]");
    assert_eq!(printed(&format!("{v}%r = dot %a, %b tf32 : tile<1x1xf32>")), "[[64]]");
    assert_eq!(printed("%b = splat 1.0002441 : tile<64xf32>\n%r = reduce_sum %b axis 0 : f32"), "64.015625");
}

#[test]
fn random_f32_products_stay_close_to_f64() {
    let k = 1024;
    let noise = |seed: u32| -> Vec<f32> {
        (0..4 * k)
            .map(|i| (((i as u32 + seed).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 23) as f32) - 1.0)
            .collect()
    };
    let (a, b) = (noise(1), noise(99));
    let want: Vec<f64> =
        (0..16).map(|i| (0..k).map(|j| f64::from(a[i / 4 * k + j]) * f64::from(b[j * 4 + i % 4])).sum()).collect();
    let text = "kernel @p(%a: view<?x?xf32>, %b: view<?x?xf32>, %y: view_mut<?x?xf32>) {
  %x = load %a[0, 0] : tile<4x1024xf32>
  %w = load %b[0, 0] : tile<1024x4xf32>
  %p = dot %x, %w : tile<4x4xf32>
  store %y[0, 0], %p
}\n";
    let got = Launch::new(text).input(&[4, k], a).input(&[k, 4], b).output(&[4, 4], vec![0f32; 16]).run().get::<f32>(2);
    let largest = want.iter().fold(0f64, |m, v| m.max(v.abs()));
    for (got, want) in got.iter().zip(&want) {
        assert!((f64::from(*got) - want).abs() <= 2e-6 * (k as f64).sqrt() * largest);
    }
}

/// Sums, maxima and minima along each axis of a 3-axis tile, of small integers, against plain loops.
fn reductions<T: Stored>(dims: [usize; 3]) {
    let (e, len) = (T::ELEM, dims.iter().product());
    let x = small::<T>(len, 4);
    let wide: Vec<i64> = x.iter().map(whole).collect();
    let wrap = |v: i64| whole::<T>(&convert::literal(v.into(), e).get());
    for axis in 0..3 {
        let rest: Vec<usize> = (0..3).filter(|i| *i != axis).map(|i| dims[i]).collect();
        let (d, r) = (format!("{}x{}x{}x{e}", dims[0], dims[1], dims[2]), format!("{}x{}x{e}", rest[0], rest[1]));
        let text = format!(
            "kernel @r(%v: view<?x?x?x{e}>, %s: view_mut<?x?x{e}>, %h: view_mut<?x?x{e}>, %l: view_mut<?x?x{e}>, %c: view_mut<?x?x?x{e}>, %w: view_mut<?x?x{e}>) {{
  %x = load %v[0, 0, 0] : tile<{d}>
  %a = reduce_sum %x axis {axis} : tile<{r}>
  store %s[0, 0], %a
  %b = reduce_max %x axis {axis} : tile<{r}>
  store %h[0, 0], %b
  %m = reduce_min %x axis {axis} : tile<{r}>
  store %l[0, 0], %m
  %p = scan_sum %x axis {axis} : tile<{d}>
  store %c[0, 0, 0], %p
  %f = reduce_with %x axis {axis} (%first, %second) {{
    yield %second
  }}
  store %w[0, 0], %f
}}\n"
        );
        let zeros = |n: usize| vec![T::from_bits(0); n];
        let n = rest[0] * rest[1];
        let launch = Launch::new(&text).input(&dims, x.clone()).output(&rest, zeros(n)).output(&rest, zeros(n));
        let ran = launch.output(&rest, zeros(n)).output(&dims, zeros(len)).output(&rest, zeros(n)).run();
        let inner: usize = dims[axis + 1..].iter().product();
        let along = |i: usize| -> Vec<i64> {
            let first = i / inner * dims[axis] * inner + i % inner;
            (0..dims[axis]).map(|j| wide[first + j * inner]).collect()
        };
        let got = |t: usize| ran.get::<T>(t).iter().map(whole).collect::<Vec<_>>();
        let want = |f: &dyn Fn(Vec<i64>) -> i64| (0..n).map(|i| wrap(f(along(i)))).collect::<Vec<_>>();
        assert_eq!(got(1), want(&|v| v.iter().sum()), "sum of {d} along {axis}");
        assert_eq!(got(2), want(&|v| *v.iter().max().unwrap()));
        assert_eq!(got(3), want(&|v| *v.iter().min().unwrap()));
        assert_eq!(got(5), want(&|v| *v.last().unwrap()), "a combine keeps the order");
        let scanned = got(4);
        for i in 0..n {
            let first = i / inner * dims[axis] * inner + i % inner;
            let mut sum = 0;
            for (j, v) in along(i).into_iter().enumerate() {
                sum += v;
                assert_eq!(scanned[first + j * inner], wrap(sum));
            }
        }
    }
}

#[test]
fn reductions_and_scans_along_every_axis() {
    for dims in [[1, 1, 1], [2, 3, 5], [3, 17, 1], [4, 1, 33], [1, 40, 9]] {
        reductions::<i8>(dims);
        reductions::<u16>(dims);
        reductions::<i32>(dims);
        reductions::<i64>(dims);
        reductions::<f16>(dims);
        reductions::<bf16>(dims);
        reductions::<f32>(dims);
        reductions::<f64>(dims);
    }
}

/// The largest of a row that starts with NaN and holds its maximum twice, and where it is first (N06).
fn largest_and_where<T: Stored>(len: usize, column: bool) {
    let (e, dims, axis) = (T::ELEM, if column { [len, 2] } else { [2, len] }, usize::from(!column));
    let d = format!("{}x{}", dims[0], dims[1]);
    let text = format!(
        "kernel @m(%v: view<?x?x{e}>, %top: view_mut<?x{e}>, %arg: view_mut<?xi32>) {{
  %x = load %v[0, 0] : tile<{d}x{e}>
  %m = reduce_max %x axis {axis} : tile<2x{e}>
  store %top[0], %m
  %mb = broadcast %m axis {axis} : tile<{d}x{e}>
  %hit = cmp eq %x, %mb : tile<{d}xi1>
  %i = iota axis {axis} : tile<{d}xi32>
  %none = splat {len} : tile<{d}xi32>
  %at = select %hit, %i, %none : tile<{d}xi32>
  %first = reduce_min %at axis {axis} : tile<2xi32>
  store %arg[0], %first
}}\n"
    );
    let number = |i: usize| match i {
        0 => f64::NAN,
        _ if i + 2 >= len => 7.0,
        _ => (i % 7) as f64 - 9.0,
    };
    let place = |i: usize| if column { i / 2 } else { i % len };
    let x = (0..2 * len).map(|i| convert::literal(number(place(i)).into(), e).get::<T>()).collect();
    let ran =
        Launch::new(&text).input(&dims, x).output(&[2], vec![T::from_bits(0); 2]).output(&[2], vec![0i32; 2]).run();
    let first = if len == 1 { 1 } else { (len - 2).max(1) };
    assert_eq!(ran.get::<i32>(2), [first as i32; 2], "{d} of {e}");
    let nan = convert::literal(f64::NAN.into(), e);
    let want = if len == 1 { nan } else { convert::literal(7i32.into(), e) };
    assert_eq!(ran.get::<T>(1).into_iter().map(literal).collect::<Vec<_>>(), [want; 2]);
}
#[test]
fn maxima_ignore_nan_and_the_first_of_equals_is_found() {
    for (len, column) in [1, 2, 3, 31, 33, 1024].into_iter().flat_map(|n| [(n, false), (n, true)]) {
        largest_and_where::<f16>(len, column);
        largest_and_where::<bf16>(len, column);
        largest_and_where::<f32>(len, column);
        largest_and_where::<f64>(len, column);
    }
}

#[test]
fn transposes_broadcasts_and_rows_move_every_element() {
    let (rows, cols) = (37, 70);
    let text = format!(
        "kernel @t(%v: view<?x?xi16>, %a: view_mut<?x?xi16>, %b: view_mut<?x?x?xi16>, %c: view_mut<?x?xi16>) {{
  %x = load %v[0, 0] : tile<{rows}x{cols}xi16>
  %t = trans %x : tile<{cols}x{rows}xi16>
  store %a[0, 0], %t
  %m = broadcast %x axis 1 : tile<{rows}x3x{cols}xi16>
  store %b[0, 0, 0], %m
  %r = rows %x, 5 : tile<4x{cols}xi16>
  store %c[0, 0], %r
}}\n"
    );
    let x: Vec<i16> = (0..rows * cols).map(|i| i as i16).collect();
    let zeros = |n: usize| vec![0i16; n];
    let launch = Launch::new(&text).input(&[rows, cols], x.clone()).output(&[cols, rows], zeros(rows * cols));
    let ran = launch.output(&[rows, 3, cols], zeros(3 * rows * cols)).output(&[4, cols], zeros(4 * cols)).run();
    let at = |r: usize, c: usize| x[r * cols + c];
    assert_eq!(ran.get::<i16>(1), (0..rows * cols).map(|i| at(i % rows, i / rows)).collect::<Vec<_>>());
    assert_eq!(ran.get::<i16>(2), (0..3 * rows * cols).map(|i| at(i / (3 * cols), i % cols)).collect::<Vec<_>>());
    assert_eq!(ran.get::<i16>(3), x[5 * cols..9 * cols]);
}
