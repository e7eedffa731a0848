//! `doctor --agents`: requests the files and pages that AI agents look for on each site.

use std::time::Duration;

use crate::assembly::site_url;
use crate::config::{Settings, StartingPoint};
use crate::fetch::{FetchError, FetchLimits, FetchResponse, Fetcher};
use crate::robots_txt::{Dialect, RobotsTxt};

use super::check::{Check, ServedSite, Subject, sites};

/// The Accept header that agents that read Markdown send.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, */*;q=0.8";

/// The maximum number of bytes to read from a file, which is enough for a whole sitemap.
const MAX_BYTES: u64 = 50 * 1024 * 1024;

/// Responses from one site to the requests that AI agents make.
struct SiteResponses<'s> {
    site: &'s ServedSite,
    settings: &'s Settings,
    fetcher: Fetcher,
    /// The URL of the site, without a trailing slash.
    base: String,
}

/// Checks the files for AI agents on each site, or on the site at `url`.
pub(super) async fn agents(subject: &Subject<'_>, url: &str) -> Vec<Check> {
    let mut checks = Vec::new();
    for site in sites(subject.loaded) {
        let settings = site.loaded.settings();
        let base = match url {
            "" => site_url(settings),
            url => Some(url.to_owned()),
        };
        let limits = FetchLimits {
            max_body_bytes: MAX_BYTES,
            timeout: Duration::from_secs(20),
            ..FetchLimits::default()
        };
        let name = site.label("agents");
        let fetcher = Fetcher::new(limits).map_err(|error| error.to_string());
        let none = "the site's URL is unknown: set heaven.url or server.hosts, or use --agents=URL";
        match fetcher.and_then(|fetcher| Ok((fetcher, base.ok_or(none)?))) {
            Ok((fetcher, base)) => {
                let base = base.trim_end_matches('/').to_owned();
                let site = &site;
                checks.extend(
                    SiteResponses {
                        site,
                        settings,
                        fetcher,
                        base,
                    }
                    .checks()
                    .await,
                );
            }
            Err(text) => checks.push(Check::new(name, Err(text))),
        }
        if !url.is_empty() {
            break;
        }
    }
    checks
}

impl SiteResponses<'_> {
    async fn checks(&self) -> Vec<Check> {
        let text = match self.text("/robots.txt").await {
            Ok(text) => text,
            Err(error) => {
                let advice = "to serve a robots.txt generated from the settings, set robots_txt.serve = \"settings\"";
                return vec![self.missing("robots.txt", &format!("{error}; {advice}"))];
            }
        };
        let file = RobotsTxt::parse(text.as_bytes(), Dialect::default());
        vec![
            Check::new(self.label("robots.txt"), Ok("found".to_owned())),
            self.content_signal(&text),
            self.sitemap(&file).await,
            self.llms().await,
            self.markdown().await,
        ]
    }

    fn content_signal(&self, robots_txt: &str) -> Check {
        let name = "content-signal";
        let mut lines = robots_txt.lines().filter_map(|line| line.split_once(':'));
        match lines.find(|(field, _)| field.trim().eq_ignore_ascii_case(name)) {
            Some((_, signals)) => {
                let signals = signals.trim().to_owned();
                Check::new(self.label("Content-Signal"), Ok(signals))
            }
            None => self.missing(
                "Content-Signal",
                "robots.txt does not specify how content may be used: set robots_txt.content_signal",
            ),
        }
    }

    async fn sitemap(&self, file: &RobotsTxt) -> Check {
        let Some(url) = file.sitemaps().next() else {
            let advice = "robots.txt does not list a sitemap: set robots_txt.serve = \"merge\" to add heaven's sitemap, \
                          or set robots_txt.sitemaps";
            return self.missing("sitemap", advice);
        };
        match self.get(&url).await {
            Ok(_) => Check::new(self.label("sitemap"), Ok(format!("{url} found"))),
            Err(error) => Check::new(
                self.label("sitemap"),
                Err(format!(
                    "robots.txt lists a sitemap that is not available: {error}"
                )),
            ),
        }
    }

    async fn llms(&self) -> Check {
        let name = "llms.txt";
        if self.text("/llms.txt").await.is_ok() {
            return Check::new(self.label(name), Ok("found".to_owned()));
        }
        let path = format!("/{}/llms.txt", self.settings.heaven.path.trim_matches('/'));
        match self.text(&path).await {
            Ok(_) => {
                let text = format!("/llms.txt is missing: redirect it to {path}");
                Check::warning(&self.label(name), text)
            }
            Err(error) => self.missing(
                name,
                &format!("{error}; heaven provides this file if heaven.source = \"database\""),
            ),
        }
    }

    async fn markdown(&self) -> Check {
        let starts = &self.settings.site_robot.starting_points;
        let start = starts.iter().map(StartingPoint::url).find(|url| {
            // Sitemaps on other hosts are not checked here.
            url.as_str().starts_with(&self.base)
        });
        let url = start.map_or_else(|| format!("{}/", self.base), ToString::to_string);
        let name = self.label("Markdown");
        let advice = match self.fetcher.fetch_as(&url, ACCEPT).await {
            Ok(FetchResponse::Body {
                content_type: Some(content_type),
                ..
            }) if content_type.starts_with("text/markdown") => {
                return Check::new(name, Ok(format!("{url} returns {content_type}")));
            }
            Ok(_) => "returns HTML".to_owned(),
            Err(error) => error.to_string(),
        };
        let heaven = &self.settings.heaven;
        let next = if heaven.markdown_for_agents {
            "Markdown is returned if heaven.source = \"database\" and the site robot has described the page without a login"
        } else {
            "heaven.markdown_for_agents is off"
        };
        Check::warning(&name, format!("{url}: {advice}; {next}"))
    }

    fn label(&self, what: &str) -> String {
        self.site.label(what)
    }

    fn missing(&self, what: &str, text: &str) -> Check {
        Check::warning(&self.label(what), text.to_owned())
    }

    async fn text(&self, path: &str) -> Result<String, FetchError> {
        let bytes = self.get(&format!("{}{path}", self.base)).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    async fn get(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        match self.fetcher.fetch_as(url, "*/*").await? {
            FetchResponse::Body { bytes, .. } => Ok(bytes),
            FetchResponse::NotModified => Ok(Vec::new()),
        }
    }
}
