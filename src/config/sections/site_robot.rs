//! `[site_robot]`.

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
    /// URLs at which the site robot begins; empty: it visits nothing
    starting_points: Vec<StartingPoint>;
    /// Directory beneath which starting points may be files, file:///srv/documents/a.html beneath
    /// /srv/documents; symbolic links and names that begin with a dot are not read, and no page
    /// leads to a file; empty: no file is read
    file_root: Option<PathBuf>;
    /// URL by which visitors know the site, such as https://www.example.com, where the robot begins
    /// at its upstream: pages are described as of there; empty: heaven.url or the first of
    /// server.hosts, for starting points at server.upstream
    public_url: Option<SiteUrl>;
    /// Links that it follows from a starting point; -1: any number; where it is not set, depth of
    /// robot.conf counts
    depth: Depth = "10", -1..=4_294_967_295;
    /// Paths of which one must begin what it visits; empty: any
    only_below: Vec<String>;
    /// Paths that it keeps away from, beside those of heaven and of the admin page
    never_below: Vec<String>;
    /// Parameters that say nothing of a page, without which its URL is known; one with * at its end
    /// stands for all that begin so, and usual for those of analytics and advertisements: utm_*,
    /// gclid, fbclid, msclkid and their like
    tracking_parameters: Vec<String> = "usual";
    /// When it runs, as a cron expression in UTC: minute, hour, day, month, day of the week, such
    /// as 30 3 * * *; onCompletion=loop keeps to it, and pauses for an hour without it; empty: only
    /// when asked
    schedule: Option<Schedule>;
    /// Pages that are asked for in a run, those first that change often, or that a sitemap says are
    /// newer; the others stay as they are, and new ones wait for the next run; 0: all
    requests_per_run: u64 = "0", 0..=1_000_000_000;
    /// Directory that heaven is published into after a run, such as that of heaven.directory;
    /// empty: none, it is served from the database
    publish: Option<PathBuf>;
    /// How it logs in at its starting points: bearer TOKEN, cookie NAME=VALUE or basic
    /// NAME:PASSWORD; empty: as robot.conf says
    login: Option<Credentials>;
    /// URL of the page with the form by which it logs in, https or this machine, such as
    /// https://www.example.com/login; the form goes to that site only; empty: no form
    login_form: String;
    /// Fields of that form that it fills in beside the password, NAME=VALUE, such as
    /// user=site-robot; hidden fields are sent as they came
    login_fields: FormFields;
    /// Field of that form for the password
    login_password_field: String = "password";
    /// File with the password and nothing else, which only the program's user may read
    login_password_file: Option<PathBuf>;
    /// Password, for the environment (ROBOT_DETECTION_SITE_ROBOT_LOGIN_PASSWORD); in a file it is
    /// better by login_password_file
    login_password: Option<Secret>;
    /// Hidden field of that form without whose value nothing is sent (CSRF), such as csrf_token;
    /// empty: none
    login_token_field: String;
    /// robot.conf with all its other settings; empty: none
    robot_conf: String;
    /// Lines of robot.conf that count before those of the file, such as server-delay=2
    robot: RobotLines;
    /// Hosts whose robots.txt is obeyed always or never, HOST=always, HOST=never or HOST=inherit;
    /// inherit, as for all others, is enable-robots-txt of robot.conf
    robots_txt_of: HostRobots;
    /// filter.conf with its filters; empty: those that come with the program
    filter_conf: String;
    /// Programs that make HTML of documents, from standard input to standard output: TYPE=PROGRAM
    /// ARGUMENTS
    converters: Vec<(String, CommandLine)>;
    /// Which pages are read as scripts make them: never, empty (those that have scripts and no
    /// words) or always; a browser runs the scripts, Chromium with its sandbox, in a process of its
    /// own, and gets GET and HEAD on the run's hosts and nothing else
    render: Rendering = "never";
    /// That browser, a path or the name of a program; empty: chromium
    browser: Option<PathBuf>;
    /// File of the Ed25519 key with which it signs its requests (Web Bot Auth), made if it is not
    /// there; empty: it signs none
    signing_key: Option<PathBuf>;
    /// Site that serves the directory of that key, such as https://www.example.com; empty: that of
    /// the first starting point
    signature_agent: String;
}
