//! Writes additional files for packages: a manual page for each command, and completions.
//!
//! It is a separate program to keep the main program small.

use std::{env, fs, path::Path};

use anyhow::Context as _;
use clap_complete::{Shell, generate_to};

/// Shells whose completions Debian has a directory for.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Fish, Shell::Zsh];

fn main() -> anyhow::Result<()> {
    let directory = env::args_os().nth(1);
    let directory = directory.context("name the directory to write man/ and completions/ into")?;
    let (man, completions) = ("man", "completions");
    for name in [man, completions] {
        let made = Path::new(&directory).join(name);
        fs::create_dir_all(&made).with_context(|| format!("cannot make {}", made.display()))?;
    }
    let command = robot_detection::cli::command();
    clap_mangen::generate_to(command.clone(), Path::new(&directory).join(man))?;
    for shell in SHELLS {
        let into = Path::new(&directory).join(completions);
        generate_to(shell, &mut command.clone(), "robot-detection", into)?;
    }
    Ok(())
}
