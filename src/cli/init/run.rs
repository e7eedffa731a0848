//! Runs `init` and `completions`.

use std::{fs, io, process::ExitCode};

use anyhow::Context as _;

use crate::cli;
use crate::config::{commented_configuration, publisher_configuration};
use crate::policy::HostName;

use super::{
    super::{
        args::{CompletionsArgs, InitArgs, PresetArg},
        output::{self, WrongUsage},
    },
    ask::ask,
};

pub(in crate::cli) fn run(args: &InitArgs) -> anyhow::Result<ExitCode> {
    if args.interactive && !args.force && args.file.exists() {
        // An existing file is reported before any questions are asked.
        return Err(is_there(args));
    }
    let text = match args.preset {
        None if args.interactive => ask(args.open_to.as_deref())?.configuration(),
        None => commented_configuration(),
        Some(PresetArg::Publisher) => publisher_configuration(host(&args.host)?),
    };
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
        // Created atomically, so that a file created by another process in the meantime is not
        // overwritten.
        options.create_new(true);
    }
    let mut file = match options.open(&args.file) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(is_there(args));
        }
        opened => opened.with_context(|| format!("cannot write {name}"))?,
    };
    io::Write::write_all(&mut file, text.as_bytes())
        .with_context(|| format!("cannot write {name}"))?;
    let first = if args.interactive {
        ""
    } else {
        "set server.upstream, then "
    };
    output::line(&format!(
        "wrote {name}\nnext: {first}`robot-detection doctor`, then `robot-detection serve`"
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn is_there(args: &InitArgs) -> anyhow::Error {
    let name = args.file.display();
    anyhow::anyhow!("{name} already exists; use --force to overwrite it")
}

/// Returns a host name as it is written to the configuration file.
fn host(name: &str) -> Result<&str, WrongUsage> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-:".contains(c);
    if HostName::parse(name).is_ok() && name.chars().all(is_plain) {
        return Ok(name);
    }
    Err(WrongUsage(format!(
        "--host {name:?} is not a host name such as www.example.com"
    )))
}

pub(in crate::cli) fn completions(args: &CompletionsArgs) -> io::Result<()> {
    // clap_complete panics on write errors, so it writes to memory, and `output` handles a closed
    // pipe.
    let mut text = Vec::new();
    let mut command = cli::command();
    clap_complete::generate(args.shell, &mut command, "robot-detection", &mut text);
    output::text(&String::from_utf8_lossy(&text))
}
