//! `[[ban]]`.

use crate::config::table::table;

table! {
    /// One `[[ban]]`.
    pub struct BanSettings, BanKeys = "ban"
        needs "a [[ban]] needs refusals, such as refusals = 20";
    /// Requests of an address (IPv6: of a /64) that are refused, or answered 429, before it is
    /// banned
    refusals: u32, 1..=1_000_000;
    /// Seconds in which they come, from the first of them on; without it, 60
    per_seconds: Option<u32>, 1..=86_400;
    /// Seconds that the ban lasts; without it, 3600
    for_seconds: Option<u32>, 60..=31_536_000;
    /// Names of the rules whose refusals count, or robots.txt, crawl-delay, spoofed; without it,
    /// all
    rules: Option<Vec<String>>;
}
