//! `[robots_txt]`: what it says, and whether robots are held to it.

use std::time::Duration;

use crate::config::{
    section::section,
    types::{Lines, RobotsTxtSource},
};
use crate::policy::{Enforce, Refusal};
use crate::registry::Purpose;

section! {
    /// Whether robots are held to robots.txt.
    pub struct EnforcementSection, EnforcementKeys = "robots_txt." @site;
    /// Whether robots are held to robots.txt: off; report: violations are counted and pass; on:
    /// they are answered
    enforce: Enforce = "report";
    /// Answer to a robot that asks for what its rules of robots.txt disallow: "403", "429",
    /// redirect (to redirect_url), or pass
    refusal: Refusal = "403";
    /// Whether robots are held to Crawl-delay, each over all its addresses: off, report, or on: 429
    /// with Retry-After
    enforce_crawl_delay: Enforce = "report";
}

section! {
    /// What /robots.txt says; a `[[robots_txt.host]]` has the same keys.
    pub struct RobotsTxtSection, RobotsTxtKeys = "robots_txt." @site;
    /// What /robots.txt is: pass (the upstream's own), file (robots_txt.file), settings (made from
    /// the settings below), or merge (these over the upstream's)
    serve: RobotsTxtSource = "pass";
    /// File that is served where robots_txt.serve is file
    file: String;
    /// Purposes of robots that are refused everything, robot heaven too, such as ai-training: in
    /// robots.txt by their product tokens or names, and whatever they are called where
    /// robots_txt.enforce is on
    refuse_purposes: Vec<Purpose>;
    /// Ids of robots that are refused everything, robot heaven too
    refuse_robots: Vec<String>;
    /// Paths that every robot is refused: `*` is any run of characters, a final `$` the end
    disallow: Vec<String>;
    /// Paths below these that every robot is allowed all the same
    allow: Vec<String>;
    /// Seconds that a robot is asked to wait between two requests; 0: nothing is said
    crawl_delay as "crawl_delay_seconds": Duration = "0", 0..=86_400;
    /// URLs of sitemaps; that of heaven.directory is added where server.hosts names this site
    sitemaps: Vec<String>;
    /// What content may be used for, as Content-Signal: search=yes, ai-input=no, ai-train=no;
    /// empty: nothing is said
    content_signal: String;
    /// The same as Content-Usage (IETF draft): train-ai=n, search=y; a list is several lines, each
    /// of them for what is below a path where it begins with one: /open/ train-ai=y
    content_usage: Lines;
    /// URLs of licences for the content, each a License line (RSL); that of licensing.rsl is added
    /// where server.hosts names this site
    license: Lines;
}
