//! The program: a thin user of the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    robot_detection::cli::main()
}
