//! Settings of the server and of interfaces for administrators and other proxies.

use std::path::PathBuf;
use std::time::Duration;

use chrono_tz::Tz;
use http::HeaderName;

use crate::access_log::LineFormat;
use crate::alerts::Secret;
use crate::config::section::section;
use crate::config::types::{FailMode, LogFilter, OwnPath, ProxyNetworks, UnixMode};
use crate::listen::ListenAddr;
use crate::store::AddressRetention;
use crate::telemetry::LogFormat;

section! {
    /// Health checks and metrics.
    pub struct OperationSection, OperationKeys = "operation." @process;
    /// Address and port of the listener for /healthz, /readyz and /metrics; if the port is in use,
    /// the server starts without it. If admin.listen has the same port, admin.listen serves them
    /// too. Empty: only admin.listen serves them
    listen: Option<ListenAddr> = "127.0.0.1:9180";
}

section! {
    /// The admin page.
    pub struct AdminSection, AdminKeys = "admin." @process;
    /// URL path of the admin page
    path: OwnPath = "/robot-detection/admin";
    /// Whether the admin page is served
    enabled: bool = "true";
    /// Address and port of a separate listener for only the admin page, /healthz, /readyz and
    /// /metrics; empty: the admin page is on server.listen
    listen: Option<ListenAddr>;
    /// Whether live rules can be added and enforcement paused at run time: on the admin page, in
    /// its JSON API and with the command rules; false: existing live rules are ignored
    rules: bool = "true";
    /// Time zone of the times on pages, as an IANA name such as Europe/Berlin
    time_zone: Tz = "UTC";
    /// File with the administrator's initial password of at least 12 characters; empty: serve
    /// generates one, and prints it on a terminal or writes it to the file admin-password in
    /// state_dir. An existing password is not changed
    password_file: Option<PathBuf>;
    /// Whether the session cookie is sent only over https; set it if the site uses https
    secure_cookies: bool = "false";
}

section! {
    /// The decision endpoint, which a front proxy such as nginx queries for each request.
    pub struct CheckSection, CheckKeys = "check." @process;
    /// Address of the decision endpoint for front proxies: unix:PATH, or IP:PORT with a
    /// check.token; empty: none. robot-detection proxy-config prints the proxy's configuration
    listen: Option<ListenAddr>;
    /// Secret that front proxies send in X-Robot-Detection-Token; may be empty for a Unix socket,
    /// whose file permissions control the access
    token: Option<Secret>;
    /// Behaviour of front proxies while robot-detection does not respond: closed refuses
    /// them, open passes them to the site. After a change, print the proxy's configuration again
    fails: FailMode = "closed";
    /// Whether queries of front proxies are counted, without values of responses (status, bytes,
    /// time); false: import the proxy's log (robot-detection traffic import --follow)
    count: bool = "true";
}

section! {
    /// Counters and evidence of visitors.
    pub struct TrafficSection, TrafficKeys = "traffic." @process;
    /// Whether requests, bytes and response times are counted in the database, by minute (for 48
    /// hours), hour (for 35 days) and day, without client addresses
    keep: bool = "true";
    /// Whether the most requested pages are stored too: paths requested by robots, and only
    /// patterns without ids, such as /docs/guide/*, for human visitors; by hour (for 48 hours) and
    /// day (for 400 days); needs traffic.keep
    paths: bool = "true";
    /// Days for which single requests are stored that did not simply pass: redirects, refusals,
    /// spoofed robots, violations of robots.txt; 0: no requests are stored
    evidence_days: u32 = "30", 0..=3_650;
    /// Client addresses stored with these requests: robots (whole addresses for listed robots, /24
    /// and /48 networks for others), whole, networks (/24 and /48) or none
    addresses: AddressRetention = "robots";
    /// Whether to detect fleets of robots that claim to be browsers, and addresses with automated
    /// behaviour; shown on the console, with up to 4 MiB of memory
    fleets: bool = "false";
}

section! {
    /// The access log.
    pub struct AccessLogSection, AccessLogKeys = "access_log." @process;
    /// Access log file with a line for every request, its robot and decision; -: standard output;
    /// empty: no access log
    path: String;
    /// Format of the access log: common, combined or json
    format: LineFormat = "combined";
}

section! {
    /// OpenTelemetry traces.
    pub struct OtelSection, OtelKeys = "otel." @process;
    /// URL to post OpenTelemetry traces to, such as http://127.0.0.1:4318/v1/traces; needs a build
    /// with the feature otel; empty: no traces
    endpoint: String;
}

section! {
    /// The program's own log.
    pub struct LogSection, LogKeys = "log." @process;
    /// Level of the log: error, warn, info, debug, trace, or a filter such as robot_detection=debug
    level: LogFilter = "info";
    /// Format of the log: text or json
    format: LogFormat = "text";
}

