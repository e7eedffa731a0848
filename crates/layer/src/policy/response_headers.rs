//! Headers that a rule adds to responses.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{LINK, RETRY_AFTER, WWW_AUTHENTICATE},
};
use robot_detection_robots_txt::{meta::XRobotsTag, preference_list};

use super::{Action, error::InvalidCondition};

/// The header that contains a page's directives for robots.
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// The header that states how a page's content may be used (draft-ietf-aipref-attach).
const CONTENT_USAGE: HeaderName = HeaderName::from_static("content-usage");

/// The settings key used in errors about response headers.
const KEY: &str = "headers";

/// Maximum number of header lines in a rule.
const MAX_LINES: usize = 16;

/// Maximum number of bytes in a header value.
const MAX_VALUE_BYTES: usize = 2048;

/// Headers with list values; a rule adds such headers to the site's headers without replacing any.
const LISTS: [HeaderName; 3] = [LINK, WWW_AUTHENTICATE, X_ROBOTS_TAG];

/// Headers that no rule may set, grouped by reason.
const REFUSED: [(&str, &str); 5] = [
    (
        "alt-svc connection content-length date expect host http2-settings keep-alive \
         proxy-authenticate proxy-authorization proxy-connection te trailer \
         transfer-encoding upgrade via",
        "controls how messages are transferred, which the server determines",
    ),
    (
        "accept-ranges content-encoding content-location content-range content-type etag \
         last-modified",
        "describes the body, which the rule does not create",
    ),
    (
        "age cache-control expires pragma vary",
        "controls caches: robot-detection sets it for its own responses, and the site for its pages",
    ),
    (
        "location refresh",
        "redirects to another page (use redirect_url)",
    ),
    (
        "accept-signature authorization cookie set-cookie",
        "is specific to one visitor, but a rule sets the same value for all",
    ),
];

/// The headers that a rule adds to the responses to matching requests.
///
/// `Link`, `WWW-Authenticate` and `X-Robots-Tag` are lists: these headers are added to the site's
/// headers, and a rule may set several values. Other headers replace the site's headers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ResponseHeaders {
    lines: Vec<(HeaderName, HeaderValue)>,
    /// Directives of `X-Robots-Tag` that no robot is known to support, each with the directive that
    /// was probably intended.
    unknown: Vec<(String, Option<&'static str>)>,
}

impl ResponseHeaders {
    /// Creates the headers of a rule from settings. Errors contain the key of the setting and the
    /// reason.
    pub(super) fn new(
        action: Action,
        lines: &[(String, String)],
    ) -> Result<Option<Self>, InvalidCondition> {
        let mut headers = Self::default();
        for (name, value) in lines {
            let added = headers.add(action, name.trim(), value.trim());
            added.map_err(|reason| (KEY, format!("{name:?}: {reason}")))?;
        }
        if headers.lines.len() > MAX_LINES {
            return Err((
                KEY,
                format!("there are more than {MAX_LINES} headers; remove some of them"),
            ));
        }
        Ok((!headers.lines.is_empty()).then_some(headers))
    }

    /// Creates an `X-Robots-Tag` header from a value, and further headers. Errors contain the key
    /// of the setting and the reason.
    pub(super) fn tag(value: &str, lines: &[(String, String)]) -> Result<Self, InvalidCondition> {
        let more = Self::new(Action::Pass, lines)?.unwrap_or_default();
        let mut headers = Self::default();
        headers.add_tag(value).map_err(|reason| ("value", reason))?;
        headers.lines.extend(more.lines);
        Ok(headers)
    }

    /// Returns `true` if a header is added to the site's headers instead of replacing the site's
    /// header.
    #[must_use]
    pub fn is_list(name: &HeaderName) -> bool {
        LISTS.contains(name)
    }

