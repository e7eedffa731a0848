//! Suffixes of an operator's host names, and zones in which host names prove nothing.

use std::{fmt, net::SocketAddr, sync::LazyLock, time::Duration};

use hickory_resolver::proto::rr::Name;

use super::quoted::QuotedName;
use robot_detection_layer::{clock::Clock, registry::is_public_suffix};

/// DNS zones in which a provider's customers can choose or obtain host names for any program.
///
/// Some operators document such a zone for robots started by their users. However, a name in such a
/// zone proves only that the robot runs at this provider, as any customer's program may.
const CUSTOMER_ZONES: &[&str] = &[
    // App Engine, Compute Engine.
    "gae.googleusercontent.com",
    "bc.googleusercontent.com",
    "appspot.com",
    "run.app",
    // EC2, load balancers.
    "compute.amazonaws.com",
    "compute-1.amazonaws.com",
    "compute.amazonaws.com.cn",
    "elb.amazonaws.com",
    "cloudapp.azure.com",
    "cloudapp.net",
    "azurewebsites.net",
    "linodeusercontent.com",
    "members.linode.com",
    "vultrusercontent.com",
    "your-server.de",
    "ovh.net",
    "contaboserver.net",
    "yandexcloud.net",
];

static CUSTOMERS: LazyLock<Vec<Name>> = LazyLock::new(|| {
    let zones = CUSTOMER_ZONES.iter().filter_map(|zone| suffix(zone));
    zones.collect()
});

/// The maximum number of suffixes to list in a sentence.
const MAX_SHOWN: usize = 3;

/// The suffixes of an operator's host names.
#[derive(Clone, Debug)]
pub(super) struct Suffixes(Vec<Suffix>);

#[derive(Clone, Debug)]
struct Suffix {
    name: Name,
    /// Whether anyone can obtain a name below the suffix, as with `github.io`.
    is_public: bool,
}

/// The result of comparing a name with the suffixes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SuffixMatch {
    /// The name ends in one of the suffixes.
    Yes,
    /// The name ends in one of the suffixes, but in a zone where customers choose names.
    AsCustomer,
    /// The name ends in none of the suffixes.
    No,
}

impl Suffixes {
    /// Parses suffixes such as `googlebot.com`, `.googlebot.com` or `*.googlebot.com`.
    ///
    /// International names may be in Unicode (IDNA). The root and invalid names are omitted. Public
    /// suffixes, such as `github.io`, are marked because anyone can obtain a name below them.
    pub(super) fn new(suffixes: &[String]) -> Self {
        let names = suffixes.iter().filter_map(|text| suffix(text));
        let suffixes = names.map(|name| Suffix {
            is_public: is_public_suffix(&name.to_ascii().to_ascii_lowercase()),
            name,
        });
        Self(suffixes.collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares a name with the suffixes, label by label, ignoring case.
    ///
    /// A name equal to the suffix also matches: its owner also owns the names below it, and some
    /// operators have only one host, whose name is the suffix.
    pub(super) fn match_name(&self, name: &Name) -> SuffixMatch {
        let mut found = self.0.iter().filter(|suffix| suffix.name.zone_of(name));
        let Some(first) = found.next() else {
            return SuffixMatch::No;
        };
        let is_public = first.is_public && found.all(|suffix| suffix.is_public);
        if is_public || CUSTOMERS.iter().any(|zone| zone.zone_of(name)) {
            SuffixMatch::AsCustomer
        } else {
            SuffixMatch::Yes
        }
    }
}

impl fmt::Display for Suffixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, suffix) in self.0.iter().take(MAX_SHOWN).enumerate() {
            let between = if at > 0 { " or " } else { "" };
            write!(f, "{between}{}", QuotedName(&suffix.name))?;
        }
        if self.0.len() > MAX_SHOWN {
            write!(f, " or {} more", self.0.len() - MAX_SHOWN)?;
        }
        Ok(())
    }
}

