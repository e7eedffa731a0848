//! The sender of a request (address and headers), and the conditions of rules on the sender.

use std::{fmt, net::IpAddr, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue, header::USER_AGENT};

use crate::suspect::Reasons;

use super::text_pattern::TextPattern;

/// The address and the headers of a request.
///
/// If a value is missing, conditions on that value never hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sender<'r> {
    /// The client's address, if known.
    pub address: Option<IpAddr>,
    /// All request headers, as received.
    pub headers: Option<&'r HeaderMap>,
    /// The reasons why the visitor is a suspect; empty if the visitor is not a suspect.
    pub reasons: Reasons,
}

/// A named set of addresses, used in a rule's condition. The contents of the set may change at run
/// time.
///
/// # Example
///
/// ```
/// use std::{net::IpAddr, sync::Arc};
///
/// use robot_detection_layer::policy::{Action, Addresses, Rule};
///
/// let is_ours = |address: IpAddr| address.is_loopback();
/// let ours = Addresses::new("this machine", Arc::new(is_ours));
/// let rule = Rule::builder(Action::Pass).addresses([ours]);
/// ```
#[derive(Clone)]
pub struct Addresses {
    name: Arc<str>,
    contains: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
}

/// The autonomous system and the country of an address.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Place {
    /// The number of the autonomous system.
    pub asn: Option<u32>,
    /// The ISO 3166-1 country code, which consists of two letters in upper case.
    pub country: Option<[u8; 2]>,
}

/// A lookup of the autonomous system and country of addresses, which reads only memory.
#[derive(Clone, Default)]
pub struct Places(Option<Arc<dyn Fn(IpAddr) -> Place + Send + Sync>>);

/// The conditions on the sender, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SenderConditions {
    pub(super) addresses: Option<Vec<Addresses>>,
    pub(super) asns: Option<Vec<u32>>,
    pub(super) countries: Option<Vec<[u8; 2]>>,
    /// The conditions on request headers, all of which must hold.
    pub(super) headers: Option<Vec<HeaderCondition>>,
    pub(super) user_agents: Option<Vec<TextPattern>>,
    pub(super) signature_agents: Option<Vec<TextPattern>>,
    pub(super) suspect: Option<bool>,
    /// The reasons for suspicion, at least one of which a suspect must have.
    pub(super) reasons: Option<Reasons>,
}

/// A condition of a rule on one request header.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HeaderCondition {
    name: HeaderName,
    wanted: HeaderTest,
}

#[derive(Clone, Debug, PartialEq)]
enum HeaderTest {
    Present,
    Absent,
    Matching(TextPattern),
}

/// A condition on the sender that does not hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum SenderMismatch {
    Address,
    Asn,
    Country,
    Header,
    UserAgent,
    SignatureAgent,
    Suspect,
}

impl Addresses {
    /// Creates a set of addresses with a display name.
    #[must_use]
    pub fn new(
        name: impl Into<Arc<str>>,
        contains: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
    ) -> Self {
        Self {
            name: name.into(),
            contains,
        }
    }

    /// Returns the display name of the set.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if the set contains an address. IPv4-mapped IPv6 addresses are treated as
    /// IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        (self.contains)(address.to_canonical())
    }
}

/// Compares sets by name, so that an unchanged rule retains its rate limit when settings are
/// reloaded.
impl PartialEq for Addresses {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Addresses").field(&self.name).finish()
    }
}

impl Places {
    /// Creates a lookup from a function.
    #[must_use]
    pub fn new(find: Arc<dyn Fn(IpAddr) -> Place + Send + Sync>) -> Self {
        Self(Some(find))
    }

    /// Returns the autonomous system and the country of an address, if known.
    #[must_use]
    pub fn find(&self, address: IpAddr) -> Place {
        let find = self.0.as_ref();
        find.map_or_else(Place::default, |find| find(address.to_canonical()))
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Places").field(&self.0.is_some()).finish()
    }
}

impl HeaderCondition {
    /// Parses `Name`, `!Name` or `Name: pattern`.
    ///
    /// # Errors
    ///
    /// Returns the reason why the condition is invalid.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (name, wanted) = match (text.strip_prefix('!'), text.split_once(':')) {
            (Some(name), _) => (name, HeaderTest::Absent),
            (None, Some((name, pattern))) => (
                name,
                HeaderTest::Matching(TextPattern::parse(pattern.trim())?),
            ),
            (None, None) => (text, HeaderTest::Present),
        };
        let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| {
            "not a header condition such as X-Monitor, !Accept-Language or Accept: text/*"
                .to_owned()
        })?;
        Ok(Self { name, wanted })
    }

    fn holds(&self, headers: &HeaderMap) -> bool {
        match &self.wanted {
            HeaderTest::Present => headers.contains_key(&self.name),
            HeaderTest::Absent => !headers.contains_key(&self.name),
            HeaderTest::Matching(pattern) => {
                any(headers, &self.name, std::slice::from_ref(pattern))
            }
        }
    }
}

