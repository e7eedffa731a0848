//! `[site_robot]`.

use std::path::PathBuf;

use crate::config::{
    Schedule,
    section::section,
    types::{Depth, RobotLines, SiteUrl, StartingPoint},
};
use crate::filter::CommandLine;
use crate::site_robot::source::Credentials;

section! {
    /// The site robot.
    pub struct SiteRobotSection, SiteRobotKeys = "site_robot." @site;
    /// URLs at which the site robot begins; empty: it visits nothing
    starting_points: Vec<StartingPoint>;
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
    /// Directory that heaven is published into after a run, such as that of heaven.directory;
    /// empty: none, it is served from the database
    publish: Option<PathBuf>;
    /// How it logs in at its starting points: bearer TOKEN, cookie NAME=VALUE or basic
    /// NAME:PASSWORD; empty: as robot.conf says
    login: Option<Credentials>;
    /// robot.conf with all its other settings; empty: none
    robot_conf: String;
    /// Lines of robot.conf that count before those of the file, such as server-delay=2
    robot: RobotLines;
    /// filter.conf with its filters; empty: those that come with the program
    filter_conf: String;
    /// Programs that make HTML of documents, from standard input to standard output: TYPE=PROGRAM
    /// ARGUMENTS
    converters: Vec<(String, CommandLine)>;
    /// File of the Ed25519 key with which it signs its requests (Web Bot Auth), made if it is not
    /// there; empty: it signs none
    signing_key: Option<PathBuf>;
    /// Site that serves the directory of that key, such as https://www.example.com; empty: that of
    /// the first starting point
    signature_agent: String;
}
