//! Faces for administrators and other proxies: `[operation]`, `[admin]`, `[check]`, `[traffic]`, `[access_log]`, `[otel]` and `[log]`.

use std::path::PathBuf;

use chrono_tz::Tz;

use crate::access_log::LineFormat;
use crate::alerts::Secret;
use crate::config::{
    section::section,
    types::{FailMode, LogFilter, OwnPath},
};
use crate::listen::ListenAddr;
use crate::store::KeptAddresses;
use crate::telemetry::LogFormat;

section! {
    /// Health checks and metrics.
    pub struct OperationSection, OperationKeys = "operation." @process;
    /// Address and port of the listener for /healthz, /readyz and /metrics; if the port is in use,
    /// the server starts without it. If admin.listen has the same port, admin.listen serves both.
    /// Empty: only admin.listen serves them
    listen: Option<ListenAddr> = "127.0.0.1:9180";
}

section! {
    /// The admin page.
    pub struct AdminSection, AdminKeys = "admin." @process;
    /// Path of the admin page
    path: OwnPath = "/robot-detection/admin";
    /// Whether there is an admin page
    enabled: bool = "true";
    /// Address and port of a listener for the admin page, /healthz, /readyz and /metrics alone;
    /// empty: the admin page is on server.listen
    listen: Option<ListenAddr>;
    /// Whether rules can be made and enforcement paused while the server runs, on the admin page, by
    /// its JSON and by the command rules; false: those that were made are not judged
    rules: bool = "true";
    /// Time zone in which pages show times, by its IANA name, such as Europe/Berlin
    time_zone: Tz = "UTC";
    /// File with the administrator's first password, of 12 characters or more; empty: serve makes one,
    /// and prints it on a terminal or writes it to the file admin-password in state_dir. A password
    /// that is set already stays
    password_file: Option<PathBuf>;
    /// Whether the session cookie is sent over https only; set it when the site has https
    secure_cookies: bool = "false";
}

section! {
    /// The decision endpoint, which a proxy of another kind in front of the site asks.
    pub struct CheckSection, CheckKeys = "check." @process;
    /// Where other proxies ask what becomes of a request: unix:PATH, or an address and a port,
    /// which needs check.token; empty: nowhere. The proxy's file: robot-detection proxy-config
    listen: Option<ListenAddr>;
    /// Secret that they send (X-Robot-Detection-Token); on a Unix socket, whose permissions say who
    /// may ask, it may be empty
    token: Option<Secret>;
    /// Treatment of requests by a proxy while robot-detection is away or slow: closed refuses them,
    /// open passes them to the site. After a change, print the proxy's file again
    fails: FailMode = "closed";
    /// Whether requests that are asked about are counted here, without what only an answer shows
    /// (status, bytes, time); false: by the proxy's log (robot-detection traffic import --follow)
    count: bool = "true";
}

section! {
    /// What is counted of visitors.
    pub struct TrafficSection, TrafficKeys = "traffic." @process;
    /// Whether requests, bytes and time are kept in the database, summed up by minute (for 48
    /// hours), hour (for 35 days) and day, without addresses
    keep: bool = "true";
    /// Whether the pages that are asked for most are kept too, of robots their paths, of people
    /// only patterns such as /docs/guide/* without ids; by hour (for 48 hours) and day (for 400
    /// days), with traffic.keep
    paths: bool = "true";
    /// Days for which requests that did not simply pass are kept one by one: redirects, refusals,
    /// impostors, violations of robots.txt; 0: none are
    evidence_days: u32 = "30", 0..=3_650;
    /// How much of their addresses: robots (whole of who says that he is a listed robot, /24 and
    /// /48 of everybody else), whole, networks (/24 and /48 of all) or none
    addresses: KeptAddresses = "robots";
    /// Whether fleets of robots that say they are browsers are looked for, and addresses that behave
    /// as no person does: reported on the console, in memory, four MiB at most
    fleets: bool = "false";
}

section! {
    /// The access log.
    pub struct AccessLogSection, AccessLogKeys = "access_log." @process;
    /// File that a line for every request is added to, with robot and decision; -: standard output;
    /// empty: none
    path: String;
    /// Format of the access log: common, combined or json
    format: LineFormat = "combined";
}

section! {
    /// Traces.
    pub struct OtelSection, OtelKeys = "otel." @process;
    /// URL that traces are posted to, such as http://127.0.0.1:4318/v1/traces, by a program built
    /// with the feature otel; empty: none
    endpoint: String;
}

section! {
    /// The log of the program itself.
    pub struct LogSection, LogKeys = "log." @process;
    /// Level of the log: error, warn, info, debug, trace, or a filter such as robot_detection=debug
    level: LogFilter = "info";
    /// Format of the log: text or json
    format: LogFormat = "text";
}
