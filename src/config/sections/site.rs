//! `[heaven]`.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderName;

use crate::config::section::section;
use crate::config::types::{
    DatabaseUrl, HeavenSource, Lines, Mode, OpenTo, OwnPath, ParityAction, RegistryUrl, Resolver,
    RobotsTxtSource, SuspectAction,
};
use crate::detect::Verdict;
use crate::policy::{Enforce, Refusal, Spoofed};
use crate::registry::Purpose;
use crate::verify::Method;

section! {
    /// Robot heaven.
    pub struct HeavenSection, HeavenKeys = "heaven." @site;
    /// Whether this program serves the pages of robot heaven; false: the upstream does
    serve: bool = "true";
    /// Path under which they are served
    path: OwnPath = "/robot-heaven/";
    /// Directory of the pages; empty: the page that comes with the program
    directory: String;
    /// Where the pages come from: files (heaven.directory), or database (made from the site robot's
    /// descriptions as they are asked for)
    source: HeavenSource = "files";
    /// URL of the site that the pages are about, such as https://www.example.com; empty: the first
    /// of server.hosts
    url: String;
    /// Name of the site on these pages; empty: its host
    name: String;
    /// Who may read them: everybody; robots (people are sent to the original of a page, once a minute);
    /// or verified (robots that are not proven get title and lead); the last two need pages from
    /// the database. What the site robot reads with a login is published only once this is set
    open_to: OpenTo = "everybody";
    /// What becomes of a page that says what its original, as the site robot gets it, does not: report
    /// (the run, doctor, the page Site robot and alerts tell it), or withdraw (it is not shown either
    /// until it agrees again; where many would go, none does)
    parity: ParityAction = "report";
    /// Pages that are compared with their originals after each run, of those that it has not fetched
    /// as wholes, and those first that were compared longest ago; 0: none
    parity_pages: u32 = "50", 0..=10_000;
    /// Whether a robot that is sent to heaven.path, by redirect_url or by a rule, is redirected to
    /// the page made from the one it asked for, where there is one; pages of a heaven.directory
    /// that is published to are known within seconds
    own_pages: bool = "true";
    /// Whether heaven that the site robot publishes as files has one in Markdown beside each page;
    /// pages made from the database always have one
    markdown_files: bool = "false";
    /// Whether whoever prefers text/markdown (Accept), with neither cookie nor password, gets the
    /// Markdown of a page at its original URL, where the page is made from the database and opens
    /// without a login; HTML of such pages gets Vary: Accept
    markdown_for_agents: bool = "true";
}

section! {
    /// Robots that are sent to the URL which a page names as its canonical one.
    pub struct CanonicalSection, CanonicalKeys = "canonical." @site;
    /// Purposes of the robots that are sent from a page to its canonical URL (301) before the upstream is
    /// asked, such as ai-training; empty: none
    redirect: Vec<Purpose>;
    /// Verdicts on them; others get what everybody gets
    verdicts: Vec<Verdict> = "verified";
}

section! {
    /// Search engines are told which pages have changed.
    pub struct IndexNowSection, IndexNowKeys = "index_now." @site;
    /// Whether search engines are told by IndexNow which pages a run has found new, changed or gone; pages
    /// alone that open to all, where the site robot neither logs in nor signs its requests
    active: bool = "false";
    /// Key by which they know the site, 8 to 128 letters, digits and dashes, which this program serves
    /// at /KEY.txt; empty: one of the database's own
    key: String;
    /// URL that is told; it tells all search engines that take part
    endpoint: String = "https://api.indexnow.org/indexnow";
    /// Whether that URL may have an address of a private network or of this machine
    private: bool = "false";
}

section! {
    /// Where the terms of each `[[license]]` are served.
    pub struct LicensingSection, LicensingKeys = "licensing." @site;
    /// Path at which the terms of [[license]] are served as RSL, such as /license.xml; empty: at
    /// none. Where robots.txt is made here and server.hosts names this site, it is named there
    rsl: String;
    /// Whether /.well-known/tdmrep.json says for which paths text and data mining is reserved
    tdmrep: bool = "false";
}

section! {
    /// Files that tell where addresses are.
    pub struct PlacesSection, PlacesKeys = "places." @live;
    /// File in the MaxMind format (MMDB) that tells the autonomous systems of addresses, for
    /// rules with asns; read again when it changes
    asn_file: Option<PathBuf>;
    /// The same of countries, or of cities, for rules with countries
    country_file: Option<PathBuf>;
}

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

section! {
    /// People whose requests are not those of the browser that they name.
    pub struct SuspectsSection, SuspectsKeys = "suspects." @site;
    /// What is done with suspects that no rule before lets pass: report (they are marked, in
    /// logs, metrics and for rules with suspect = true), heaven (who opens a page gets robot heaven's
    /// copy of it in its place, with a button for people; where there is none he passes), refuse
    /// (403), or off (nobody is looked at); other actions: a rule with suspect = true
    action: SuspectAction = "report";
    /// Response header by which the upstream says who is a person: yes or no, for ten minutes and
    /// that address and User-Agent, where suspects are looked for; nobody else sees it; empty: none
    person_header: Option<HeaderName> = "X-Robot-Detection-Person";
}

section! {
    /// Paths that no person is shown and robots.txt closes.
    pub struct TrapsSection, TrapsKeys = "traps." @site;
    /// Whether each site has traps: paths of this installation's own that robots.txt closes to everybody
    /// where this program serves or merges it; whoever asks for one shows that it is a robot which does not
    /// keep to that. The pages' link to them: robot-detection traps
    active: bool = "false";
}

section! {
    /// Proofs of who a robot is.
    pub struct VerifySection, VerifyKeys = "verify." @live;
    /// Whether it is proven that robots are who they say; false: every claim is unverifiable
    enabled: bool = "true";
    /// How: ranges (lists of addresses that operators publish), reverse-dns (host names, confirmed
    /// forward), web-bot-auth (signed requests)
    methods: Vec<Method> = "ranges, reverse-dns, web-bot-auth";
    /// What is done with robots that are proven not to be who they say, unless a rule before says
    /// otherwise: report (counted and shown), refuse (403), or redirect (to redirect_url, where
    /// anything is filtered)
    spoofed: Spoofed = "report";
    /// Resolvers that are asked for names of addresses, such as 9.9.9.9 or [::1]:5353; empty: the
    /// system's
    dns_servers: Vec<Resolver>;
    /// Seconds that one query to a resolver may take; no request waits for it, unless a rule says
    /// so
    dns_timeout as "dns_timeout_seconds": Duration = "2", 1..=30;
    /// Hours between two downloads of a list of addresses; only lists of robots that came are
    /// downloaded
    ranges_interval_hours: u32 = "24", 1..=720;
    /// Whether clients and key directories with addresses that are not public are looked at too,
    /// for tests and networks of one's own
    allow_private_addresses: bool = "false";
}
