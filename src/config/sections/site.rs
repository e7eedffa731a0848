//! Settings of sites: robot heaven, filters, robots.txt, suspects, traps and verification.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderName;

use crate::config::section::section;
use crate::config::types::{
    DatabaseUrl, HeavenSource, Lines, Mode, OpenTo, OwnPath, ParityAction, RegistryUrl, Resolver,
    RobotsTxtSource, SuspectAction, TrainingTerms,
};
use crate::detect::Verdict;
use crate::policy::{EnforcementMode, Refusal, Spoofed};
use crate::registry::Purpose;
use crate::verify::Method;

section! {
    /// Settings for robot heaven.
    pub struct HeavenSection, HeavenKeys = "heaven." @site;
    /// Whether this program serves the pages of robot heaven; false: the upstream serves them
    serve: bool = "true";
    /// URL path of robot heaven
    path: OwnPath = "/robot-heaven/";
    /// Directory that contains the heaven pages; empty: a bundled page is served
    directory: String;
    /// Source of heaven pages: files (in heaven.directory), or database (generated on request from
    /// the site robot's descriptions)
    source: HeavenSource = "files";
    /// URL of the original site, such as https://www.example.com; empty: the first host of
    /// server.hosts
    url: String;
    /// Site name shown on heaven pages; empty: the site's host
    name: String;
    /// Visitors that may read heaven pages: all, robots (human visitors are redirected to the
    /// original page, at most once a minute), or verified (other robots get only the title and
    /// summary); robots and verified require heaven.source = database. Pages read with a login are
    /// published only if heaven.open_to is set
    open_to: OpenTo = "all";
    /// Action if a heaven page contains text that the site robot does not find on the original
    /// page: report (in run results, doctor, the console page Site robot and alerts), or withdraw
    /// (hide the heaven page until its text matches again; if many pages differ, no page is hidden)
    parity: ParityAction = "report";
    /// Number of heaven pages to compare with their originals after each run; only pages that the
    /// run did not download in full are chosen, least recently compared first; 0: none
    parity_pages: u32 = "50", 0..=10_000;
    /// Whether robots are redirected to the heaven page for the requested page, if it exists,
    /// instead of heaven.path; new pages in a published heaven.directory are found within seconds
    own_pages: bool = "true";
    /// Whether a Markdown file is published next to each heaven page in heaven.directory; pages
    /// generated from the database are always available as Markdown
    markdown_files: bool = "false";
    /// Whether clients that prefer text/markdown (Accept header) and send neither cookie nor
    /// password get a page as Markdown at its original URL, if the page is public and generated
    /// from the database; Vary: Accept is added to the HTML responses of such pages
    markdown_for_agents: bool = "true";
}

section! {
    /// Settings for redirecting robots from a page to its canonical URL.
    pub struct CanonicalSection, CanonicalKeys = "canonical." @site;
    /// Purposes of robots, such as ai-training, that are redirected (301) from a page to its
    /// canonical URL without a request to the upstream; empty: no redirects
    redirect: Vec<Purpose>;
    /// Verdicts on robots' claims for which robots are redirected to canonical URLs
    verdicts: Vec<Verdict> = "verified";
}

section! {
    /// Settings for publishing the terms of each `[[license]]` table.
    pub struct LicensingSection, LicensingKeys = "licensing." @site;
    /// Path of the RSL document that contains the terms of [[license]], such as /license.xml;
    /// empty: none. A generated robots.txt contains the document's URL if server.hosts is set
    rsl: String;
    /// Whether to serve /.well-known/tdmrep.json, which reserves text and data mining rights for
    /// paths
    tdmrep: bool = "false";
    /// Whether AI training is permitted: unstated, or reserved (it is not; robots.txt, response
    /// headers, tdmrep.json and the RSL document say so); robots_txt.content_usage can permit it for
    /// paths, such as "/open/ train-ai=y"
    training: TrainingTerms = "unstated";
}

section! {
    /// Settings for databases that map addresses to networks and countries.
    pub struct GeoIpSection, GeoIpKeys = "geoip." @live;
    /// MaxMind database (MMDB) that maps addresses to autonomous systems, for rules with asns;
    /// reloaded when the file changes
    asn_file: Option<PathBuf>;
    /// MaxMind database (MMDB) that maps addresses to countries or cities, for rules with
    /// countries; reloaded when the file changes
    country_file: Option<PathBuf>;
}

