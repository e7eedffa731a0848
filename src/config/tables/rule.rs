//! `[[rule]]` and `[[x_robots_tag]]` tables.

use crate::config::{
    section::section,
    table::{Reader, table},
    types::{Asn, Networks, Verbatim, Visitors},
};
use crate::detect::Verdict;
use crate::policy::{Action, RateKey};
use crate::registry::{Purpose, Source};
use crate::suspect::Reason;

const NEEDS_VALUE: &str = "an [[x_robots_tag]] needs a value, such as value = \"noindex\"";

section! {
    /// Conditions of a `[[rule]]` or `[[x_robots_tag]]`; a list that is `None` was not set.
    pub struct WhenSettings, WhenKeys = "" @process;
    /// Paths to match: globs in which `*` also matches `/`; default: filter_pattern for a rule,
    /// every path for a header
    paths as "path": Option<Vec<String>>;
    /// Request methods to match; default: redirect_methods, or all if the action neither redirects
    /// nor serves
    methods: Option<Vec<String>>;
    /// Requested host names to match, with a port to match only that port
    hosts: Option<Vec<String>>;
    /// Ids of robots to match; unlisted: robots in no registry; nameless: no User-Agent; or the
    /// host of an unlisted robot with a valid signature, such as agent.example.com
    robots: Option<Vec<String>>;
    /// Purposes of robots to match
    purposes: Option<Vec<Purpose>>;
    /// Operators of robots to match, case-insensitive
    operators: Option<Vec<String>>;
    /// Registries that list the robot: bundled, web-robots-db, manual, or the name of a [[source]]
    sources: Option<Vec<Source>>;
    /// Kinds of visitors to match; robots: listed, unlisted and nameless; people: person and shared
    /// (a User-Agent used for many people); default: listed and unlisted
    visitors: Option<Visitors>;
    /// Verdicts on the robot's claim to match
    verdicts: Option<Vec<Verdict>>;
    /// Client addresses and networks to match, such as 192.0.2.0/24, and list:NAME for a [[list]]
    addresses: Option<Networks>;
    /// Numbers of autonomous systems of client addresses to match, such as 64496, according to
    /// geoip.asn_file
    asns: Option<Vec<Asn>>;
    /// Countries of client addresses to match, as two letters such as DE (ISO 3166-1), according to
    /// geoip.country_file
    countries: Option<Vec<String>>;
    /// Request headers to match: X-Monitor (present), !Accept-Language (absent), "Accept: text/*"
    /// (with a matching value); all items have to match
    request_headers: Option<Vec<String>>;
    /// User-Agents to match: globs over the whole header, case-insensitive
    user_agents: Option<Vec<String>>;
    /// Values of Signature-Agent to match: globs; a claim only, like a User-Agent
    signature_agents: Option<Vec<String>>;
    /// true: match only suspects according to [suspects]; false: match no suspects
    suspect: Option<bool>;
    /// Reasons for a suspicion to match, such as accept-language-missing
    reasons: Option<Vec<Reason>>;
}

table! {
    /// A `[[rule]]`; a `None` field was not set.
    pub struct RuleSettings, RuleKeys = "rule" with when: WhenSettings
        needs "a [[rule]] needs an action, such as action = \"pass\"";
    /// Name of the rule in reasons, the log and the admin page; empty: its number
    name: String;
    /// Action of the rule
    action: Action;
    /// Redirect target, or the page served without a redirect; default: the site's redirect_url
    redirect_url: Option<String>;
    /// Status of a refusal; default: 403
    status: Option<u16>, 400..=599;
    /// Response text for refused or slowed requests
    text: Option<Verbatim>;
    /// Requests allowed in per_seconds
    requests: Option<u32>, 1..=1_000_000;
    /// Period in seconds; default: 60
    per_seconds: Option<u32>, 1..=86_400;
    /// Requests allowed at the same time
    burst: Option<u32>, 1..=1_000_000;
    /// Clients that share a limit: each robot, address (a /64 for IPv6), network (/24, /48), asn
    /// (autonomous system), user-agent (ignoring numbers), or the whole site; default: robot
    rate_key as "per": Option<RateKey>;
    /// Limit of upstream responses 403, 404 and 410 in per_seconds, instead of requests; beyond it,
    /// requests get status 429 until part of that time has passed
    errors: Option<u32>, 1..=1_000_000;
    /// Requests per second of the site from which the rule slows clients; ends after ten seconds
    /// with fewer; default: always
    load_requests as "when.requests_per_second": Option<u32>, 1..=1_000_000;
    /// Mean milliseconds to the start of upstream responses from which the rule slows clients; if
    /// both limits are set, one is enough
    load_milliseconds as "when.upstream_milliseconds": Option<u32>, 1..=3_600_000;
    /// Milliseconds to wait for a pending verdict
    wait_milliseconds: Option<u32>, 1..=10_000;
    /// Whether a rule that matches human visitors is enforced; false: it is only logged, for robots
    /// too
    people: Option<bool>;
    /// Headers added to the redirect, refusal or slow response, or else to the response of the site
    /// or heaven: { "X-Robots-Tag" = "noai", "Content-Usage" = "train-ai=n" }; a list adds several
    /// lines. Link, WWW-Authenticate and X-Robots-Tag are added to the site's own headers, others
    /// replace them
    headers: Vec<(String, String)>;
}

table! {
    /// An `[[x_robots_tag]]`.
    pub struct TagSettings, TagKeys = "x_robots_tag" with when: WhenSettings
        needs NEEDS_VALUE;
    /// Value of the header, such as noindex
    value: String;
}

impl TagSettings {
    pub(in crate::config) fn read_complete(reader: &mut Reader<'_>) -> Option<Self> {
        let tag = Self::read(reader)?;
        if tag.value.is_empty() {
            reader.needs(NEEDS_VALUE);
            return None;
        }
        Some(tag)
    }
}
