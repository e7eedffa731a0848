//! Settings of the server and of interfaces for administrators and other proxies.

use std::path::PathBuf;
use std::time::Duration;

use chrono_tz::Tz;
use http::HeaderName;

use crate::access_log::LineFormat;
use crate::alerts::Secret;
use crate::config::section::section;
use crate::config::types::{FailMode, LogFilter, OwnPath, ProxyNetworks, QueryNames, UnixMode};
use crate::listen::ListenAddr;
use crate::store::AddressRetention;
use crate::telemetry::LogFormat;

section! {
    /// Settings for health checks and metrics.
    pub struct OperationSection, OperationKeys = "operation." @process;
    /// Address and port on which to serve /healthz, /readyz and /metrics. If the port is in use,
    /// the server starts without this listener. If admin.listen uses the same port, it also serves
    /// these paths. Empty: only admin.listen serves these paths
    listen: Option<ListenAddr> = "127.0.0.1:9180";
}

section! {
    /// Settings for the admin page.
    pub struct AdminSection, AdminKeys = "admin." @process;
    /// URL path of the admin page
    path: OwnPath = "/robot-detection/admin";
    /// Whether the admin page is served
    enabled: bool = "true";
    /// Address and port of a separate listener that serves only the admin page, /healthz, /readyz
    /// and /metrics; empty: server.listen serves the admin page
    listen: Option<ListenAddr>;
    /// Whether live rules can be added and enforcement can be paused at run time, on the admin
    /// page, through its JSON API and with robot-detection rules; false: existing live rules are
    /// also ignored
    rules: bool = "true";
    /// Time zone in which the admin page shows times, as an IANA name such as Europe/Berlin
    time_zone: Tz = "UTC";
    /// File that contains the initial administrator password (at least 12 characters). Empty: serve
    /// generates a password and prints it to the terminal, or writes it to the file admin-password
    /// in state_dir. An existing password is not changed
    password_file: Option<PathBuf>;
    /// Whether the session cookie is sent only over https; set to true if the site uses https
    secure_cookies: bool = "false";
}

section! {
    /// Settings for the decision endpoint, which a front proxy such as nginx queries for each
    /// request.
    pub struct CheckSection, CheckKeys = "check." @process;
    /// Address of the decision endpoint for front proxies: unix:PATH, or IP:PORT, which requires
    /// check.token; empty: no endpoint. To print the proxy's configuration, run robot-detection
    /// proxy-config
    listen: Option<ListenAddr>;
    /// Secret that front proxies send in X-Robot-Detection-Token; may be empty for a Unix socket,
    /// because its file permissions control access
    token: Option<Secret>;
    /// Behaviour of front proxies while robot-detection does not respond: closed (requests are
    /// refused) or open (requests are passed to the site). After a change, print the proxy's
    /// configuration again
    fails: FailMode = "closed";
    /// Whether queries from front proxies are counted as requests, without response data (status,
    /// bytes, time); set to false if you import the proxy's log (robot-detection traffic import
    /// --follow)
    count: bool = "true";
}

section! {
    /// Settings for request counters and stored requests.
    pub struct TrafficSection, TrafficKeys = "traffic." @process;
    /// Whether the database stores the number of requests, bytes and response times, without client
    /// addresses: by minute (kept for 48 hours), by hour (kept for 35 days) and by day
    keep: bool = "true";
    /// Whether the most requested pages are also stored, by hour (kept for 48 hours) and by day
    /// (kept for 400 days). For robots, full paths are stored; for human visitors, only patterns
    /// without ids, such as /docs/guide/*. Requires traffic.keep
    paths: bool = "true";
    /// Number of days to store individual requests that did not simply pass: redirected or refused
    /// requests, spoofed robots, violations of robots.txt; 0: no requests are stored
    evidence_days: u32 = "30", 0..=3_650;
    /// Client addresses to store with individual requests: robots (full addresses of listed robots,
    /// /24 and /48 networks of other clients), whole (full addresses), networks (/24 and /48) or
    /// none
    addresses: AddressRetention = "robots";
    /// Whether to detect fleets of robots that claim to be browsers, and addresses with automated
    /// behaviour; results are shown in the console; uses up to 4 MiB of memory
    fleets: bool = "false";
}

section! {
    /// Settings for the access log.
    pub struct AccessLogSection, AccessLogKeys = "access_log." @process;
    /// Access log file; each line shows a request, its robot and the decision; -: standard output;
    /// empty: no access log
    path: String;
    /// Format of the access log: common, combined or json
    format: LineFormat = "combined";
}

section! {
    /// Settings for the program's own log.
    pub struct LogSection, LogKeys = "log." @process;
    /// Log level: error, warn, info, debug, trace, or a filter such as robot_detection=debug
    level: LogFilter = "info";
    /// Log format: text or json
    format: LogFormat = "text";
}

