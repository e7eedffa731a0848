//! Names of JSON members that contain addresses and dates.

/// Member names that indicate addresses, without a plural ending.
const ADDRESSES: &[&str] = &[
    "addr",
    "address",
    "cidr",
    "cidripv4",
    "cidripv6",
    "ip",
    "ip4",
    "ip6",
    "ipaddr",
    "ipaddress",
    "ipcidr",
    "ipnetwork",
    "ipprefix",
    "iprange",
    "ipv4",
    "ipv4address",
    "ipv4cidr",
    "ipv4prefix",
    "ipv4range",
    "ipv6",
    "ipv6address",
    "ipv6cidr",
    "ipv6prefix",
    "ipv6range",
    "network",
    "prefix",
    "prefixesipv4",
    "prefixesipv6",
    "range",
    "subnet",
];

/// Member names that indicate the date of the list.
const DAYS: &[&str] = &[
    "created",
    "createdat",
    "createdate",
    "creationdate",
    "creationtime",
    "date",
    "generated",
    "generatedat",
    "lastmodified",
    "lastupdate",
    "lastupdated",
    "modified",
    "timestamp",
    "updated",
    "updatedat",
];

/// Returns `true` if a member with this name contains addresses.
pub(super) fn is_address(name: &str) -> bool {
    let name = plain(name);
    ["", "s", "es"].into_iter().any(|plural| {
        let singular = name.strip_suffix(plural);
        singular.is_some_and(|name| ADDRESSES.contains(&name))
    })
}

/// Returns `true` if a member with this name contains the date of the list.
pub(super) fn is_day(name: &str) -> bool {
    DAYS.contains(&plain(name).as_str())
}

fn plain(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_recognized_in_every_spelling() {
        for name in [
            "ipv4Prefix",
            "ipv6_prefix",
            "ip_prefix",
            "ip_address",
            "IPs",
            "ipAddresses",
            "prefixes",
            "prefixes_ipv4",
            "ipv4-prefixes",
            "CIDRs",
        ] {
            assert!(is_address(name), "{name}");
        }
        for name in [
            "",
            "s",
            "service",
            "region",
            "network_border_group",
            "hooks",
            "zip",
        ] {
            assert!(!is_address(name), "{name}");
        }
        assert!(is_day("creationTime") && is_day("last_updated") && !is_day("syncToken"));
    }
}
