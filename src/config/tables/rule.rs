//! `[[rule]]` and `[[x_robots_tag]]`.

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
    /// Paths that it is about: globs, `*` crosses `/`; without it, a rule is about
    /// filter_pattern and a header about every path
    paths as "path": Option<Vec<String>>;
    /// Methods of requests; without it, those of redirect_methods, or all if the action neither
    /// redirects nor serves
    methods: Option<Vec<String>>;
    /// Names that are asked for, with a port where only that one is meant
    hosts: Option<Vec<String>>;
    /// Ids of robots; unlisted: all that no registry lists; nameless: whoever sends no User-Agent;
    /// also the host of an unlisted robot whose signature holds, such as agent.example.com
    robots: Option<Vec<String>>;
    /// Purposes of robots
    purposes: Option<Vec<Purpose>>;
    /// Names of operators, in any case
    operators: Option<Vec<String>>;
    /// Registries that list the robot: bundled, web-robots-db, manual, or the name of a [[source]]
    sources: Option<Vec<Source>>;
    /// Kinds of visitors; robots: listed, unlisted and nameless; people: person and shared, that is
    /// a User-Agent that stands for many people; without it listed and unlisted robots are meant
    visitors: Option<Visitors>;
    /// Verdicts on who the robot says it is
    verdicts: Option<Vec<Verdict>>;
    /// Networks and addresses that requests come from, such as 192.0.2.0/24, and list:NAME for
    /// those of a [[list]]
    addresses: Option<Networks>;
    /// Numbers of autonomous systems that requests come from, such as 64496, as places.asn_file
    /// tells them
    asns: Option<Vec<Asn>>;
    /// Countries that requests come from, by two letters such as DE (ISO 3166-1), as
    /// places.country_file tells them
    countries: Option<Vec<String>>;
    /// What requests have for headers: X-Monitor (it is there), !Accept-Language (it is not),
    /// "Accept: text/*" (it has a value like this); all of them have to hold
    request_headers: Option<Vec<String>>;
    /// User-Agents: globs over all of it, in any case
    user_agents: Option<Vec<String>>;
    /// Values of Signature-Agent: globs; it is a claim, as a User-Agent is
    signature_agents: Option<Vec<String>>;
    /// true: people who are suspect, by [suspects]; false: nobody who is
    suspect: Option<bool>;
    /// Reasons of which a suspect has one, such as accept-language-missing
    reasons: Option<Vec<Reason>>;
}

table! {
    /// One `[[rule]]`; what is `None` was not set.
    pub struct RuleSettings, RuleKeys = "rule" with when: WhenSettings
        needs "a [[rule]] needs an action, such as action = \"pass\"";
    /// Name that reasons, the log and the admin page tell; empty: its number
    name: String;
    /// What is done with the robot
    action: Action;
    /// Where robots are sent, or the page that is served in place; without it, the site's
    redirect_url: Option<String>;
    /// Status of a refusal; without it, 403
    status: Option<u16>, 400..=599;
    /// Text for whom is refused or slowed down
    text: Option<Verbatim>;
    /// Requests that are let through per_seconds
    requests: Option<u32>, 1..=1_000_000;
    /// Seconds of that period; without it, 60
    per_seconds: Option<u32>, 1..=86_400;
    /// Requests that may come at once
    burst: Option<u32>, 1..=1_000_000;
    /// Who has such a pace of his own: each robot, address (of IPv6 the /64), network (/24, /48), asn
    /// (autonomous system), user-agent (numbers aside), or the whole site; without it, robot
    rate_key as "per": Option<RateKey>;
    /// In place of requests: answers 403, 404 and 410 of the upstream per_seconds after which there is
    /// 429 until some of that time is over
    errors: Option<u32>, 1..=1_000_000;
    /// Requests a second of the site from which on it slows; it ends after ten seconds with fewer;
    /// without when it always does
    load_requests as "when.requests_per_second": Option<u32>, 1..=1_000_000;
    /// Mean milliseconds until answers of the upstream begin from which on it slows; with both, one
    /// is enough
    load_milliseconds as "when.upstream_milliseconds": Option<u32>, 1..=3_600_000;
    /// Milliseconds that it waits for a verdict that is pending
    wait_milliseconds: Option<u32>, 1..=10_000;
    /// Whether a rule about people does to them what it says; false: it only notes it, to robots
    /// too
    people: Option<bool>;
    /// Headers of the answer, where it redirects, refuses or slows down, else of what the site or
    /// heaven answers: { "X-Robots-Tag" = "noai", "Content-Usage" = "train-ai=n" }; a list is
    /// several lines. Link, WWW-Authenticate and X-Robots-Tag are added to the site's own, others
    /// replace them
    headers: Vec<(String, String)>;
}

table! {
    /// One `[[x_robots_tag]]`.
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
