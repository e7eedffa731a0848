//! `init` and `completions`.

use std::{fs, io, process::ExitCode};

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::config::commented_configuration;

use super::{
    Cli,
    args::{CompletionsArgs, InitArgs},
    output,
};

pub(super) fn run(args: &InitArgs) -> anyhow::Result<ExitCode> {
    let text = commented_configuration();
    if args.stdout {
        output::line(text.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let name = args.file.display();
    let mut options = fs::OpenOptions::new();
    options.write(true);
    if args.force {
        options.create(true).truncate(true);
    } else {
        // One system call: a file made by another process in between is not overwritten.
        options.create_new(true);
    }
    let mut file = match options.open(&args.file) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            anyhow::bail!("{name} is there already; --force writes over it");
        }
        opened => opened.with_context(|| format!("cannot write {name}"))?,
    };
    io::Write::write_all(&mut file, text.as_bytes())
        .with_context(|| format!("cannot write {name}"))?;
    output::line(&format!(
        "wrote {name}\nnext: set server.upstream, then `robot-detection doctor`, then `robot-detection serve`"
    ))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn completions(args: &CompletionsArgs) -> io::Result<()> {
    // clap_complete panics where it cannot write, so it writes into memory and a closed pipe is
    // handled by our own printing.
    let mut text = Vec::new();
    let mut command = Cli::command();
    clap_complete::generate(args.shell, &mut command, "robot-detection", &mut text);
    output::text(&String::from_utf8_lossy(&text))
}
