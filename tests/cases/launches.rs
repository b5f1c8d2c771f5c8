//! Launches: stale traces, grids, scalars of every type, tiles that do not fit in scratch.

use crate::support::*;
use std::sync::atomic::{AtomicI32, Ordering};
use tilewright::Report;
use tilewright::prelude::*;

/// What an impure body reads.
static SLOPE: AtomicI32 = AtomicI32::new(2);
#[kernel]
fn impure(y: ViewMut<i32, 1>) {
    y.at(0).set(SLOPE.load(Ordering::Relaxed));
}
#[test]
fn an_impure_body_is_told_by_a_second_trace() {
    let mut y = Tensor::uninit([1]);
    for mut on in targets() {
        SLOPE.store(2, Ordering::Relaxed);
        run(impure(&mut y), &mut on);
        SLOPE.store(3, Ordering::Relaxed);
        // Traced once for its parameters: a static is none of them.
        run(impure(&mut y), &mut on);
        assert_eq!(y.elements(), [2]);
        let told = impure(&mut y).retrace(true).run(&mut on).unwrap_err().to_string();
        assert!(told.contains("TW-E0111") && told.contains("launches.rs"), "{told}");
        assert!(told.contains(", 2") && told.contains(", 3"), "both texts: {told}");
    }
}

#[kernel]
fn by_another_crate(x: View<f32, 1>, y: ViewMut<f32, 1>) {
    y.at(0).set(tilewright_test_attn::leaky(x.at(0).get()));
}
#[test]
fn a_constant_of_another_crate_is_in_the_ir_so_that_another_constant_is_another_kernel() {
    let (x, mut y) = (vector(vec![-3.0f32]), Tensor::uninit([1]));
    // Traces end with their process. What could outlive it is the IR, and that holds the constant.
    let text = tilewright::ir::text::print(&by_another_crate(&x, &mut y).trace().unwrap_or_else(|e| panic!("{e}")));
    assert!(text.contains(&tilewright_test_attn::SLOPE.to_string()), "{text}");
    for mut on in targets() {
        run(by_another_crate(&x, &mut y), &mut on);
        assert_eq!(y.elements(), [-3.0 * tilewright_test_attn::SLOPE as f32]);
    }
}

/// Two kernels of one name, whose bodies differ in a constant.
mod one {
    use tilewright::prelude::*;
    const VALUE: i32 = 1;
    #[kernel]
    pub fn same_name(y: ViewMut<i32, 1>) {
        y.at(0).set(VALUE);
    }
}
mod two {
    use tilewright::prelude::*;
    const VALUE: i32 = 2;
    #[kernel]
    pub fn same_name(y: ViewMut<i32, 1>) {
        y.at(0).set(VALUE);
    }
}
#[device]
fn applied(x: Scalar<i32>, f: impl Fn(Scalar<i32>) -> Scalar<i32>) -> Scalar<i32> {
    f(x)
}
/// A comptime choice between two closures, and a field that nothing else shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Choice {
    twice: bool,
    by: usize,
}
#[kernel]
fn chosen(x: View<i32, 1>, y: ViewMut<i32, 1>, #[comptime] choice: Choice) {
    let x = x.at(0).get();
    let v = if choice.twice { applied(x, |v| v * 2 + choice.by) } else { applied(x, |v| v + choice.by) };
    y.at(0).set(v);
}
macro_rules! stamped {
    ($name:ident $value:literal) => {
        fn $name(y: &mut Tensor<i32, 1>) -> Launch<'_> {
            #[kernel]
            fn stamp(y: ViewMut<i32, 1>) {
                y.at(0).set($value);
            }
            stamp(y)
        }
    };
}
stamped! { stamped_5 5 }
stamped! { stamped_6 6 }
#[test]
fn kernels_that_differ_are_never_taken_for_each_other() {
    let x = vector(vec![10]);
    let mut y = Tensor::uninit([1]);
    for (_, mut on) in (0..2).flat_map(|n| targets().into_iter().map(move |t| (n, t))) {
        let mut value = |launch: fn(&mut Tensor<i32, 1>) -> Launch<'_>| {
            run(launch(&mut y), &mut on);
            y.elements()[0]
        };
        assert_eq!(value(one::same_name), 1);
        assert_eq!(value(two::same_name), 2);
        assert_eq!(value(tilewright_test_attn::same_name), 3);
        assert_eq!(value(stamped_5), 5);
        assert_eq!(value(stamped_6), 6);
        for (twice, by, want) in [(true, 1, 21), (false, 1, 11), (false, 2, 12), (true, 2, 22)] {
            run(chosen(&x, &mut y, Choice { twice, by }), &mut on);
            assert_eq!(y.elements(), [want]);
        }
    }
}

