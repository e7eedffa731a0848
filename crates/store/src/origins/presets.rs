//! Presets for content delivery networks, selected by name.

/// The addresses of a provider's proxies, as published by the provider.
#[derive(Debug, Eq, PartialEq)]
pub struct ProxyPreset {
    /// The name by which settings refer to the preset.
    pub name: &'static str,
    /// The URL of each list, with the networks that the list contained at the time of this release,
    /// separated by spaces.
    pub lists: &'static [(&'static str, &'static str)],
}

/// All presets, with the networks that were published in November 2026.
pub const PRESETS: &[ProxyPreset] = &[
    ProxyPreset {
        name: "cloudflare",
        lists: &[
            (
                "https://www.cloudflare.com/ips-v4",
                "173.245.48.0/20 103.21.244.0/22 103.22.200.0/22 103.31.4.0/22 \
                 141.101.64.0/18 108.162.192.0/18 190.93.240.0/20 188.114.96.0/20 \
                 197.234.240.0/22 198.41.128.0/17 162.158.0.0/15 104.16.0.0/13 \
                 104.24.0.0/14 172.64.0.0/13 131.0.72.0/22",
            ),
            (
                "https://www.cloudflare.com/ips-v6",
                "2400:cb00::/32 2606:4700::/32 2803:f800::/32 2405:b500::/32 \
                 2405:8100::/32 2a06:98c0::/29 2c0f:f248::/32",
            ),
        ],
    },
    ProxyPreset {
        name: "fastly",
        lists: &[(
            "https://api.fastly.com/public-ip-list",
            "23.235.32.0/20 43.249.72.0/22 103.244.50.0/24 103.245.222.0/23 \
                 103.245.224.0/24 104.156.80.0/20 140.248.64.0/18 140.248.128.0/17 \
                 146.75.0.0/17 151.101.0.0/16 157.52.64.0/18 167.82.0.0/17 \
                 167.82.128.0/20 167.82.160.0/20 167.82.224.0/20 172.111.64.0/18 \
                 185.31.16.0/22 199.27.72.0/21 199.232.0.0/16 2a04:4e40::/32 \
                 2a04:4e42::/32",
        )],
    },
];

impl ProxyPreset {
    /// Returns the preset with the given name.
    pub fn find(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::PublishedRanges;

    #[test]
    fn built_in_networks_are_parsed_like_fetched_ones() {
        for preset in PRESETS {
            for (url, networks) in preset.lists {
                let document = networks.replace(' ', "\n");
                let list = PublishedRanges::parse(url, document.as_bytes()).unwrap();
                assert_eq!(list.set.len(), networks.split(' ').count(), "{url}");
                assert_eq!(list.unreadable, 0, "{url}");
            }
        }
        assert!(ProxyPreset::find("nobody").is_none());
    }
}
