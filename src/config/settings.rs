//! Settings as typed values.

use std::{collections::BTreeMap, time::Duration};

use super::{
    CertificateSettings, InForce, ListenerSettings, RobotsTxtHostSettings, RuleSettings,
    SourceSettings, TagSettings, Value, load::Tables,
};

macro_rules! settings {
    ($($(#[doc = $doc:literal])* $field:ident: $type:ty = $key:literal,)*) => {
        /// Settings in force.
        ///
        /// What a value means beyond its kind (a glob, an address, a purpose)
        /// is for the room that uses it to judge.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub struct Settings {
            $($(#[doc = $doc])* pub $field: $type,)*
            /// Registries beside the Web Robots Database (`[[source]]`).
            pub sources: Vec<SourceSettings>,
            /// Rules, in their order (`[[rule]]`).
            pub rules: Vec<RuleSettings>,
            /// Headers that responses get (`[[x_robots_tag]]`).
            pub tags: Vec<TagSettings>,
            /// Hosts with a robots.txt of their own (`[[robots_txt.host]]`).
            pub robots_txt_hosts: Vec<RobotsTxtHostSettings>,
            /// Places to listen at beside `server.listen` (`[[listener]]`).
            pub listeners: Vec<ListenerSettings>,
            /// Certificates of those with TLS (`[[certificate]]`).
            pub certificates: Vec<CertificateSettings>,
        }

        impl Settings {
            pub(super) fn new(
                values: &BTreeMap<&'static str, InForce>,
                tables: Tables,
            ) -> Self {
                Self {
                    $($field: FromValue::from_value(values.get($key).map(|found| &found.value)),)*
                    sources: tables.sources,
                    rules: tables.rules,
                    tags: tables.tags,
                    robots_txt_hosts: tables.robots_txt_hosts,
                    listeners: tables.listeners,
                    certificates: tables.certificates,
                }
            }
        }
    };
}

settings! {
    /// Flat file of the Web Robots Database; empty: not used (`WebRobotsDB`).
    web_robots_db: String = "web_robots_db",
    /// Globs of paths on which robots are redirected (`FilterPattern`).
    filter_patterns: Vec<String> = "filter_pattern",
    /// Where robots are sent (`RedirectURL`).
    redirect_url: String = "redirect_url",
    /// Days between two refreshes (`RefreshIntervalDays`).
    refresh_interval_days: u32 = "refresh_interval_days",
    /// Status of the redirect.
    redirect_status: u16 = "redirect_status",
    /// Methods on which robots are redirected.
    redirect_methods: Vec<String> = "redirect_methods",
    /// Purposes of robots that are redirected; empty: the default ones.
    redirect_purposes: Vec<String> = "redirect_purposes",
    /// Ids of robots that always pass.
    allow_robots: Vec<String> = "allow_robots",
    /// Ids of robots that are redirected on every filtered path.
    deny_robots: Vec<String> = "deny_robots",
    /// Word for whether decisions are carried out.
    mode: String = "mode",
    /// Whether the bundled registry is used.
    bundled_registry: bool = "bundled_registry",
    /// Whether robots that no registry lists are recognised.
    unlisted_robots: bool = "unlisted_robots",
    /// Whether the configuration is reloaded when its file changes.
    reload_on_change: bool = "reload_on_change",
    /// Database URL.
    database_url: String = "database.url",
    /// Places that visitors reach.
    listen: Vec<String> = "server.listen",
    /// Threads that serve connections; 0: one for each processor.
    workers: usize = "server.workers",
    /// Permissions of the files of Unix sockets, octal.
    unix_socket_mode: String = "server.unix_socket_mode",
    /// Servers behind the proxy; empty: none.
    upstream: Vec<String> = "server.upstream",
    /// Whether HTTP/2 is offered to servers behind https.
    upstream_http2: bool = "server.upstream_http2",
    /// Certificates of authorities; empty: the system's.
    upstream_ca_file: String = "server.upstream_ca_file",
    /// Path of the health check; empty: none.
    health_path: String = "server.health_path",
    /// Time between two checks.
    health_interval: Duration = "server.health_interval_seconds",
    /// Names of this site.
    hosts: Vec<String> = "server.hosts",
    /// Networks whose forwarding headers are believed.
    trusted_proxies: Vec<String> = "server.trusted_proxies",
    /// Whether the upstream gets the visitor's Host.
    preserve_host: bool = "server.preserve_host",
    /// Time to connect to the upstream.
    connect_timeout: Duration = "server.connect_timeout_seconds",
    /// Time until the upstream's response begins.
    response_timeout: Duration = "server.response_timeout_seconds",
    /// Time that a response may stand still.
    upstream_idle_timeout: Duration = "server.upstream_idle_timeout_seconds",
    /// Time in which a request head must be complete.
    header_timeout: Duration = "server.header_timeout_seconds",
    /// Time after which an idle connection is closed.
    idle_timeout: Duration = "server.idle_timeout_seconds",
    /// Time that requests under way get at shutdown.
    drain_timeout: Duration = "server.drain_timeout_seconds",
    /// Time between readiness that ends and listeners that close.
    drain_delay: Duration = "server.drain_delay_seconds",
    /// Connections at the same time.
    max_connections: usize = "server.max_connections",
    /// Connections of one address; 0: no limit.
    max_connections_per_address: usize = "server.max_connections_per_address",
    /// Headers of a request.
    max_headers: usize = "server.max_headers",
    /// Bytes of a request's head.
    max_header_bytes: usize = "server.max_header_bytes",
    /// Bytes of a line of a request's head.
    max_header_line_bytes: usize = "server.max_header_line_bytes",
    /// Bytes of a request's body; 0: no limit.
    max_body_bytes: u64 = "server.max_body_bytes",
    /// Whether what most requests are is served and forwarded by shorter ways.
    fast_path: bool = "server.fast_path",
    /// Whether we serve robot heaven.
    heaven_serve: bool = "heaven.serve",
    /// Path of robot heaven.
    heaven_path: String = "heaven.path",
    /// Directory of robot heaven's pages; empty: built in.
    heaven_directory: String = "heaven.directory",
    /// Where the pages of robot heaven come from.
    heaven_source: String = "heaven.source",
    /// URL of the site that they are about; empty: by its host.
    heaven_url: String = "heaven.url",
    /// Name of the site on them; empty: its host.
    heaven_name: String = "heaven.name",
    /// Whether robots are redirected to the page made from the one they asked for.
    heaven_own_pages: bool = "heaven.own_pages",
    /// Whether a published heaven has a file in Markdown beside each page.
    heaven_markdown_files: bool = "heaven.markdown_files",
    /// Whether robots are held to robots.txt.
    robots_txt_enforce: String = "robots_txt.enforce",
    /// Answer to what robots.txt disallows.
    robots_txt_refusal: String = "robots_txt.refusal",
    /// Whether robots are held to `Crawl-delay`.
    robots_txt_enforce_crawl_delay: String = "robots_txt.enforce_crawl_delay",
    /// Word for what /robots.txt is.
    robots_txt_serve: String = "robots_txt.serve",
    /// File that is served as it is; empty: none.
    robots_txt_file: String = "robots_txt.file",
    /// Purposes of robots that are refused everything.
    robots_txt_refuse_purposes: Vec<String> = "robots_txt.refuse_purposes",
    /// Ids of robots that are refused everything.
    robots_txt_refuse_robots: Vec<String> = "robots_txt.refuse_robots",
    /// Paths that everybody is refused.
    robots_txt_disallow: Vec<String> = "robots_txt.disallow",
    /// Paths below these that everybody is allowed.
    robots_txt_allow: Vec<String> = "robots_txt.allow",
    /// Pause between two requests; zero: nothing is said.
    robots_txt_crawl_delay: Duration = "robots_txt.crawl_delay_seconds",
    /// URLs of sitemaps.
    robots_txt_sitemaps: Vec<String> = "robots_txt.sitemaps",
    /// Value of `Content-Signal`; empty: none.
    robots_txt_content_signal: String = "robots_txt.content_signal",
    /// Value of `Content-Usage`; empty: none.
    robots_txt_content_usage: String = "robots_txt.content_usage",
    /// URL of a licence; empty: none.
    robots_txt_license: String = "robots_txt.license",
    /// Whether claims are proven.
    verify_enabled: bool = "verify.enabled",
    /// Words for the methods.
    verify_methods: Vec<String> = "verify.methods",
    /// Word for what is done with spoofed robots.
    verify_spoofed: String = "verify.spoofed",
    /// Addresses of resolvers; empty: the system's.
    verify_dns_servers: Vec<String> = "verify.dns_servers",
    /// Time that one query may take.
    verify_dns_timeout: Duration = "verify.dns_timeout_seconds",
    /// Hours between two downloads of a list.
    verify_ranges_interval_hours: u32 = "verify.ranges_interval_hours",
    /// Whether addresses are looked at that are not public.
    verify_allow_private_addresses: bool = "verify.allow_private_addresses",
    /// URLs at which the site robot begins.
    site_robot_starting_points: Vec<String> = "site_robot.starting_points",
    /// URL by which visitors know the site; empty: by heaven.url or its host.
    site_robot_public_url: String = "site_robot.public_url",
    /// Links that it follows; none: any number.
    site_robot_depth: Option<u32> = "site_robot.depth",
    /// Paths of which one begins what it visits; empty: any.
    site_robot_only_below: Vec<String> = "site_robot.only_below",
    /// Paths that it keeps away from.
    site_robot_never_below: Vec<String> = "site_robot.never_below",
    /// Cron expression; empty: none.
    site_robot_schedule: String = "site_robot.schedule",
    /// Directory that heaven is published into; empty: none.
    site_robot_publish: String = "site_robot.publish",
    /// How it logs in; empty: as robot.conf says.
    site_robot_login: String = "site_robot.login",
    /// robot.conf; empty: none.
    site_robot_robot_conf: String = "site_robot.robot_conf",
    /// Lines of robot.conf.
    site_robot_robot: Vec<String> = "site_robot.robot",
    /// filter.conf; empty: none.
    site_robot_filter_conf: String = "site_robot.filter_conf",
    /// Programs that make HTML of documents.
    site_robot_converters: Vec<String> = "site_robot.converters",
    /// File of the key that it signs with; empty: none.
    site_robot_signing_key: String = "site_robot.signing_key",
    /// Site that serves the key directory; empty: that of the first starting point.
    site_robot_signature_agent: String = "site_robot.signature_agent",
    /// Path of the admin page.
    admin_path: String = "admin.path",
    /// Whether there is an admin page.
    admin_enabled: bool = "admin.enabled",
    /// Address of the admin listener; empty: none.
    admin_listen: String = "admin.listen",
    /// Whether session cookies need https.
    secure_cookies: bool = "admin.secure_cookies",
    /// File of the access log; `-`: standard output; empty: none.
    access_log_path: String = "access_log.path",
    /// Format of the access log.
    access_log_format: String = "access_log.format",
    /// URL of a collector of traces; empty: none.
    otel_endpoint: String = "otel.endpoint",
    /// Level or filter of the log.
    log_level: String = "log.level",
    /// Format of the log.
    log_format: String = "log.format",
}

/// Conversion of a value that already is of the right kind and range.
trait FromValue {
    fn from_value(value: Option<&Value>) -> Self;
}

impl FromValue for String {
    fn from_value(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Text(text)) => text.trim().to_owned(),
            _ => Self::new(),
        }
    }
}

impl FromValue for Vec<String> {
    fn from_value(value: Option<&Value>) -> Self {
        match value {
            Some(Value::List(items)) => items.clone(),
            _ => Self::new(),
        }
    }
}

impl FromValue for Option<u32> {
    fn from_value(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Integer(number)) => u32::try_from(*number).ok(),
            _ => None,
        }
    }
}