#[kernel]
fn number(y: ViewMut<i32, 1>, runs: ViewMut<u8, 1>) {
    y.at(program_id()).set(program_id());
    runs.at(program_id()).atomic_add(scalar::<u8>(1));
}
fn numbered(grid: Grid, on: &mut tilewright::Runtime) -> Result<(), String> {
    let n = grid.num_programs().filter(|n| *n <= 1 << 24).unwrap_or(1);
    let (mut y, mut runs) = (output([n]), Tensor::zeros([n]).placed(Placement::at(0, 0)));
    number(&mut y, &mut runs).grid(grid).run(on).map_err(|e| e.to_string())?;
    assert!(y.elements().iter().enumerate().all(|(i, v)| *v as usize == i), "{grid}");
    assert!(runs.elements().iter().all(|n| *n == 1), "{grid}");
    Ok(())
}
#[test]
fn each_program_of_a_grid_runs_once() {
    let [mut reference, mut sim] = models();
    for grid in [Grid::cubes(1), Grid::cubes(3).pes(3), Grid::cubes(65_535), Grid::cubes(8192).pes(8)] {
        numbered(grid, &mut reference).unwrap_or_else(|e| panic!("{grid}: {e}"));
    }
    numbered(Grid::cubes(70_000), &mut reference).unwrap_or_else(|e| panic!("{e}"));
    for grid in [Grid::cubes(1), Grid::cubes(3).pes(3), Grid::cubes(16).pes(8), Grid::cubes(1).pes(8).sips(2)] {
        numbered(grid, &mut sim).unwrap_or_else(|e| panic!("{grid}: {e}"));
        for mut on in gpus() {
            numbered(grid, &mut on).unwrap_or_else(|e| panic!("{grid}: {e}"));
        }
    }
    // More than a grid's second axis could have.
    for mut on in gpus() {
        numbered(Grid::cubes(8750).pes(8), &mut on).unwrap_or_else(|e| panic!("{e}"));
    }
}
#[test]
fn the_largest_grid_of_the_interpreter_runs_each_program_once() {
    let [mut reference, _] = models();
    numbered(Grid::cubes(1 << 24), &mut reference).unwrap_or_else(|e| panic!("{e}"));
}

