//! Headers that a rule gives to responses.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{LINK, RETRY_AFTER, WWW_AUTHENTICATE},
};
use robot_detection_robots_txt::{meta::XRobotsTag, preference_list};

use super::{Action, error::InvalidCondition};

/// Header that tells robots what to do with a page.
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// Header that tells robots what content may be used for (draft-ietf-aipref-attach).
const CONTENT_USAGE: HeaderName = HeaderName::from_static("content-usage");

/// Key of the settings that errors name.
const KEY: &str = "headers";

/// Lines of one rule, at most.
const MAX_LINES: usize = 16;

/// Bytes of a value, at most.
const MAX_VALUE_BYTES: usize = 2048;

/// Headers whose lines are one list: what the site sends stays beside what a rule adds.
const LISTS: [HeaderName; 3] = [LINK, WWW_AUTHENTICATE, X_ROBOTS_TAG];

/// Headers that no rule may give, by the reason.
const REFUSED: [(&[&str], &str); 5] = [
    (
        &[
            "alt-svc",
            "connection",
            "content-length",
            "date",
            "expect",
            "host",
            "http2-settings",
            "keep-alive",
            "proxy-authenticate",
            "proxy-authorization",
            "proxy-connection",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "via",
        ],
        "says how a message travels, which is the server's to say",
    ),
    (
        &[
            "accept-ranges",
            "content-encoding",
            "content-location",
            "content-range",
            "content-type",
            "etag",
            "last-modified",
        ],
        "describes the body, which the rule does not make",
    ),
    (
        &["age", "cache-control", "expires", "pragma", "vary"],
        "says what caches may keep: robot-detection says it itself of what it answers, the site of its pages",
    ),
    (
        &["location", "refresh"],
        "leads elsewhere, for which there is redirect_url",
    ),
    (
        &["accept-signature", "authorization", "cookie", "set-cookie"],
        "is about one visitor, and a rule gives the same to all",
    ),
];

/// Headers that a rule gives to the responses that it is about.
///
/// `Link`, `WWW-Authenticate` and `X-Robots-Tag` are lists: they are added to those of the
/// site, and a rule may give several. Any other header replaces the site's.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ResponseHeaders {
    lines: Vec<(HeaderName, HeaderValue)>,
    /// Words of `X-Robots-Tag` that robots are not known to read, each with what was probably
    /// meant.
    unknown: Vec<(String, Option<&'static str>)>,
}

impl ResponseHeaders {
    /// Reads the headers of a rule; the error is a key, and what is wrong with it.
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
                format!("there are more than {MAX_LINES}; leave some out"),
            ));
        }
        Ok((!headers.lines.is_empty()).then_some(headers))
    }

    /// Creates the `X-Robots-Tag` header of a value; the error says what is wrong with it.
    pub(super) fn tag(value: &str) -> Result<Self, String> {
        let mut headers = Self::default();
        headers.add_tag(value)?;
        Ok(headers)
    }

    /// Returns `true` if the lines of a header are added to those of the site, and do not replace
    /// them.
    #[must_use]
    pub fn is_list(name: &HeaderName) -> bool {
        LISTS.contains(name)
    }

    /// Returns each line.
    pub fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.lines.iter().map(|(name, value)| (name, value))
    }

    /// Returns each line for people to read: visible ASCII and blanks.
    pub fn shown(&self) -> impl Iterator<Item = String> {
        self.iter().map(|(name, value)| {
            let value = value.to_str().unwrap_or_default();
            format!("{}: {value}", spelled(name))
        })
    }

    /// Returns `true` if there is a line of that name.
    #[must_use]
    pub fn has(&self, name: &HeaderName) -> bool {
        self.iter().any(|(ours, _)| ours == name)
    }

    /// Gives the headers to a response.
    pub fn give(&self, headers: &mut HeaderMap) {
        for (name, value) in self.iter() {
            if Self::is_list(name) {
                headers.append(name, value.clone());
            } else {
                headers.insert(name, value.clone());
            }
        }
    }

    /// Returns the value of its first line: visible ASCII and blanks.
    pub(super) fn first(&self) -> &str {
        let first = self
            .lines
            .first()
            .and_then(|(_, value)| value.to_str().ok());
        first.unwrap_or_default()
    }

    /// Returns the words of its `X-Robots-Tag` that robots are not known to read, each with what
    /// was probably meant.
    pub fn unknown_words(&self) -> impl Iterator<Item = (&str, Option<&'static str>)> {
        let unknown = self.unknown.iter();
        unknown.map(|(word, meant)| (word.as_str(), *meant))
    }

    fn add(&mut self, action: Action, name: &str, value: &str) -> Result<(), String> {
        let header = header_name(name)?;
        if let Some(reason) = refused(action, &header) {
            return Err(format!("it {reason}; leave it out"));
        }
        if value.is_empty() {
            return Err("a header without a value says nothing; leave it out".to_owned());
        }
        if self.has(&header) && !Self::is_list(&header) {
            let lists = LISTS.map(|name| spelled(&name)).join(", ");
            return Err(format!("it has several values, as only {lists} may have"));
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
    let wrong = || "it is no name of a header; use letters, digits and -".to_owned();
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) {
        return Err(wrong());
    }
    HeaderName::try_from(name).map_err(|_| wrong())
}

fn header_value(value: &str) -> Result<HeaderValue, String> {
    if value.len() > MAX_VALUE_BYTES {
        return Err(format!("its value is longer than {MAX_VALUE_BYTES} bytes"));
    }
    // Not what HTTP would let through beside it: proxies and robots read octets above ASCII in
    // several ways.
    let is_visible = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let value = HeaderValue::from_str(value).ok().filter(|_| is_visible);
    value.ok_or_else(|| {
        "its value has a character that no header may hold; use visible ASCII on one line"
            .to_owned()
    })
}

/// Returns why no rule of an action may give a header, if none may.
fn refused(action: Action, name: &HeaderName) -> Option<&'static str> {
    if name.as_str().starts_with("x-robot-detection") {
        return Some("is one by which robot-detection and proxies speak with each other");
    }
    if *name == RETRY_AFTER && action != Action::Refuse {
        return Some("is said by a rule that slows down itself, and by one that refuses alone");
    }
    let mut groups = REFUSED.iter();
    let group = groups.find(|(names, _)| names.contains(&name.as_str()));
    group.map(|(_, reason)| *reason)
}

/// Returns a name as people write it: `content-usage` is `Content-Usage`.
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
    fn lists_are_added_to_and_everything_else_is_replaced() {
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
        given.give(&mut headers);
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
    fn what_is_no_header_of_a_rule_is_refused_with_the_reason() {
        for (name, value, hint) in [
            ("Content-Length", "5", "how a message travels"),
            ("transfer-encoding", "chunked", "how a message travels"),
            ("Content-Type", "text/html", "describes the body"),
            ("Cache-Control", "max-age=9", "what caches may keep"),
            ("VARY", "Accept", "what caches may keep"),
            ("Location", "/a", "redirect_url"),
            ("Set-Cookie", "a=b", "about one visitor"),
            (
                "X-Robot-Detection-Decision",
                "pass",
                "speak with each other",
            ),
            ("Retry-After", "5", "slows down"),
            ("A B", "x", "no name of a header"),
            ("", "x", "no name of a header"),
            ("X-Ä", "x", "no name of a header"),
            ("$x", "x", "no name of a header"),
            (":status", "200", "no name of a header"),
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
