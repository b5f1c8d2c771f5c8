//! A panic behind the command line is an internal error: a message with a request to report it, exit code 3.
//! The test starts itself once more, since the command line writes to the real standard error.

use std::process::{Command, ExitCode};
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::App;
use tilewright_harness::kernels;
use tilewright_harness::registry::{Case, Inputs, KernelDef, Limits, Settings};

const CHILD: &str = "TILEWRIGHT_TEST_CHILD";

const BROKEN: KernelDef = KernelDef { name: "broken", about: "", params: &[], instances: &[], case };

fn case(_: &Settings, _: Inputs, _: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
    panic!("two and two are {}", 5)
}

#[test]
fn a_panic_is_an_internal_error_without_a_backtrace() -> ExitCode {
    if std::env::var_os(CHILD).is_some() {
        let args = ["program", "ir", "broken"].map(Into::into).to_vec();
        std::process::exit(App::new(kernels![BROKEN]).run(args).into());
    }
    let test = "a_panic_is_an_internal_error_without_a_backtrace";
    let this = std::env::current_exe().unwrap();
    let run = Command::new(this).args(["--exact", test, "--nocapture"]).env(CHILD, "1").output().unwrap();
    let err = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(3), "{err}");
    assert!(err.starts_with("error[TW-E0899]: internal error: two and two are 5 (harness/tests/panic.rs:"), "{err}");
    assert!(err.contains("please report it") && !err.contains("backtrace"), "{err}");
    ExitCode::SUCCESS
}