impl SenderConditions {
    /// Returns the first condition that does not hold, if any. The cheapest conditions are checked
    /// first.
    pub(super) fn mismatch(&self, sender: Sender<'_>, places: &Places) -> Option<SenderMismatch> {
        if self.is_empty() {
            return None;
        }
        self.reason_mismatch(sender.reasons)
            .or_else(|| self.header_mismatch(sender.headers))
            .or_else(|| self.address_mismatch(sender.address, places))
    }

    /// Describes the address in terms of the matching conditions, if there are conditions on the
    /// address.
    pub(super) fn reason(&self, sender: Sender<'_>, places: &Places) -> Option<String> {
        let address = sender.address?;
        let sets = self.addresses.iter().flatten();
        let set = sets.clone().find(|set| set.contains(address));
        let place = places.find(address);
        let asn = place.asn.filter(|_| self.asns.is_some());
        let country = place.country.filter(|_| self.countries.is_some());
        let reasons = [
            set.map(|set| format!("in {}", set.name())),
            asn.map(|asn| format!("in AS{asn}")),
            country.map(|country| format!("in {}", String::from_utf8_lossy(&country))),
        ];
        let reasons: Vec<_> = reasons.into_iter().flatten().collect();
        (!reasons.is_empty()).then(|| format!("{address} is {}", reasons.join(" and ")))
    }

    /// Returns `true` if there are no conditions on the sender.
    pub(super) fn is_empty(&self) -> bool {
        self.addresses.is_none()
            && self.asns.is_none()
            && self.countries.is_none()
            && self.headers.is_none()
            && self.user_agents.is_none()
            && self.signature_agents.is_none()
            && self.suspect.is_none()
            && self.reasons.is_none()
    }

    /// Returns `true` if the conditions include every sender that `other` includes.
    ///
    /// Sets of addresses and patterns may overlap in any way, so only equal sets and patterns count
    /// as included.
    pub(super) fn include(&self, other: &Self) -> bool {
        self.is_empty() || self == other
    }

    fn reason_mismatch(&self, found: Reasons) -> Option<SenderMismatch> {
        let is_wanted = self.suspect.is_none_or(|wanted| wanted != found.is_empty());
        let has_one = self.reasons.is_none_or(|wanted| wanted.intersects(found));
        (!(is_wanted && has_one)).then_some(SenderMismatch::Suspect)
    }

    fn header_mismatch(&self, headers: Option<&HeaderMap>) -> Option<SenderMismatch> {
        let none = HeaderMap::new();
        let is_known = headers.is_some();
        let headers = headers.unwrap_or(&none);
        let fails = |holds: bool, mismatch| (!(holds && is_known)).then_some(mismatch);
        let signature_agent = HeaderName::from_static("signature-agent");
        let user_agents = self.user_agents.as_ref();
        let agents = self.signature_agents.as_ref();
        let conditions = self.headers.as_ref();
        user_agents
            .and_then(|all| fails(any(headers, &USER_AGENT, all), SenderMismatch::UserAgent))
            .or_else(|| {
                let all = conditions?;
                let holds = all.iter().all(|condition| condition.holds(headers));
                fails(holds, SenderMismatch::Header)
            })
            .or_else(|| {
                let holds = any(headers, &signature_agent, agents?);
                fails(holds, SenderMismatch::SignatureAgent)
            })
    }

    fn address_mismatch(&self, address: Option<IpAddr>, places: &Places) -> Option<SenderMismatch> {
        if let Some(sets) = &self.addresses
            && !address.is_some_and(|address| sets.iter().any(|set| set.contains(address)))
        {
            return Some(SenderMismatch::Address);
        }
        if self.asns.is_none() && self.countries.is_none() {
            return None;
        }
        let place = address.map_or_else(Place::default, |address| places.find(address));
        if let Some(asns) = &self.asns
            && !place.asn.is_some_and(|asn| asns.contains(&asn))
        {
            return Some(SenderMismatch::Asn);
        }
        let countries = self.countries.as_ref()?;
        let is_there = place
            .country
            .is_some_and(|country| countries.contains(&country));
        (!is_there).then_some(SenderMismatch::Country)
    }
}

