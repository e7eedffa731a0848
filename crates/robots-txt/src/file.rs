//! A robots.txt file that is parsed once and queried for many robots.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

use super::{
    Dialect, RobotRules, Rule,
    dialect::HostUse,
    field::Field,
    host,
    names::{Name, value},
    parsed::{Extra, GroupLines, ParsedFile},
    pattern::{PathPattern, matches},
    selection::{OwnGroups, Selection},
    target::SplitUrl,
};

/// A robots.txt file that is parsed once and queried for many robots.
///
/// Cloning is cheap: clones share all data.
#[derive(Clone)]
pub struct RobotsTxt {
    pub(super) inner: Arc<Inner>,
}

/// The data of a robots.txt file, shared by all clones.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) dialect: Dialect,
    /// The URL from which the robots.txt file was fetched.
    pub(super) url: Option<Box<str>>,
    pub(super) parsed: ParsedFile,
    /// The selection of groups that apply to robots that no group names.
    pub(super) any: Selection,
    lower_case: OnceLock<RobotsTxt>,
}

/// A group in a robots.txt file, with the names of robots and the rules that apply to them.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Group<'f> {
    /// The line number of the first `User-agent` line, counted from 1, or of the first rule if the
    /// dialect accepts rules without a `User-agent` line.
    pub line: usize,
    /// The values of the group's `User-agent` lines.
    pub agents: Vec<Cow<'f, str>>,
    /// The rules of the group, in file order.
    pub rules: Vec<Rule<'f>>,
}

impl RobotsTxt {
    /// Parses a robots.txt file; any sequence of octets is valid.
    ///
    /// Time and memory are proportional to the size of the file. The caller must limit the size of
    /// a download; RFC 9309 §2.5 requires parsing at least 500 KiB.
    #[must_use]
    pub fn parse(bytes: &[u8], dialect: Dialect) -> Self {
        Self::new(None, bytes, dialect)
    }

    /// Parses a file that was fetched from `url`, the absolute URL of a /robots.txt.
    ///
    /// The dialects `v0` and `yandex2003` need the URL, because a rule may contain an absolute URL
    /// (`v0`), and a `Host` line may contain another site's name (`yandex2003`).
    #[must_use]
    pub fn parse_from(url: &str, bytes: &[u8], dialect: Dialect) -> Self {
        Self::new(Some(url.into()), bytes, dialect)
    }

    fn new(url: Option<Box<str>>, bytes: &[u8], dialect: Dialect) -> Self {
        Self {
            inner: Arc::new(Inner {
                parsed: ParsedFile::new(bytes, &dialect),
                dialect,
                url,
                any: Selection::default(),
                lower_case: OnceLock::new(),
            }),
        }
    }

    /// Returns the dialect that the file was parsed in.
    #[must_use]
    pub fn dialect(&self) -> &Dialect {
        &self.inner.dialect
    }

