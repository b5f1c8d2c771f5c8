//! `cargo run -p tilewright-example-own-kernel -- run leaky_relu --slope 0.1`; `ir`, `verify` and `explain` work as well.

use std::process::ExitCode;

fn main() -> ExitCode {
    tilewright::cli_main(tilewright::kernels![own_kernel::LEAKY_RELU])
}
