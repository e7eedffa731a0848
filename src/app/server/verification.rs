//! From `[verify]` to settings: what is wrong is told by its place.

use std::time::Duration;

use crate::config::{Resolver, VerifySection};

use super::Verification;

/// Returns how claims are proven by these settings.
pub fn verification(settings: &VerifySection) -> Verification {
    let verification = switched_on(settings);
    if settings.enabled {
        verification
    } else {
        verification.methods([])
    }
}

/// Returns how claims would be proven if it were switched on.
pub(super) fn switched_on(settings: &VerifySection) -> Verification {
    let servers = settings.dns_servers.iter().copied().map(Resolver::addr);
    let interval = Duration::from_hours(settings.ranges_interval_hours.into());
    Verification::new()
        .methods(settings.methods.iter().copied())
        .dns_servers(servers)
        .dns_timeout(settings.dns_timeout)
        .ranges_interval(interval)
        .allow_private_addresses(settings.allow_private_addresses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;
    use crate::verify::Method;

    fn load(text: &str) -> Result<Verification, String> {
        let loaded = Loader::new().file("c.toml", text).load();
        let loaded = loaded.map_err(|error| error.to_string())?;
        Ok(verification(&loaded.settings().verify))
    }

    #[test]
    fn wrong_values_are_told_with_their_place() {
        for (text, expected) in [
            (
                "[verify]\nmethods = ['rangs']",
                "c.toml:2: verify.methods: \"rangs\" is no method; did you mean \"ranges\"?",
            ),
            (
                "[verify]\ndns_servers = ['dns.example']",
                "c.toml:2: verify.dns_servers: \"dns.example\" is no address of a resolver",
            ),
            (
                "[verify]\nspoofed = 'refused'",
                "c.toml:2: verify.spoofed: \"refused\" is no treatment; did you mean \"refuse\"?",
            ),
        ] {
            let error = load(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_verification_that_is_switched_off_has_no_methods() {
        let all = load("").unwrap();
        assert!(Method::ALL.iter().all(|method| all.uses(*method)));
        assert_eq!(all, Verification::new(), "defaults are the same everywhere");
        let none = load("verify.enabled = false").unwrap();
        assert!(!Method::ALL.iter().any(|method| none.uses(*method)));
        let one = load("verify.methods = 'reverse-dns'").unwrap();
        assert!(one.uses(Method::ReverseDns) && !one.uses(Method::Ranges));
    }
}
