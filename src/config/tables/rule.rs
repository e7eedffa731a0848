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
    /// The conditions of a `[[rule]]` or `[[x_robots_tag]]`; a list is `None` if not set.
    pub struct WhenSettings, WhenKeys = "" @process;
    /// Paths to match: globs in which `*` also matches `/`; default: filter_pattern for a [[rule]],
    /// every path for an [[x_robots_tag]]
    paths as "path": Option<Vec<String>>;
    /// Request methods to match; default: redirect_methods if the action redirects or serves a
    /// page, otherwise all methods
    methods: Option<Vec<String>>;
    /// Requested host names to match; a host name with a port matches only that port
    hosts: Option<Vec<String>>;
    /// Parameters of the query to match: page (present), !page (absent), "sort=price*" (with a
    /// matching value); names are decoded, case is ignored, and all items must match
    query: Option<Vec<String>>;
    /// Number of query parameters that a request must exceed
    query_parameters_over: Option<u32>, 1..=10_000;
    /// Ids of robots to match; unlisted: robots that are not in any registry; nameless: clients
    /// without a User-Agent; a host name such as agent.example.com: an unlisted robot with a valid
    /// signature from this host
    robots: Option<Vec<String>>;
    /// Purposes of robots to match
    purposes: Option<Vec<Purpose>>;
    /// Operators of robots to match, case-insensitive
    operators: Option<Vec<String>>;
    /// Registries to match; at least one must list the robot: bundled, web-robots-db, manual, or
    /// the name of a [[source]]
    sources: Option<Vec<Source>>;
    /// Kinds of visitors to match: listed, unlisted, nameless, person, shared (a User-Agent that
    /// many people share), robots (listed, unlisted and nameless), people (person and shared) or
    /// all; default: listed and unlisted
    visitors: Option<Visitors>;
    /// Verdicts on the robot's claim to match
    verdicts: Option<Vec<Verdict>>;
    /// Client addresses and networks to match, such as 192.0.2.0/24, and list:NAME for a [[list]]
    addresses: Option<Networks>;
    /// Autonomous system numbers to match, such as 64496; geoip.asn_file maps client addresses to
    /// numbers
    asns: Option<Vec<Asn>>;
    /// Countries to match, as two-letter ISO 3166-1 codes such as DE; geoip.country_file maps
    /// client addresses to countries
    countries: Option<Vec<String>>;
    /// Request headers to match: X-Monitor (present), !Accept-Language (absent), "Accept: text/*"
    /// (with a matching value); all items must match
    request_headers: Option<Vec<String>>;
    /// User-Agents to match: case-insensitive globs that must match the whole header
    user_agents: Option<Vec<String>>;
    /// Values of the Signature-Agent header to match, as globs; this header is an unverified claim,
    /// like a User-Agent
    signature_agents: Option<Vec<String>>;
    /// Whether the request must be from a suspect, as detected according to [suspects]; false:
    /// match all visitors except suspects
    suspect: Option<bool>;
    /// Reasons for suspicion to match, such as accept-language-missing
    reasons: Option<Vec<Reason>>;
}

table! {
    /// A `[[rule]]` table; a field is `None` if its key is not set.
    pub struct RuleSettings, RuleKeys = "rule" with when: WhenSettings
        needs "a [[rule]] needs an action, such as action = \"pass\"";
    /// Name of the rule, shown in reasons for decisions, in the log and on the admin page; empty:
    /// the rule's number
    name: String;
    /// Action for matching requests
    action: Action;
    /// Redirect target, or page to serve without a redirect; default: the site's redirect_url
    redirect_url: Option<String>;
    /// HTTP status for refused requests; default: 403
    status: Option<u16>, 400..=599;
    /// Response text for refused or rate-limited requests
    text: Option<Verbatim>;
    /// Number of requests allowed within per_seconds
    requests: Option<u32>, 1..=1_000_000;
    /// Period for the limits of requests and upstream errors, in seconds; default: 60
    per_seconds: Option<u32>, 1..=86_400;
    /// Number of requests allowed at once after a pause
    burst: Option<u32>, 1..=1_000_000;
    /// Clients that share a limit: robot (requests from each robot), address (IPv6: each /64
    /// network), network (each /24 or /48), asn (each autonomous system), user-agent (numbers are
    /// ignored), or site (all requests); default: robot
    rate_key as "per": Option<RateKey>;
    /// Number of upstream responses with status 403, 404 or 410 allowed within per_seconds, instead
    /// of a limit on requests; above this number, requests get status 429 until part of the period
    /// has passed
    errors: Option<u32>, 1..=1_000_000;
    /// Load of the site, in requests per second, at which the rule starts to limit clients;
    /// limiting ends after ten seconds below this load; default: clients are always limited
    load_requests as "when.requests_per_second": Option<u32>, 1..=1_000_000;
    /// Mean time until upstream responses start, in milliseconds, at which the rule starts to limit
    /// clients; if when.requests_per_second is also set, reaching either threshold is enough
    load_milliseconds as "when.upstream_milliseconds": Option<u32>, 1..=3_600_000;
    /// Maximum time to wait for a pending verdict, in milliseconds
    wait_milliseconds: Option<u32>, 1..=10_000;
    /// Whether the rule is enforced if it can match human visitors; false: the rule's decisions are
    /// only logged, for robots as well
    people: Option<bool>;
    /// Headers to add to the redirect, refusal or rate-limit response, or otherwise to the response
    /// of the site or heaven, such as { "X-Robots-Tag" = "noai", "Content-Usage" = "train-ai=n" };
    /// a list adds several lines. Link, WWW-Authenticate and X-Robots-Tag are added to the site's
    /// headers; other headers replace the site's headers of the same name
    headers: Vec<(String, String)>;
}

table! {
    /// An `[[x_robots_tag]]` table.
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
