//! Accesses of placed tensors: where their bytes are read from, and placements that do not fit.

use insta::assert_snapshot;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tilewright_core::elem::ElemType;
use tilewright_core::launch::Grid;
use tilewright_core::placement::{InCube, Placement, Split};
use tilewright_core::tensor::AnyTensor;
use tilewright_sim::machine::Machine;
use tilewright_sim::placement::{CubeSpan, Distance, Placed, Request};
use tilewright_sim::units::Ps;

fn tensor(dims: &[usize], placement: Placement) -> AnyTensor {
    AnyTensor::new(ElemType::F16, dims.to_vec(), None, placement)
}

/// A launch of so many cubes on AHBM, from the SIP's first cube on.
fn span(cubes: usize) -> CubeSpan {
    CubeSpan::of(&Machine::ahbm(), Grid::cubes(cubes).pes(8), 0)
}

fn placed(dims: &[usize], placement: Placement, cubes: usize) -> Placed {
    Placed::check(&Machine::ahbm(), span(cubes), "x", &tensor(dims, placement), false).unwrap()
}

/// `cube.pe: bytes` of each request, for a PE of cube `cube`.
fn requests(placed: &Placed, start: &[i64], dims: &[usize], cube: usize) -> String {
    let mut out = Vec::new();
    placed.requests(start, dims, (cube, 5), &mut out);
    out.iter().map(|r| format!("{}.{}: {}", r.cube, r.pe, r.bytes)).collect::<Vec<_>>().join("  ")
}

#[test]
fn a_tile_inside_one_slice_is_one_request() {
    // K of decode A1: 2 KV heads over 2 cubes, 64 K tokens over 8 PEs, 64 wide.
    let k = placed(&[2, 65536, 64], Placement::over_cubes(0, 2).over_pes(&[(1, 8)]), 2);
    assert_snapshot!(requests(&k, &[1, 8192 * 3 + 1024, 0], &[1, 1024, 64], 0), @"1.3: 131072");
}

#[test]
fn a_load_splits_at_slice_borders_in_the_order_of_its_elements() {
    let rows = placed(&[10, 4], Placement::at(0, 0).over_pes(&[(0, 4)]), 1); // 3, 3, 3, 1 rows
    assert_snapshot!(requests(&rows, &[2, 0], &[8, 4], 0), @"0.0: 8  0.1: 24  0.2: 24  0.3: 8");
    let grid = placed(&[4, 8], Placement::at(0, 0).over_pes(&[(0, 2), (1, 4)]), 1);
    assert_snapshot!(requests(&grid, &[1, 1], &[2, 3], 0), @"0.0: 2  0.1: 4  0.4: 2  0.5: 4");
    let nested = placed(&[16], Placement::over_cubes(0, 2).over_pes(&[(0, 2)]), 2);
    assert_snapshot!(requests(&nested, &[3], &[10], 0), @"0.0: 2  0.1: 8  1.0: 8  1.1: 2");
}

#[test]
fn what_lies_outside_the_tensor_moves_no_bytes() {
    let x = placed(&[10], Placement::at(2, 5), 4);
    assert_snapshot!(requests(&x, &[-3], &[5], 0), @"2.5: 4");
    assert_snapshot!(requests(&x, &[8], &[5], 0), @"2.5: 4");
    assert_snapshot!(requests(&x, &[10], &[5], 0), @"");
    assert_snapshot!(requests(&x, &[i64::MAX], &[5], 0), @"");
    assert_snapshot!(requests(&x, &[i64::MIN], &[5], 0), @"");
}

#[test]
fn a_replicated_tensor_is_read_from_pe_0_of_the_reading_cube() {
    let x = placed(&[8], Placement::replicated(), 4);
    assert_snapshot!(requests(&x, &[0], &[8], 3), @"3.0: 16");
    let cut = placed(&[8], Placement::replicated().over_pes(&[(0, 2)]), 4);
    assert_snapshot!(requests(&cut, &[0], &[8], 3), @"3.0: 8  3.1: 8");
}

#[test]
fn a_tensor_may_lie_in_cubes_of_the_sip_that_the_launch_does_not_use() {
    let x = placed(&[8], Placement::over_cubes(0, 2).from_cube(14), 1);
    assert_snapshot!(requests(&x, &[0], &[8], 0), @"14.0: 8  15.0: 8");
    assert_eq!(x.cubes(), 14..16);
}

