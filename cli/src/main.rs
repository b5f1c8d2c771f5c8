//! The `tilewright` command; what it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    tilewright_cli::app().main()
}
