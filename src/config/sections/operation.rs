//! Faces for administrators and other proxies: `[operation]`, `[admin]`, `[check]`, `[traffic]`, `[access_log]`, `[otel]` and `[log]`.

use std::path::PathBuf;
use std::time::Duration;

use chrono_tz::Tz;
use http::HeaderName;

use crate::access_log::LineFormat;
use crate::alerts::Secret;
use crate::config::section::section;
use crate::config::types::{FailMode, LogFilter, OwnPath, ProxyNetworks, UnixMode};
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

section! {
    /// Listeners, the servers behind the proxy, and limits.
    pub struct ServerSection, ServerKeys = "server." @process;
    /// Where visitors reach the server: addresses with ports, unix:PATH, systemd or systemd:NAME;
    /// with TLS or the PROXY protocol: [[listener]]
    listen: Vec<ListenAddr> = "127.0.0.1:8080";
    /// Threads that serve visitors; 0: one for each processor
    workers: usize = "0", 0..=1_024;
    /// Permissions of the files of Unix sockets
    unix_socket_mode: UnixMode = "660";
    /// Servers behind the proxy, one or several that serve the same: http(s)://HOST:PORT,
    /// h2c://HOST:PORT or unix:/PATH; empty: the demonstration site
    @site upstream: Vec<String>;
    /// Whether HTTP/2 is offered to servers behind https://; h2c:// speaks it always
    @site upstream_http2: bool = "false";
    /// File of certificates (PEM) of the authorities that servers behind https:// are believed by;
    /// empty: the system's
    @site upstream_ca_file: Option<PathBuf>;
    /// Whether ; and what follows it belong to no name in a path, as Tomcat, Jetty and other servlet
    /// containers read it. Rules, filter patterns and robots.txt follow; a backslash is then a slash
    @site path_parameters: bool = "false";
    /// Whether the case of letters makes no difference in paths, as for IIS on Windows. Rules, filter
    /// patterns and robots.txt follow; a backslash is then a slash
    @site ignore_case: bool = "false";
    /// Path that each server is asked for to see whether it is well (status 200 to 399); empty:
    /// only requests show it
    @site health_path: String;
    /// Seconds between two such checks of a server
    @site health_interval as "health_interval_seconds": Duration = "10";
    /// Names of this site: an absolute redirect_url on one of them is no loop, and the admin page
    /// answers to them alone; empty: any
    hosts: Vec<String>;
    /// Networks whose X-Forwarded-For, Forwarded and PROXY headers are believed, such as
    /// 10.0.0.0/8, unix: for Unix sockets, cloudflare and fastly for what these publish, and
    /// list:NAME for a [[list]]; empty: nobody's
    trusted_proxies: ProxyNetworks;
    /// The one header in which trusted proxies name the visitor: X-Forwarded-For, Forwarded, or one
    /// with a single address such as CF-Connecting-IP; empty: X-Forwarded-For or Forwarded,
    /// whichever the proxy sends without the other; a request in which both name different visitors
    /// is refused
    client_address_header: Option<HeaderName>;
    /// Whether the upstream gets the visitor's Host; false: its own
    @site preserve_host: bool = "true";
    /// Seconds to connect to the upstream
    @site connect_timeout as "connect_timeout_seconds": Duration = "5";
    /// Seconds until the upstream's response begins
    // As nginx's proxy_read_timeout.
    @site response_timeout as "response_timeout_seconds": Duration = "60";
    /// Seconds that an upstream's response may stand still once it has begun
    @site upstream_idle_timeout as "upstream_idle_timeout_seconds": Duration = "300";
    /// Seconds in which a visitor's request head must be complete
    header_timeout as "header_timeout_seconds": Duration = "10";
    /// Seconds after which an idle connection is closed, and one whose client does not read or
    /// sends less than 1 KiB of a body
    // As nginx's keepalive_timeout.
    idle_timeout as "idle_timeout_seconds": Duration = "75";
    /// Seconds that requests under way get to end at shutdown
    drain_timeout as "drain_timeout_seconds": Duration = "30";
    /// Seconds at shutdown in which /readyz says so and requests are still taken, before the
    /// listeners close
    drain_delay as "drain_delay_seconds": Duration = "0", 0..=3_600;
    /// Connections at the same time of each listener; further ones wait
    max_connections: usize = "10000", 1..=1_000_000;
    /// Connections at the same time of one address (IPv6: of a /64); further ones are closed;
    /// trusted proxies have no limit; 0: nobody has
    max_connections_per_address: usize = "0", 0..=1_000_000;
    /// Headers of a request; more are answered with 431
    // As hyper, and Apache's LimitRequestFields.
    max_headers: usize = "100", 1..=10_000;
    /// Bytes of a request's head; more are answered with 431
    // As the four buffers of nginx's large_client_header_buffers; hyper panics below 8192.
    max_header_bytes: usize = "32768", 8_192..=1_048_576;
    /// Bytes of one line of a request's head, its target too; more are answered with 431 or 414
    // As one of these buffers, and within a few bytes of Apache's LimitRequestLine.
    max_header_line_bytes: usize = "8192", 1_024..=1_048_576;
    /// Bytes of a request's body; more are answered with 413, or cut where the length is not told;
    /// 0: no limit
    max_body_bytes: u64 = "0", 0..=1_000_000_000_000_000;
    /// Read requests without a body by a parser of our own, and header lines that a server repeats
    /// by comparison; "false" leaves all to the ordinary parsers, with the same answers, to find
    /// out whether this is at fault
    fast_path: bool = "true";
}
