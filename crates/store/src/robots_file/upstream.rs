//! Fetches the upstream's robots.txt.

use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use crate::fetch::{
    AnyStatusRequest, AnyStatusResponse, Conditions, FetchLimits, Fetcher, shown_url,
};

use super::plan::Upstream;

/// The maximum number of redirects to follow (RFC 9309 §2.3.1.2 requires at least five).
const MAX_REDIRECTS: usize = 5;

/// The time for which a robots.txt file is fresh if the response has no `Cache-Control` header.
const DEFAULT_FRESHNESS: Duration = Duration::from_mins(10);

/// The maximum time for which a robots.txt file is fresh; RFC 9309 §2.4 limits caching to one day.
const MAX_FRESHNESS: Duration = Duration::from_hours(24);

// `no-cache` would otherwise cause requests without a pause.
const MIN_FRESHNESS: Duration = Duration::from_mins(1);

// A restarting upstream is back within seconds; the pause doubles with each failure.
const MIN_RETRY: Duration = Duration::from_secs(5);
const MAX_RETRY: Duration = Duration::from_mins(5);

/// The limits for fetching a robots.txt file. RFC 9309 §2.5 requires that at least 500 KiB be
/// accepted.
pub const LIMITS: FetchLimits = FetchLimits {
    max_body_bytes: 1 << 20,
    timeout: Duration::from_secs(10),
    // `Upstream::fetch` follows redirects itself to check their targets.
    max_redirects: 0,
};

/// The result of fetching a robots.txt file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum FetchOutcome {
    /// The robots.txt has not changed since the last fetch.
    Same { fresh_for: Duration },
    /// The robots.txt is new or has changed.
    File {
        text: Vec<u8>,
        conditions: Conditions,
        fresh_for: Duration,
        /// A remark about the robots.txt file for the administrator.
        remark: Option<&'static str>,
    },
    /// No usable response was received, for this reason.
    Failed(String),
}

/// A copy of one of the upstream's robots.txt files.
#[derive(Clone, Debug, Default)]
pub(super) struct UpstreamCopy {
    /// The content of the robots.txt file; `None` before the first response.
    pub(super) text: Option<Vec<u8>>,
    pub(super) conditions: Conditions,
    pub(super) failures: u32,
    /// The time of the next fetch; `None` means immediately.
    pub(super) due: Option<Instant>,
}

impl Upstream {
    /// Fetches the robots.txt file for a host name.
    pub(super) async fn fetch(
        &self,
        fetcher: &Fetcher,
        host: Option<&str>,
        conditions: &Conditions,
    ) -> FetchOutcome {
        let own =
            (!self.authorities.is_empty()).then(|| fetcher.trusting(self.authorities.clone()));
        let fetcher = own.as_ref().unwrap_or(fetcher);
        let mut url = format!("{}/robots.txt", self.url);
        for _ in 0..=MAX_REDIRECTS {
            let ask = AnyStatusRequest {
                url: &url,
                host,
                conditions,
            };
            let answered = match fetcher.fetch_any(ask).await {
                Ok(answered) => answered,
                Err(error) => return FetchOutcome::Failed(error.to_string()),
            };
            match answered.status {
                301..=303 | 307 | 308 => match self.next(&url, host, &answered) {
                    Ok(next) => url = next,
                    Err(reason) => return FetchOutcome::Failed(reason),
                },
                _ => return outcome(&url, &answered),
            }
        }
        let url = shown_url(&url);
        FetchOutcome::Failed(format!("{url} redirects more than {MAX_REDIRECTS} times"))
    }

    /// Returns the target of a redirect if the target is on the same upstream.
    ///
    /// The redirect target may use the host name that was sent in the request.
    fn next(
        &self,
        url: &str,
        host: Option<&str>,
        answered: &AnyStatusResponse,
    ) -> Result<String, String> {
        let leads = |reason: &str| format!("{} redirects {reason}", shown_url(url));
        let location = answered.location.as_deref().unwrap_or_default();
        let own = Url::parse(&self.url).map_err(|error| leads(&error.to_string()))?;
        let mut next = Url::parse(url)
            .and_then(|url| url.join(location))
            .map_err(|_| leads("to an invalid URL"))?;
        let asked = host.and_then(|host| Url::parse(&format!("{}://{host}/", next.scheme())).ok());
        let is_asked = asked.is_some_and(|asked| asked.origin() == next.origin());
        if is_asked {
            let path = next[url::Position::BeforePath..url::Position::AfterQuery].to_owned();
            next = own.join(&path).map_err(|_| leads("to an invalid URL"))?;
        }
        // Another server's rules do not apply to the upstream.
        if next.origin() == own.origin() {
            return Ok(next.into());
        }
        let away = next.host_str().unwrap_or_default().to_owned();
        Err(leads(&format!("to another server, {away:?}")))
    }
}

