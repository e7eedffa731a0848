//! Preset dialects, each of which is based on a document or a program.

use super::dialect::{
    AgentsEnd, CrawlDelay, Dialect, EmptyPath, Escapes, Grouping, HostUse, LineReading, Naming,
    RobotsTxtPath, StatusReading, Winner,
};

impl Dialect {
    /// Returns `true` if `Content-Usage` lines end the list of a group's robots, as in the draft
    /// that updates RFC 9309. Google's own parser ignores such lines.
    pub(super) fn usage_is_rule(&self) -> bool {
        self.agents_end == AgentsEnd::Rule && self.lines == LineReading::Standard
    }

    /// All preset dialects.
    pub(super) const PRESETS: [Self; 10] = [
        Self::rfc9309(),
        Self::google(),
        Self::bing(),
        Self::yandex(),
        Self::yandex2003(),
        Self::v0(),
        Self::v1(),
        Self::tdg(),
        Self::geoportal(),
        Self::geoportal_longest(),
    ];

    /// Returns the names of all presets.
    #[must_use]
    pub fn names() -> [&'static str; Self::PRESETS.len()] {
        Self::PRESETS.map(|preset| preset.name)
    }

    /// Creates the dialect of RFC 9309, which is the default.
    #[must_use]
    pub const fn rfc9309() -> Self {
        Self {
            name: "rfc9309",
            winner: Winner::Longest,
            allow: true,
            wildcards: true,
            groups: Grouping::MergedFile,
            names: Naming::Equal,
            agents_end: AgentsEnd::Rule,
            blank_line_ends: false,
            orphans_for_all: false,
            empty_path: EmptyPath::NoRule,
            escapes: Escapes::Normalised,
            robots_txt: RobotsTxtPath::Allowed,
            lines: LineReading::Standard,
            slash_matches_bare: false,
            index_page: false,
            crawl_delay: CrawlDelay::OwnGroup,
            host: HostUse::First,
            clean_param: false,
            status: StatusReading::Standard,
        }
    }

    /// Creates the dialect of Google's own parser (github.com/google/robotstxt).
    #[must_use]
    pub const fn google() -> Self {
        Self {
            name: "google",
            names: Naming::TokenPrefix,
            escapes: Escapes::RuleOnly,
            robots_txt: RobotsTxtPath::Ruled,
            lines: LineReading::Google,
            index_page: true,
            crawl_delay: CrawlDelay::Unknown,
            host: HostUse::Unknown,
            status: StatusReading::Google,
            ..Self::rfc9309()
        }
    }

    /// Creates the dialect of Bing's robots, which is RFC 9309 with a `Crawl-delay` that is
    /// inherited from `*` groups.
    #[must_use]
    pub const fn bing() -> Self {
        Self {
            name: "bing",
            crawl_delay: CrawlDelay::OwnGroupElseAny,
            ..Self::rfc9309()
        }
    }

    /// Creates the current dialect of Yandex, which is RFC 9309 with `Clean-param` and a `Host`
    /// value that is not applied.
    #[must_use]
    pub const fn yandex() -> Self {
        Self {
            name: "yandex",
            clean_param: true,
            status: StatusReading::OnlyOk,
            ..Self::rfc9309()
        }
    }

    /// Creates the dialect that Yandex proposed in 2003, in which `Host` disallows everything on
    /// mirrors.
    #[must_use]
    pub const fn yandex2003() -> Self {
        Self {
            name: "yandex2003",
            host: HostUse::CloseMirrors,
            ..Self::v1()
        }
    }

    /// Creates the dialect of the 1994 standard as implemented by `WWW::RobotRules`.
    #[must_use]
    pub const fn v0() -> Self {
        Self {
            name: "v0",
            winner: Winner::First,
            allow: false,
            wildcards: false,
            groups: Grouping::FirstElseAny,
            names: Naming::SubstringOfWord,
            agents_end: AgentsEnd::Disallow,
            blank_line_ends: true,
            orphans_for_all: true,
            empty_path: EmptyPath::AllowsAll,
            escapes: Escapes::Resolved,
            robots_txt: RobotsTxtPath::Ruled,
            lines: LineReading::Perl,
            slash_matches_bare: false,
            index_page: false,
            crawl_delay: CrawlDelay::Unknown,
            host: HostUse::Unknown,
            clean_param: false,
            status: StatusReading::AllowsAll,
        }
    }

    /// Creates the dialect of the 1996 draft.
    #[must_use]
    pub const fn v1() -> Self {
        Self {
            name: "v1",
            allow: true,
            groups: Grouping::First,
            names: Naming::Substring,
            agents_end: AgentsEnd::AnyField,
            orphans_for_all: false,
            escapes: Escapes::Decoded,
            robots_txt: RobotsTxtPath::Allowed,
            lines: LineReading::Plain,
            status: StatusReading::Restricted,
            ..Self::v0()
        }
    }

    /// Creates the dialect of HTTP: The Definitive Guide, in which an empty path matches
    /// everything.
    #[must_use]
    pub const fn tdg() -> Self {
        Self {
            name: "tdg",
            empty_path: EmptyPath::MatchesAll,
            ..Self::v1()
        }
    }

    /// Creates the dialect of Geoportal's documentation, in which the first match wins and the
    /// general section applies after the robot's own section.
    #[must_use]
    pub const fn geoportal() -> Self {
        Self {
            name: "geoportal",
            wildcards: true,
            groups: Grouping::FirstThenAny,
            names: Naming::Equal,
            agents_end: AgentsEnd::KnownField,
            blank_line_ends: false,
            empty_path: EmptyPath::Inverted,
            escapes: Escapes::FormDecoded,
            robots_txt: RobotsTxtPath::AllowedAnyCase,
            lines: LineReading::Geoportal,
            slash_matches_bare: true,
            crawl_delay: CrawlDelay::LastInFile,
            host: HostUse::RewriteByLast,
            status: StatusReading::AllowsAll,
            ..Self::v1()
        }
    }

    /// Creates the dialect of Geoportal's program, in which the longest match wins.
    #[must_use]
    pub const fn geoportal_longest() -> Self {
        Self {
            name: "geoportal-longest",
            winner: Winner::Longest,
            ..Self::geoportal()
        }
    }
}
