//! `proxy-config`: the file with which another proxy asks us.

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

/// Most that is read of a configuration of nginx.
const MAX_INSPECTED_BYTES: u64 = 16 << 20;

/// Arguments of `proxy-config`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "The file is made from the configuration: check.listen, check.fails, the sites and their servers. It contains check.token.\n\nExample: robot-detection proxy-config nginx --part server > /etc/nginx/robot-detection/server.conf"
)]
pub(super) struct ProxyConfigArgs {
    /// Proxy that the file is for
    #[arg(value_enum)]
    proxy: ProxyFile,
    /// Part of nginx's configuration that includes the file
    #[arg(long, value_enum, conflicts_with = "standalone")]
    part: Option<NginxPart>,
    /// Read the output of `nginx -T` (-: standard input), and list the locations whose requests
    /// robot-detection is not asked about; exit code 1 if there are any
    #[arg(long, value_name = "FILE", conflicts_with_all = ["part", "standalone"])]
    inspect: Option<PathBuf>,
    /// Print a whole file that works alone; without it, what an existing configuration includes
    #[arg(long)]
    standalone: bool,
    /// Where the proxy of a standalone file listens: a port, or the arguments of nginx's `listen`
    #[arg(
        long,
        value_name = "PORT",
        default_value = "80",
        requires = "standalone"
    )]
    listen: String,
}

/// Prints the file.
pub(super) async fn run(cli: &Cli, args: &ProxyConfigArgs) -> anyhow::Result<ExitCode> {
    if let Some(file) = &args.inspect {
        return inspect_file(args.proxy, file);
    }
    let loaded = context::load(cli)?;
    let wrong = |error: PlaceError| WrongUsage(error.to_string());
    // Whoever sets a server up prints the file before it has started once.
    let traps = traps::of_configured(&loaded).await.unwrap_or_else(|error| {
        output::note(&format!("warning: the file has no traps: {error}"));
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
            "--listen {:?} is none such as 80, 127.0.0.1:8081 or \"443 ssl\"",
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

/// Returns the command that Apache starts: this program, with this configuration.
fn map_command(cli: &Cli) -> anyhow::Result<String> {
    let program = std::env::current_exe()?;
    let config = std::path::absolute(context::file(cli))?;
    let (program, config) = (program.display(), config.display());
    Ok(format!("{program} --config {config} apache-map"))
}

/// Lists what escapes the question in a configuration of nginx.
fn inspect_file(proxy: ProxyFile, file: &Path) -> anyhow::Result<ExitCode> {
    if !matches!(proxy, ProxyFile::Nginx) {
        return Err(WrongUsage("--inspect reads the output of nginx -T only".to_owned()).into());
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
        return Err(wrong("it is larger than 16 MiB".to_owned()).into());
    }
    let text = String::from_utf8_lossy(&bytes);
    if !text.contains("# configuration file ") {
        let reason = "it is not the output of nginx -T; run nginx -t to see whether nginx reads its configuration";
        return Err(wrong(reason.to_owned()).into());
    }
    let inspection = inspect(&text).map_err(|error| wrong(error.to_string()))?;
    for finding in &inspection.findings {
        output::text(&format!("{finding}\n"))?;
    }
    let escapes = inspection.escapes();
    let (servers, notes) = (inspection.servers, inspection.findings.len() - escapes);
    output::text(&format!(
        "servers that ask: {servers}; places where requests escape: {escapes}; notes: {notes}\n"
    ))?;
    Ok(ExitCode::from(u8::from(escapes > 0)))
}

/// Returns what is to be set beside the file.
fn warnings(loaded: &Loaded) -> Vec<&'static str> {
    let settings = loaded.settings();
    let mut warnings = Vec::new();
    if settings.server.trusted_proxies.is_empty() {
        warnings.push(
            "robot heaven, robots.txt and the admin page do not know the visitor's address: name the proxy in server.trusted_proxies, such as [\"127.0.0.1\"]",
        );
    }
    warnings
}
