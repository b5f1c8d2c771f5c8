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
/// What the check before a run says, as a whole text; nothing if all is well.
fn checked(launch: Launch<'_>, on: &tilewright::Runtime) -> String {
    on.check(&launch.ready().unwrap_or_else(|e| panic!("{e}"))).map_or_else(|e| e.to_string(), |_| String::new())
}
#[test]
fn as_many_messages_as_are_sent_are_received_or_both_lines_and_counts_are_told() {
    for (n, d) in [0, 1, 5].into_iter().flat_map(|n| [-1, 0, 1].map(|d| (n, d))) {
        for mut on in targets() {
            let mut y = Tensor::<f32, 1>::uninit([8]);
            let grid = Grid::cubes(1).pes(2);
            let before = checked(unequal(n, d, &mut y).grid(grid), &on);
            let result = unequal(n, d, &mut y).grid(grid).run(&mut on).map(|_| ());
            if d == 0 || n + d < 0 {
                result.unwrap_or_else(|e| panic!("{e}"));
                assert_eq!((before.as_str(), y.elements()), ("", &[n as f32; 8][..]));
                continue;
            }
            let (send, recv) = ("send(Port::pe(Dir::East), full", "s += recv::<");
            for text in [before, result.unwrap_err().to_string()] {
                if d > 0 {
                    assert!(text.starts_with("error[TW-E0302]"), "{text}");
                    assert!(text.contains(&format!("PE 1 waits here for message {} from PE 0", n + 1)), "{text}");
                    let sent = if n == 0 { "sent nothing".into() } else { format!("ended after {n} message") };
                    assert!(text.contains(&sent) && text.contains(recv), "{text}");
                    assert!(n == 0 || text.contains(send), "{text}");
                } else {
                    assert!(text.starts_with("error[TW-E0304]: 1 message is never received"), "{text}");
                    assert!(text.contains("sent here, to PE 1") && text.contains(send), "{text}");
                    assert!(n == 1 || text.contains(recv), "{text}");
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
/// East, South, West and North around a cube of 2 x 4: each PE sends m messages on, and receives m.
#[kernel]
fn ring(m: Scalar<i32>, y: ViewMut<i32, 1>, #[comptime] receive_first: bool) {
    let mut sum = scalar(0);
    let (east, south, west, north) = (Dir::East, Dir::South, Dir::West, Dir::North);
    let to = [east, east, east, south, north, west, west, west];
    let from = [south, west, west, west, east, east, east, north];
    for (pe, (to, from)) in to.into_iter().zip(from).enumerate() {
        if pe_id() == pe {
            for half in [receive_first, !receive_first] {
                if half {
                    for _ in 0..m {
                        sum += recv::<Scalar<i32>>(Port::pe(from));
                    }
                } else {
                    for i in 0..m {
                        send(Port::pe(to), i + pe * 100);
                    }
                }
            }
        }
    }
    y.at(pe_id()).set(sum);
}
/// Two PEs, or eight.
fn circle(pes: usize, m: i32, depth: u32, y: &mut Tensor<i32, 1>) -> Launch<'_> {
    let launch = if pes == 2 { exchange(m, y) } else { ring(m, y, false) };
    launch.grid(Grid::cubes(1).pes(pes)).queue_depth(depth)
}
/// The depth that a text says suffices.
fn suggested(text: &str) -> u32 {
    let number = text.split(" -> ").nth(1).and_then(|t| t.split(' ').next());
    number.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}
#[test]
fn queues_hold_an_exchange_and_a_ring_or_the_depth_that_does_is_named_and_does() {
    let before = [4, 0, 1, 2, 5, 6, 7, 3];
    for (m, depth, pes) in (1..=6).flat_map(|m| (1..=5).flat_map(move |d| [2, 8].map(|pes| (m, d, pes)))) {
        let sum = m * (m - 1) / 2;
        let want: Vec<i32> = match pes {
            2 => vec![sum + m; 2],
            _ => before.iter().map(|pe| sum + pe * 100 * m).collect(),
        };
        // Each depth of a GPU's queue is another kernel: some of them stand for all.
        let some = m % 2 == 1 && depth % 2 == 1;
        for mut on in if some { targets() } else { models().into() } {
            let mut y = Tensor::uninit([pes]);
            let text = checked(circle(pes, m, depth, &mut y), &on);
            let enough = if text.is_empty() { depth } else { suggested(&text) };
            assert_eq!(enough, depth.max(m as u32), "{text}");
            assert_eq!(
                circle(pes, m, depth, &mut y).run(&mut on).is_ok(),
                m <= depth as i32,
                "{m} messages, depth {depth}"
            );
            run(circle(pes, m, enough, &mut y), &mut on);
            assert_eq!(y.elements(), want);
        }
    }
}
#[test]
fn a_ring_that_receives_first_is_a_deadlock_of_all_its_programs_in_any_number_of_cubes() {
    for (cubes, mut on) in [1, 16].into_iter().flat_map(|c| targets().into_iter().map(move |t| (c, t))) {
        let mut y = output([8]);
        let grid = Grid::cubes(cubes).pes(8);
        let text = checked(ring(1, &mut y, true).grid(grid).queue_depth(4), &on);
        assert!(text.starts_with("error[TW-E0301]: deadlock") && text.contains("messages.rs"), "{text}");
        let text = ring(1, &mut y, true).grid(grid).queue_depth(4).run(&mut on).unwrap_err().to_string();
        assert!(text.starts_with("error[TW-E0301]: deadlock") && text.contains("messages.rs"), "{text}");
        assert!(text.contains("0 -> PE 4 -> PE 5 -> PE 6 -> PE 7 -> PE 3 -> PE 2 -> PE 1 ->") || cubes > 1, "{text}");
        assert_eq!(text.matches("error[").count(), 1, "{text}");
    }
}

/// One queue, messages of two sizes.
#[kernel]
fn small_and_large(y: ViewMut<i32, 1>) {
    if pe_id() == 0 {
        for i in 0..4 {
            send(Port::pe(Dir::East), full::<i32, D1<2>>(i));
            send(Port::pe(Dir::East), full::<i32, D1<4096>>(i * 10));
        }
    } else {
        let mut sum = scalar(0);
        for _ in 0..4 {
            sum += recv::<Tile<i32, D1<2>>>(Port::pe(Dir::West)).sum(Axis::<0>);
            sum += recv::<Tile<i32, D1<4096>>>(Port::pe(Dir::West)).sum(Axis::<0>);
        }
        y.at(0).set(sum);
    }
}
#[test]
fn a_large_message_takes_its_turn_behind_small_ones() {
    for (depth, mut on) in [1, 2, 8].into_iter().flat_map(|d| targets().into_iter().map(move |t| (d, t))) {
        let mut y = Tensor::uninit([1]);
        run(small_and_large(&mut y).grid(Grid::cubes(1).pes(2)).queue_depth(depth), &mut on);
        assert_eq!(y.elements(), [2 * 6 + 4096 * 60]);
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

/// Written before the barrier and read after it, all within one branch.
#[kernel]
fn inside_a_branch(n: Scalar<i32>, y: ViewMut<i32, 1>, z: ViewMut<i32, 1>) {
    if n > 0 {
        y.at(pe_id()).set(pe_id() + n);
        barrier(Scope::Cube);
        z.at(pe_id()).set(y.at(num_pes() - 1 - pe_id()).get());
    }
}
#[test]
fn no_pass_moves_memory_across_a_barrier_in_a_branch() {
    for mut on in targets().into_iter().map(tilewright::Runtime::check_races) {
        let (mut y, mut z) = (output([8]), output([8]));
        let grid = Grid::cubes(1).pes(8);
        run(inside_a_branch(3, &mut y, &mut z).grid(grid), &mut on);
        assert_eq!(z.elements(), [10, 9, 8, 7, 6, 5, 4, 3]);
        let mut z = output([8]);
        run_optimised(inside_a_branch(3, &mut y, &mut z).grid(grid), &mut on);
        assert_eq!(z.elements(), [10, 9, 8, 7, 6, 5, 4, 3]);
    }
}
#[test]
fn who_waits_at_a_barrier_and_who_does_not_are_told_before_a_run() {
    for on in targets() {
        let mut y = output([16]);
        let mut text =
            |launch: fn(&mut Tensor<i32, 1>) -> Launch<'_>| checked(launch(&mut y).grid(Grid::cubes(1).pes(8)), &on);
        let told = text(some_wait);
        assert!(told.contains("PEs 0 to 2 wait here") && told.contains("PEs 3 to 7 ended"), "{told}");
        assert!(told.contains("barrier(Scope::Cube);"), "{told}");
        let told = text(uneven);
        assert!(told.contains("TW-E0305") && told.contains("wait here") && told.contains("PE 0 ended"), "{told}");
        assert_eq!(text(either_arm), "");
    }
}

#[kernel]
fn off_the_mesh(y: ViewMut<i32, 1>) {
    send(Port::pe(Dir::North), scalar::<i32>(1));
    y.at(0).set(1);
}
#[kernel]
fn to_itself() {
    if pe_id() == 1 {
        send(Port::peer(1), scalar::<i32>(1));
    }
}
#[kernel]
fn other_element() {
    if pe_id() == 0 {
        send(Port::pe(Dir::East), zeros::<f32, D1<8>>());
    } else {
        keep(recv::<Tile<f16, D1<8>>>(Port::pe(Dir::West)));
    }
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
        let e = faults(to_itself().grid(Grid::cubes(1).pes(2)), &mut on);
        assert!(e.starts_with("TW-E0307"), "{e}");
        let e = faults(other_element().grid(Grid::cubes(1).pes(2)), &mut on);
        assert!(e.starts_with("TW-E03") && e.contains("tile<8xf32>") && e.contains("tile<8xf16>"), "{e}");
        let e = faults(other_type().grid(Grid::cubes(1).pes(2)), &mut on);
        assert!(e.starts_with("TW-E03") && e.contains("tile<8xf32>") && e.contains("tile<4xf32>"), "{e}");
    }
}

#[kernel]
fn unheard(y: ViewMut<f32, 1>) {
    print_k!("{} of {}", pe_id(), num_pes());
    if pe_id() == 1 {
        y.at(0).store(recv::<Tile<f32, D1<8>>>(Port::pe(Dir::West)));
    }
}
#[test]
fn what_was_printed_before_a_fault_is_told_with_its_pe_and_line() {
    let line = include_str!("messages.rs").lines().position(|l| l.contains("print_k!")).map_or(0, |i| i + 1);
    // On a GPU the check before the launch refuses it, and nothing runs.
    for mut on in models() {
        let mut y = Tensor::<f32, 1>::uninit([8]);
        let fault = faults(unheard(&mut y).grid(Grid::cubes(1).pes(2)), &mut on);
        assert!(fault.starts_with("TW-E0302"), "{fault}");
        let lines: Vec<String> = on.prints().iter().map(ToString::to_string).collect();
        assert_eq!(lines, [0, 1].map(|pe| format!("PE {pe}, {}:{line}: {pe} of 2", file!())));
    }
}
