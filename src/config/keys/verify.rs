//! Proofs of who a robot is.

use super::super::key::{Key, Kind, key};

pub(super) const VERIFY: &[Key] = &[
    key(
        "verify.enabled",
        Kind::Bool,
        "true",
        "Whether it is proven that robots are who they say; false: every claim is unverifiable",
    ),
    key(
        "verify.methods",
        Kind::List,
        "ranges, reverse-dns, web-bot-auth",
        "How: ranges (lists of addresses that operators publish), reverse-dns (host names, confirmed forward), web-bot-auth (signed requests)",
    ),
    key(
        "verify.spoofed",
        Kind::Text,
        "report",
        "What is done with robots that are proven not to be who they say, unless a rule before says otherwise: report (counted and shown), refuse (403), or redirect (to redirect_url, where anything is filtered)",
    ),
    key(
        "verify.dns_servers",
        Kind::List,
        "",
        "Resolvers that are asked for names of addresses, such as 9.9.9.9 or [::1]:5353; empty: the system's",
    ),
    key(
        "verify.dns_timeout_seconds",
        Kind::Integer { min: 1, max: 30 },
        "2",
        "Seconds that one query to a resolver may take; no request waits for it, unless a rule says so",
    ),
    key(
        "verify.ranges_interval_hours",
        Kind::Integer { min: 1, max: 720 },
        "24",
        "Hours between two downloads of a list of addresses; only lists of robots that came are downloaded",
    ),
    key(
        "verify.allow_private_addresses",
        Kind::Bool,
        "false",
        "Whether clients and key directories with addresses that are not public are looked at too, for tests and networks of one's own",
    ),
];