section! {
    /// Listeners, upstream servers, and limits.
    pub struct ServerSection, ServerKeys = "server." @process;
    /// Addresses to listen on: IP:PORT, unix:PATH, systemd or systemd:NAME; for TLS or the PROXY
    /// protocol, use [[listener]]
    listen: Vec<ListenAddr> = "127.0.0.1:8080";
    /// Number of worker threads; 0: one per processor
    workers: usize = "0", 0..=1_024;
    /// File permissions of Unix sockets
    unix_socket_mode: UnixMode = "660";
    /// Upstream servers with the same content: http(s)://HOST:PORT, h2c://HOST:PORT or unix:/PATH;
    /// empty: the demonstration site
    @site upstream: Vec<String>;
    /// Whether HTTP/2 is offered to https:// upstreams; h2c:// upstreams always use it
    @site upstream_http2: bool = "false";
    /// File with the certificates (PEM) of the authorities trusted for https:// upstreams; empty:
    /// the system authorities
    @site upstream_ca_file: Option<PathBuf>;
    /// Whether path segments end at a ; as in Tomcat, Jetty and other servlet containers. Applies
    /// to rules, filter patterns and robots.txt, and treats a backslash as a slash
    @site path_parameters: bool = "false";
    /// Whether paths are case-insensitive, as in IIS on Windows. Applies to rules, filter patterns
    /// and robots.txt, and treats a backslash as a slash
    @site ignore_case: bool = "false";
    /// Path for health checks of upstream servers, which must return status 200 to 399; empty: only
    /// failed requests mark a server as unavailable
    @site health_path: String;
    /// Seconds between two health checks of a server
    @site health_interval as "health_interval_seconds": Duration = "10";
    /// Host names of this site: an absolute redirect_url to one of them is not a redirect loop, and
    /// the admin page is served only on them; empty: any host
    hosts: Vec<String>;
    /// Networks whose X-Forwarded-For, Forwarded and PROXY headers are trusted, such as 10.0.0.0/8,
    /// unix: for Unix sockets, cloudflare and fastly for their published networks, and list:NAME
    /// for a [[list]]; empty: none
    trusted_proxies: ProxyNetworks;
    /// The header with the visitor's address from trusted proxies: X-Forwarded-For, Forwarded, or
    /// one with a single address such as CF-Connecting-IP; empty: X-Forwarded-For or Forwarded,
    /// whichever is present. A request in which both name different visitors is refused
    client_address_header: Option<HeaderName>;
    /// Whether the visitor's Host header is passed to the upstream; false: the upstream's own host
    @site preserve_host: bool = "true";
    /// Timeout for connecting to the upstream, in seconds
    @site connect_timeout as "connect_timeout_seconds": Duration = "5";
    /// Timeout for the start of the upstream's response, in seconds
    // As nginx's proxy_read_timeout.
    @site response_timeout as "response_timeout_seconds": Duration = "60";
    /// Timeout for further data once the upstream's response has started, in seconds
    @site upstream_idle_timeout as "upstream_idle_timeout_seconds": Duration = "300";
    /// Timeout for the complete head of a visitor's request, in seconds
    header_timeout as "header_timeout_seconds": Duration = "10";
    /// Seconds after which an idle connection is closed, or one whose client does not read the
    /// response or sends less than 1 KiB of a request body
    // As nginx's keepalive_timeout.
    idle_timeout as "idle_timeout_seconds": Duration = "75";
    /// Seconds for active requests to finish at shutdown
    drain_timeout as "drain_timeout_seconds": Duration = "30";
    /// Seconds during shutdown in which /readyz reports not ready while requests are still
    /// accepted, before the listeners close
    drain_delay as "drain_delay_seconds": Duration = "0", 0..=3_600;
    /// Maximum number of concurrent connections of each listener; the others wait
    max_connections: usize = "10000", 1..=1_000_000;
    /// Maximum number of concurrent connections of a client address (IPv6: of a /64 network);
    /// further ones are closed; does not apply to trusted proxies; 0: no limit
    max_connections_per_address: usize = "0", 0..=1_000_000;
    /// Maximum number of request headers; more are rejected with status 431
    // As hyper, and Apache's LimitRequestFields.
    max_headers: usize = "100", 1..=10_000;
    /// Maximum size of a request head, in bytes; larger ones are rejected with status 431
    // As the four buffers of nginx's large_client_header_buffers; hyper panics below 8192.
    max_header_bytes: usize = "32768", 8_192..=1_048_576;
    /// Maximum length of a request or header line, in bytes; longer ones get status 414 or 431
    // As one of these buffers, and within a few bytes of Apache's LimitRequestLine.
    max_header_line_bytes: usize = "8192", 1_024..=1_048_576;
    /// Maximum size of a request body, in bytes; larger ones are rejected with status 413, or cut
    /// off if the length is unknown; 0: no limit
    max_body_bytes: u64 = "0", 0..=1_000_000_000_000_000;
    /// Whether requests without a body use a faster parser, and repeated header lines of a server
    /// are parsed once; false: use only the standard parsers, with the same results, to find the
    /// cause of a fault
    fast_path: bool = "true";
}
