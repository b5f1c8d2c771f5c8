//! Queues, barriers, hangs.

use crate::support::*;
use tilewright::prelude::*;

#[kernel]
fn unequal(n: Scalar<i32>, d: Scalar<i32>, y: ViewMut<f32, 1>) {
    if pe_id() == 0 {
        for _ in 0..n {
            send(Port::pe(Dir::East), full::<f32, D1<8>>(1.0));
        }
    }
    if pe_id() == 1 {
        let mut s = zeros::<f32, D1<8>>();
        for _ in 0..n + d {
            s += recv::<Tile<f32, D1<8>>>(Port::pe(Dir::West));
        }
        y.at(0).store(s);
    }
}
#[test]
fn as_many_messages_as_are_sent_are_received_or_both_lines_are_told() {
    for (n, d) in [0, 1, 5].into_iter().flat_map(|n| [-1, 0, 1].map(|d| (n, d))) {
        for mut on in targets() {
            let mut y = Tensor::<f32, 1>::uninit([8]);
            let launch = unequal(n, d, &mut y).grid(Grid::cubes(1).pes(2));
            let result = launch.run(&mut on);
            match result {
                Ok(_) => {
                    assert!(d == 0 || n + d < 0, "{n} sent, {} received, and nothing is told", n + d);
                    assert_eq!(y.elements(), [n as f32; 8]);
                }
                Err(e) => {
                    let text = e.to_string();
                    assert_ne!(d, 0, "{text}");
                    assert!(text.contains("messages.rs"), "{text}");
                    assert!(d < 0 || text.contains("PE 1 waits"), "{text}");
                }
            }
        }
    }
}
#[test]
fn the_same_fault_in_eight_cubes_is_one_error() {
    for mut on in targets() {
        let mut y = Tensor::<f32, 1>::uninit([8]);
        let told = faults(unequal(2, 1, &mut y).grid(Grid::cubes(8).pes(2)), &mut on);
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}

#[kernel]
fn exchange(m: Scalar<i32>, y: ViewMut<i32, 1>) {
    let mut sum = scalar(0);
    for port in [Port::pe(Dir::East), Port::pe(Dir::West)] {
        let first = if port == Port::pe(Dir::East) { 0 } else { 1 };
        if pe_id() == first {
            for i in 0..m {
                send(port, i + 1);
            }
            for _ in 0..m {
                sum += recv::<Scalar<i32>>(port);
            }
        }
    }
    y.at(pe_id()).set(sum);
}
#[test]
fn an_exchange_completes_where_the_queues_hold_it_and_else_says_the_depth() {
    for (m, depth) in (1..=4).flat_map(|m| [1, 2, 4].map(|d| (m, d))) {
        for mut on in targets() {
            let mut y = Tensor::uninit([2]);
            let launch = exchange(m, &mut y).grid(Grid::cubes(1).pes(2)).queue_depth(depth);
            match launch.run(&mut on) {
                Ok(_) => {
                    assert!(m <= depth as i32);
                    assert_eq!(y.elements(), [m * (m + 1) / 2; 2]);
                }
                Err(e) => assert!(m > depth as i32, "{e}"),
            }
        }
    }
}

#[kernel]
fn some_wait(y: ViewMut<i32, 1>) {
    if pe_id() < 3 {
        barrier(Scope::Cube);
    }
    y.at(pe_id()).set(1);
}
#[kernel]
fn uneven(y: ViewMut<i32, 1>) {
    for _ in 0..pe_id() + 1 {
        barrier(Scope::Cube);
    }
    y.at(pe_id()).set(1);
}
#[kernel]
fn either_arm(y: ViewMut<i32, 1>) {
    y.at(pe_id()).set(pe_id() + 1);
    if pe_id() < 3 {
        barrier(Scope::Cube);
    } else {
        barrier(Scope::Cube);
    }
    y.at(pe_id() + 8).set(y.at(7 - pe_id()).get());
}
#[kernel]
fn one_cube(y: ViewMut<i32, 1>) {
    if cube_id() == 0 {
        barrier(Scope::Launch);
    }
    y.at(0).set(1);
}
#[test]
fn a_barrier_that_some_do_not_reach_is_told_with_its_line() {
    for mut on in targets() {
        let mut y = output([16]);
        for launch in [some_wait, uneven] {
            let e = launch(&mut y).grid(Grid::cubes(1).pes(8)).run(&mut on).unwrap_err().to_string();
            assert!(e.contains("barrier") && e.contains("messages.rs"), "{e}");
        }
        let e = one_cube(&mut y).grid(Grid::cubes(2)).run(&mut on).unwrap_err().to_string();
        assert!(e.contains("barrier") && e.contains("messages.rs"), "{e}");
    }
}
#[test]
fn barriers_in_both_arms_meet() {
    for mut on in targets() {
        let mut y = Tensor::uninit([16]);
        run(either_arm(&mut y).grid(Grid::cubes(1).pes(8)), &mut on);
        assert_eq!(y.elements()[8..], [8, 7, 6, 5, 4, 3, 2, 1]);
    }
}

#[kernel]
fn off_the_mesh(y: ViewMut<i32, 1>) {
    send(Port::pe(Dir::North), scalar::<i32>(1));
    y.at(0).set(1);
}
#[kernel]
fn other_type() {
    if pe_id() == 0 {
        send(Port::pe(Dir::East), zeros::<f32, D1<8>>());
    } else {
        keep(recv::<Tile<f32, D1<4>>>(Port::pe(Dir::West)));
    }
}
#[test]
fn ports_off_the_mesh_and_messages_of_another_type_are_told() {
    for mut on in targets() {
        let mut y = Tensor::uninit([1]);
        let e = faults(off_the_mesh(&mut y), &mut on);
        assert!(e.starts_with("TW-E03"), "{e}");
        let e = faults(other_type().grid(Grid::cubes(1).pes(2)), &mut on);
        assert!(e.starts_with("TW-E03") && e.contains("tile<8xf32>") && e.contains("tile<4xf32>"), "{e}");
    }
}
