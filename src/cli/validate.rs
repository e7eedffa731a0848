//! `validate`: checks a configuration file without opening listeners or databases.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;

use crate::config::{ConfigErrors, Loaded};

use super::{Cli, args::ServeArgs, context, doctor, output, reload_losses::Extent, serve_settings};

/// Arguments of the `validate` command.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Reads the configuration file and the files it references. Does not open listeners, databases or connections, and writes nothing.

Exit code: 0 the configuration is valid, 1 it is not, 2 the file cannot be read

Example: robot-detection validate /etc/robot-detection.toml"
)]
pub(super) struct ValidateArgs {
    /// Configuration file to check [default: the file given with --config]
    file: Option<PathBuf>,
}

pub(super) fn run(cli: &Cli, args: &ValidateArgs) -> anyhow::Result<ExitCode> {
    let file = args
        .file
        .as_deref()
        .unwrap_or(context::file(cli))
        .to_owned();
    let cli = Cli {
        config: Some(file.clone()),
        ..cli.clone()
    };
    match judge(&cli) {
        Ok(loaded) => {
            let (file, extent) = (file.display(), Extent::new(&loaded, String::new()));
            output::line(&output::clean(&format!("{file} is valid: {extent}")))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            let errors = error.downcast::<ConfigErrors>()?.to_string();
            for line in errors.lines() {
                output::note(&output::clean(line));
            }
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Checks the configuration file in the same way as the server at startup.
fn judge(cli: &Cli) -> anyhow::Result<Loaded> {
    let no_flags = ServeArgs::default();
    let loaded = serve_settings::load(cli, &no_flags)?;
    serve_settings::has_site(cli, &no_flags, &loaded)?;
    doctor::validate(&loaded)?;
    Ok(loaded)
}