    /// Returns all headers that the rule adds.
    pub fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.lines.iter().map(|(name, value)| (name, value))
    }

    /// Returns all header lines as text that contains only visible ASCII and spaces.
    pub fn shown(&self) -> impl Iterator<Item = String> {
        self.iter().map(|(name, value)| {
            let value = value.to_str().unwrap_or_default();
            format!("{}: {value}", spelled(name))
        })
    }

    /// Returns `true` if a header with this name is set.
    #[must_use]
    pub fn has(&self, name: &HeaderName) -> bool {
        self.iter().any(|(ours, _)| ours == name)
    }

    /// Adds the headers to a response.
    pub fn apply(&self, headers: &mut HeaderMap) {
        for (name, value) in self.iter() {
            if Self::is_list(name) {
                headers.append(name, value.clone());
            } else {
                headers.insert(name, value.clone());
            }
        }
    }

    /// Returns the value of the first header, which contains only visible ASCII and spaces.
    pub(super) fn first(&self) -> &str {
        let first = self
            .lines
            .first()
            .and_then(|(_, value)| value.to_str().ok());
        first.unwrap_or_default()
    }

    /// Returns the directives of `X-Robots-Tag` that no robot is known to support, each with the
    /// directive that was probably intended.
    pub fn unknown_words(&self) -> impl Iterator<Item = (&str, Option<&'static str>)> {
        let unknown = self.unknown.iter();
        unknown.map(|(word, meant)| (word.as_str(), *meant))
    }

    fn add(&mut self, action: Action, name: &str, value: &str) -> Result<(), String> {
        let header = header_name(name)?;
        if let Some(reason) = refused(action, &header) {
            return Err(format!("the header {reason}; remove it"));
        }
        if value.is_empty() {
            return Err("a header without a value has no effect; remove it".to_owned());
        }
        if self.has(&header) && !Self::is_list(&header) {
            let lists = LISTS.map(|name| spelled(&name)).join(", ");
            return Err(format!("only {lists} may have several values"));
        }
        if header == X_ROBOTS_TAG {
            return self.add_tag(value);
        }
        let value = if header == CONTENT_USAGE {
            preference_list("Content-Usage", value)?
        } else {
            value.to_owned()
        };
        self.lines.push((header, header_value(&value)?));
        Ok(())
    }

    fn add_tag(&mut self, value: &str) -> Result<(), String> {
        let tag: XRobotsTag = value
            .parse()
            .map_err(|error| format!("{value:?}: {error}"))?;
        let unknown = tag.unknown_words();
        let unknown = unknown.map(|(word, meant)| (word.to_owned(), meant));
        self.unknown.extend(unknown);
        self.lines
            .push((X_ROBOTS_TAG, header_value(&tag.to_string())?));
        Ok(())
    }
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let wrong = || "not a header name; use letters, digits and -".to_owned();
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) {
        return Err(wrong());
    }
    HeaderName::try_from(name).map_err(|_| wrong())
}

fn header_value(value: &str) -> Result<HeaderValue, String> {
    if value.len() > MAX_VALUE_BYTES {
        return Err(format!("the value is longer than {MAX_VALUE_BYTES} bytes"));
    }
    // This is stricter than HTTP, because proxies and robots interpret octets above ASCII
    // differently.
    let is_visible = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let value = HeaderValue::from_str(value).ok().filter(|_| is_visible);
    value.ok_or_else(|| {
        "the value contains a character that is not allowed in headers; use visible ASCII on one line"
            .to_owned()
    })
}

/// Returns the reason why rules with this action may not set a header, or `None` if they may.
fn refused(action: Action, name: &HeaderName) -> Option<&'static str> {
    if name.as_str().starts_with("x-robot-detection") {
        return Some("is used between robot-detection and front proxies");
    }
    if *name == RETRY_AFTER && action != Action::Refuse {
        return Some(
            "is set automatically by rules that slow down, and otherwise allowed only for rules that refuse",
        );
    }
    let mut groups = REFUSED.iter();
    let group = groups.find(|(names, _)| names.split(' ').any(|known| known == name.as_str()));
    group.map(|(_, reason)| *reason)
}

