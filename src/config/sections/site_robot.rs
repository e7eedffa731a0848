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
    /// Settings for the site robot.
    pub struct SiteRobotSection, SiteRobotKeys = "site_robot." @site;
    /// URLs at which the site robot starts; empty: no visits
    starting_points: Vec<StartingPoint>;
    /// Directory that contains the files for starting points with file: URLs:
    /// file:///srv/documents/a.html requires /srv/documents. Symbolic links and names that begin
    /// with a dot are not read, and links from pages to files are not followed; empty: no files are
    /// read
    file_root: Option<PathBuf>;
    /// Public URL of the site, such as https://www.example.com, to use in descriptions if the site
    /// robot visits the upstream directly; empty: for starting points at server.upstream,
    /// heaven.url or the first host of server.hosts
    public_url: Option<SiteUrl>;
    /// Maximum number of links to follow from a starting point; -1: no limit; if not set, the depth
    /// setting of robot.conf applies
    depth: Depth = "10", -1..=4_294_967_295;
    /// Path prefixes to visit; empty: all paths
    only_below: Vec<String>;
    /// Path prefixes not to visit, in addition to the paths of heaven and the admin page
    never_below: Vec<String>;
    /// URL parameters to remove because they do not affect the page; a final * matches any ending;
    /// usual: common analytics and advertising parameters such as utm_*, gclid, fbclid and msclkid
    tracking_parameters: Vec<String> = "usual";
    /// Schedule of runs as a cron expression in UTC (minute, hour, day, month, day of the week),
    /// such as 30 3 * * *; empty: runs only on request, or one hour after the last run if
    /// robot.conf sets onCompletion=loop
    schedule: Option<Schedule>;
    /// Maximum number of pages per run, starting with pages that change often or are newer
    /// according to a sitemap; the descriptions of other pages are kept, and new pages wait for the
    /// next run; 0: no limit
    requests_per_run: u64 = "0", 0..=1_000_000_000;
    /// Directory in which heaven is published after each run, usually the same as heaven.directory;
    /// empty: heaven is served from the database
    publish: Option<PathBuf>;
    /// Credentials for the starting points: bearer TOKEN, cookie NAME=VALUE or basic NAME:PASSWORD;
    /// empty: the credentials in robot.conf
    login: Option<Credentials>;
    /// URL of the page that contains the login form, such as https://www.example.com/login; must
    /// use https unless the host is this machine; the form is sent only to the same site; empty: no
    /// form
    login_form: String;
    /// Fields of the login form other than the password, as NAME=VALUE, such as user=site-robot;
    /// hidden fields are sent unchanged
    login_fields: FormFields;
    /// Name of the password field in the login form
    login_password_field: String = "password";
    /// File that contains only the login password; should be readable only by the user that runs
    /// the server
    login_password_file: Option<PathBuf>;
    /// Login password, preferably set by the environment variable
    /// ROBOT_DETECTION_SITE_ROBOT_LOGIN_PASSWORD; in a configuration file, use login_password_file
    /// instead
    login_password: Option<Secret>;
    /// Name of the hidden field in the login form that must have a value (CSRF token), such as
    /// csrf_token; empty: none
    login_token_field: String;
    /// robot.conf file that contains all other settings of the site robot; empty: none
    robot_conf: String;
    /// Settings in robot.conf syntax that override the robot.conf file, such as server-delay=2
    robot: RobotLines;
    /// Hosts whose robots.txt is always or never obeyed: HOST=always, HOST=never or HOST=inherit;
    /// inherit applies enable-robots-txt of robot.conf, as for hosts that are not listed
    robots_txt_by_host: HostRobots;
    /// filter.conf file; empty: the bundled filters
    filter_conf: String;
    /// Programs that convert documents to HTML, as TYPE=PROGRAM ARGUMENTS; a program reads the
    /// document from standard input and writes HTML to standard output
    converters: Vec<(String, CommandLine)>;
    /// Pages whose scripts are run in a browser: never, empty (pages with scripts but no text) or
    /// always. The browser (Chromium with its sandbox) runs in a separate process and can send only
    /// GET and HEAD requests to the hosts of the run
    render: Rendering = "never";
    /// Browser that renders pages, as a path or program name; empty: chromium
    browser: Option<PathBuf>;
}