fn suffix(text: &str) -> Option<Name> {
    let text = text.trim();
    let text = text.strip_prefix('*').unwrap_or(text);
    let text = text.strip_prefix('.').unwrap_or(text);
    let mut name = Name::from_str_relaxed(text).ok()?;
    name.set_fqdn(true);
    (!name.is_root()).then_some(name)
}

/// Settings and limits for verification by DNS.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DnsSettings {
    /// Resolvers to query over UDP, or over TCP if a response is truncated. Empty by default, which
    /// means that the system's resolvers (`/etc/resolv.conf`) are used; these are read at the first
    /// query.
    pub servers: Vec<SocketAddr>,
    /// The timeout for a single query; 2 seconds by default.
    pub timeout: Duration,
    /// The maximum number of attempts for a query that fails or times out, at least one; 2 by
    /// default.
    pub attempts: usize,
    /// The total timeout for all queries of a proof; 5 seconds by default.
    pub proof_timeout: Duration,
    /// The maximum number of concurrent address lookups, at least one; 64 by default.
    pub concurrency: usize,
    /// The maximum number of additional proofs that may wait; 16,384 by default.
    pub queue: usize,
    /// The maximum time that a proof may wait before it starts; 30 seconds by default.
    pub queue_timeout: Duration,
    /// The maximum number of cached addresses, fewer if their names are long; 50,000 by default.
    pub cache_entries: u64,
    /// Whether to look up private, loopback, link-local and reserved addresses; `false` by default.
    pub allow_private: bool,
    /// The clock that determines when cached records expire; the system clock by default.
    pub clock: Clock,
}