    /// Returns the octets from which the file was parsed.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.inner.parsed.text
    }

    /// Returns the rules for the robot with the given product token.
    #[must_use]
    pub fn for_robot(&self, name: &str) -> RobotRules {
        self.select(Some(Name::new(name, &self.inner.dialect)))
    }

    /// Returns the rules for the sender of a `User-Agent` header.
    ///
    /// The robot's name is the longest name in the file that occurs in the header as a whole word:
    /// `Googlebot-Image/1.0` matches `Googlebot-Image`, or `Googlebot` if the file contains only
    /// that name. Names of up to 128 octets and the first 256 words of the header are considered.
    #[must_use]
    pub fn for_header(&self, user_agent: &str) -> RobotRules {
        let parsed = &self.inner.parsed;
        let values = parsed.agents.iter().map(|agent| parsed.octets(agent.value));
        self.select(Name::in_header(user_agent, values, &self.inner.dialect))
    }

    /// Returns the robots.txt file converted to lower case.
    pub(super) fn in_lower_case(&self) -> &Self {
        self.inner.lower_case.get_or_init(|| {
            let bytes = self.as_bytes().to_ascii_lowercase();
            Self::new(self.inner.url.clone(), &bytes, self.inner.dialect)
        })
    }

    pub(super) fn select(&self, name: Option<Name<'_>>) -> RobotRules {
        let inner = &self.inner;
        let own = name.and_then(|name| OwnGroups::new(&inner.parsed, &inner.dialect, &name));
        RobotRules::new(self.clone(), own.map(|own| Arc::new(Selection::new(own))))
    }

    /// Returns the groups as written, in file order.
    pub fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        self.inner
            .parsed
            .groups
            .iter()
            .map(|group| self.group(group))
    }

    fn group(&self, group: &GroupLines) -> Group<'_> {
        let parsed = &self.inner.parsed;
        let agents = parsed.agents_of(group);
        let rules = parsed.rules_of(group);
        Group {
            line: parsed.line_of(group),
            agents: agents
                .iter()
                .map(|agent| self.text(parsed.octets(agent.value)))
                .collect(),
            rules: rules
                .iter()
                .map(|rule| Rule {
                    line: rule.line as usize,
                    allow: rule.allow,
                    path: parsed.octets(rule.path),
                    implied: false,
                })
                .collect(),
        }
    }

    /// Returns the URLs of all `Sitemap` lines in file order.
    ///
    /// `Sitemap` lines apply to the whole file, regardless of the group around them.
    pub fn sitemaps(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.values(Field::Sitemap)
    }

    /// Returns the URLs of all `License` lines (RSL 1.0) in file order.
    pub fn licenses(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.values(Field::License)
    }

    /// Returns the value of the `Host` line.
    ///
    /// The first `Host` line applies, except in Geoportal's dialects, in which the last line
    /// applies. Returns `None` in dialects without `Host`.
    #[must_use]
    pub fn host(&self) -> Option<Cow<'_, str>> {
        match self.inner.dialect.host {
            HostUse::Unknown => None,
            HostUse::First | HostUse::CloseMirrors => self.values(Field::Host).next(),
            HostUse::RewriteByLast => {
                let last = self.inner.parsed.extras_of(Field::Host).last()?;
                Some(self.text(self.octets(last))).filter(|value| !value.is_empty())
            }
        }
    }

    /// Returns the non-empty values of all lines with the given field.
    pub(super) fn values(&self, field: Field) -> impl Iterator<Item = Cow<'_, str>> {
        let parsed = &self.inner.parsed;
        parsed
            .extras_of(field)
            .map(|extra| self.text(self.octets(extra)))
            .filter(|value| !value.is_empty())
    }

    pub(super) fn octets(&self, extra: &Extra) -> &[u8] {
        self.inner.parsed.octets(extra.value)
    }

    /// Returns a value as interpreted by the dialect, with invalid UTF-8 replaced.
    fn text<'f>(&self, written: &'f [u8]) -> Cow<'f, str> {
        match value(written, &self.inner.dialect) {
            Cow::Borrowed(written) => String::from_utf8_lossy(written),
            Cow::Owned(decoded) => Cow::Owned(String::from_utf8_lossy(&decoded).into_owned()),
        }
    }

    /// Returns `true` if the file applies to a URL, based on the URL from which the file was
    /// fetched.
    ///
    /// As in `WWW::RobotRules`, both URLs must have the same host and port. A path always matches;
    /// if the file was [parsed](Self::parse) without its own URL, every URL matches.
    #[must_use]
    pub fn covers(&self, url: &str) -> bool {
        let Some(own) = self.inner.url.as_deref().map(SplitUrl::parse) else {
            return true;
        };
        let other = SplitUrl::parse(url);
        other.origin.is_none() || own.host_and_port() == other.host_and_port()
    }

    /// Returns a URL without the query parameters that are listed in `Clean-param` lines.
    ///
    /// Only the `yandex` dialect defines this field; in other dialects, the URL is returned
    /// unchanged.
    #[must_use]
    pub fn clean_url<'u>(&self, url: &'u str) -> Cow<'u, str> {
        if !self.inner.dialect.clean_param {
            return Cow::Borrowed(url);
        }
        let lines = self.inner.parsed.extras_of(Field::CleanParam);
        cleaned(url, lines.map(|line| self.octets(line)))
    }

    /// Returns a URL with the scheme, host and port from the `Host` line.
    ///
    /// Only Geoportal's dialects rewrite URLs; in other dialects, the URL is returned unchanged.
    #[must_use]
    pub fn effective_url<'u>(&self, url: &'u str) -> Cow<'u, str> {
        match (self.inner.dialect.host, self.host()) {
            (HostUse::RewriteByLast, Some(line)) => host::rewritten(url, line.trim()),
            _ => Cow::Borrowed(url),
        }
    }
}

impl fmt::Debug for RobotsTxt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RobotsTxt")
            .field("dialect", &self.inner.dialect.name)
            .field("groups", &self.inner.parsed.groups.len())
            .field("rules", &self.inner.parsed.rules.len())
            .finish_non_exhaustive()
    }
}

