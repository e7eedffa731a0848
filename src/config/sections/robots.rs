//! What is done with robots, and where it is kept.

use std::path::PathBuf;

use crate::config::{
    section::section,
    types::{DatabaseUrl, Mode, RegistryUrl},
};
use crate::registry::Purpose;

section! {
    /// What is done with robots: registries, patterns, redirects.
    pub struct GeneralSection, GeneralKeys = "" @process;
    /// URL or path of the Web Robots Database's flat file; empty: not used
    web_robots_db was "WebRobotsDB": RegistryUrl = "http://www.robotstxt.org/db/all.txt";
    /// Paths on which robots are redirected: globs, `*` crosses `/`; empty: nothing is filtered
    @site filter_patterns as "filter_pattern" was "FilterPattern": Vec<String> = "/members-only-stuff/*";
    /// Where robots are sent: a path of this site or an http(s) URL; empty: nothing is filtered but
    /// by rules with one of their own
    @site redirect_url was "RedirectURL": String = "/robot-heaven/";
    /// Days between two refreshes of the robots table
    refresh_interval_days was "RefreshIntervalDays": u32 = "30", 1..=3_650;
    /// Status of the redirect: 301, 302, 303, 307 or 308
    @site redirect_status: u16 = "302", 301..=308;
    /// Methods on which robots are redirected; others pass
    @site redirect_methods: Vec<String> = "GET, HEAD";
    /// Purposes of robots that are redirected; unknown: those that say none, as most unlisted ones;
    /// empty: all but library, automation, monitoring and preview
    @site redirect_purposes: Vec<Purpose>;
    /// Ids of robots that always pass, before any rule but live ones; unlisted: all that no registry lists;
    /// nameless: whoever sends no User-Agent
    @site allow_robots: Vec<String>;
    /// Ids of robots that are redirected on every filtered path whatever their purpose, unless
    /// allowed
    @site deny_robots: Vec<String>;
    /// on, or report: a dry run in which everything passes, and what would be done with robots is
    /// counted, logged and explained
    @site mode: Mode = "on";
    /// Whether the registry that comes with the program is used beside the others
    bundled_registry: bool = "true";
    /// Whether robots that no registry lists are recognised by what they have in common
    @live unlisted_robots: bool = "true";
    /// Whether the configuration is reloaded when its file changes, as SIGHUP does
    @live reload_on_change: bool = "false";
    /// Directory of what an instance keeps for itself, such as a copy of the live rules; empty: that
    /// of an SQLite database, else the working directory
    state_dir: Option<PathBuf>;
}

section! {
    /// Where robots, descriptions and sessions are kept.
    pub struct DatabaseSection, DatabaseKeys = "database." @process;
    /// Database: sqlite://FILE or postgres://USER@HOST/NAME
    url: DatabaseUrl = "sqlite://robot-detection.db";
    /// Most connections of this instance to a PostgreSQL server; at rest it uses three
    max_connections: u32 = "10", 4..=1_000;
}
