//! Settings of the site robot: `[site_robot]`.

use std::path::PathBuf;

use crate::alerts::Secret;
use crate::config::{
    Schedule,
    section::section,
    types::{Depth, FormFields, HostRobots, RobotLines, SiteUrl, StartingPoint},
};
use crate::filter::CommandLine;
use crate::site_robot::{Rendering, source::Credentials};

section! {
    /// The site robot.
    pub struct SiteRobotSection, SiteRobotKeys = "site_robot." @site;
    /// URLs at which the site robot starts; empty: no visits
    starting_points: Vec<StartingPoint>;
    /// Directory with files for starting points, such as file:///srv/documents/a.html below
    /// /srv/documents; symbolic links and names beginning with a dot are not read, and links from
    /// pages to files are not followed; empty: no files are read
    file_root: Option<PathBuf>;
    /// Public URL of the site, such as https://www.example.com, under which pages are described if
    /// the site robot visits the upstream; empty: heaven.url or the first of server.hosts, for
    /// starting points at server.upstream
    public_url: Option<SiteUrl>;
    /// Maximum number of links to follow from a starting point; -1: no limit; if not set, depth of
    /// robot.conf applies
    depth: Depth = "10", -1..=4_294_967_295;
    /// Path prefixes to visit; empty: all paths
    only_below: Vec<String>;
    /// Path prefixes not to visit, in addition to the paths of heaven and the admin page
    never_below: Vec<String>;
    /// URL parameters that do not change a page and are removed from its URL; a final * matches any
    /// ending; usual: common parameters of analytics and advertisements such as utm_*, gclid,
    /// fbclid and msclkid
    tracking_parameters: Vec<String> = "usual";
    /// Schedule of runs as a cron expression in UTC: minute, hour, day, month, day of the week,
    /// such as 30 3 * * *; onCompletion=loop follows it, or pauses for an hour without it; empty:
    /// only on request
    schedule: Option<Schedule>;
    /// Maximum pages per run, first those that change often or are newer according to a sitemap;
    /// other pages stay unchanged, new ones wait for the next run; 0: no limit
    requests_per_run: u64 = "0", 0..=1_000_000_000;
    /// Directory to publish heaven to after a run, such as that of heaven.directory; empty: heaven
    /// is served from the database
    publish: Option<PathBuf>;
    /// Login at the starting points: bearer TOKEN, cookie NAME=VALUE or basic NAME:PASSWORD; empty:
    /// as in robot.conf
    login: Option<Credentials>;
    /// URL of the page with the login form, over https or on this machine, such as
    /// https://www.example.com/login; the form is only sent to that site; empty: no form
    login_form: String;
    /// Fields of the login form in addition to the password, NAME=VALUE, such as user=site-robot;
    /// hidden fields are sent unchanged
    login_fields: FormFields;
    /// Password field of the login form
    login_password_field: String = "password";
    /// File with only the login password, readable only by the program's user
    login_password_file: Option<PathBuf>;
    /// Login password, for use in the environment (ROBOT_DETECTION_SITE_ROBOT_LOGIN_PASSWORD); in a
    /// file, prefer login_password_file
    login_password: Option<Secret>;
    /// Hidden field of the login form whose value is required (CSRF token), such as csrf_token;
    /// empty: none
    login_token_field: String;
    /// robot.conf file with all other settings; empty: none
    robot_conf: String;
    /// Lines of robot.conf that override the file, such as server-delay=2
    robot: RobotLines;
    /// Hosts whose robots.txt is always or never obeyed: HOST=always, HOST=never or HOST=inherit;
    /// inherit and other hosts use enable-robots-txt of robot.conf
    robots_txt_by_host: HostRobots;
    /// filter.conf file with filters; empty: the bundled filters
    filter_conf: String;
    /// Programs that convert documents to HTML, from standard input to standard output:
    /// TYPE=PROGRAM ARGUMENTS
    converters: Vec<(String, CommandLine)>;
    /// Pages whose scripts are run in a browser: never, empty (pages with scripts but no text) or
    /// always; the browser, Chromium with its sandbox, runs in its own process and may only send
    /// GET and HEAD requests to the run's hosts
    render: Rendering = "never";
    /// Browser for rendering, a path or program name; empty: chromium
    browser: Option<PathBuf>;
    /// File of the Ed25519 key that signs the site robot's requests (Web Bot Auth), created if
    /// missing; empty: requests are not signed
    signing_key: Option<PathBuf>;
    /// Site that serves the key directory, such as https://www.example.com; empty: that of the
    /// first starting point
    signature_agent: String;
}