section! {
    /// Settings for listeners, upstream servers, and limits.
    pub struct ServerSection, ServerKeys = "server." @process;
    /// Addresses to listen on: IP:PORT or unix:PATH; for TLS or the PROXY protocol, use [[listener]]
    listen: Vec<ListenAddr> = "127.0.0.1:8080";
    /// Number of worker threads; 0: one per processor
    workers: usize = "0", 0..=1_024;
    /// File with texts that replace those of error pages, the confirmation form and heaven, by
    /// language; empty: the built-in texts
    texts_file: Option<PathBuf>;
    /// File permissions of Unix sockets
    unix_socket_mode: UnixMode = "660";
    /// Upstream servers, which must have the same content: http(s)://HOST:PORT, h2c://HOST:PORT or
    /// unix:/PATH; empty: a demonstration site is served
    @site upstream: Vec<String>;
    /// Whether HTTP/2 is offered to https:// upstreams; h2c:// upstreams always use HTTP/2
    @site upstream_http2: bool = "false";
    /// File with the certificates (PEM) of the certificate authorities trusted for https://
    /// upstreams; empty: the system's certificate authorities
    @site upstream_ca_file: Option<PathBuf>;
    /// Whether path segments end at a semicolon, as in Tomcat, Jetty and other servlet containers;
    /// a backslash is then treated as a slash. Applies to rules, filter patterns and robots.txt
    @site path_parameters: bool = "false";
    /// Whether paths are case-insensitive, as in IIS on Windows; a backslash is then treated as a
    /// slash. Applies to rules, filter patterns and robots.txt
    @site ignore_case: bool = "false";
    /// How the server reads the names of query parameters: received, or php (dots and blanks become
    /// underscores). Applies to the conditions of rules on the query
    @site query_names: QueryNames = "received";
    /// Whether ; separates query parameters, as & does
    @site query_semicolons: bool = "false";
    /// Path to request for health checks of upstream servers; a healthy server returns a status
    /// from 200 to 399; empty: only failed requests mark a server as unavailable
    @site health_path: String;
    /// Seconds between health checks of each upstream server
    @site health_interval as "health_interval_seconds": Duration = "10";
    /// Host names of this site. The admin page is served only on these hosts, and an absolute
    /// redirect_url with one of these hosts cannot cause a redirect loop; empty: any host
    hosts: Vec<String>;
    /// Proxies whose X-Forwarded-For, Forwarded and PROXY headers are trusted: networks such as
    /// 10.0.0.0/8, unix: for Unix sockets, cloudflare and fastly for their published networks, and
    /// list:NAME for a [[list]]; empty: none
    trusted_proxies: ProxyNetworks;
    /// Header in which trusted proxies send the visitor's address: X-Forwarded-For, Forwarded, or a
    /// header with a single address such as CF-Connecting-IP; empty: X-Forwarded-For or Forwarded,
    /// whichever is present; a request whose two headers contain different visitor addresses is
    /// refused
    client_address_header: Option<HeaderName>;
    /// Whether the visitor's Host header is passed to the upstream; false: the host of the
    /// upstream's URL is sent
    @site preserve_host: bool = "true";
    /// Timeout for connecting to the upstream, in seconds
    @site connect_timeout as "connect_timeout_seconds": Duration = "5";
    /// Timeout for the upstream to start its response, in seconds
    // The default is the same as for nginx's proxy_read_timeout.
    @site response_timeout as "response_timeout_seconds": Duration = "60";
    /// Maximum time between two reads of an upstream response, in seconds
    @site upstream_idle_timeout as "upstream_idle_timeout_seconds": Duration = "300";
    /// Timeout for receiving the complete request head, in seconds
    header_timeout as "header_timeout_seconds": Duration = "10";
    /// Seconds after which a connection is closed if it is idle, or if its client does not read the
    /// response or sends less than 1 KiB of the request body
    // The default is the same as for nginx's keepalive_timeout.
    idle_timeout as "idle_timeout_seconds": Duration = "75";
    /// Maximum time for active requests to finish during shutdown, in seconds
    drain_timeout as "drain_timeout_seconds": Duration = "30";
    /// Seconds at the start of a shutdown during which /readyz already reports not ready, but
    /// requests are still accepted; the listeners close afterwards
    drain_delay as "drain_delay_seconds": Duration = "0", 0..=3_600;
    /// Maximum number of concurrent connections to each listener; further connections wait
    max_connections: usize = "10000", 1..=1_000_000;
    /// Maximum number of concurrent connections from one client address (for IPv6, one /64
    /// network); further connections are closed; does not apply to trusted proxies; 0: no limit
    max_connections_per_address: usize = "0", 0..=1_000_000;
    /// Maximum number of request headers; requests with more headers are rejected with status 431
    // The default is the same as in hyper, and for Apache's LimitRequestFields.
    max_headers: usize = "100", 1..=10_000;
    /// Maximum size of a request head, in bytes; larger heads are rejected with status 431
    // The default equals nginx's four large_client_header_buffers; hyper panics below 8192.
    max_header_bytes: usize = "32768", 8_192..=1_048_576;
    /// Maximum length of a request line or header line, in bytes; longer lines are rejected with
    /// status 414 or 431
    // The default equals one of nginx's buffers, and nearly equals Apache's LimitRequestLine.
    max_header_line_bytes: usize = "8192", 1_024..=1_048_576;
    /// Maximum size of a request body, in bytes; larger bodies are rejected with status 413, or cut
    /// off if their length is not known in advance; 0: no limit
    max_body_bytes: u64 = "0", 0..=1_000_000_000_000_000;
    /// Whether to use a faster parser for requests without a body, and to parse repeated header
    /// lines of an upstream only once; results are the same; set to false only to find the cause of
    /// a fault
    fast_path: bool = "true";
}
