//! Tables that may stand several times in the file: their keys.

use super::Kind;

/// Table that may stand several times in the file, such as `[[source]]` or `[[rule]]`.
#[derive(Debug)]
pub(super) struct TableKind {
    pub(super) name: &'static str,
    /// Names and kinds of its keys.
    pub(super) keys: &'static [(&'static str, Kind)],
}

impl TableKind {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        TABLES.iter().copied().find(|table| table.name == name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|(name, _)| *name)
    }
}

/// Every table that may stand several times.
pub(super) const TABLES: &[&TableKind] = &[
    &SOURCE,
    &RULE,
    &X_ROBOTS_TAG,
    &ROBOTS_TXT_HOST,
    &SITE,
    &LISTENER,
    &CERTIFICATE,
];

/// Its other keys are those of [`Key::is_per_site`](super::Key::is_per_site).
pub(super) const SITE: TableKind = TableKind {
    name: "site",
    keys: &[
        ("name", Kind::Text),
        ("hosts", Kind::List),
        ("path", Kind::Text),
    ],
};

pub(super) const SOURCE: TableKind = TableKind {
    name: "source",
    keys: &[
        ("preset", Kind::Text),
        ("name", Kind::Text),
        ("url", Kind::Text),
        ("format", Kind::Text),
        ("interval_days", Kind::Integer { min: 1, max: 3_650 }),
    ],
};

/// Number of requests.
const MANY: Kind = Kind::Integer {
    min: 1,
    max: 1_000_000,
};

pub(super) const RULE: TableKind = TableKind {
    name: "rule",
    keys: &[
        ("name", Kind::Text),
        ("path", Kind::List),
        ("methods", Kind::List),
        ("hosts", Kind::List),
        ("robots", Kind::List),
        ("purposes", Kind::List),
        ("operators", Kind::List),
        ("sources", Kind::List),
        ("unlisted", Kind::Bool),
        ("visitors", Kind::List),
        ("verdicts", Kind::List),
        ("action", Kind::Text),
        ("redirect_url", Kind::Text),
        ("status", Kind::Integer { min: 400, max: 599 }),
        ("text", Kind::Text),
        ("requests", MANY),
        (
            "per_seconds",
            Kind::Integer {
                min: 1,
                max: 86_400,
            },
        ),
        ("burst", MANY),
        (
            "wait_milliseconds",
            Kind::Integer {
                min: 1,
                max: 10_000,
            },
        ),
    ],
};

pub(super) const X_ROBOTS_TAG: TableKind = TableKind {
    name: "x_robots_tag",
    keys: &[
        ("value", Kind::Text),
        ("path", Kind::List),
        ("methods", Kind::List),
        ("hosts", Kind::List),
        ("robots", Kind::List),
        ("purposes", Kind::List),
        ("operators", Kind::List),
        ("sources", Kind::List),
        ("unlisted", Kind::Bool),
        ("visitors", Kind::List),
        ("verdicts", Kind::List),
    ],
};

pub(super) const ROBOTS_TXT_HOST: TableKind = TableKind {
    name: "robots_txt.host",
    keys: &[
        ("hosts", Kind::List),
        ("main_mirror", Kind::Text),
        ("serve", Kind::Text),
        ("file", Kind::Text),
        ("refuse_purposes", Kind::List),
        ("refuse_robots", Kind::List),
        ("disallow", Kind::List),
        ("allow", Kind::List),
        (
            "crawl_delay_seconds",
            Kind::Integer {
                min: 0,
                max: 86_400,
            },
        ),
        ("sitemaps", Kind::List),
        ("content_signal", Kind::Text),
        ("content_usage", Kind::Text),
        ("license", Kind::Text),
    ],
};

pub(super) const LISTENER: TableKind = TableKind {
    name: "listener",
    keys: &[
        ("listen", Kind::Text),
        ("tls", Kind::Bool),
        ("proxy_protocol", Kind::Bool),
        ("acme.hosts", Kind::List),
        ("acme.contact", Kind::List),
        ("acme.directory", Kind::Text),
        ("acme.cache", Kind::Text),
        ("acme.ca_file", Kind::Text),
        ("acme.agree_to_terms", Kind::Bool),
    ],
};

pub(super) const CERTIFICATE: TableKind = TableKind {
    name: "certificate",
    keys: &[("certificate_file", Kind::Text), ("key_file", Kind::Text)],
};
