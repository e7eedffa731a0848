//! From `[verify]` to settings: what is wrong is told by its place.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use robot_detection_site_robot::spelling::unknown;

use crate::config::{ConfigErrors, Loaded};
use crate::policy::Spoofed;
use crate::verify::Method;

use super::Verification;

const DNS_PORT: u16 = 53;

/// Returns how claims are proven by these settings.
///
/// # Errors
///
/// Fails with the place of the wrong value.
pub fn verification(loaded: &Loaded) -> Result<Verification, ConfigErrors> {
    let verification = switched_on(loaded)?;
    Ok(if loaded.settings().verify_enabled {
        verification
    } else {
        verification.methods([])
    })
}

/// Returns how claims would be proven if it were switched on.
pub(super) fn switched_on(loaded: &Loaded) -> Result<Verification, ConfigErrors> {
    let settings = loaded.settings();
    let mut methods = Vec::new();
    for word in &settings.verify_methods {
        let method = Method::from_word(word).ok_or_else(|| {
            let words = Method::ALL.iter().map(|method| method.as_str());
            loaded.wrong("verify.methods", unknown("method", word, words))
        })?;
        methods.push(method);
    }
    let servers = settings.verify_dns_servers.iter().map(|text| {
        server(text).ok_or_else(|| {
            let reason = format!(
                "{text:?} is no address of a resolver; write such as 9.9.9.9 or [::1]:5353"
            );
            loaded.wrong("verify.dns_servers", reason)
        })
    });
    let interval = Duration::from_hours(settings.verify_ranges_interval_hours.into());
    Ok(Verification::new()
        .methods(methods)
        .dns_servers(servers.collect::<Result<Vec<_>, _>>()?)
        .dns_timeout(settings.verify_dns_timeout)
        .ranges_interval(interval)
        .allow_private_addresses(settings.verify_allow_private_addresses))
}

/// Returns what is done with robots that are not who they say.
pub(in crate::app) fn spoofed(loaded: &Loaded) -> Result<Spoofed, ConfigErrors> {
    let word = loaded.settings().verify_spoofed;
    Spoofed::from_word(&word).ok_or_else(|| {
        let words = Spoofed::ALL.iter().map(|spoofed| spoofed.as_str());
        loaded.wrong("verify.spoofed", unknown("treatment", &word, words))
    })
}

/// Reads the address of a resolver, whose port is 53 unless it says another.
fn server(text: &str) -> Option<SocketAddr> {
    let text = text.trim();
    let address = |text: &str| Some(SocketAddr::new(text.parse::<IpAddr>().ok()?, DNS_PORT));
    let bracketed = || address(text.strip_prefix('[')?.strip_suffix(']')?);
    text.parse()
        .ok()
        .or_else(|| address(text))
        .or_else(bracketed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    fn load(text: &str) -> Loaded {
        Loader::new().file("c.toml", text).load().unwrap()
    }

    #[test]
    fn resolvers_have_a_port_or_the_usual_one() {
        for (text, expected) in [
            ("9.9.9.9", Some("9.9.9.9:53")),
            (" 127.0.0.1:5353 ", Some("127.0.0.1:5353")),
            ("::1", Some("[::1]:53")),
            ("[::1]", Some("[::1]:53")),
            ("[::1]:5353", Some("[::1]:5353")),
            ("dns.example", None),
            ("9.9.9.9:x", None),
            ("[9.9.9.9", None),
        ] {
            let found = server(text).map(|server| server.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
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
        ] {
            let error = verification(&load(text)).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let error = spoofed(&load("[verify]\nspoofed = 'refused'")).unwrap_err();
        let expected =
            "c.toml:2: verify.spoofed: \"refused\" is no treatment; did you mean \"refuse\"?";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_verification_that_is_switched_off_has_no_methods() {
        let all = verification(&load("")).unwrap();
        assert!(Method::ALL.iter().all(|method| all.uses(*method)));
        assert_eq!(all, Verification::new(), "defaults are the same everywhere");
        let none = verification(&load("verify.enabled = false")).unwrap();
        assert!(!Method::ALL.iter().any(|method| none.uses(*method)));
        let one = verification(&load("verify.methods = 'reverse-dns'")).unwrap();
        assert!(one.uses(Method::ReverseDns) && !one.uses(Method::Ranges));
    }
}
