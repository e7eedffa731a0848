//! Bans as other programs read them.

use std::fmt::Write as _;

use super::network::Network;
use robot_detection_store::store::Ban;

/// Table of nftables, and the sets in it.
const TABLE: &str = "inet robot_detection";
const SETS: [(&str, &str, bool); 2] = [
    ("banned_v4", "ipv4_addr", true),
    ("banned_v6", "ipv6_addr", false),
];

/// Form of a list of bans.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum BanFormat {
    /// A network a line
    #[default]
    Plain,
    /// A file for nft -f: a table with a set for each version of IP, whose entries end by themselves
    Nftables,
    /// Lines such as deny 192.0.2.1; for nginx to include
    Nginx,
}

/// Returns the list of all bans.
pub fn whole(format: BanFormat, bans: &[Ban], now_ms: i64) -> String {
    match format {
        BanFormat::Plain => lines(bans, |network| format!("{network}\n")),
        BanFormat::Nginx => lines(bans, |network| format!("deny {network};\n")),
        BanFormat::Nftables => table(bans, now_ms),
    }
}

/// Returns what says that a ban has begun, or lasts longer; `None`: there is no such form.
pub fn added(format: BanFormat, ban: &Ban, now_ms: i64) -> Option<String> {
    let network = network(ban)?;
    match format {
        BanFormat::Plain => Some(format!("+ {network}\n")),
        BanFormat::Nftables => {
            let (set, element) = (set_of(network), element(network, ban, now_ms));
            // One that is there already would keep its old end.
            let gone = deleted(network);
            Some(format!("{gone}add element {TABLE} {set} {{ {element} }}\n"))
        }
        BanFormat::Nginx => None,
    }
}

/// Returns what says that a ban has ended; `None`: there is no such form.
pub fn removed(format: BanFormat, ban: &Ban) -> Option<String> {
    let network = network(ban)?;
    match format {
        BanFormat::Plain => Some(format!("- {network}\n")),
        BanFormat::Nftables => Some(deleted(network)),
        BanFormat::Nginx => None,
    }
}

/// Returns the commands after which no set has a network.
fn deleted(network: Network) -> String {
    let set = set_of(network);
    // What is not there, as it has ended by itself, cannot be deleted: hence it is added before.
    format!(
        "add element {TABLE} {set} {{ {network} }}\n\
         delete element {TABLE} {set} {{ {network} }}\n"
    )
}

fn table(bans: &[Ban], now_ms: i64) -> String {
    // Declared first, as what is not there cannot be deleted; all of it is one transaction.
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
    // A timeout of nothing is for ever.
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

/// Returns the network; what somebody else has written into the database is left out.
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
    fn only_networks_are_written() {
        let plain = whole(BanFormat::Plain, &bans(), 1_000);
        assert_eq!(plain, "203.0.113.5\n2001:db8::/64\n");
        let nginx = whole(BanFormat::Nginx, &bans(), 1_000);
        assert_eq!(nginx, "deny 203.0.113.5;\ndeny 2001:db8::/64;\n");
    }

    #[test]
    fn entries_of_nftables_end_by_themselves() {
        let nft = whole(BanFormat::Nftables, &bans(), 1_000);
        assert!(nft.contains("203.0.113.5 timeout 60s\n"), "{nft}");
        assert!(nft.contains("2001:db8::/64 timeout 1s\n"), "{nft}");
        let none = whole(BanFormat::Nftables, &[], 1_000);
        assert!(!none.contains("elements"), "{none}");
    }

    #[test]
    fn what_begins_and_ends_is_told_line_by_line() {
        let bans = bans();
        let ban = bans.first().unwrap();
        assert_eq!(added(BanFormat::Plain, ban, 0).unwrap(), "+ 203.0.113.5\n");
        assert_eq!(removed(BanFormat::Plain, ban).unwrap(), "- 203.0.113.5\n");
        assert_eq!(added(BanFormat::Nginx, ban, 0), None);
        let nft = added(BanFormat::Nftables, ban, 0).unwrap();
        assert!(
            nft.ends_with(
                "add element inet robot_detection banned_v4 { 203.0.113.5 timeout 61s }\n"
            )
        );
    }
}
