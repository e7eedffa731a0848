//! Detection of robots by their request signatures.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use super::{Claim, Detector, Listed, UNLISTED, Unlisted};
use crate::registry::{Purpose, Robot};

/// Maximum number of bytes of a `Signature-Agent` header that are examined.
const MAX_HEADER_BYTES: usize = 8 << 10;

/// Maximum number of agent URLs that are examined per request.
const MAX_AGENTS: usize = 16;

/// A robot that signs its requests but is not in the registry.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Signed {
    /// The unlisted robot that the User-Agent reveals, if any.
    pub unlisted: Option<Unlisted>,
    /// The host that signed the request, if the signature is valid.
    pub signer: Option<SigningHost>,
}

/// The host whose key an unlisted robot signs its requests with, used as the robot's name.
///
/// Cloning does not copy any text.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct SigningHost(Option<Arc<str>>);

impl Signed {
    pub(super) fn name(&self) -> &str {
        self.signer.as_ref().map_or(UNLISTED, SigningHost::as_str)
    }

    pub(crate) fn purpose(&self) -> Purpose {
        let unlisted = self.unlisted.as_ref();
        unlisted.map_or(Purpose::Unknown, |unlisted| unlisted.sign.purpose())
    }
}

impl SigningHost {
    /// A common name for all further signers once there are too many to distinguish.
    pub const OTHER: Self = Self(None);

    /// Maximum length of a host name in bytes (RFC 1035 §2.3.4).
    const MAX_BYTES: usize = 253;

    /// Creates a name from a public DNS host in lower case. Returns `None` if the host is invalid.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_layer::detect::SigningHost;
    ///
    /// let signer = SigningHost::new("agent.example.com").unwrap();
    /// assert_eq!(signer.as_str(), "agent.example.com");
    /// assert!(SigningHost::new("192.0.2.7").is_none() && SigningHost::new("Robot").is_none());
    /// ```
    #[must_use]
    pub fn new(host: &str) -> Option<Self> {
        let last = host.rsplit('.').next()?;
        let is_host = host.len() <= Self::MAX_BYTES
            && host.contains('.')
            && host.split('.').all(is_label)
            // An IPv4 address ends in digits; no top-level domain begins with one.
            && last.starts_with(|first: char| first.is_ascii_lowercase());
        is_host.then(|| Self(Some(host.into())))
    }

    /// Returns the host, or `None` for [`OTHER`](Self::OTHER).
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns the host, or `signed, other`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.host().unwrap_or("signed, other")
    }
}

fn is_label(label: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&label.len())
        && label.bytes().all(allowed)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// An index of robots by their signature agents.
#[derive(Debug, Default)]
pub(super) struct Signers {
    robots: HashMap<Box<str>, u32>,
}

impl Signers {
    /// Maps each signature agent to its robot; if several robots use the same agent, to the first
    /// such robot in the best source.
    pub(super) fn from_robots(robots: &[Arc<Robot>]) -> Self {
        let mut by_agent: HashMap<Box<str>, u32> = HashMap::new();
        for (number, robot) in (0..).zip(robots) {
            for agent in &robot.signature_agents {
                let known = by_agent.entry(agent.as_str().into()).or_insert(number);
                let best = robots.get(*known as usize);
                if best.is_some_and(|best| robot.source.precedence() < best.source.precedence()) {
                    *known = number;
                }
            }
        }
        Self { robots: by_agent }
    }

    fn find(&self, agent: &str) -> Option<usize> {
        let number = self.robots.get(agent)?;
        usize::try_from(*number).ok()
    }
}

