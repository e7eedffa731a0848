//! `proxy-config`: prints the configuration that connects other proxies to the decision endpoint.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;

use crate::assembly;
use crate::check::{FileOptions, NginxPart, PlaceError, ProxyFile, inspect, proxy_file};
use crate::config::{FailMode, Loaded};
use crate::operations::DEFAULT_SITE;

use super::{
    Cli, context,
    output::{self, WrongUsage},
    traps,
};

/// The maximum size of an nginx configuration to inspect.
const MAX_INSPECTED_BYTES: u64 = 16 << 20;

/// Arguments of the `proxy-config` command.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "The configuration is generated from check.listen, check.fails, the sites and their upstream servers. It contains check.token, which is secret.\n\nExample: robot-detection proxy-config nginx --part server > /etc/nginx/robot-detection/server.conf"
)]
pub(super) struct ProxyConfigArgs {
    /// Proxy for which to print the configuration
    #[arg(value_enum)]
    proxy: ProxyFile,
    /// Section of the nginx configuration that will include the output
    #[arg(long, value_enum, conflicts_with = "standalone")]
    part: Option<NginxPart>,
    /// Read the output of `nginx -T` from a file (`-` reads standard input), and list locations in
    /// which requests bypass robot-detection; exit code 1 if there are such locations
    #[arg(long, value_name = "FILE", conflicts_with_all = ["part", "standalone"])]
    inspect: Option<PathBuf>,
    /// Print a complete configuration file instead of a file to include
    #[arg(long)]
    standalone: bool,
    /// Listen address for a standalone configuration file: a port, or the arguments of nginx's
    /// `listen`
    #[arg(
        long,
        value_name = "PORT",
        default_value = "80",
        requires = "standalone"
    )]
    listen: String,
}

/// Prints the configuration for a front proxy.
pub(super) async fn run(cli: &Cli, args: &ProxyConfigArgs) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.inspect {
        return inspect_file(args.proxy, file);
    }
    let loaded = context::load(cli)?;
    let wrong = |error: PlaceError| WrongUsage(error.to_string());
    // The file may be printed before the server has started for the first time.
    let traps = traps::of_configured(&loaded).await.unwrap_or_else(|error| {
        output::note(&format!(
            "warning: the printed configuration contains no traps: {error}"
        ));
        Vec::new()
    });
    let of_site = |name: Option<&str>| {
        let name = name.unwrap_or(DEFAULT_SITE);
        let of_site = traps.iter().filter(|traps| traps.site == name);
        of_site.flat_map(|traps| traps.paths.iter()).collect()
    };
    let front = assembly::front(&loaded, of_site).map_err(wrong)?;
    let is_port = |c: char| c.is_ascii_alphanumeric() || " .:[]*_-=".contains(c);
    if args.listen.is_empty() || !args.listen.chars().all(is_port) {
        let text = format!(
            "--listen {:?} is not an address such as 80, 127.0.0.1:8081 or \"443 ssl\"",
            args.listen
        );
        return Err(WrongUsage(text).into());
    }
    let options = FileOptions {
        standalone: args.standalone,
        part: args.part,
        listen: &args.listen,
        fails_open: loaded.settings().check.fails == FailMode::Open,
        map_command: &map_command(cli)?,
    };
    let file = proxy_file(args.proxy, &front, options).map_err(wrong)?;
    output::text(&file)?;
    for warning in warnings(&loaded) {
        output::note(&format!("warning: {warning}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the command that Apache runs: this program with this configuration.
fn map_command(cli: &Cli) -> anyhow::Result<String> {
    let program = std::env::current_exe()?;
    let config = std::path::absolute(context::file(cli))?;
    let (program, config) = (program.display(), config.display());
    Ok(format!("{program} --config {config} apache-map"))
}

/// Lists locations in an nginx configuration whose requests bypass the decision endpoint.
fn inspect_file(proxy: ProxyFile, file: &Path) -> anyhow::Result<ExitCode> {
    if !matches!(proxy, ProxyFile::Nginx) {
        return Err(WrongUsage("--inspect supports only the output of nginx -T".to_owned()).into());
    }
    let wrong = |text: String| WrongUsage(format!("cannot inspect {}: {text}", file.display()));
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(file).map_err(|error| wrong(error.to_string()))?)
    };
    let mut bytes = Vec::new();
    let mut input = input.take(MAX_INSPECTED_BYTES + 1);
    let read = input.read_to_end(&mut bytes);
    let read = read.map_err(|error| wrong(error.to_string()))?;
    if u64::try_from(read).is_ok_and(|read| read > MAX_INSPECTED_BYTES) {
        return Err(wrong("the file is larger than 16 MiB".to_owned()).into());
    }
    let text = String::from_utf8_lossy(&bytes);
    if !text.contains("# configuration file ") {
        let reason = "the file does not contain the output of nginx -T; check the configuration with nginx -t";
        return Err(wrong(reason.to_owned()).into());
    }
    let inspection = inspect(&text).map_err(|error| wrong(error.to_string()))?;
    for finding in &inspection.findings {
        output::text(&format!("{finding}\n"))?;
    }
    let escapes = inspection.escapes();
    let (servers, notes) = (inspection.servers, inspection.findings.len() - escapes);
    output::text(&format!(
        "servers that query robot-detection: {servers}; locations that bypass it: {escapes}; notes: {notes}\n"
    ))?;
    Ok(ExitCode::from(u8::from(escapes > 0)))
}

/// Returns warnings about required settings that the file does not contain.
fn warnings(loaded: &Loaded) -> Vec<&'static str> {
    let settings = loaded.settings();
    let mut warnings = Vec::new();
    if settings.server.trusted_proxies.is_empty() {
        warnings.push(
            "robot heaven, robots.txt and the admin page do not receive the visitor's address: add the proxy to server.trusted_proxies, such as [\"127.0.0.1\"]",
        );
    }
    warnings
}