section! {
    /// General settings for robots: registries, patterns, redirects.
    pub struct GeneralSection, GeneralKeys = "" @process;
    /// URL or path of the Web Robots Database's flat file; empty: not used
    web_robots_db was "WebRobotsDB": RegistryUrl = "http://www.robotstxt.org/db/all.txt";
    /// Paths from which robots are redirected: globs in which `*` also matches `/`; empty: no
    /// filtering
    @site filter_patterns as "filter_pattern" was "FilterPattern": Vec<String> = "/members-only-stuff/*";
    /// Redirect target for robots: a path of this site or an http(s) URL; empty: only rules with
    /// their own target redirect
    @site redirect_url was "RedirectURL": String = "/robot-heaven/";
    /// Days between refreshes of the robots table
    refresh_interval_days was "RefreshIntervalDays": u32 = "30", 1..=3_650;
    /// HTTP status of redirects: 301, 302, 303, 307 or 308
    @site redirect_status: u16 = "302", 301..=308;
    /// Request methods for which robots are redirected; requests with other methods pass
    @site redirect_methods: Vec<String> = "GET, HEAD";
    /// Purposes of robots to redirect; unknown: robots without a known purpose, such as most
    /// unlisted robots; empty: all purposes except library, automation, monitoring and preview
    @site redirect_purposes: Vec<Purpose>;
    /// Ids of robots that always pass; this setting overrides all rules except live rules;
    /// unlisted: robots that are not in any registry; nameless: clients without a User-Agent
    @site allow_robots: Vec<String>;
    /// Ids of robots that are redirected from every filtered path regardless of their purpose;
    /// allow_robots takes precedence
    @site deny_robots: Vec<String>;
    /// Whether decisions are enforced: on, or report (a dry run: all requests pass, and decisions
    /// are only counted, logged and explained)
    @site mode: Mode = "on";
    /// Whether to use the bundled registry in addition to other registries
    bundled_registry: bool = "true";
    /// Whether to detect robots that are not in any registry, by common features of their
    /// User-Agents
    @live unlisted_robots: bool = "true";
    /// Whether to reload the configuration when its file changes, as SIGHUP does
    @live reload_on_change: bool = "false";
    /// Directory for local files of the instance, such as a copy of the live rules; empty: the
    /// directory of the SQLite database, or the working directory for PostgreSQL
    state_dir: Option<PathBuf>;
}

section! {
    /// Settings for the database of robots, descriptions and sessions.
    pub struct DatabaseSection, DatabaseKeys = "database." @process;
    /// Database: sqlite://FILE or postgres://USER@HOST/NAME
    url: DatabaseUrl = "sqlite://robot-detection.db";
    /// Maximum number of connections from each instance to PostgreSQL; an idle instance uses three
    max_connections: u32 = "10", 4..=1_000;
}

section! {
    /// Settings for the enforcement of robots.txt.
    pub struct EnforcementSection, EnforcementKeys = "robots_txt." @site;
    /// Whether robots.txt is enforced: off, report (violations are counted, but the requests pass),
    /// or on (violations get the response set in robots_txt.refusal)
    enforce: EnforcementMode = "report";
    /// Response to a robot that requests a URL disallowed by robots.txt: "403", "429", redirect (to
    /// redirect_url), or pass
    refusal: Refusal = "403";
    /// Whether Crawl-delay is enforced for each robot, across all of its addresses: off, report
    /// (violations are counted, but the requests pass), or on (status 429 with Retry-After)
    enforce_crawl_delay: EnforcementMode = "report";
    /// Whether the group __usage_ai-training of robots.txt is enforced for robots whose operators
    /// document AI training as their only purpose: off, report, or on (as robots_txt.enforce)
    enforce_usage: EnforcementMode = "report";
}

