//! Names of signers that the registry does not list.

use std::collections::HashMap;

use arc_swap::ArcSwap;

use robot_detection_layer::detect::SigningHost;

/// The maximum number of stored names of signers.
const MAX_NAMES: usize = 200;

/// The maximum number of names within one registrable domain, since its owner can create any
/// number.
const MAX_OF_DOMAIN: usize = 8;

/// Names assigned so far, in order of arrival. Looking up a known name does not take a lock.
#[derive(Debug, Default)]
pub(super) struct Signers {
    named: ArcSwap<SignerNames>,
}

#[derive(Clone, Debug, Default)]
struct SignerNames {
    names: HashMap<Box<str>, SigningHost>,
    of_domain: HashMap<Box<str>, usize>,
}

impl Signers {
    /// Returns the name for a host with a valid signature. Beyond the limits, hosts share a name.
    pub(super) fn name(&self, host: &str) -> Option<SigningHost> {
        let named = self.named.load();
        if let Some(known) = named.names.get(host) {
            return Some(known.clone());
        }
        let signer = SigningHost::new(host)?;
        let domain = psl::domain_str(host).unwrap_or(host);
        if named.is_full(domain) {
            return Some(SigningHost::OTHER);
        }
        let named = self.named.rcu(|named| named.with(host, domain, &signer));
        // Checked again, as the previous names may have been replaced concurrently.
        Some(if named.is_full(domain) {
            SigningHost::OTHER
        } else {
            signer
        })
    }
}

impl SignerNames {
    fn is_full(&self, domain: &str) -> bool {
        let of_domain = self.of_domain.get(domain).copied().unwrap_or_default();
        self.names.len() >= MAX_NAMES || of_domain >= MAX_OF_DOMAIN
    }

    fn with(&self, host: &str, domain: &str, signer: &SigningHost) -> Self {
        let mut named = self.clone();
        if !named.is_full(domain) && named.names.insert(host.into(), signer.clone()).is_none() {
            *named.of_domain.entry(domain.into()).or_default() += 1;
        }
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_two_hundred_share_one() {
        let signers = Signers::default();
        let name = |host: &str| signers.name(host).unwrap().as_str().to_owned();
        for number in 0..200 {
            let host = format!("agent.robots{number}.com");
            assert_eq!(name(&host), host);
        }
        assert_eq!(name("agent.late.com"), "signed, other");
        assert_eq!(
            name("agent.robots7.com"),
            "agent.robots7.com",
            "known name was not found"
        );
        assert!(signers.name("192.0.2.1").is_none());
    }

    #[test]
    fn one_domain_cannot_take_all_names() {
        let signers = Signers::default();
        let named = (0..300).filter(|number| {
            let host = format!("a{number}.robots.co.uk");
            signers.name(&host) != Some(SigningHost::OTHER)
        });
        assert_eq!(named.count(), 8);
        let other = signers.name("agent.others.co.uk").unwrap();
        assert_eq!(other.host(), Some("agent.others.co.uk"));
    }
}