impl Default for DnsSettings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            timeout: Duration::from_secs(2),
            attempts: 2,
            proof_timeout: Duration::from_secs(5),
            concurrency: 64,
            queue: 16_384,
            queue_timeout: Duration::from_secs(30),
            cache_entries: 50_000,
            allow_private: false,
            clock: Clock::system(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    use robot_detection_layer::registry::bundled;

    fn suffixes(texts: &[&str]) -> Suffixes {
        let texts: Vec<_> = texts.iter().map(|&text| text.to_owned()).collect();
        Suffixes::new(&texts)
    }

    fn match_name(suffix: &str, name: &str) -> SuffixMatch {
        suffixes(&[suffix]).match_name(&Name::from_utf8(name).unwrap())
    }

    #[test]
    fn no_bundled_robot_has_a_suffix_open_to_customers() {
        let robots = bundled().robots;
        assert!(robots.iter().any(|robot| !robot.host_suffixes.is_empty()));
        for robot in robots {
            for text in &robot.host_suffixes {
                let name = suffix(text).unwrap();
                let shares = |zone: &Name| zone.zone_of(&name) || name.zone_of(zone);
                assert!(!CUSTOMERS.iter().any(shares), "{}: {text}", robot.id);
                assert!(!is_public_suffix(text), "{}: {text}", robot.id);
            }
        }
    }

    #[test]
    fn names_end_in_a_suffix_at_a_label_boundary() {
        for (suffix, name, expected) in [
            ("googlebot.com", "a.googlebot.com.", true),
            ("googlebot.com", "a.b.googlebot.com.", true),
            ("googlebot.com", "googlebot.com.", true),
            ("GoogleBot.com", "A.gOOGLEbOT.COM.", true),
            ("googlebot.com.", "a.googlebot.com.", true),
            ("googlebot.com", "a.googlebot.com", true),
            (".googlebot.com", "a.googlebot.com.", true),
            ("*.googlebot.com", "a.googlebot.com.", true),
            (" googlebot.com ", "a.googlebot.com.", true),
            ("googlebot.com", "evilgooglebot.com.", false),
            ("googlebot.com", "a.evilgooglebot.com.", false),
            ("googlebot.com", "googlebot.com.evil.example.", false),
            ("googlebot.com", "a.googlebot.com.example.", false),
            ("googlebot.com", "com.", false),
            ("googlebot.com", ".", false),
            (
                "crawl.bücher.example",
                "a.crawl.xn--bcher-kva.example.",
                true,
            ),
            ("xn--bcher-kva.example", "a.xn--bcher-kva.example.", true),
            ("xn--bcher-kva.example", "a.XN--BCHER-KVA.example.", true),
        ] {
            let expected = if expected {
                SuffixMatch::Yes
            } else {
                SuffixMatch::No
            };
            assert_eq!(match_name(suffix, name), expected, "{suffix} {name}");
        }
    }

    #[test]
    fn dot_within_a_label_is_no_boundary() {
        let name = Name::from_labels([&b"www.googlebot"[..], b"com"]).unwrap();
        let suffixes = suffixes(&["googlebot.com"]);
        assert_eq!(suffixes.match_name(&name), SuffixMatch::No);
        let name = Name::from_labels([&b"x.googlebot.com"[..]]).unwrap();
        assert_eq!(suffixes.match_name(&name), SuffixMatch::No);
    }

    #[test]
    fn names_chosen_by_customers_do_not_match() {
        for (suffix, name) in [
            (
                "googleusercontent.com",
                "1.2.0.192.gae.googleusercontent.com.",
            ),
            ("gae.googleusercontent.com", "a.gae.googleusercontent.com."),
            ("amazonaws.com", "ec2-192-0-2-1.compute-1.amazonaws.com."),
            ("com", "1.2.0.192.BC.googleusercontent.com."),
            ("com", "crawl.robots.com."),
            ("co.uk", "crawl.robots.co.uk."),
            ("*.GitHub.io.", "crawl.github.io."),
            ("github.io", "github.io."),
        ] {
            assert_eq!(match_name(suffix, name), SuffixMatch::AsCustomer, "{name}");
        }
        assert_eq!(CUSTOMERS.len(), CUSTOMER_ZONES.len());
        let both = suffixes(&["github.io", "crawl.github.io"]);
        let own = Name::from_utf8("a.crawl.github.io.").unwrap();
        assert_eq!(both.match_name(&own), SuffixMatch::Yes);
    }

    #[test]
    fn invalid_names_are_not_suffixes() {
        for text in [
            "",
            ".",
            "*",
            "*.",
            "..",
            "a..b",
            &"a".repeat(64),
            &"a.".repeat(200),
        ] {
            let suffixes = suffixes(&[text]);
            assert!(suffixes.is_empty(), "{text:?}: {suffixes:?}");
        }
    }

    #[test]
    fn display_names_only_a_few_suffixes() {
        assert_eq!(suffixes(&["a.example"]).to_string(), "\"a.example\"");
        let five = suffixes(&["a.b", "c.d", "e.f", "g.h", "i.j"]);
        assert_eq!(five.to_string(), "\"a.b\" or \"c.d\" or \"e.f\" or 2 more");
    }

    fn label() -> impl Strategy<Value = String> {
        "[a-cA-C]{1,2}"
    }

    proptest! {
        /// Alternative implementation of the matching rule, based on lists of labels.
        #[test]
        fn name_matches_if_its_last_labels_are_the_suffix(
            suffix in prop::collection::vec(label(), 1..4),
            name in prop::collection::vec(label(), 0..6),
            below in any::<bool>(),
        ) {
            // No public suffix ends this way (RFC 2606).
            let suffix = [suffix, vec!["example".to_owned()]].concat();
            let labels: Vec<_> = if below {
                name.iter().chain(&suffix).cloned().collect()
            } else {
                name
            };
            let lower = |labels: &[String]| -> Vec<String> {
                labels.iter().map(|label| label.to_ascii_lowercase()).collect()
            };
            let expected = lower(&labels).ends_with(&lower(&suffix));
            let found = match_name(&suffix.join("."), &format!("{}.", labels.join(".")));
            prop_assert_eq!(found == SuffixMatch::Yes, expected);
        }

        #[test]
        fn arbitrary_text_does_not_panic(
            text in any::<String>(),
            labels in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..63), 0..4),
        ) {
            let labels = labels.iter().map(Vec::as_slice);
            let name = Name::from_labels(labels).unwrap();
            suffixes(&[&text]).match_name(&name);
            let quoted = QuotedName(&name).to_string();
            prop_assert!(!quoted.chars().any(char::is_control));
        }
    }
}
