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
pub(super) const TABLES: &[&TableKind] = &[&SOURCE, &RULE, &X_ROBOTS_TAG, &ROBOTS_TXT_HOST];

pub(super) const SOURCE: TableKind = TableKind {
    name: "source",
    keys: &[
        ("name", Kind::Text),
        ("url", Kind::Text),
        ("format", Kind::Text),
        ("interval_days", Kind::Integer { min: 1, max: 3_650 }),
    ],
};

pub(super) const RULE: TableKind = TableKind {
    name: "rule",
    keys: &[
        ("name", Kind::Text),
        ("path", Kind::List),
        ("robots", Kind::List),
        ("purposes", Kind::List),
        ("operators", Kind::List),
        ("sources", Kind::List),
        ("unlisted", Kind::Bool),
        ("action", Kind::Text),
        ("redirect_url", Kind::Text),
    ],
};

pub(super) const X_ROBOTS_TAG: TableKind = TableKind {
    name: "x_robots_tag",
    keys: &[
        ("value", Kind::Text),
        ("path", Kind::List),
        ("robots", Kind::List),
        ("purposes", Kind::List),
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
