//! A user's binary has the whole command line for its kernel.

use std::process::Command;

fn own_kernel(args: &str) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_own-kernel")).args(args.split(' ')).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn it_lists_its_instances() {
    let (code, out, _) = own_kernel("ir --list");
    assert_eq!((code, out.as_str()), (0, "leaky_relu:n=10000\nleaky_relu:n=1,slope=-2\n"));
}
#[test]
fn it_prints_the_ir_of_an_instance() {
    let (code, out, _) = own_kernel("ir leaky_relu:n=1,slope=-2");
    assert_eq!(code, 0);
    assert!(out.starts_with("kernel @leaky_relu<N=1024>("), "{out}");
}
#[test]
fn it_runs_and_verifies_on_every_backend_that_is_there() {
    let (code, out, err) = own_kernel("run leaky_relu --slope 0.1 --n 3000 --quiet");
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("model, not validated on hardware"), "{out}");
    let (code, out, err) = own_kernel("verify --quiet");
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    // Where there is a GPU, two more agree.
    let agree = ["6 agree, 0 disagree, 0 failed, 2 skipped", "8 agree, 0 disagree, 0 failed"];
    assert!(agree.iter().any(|line| out.contains(line)), "{out}");
}
#[test]
fn it_says_what_its_parameters_allow() {
    let (code, _, err) = own_kernel("run leaky_relu --slope steep");
    assert_eq!(code, 1);
    assert!(err.contains("error[TW-E0590]: --slope cannot be `steep`"), "{err}");
}
