//! Mistakes that only tracing or launching can see: each is told with its code, its place and the calls it came through.

use crate::kernels::faulty::*;
use insta::assert_snapshot;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;

fn told<T>(result: Result<T, Diagnostics>) -> String {
    let Err(Diagnostics(found)) = result else { return "no fault".into() };
    let line = |d: &tilewright::diag::Diagnostic| {
        let mut out = format!("{} {}", d.code, d.message);
        for l in &d.labels {
            out += format!("\n  {} {}", l.place, l.text).trim_end();
            l.inlined_at.iter().for_each(|at| out += &format!("\n    inlined at {at}"));
        }
        out
    };
    found.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn x() -> Tensor<f16, 2> {
    Tensor::shape_only([64, 16])
}

fn y() -> Tensor<f32, 2> {
    Tensor::shape_only([64, 16])
}

#[test]
fn all_faults_of_a_trace_are_told_at_once_and_each_once() {
    assert_snapshot!(told(several(&x(), &mut y(), 3).trace()));
}

#[test]
fn a_handle_carried_out_of_a_region_is_told_where_it_is_used() {
    assert_snapshot!(told(leaks(&x(), &mut y(), 3).trace()), @r"
    TW-E0105 this i32 was made inside an arm or a loop body, and is used outside of it
      tests/lang/kernels/faulty.rs:44:18
      tests/lang/kernels/faulty.rs:41:18 made here
    ");
}

#[test]
fn a_handle_of_another_trace_is_told() {
    assert!(remembers(3, true).trace().is_ok());
    assert_snapshot!(told(remembers(3, false).trace()), @r"
    TW-E0106 this handle does not belong to the kernel that is being traced
      tests/lang/kernels/faulty.rs:58:18
    TW-E0106 this handle does not belong to the kernel that is being traced
      tests/lang/kernels/faulty.rs:59:13
    ");
}

#[test]
fn traces_without_end_stop_at_a_limit() {
    let first = |t: String| t.lines().take(2).collect::<Vec<_>>().join("\n");
    let all = [recursion(1, "nested"), recursion(1, "device"), recursion(1, "plain"), huge(1)]
        .map(|l| first(told(l.trace())));
    assert_snapshot!(all.join("\n"), @r"
    TW-E0109 control flow nests deeper than 64
      tests/lang/kernels/faulty.rs:66:8
    TW-E0108 functions call each other without end while the kernel is traced
      tests/lang/kernels/faulty.rs:71:5
    TW-E0108 functions call each other without end while the kernel is traced
      tests/lang/kernels/faulty.rs:76:11
    TW-E0107 the kernel traces to more than 1000000 operations
      tests/lang/kernels/faulty.rs:92:9
    ");
}

#[test]
fn a_panic_of_host_code_is_a_fault_with_its_place() {
    assert_snapshot!(told(panics(3, vec![1]).trace()), @r"
    TW-E0110 the body panicked while it was traced: index out of bounds: the len is 1 but the index is 7
      tests/lang/kernels/faulty.rs:99:5
      tests/lang/kernels/faulty.rs:105:14 the trace had come to here
    ");
}

#[test]
fn a_body_that_differs_when_traced_again_is_told() {
    assert!(impure(3).trace().is_ok());
    let d = impure(3).retrace(true).trace().unwrap_err();
    assert_eq!(d.0[0].notes, ["first: %1 = mul %n, 1 : i32", "then:  %1 = mul %n, 2 : i32"]);
    assert_snapshot!(told(Err::<(), _>(d)), @r"
    TW-E0111 two traces of this kernel with the same parameters differ
      tests/lang/kernels/faulty.rs:111:8 this kernel
      tests/lang/kernels/faulty.rs:115:10 they part here
    ");
}

#[test]
fn a_warm_launch_does_not_trace() {
    let counter = Counter(std::sync::Arc::default());
    let first = warm(1, counter.clone()).trace().unwrap();
    let other = std::thread::spawn({
        let counter = counter.clone();
        move || warm(2, counter).grid(Grid::cubes(4)).trace().unwrap()
    });
    assert!(std::sync::Arc::ptr_eq(&first, &other.join().unwrap()));
    assert_eq!(*counter.0.lock().unwrap(), 1);
}

#[test]
fn a_launch_is_checked_before_a_backend_sees_it() {
    let (x, mut y) = (Tensor::shape_only([2, 3_000_000_000]), Tensor::shape_only([3_000_000_000, 1]));
    let bad = lengths(&x, &mut y).grid(Grid::cubes(0)).queue_depth(0).threads(0);
    assert_snapshot!(told(bad.ready()), @r"
    TW-E0501 a launch over 0 cubes x 1 PEs runs no program
      tests/lang/kernels/faulty.rs:142:8 this kernel
    TW-E0504 queues of depth 0 can hold no message
      tests/lang/kernels/faulty.rs:142:8 this kernel
    TW-E0505 a program needs at least one thread
      tests/lang/kernels/faulty.rs:142:8 this kernel
    TW-E0503 axis 1 of `x` has 3000000000 places, and the kernel asks for its length as an i32
      tests/lang/kernels/faulty.rs:143:12 its length is asked for here
    ");
    let wide = Grid::cubes(1 << 40).pes(1 << 40);
    assert_snapshot!(told(blameless(1).grid(wide).ready()), @r"
    TW-E0502 a launch over 1099511627776 cubes x 1099511627776 PEs runs more programs than an i32 counts
      tests/lang/kernels/faulty.rs:148:8 this kernel
    ");
    let ready = blameless(1).grid(Grid::cubes(2).pes(8)).queue_depth(7).threads(64).ready().unwrap();
    assert_eq!((ready.config.queue_depth, ready.config.threads, ready.args.len()), (Some(7), Some(64), 1));
}

#[test]
fn a_kernel_operation_outside_a_kernel_panics_with_a_diagnostic_of_its_line() {
    let outside = || {
        let _ = program_id();
    };
    let panic = std::panic::catch_unwind(outside).unwrap_err();
    let text = panic.downcast_ref::<String>().expect("a formatted text");
    assert!(text.starts_with("error[TW-E0115]: a kernel operation outside a kernel"), "{text}");
    assert!(text.contains("let _ = program_id();"), "{text}");
    assert!(text.contains("tilewright explain TW-E0115"), "{text}");
}

#[test]
fn a_fault_is_drawn_with_the_users_lines() {
    assert_snapshot!(leaks(&x(), &mut y(), 3).trace().unwrap_err().to_string());
}

#[test]
fn what_follows_from_a_fault_is_not_told() {
    assert_snapshot!(told(open_message(3).trace()), @r"
    TW-E0102 this tile has an `ANY` length, and nothing here says how long it is
      tests/lang/kernels/faulty.rs:154:63
    ");
}
