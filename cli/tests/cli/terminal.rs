//! What is shown while a command works, where standard error is a terminal. The terminal is a pair of file descriptors.

use crate::support::command;
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::io::Read;
use std::process::Stdio;

/// Runs a command whose standard error is a terminal of 80 columns; what the terminal got, and standard output.
fn on_a_terminal(args: &str) -> (String, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("the other side may be opened");
    tcsetwinsize(&ours, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).expect("a size");
    let name = ptsname(&ours, Vec::new()).expect("its name");
    let theirs = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("the other side");
    let mut run = command(args);
    run.env("TERM", "xterm").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(theirs);
    let child = run.spawn().expect("the binary starts");
    drop(run); // holds the terminal's other side, and our reading ends when nobody does
    let reader = std::thread::spawn(move || {
        let (mut shown, mut ours) = (Vec::new(), std::fs::File::from(ours));
        let _ = ours.read_to_end(&mut shown); // ends with an error when the other side is gone
        String::from_utf8_lossy(&shown).into_owned()
    });
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    (reader.join().expect("it reads"), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Seconds of simulation; what is shown comes after half a second.
const LONG: &str = "run gqa_decode --timing-only --s-kv 1572864 --tile 32";
/// Erases the line that the cursor is in.
const ERASE: &str = "\u{1b}[2K";

#[test]
fn a_long_run_says_how_far_it_is_and_takes_the_line_away_again() {
    let (shown, out) = on_a_terminal(LONG);
    let (first, last) = (shown.find(" million events, "), shown.rfind(ERASE));
    assert!(first.is_some() && first < last, "{shown:?}");
    assert!(shown.contains(" programs have ended ("), "{shown:?}");
    assert_eq!(shown.rsplit(ERASE).next().map(str::trim), Some(""), "nothing stays: {shown:?}");
    assert!(!out.contains("million events") && out.contains(" us on 64 PEs"), "{out}");
}
#[test]
fn a_quiet_run_and_one_for_programs_show_nothing() {
    for flag in ["--quiet", "--json"] {
        let (shown, out) = on_a_terminal(&format!("{LONG} {flag}"));
        assert_eq!(shown, "", "{flag}");
        assert!(!out.is_empty(), "{flag}");
    }
}
#[test]
fn a_sweep_has_a_bar_with_its_number_of_points() {
    let (shown, out) = on_a_terminal("sweep short-decode --modes A1 --s-kv 8192,16384 --csv");
    assert!(shown.contains("2/2") || shown.contains("1/2"), "{shown:?}");
    assert_eq!(out.lines().count(), 1 + 2, "{out}");
}