impl FromValue for bool {
    fn from_value(value: Option<&Value>) -> Self {
        matches!(value, Some(Value::Bool(true)))
    }
}

impl FromValue for Duration {
    fn from_value(value: Option<&Value>) -> Self {
        Self::from_secs(number(value))
    }
}

macro_rules! from_number {
    ($($type:ty)*) => {$(
        impl FromValue for $type {
            fn from_value(value: Option<&Value>) -> Self {
                Self::try_from(number(value)).unwrap_or(Self::MAX)
            }
        }
    )*};
}

from_number! { u16 u32 u64 usize }

fn number(value: Option<&Value>) -> u64 {
    match value {
        Some(Value::Integer(number)) => u64::try_from(*number).unwrap_or_default(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KEYS, Loader};

    #[test]
    fn every_key_reaches_a_field() {
        let settings = Loader::new().load().unwrap().settings();
        let fields = format!("{settings:?}").matches(": ").count();
        assert!(fields > KEYS.len(), "{fields} fields, {} keys", KEYS.len());
        assert_eq!(settings.filter_patterns, ["/members-only-stuff/*"]);
        assert_eq!(settings.redirect_url, "/robot-heaven/");
        assert_eq!(settings.refresh_interval_days, 30);
        assert_eq!(settings.redirect_methods, ["GET", "HEAD"]);
        assert_eq!(settings.connect_timeout.as_secs(), 5);
    }
}