impl Detector {
    /// Returns the claim of a signed request, based on its User-Agent and its `Signature-Agent`
    /// headers.
    ///
    /// A signed request comes from a robot, whatever its User-Agent. If the User-Agent identifies a
    /// listed robot that is neither a library nor an automated browser, the claim is that robot.
    /// Otherwise the claim is the robot whose registry record contains the agent
    /// ([`Robot::signature_agents`](crate::registry::Robot::signature_agents)), or a
    /// [signed](Claim::Signed) claim if unlisted robots are [detected](Self::recognise_unlisted).
    /// The claim is not verified.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_layer::detect::{Claim, Detector};
    ///
    /// let detector = Detector::new([])?.recognise_unlisted(true);
    /// let chrome = b"Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0";
    /// let claim = detector.claim_signed(chrome, [&br#"sig1="https://agent.example""#[..]]);
    /// assert!(matches!(claim, Some(Claim::Signed(_))));
    /// # Ok::<(), robot_detection_layer::detect::BuildError>(())
    /// ```
    #[must_use]
    pub fn claim_signed<'h>(
        &self,
        user_agent: &[u8],
        agents: impl IntoIterator<Item = &'h [u8]>,
    ) -> Option<Claim<'_>> {
        self.signed(self.claim(user_agent), agents)
    }

    /// Returns the claim of a signed request, given the claim made by its User-Agent.
    pub(crate) fn signed<'d, 'h>(
        &'d self,
        by_name: Option<Claim<'d>>,
        agents: impl IntoIterator<Item = &'h [u8]>,
    ) -> Option<Claim<'d>> {
        if let Some(Claim::Listed(listed)) = &by_name
            && !listed.robot.purpose.is_general_tool()
        {
            return by_name;
        }
        let mut agents = agents.into_iter().flat_map(agents_of).take(MAX_AGENTS);
        if let Some(robot) = agents.find_map(|agent| self.signing(&agent)) {
            return Some(Claim::Listed(Listed {
                robot,
                pattern: None,
                range: 0..0,
            }));
        }
        let unlisted = match by_name {
            Some(Claim::Listed(_)) => return by_name,
            by_name if !self.recognises_unlisted() => return by_name,
            Some(Claim::Unlisted(unlisted)) => Some(unlisted),
            _ => None,
        };
        Some(Claim::Signed(Signed {
            unlisted,
            signer: None,
        }))
    }

    /// Returns the robot that uses the given signature agent.
    fn signing(&self, agent: &str) -> Option<&Arc<Robot>> {
        self.robots().get(self.signers().find(agent)?)
    }
}

/// Returns the agents in a `Signature-Agent` header, spelled as in the registry.
///
/// Accepts both the current form (a dictionary of strings) and the older form (a string).
fn agents_of(header: &[u8]) -> impl Iterator<Item = Cow<'_, str>> {
    let header = header.get(..MAX_HEADER_BYTES).unwrap_or(header);
    // Every second part of the header is quoted text.
    let texts = header.split(|&byte| byte == b'"').skip(1).step_by(2);
    texts.filter_map(|text| agent(str::from_utf8(text).ok()?))
}

