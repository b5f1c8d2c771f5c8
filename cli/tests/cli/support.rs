//! Runs the binary of this package.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// The command with these arguments, not yet started.
pub fn command(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilewright"));
    command.args(words(args)).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

/// Splits at blanks outside double quotes.
fn words(args: &str) -> Vec<String> {
    let mut quoted = false;
    let pieces = args.split(|c: char| {
        quoted ^= c == '"';
        c == ' ' && !quoted
    });
    pieces.filter(|word| !word.is_empty()).map(|word| word.replace('"', "")).collect()
}

pub fn tilewright(args: &str) -> Run {
    finished(command(args))
}
pub fn tilewright_in(dir: &Path, args: &str) -> Run {
    let mut command = command(args);
    command.current_dir(dir);
    finished(command)
}
fn finished(mut command: Command) -> Run {
    let output = command.output().expect("the binary starts");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    let code = output.status.code().expect("it ends by itself");
    Run { code, out: text(output.stdout), err: text(output.stderr) }
}

/// Runs with a standard output that nobody reads.
pub fn closed_pipe(args: &str) -> (i32, String) {
    let mut child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    (output.status.code().expect("it ends by itself"), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What someone sees who has just cloned the repository. What a command writes there stays out of the project.
pub fn clone_of_root(name: &str) -> PathBuf {
    let (dir, root) = (temp_dir(name), Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")));
    for entry in root.read_dir().expect("the project can be read") {
        let entry = entry.expect("the project can be read");
        if entry.file_name() != "target" {
            let path = entry.path().canonicalize().expect("the project can be read");
            std::os::unix::fs::symlink(path, dir.join(entry.file_name())).expect("the target folder can be written");
        }
    }
    dir
}

/// An empty folder of this test's own.
pub fn temp_dir(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("the target folder can be written");
    dir
}
