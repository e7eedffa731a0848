//! Settings of sites: robot heaven, filters, robots.txt, suspects, traps and verification.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderName;

use crate::config::section::section;
use crate::config::types::{
    DatabaseUrl, HeavenSource, Lines, Mode, OpenTo, OwnPath, ParityAction, RegistryUrl, Resolver,
    RobotsTxtSource, SuspectAction,
};
use crate::detect::Verdict;
use crate::policy::{EnforcementMode, Refusal, Spoofed};
use crate::registry::Purpose;
use crate::verify::Method;

section! {
    /// Robot heaven.
    pub struct HeavenSection, HeavenKeys = "heaven." @site;
    /// Whether this program serves the pages of robot heaven; false: the upstream serves them
    serve: bool = "true";
    /// URL path of robot heaven
    path: OwnPath = "/robot-heaven/";
    /// Directory of heaven pages; empty: a bundled page
    directory: String;
    /// Origin of heaven pages: files (heaven.directory), or database (generated on request from the
    /// site robot's descriptions)
    source: HeavenSource = "files";
    /// URL of the original site, such as https://www.example.com; empty: the first of server.hosts
    url: String;
    /// Name of the site on heaven pages; empty: its host
    name: String;
    /// Visitors that may read heaven: all; robots (human visitors are redirected to the
    /// original, once a minute); or verified (other robots get only title and summary); the last two need
    /// heaven.source = database. Pages read with a login are published only if this is set
    open_to: OpenTo = "all";
    /// Action for a heaven page with text that its original does not have for the site robot:
    /// report (by the run, doctor, the page Site robot and alerts), or withdraw (hide the page
    /// until both agree again; if many pages differ, none is hidden)
    parity: ParityAction = "report";
    /// Number of heaven pages compared with their originals after each run, chosen from pages that
    /// were not downloaded in full, longest unchecked pages first; 0: none
    parity_pages: u32 = "50", 0..=10_000;
    /// Whether a robot redirected to heaven.path is redirected to the heaven page of the requested
    /// page, if there is one; new pages in a published heaven.directory are found within seconds
    own_pages: bool = "true";
    /// Whether a Markdown file is published next to each heaven page in a directory; pages
    /// generated from the database are always available as Markdown
    markdown_files: bool = "false";
    /// Whether clients without cookie or password that prefer text/markdown (Accept header) get the
    /// Markdown of a page at its original URL, if the page is public and generated from the
    /// database; HTML responses of such pages get Vary: Accept
    markdown_for_agents: bool = "true";
}

section! {
    /// Redirects of robots from a page to its canonical URL.
    pub struct CanonicalSection, CanonicalKeys = "canonical." @site;
    /// Purposes of robots that are redirected (301) from a page to its canonical URL, without a
    /// request to the upstream, such as ai-training; empty: no redirects
    redirect: Vec<Purpose>;
    /// Verdicts of robots that are redirected to canonical URLs
    verdicts: Vec<Verdict> = "verified";
}

section! {
    /// Submission of changed pages to search engines by IndexNow.
    pub struct IndexNowSection, IndexNowKeys = "index_now." @site;
    /// Whether pages that a run has found new, changed or deleted are submitted to search engines
    /// by IndexNow; only public pages that the site robot reads without a login or signature
    active: bool = "false";
    /// IndexNow key of the site, 8 to 128 letters, digits and dashes, served at /KEY.txt; empty: a
    /// key generated in the database
    key: String;
    /// IndexNow URL for submissions, which informs all participating search engines
    endpoint: String = "https://api.indexnow.org/indexnow";
    /// Whether that URL may resolve to a private or local address
    private: bool = "false";
}

section! {
    /// URLs of the terms of each `[[license]]`.
    pub struct LicensingSection, LicensingKeys = "licensing." @site;
    /// Path of the RSL document with the terms of [[license]], such as /license.xml; empty: none. A
    /// robots.txt generated here contains its URL if server.hosts names this site
    rsl: String;
    /// Whether /.well-known/tdmrep.json is served, which reserves text and data mining for paths
    tdmrep: bool = "false";
}