/// Normalises an agent URL: the host in lower case, no port 443, and no path `/`.
fn agent(url: &str) -> Option<Cow<'_, str>> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let rest = rest
        .strip_suffix('/')
        .filter(|rest| !rest.contains('/'))
        .unwrap_or(rest);
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let authority = authority.strip_suffix(":443").unwrap_or(authority);
    let is_spelled = authority.len() == end && !authority.bytes().any(|b| b.is_ascii_uppercase());
    Some(if is_spelled {
        Cow::Borrowed(rest)
    } else {
        Cow::Owned(authority.to_ascii_lowercase() + path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Pattern, PatternKind, Source};

    #[test]
    fn agents_are_read_in_both_forms_and_normalised() {
        for (header, expected) in [
            (r#""https://agent.example""#, &["agent.example"][..]),
            (r#""https://Agent.Example:443/""#, &["agent.example"]),
            (
                r#"sig1="https://agent.example:8443""#,
                &["agent.example:8443"],
            ),
            (
                r#"a="https://one.example/", b="HTTPS://two.example/Keys.json";type=jwks_uri"#,
                &["one.example", "two.example/Keys.json"],
            ),
            (r#""http://agent.example""#, &[]),
            (r#""data:application/json,{}""#, &[]),
            ("https://agent.example", &[]),
            (r#"""#, &[]),
            ("", &[]),
        ] {
            let found: Vec<_> = agents_of(header.as_bytes()).collect();
            assert_eq!(found, expected, "{header}");
        }
    }

    #[test]
    fn only_public_hosts_are_names() {
        let long = format!("{}.example", "a".repeat(63));
        for host in [
            "agent.example",
            "a-b.c1.example",
            "xn--bcher-kva.example",
            &long,
        ] {
            assert_eq!(SigningHost::new(host).unwrap().host(), Some(host));
        }
        let too_long = format!("{}example", "a.".repeat(125));
        for text in [
            "",
            "example",
            "Agent.example",
            "agent.example.",
            "agent..example",
            "-a.example",
            "a-.example",
            "192.0.2.1",
            "[2001:db8::1]",
            "agent.example:8443",
            "agent.example/a",
            "agent\n.example",
            "ägent.example",
            &too_long,
        ] {
            assert_eq!(SigningHost::new(text), None, "{text}");
        }
        assert_eq!(SigningHost::OTHER.as_str(), "signed, other");
    }

    fn robot(id: &str, name: &str, agent: &str) -> Arc<Robot> {
        let mut robot = Robot::new(id, Source::manual());
        robot.patterns = vec![Pattern::new(PatternKind::Token, name)];
        robot.signature_agents = vec![agent.to_owned()];
        Arc::new(robot)
    }

    #[test]
    fn signed_request_belongs_to_its_agent_unless_it_names_another_robot() {
        let mut library = Robot::clone(&robot("library", "Library", "nobody.example"));
        library.purpose = Purpose::Library;
        let robots = [
            robot("one", "OneBot", "one.example"),
            robot("two", "TwoBot", "two.example/keys"),
            Arc::new(library),
        ];
        let detector = Detector::new(robots).unwrap().recognise_unlisted(true);
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
        for (user_agent, agent, expected) in [
            (chrome, "https://one.example", "one"),
            ("", "https://one.example", "one"),
            ("FooBot/1.0", "https://one.example", "one"),
            ("Library/1.0", "https://one.example", "one"),
            (chrome, "https://two.example/keys", "two"),
            (chrome, "https://two.example", "unlisted"),
            ("TwoBot/1.0", "https://one.example", "two"),
            ("Library/1.0", "https://other.example", "library"),
            (chrome, "https://other.example", "unlisted"),
            ("FooBot/1.0", "https://other.example", "unlisted"),
            (chrome, "nonsense", "unlisted"),
        ] {
            let header = format!("sig1=\"{agent}\"");
            let claim = detector.claim_signed(user_agent.as_bytes(), [header.as_bytes()]);
            assert_eq!(claim.unwrap().id(), expected, "{user_agent} {agent}");
        }
        let claim = detector.claim_signed(b"FooBot/1.0", [&b"\"https://other.example\""[..]]);
        let Some(Claim::Signed(signed)) = claim else {
            panic!("{claim:?}");
        };
        assert!(signed.unlisted.is_some() && signed.signer.is_none());
        let listed_only = detector.recognise_unlisted(false);
        let agent = &b"\"https://other.example\""[..];
        assert_eq!(listed_only.claim_signed(chrome.as_bytes(), [agent]), None);
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_octets_name_no_robot_and_do_not_panic(
            octets in proptest::collection::vec(
                proptest::prop_oneof![
                    proptest::prelude::Just(b'"'),
                    proptest::prelude::Just(b'/'),
                    proptest::prelude::Just(b':'),
                    proptest::prelude::any::<u8>()
                ],
                0..200,
            ),
        ) {
            let header = [&br#""https://"#[..], &octets, br#"""#].concat();
            for agent in agents_of(&header) {
                proptest::prop_assert!(agent.len() <= header.len());
            }
            let detector = Detector::new([]).unwrap().recognise_unlisted(true);
            let claim = detector.claim_signed(b"", [&header[..]]).unwrap();
            proptest::prop_assert_eq!(claim.id(), UNLISTED);
        }
    }
}
