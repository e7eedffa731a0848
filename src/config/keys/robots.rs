//! What is done with robots: registries, patterns, redirects; where it is kept.

use super::super::key::{Key, Kind, key, old};

pub(super) const ROBOTS: &[Key] = &[
    old(
        "WebRobotsDB",
        key(
            "web_robots_db",
            Kind::Text,
            "http://www.robotstxt.org/db/all.txt",
            "URL or path of the Web Robots Database's flat file; empty: not used",
        ),
    ),
    old(
        "FilterPattern",
        key(
            "filter_pattern",
            Kind::List,
            "/members-only-stuff/*",
            "Paths on which robots are redirected: globs, `*` crosses `/`; empty: nothing is filtered",
        ),
    ),
    old(
        "RedirectURL",
        key(
            "redirect_url",
            Kind::Text,
            "/robot-heaven/",
            "Where robots are sent: a path of this site or an http(s) URL; empty: nothing is filtered but by rules with one of their own",
        ),
    ),
    old(
        "RefreshIntervalDays",
        key(
            "refresh_interval_days",
            Kind::Integer { min: 1, max: 3_650 },
            "30",
            "Days between two refreshes of the robots table",
        ),
    ),
    key(
        "redirect_status",
        Kind::Integer { min: 301, max: 308 },
        "302",
        "Status of the redirect: 301, 302, 303, 307 or 308",
    ),
    key(
        "redirect_methods",
        Kind::List,
        "GET, HEAD",
        "Methods on which robots are redirected; others pass",
    ),
    key(
        "redirect_purposes",
        Kind::List,
        "",
        "Purposes of robots that are redirected; unknown: those that say none, as most unlisted ones; empty: all but library, automation, monitoring and preview",
    ),
    key(
        "allow_robots",
        Kind::List,
        "",
        "Ids of robots that always pass, before any rule; unlisted: all that no registry lists; nameless: whoever sends no User-Agent",
    ),
    key(
        "deny_robots",
        Kind::List,
        "",
        "Ids of robots that are redirected on every filtered path whatever their purpose, unless allowed",
    ),
    key(
        "mode",
        Kind::Text,
        "on",
        "on, or report: a dry run in which everything passes, and what would be done with robots is counted, logged and explained",
    ),
    key(
        "bundled_registry",
        Kind::Bool,
        "true",
        "Whether the registry that comes with the program is used beside the others",
    ),
    key(
        "unlisted_robots",
        Kind::Bool,
        "true",
        "Whether robots that no registry lists are recognised by what they have in common",
    ),
    key(
        "reload_on_change",
        Kind::Bool,
        "false",
        "Whether the configuration is reloaded when its file changes, as SIGHUP does",
    ),
    key(
        "database.url",
        Kind::Text,
        "sqlite://robot-detection.db",
        "Database: sqlite://FILE or postgres://USER@HOST/NAME",
    ),
];