/// Every program meets every other.
#[kernel]
fn reversed(y: ViewMut<i32, 1>, z: ViewMut<i32, 1>) {
    y.at(program_id()).set(program_id());
    barrier(Scope::Launch);
    z.at(program_id()).set(y.at(num_programs() - 1 - program_id()).get());
}
#[test]
fn a_barrier_of_all_programs_holds_for_any_grid_that_runs() {
    let [mut reference, sim] = models();
    let check = |grid: Grid, on: &mut tilewright::Runtime| {
        let n = grid.num_programs().unwrap_or(0);
        let (mut y, mut z) = (output([n]), output([n]));
        run(reversed(&mut y, &mut z).grid(grid), on);
        assert!(z.elements().iter().rev().enumerate().all(|(i, v)| *v as usize == i), "{grid}");
    };
    check(Grid::cubes(1), &mut reference);
    check(Grid::cubes(65_536), &mut reference);
    check(Grid::cubes(8_750).pes(8), &mut reference);
    for mut on in gpus().into_iter().chain([sim]) {
        check(Grid::cubes(1), &mut on);
        check(Grid::cubes(16).pes(8), &mut on);
    }
}
#[test]
fn programs_that_meet_and_cannot_all_run_at_once_are_refused_with_how_many_can() {
    for mut on in gpus() {
        let (mut y, mut z) = (output([1 << 20]), output([1 << 20]));
        let told = faults(reversed(&mut y, &mut z).grid(Grid::cubes(1 << 17).pes(8)), &mut on);
        assert!(told.starts_with("TW-E0629 131072 cubes x 8 PEs wait for each other, and the GPU runs "), "{told}");
        let most: usize = told.split("runs ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or(0);
        let (mut y, mut z) = (output([most]), output([most]));
        run(reversed(&mut y, &mut z).grid(Grid::cubes(most)), &mut on);
        assert!(z.elements().iter().rev().enumerate().all(|(i, v)| *v as usize == i), "{most}");
    }
}
#[test]
fn threads_that_a_gpu_does_not_have_are_refused_with_those_it_has() {
    for mut on in gpus() {
        let (mut y, mut runs) = (output([8]), Tensor::zeros([8]).placed(Placement::at(0, 0)));
        for threads in [1, 48, 2048] {
            let told = faults(number(&mut y, &mut runs).threads(threads), &mut on);
            assert_eq!(told, format!("TW-E0620 a thread block cannot have {threads} threads"));
        }
        let told = faults(number(&mut y, &mut runs).threads(0), &mut on);
        assert!(told.starts_with("TW-E0505"), "{told}");
        for threads in [32, 1024] {
            run(number(&mut y, &mut runs).grid(Grid::cubes(1).pes(8)).threads(threads), &mut on);
        }
        assert_eq!((y.elements(), runs.elements()), (&[0, 1, 2, 3, 4, 5, 6, 7][..], &[2; 8][..]));
    }
}
#[test]
fn threads_are_a_hint_that_changes_no_value_and_none_is_told() {
    for mut on in models() {
        let (mut y, mut runs) = (output([8]), Tensor::zeros([8]).placed(Placement::at(0, 0)));
        for threads in [1, 48, 256, 1024, 2048] {
            run(number(&mut y, &mut runs).grid(Grid::cubes(1).pes(8)).threads(threads), &mut on);
        }
        assert_eq!((y.elements(), runs.elements()), (&[0, 1, 2, 3, 4, 5, 6, 7][..], &[5; 8][..]));
        let told = faults(number(&mut y, &mut runs).threads(0), &mut on);
        assert!(told.starts_with("TW-E0505"), "{told}");
    }
}
#[test]
fn a_grid_that_cannot_run_is_refused_with_the_limit() {
    let [mut reference, mut sim] = models();
    for grid in [Grid::cubes(0), Grid::cubes(8).pes(0), Grid::cubes(1).sips(0), Grid::cubes(0).pes(usize::MAX)] {
        for mut on in targets() {
            assert!(numbered(grid, &mut on).unwrap_err().contains("TW-E0501"), "{grid}");
        }
    }
    let huge =
        [Grid::cubes(1 << 28).pes(8), Grid::cubes(1 << 61).pes(8), Grid::cubes(usize::MAX), Grid::cubes(1 << 31)];
    for grid in huge {
        for mut on in targets() {
            assert!(numbered(grid, &mut on).unwrap_err().contains("TW-E0502"), "{grid}");
        }
    }
    let told = numbered(Grid::cubes((1 << 24) + 1), &mut reference).unwrap_err();
    assert!(told.contains("16777216"), "{told}");
    for (grid, limit) in [
        (Grid::cubes(17).pes(8), "16 cubes"),
        (Grid::cubes(1).pes(9), "8"),
        (Grid::cubes(70_000), "16"),
        (Grid::cubes(1 << 24), "16"),
        (Grid::cubes(1).sips(5), "4"),
    ] {
        let told = numbered(grid, &mut sim).unwrap_err();
        assert!(told.contains(limit), "{grid}: {told}");
    }
}

#[kernel]
fn echo(
    a: Scalar<u8>,
    b: Scalar<i64>,
    c: Scalar<f16>,
    y: ViewMut<f64, 1>,
    d: Scalar<i8>,
    e: Scalar<f64>,
    f: Scalar<bf16>,
    g: Scalar<u32>,
    z: ViewMut<i64, 1>,
    h: Scalar<i16>,
) {
    y.at(0).set(c.cast::<f64>());
    y.at(1).set(e);
    y.at(2).set(f.cast::<f64>());
    z.at(0).set(a.cast::<i64>());
    z.at(1).set(b);
    z.at(2).set(d.cast::<i64>());
    z.at(3).set(g.cast::<i64>());
    z.at(4).set(h.cast::<i64>());
}
#[kernel]
fn same<T: Elem>(a: Scalar<T>, b: Scalar<u8>, y: ViewMut<T, 1>, z: ViewMut<u8, 1>) {
    y.at(0).set(a);
    z.at(0).set(b);
}
#[test]
fn scalars_of_mixed_sizes_arrive_to_the_bit() {
    for mut on in targets() {
        let (mut y, mut z) = (Tensor::<f64, 1>::uninit([3]), Tensor::<i64, 1>::uninit([5]));
        let (c, f) = (f16::from_f64(65504.0), bf16::from_f64(1.0078125));
        let e = std::f64::consts::PI;
        run(echo(200, i64::MIN + 1, c, &mut y, -3, e, f, u32::MAX, &mut z, -2), &mut on);
        assert_eq!(y.elements(), [65504.0, e, 1.0078125]);
        assert_eq!(z.elements(), [200, i64::MIN + 1, -3, i64::from(u32::MAX), -2]);
    }
}
#[test]
fn scalars_of_every_type_arrive_to_the_bit() {
    fn check<T: Elem>(patterns: &[u64]) {
        for (pattern, mut on) in patterns.iter().flat_map(|p| targets().into_iter().map(move |t| (*p, t))) {
            let (mut y, mut z) = (Tensor::uninit([1]), Tensor::uninit([1]));
            let sent = T::from_bits(pattern);
            run(same(sent, 0xC3, &mut y, &mut z), &mut on);
            assert_eq!((bits(&y), z.elements()), (vec![sent.to_bits()], &[0xC3][..]), "{}", T::ELEM);
        }
    }
    check::<bool>(&[0, 1]);
    check::<i8>(&[0x80, 0x7F, 0xFF]);
    check::<u8>(&[0x80, 0xFF]);
    check::<i16>(&[0x8000, 0x7FFF]);
    check::<u16>(&[0x8000, 0xFFFF]);
    check::<i32>(&[0x8000_0000, 0x7FFF_FFFF]);
    check::<u32>(&[0x8000_0000, 0xFFFF_FFFF]);
    check::<i64>(&[1 << 63, (1 << 53) + 1, u64::MAX]);
    check::<u64>(&[1 << 63, (1 << 53) + 1, u64::MAX]);
    // -0, the smallest subnormal, the largest number, an infinity, a signalling NaN, a quiet one with sign and payload.
    check::<f16>(&[0x8000, 1, 0x7BFF, 0x7C00, 0x7C01, 0xFE05]);
    check::<bf16>(&[0x8000, 1, 0x7F7F, 0xFF80, 0x7F81, 0xFFC5]);
    check::<f32>(&[0x8000_0000, 1, 0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0001, 0xFFC0_0005]);
    check::<f64>(&[1 << 63, 1, 0x7FF0_0000_0000_0000, 0x7FF0_0000_0000_0001, 0xFFF8_0000_0000_0005]);
    check::<F8E4M3>(&[0x80, 0x7E, 0xFF]);
    check::<F8E5M2>(&[0x80, 0x7C, 0xFF]);
}

macro_rules! sixty {
    ($($p:ident)*) => {
        #[kernel]
        fn sixty($($p: Scalar<i16>,)* y: ViewMut<i16, 1>) {
            for (i, p) in [$($p),*].into_iter().enumerate() {
                y.at(i).set(p);
            }
        }
        fn launch_sixty(y: &mut Tensor<i16, 1>) -> Launch<'_> {
            let mut next = 0;
            $( next += 1; let $p = next * 257; )*
            sixty($($p,)* y)
        }
    };
}
sixty! {
    a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9
    d0 d1 d2 d3 d4 d5 d6 d7 d8 d9 e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9
}
#[test]
fn four_kib_of_parameters_arrive_in_their_order() {
    use tilewright::core_api::launch::{Arg, Backend, LaunchConfig, Ready};
    use tilewright::ir::Literal;
    const N: usize = 4096 / 8;
    let params: String = (0..N).map(|i| format!("%p{i}: i64, ")).collect();
    let stores: String = (0..N).map(|i| format!("  store %y[{i}], %p{i}\n")).collect();
    let text = format!("kernel @many({params}%y: view_mut<?xi64>) {{\n{stores}}}\n");
    let module = std::sync::Arc::new(tilewright::ir::text::read(&text, "many.tir").unwrap_or_else(|e| panic!("{e}")));
    let values: Vec<i64> = (0..N as i64).map(|i| (i - 200).wrapping_mul(0x0123_4567_89AB_CDEF)).collect();
    for mut on in targets() {
        let mut y = Tensor::<i64, 1>::uninit([N]);
        let scalars = values.iter().map(|v| Arg::Scalar(Literal::from(*v)));
        let args = scalars.chain([Arg::ViewMut(y.as_any_mut())]).collect();
        on.execute(Ready { module: module.clone(), args, config: LaunchConfig::default() })
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(y.elements(), values);
    }
}
#[kernel]
fn ten_views(
    a: View<i32, 1>,
    b: View<i32, 1>,
    c: View<i32, 1>,
    d: View<i32, 1>,
    e: View<i32, 1>,
    f: View<i32, 1>,
    g: View<i32, 1>,
    h: View<i32, 1>,
    i: View<i32, 1>,
    y: ViewMut<i32, 1>,
) {
    for (n, view) in [a, b, c, d, e, f, g, h, i].into_iter().enumerate() {
        y.at(n).set(view.at(view.len(Axis::<0>) - 1).get());
    }
}
#[test]
fn sixty_scalars_and_ten_views_keep_their_order() {
    for mut on in targets() {
        let mut y = Tensor::uninit([60]);
        run(launch_sixty(&mut y), &mut on);
        assert!(y.elements().iter().enumerate().all(|(i, v)| *v == (i as i16 + 1) * 257));
        let [a, b, c, d, e, f, g, h, i] = std::array::from_fn(|n| vector((0..=n as i32).map(|v| v * 10).collect()));
        let mut y = Tensor::uninit([9]);
        run(ten_views(&a, &b, &c, &d, &e, &f, &g, &h, &i, &mut y), &mut on);
        assert_eq!(y.elements(), [0, 10, 20, 30, 40, 50, 60, 70, 80]);
    }
}