#[test]
fn distance_is_steps_over_the_pe_grid_or_one_price_for_another_cube() {
    let m = Machine::ahbm();
    let read = |pe, home| Distance::between(&m, pe, home).read_latency(&m).0;
    let write = |pe, home| Distance::between(&m, pe, home).write_latency(&m).0;
    assert_eq!((read((0, 5), (0, 5)), write((0, 5), (0, 5))), (Ps::ZERO, Ps::ZERO));
    assert_eq!((read((0, 7), (0, 0)), write((0, 7), (0, 0))), (Ps::from_ns(80), Ps::from_ns(40))); // a row and 3 columns
    assert_eq!((read((1, 0), (0, 0)), write((1, 0), (0, 7))), (Ps::from_ns(60), Ps::from_ns(60)));
}

#[test]
fn a_placement_that_does_not_fit_is_told_completely() {
    let refuse = |dims: &[usize], placement: Placement, cubes: usize, written: bool| {
        let x = tensor(dims, placement);
        Placed::check(&Machine::ahbm(), span(cubes), "x", &x, written).map_or_else(|e| e.to_string(), |_| "fits".into())
    };
    assert_snapshot!(refuse(&[8, 8], Placement::over_cubes(2, 2), 2, false), @r"
    error[TW-E0530]: the placement of `x` cuts axis 2 of a tensor of rank 2
     |
     = next: cut an axis below 2
     = more: tilewright explain TW-E0530
    ");
    assert_snapshot!(refuse(&[8], Placement::over_cubes(0, 0), 2, false), @r"
    error[TW-E0531]: the placement of `x` cuts axis 0 into 0 parts
     |
     = next: cut into 1 part or more
     = more: tilewright explain TW-E0531
    ");
    assert_snapshot!(refuse(&[64], Placement::over_cubes(0, 17), 1, false), @r"
    error[TW-E0532]: the placement of `x` takes 17 cubes from cube 0 of the launch on; there are 16
     |
     = note: cubes count from the launch's first cube to the last one of its SIP
     = next: place it over fewer cubes, or choose a larger machine: `--set topology.cube_rows=…`
     = more: tilewright explain TW-E0532
    ");
    assert_snapshot!(refuse(&[64], Placement::at(usize::MAX, 8), 1, false), @r"
    error[TW-E0532]: the placement of `x` takes 1 cubes from cube 18446744073709551615 of the launch on; there are 16
     |
     = note: cubes count from the launch's first cube to the last one of its SIP
     = next: place it over fewer cubes, or choose a larger machine: `--set topology.cube_rows=…`
     = more: tilewright explain TW-E0532
    error[TW-E0533]: the placement of `x` uses PE 8 of a cube; a cube has 8 PEs
     |
     = next: choose a PE below 8
     = more: tilewright explain TW-E0533
    ");
    assert_snapshot!(refuse(&[64, 64], Placement::at(0, 0).over_pes(&[(0, 4), (1, 4)]), 1, false), @r"
    error[TW-E0533]: the placement of `x` uses 4 x 4 PEs of a cube; a cube has 8 PEs
     |
     = next: cut into at most 8 parts
     = more: tilewright explain TW-E0533
    ");
    assert_snapshot!(refuse(&[64], Placement::replicated(), 2, true), @r"
    error[TW-E0534]: the kernel stores to `x`, which has 2 copies, one in each cube of the launch
     |
     = next: give it a home, for example `.placed(Placement::over_cubes(axis, cubes))`
     = more: tilewright explain TW-E0534
    ");
    assert_snapshot!(refuse(&[64], Placement::in_each_pe(), 1, true), @r"
    error[TW-E0534]: the kernel stores to `x`, which has 8 copies, one in each PE of the launch
     |
     = next: give it a home, for example `.placed(Placement::over_cubes(axis, cubes))`
     = more: tilewright explain TW-E0534
    ");
    // One copy is no problem, nor is a tensor without axes in one place.
    assert_snapshot!(refuse(&[64], Placement::replicated(), 1, true), @"fits");
    assert_snapshot!(refuse(&[], Placement::at(0, 3), 1, true), @"fits");
}

/// The home of each place of an axis, found by cutting lists of places: cube part, then the part of each PE split.
fn homes(len: usize, axis: usize, placement: &Placement) -> Vec<Vec<usize>> {
    let pe_splits: &[Split] = match &placement.in_cube {
        InCube::Split(splits) => splits,
        InCube::At(_) | InCube::Each => &[],
    };
    let mut pieces: Vec<(Vec<usize>, Vec<usize>)> = vec![((0..len).collect(), Vec::new())];
    let mut nominal = len;
    for split in placement.cubes.iter().chain(pe_splits) {
        let parts = if split.axis == axis { split.parts } else { 1 };
        nominal = nominal.div_ceil(parts);
        let cut = |(places, home): &(Vec<usize>, Vec<usize>)| {
            let with = |part| home.iter().copied().chain([part]).collect::<Vec<usize>>();
            places.chunks(nominal).enumerate().map(|(part, p)| (p.to_vec(), with(part))).collect::<Vec<_>>()
        };
        pieces = pieces.iter().flat_map(cut).collect();
    }
    pieces.into_iter().flat_map(|(places, home)| vec![home; places.len()]).collect()
}

fn placements(rank: usize) -> impl Strategy<Value = Placement> {
    let split = (0..rank, 1usize..5).prop_map(|(axis, parts)| Split { axis, parts });
    let pes = prop_oneof![
        (0usize..8).prop_map(InCube::At),
        Just(InCube::Each),
        prop::collection::vec((0..rank, 1usize..3).prop_map(|(axis, parts)| Split { axis, parts }), 0..4)
            .prop_map(InCube::Split),
    ];
    (0usize..3, prop::option::of(split), pes).prop_map(|(first_cube, cubes, in_cube)| Placement {
        first_cube,
        cubes,
        in_cube,
    })
}

fn accesses() -> impl Strategy<Value = (Vec<usize>, Placement, Vec<i64>, Vec<usize>)> {
    (1usize..4).prop_flat_map(|rank| {
        let lens = prop::collection::vec(1usize..10, rank);
        let start = prop::collection::vec(-4i64..12, rank);
        (lens, placements(rank), start, prop::collection::vec(0usize..10, rank))
    })
}

proptest! {
    /// Against one element at a time: each slice's bytes, one request per slice, in the order of first elements.
    #[test]
    fn requests_are_the_elements_gathered_by_slice((dims, placement, start, tile) in accesses()) {
        let x = placed(&dims, placement.clone(), 4);
        let mut found = Vec::new();
        x.requests(&start, &tile, (2, 5), &mut found);

        let axes: Vec<_> = dims.iter().enumerate().map(|(axis, len)| homes(*len, axis, &placement)).collect();
        let mut order: Vec<(usize, usize)> = Vec::new();
        let mut bytes: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for flat in 0..tile.iter().product::<usize>() {
            let mut rest = flat;
            let mut at: Vec<i64> = tile.iter().rev().map(|n| { let i = rest % n; rest /= n; i as i64 }).collect();
            at.reverse();
            let at: Vec<i64> = at.iter().zip(&start).map(|(i, s)| i + s).collect();
            if at.iter().zip(&dims).any(|(i, len)| *i < 0 || *i >= *len as i64) {
                continue;
            }
            let parts: Vec<&Vec<usize>> = at.iter().zip(&axes).map(|(i, axis)| &axis[*i as usize]).collect();
            let sum = |level: usize| parts.iter().map(|p| p[level]).sum::<usize>();
            let levels = usize::from(placement.cubes.is_some());
            let cube = if levels == 1 { placement.first_cube + sum(0) } else { 2 };
            let pe = match &placement.in_cube {
                InCube::At(pe) => *pe,
                InCube::Each => 5,
                InCube::Split(splits) => splits.iter().enumerate().fold(0, |pe, (i, s)| pe * s.parts + sum(levels + i)),
            };
            if !order.contains(&(cube, pe)) {
                order.push((cube, pe));
            }
            *bytes.entry((cube, pe)).or_default() += 2;
        }
        let expected: Vec<Request> =
            order.iter().map(|home| Request { cube: home.0, pe: home.1, bytes: bytes[home] }).collect();
        prop_assert_eq!(found, expected);
    }
}
