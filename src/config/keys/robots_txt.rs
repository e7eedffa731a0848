//! robots.txt: what it says, and whether robots are held to it.

use super::super::key::{Key, Kind, key};

pub(super) const ROBOTS_TXT: &[Key] = &[
    key(
        "robots_txt.enforce",
        Kind::Text,
        "report",
        "Whether robots are held to robots.txt: off; report: violations are counted and pass; on: they are answered",
    ),
    key(
        "robots_txt.refusal",
        Kind::Text,
        "403",
        "Answer to a robot that asks for what its rules of robots.txt disallow: \"403\", \"429\", redirect (to redirect_url), or pass",
    ),
    key(
        "robots_txt.enforce_crawl_delay",
        Kind::Text,
        "report",
        "Whether robots are held to Crawl-delay, each over all its addresses: off, report, or on: 429 with Retry-After",
    ),
    key(
        "robots_txt.serve",
        Kind::Text,
        "pass",
        "What /robots.txt is: pass (the upstream's own), file (robots_txt.file), settings (made from the settings below), or merge (these over the upstream's)",
    ),
    key(
        "robots_txt.file",
        Kind::Text,
        "",
        "File that is served where robots_txt.serve is file",
    ),
    key(
        "robots_txt.refuse_purposes",
        Kind::List,
        "",
        "Purposes of robots that are refused everything, such as ai-training: in robots.txt by their product tokens or names, and whatever they are called where robots_txt.enforce is on",
    ),
    key(
        "robots_txt.refuse_robots",
        Kind::List,
        "",
        "Ids of robots that are refused everything",
    ),
    key(
        "robots_txt.disallow",
        Kind::List,
        "",
        "Paths that every robot is refused: `*` is any run of characters, a final `$` the end",
    ),
    key(
        "robots_txt.allow",
        Kind::List,
        "",
        "Paths below these that every robot is allowed all the same",
    ),
    key(
        "robots_txt.crawl_delay_seconds",
        Kind::Integer {
            min: 0,
            max: 86_400,
        },
        "0",
        "Seconds that a robot is asked to wait between two requests; 0: nothing is said",
    ),
    key(
        "robots_txt.sitemaps",
        Kind::List,
        "",
        "URLs of sitemaps; that of heaven.directory is added where server.hosts names this site",
    ),
    key(
        "robots_txt.content_signal",
        Kind::Text,
        "",
        "What content may be used for, as Content-Signal: search=yes, ai-input=no, ai-train=no; empty: nothing is said",
    ),
    key(
        "robots_txt.content_usage",
        Kind::Text,
        "",
        "The same as Content-Usage (IETF draft): train-ai=n, search=y; empty: nothing is said",
    ),
    key(
        "robots_txt.license",
        Kind::Text,
        "",
        "URL of a licence for the content, as License (RSL); empty: nothing is said",
    ),
];