/// Returns a URL without the query parameters that `Clean-param` values list for its path.
///
/// A value has the form `p1&p2 [path]`: case-sensitive parameter names, and a prefix of the paths
/// that the value applies to.
pub(super) fn cleaned<'u, 'v>(
    url: &'u str,
    values: impl Iterator<Item = &'v [u8]>,
) -> Cow<'u, str> {
    let rest = SplitUrl::parse(url).rest;
    let (before_fragment, fragment) = match rest.split_once('#') {
        Some((before, fragment)) => (before, Some(fragment)),
        None => (rest, None),
    };
    let Some((path, query)) = before_fragment.split_once('?') else {
        return Cow::Borrowed(url);
    };
    let names: Vec<&str> = values.filter_map(|value| names_on(value, path)).collect();
    let is_kept = |parameter: &&str| {
        let name = parameter.split('=').next().unwrap_or_default();
        !names
            .iter()
            // Yandex's parameter names are case-sensitive.
            .any(|names| names.split('&').any(|other| other == name))
    };
    let kept: Vec<&str> = query.split('&').filter(is_kept).collect();
    if kept.len() == query.split('&').count() {
        return Cow::Borrowed(url);
    }
    let origin = url.strip_suffix(rest).unwrap_or_default();
    // If no parameters are left, the question mark is removed too.
    let mark = if kept.is_empty() { "" } else { "?" };
    let hash = if fragment.is_some() { "#" } else { "" };
    Cow::Owned(format!(
        "{origin}{path}{mark}{query}{hash}{fragment}",
        query = kept.join("&"),
        fragment = fragment.unwrap_or_default(),
    ))
}

/// Returns the parameter names in a `Clean-param` value if the value applies to the path.
fn names_on<'v>(value: &'v [u8], path: &str) -> Option<&'v str> {
    let mut words = str::from_utf8(value).ok()?.split_ascii_whitespace();
    let names = words.next()?;
    let Some(prefix) = words.next() else {
        return Some(names);
    };
    // Only the Yandex dialect has this field.
    let pattern = PathPattern::new(prefix.as_bytes(), &Dialect::yandex())?;
    let texts = pattern.texts.iter().map(AsRef::as_ref);
    let path = if path.is_empty() { "/" } else { path };
    matches(texts, pattern.ends, path.as_bytes()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_order_mark_is_skipped_if_the_dialect_does() {
        for (dialect, is_skipped) in [
            (Dialect::rfc9309(), true),
            (Dialect::google(), true),
            (Dialect::v1(), false),
        ] {
            let sitemap = b"\xef\xbb\xbfSitemap: https://a.example/s.xml";
            let file = RobotsTxt::parse(sitemap, dialect);
            assert_eq!(
                file.sitemaps().count(),
                usize::from(is_skipped),
                "{dialect}"
            );
            let license = b"\xef\xbb\xbfLicense: https://a.example/l.xml\nLicense: /m.xml";
            let file = RobotsTxt::parse(license, dialect);
            let expected = ["https://a.example/l.xml", "/m.xml"];
            let expected = if is_skipped {
                &expected[..]
            } else {
                &expected[1..]
            };
            assert_eq!(file.licenses().collect::<Vec<_>>(), expected, "{dialect}");
        }
    }

    /// The cases are from Yandex's documentation of the directive.
    #[test]
    fn named_parameters_are_removed_from_the_url() {
        let clean = |url, values: &[&str]| {
            cleaned(url, values.iter().map(|value| value.as_bytes())).into_owned()
        };
        for (url, values, expected) in [
            (
                "http://a.example/some_dir/get_book.pl?ref=site_1&book_id=123",
                &["ref /some_dir/get_book.pl"][..],
                "http://a.example/some_dir/get_book.pl?book_id=123",
            ),
            ("/a?ref=1", &["ref"], "/a"),
            ("/a?ref=1#x", &["ref"], "/a#x"),
            ("/a?x=1&sid=2&sort=3", &["sid&sort /*"], "/a?x=1"),
            ("/b?sid=2", &["sid /a"], "/b?sid=2"),
            ("/a?SID=2", &["sid"], "/a?SID=2"),
            ("/a?x=1&sid=2&y", &["y /", "sid"], "/a?x=1"),
            ("/a", &["sid"], "/a"),
        ] {
            assert_eq!(clean(url, values), expected, "{url}");
        }
    }
}