fn outcome(url: &str, answered: &AnyStatusResponse) -> FetchOutcome {
    let fresh_for = fresh_for(answered.cache_control.as_deref());
    let file = |text: Vec<u8>, remark| FetchOutcome::File {
        text,
        conditions: answered.conditions.clone(),
        fresh_for,
        remark,
    };
    match answered.status {
        200 if is_html(&answered.bytes) => file(
            Vec::new(),
            Some("is a web page, not a robots.txt, and is ignored"),
        ),
        200 if answered.is_cut => file(
            whole_lines(&answered.bytes),
            Some("is larger than 1 MiB and was truncated"),
        ),
        200 => file(answered.bytes.clone(), None),
        304 => FetchOutcome::Same { fresh_for },
        // RFC 9309 §2.3.1.3: there are no rules. A 429 provides no information about the file.
        400..=428 | 430..=499 => file(Vec::new(), None),
        status => FetchOutcome::Failed(format!("{} returned {status}", shown_url(url))),
    }
}

/// Returns `true` if a body is HTML; some applications return a page for every path.
fn is_html(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    // No line in a robots.txt begins this way.
    body.trim_ascii_start().starts_with(b"<")
}

/// Removes the last line, which may be truncated; a truncated rule would be a different rule.
fn whole_lines(text: &[u8]) -> Vec<u8> {
    let end = memchr::memrchr2(b'\n', b'\r', text);
    let lines = end.and_then(|end| text.get(..=end));
    lines.unwrap_or_default().to_vec()
}

/// Returns the time for which a file is fresh according to `Cache-Control` (RFC 9111 §5.2.2),
/// limited to between one minute and one day.
fn fresh_for(cache_control: Option<&str>) -> Duration {
    let Some(text) = cache_control else {
        return DEFAULT_FRESHNESS;
    };
    let text = text.to_ascii_lowercase();
    let directives = || text.split(',').map(str::trim);
    if directives().any(|directive| matches!(directive, "no-store" | "no-cache")) {
        return MIN_FRESHNESS;
    }
    let value = |name| {
        let mut found = directives().filter_map(|directive| {
            let (key, value) = directive.split_once('=')?;
            (key.trim() == name).then(|| value.trim().trim_matches('"').parse().unwrap_or(0))
        });
        found.next()
    };
    // The copy is stored for others, as in a shared cache (RFC 9111 §5.2.2.10).
    let seconds: Option<u64> = value("s-maxage").or_else(|| value("max-age"));
    seconds.map_or(DEFAULT_FRESHNESS, |seconds| {
        Duration::from_secs(seconds).clamp(MIN_FRESHNESS, MAX_FRESHNESS)
    })
}

/// Returns the delay before the next attempt after the given number of failures.
pub(super) fn retry_after(failures: u32) -> Duration {
    // Ten doublings exceed `MAX_RETRY`, but do not overflow.
    let doublings = failures.saturating_sub(1).min(10);
    (MIN_RETRY * 2_u32.pow(doublings)).min(MAX_RETRY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freshness_is_limited_to_a_minute_to_a_day() {
        for (cache_control, seconds) in [
            (None, 600),
            (Some("public"), 600),
            (Some("max-age=0"), 60),
            (Some("max-age=300"), 300),
            (Some("Public, Max-Age = \"7200\""), 7_200),
            (Some("max-age=300, s-maxage=900"), 900),
            (Some("max-age=9999999"), 86_400),
            (Some("max-age=99999999999999999999999"), 60),
            (Some("no-store, max-age=300"), 60),
        ] {
            assert_eq!(
                fresh_for(cache_control).as_secs(),
                seconds,
                "{cache_control:?}"
            );
        }
    }

    #[test]
    fn retry_pause_grows_with_each_failure() {
        let seconds = [1, 2, 3, 7, u32::MAX].map(|failures| retry_after(failures).as_secs());
        assert_eq!(seconds, [5, 10, 20, 300, 300]);
    }

    #[test]
    fn redirects_to_other_servers_are_rejected() {
        let upstream = Upstream {
            url: "http://127.0.0.1:3000/app".to_owned(),
            preserve_host: true,
            host: None,
            authorities: Vec::new(),
        };
        let next = |location: &str| {
            let answered = AnyStatusResponse {
                location: Some(location.to_owned()),
                ..AnyStatusResponse::default()
            };
            let url = "http://127.0.0.1:3000/app/robots.txt";
            upstream.next(url, Some("www.example.com"), &answered).ok()
        };
        for (location, leads) in [
            ("/robots", Some("http://127.0.0.1:3000/robots")),
            ("r?x", Some("http://127.0.0.1:3000/app/r?x")),
            ("http://127.0.0.1:3000/r", Some("http://127.0.0.1:3000/r")),
            ("https://www.example.com/r", Some("http://127.0.0.1:3000/r")),
            ("https://www.example.com:444/r", None),
            ("http://127.0.0.1:3001/r", None),
            ("https://evil.example/robots.txt", None),
            ("//evil.example/", None),
            ("file:///etc/passwd", None),
            ("http://", None),
        ] {
            assert_eq!(next(location).as_deref(), leads, "{location}");
        }
    }

    #[test]
    fn truncated_file_ends_with_a_complete_line() {
        assert_eq!(whole_lines(b"a\nb\r\nDisallow: /pri"), b"a\nb\r\n");
        assert_eq!(whole_lines(b"Disallow: /pri"), b"");
    }
}