/// Returns a header name in its usual spelling: `content-usage` becomes `Content-Usage`.
fn spelled(name: &HeaderName) -> String {
    let words = name.as_str().split('-').map(|word| {
        if word == "www" {
            return word.to_ascii_uppercase();
        }
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        first.to_ascii_uppercase() + rest
    });
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(action: Action, lines: &[(&str, &str)]) -> Result<Option<ResponseHeaders>, String> {
        let lines = lines.iter();
        let lines: Vec<_> = lines
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        ResponseHeaders::new(action, &lines).map_err(|(key, reason)| {
            assert_eq!(key, "headers");
            reason
        })
    }

    #[test]
    fn list_headers_are_added_and_others_are_replaced() {
        let given = read(
            Action::Pass,
            &[
                ("Link", "</l.xml>; rel=\"license\""),
                ("link", "</t>; rel=\"terms-of-service\""),
                ("Content-Usage", "train-ai=n,search=y"),
                ("X-Robots-Tag", "NOINDEX"),
            ],
        );
        let given = given.unwrap().unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("link", "</a.css>; rel=preload"),
            ("content-usage", "train-ai=y"),
            ("x-robots-tag", "noarchive"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        given.apply(&mut headers);
        let all = |name: &str| -> Vec<_> {
            let values = headers.get_all(name).iter();
            values.map(|value| value.to_str().unwrap()).collect()
        };
        assert_eq!(
            all("link"),
            [
                "</a.css>; rel=preload",
                "</l.xml>; rel=\"license\"",
                "</t>; rel=\"terms-of-service\""
            ]
        );
        assert_eq!(all("content-usage"), ["train-ai=n, search=y"]);
        assert_eq!(all("x-robots-tag"), ["noarchive", "noindex"]);
        assert_eq!(
            given.shown().last().as_deref(),
            Some("X-Robots-Tag: noindex")
        );
        assert!(read(Action::Pass, &[]).unwrap().is_none());
    }

    #[test]
    fn headers_that_no_rule_may_set_are_rejected_with_the_reason() {
        for (name, value, hint) in [
            ("Content-Length", "5", "how messages are transferred"),
            (
                "transfer-encoding",
                "chunked",
                "how messages are transferred",
            ),
            ("Content-Type", "text/html", "describes the body"),
            ("Cache-Control", "max-age=9", "controls caches"),
            ("VARY", "Accept", "controls caches"),
            ("Location", "/a", "redirect_url"),
            ("Set-Cookie", "a=b", "specific to one visitor"),
            (
                "X-Robot-Detection-Decision",
                "pass",
                "between robot-detection and front proxies",
            ),
            ("Retry-After", "5", "slow down"),
            ("A B", "x", "not a header name"),
            ("", "x", "not a header name"),
            ("X-Ä", "x", "not a header name"),
            ("$x", "x", "not a header name"),
            (":status", "200", "not a header name"),
            ("X-A", " ", "without a value"),
            ("X-A", "a\r\nSet-Cookie: b", "visible ASCII"),
            ("X-A", "ä", "visible ASCII"),
            ("X-Robots-Tag", "max-snippet: few", "is not a rule"),
            ("Content-Usage", "train-ai=no", "write y or n"),
            ("Content-Usage", "/a train-ai=n", "path"),
        ] {
            let reason = read(Action::Pass, &[(name, value)]).unwrap_err();
            assert!(reason.contains(hint), "{name}: {reason}");
        }
        let twice = [("X-A", "1"), ("x-a", "2")];
        assert!(read(Action::Pass, &twice).is_err());
        assert!(read(Action::Pass, &[("X-A", "1"); 17]).is_err());
        let long = "a".repeat(MAX_VALUE_BYTES + 1);
        assert!(read(Action::Pass, &[("X-A", &long)]).is_err());
        assert!(read(Action::Refuse, &[("Retry-After", "5")]).is_ok());
    }
}
