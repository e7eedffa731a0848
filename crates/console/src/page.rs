//! The location of a request, and the data that every page needs.

use std::convert::Infallible;

use askama::Template;
use axum::extract::{FromRequestParts, OriginalUri, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Moment, TimeZone, access::Visitor, assets, problem::Problem, state::AdminState};
use robot_detection_operations::live_rules::{self, Pause};

/// The bytes that remain unescaped in a path segment or a query value (RFC 3986 §2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The location of a request below the path at which the router is nested.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct RequestLocation {
    /// Relative reference to the console's root, such as `./`, `../` or `../../`.
    pub(super) root: String,
    /// Path at which the router is nested; empty if the router is at the root of a site.
    pub(super) prefix: String,
    /// Path below the prefix, including the query.
    pub(super) local: String,
    /// Whether the client prefers JSON over a page.
    pub(super) accepts_json: bool,
}

impl RequestLocation {
    pub(super) fn of(request: &Request) -> Self {
        let original = request
            .extensions()
            .get::<OriginalUri>()
            .map_or(request.uri(), |original| &original.0);
        Self {
            accepts_json: prefers_json(request.headers()),
            ..Self::new(original, request.uri())
        }
    }

    fn new(original: &Uri, local: &Uri) -> Self {
        let (original, path) = (original.path(), local.path());
        // axum strips the prefix from the URI and keeps the full URI in `OriginalUri`.
        let (prefix, root) = match original.strip_suffix(path) {
            Some(prefix) => (prefix, up(path)),
            // Nested at `/a/b` and requested without a trailing slash: links must first go down one
            // segment.
            None => (original, down(original)),
        };
        Self {
            root,
            prefix: prefix.to_owned(),
            local: local
                .path_and_query()
                .map_or("/", |local| local.as_str())
                .to_owned(),
            accepts_json: false,
        }
    }

    pub(super) fn path(&self) -> &str {
        self.local
            .split_once('?')
            .map_or(self.local.as_str(), |(path, _)| path)
    }

    pub(super) fn is_api(&self) -> bool {
        matches!(self.path().strip_prefix("/api"), Some(rest) if rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns `true` if errors must be sent as JSON.
    pub(super) fn wants_json(&self) -> bool {
        self.is_api() || self.accepts_json
    }

    pub(super) fn is_asset(&self) -> bool {
        self.path().starts_with("/assets/")
    }

    /// Redirects to a console page such as `robots?q=x`.
    pub(super) fn see_other(&self, page: &str) -> Response {
        match HeaderValue::try_from(format!("{}{page}", self.root)) {
            Ok(location) => (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response(),
            Err(_) => Problem::internal("the URL of the redirect is not valid").into_response(),
        }
    }
}

/// Returns `true` if the `Accept` header prefers JSON over HTML (RFC 9110 §12.5.1).
///
/// `*/*` is not treated as JSON, because browsers send it when they request pages.
fn prefers_json(headers: &HeaderMap) -> bool {
    let (mut json, mut page) = (0.0, 0.0);
    for accept in headers.get_all(header::ACCEPT) {
        let accept = accept.to_str().unwrap_or_default();
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let weight = parts.find_map(|part| {
                let (name, value) = part.split_once('=')?;
                name.eq_ignore_ascii_case("q").then_some(value)
            });
            let weight: f32 = weight.map_or(1.0, |weight| weight.parse().unwrap_or_default());
            match &*kind {
                "application/json" | "application/problem+json" => json = weight.max(json),
                "text/html" | "application/xhtml+xml" => page = weight.max(page),
                _ => {}
            }
        }
    }
    json > page
}

fn up(path: &str) -> String {
    match path.bytes().filter(|&byte| byte == b'/').count() {
        0 | 1 => "./".to_owned(),
        // Relative to the directory of the page, because the first slash leads into the router
        // itself.
        slashes => "../".repeat(slashes - 1),
    }
}

fn down(original: &str) -> String {
    let segment = original.rsplit('/').next().unwrap_or_default();
    format!("./{segment}/")
}

/// The data that every page of the console needs; an extractor.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// Location of the request.
    pub(super) location: RequestLocation,
    /// CSRF token for the forms of the session; `None` if there is no session.
    pub(super) csrf: Option<String>,
    /// Whether decisions are only recorded and not enforced.
    pub(super) is_dry_run: bool,
    /// The pause of all enforcement, which is shown only to logged-in visitors.
    pub(super) pause: Option<Pause>,
    /// Time zone in which times are displayed.
    pub(super) zone: TimeZone,
    /// Outage of the database; `None` if the database is available.
    pub(super) away: Option<OutageView>,
}

/// The banner about an unavailable database.
#[derive(Clone, Debug)]
pub(super) struct OutageView {
    pub(super) since: Moment,
    /// Reason for the outage, which is shown only to logged-in visitors because it may contain host
    /// and file names.
    pub(super) reason: Option<String>,
}

impl Page {
    /// Returns the relative path to the console's root, for links.
    pub(super) fn root(&self) -> &str {
        &self.location.root
    }

