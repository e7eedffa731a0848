//! `proxy-config`: the file with which another proxy asks us.

use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::admin::DEFAULT_SITE;
use crate::assembly;
use crate::check::{FileOptions, NginxPart, PlaceError, ProxyFile, proxy_file};
use crate::config::{FailMode, Loaded};

use super::{Cli, context, output, traps, usage::WrongUsage};

/// Arguments of `proxy-config`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "The file is made from the configuration: check.listen, check.fails, the sites and their servers. It contains check.token.\n\nExample: robot-detection proxy-config nginx --part http > /etc/nginx/conf.d/robot-detection.conf && nginx -t"
)]
pub(super) struct ProxyConfigArgs {
    /// Proxy that the file is for
    #[arg(value_enum)]
    proxy: ProxyArg,
    /// Part of nginx's configuration that includes the file
    #[arg(long, value_enum, conflicts_with = "standalone")]
    part: Option<PartArg>,
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

/// Proxy, by its name.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProxyArg {
    /// `auth_request`
    Nginx,
    /// `forward_auth`
    Caddy,
    /// forwardAuth, for the file provider
    Traefik,
    /// The configuration; it loads the file in Lua
    Haproxy,
    /// The file in Lua
    HaproxyLua,
    /// `ext_authz` over HTTP
    Envoy,
}

/// Part of nginx's configuration.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PartArg {
    /// Once, inside http { }
    Http,
    /// Inside each server { }
    Server,
    /// Inside each location that has its own proxy_set_header, fastcgi_param, add_header or the like
    Location,
}

/// Prints the file.
pub(super) async fn run(cli: &Cli, args: &ProxyConfigArgs) -> anyhow::Result<ExitCode> {
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
        part: args.part.map(PartArg::part),
        listen: &args.listen,
        fails_open: loaded.settings().check.fails == FailMode::Open,
    };
    let file = proxy_file(args.proxy.file(), &front, options).map_err(wrong)?;
    output::text(&file)?;
    for warning in warnings(&loaded) {
        output::note(&format!("warning: {warning}"));
    }
    Ok(ExitCode::SUCCESS)
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

impl ProxyArg {
    fn file(self) -> ProxyFile {
        match self {
            Self::Nginx => ProxyFile::Nginx,
            Self::Caddy => ProxyFile::Caddy,
            Self::Traefik => ProxyFile::Traefik,
            Self::Haproxy => ProxyFile::Haproxy,
            Self::HaproxyLua => ProxyFile::HaproxyLua,
            Self::Envoy => ProxyFile::Envoy,
        }
    }
}

impl PartArg {
    fn part(self) -> NginxPart {
        match self {
            Self::Http => NginxPart::Http,
            Self::Server => NginxPart::Server,
            Self::Location => NginxPart::Location,
        }
    }
}
