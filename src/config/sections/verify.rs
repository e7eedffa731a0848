//! `[verify]`.

use std::time::Duration;

use crate::config::{section::section, types::Resolver};
use crate::policy::Spoofed;
use crate::verify::Method;

section! {
    /// Proofs of who a robot is.
    pub struct VerifySection, VerifyKeys = "verify." @live;
    /// Whether it is proven that robots are who they say; false: every claim is unverifiable
    enabled: bool = "true";
    /// How: ranges (lists of addresses that operators publish), reverse-dns (host names, confirmed
    /// forward), web-bot-auth (signed requests)
    methods: Vec<Method> = "ranges, reverse-dns, web-bot-auth";
    /// What is done with robots that are proven not to be who they say, unless a rule before says
    /// otherwise: report (counted and shown), refuse (403), or redirect (to redirect_url, where
    /// anything is filtered)
    spoofed: Spoofed = "report";
    /// Resolvers that are asked for names of addresses, such as 9.9.9.9 or [::1]:5353; empty: the
    /// system's
    dns_servers: Vec<Resolver>;
    /// Seconds that one query to a resolver may take; no request waits for it, unless a rule says
    /// so
    dns_timeout as "dns_timeout_seconds": Duration = "2", 1..=30;
    /// Hours between two downloads of a list of addresses; only lists of robots that came are
    /// downloaded
    ranges_interval_hours: u32 = "24", 1..=720;
    /// Whether clients and key directories with addresses that are not public are looked at too,
    /// for tests and networks of one's own
    allow_private_addresses: bool = "false";
}