section! {
    /// Files with the locations of addresses.
    pub struct GeoIpSection, GeoIpKeys = "geoip." @live;
    /// File in the MaxMind format (MMDB) with the autonomous systems of addresses, for rules with
    /// asns; reloaded when it changes
    asn_file: Option<PathBuf>;
    /// File in the MaxMind format (MMDB) with countries or cities, for rules with countries
    country_file: Option<PathBuf>;
}

section! {
    /// General settings of robots: registries, patterns, redirects.
    pub struct GeneralSection, GeneralKeys = "" @process;
    /// URL or path of the Web Robots Database's flat file; empty: not used
    web_robots_db was "WebRobotsDB": RegistryUrl = "http://www.robotstxt.org/db/all.txt";
    /// Paths from which robots are redirected: globs, `*` also matches `/`; empty: no filtering
    @site filter_patterns as "filter_pattern" was "FilterPattern": Vec<String> = "/members-only-stuff/*";
    /// Redirect target for robots: a path of this site or an http(s) URL; empty: only rules with
    /// their own target redirect
    @site redirect_url was "RedirectURL": String = "/robot-heaven/";
    /// Days between two refreshes of the robots table
    refresh_interval_days was "RefreshIntervalDays": u32 = "30", 1..=3_650;
    /// Status of the redirect: 301, 302, 303, 307 or 308
    @site redirect_status: u16 = "302", 301..=308;
    /// Methods for which robots are redirected; other methods pass
    @site redirect_methods: Vec<String> = "GET, HEAD";
    /// Purposes of robots that are redirected; unknown: robots without a known purpose, such as
    /// most unlisted robots; empty: all but library, automation, monitoring and preview
    @site redirect_purposes: Vec<Purpose>;
    /// Ids of robots that always pass, before all rules except live rules; unlisted: robots in no
    /// registry; nameless: clients without a User-Agent
    @site allow_robots: Vec<String>;
    /// Ids of robots that are redirected on every filtered path whatever their purpose, unless
    /// allowed
    @site deny_robots: Vec<String>;
    /// Whether decisions are enforced: on, or report for a dry run, in which all requests pass and
    /// decisions are only counted, logged and explained
    @site mode: Mode = "on";
    /// Whether the bundled registry is used in addition to others
    bundled_registry: bool = "true";
    /// Whether robots in no registry are detected by common features of their User-Agents
    @live unlisted_robots: bool = "true";
    /// Whether the configuration is reloaded when its file changes, as on SIGHUP
    @live reload_on_change: bool = "false";
    /// Directory for local files of an instance, such as a copy of the live rules; empty: that of
    /// the SQLite database, or else the working directory
    state_dir: Option<PathBuf>;
}

section! {
    /// Database of robots, descriptions and sessions.
    pub struct DatabaseSection, DatabaseKeys = "database." @process;
    /// Database: sqlite://FILE or postgres://USER@HOST/NAME
    url: DatabaseUrl = "sqlite://robot-detection.db";
    /// Maximum number of connections from this instance to PostgreSQL; an idle instance uses three
    max_connections: u32 = "10", 4..=1_000;
}

section! {
    /// Enforcement of robots.txt.
    pub struct EnforcementSection, EnforcementKeys = "robots_txt." @site;
    /// Whether robots.txt is enforced: off; report: violations are counted and pass; on: violations
    /// are answered with robots_txt.refusal
    enforce: EnforcementMode = "report";
    /// Response to a robot that requests a URL disallowed by robots.txt: "403", "429", redirect (to
    /// redirect_url), or pass
    refusal: Refusal = "403";
    /// Whether Crawl-delay is enforced, for each robot across all of its addresses: off, report, or
    /// on: status 429 with Retry-After
    enforce_crawl_delay: EnforcementMode = "report";
}