    /// Returns the navigation entries.
    #[expect(
        clippy::unused_self,
        reason = "called by templates as a method of the page"
    )]
    pub(super) fn navigation(&self) -> &'static [NavigationEntry] {
        crate::NAVIGATION
    }

    /// Returns a time in the pages' time zone as text, such as "2026-03-01 12:30 UTC".
    pub(super) fn exact(&self, moment: &Moment) -> String {
        self.zone.exact(moment.at_ms)
    }

    /// Returns the time of day in the pages' time zone, such as `13:30:59`.
    pub(super) fn clock(&self, moment: &Moment) -> String {
        self.zone.clock(moment.at_ms)
    }

    /// Returns `true` if the problem is the database outage that the page already reports.
    pub(super) fn already_reports(&self, problem: &Problem) -> bool {
        self.away.is_some() && problem.status == StatusCode::SERVICE_UNAVAILABLE
    }

    /// Returns `true` if the visitor has a session and can log out.
    pub(super) fn has_session(&self) -> bool {
        self.csrf.is_some()
    }

    /// Returns the link to an asset, which changes when the asset's content changes.
    pub(super) fn asset(&self, name: &str) -> String {
        format!("{}{}", self.location.root, assets::link(name))
    }

    /// Returns `true` if a navigation entry links to this page or to its parent page.
    pub(super) fn is_below(&self, entry: &str) -> bool {
        let path = self.location.path().trim_start_matches('/');
        let first = path.split('/').next().unwrap_or_default();
        match first {
            "" | "traffic" => entry == "overview",
            "registry" => entry == "robots",
            "refresh" | "refreshes" => entry == "sources",
            _ => first == entry,
        }
    }
}

impl FromRequestParts<AdminState> for Page {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &AdminState,
    ) -> Result<Self, Self::Rejection> {
        let visitor = parts.extensions.get::<Visitor>();
        let is_known = visitor.is_some_and(|visitor| *visitor != Visitor::Nobody);
        let absence = state.operations().store.outage();
        Ok(Self {
            away: absence.map(|absence| OutageView {
                since: Moment::new(absence.since_ms, state.now_ms()),
                reason: is_known.then(|| absence.reason.clone()),
            }),
            location: parts
                .extensions
                .get::<RequestLocation>()
                .cloned()
                .unwrap_or_default(),
            csrf: visitor.and_then(Visitor::csrf),
            is_dry_run: is_dry_run(state),
            pause: is_known
                .then(|| {
                    live_rules::current_pause(state.now_ms(), &state.operations().live_rules.load())
                })
                .flatten(),
            zone: state.admin().time_zone,
        })
    }
}

/// Returns `true` if decisions are not enforced; `false` during a pause, which has a banner of its
/// own.
fn is_dry_run(state: &AdminState) -> bool {
    let policy = state.operations().policy.load();
    policy.is_dry_run() && !policy.is_paused()
}

/// Renders a page as HTML.
pub(super) fn html(template: &impl Template) -> Response {
    html_with(StatusCode::OK, template)
}

/// Renders a page with a status other than 200.
pub(super) fn html_with(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => (status, Html(text)).into_response(),
        Err(error) => Problem::internal(&error.to_string()).into_response(),
    }
}

/// Encodes a text for use in a path segment or a query value.
pub(super) fn encode(text: &str) -> String {
    // A dot segment would be interpreted as "up", even if it is encoded (URL Standard §4.3).
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// An entry in the console's navigation.
#[derive(Clone, Copy, Debug)]
pub(super) struct NavigationEntry {
    /// Path of the entry's page below the router, without the leading slash.
    pub(super) path: &'static str,
    pub(super) label: &'static str,
    /// Whether the entry is in the second list, which contains setup pages that are seldom visited.
    pub(super) is_second: bool,
}

impl NavigationEntry {
    pub(super) const fn new(path: &'static str, label: &'static str) -> Self {
        Self {
            path,
            label,
            is_second: false,
        }
    }

    pub(super) const fn sub_entry(path: &'static str, label: &'static str) -> Self {
        Self {
            is_second: true,
            ..Self::new(path, label)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(original: &'static str, local: &'static str) -> RequestLocation {
        RequestLocation::new(&Uri::from_static(original), &Uri::from_static(local))
    }

    #[test]
    fn root_is_as_many_steps_up_as_the_page_is_deep() {
        assert_eq!(location("/", "/").root, "./");
        assert_eq!(location("/robots", "/robots").root, "./");
        assert_eq!(location("/a/b/robots", "/robots").root, "./");
        assert_eq!(location("/a/robots/web/x", "/robots/web/x").root, "../../");
        assert_eq!(location("/a/refreshes/", "/refreshes/").root, "../");
    }

    #[test]
    fn root_is_one_step_down_without_the_trailing_slash() {
        let location = location("/a/b?x=1", "/?x=1");
        assert_eq!(location.root, "./b/");
        assert_eq!(location.prefix, "/a/b");
    }

    #[test]
    fn prefix_is_the_path_of_the_nested_router() {
        assert_eq!(location("/robots?q=/x", "/robots?q=/x").prefix, "");
        assert_eq!(location("/a/b/robots", "/robots").prefix, "/a/b");
        assert_eq!(location("/a/b/", "/").prefix, "/a/b");
    }

    #[test]
    fn json_paths_are_distinguished_from_pages() {
        assert!(location("/x/api/v1/status", "/api/v1/status").is_api());
        assert!(location("/api", "/api").is_api());
        assert!(!location("/apis", "/apis").is_api());
        assert!(!location("/api/x", "/x").is_api());
    }

    #[test]
    fn encoded_text_stays_in_its_segment() {
        assert_eq!(
            encode("a/b?c#d&e=f g+h%"),
            "a%2Fb%3Fc%23d%26e%3Df%20g%2Bh%25"
        );
    }
}