impl SenderMismatch {
    /// Returns a clause that explains why the sender does not meet the rule's conditions.
    pub(super) fn reason(self, sender: Option<Sender<'_>>, places: &Places) -> String {
        let address = sender.and_then(|sender| sender.address);
        let place = address.map_or_else(Place::default, |address| places.find(address));
        match (self, address) {
            (Self::Address, Some(address)) => {
                format!("the address {address} is not among the rule's addresses")
            }
            (Self::Asn, Some(address)) => match place.asn {
                Some(asn) => format!("the address {address} is in AS{asn}"),
                None => format!("the autonomous system of {address} is unknown"),
            },
            (Self::Country, Some(address)) => match place.country {
                Some(country) => {
                    format!(
                        "the address {address} is in {}",
                        String::from_utf8_lossy(&country)
                    )
                }
                None => format!("the country of {address} is unknown"),
            },
            (Self::Address | Self::Asn | Self::Country, None) => {
                "the address is unknown".to_owned()
            }
            (Self::Header, _) => "the headers do not match the rule's request_headers".to_owned(),
            (Self::UserAgent, _) => {
                "the User-Agent does not match the rule's user_agents".to_owned()
            }
            (Self::SignatureAgent, _) => {
                "the Signature-Agent does not match the rule's signature_agents".to_owned()
            }
            (Self::Suspect, _) => {
                let reasons = sender.map(|sender| sender.reasons);
                match reasons.filter(|reasons| !reasons.is_empty()) {
                    None => "the visitor is not a suspect".to_owned(),
                    Some(reasons) => format!("the visitor is a suspect because of {reasons}"),
                }
            }
        }
    }
}

/// Returns `true` if any value of a header matches any of the patterns.
fn any(headers: &HeaderMap, name: &HeaderName, patterns: &[TextPattern]) -> bool {
    let mut values = headers.get_all(name).iter().map(HeaderValue::as_bytes);
    values.any(|value| patterns.iter().any(|pattern| pattern.matches(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let lines = lines.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        lines.collect()
    }

    #[test]
    fn a_header_is_present_absent_or_matches_a_pattern() {
        let sent = headers(&[("accept", "text/html"), ("x-monitor", "")]);
        for (condition, holds) in [
            ("X-Monitor", true),
            ("accept", true),
            ("X-Other", false),
            ("!X-Other", true),
            ("!Accept", false),
            ("! Accept", false),
            ("Accept: text/*", true),
            ("Accept: TEXT/HTML", true),
            ("Accept: text", false),
            ("X-Monitor:", true),
            ("X-Other: *", false),
        ] {
            let read = HeaderCondition::parse(condition).unwrap();
            assert_eq!(read.holds(&sent), holds, "{condition}");
        }
        for wrong in ["", "!", "a b", "a b: c", ": x"] {
            assert!(HeaderCondition::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn unknown_values_match_no_condition() {
        let is_local = |address: IpAddr| address.is_loopback();
        let conditions = SenderConditions {
            addresses: Some(vec![Addresses::new("local", Arc::new(is_local))]),
            ..SenderConditions::default()
        };
        let at = |address: Option<&str>| {
            let address = address.map(|text| text.parse().unwrap());
            let sender = Sender {
                address,
                headers: None,
                ..Sender::default()
            };
            conditions.mismatch(sender, &Places::default())
        };
        assert_eq!(at(Some("127.0.0.1")), None);
        assert_eq!(at(Some("::ffff:127.0.0.1")), None);
        assert_eq!(at(Some("192.0.2.1")), Some(SenderMismatch::Address));
        assert_eq!(at(None), Some(SenderMismatch::Address));
        let absent = SenderConditions {
            headers: Some(vec![HeaderCondition::parse("!Cookie").unwrap()]),
            ..SenderConditions::default()
        };
        let nothing = Sender::default();
        assert_eq!(
            absent.mismatch(nothing, &Places::default()),
            Some(SenderMismatch::Header)
        );
    }

    #[test]
    fn places_are_looked_up_only_for_rules_that_need_them() {
        let find = |address: IpAddr| Place {
            asn: (address == IpAddr::from([192, 0, 2, 1])).then_some(64_496),
            country: Some(*b"DE"),
        };
        let places = Places::new(Arc::new(find));
        let conditions = |asn, country: &[u8; 2]| SenderConditions {
            asns: Some(vec![asn]),
            countries: Some(vec![*country]),
            ..SenderConditions::default()
        };
        let sender = Sender {
            address: Some([192, 0, 2, 1].into()),
            headers: None,
            ..Sender::default()
        };
        for (asn, country, mismatch) in [
            (64_496, b"DE", None),
            (64_497, b"DE", Some(SenderMismatch::Asn)),
            (64_496, b"FR", Some(SenderMismatch::Country)),
        ] {
            assert_eq!(conditions(asn, country).mismatch(sender, &places), mismatch);
        }
        let unknown = conditions(64_496, b"DE").mismatch(sender, &Places::default());
        assert_eq!(unknown, Some(SenderMismatch::Asn));
    }
}