section! {
    /// Settings for the contents of /robots.txt; a `[[robots_txt.host]]` table has the same keys.
    pub struct RobotsTxtSection, RobotsTxtKeys = "robots_txt." @site;
    /// Source of /robots.txt: pass (the upstream's file), file (robots_txt.file), settings
    /// (generated from the robots_txt settings), or merge (these settings combined with the
    /// upstream's file)
    serve: RobotsTxtSource = "pass";
    /// robots.txt file to serve if robots_txt.serve = file
    file: String;
    /// Purposes of robots, such as ai-training, that are denied all paths, including robot heaven;
    /// robots.txt lists them by product token or name; if robots_txt.enforce is on, they are
    /// refused under any name
    refuse_purposes: Vec<Purpose>;
    /// Ids of robots that are denied all paths, including robot heaven
    refuse_robots: Vec<String>;
    /// Paths disallowed for all robots; `*` matches any characters, and a final `$` matches the end
    /// of the path
    disallow: Vec<String>;
    /// Paths allowed as exceptions within disallowed paths; robots in refuse_purposes and
    /// refuse_robots get no exceptions
    allow: Vec<String>;
    /// Seconds that robots should wait between requests (Crawl-delay); 0: not set
    crawl_delay as "crawl_delay_seconds": Duration = "0", 0..=86_400;
    /// URLs of sitemaps; the sitemap of heaven.directory is added if server.hosts is set
    sitemaps: Vec<String>;
    /// Content-Signal line of robots.txt, such as search=yes, ai-input=no, ai-train=no; empty: no
    /// line
    content_signal: String;
    /// Content-Usage lines of robots.txt (IETF draft), such as train-ai=n, search=y; each item of a
    /// list is a separate line; a line may start with a path, such as /open/ train-ai=y
    content_usage: Lines;
    /// URLs of licences for the content; a License line (RSL) is written for each URL; the URL of
    /// licensing.rsl is added if server.hosts is set
    license: Lines;
}

section! {
    /// Settings for requests that claim to be from a browser but look automated.
    pub struct SuspectsSection, SuspectsKeys = "suspects." @site;
    /// Action for suspects that no earlier rule matches: report (suspects are marked in logs and
    /// metrics, and match rules with suspect = true), heaven (a page is replaced by its heaven
    /// copy, with a confirmation button for human visitors; requests for pages without a copy
    /// pass), refuse (403), or off (no detection). For other actions, use a rule with suspect =
    /// true
    action: SuspectAction = "report";
    /// Response header in which the upstream reports whether the visitor is human: yes or no, valid
    /// for ten minutes for the address and User-Agent; the header is used only if suspects are
    /// detected, and is removed from responses; empty: none
    person_header: Option<HeaderName> = "X-Robot-Detection-Person";
}

section! {
    /// Settings for traps: paths that human visitors cannot see and that robots.txt disallows.
    pub struct TrapsSection, TrapsKeys = "traps." @site;
    /// Whether each site has traps: secret paths that are disallowed for all robots in a robots.txt
    /// that this program serves or merges; a client that requests a trap is a robot that ignores
    /// robots.txt. To print the link for your pages, run robot-detection traps
    active: bool = "false";
}

section! {
    /// Settings for the verification of robots' claims.
    pub struct VerifySection, VerifyKeys = "verify." @live;
    /// Whether robots' claims are verified; false: every claim is unverifiable
    enabled: bool = "true";
    /// Verification methods: ranges (published address lists), reverse-dns (confirmed host names),
    /// web-bot-auth (signed requests)
    methods: Vec<Method> = "ranges, reverse-dns, web-bot-auth";
    /// Action for spoofed robots if no earlier rule matches: report (count and show the requests),
    /// refuse (403), or redirect (to redirect_url, if filter patterns are set)
    spoofed: Spoofed = "report";
    /// DNS resolvers for looking up the host names of addresses, such as 9.9.9.9 or [::1]:5353;
    /// empty: the system's resolvers
    dns_servers: Vec<Resolver>;
    /// Timeout for DNS queries, in seconds; requests wait for the result only if a rule requires it
    dns_timeout as "dns_timeout_seconds": Duration = "2", 1..=30;
    /// Hours between downloads of an address list; only the lists of robots that have made requests
    /// are downloaded
    ranges_interval_hours: u32 = "24", 1..=720;
    /// Whether clients and key directories with private and local addresses are also accepted, for
    /// tests and private networks
    allow_private_addresses: bool = "false";
}