section! {
    /// Contents of /robots.txt; a `[[robots_txt.host]]` has the same keys.
    pub struct RobotsTxtSection, RobotsTxtKeys = "robots_txt." @site;
    /// Origin of /robots.txt: pass (the upstream's file), file (robots_txt.file), settings
    /// (generated from the settings below), or merge (these settings combined with the upstream's
    /// file)
    serve: RobotsTxtSource = "pass";
    /// robots.txt file to serve if robots_txt.serve is file
    file: String;
    /// Purposes of robots that are refused everything, including robot heaven, such as ai-training:
    /// in robots.txt by product token or name, and under any name if robots_txt.enforce is on
    refuse_purposes: Vec<Purpose>;
    /// Ids of robots that are refused everything, including robot heaven
    refuse_robots: Vec<String>;
    /// Paths disallowed for every robot: `*` matches any characters, a final `$` the path's end
    disallow: Vec<String>;
    /// Paths below disallowed ones that are allowed for every robot
    allow: Vec<String>;
    /// Seconds that robots should wait between two requests (Crawl-delay); 0: not set
    crawl_delay as "crawl_delay_seconds": Duration = "0", 0..=86_400;
    /// URLs of sitemaps; that of heaven.directory is added if server.hosts names this site
    sitemaps: Vec<String>;
    /// Content-Signal line of robots.txt, such as search=yes, ai-input=no, ai-train=no; empty: no
    /// line
    content_signal: String;
    /// Content-Usage lines of robots.txt (IETF draft): train-ai=n, search=y; a list gives several
    /// lines; a line may start with a path: /open/ train-ai=y
    content_usage: Lines;
    /// URLs of licences for the content, one License line (RSL) each; that of licensing.rsl is
    /// added if server.hosts names this site
    license: Lines;
}

section! {
    /// Requests that claim to be from a browser but look automated.
    pub struct SuspectsSection, SuspectsKeys = "suspects." @site;
    /// Action for suspects that no earlier rule passes: report (suspects are marked in logs, in
    /// metrics and for rules with suspect = true), heaven (a requested page is replaced by its
    /// heaven copy with a confirmation button for human visitors; passes without a copy), refuse
    /// (403), or off (no detection); for other actions, use a rule with suspect = true
    action: SuspectAction = "report";
    /// Response header in which the upstream reports a human visitor: yes or no, for ten minutes
    /// per address and User-Agent, if suspects are detected; removed from responses; empty: none
    person_header: Option<HeaderName> = "X-Robot-Detection-Person";
}

section! {
    /// Paths that human visitors cannot see and that robots.txt disallows.
    pub struct TrapsSection, TrapsKeys = "traps." @site;
    /// Whether each site has traps: secret paths that robots.txt disallows for all robots if this
    /// program serves or merges it; a client that requests a trap is a robot that ignores
    /// robots.txt. robot-detection traps prints the link for your pages
    active: bool = "false";
}

section! {
    /// Verification of robots' claims.
    pub struct VerifySection, VerifyKeys = "verify." @live;
    /// Whether robots' claims are verified; false: every claim is unverifiable
    enabled: bool = "true";
    /// Verification methods: ranges (published address lists), reverse-dns (confirmed host names),
    /// web-bot-auth (signed requests)
    methods: Vec<Method> = "ranges, reverse-dns, web-bot-auth";
    /// Action for spoofed robots unless an earlier rule matches: report (count and show them),
    /// refuse (403), or redirect (to redirect_url, if anything is filtered)
    spoofed: Spoofed = "report";
    /// DNS resolvers for host names of addresses, such as 9.9.9.9 or [::1]:5353; empty: those of
    /// the system
    dns_servers: Vec<Resolver>;
    /// Timeout of a DNS query, in seconds; requests wait for a result only if a rule requires it
    dns_timeout as "dns_timeout_seconds": Duration = "2", 1..=30;
    /// Hours between two downloads of an address list; only lists of robots that have made requests
    /// are downloaded
    ranges_interval_hours: u32 = "24", 1..=720;
    /// Whether private and local addresses of clients and key directories are accepted too, for
    /// tests and private networks
    allow_private_addresses: bool = "false";
}
