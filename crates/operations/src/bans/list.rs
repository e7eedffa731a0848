//! Ban lists in the formats that other programs read.

use std::fmt::Write as _;

use super::network::Network;
use robot_detection_store::store::Ban;

/// The nftables table that contains the ban sets.
const TABLE: &str = "inet robot_detection";
const SETS: [(&str, &str, bool); 2] = [
    ("banned_v4", "ipv4_addr", true),
    ("banned_v6", "ipv6_addr", false),
];

/// Format of a ban list
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum BanFormat {
    /// One network per line
    #[default]
    Plain,
    /// File for nft -f: a table that contains one set of expiring entries per IP version
    Nftables,
    /// File to include in nginx, with lines such as `deny 192.0.2.1;`
    Nginx,
}

/// Returns the complete ban list in the given format.
pub fn format_list(format: BanFormat, bans: &[Ban], now_ms: i64) -> String {
    match format {
        BanFormat::Plain => lines(bans, |network| format!("{network}\n")),
        BanFormat::Nginx => lines(bans, |network| format!("deny {network};\n")),
        BanFormat::Nftables => table(bans, now_ms),
    }
}

/// Returns the update for a new or extended ban; `None` if the format does not support updates.
pub fn format_addition(format: BanFormat, ban: &Ban, now_ms: i64) -> Option<String> {
    let network = network(ban)?;
    match format {
        BanFormat::Plain => Some(format!("+ {network}\n")),
        BanFormat::Nftables => {
            let (set, element) = (set_of(network), element(network, ban, now_ms));
            // An element that already exists would keep its old timeout.
            let gone = deleted(network);
            Some(format!("{gone}add element {TABLE} {set} {{ {element} }}\n"))
        }
        BanFormat::Nginx => None,
    }
}

/// Returns the update for an ended ban; `None` if the format does not support updates.
pub fn format_removal(format: BanFormat, ban: &Ban) -> Option<String> {
    let network = network(ban)?;
    match format {
        BanFormat::Plain => Some(format!("- {network}\n")),
        BanFormat::Nftables => Some(deleted(network)),
        BanFormat::Nginx => None,
    }
}

/// Returns the nftables commands that remove a network from the ban sets.
fn deleted(network: Network) -> String {
    let set = set_of(network);
    // Deleting an element that has timed out fails, so the element is added first.
    format!(
        "add element {TABLE} {set} {{ {network} }}\n\
         delete element {TABLE} {set} {{ {network} }}\n"
    )
}

fn table(bans: &[Ban], now_ms: i64) -> String {
    // Declared first, because deleting a missing table fails; the whole file is a single
    // transaction.
    let mut text = format!("table {TABLE} {{}}\ndelete table {TABLE}\ntable {TABLE} {{\n");
    for (set, kind, is_v4) in SETS {
        let of_set = bans
            .iter()
            .filter_map(|ban| Some((network(ban)?, ban)))
            .filter(|(network, _)| network.is_v4() == is_v4);
        let elements: Vec<_> = of_set
            .map(|(network, ban)| element(network, ban, now_ms))
            .collect();
        let _ = writeln!(text, "    set {set} {{");
        let _ = writeln!(text, "        type {kind}");
        let _ = writeln!(text, "        flags interval, timeout");
        if !elements.is_empty() {
            let elements = elements.join(",\n            ");
            let _ = writeln!(
                text,
                "        elements = {{\n            {elements}\n        }}"
            );
        }
        text.push_str("    }\n");
    }
    text.push_str(
        "    chain input {\n        \
         type filter hook input priority filter - 10; policy accept;\n        \
         ip saddr @banned_v4 drop\n        \
         ip6 saddr @banned_v6 drop\n    \
         }\n}\n",
    );
    text
}

fn element(network: Network, ban: &Ban, now_ms: i64) -> String {
    let left_s = ban.until_ms.saturating_sub(now_ms) / 1_000;
    // An entry with a timeout of zero would never expire.
    format!("{network} timeout {}s", left_s.max(1))
}

fn set_of(network: Network) -> &'static str {
    let mut sets = SETS.iter();
    let set = sets.find(|(_, _, is_v4)| *is_v4 == network.is_v4());
    set.map_or("", |(name, _, _)| name)
}

fn lines(bans: &[Ban], line: impl Fn(Network) -> String) -> String {
    bans.iter().filter_map(network).map(line).collect()
}

/// Returns the network of a ban; `None` if another program stored an invalid network.
fn network(ban: &Ban) -> Option<Network> {
    ban.network.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bans() -> Vec<Ban> {
        let ban = |network: &str, until_ms| Ban {
            network: network.to_owned(),
            cause: "rule 1".to_owned(),
            since_ms: 0,
            until_ms,
        };
        vec![
            ban("203.0.113.5", 61_999),
            ban("2001:db8::/64", 1_001),
            ban("203.0.113.5; }", 61_999),
        ]
    }

    #[test]
    fn only_networks_are_listed() {
        let plain = format_list(BanFormat::Plain, &bans(), 1_000);
        assert_eq!(plain, "203.0.113.5\n2001:db8::/64\n");
        let nginx = format_list(BanFormat::Nginx, &bans(), 1_000);
        assert_eq!(nginx, "deny 203.0.113.5;\ndeny 2001:db8::/64;\n");
    }

    #[test]
    fn nftables_entries_expire() {
        let nft = format_list(BanFormat::Nftables, &bans(), 1_000);
        assert!(nft.contains("203.0.113.5 timeout 60s\n"), "{nft}");
        assert!(nft.contains("2001:db8::/64 timeout 1s\n"), "{nft}");
        let none = format_list(BanFormat::Nftables, &[], 1_000);
        assert!(!none.contains("elements"), "{none}");
    }

    #[test]
    fn new_and_ended_bans_are_written_line_by_line() {
        let bans = bans();
        let ban = bans.first().unwrap();
        assert_eq!(
            format_addition(BanFormat::Plain, ban, 0).unwrap(),
            "+ 203.0.113.5\n"
        );
        assert_eq!(
            format_removal(BanFormat::Plain, ban).unwrap(),
            "- 203.0.113.5\n"
        );
        assert_eq!(format_addition(BanFormat::Nginx, ban, 0), None);
        let nft = format_addition(BanFormat::Nftables, ban, 0).unwrap();
        assert!(
            nft.ends_with(
                "add element inet robot_detection banned_v4 { 203.0.113.5 timeout 61s }\n"
            )
        );
    }
}