#[kernel]
fn two_live_tiles(x: View<f32, 2>, y: ViewMut<f32, 2>) {
    let (a, b) = (x.at(0, 0).load::<D2<1024, 256>>(), x.at(1024, 0).load::<D2<1024, 256>>());
    y.at(0, 0).store(a + b);
}
#[kernel]
fn one_after_the_other(x: View<f32, 2>, y: ViewMut<f32, 2>) {
    for i in 0..4 {
        y.at(i * 512, 0).store(x.at(i * 512, 0).load::<D2<512, 256>>());
    }
}
#[test]
fn tiles_above_scratch_are_told_and_tiles_that_fit_after_waiting_run() {
    let x = tensor([2048, 256], (0..2048 * 256).map(|i| i as f32).collect());
    let mut sim = tilewright::Runtime::sim();
    let mut y = Tensor::uninit([2048, 256]);
    let told = two_live_tiles(&x, &mut y).run(&mut sim).unwrap_err().to_string();
    assert!(told.contains("1048576 B") && told.contains("launches.rs"), "{told}");
    let report = one_after_the_other(&x, &mut y).run(&mut sim).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(y.elements(), x.elements());
    let Report::Sim(report) = report else { panic!("the simulator's report") };
    assert_eq!(report.timing.pes[0].scratch_peak.0, 1 << 20, "two tiles of half the scratch at a time");
}
