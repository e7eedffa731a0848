//! Settings of `serve`: the configuration, overridden by the flags of the command.

use tracing::warn;

use crate::app;
use crate::config::{
    ConfigErrors, DatabaseSection, GeneralSection, Key, Loaded, Loader, RobotsTxtSection,
    ServerSection, SiteLoaded,
};

use super::{Cli, args::ServeArgs, context, every_error, rule_warnings::unknown_words};

/// The origin of the demonstration site's settings, shown in error messages.
const DEMO_ORIGIN: &str = "the demonstration";

/// Settings of the demonstration site's robots.txt.
///
/// Filtered paths are not disallowed, because robots must request them to be redirected to heaven.
const DEMO_ROBOTS_TXT: [(&Key, &str); 4] = [
    (&RobotsTxtSection::KEY.serve, "settings"),
    (&RobotsTxtSection::KEY.disallow, "/login,/logout"),
    (
        &RobotsTxtSection::KEY.content_signal,
        "search=yes, ai-input=yes, ai-train=no",
    ),
    (&RobotsTxtSection::KEY.content_usage, "search=y, train-ai=n"),
];

pub(super) fn is_alone(cli: &Cli, args: &ServeArgs) -> bool {
    args.demo && cli.config.is_none()
}

/// Reads the settings of `serve`, including its flags.
pub(super) fn load(cli: &Cli, args: &ServeArgs) -> anyhow::Result<Loaded> {
    let loader = if is_alone(cli, args) {
        let database = cli
            .database
            .clone()
            .unwrap_or_else(|| "sqlite::memory:".to_owned());
        Loader::new()
            .process_environment()
            .flag(&DatabaseSection::KEY.url, "--demo", Some(database))
            .flag(
                &GeneralSection::KEY.web_robots_db,
                "--demo",
                Some(String::new()),
            )
    } else {
        context::loader(cli)?
    };
    load_from(loader, args)
}

/// Returns an error if a configuration file exists but does not configure a site.
///
/// Otherwise, an accidentally emptied file would make the demonstration site public.
pub(super) fn has_site(cli: &Cli, args: &ServeArgs, loaded: &Loaded) -> Result<(), ConfigErrors> {
    let is_for_others = loaded.settings().check.listen.is_some();
    if args.demo || is_for_others || !is_demonstration(loaded) || !context::file(cli).exists() {
        return Ok(());
    }
    let text = "the configuration file does not configure a site: set server.upstream, a [[site]] or check.listen; to serve the demonstration site, run `serve --demo`";
    Err(loaded.invalid(&ServerSection::KEY.upstream, text))
}

/// Adds the flags of `serve` to the settings from the file and environment.
pub(super) fn load_from(loader: Loader, args: &ServeArgs) -> anyhow::Result<Loaded> {
    let upstream = (!args.upstream.is_empty()).then(|| args.upstream.join(","));
    let loader = loader
        .flag(&ServerSection::KEY.listen, "--listen", args.listen.clone())
        .flag(&ServerSection::KEY.upstream, "--upstream", upstream)
        // The demonstration site does not have an upstream that provides robots.txt.
        .flag(
            &ServerSection::KEY.upstream,
            "--demo",
            args.demo.then(String::new),
        );
    let loaded = every_error::load(&loader)?;
    if !(args.demo || is_demonstration(&loaded)) || loaded.is_set(&RobotsTxtSection::KEY.serve) {
        return Ok(loaded);
    }
    let set = |loader: Loader, (key, value): (&'static Key, &str)| {
        loader.flag(key, DEMO_ORIGIN, Some(value.to_owned()))
    };
    let loader = DEMO_ROBOTS_TXT.into_iter().fold(loader, set);
    Ok(every_error::load(&loader)?)
}

/// Returns `true` if no site is configured, so that the demonstration site is served.
fn is_demonstration(loaded: &Loaded) -> bool {
    loaded.settings().server.upstream.is_empty() && loaded.sites().is_empty()
}

/// Warns about unknown words in `X-Robots-Tag` headers, which do not prevent serving.
pub(super) fn warn_unknown_words(loaded: &Loaded) {
    let sites = loaded.sites();
    let sites = sites.iter().map(SiteLoaded::loaded);
    for loaded in sites.chain([loaded]) {
        if let Ok(policy) = app::policy(loaded) {
            for text in unknown_words(&policy) {
                warn!("{text}");
            }
        }
    }
}
