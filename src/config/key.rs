//! Every setting, in one table: names, kinds, defaults, help.

/// Setting: what it is called, what it may be, what it is without being set.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name in the file; a dot stands between table and key.
    pub name: &'static str,
    /// Name in the original package, accepted as well.
    pub old_name: Option<&'static str>,
    /// What its value may be.
    pub kind: Kind,
    /// Default, as an environment variable would spell it.
    pub default: &'static str,
    /// Meaning, with units.
    pub help: &'static str,
}

impl Key {
    /// Returns the environment variable that sets it.
    #[must_use]
    pub fn variable(&self) -> String {
        let name = self.name.replace('.', "_").to_ascii_uppercase();
        format!("ROBOT_DETECTION_{name}")
    }

    /// Returns the key of that name or old name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter()
            .find(|key| key.name == name || key.old_name == Some(name))
    }
}

/// Kind of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Text.
    Text,
    /// Whole number in a range.
    Integer {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// `true` or `false`.
    Bool,
    /// List of texts, or one text with commas.
    List,
}

impl Kind {
    /// Returns words for an error: "is not …".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Text => "a text in quotes",
            Self::Integer { .. } => "a whole number",
            Self::Bool => "true or false",
            Self::List => "a list of texts, or one text with commas",
        }
    }
}

const SECONDS: Kind = Kind::Integer {
    min: 1,
    max: 86_400,
};

