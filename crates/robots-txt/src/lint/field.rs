//! Fields of lines.

use crate::preferences::Vocabulary;

use super::nearest::nearest;

/// Field that somebody reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Field {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    RequestRate,
    Sitemap,
    Host,
    CleanParam,
    Noindex,
    Preferences(Vocabulary),
    /// Known to some, and right whatever its value is.
    Other,
}

const FIELDS: [(&str, Field); 18] = [
    ("User-agent", Field::UserAgent),
    ("Allow", Field::Allow),
    ("Disallow", Field::Disallow),
    ("Crawl-delay", Field::CrawlDelay),
    ("Request-rate", Field::RequestRate),
    ("Sitemap", Field::Sitemap),
    ("Host", Field::Host),
    ("Clean-param", Field::CleanParam),
    // Google obeyed it without documenting it, until September 2019.
    ("Noindex", Field::Noindex),
    ("Nofollow", Field::Noindex),
    ("Noarchive", Field::Noindex),
    ("Nosnippet", Field::Noindex),
    // Of Conner's Extended Standard for Robot Exclusion (1996), as `Request-rate` is.
    ("Visit-time", Field::Other),
    ("Robot-version", Field::Other),
    ("Comment", Field::Other),
    ("Content-Signal", Field::Preferences(Vocabulary::Signal)),
    ("Content-Usage", Field::Preferences(Vocabulary::Usage)),
    ("License", Field::Other),
];

/// Slips that Google's parser forgives, by how a name begins.
const FORGIVEN: [(&str, Field); 12] = [
    ("user-agent", Field::UserAgent),
    ("useragent", Field::UserAgent),
    ("user agent", Field::UserAgent),
    ("allow", Field::Allow),
    ("disallow", Field::Disallow),
    ("dissallow", Field::Disallow),
    ("dissalow", Field::Disallow),
    ("disalow", Field::Disallow),
    ("diasllow", Field::Disallow),
    ("disallaw", Field::Disallow),
    ("sitemap", Field::Sitemap),
    ("site-map", Field::Sitemap),
];

impl Field {
    /// Returns the field of a name, in upper or lower case.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let is_name = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        find(&FIELDS, is_name)
    }

    /// Returns the field that Google's parser takes a name for.
    pub(super) fn forgiven(name: &[u8]) -> Option<Self> {
        let begins = |known: &str| {
            name.get(..known.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(known.as_bytes()))
        };
        find(&FORGIVEN, begins)
    }

    /// Returns the name that was probably meant.
    pub(super) fn nearest(name: &[u8]) -> Option<&'static str> {
        nearest(name, FIELDS.iter().map(|(known, _)| *known))
    }
}

fn find(fields: &[(&'static str, Field)], is_name: impl Fn(&str) -> bool) -> Option<Field> {
    let found = fields.iter().find(|(known, _)| is_name(known));
    found.map(|(_, field)| *field)
}