const fn key(name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Key {
    Key {
        name,
        old_name: None,
        kind,
        default,
        help,
    }
}

const fn old(old_name: &'static str, key: Key) -> Key {
    Key {
        old_name: Some(old_name),
        ..key
    }
}

/// Every setting, in the order of the documentation.
pub const KEYS: &[Key] = &[
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
        "Ids of robots that always pass, before any rule; unlisted: all that no registry lists",
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
    key(
        "server.listen",
        Kind::List,
        "127.0.0.1:8080",
        "Where visitors reach the server: addresses with ports, unix:PATH, systemd or systemd:NAME; with TLS or the PROXY protocol: [[listener]]",
    ),
    key(
        "server.workers",
        Kind::Integer { min: 0, max: 1_024 },
        "0",
        "Threads that serve visitors; 0: one for each processor",
    ),
    key(
        "server.unix_socket_mode",
        Kind::Text,
        "660",
        "Permissions of the files of Unix sockets",
    ),
    key(
        "server.upstream",
        Kind::List,
        "",
        "Servers behind the proxy, one or several that serve the same: http(s)://HOST:PORT, h2c://HOST:PORT or unix:/PATH; empty: the demonstration site",
    ),
    key(
        "server.upstream_http2",
        Kind::Bool,
        "false",
        "Whether HTTP/2 is offered to servers behind https://; h2c:// speaks it always",
    ),
    key(
        "server.upstream_ca_file",
        Kind::Text,
        "",
        "File of certificates (PEM) of the authorities that servers behind https:// are believed by; empty: the system's",
    ),
    key(
        "server.health_path",
        Kind::Text,
        "",
        "Path that each server is asked for to see whether it is well (status 200 to 399); empty: only requests show it",
    ),
    key(
        "server.health_interval_seconds",
        SECONDS,
        "10",
        "Seconds between two such checks of a server",
    ),
    key(
        "server.hosts",
        Kind::List,
        "",
        "Names of this site: an absolute redirect_url on one of them is no loop, and the admin page answers to them alone; empty: any",
    ),
    key(
        "server.trusted_proxies",
        Kind::List,
        "",
        "Networks whose X-Forwarded-For, Forwarded and PROXY headers are believed, such as 10.0.0.0/8, and unix: for Unix sockets; empty: nobody's",
    ),
    key(
        "server.preserve_host",
        Kind::Bool,
        "true",
        "Whether the upstream gets the visitor's Host; false: its own",
    ),
    key(
        "server.connect_timeout_seconds",
        SECONDS,
        "5",
        "Seconds to connect to the upstream",
    ),
    key(
        "server.response_timeout_seconds",
        SECONDS,
        "60",
        "Seconds until the upstream's response begins",
    ),
    key(
        "server.upstream_idle_timeout_seconds",
        SECONDS,
        "300",
        "Seconds that an upstream's response may stand still once it has begun",
    ),
    key(
        "server.header_timeout_seconds",
        SECONDS,
        "10",
        "Seconds in which a visitor's request head must be complete",
    ),
    key(
        "server.idle_timeout_seconds",
        SECONDS,
        "75",
        "Seconds after which an idle connection is closed, and one whose client does not read or sends less than 1 KiB of a body",
    ),
    key(
        "server.drain_timeout_seconds",
        SECONDS,
        "30",
        "Seconds that requests under way get to end at shutdown",
    ),
    key(
        "server.drain_delay_seconds",
        Kind::Integer { min: 0, max: 3_600 },
        "0",
        "Seconds at shutdown in which /readyz says so and requests are still taken, before the listeners close",
    ),
    key(
        "server.max_connections",
        Kind::Integer {
            min: 1,
            max: 1_000_000,
        },
        "10000",
        "Connections at the same time of each listener; further ones wait",
    ),
    key(
        "server.max_connections_per_address",
        Kind::Integer {
            min: 0,
            max: 1_000_000,
        },
        "0",
        "Connections at the same time of one address (IPv6: of a /64); further ones are closed; trusted proxies have no limit; 0: nobody has",
    ),
    key(
        "server.max_headers",
        Kind::Integer {
            min: 1,
            max: 10_000,
        },
        "100",
        "Headers of a request; more are answered with 431",
    ),
    key(
        "server.max_header_bytes",
        Kind::Integer {
            min: 8_192,
            max: 1_048_576,
        },
        "32768",
        "Bytes of a request's head; more are answered with 431",
    ),
    key(
        "server.max_header_line_bytes",
        Kind::Integer {
            min: 1_024,
            max: 1_048_576,
        },
        "8192",
        "Bytes of one line of a request's head, its target too; more are answered with 431 or 414",
    ),
    key(
        "server.max_body_bytes",
        Kind::Integer {
            min: 0,
            max: 1_000_000_000_000_000,
        },
        "0",
        "Bytes of a request's body; more are answered with 413, or cut where the length is not told; 0: no limit",
    ),
    key(
        "heaven.serve",
        Kind::Bool,
        "true",
        "Whether this program serves the pages of robot heaven; false: the upstream does",
    ),
    key(
        "heaven.path",
        Kind::Text,
        "/robot-heaven/",
        "Path under which they are served",
    ),
    key(
        "heaven.directory",
        Kind::Text,
        "",
        "Directory of the pages; empty: the page that comes with the program",
    ),
    key(
        "heaven.source",
        Kind::Text,
        "files",
        "Where the pages come from: files (heaven.directory), or database (made from the site robot's descriptions as they are asked for)",
    ),
    key(
        "heaven.url",
        Kind::Text,
        "",
        "URL of the site that the pages are about, such as https://www.example.com; empty: the first of server.hosts",
    ),
    key(
        "heaven.name",
        Kind::Text,
        "",
        "Name of the site on these pages; empty: its host",
    ),
    key(
        "heaven.own_pages",
        Kind::Bool,
        "true",
        "Whether a robot that is sent to heaven.path, by redirect_url or by a rule, is redirected to the page made from the one it asked for, where there is one; pages of a heaven.directory that is published to are known within seconds",
    ),
    key(
        "heaven.markdown_files",
        Kind::Bool,
        "false",
        "Whether heaven that the site robot publishes as files has one in Markdown beside each page; pages made from the database always have one",
    ),
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
        "Purposes of robots that are refused everything, such as ai-training, by the product tokens that the registry knows",
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
    key(
        "verify.enabled",
        Kind::Bool,
        "true",
        "Whether it is proven that robots are who they say; false: every claim is unverifiable",
    ),
    key(
        "verify.methods",
        Kind::List,
        "ranges, reverse-dns, web-bot-auth",
        "How: ranges (lists of addresses that operators publish), reverse-dns (host names, confirmed forward), web-bot-auth (signed requests)",
    ),
    key(
        "verify.spoofed",
        Kind::Text,
        "report",
        "What is done with robots that are proven not to be who they say, unless a rule before says otherwise: report (counted and shown), refuse (403), or redirect (to redirect_url, where anything is filtered)",
    ),
    key(
        "verify.dns_servers",
        Kind::List,
        "",
        "Resolvers that are asked for names of addresses, such as 9.9.9.9 or [::1]:5353; empty: the system's",
    ),
    key(
        "verify.dns_timeout_seconds",
        Kind::Integer { min: 1, max: 30 },
        "2",
        "Seconds that one query to a resolver may take; no request waits for it, unless a rule says so",
    ),
    key(
        "verify.ranges_interval_hours",
        Kind::Integer { min: 1, max: 720 },
        "24",
        "Hours between two downloads of a list of addresses; only lists of robots that came are downloaded",
    ),
    key(
        "verify.allow_private_addresses",
        Kind::Bool,
        "false",
        "Whether clients and key directories with addresses that are not public are looked at too, for tests and networks of one's own",
    ),
    key(
        "site_robot.starting_points",
        Kind::List,
        "",
        "URLs at which the site robot begins; empty: it visits nothing",
    ),
    key(
        "site_robot.depth",
        Kind::Integer {
            min: -1,
            max: 4_294_967_295,
        },
        "10",
        "Links that it follows from a starting point; -1: any number; where it is not set, depth of robot.conf counts",
    ),
    key(
        "site_robot.only_below",
        Kind::List,
        "",
        "Paths of which one must begin what it visits; empty: any",
    ),
    key(
        "site_robot.never_below",
        Kind::List,
        "",
        "Paths that it keeps away from, beside those of heaven and of the admin page",
    ),
    key(
        "site_robot.schedule",
        Kind::Text,
        "",
        "When it runs, as a cron expression in UTC: minute, hour, day, month, day of the week, such as 30 3 * * *; empty: only when asked",
    ),
    key(
        "site_robot.publish",
        Kind::Text,
        "",
        "Directory that heaven is published into after a run, such as that of heaven.directory; empty: none, it is served from the database",
    ),
    key(
        "site_robot.login",
        Kind::Text,
        "",
        "How it logs in at its starting points: bearer TOKEN, cookie NAME=VALUE or basic NAME:PASSWORD; empty: as robot.conf says",
    ),
    key(
        "site_robot.robot_conf",
        Kind::Text,
        "",
        "robot.conf with all its other settings; empty: none",
    ),
    key(
        "site_robot.robot",
        Kind::List,
        "",
        "Lines of robot.conf that count before those of the file, such as server-delay=2",
    ),
    key(
        "site_robot.filter_conf",
        Kind::Text,
        "",
        "filter.conf with its filters; empty: those that come with the program",
    ),
    key(
        "site_robot.converters",
        Kind::List,
        "",
        "Programs that make HTML of documents, from standard input to standard output: TYPE=PROGRAM ARGUMENTS",
    ),
    key(
        "site_robot.signing_key",
        Kind::Text,
        "",
        "File of the Ed25519 key with which it signs its requests (Web Bot Auth), made if it is not there; empty: it signs none",
    ),
    key(
        "site_robot.signature_agent",
        Kind::Text,
        "",
        "Site that serves the directory of that key, such as https://www.example.com; empty: that of the first starting point",
    ),
    key(
        "admin.path",
        Kind::Text,
        "/robot-detection/admin",
        "Path of the admin page",
    ),
    key(
        "admin.enabled",
        Kind::Bool,
        "true",
        "Whether there is an admin page",
    ),
    key(
        "admin.listen",
        Kind::Text,
        "",
        "Address and port of a listener for the admin page, /healthz, /readyz and /metrics alone; empty: they are on server.listen, the last three for direct requests from this machine only",
    ),
    key(
        "admin.secure_cookies",
        Kind::Bool,
        "false",
        "Whether the session cookie is sent over https only; set it when the site has https",
    ),
    key(
        "access_log.path",
        Kind::Text,
        "",
        "File that a line for every request is added to, with robot and decision; -: standard output; empty: none",
    ),
    key(
        "access_log.format",
        Kind::Text,
        "combined",
        "Format of the access log: common, combined or json",
    ),
    key(
        "otel.endpoint",
        Kind::Text,
        "",
        "URL that traces are posted to, such as http://127.0.0.1:4318/v1/traces, by a program built with the feature otel; empty: none",
    ),
    key(
        "log.level",
        Kind::Text,
        "info",
        "Level of the log: error, warn, info, debug, trace, or a filter such as robot_detection=debug",
    ),
    key(
        "log.format",
        Kind::Text,
        "text",
        "Format of the log: text or json",
    ),
];
