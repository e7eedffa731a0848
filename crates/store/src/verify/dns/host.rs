//! Cached DNS responses about an address, and the proof that follows from them.

use std::{fmt::Write, net::IpAddr, time::Duration};

use hickory_resolver::proto::rr::Name;

use super::{
    DnsProof,
    quoted::QuotedName,
    suffixes::{SuffixMatch, Suffixes},
};
use crate::verify::{Evidence, Finding, Method};

/// The maximum number of names to check per address.
pub(super) const MAX_NAMES: usize = 8;

/// The maximum number of names to quote in a sentence.
const MAX_SHOWN: usize = 2;

/// A response to a DNS query.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum DnsAnswer<T> {
    /// The query returned records.
    Records(T),
    /// An authoritative response reports that there are no records.
    Nothing,
    /// The query failed for this reason.
    Failed(&'static str),
}

/// A DNS response, with the time until which the response is valid.
#[derive(Clone, Debug)]
pub(super) struct CachedAnswer<T> {
    pub(super) answer: DnsAnswer<T>,
    pub(super) until_ms: i64,
}

/// The host names of an IP address.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Names {
    /// The first host names, at most [`MAX_NAMES`].
    pub(super) first: Vec<Name>,
    /// Whether the address has more host names than are stored.
    pub(super) is_cut: bool,
}

/// The cached DNS responses about an address.
#[derive(Clone, Debug, Default)]
pub(super) struct AddressRecords {
    names: Option<CachedAnswer<Names>>,
    /// Whether the name at the same index resolves back to the address.
    leads_back: Vec<Option<CachedAnswer<bool>>>,
}

/// A claim that an address belongs to a robot's operator.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) address: IpAddr,
    pub(super) suffixes: Suffixes,
}

/// The next step in proving a claim.
#[derive(Debug)]
pub(super) enum Step {
    /// Query the names of the address.
    AskNames,
    /// Query whether the name at the given index resolves back to the address.
    AskBack(usize, Name),
    /// The proof is complete, with this result.
    Done(DnsProof),
}

impl Step {
    /// Marks the proof as being for an address without a name.
    fn nameless(mut self) -> Self {
        if let Self::Done(proof) = &mut self {
            proof.is_nameless = true;
        }
        self
    }
}

impl AddressRecords {
    /// Stores the names of the address.
    pub(super) fn learn_names(&mut self, names: CachedAnswer<Names>) {
        let count = match &names.answer {
            DnsAnswer::Records(names) => names.first.len(),
            DnsAnswer::Nothing | DnsAnswer::Failed(_) => 0,
        };
        self.leads_back = vec![None; count];
        self.names = Some(names);
    }

    /// Stores whether the name at the given index resolves back to the address.
    pub(super) fn store_resolution(&mut self, place: usize, leads_back: CachedAnswer<bool>) {
        if let Some(slot) = self.leads_back.get_mut(place) {
            *slot = Some(leads_back);
        }
    }

    /// Returns the approximate size of the stored host names in bytes.
    pub(super) fn names_bytes(&self) -> usize {
        match &self.names {
            Some(CachedAnswer {
                answer: DnsAnswer::Records(names),
                ..
            }) => names.first.iter().map(Name::len).sum(),
            _ => 0,
        }
    }

    /// Returns the next step in proving a claim at the given time.
    pub(super) fn step(&self, claim: &Claim, now_ms: i64) -> Step {
        let Some(known) = self.names.as_ref().filter(|known| known.until_ms > now_ms) else {
            return Step::AskNames;
        };
        match &known.answer {
            DnsAnswer::Records(names) => self.step_back(claim, names, known.until_ms, now_ms),
            DnsAnswer::Nothing => {
                let text = format!(
                    "{} has no name in DNS; the operator's names end in {}.",
                    claim.address, claim.suffixes
                );
                done(Finding::Contradicted, text, known.until_ms, now_ms).nameless()
            }
            DnsAnswer::Failed(why) => {
                let text = format!("Could not look up the name of {}: {why}.", claim.address);
                done(Finding::Nothing, text, known.until_ms, now_ms)
            }
        }
    }

    /// Checks the names that end in a suffix. A name that resolves back to the address confirms the
    /// claim.
    fn step_back(&self, claim: &Claim, names: &Names, until_ms: i64, now_ms: i64) -> Step {
        let mut seen = UnconfirmedNames::new(until_ms);
        for (place, (name, back)) in names.first.iter().zip(&self.leads_back).enumerate() {
            match claim.suffixes.match_name(name) {
                SuffixMatch::No => continue,
                SuffixMatch::AsCustomer => {
                    seen.customers_name = seen.customers_name.or(Some(name));
                    continue;
                }
                SuffixMatch::Yes => {}
            }
            let Some(back) = back.as_ref().filter(|back| back.until_ms > now_ms) else {
                return Step::AskBack(place, name.clone());
            };
            if back.answer == DnsAnswer::Records(true) {
                let (address, name) = (claim.address, QuotedName(name));
                let text = format!("{address} has the name {name}, which resolves back to it.");
                return done(
                    Finding::Confirmed,
                    text,
                    until_ms.min(back.until_ms),
                    now_ms,
                );
            }
            seen.add(name, back);
        }
        let (finding, text) = seen.conclude(claim, names);
        done(finding, text, seen.until_ms, now_ms)
    }
}

/// The names of an address that do not confirm the claim.
struct UnconfirmedNames<'a> {
    until_ms: i64,
    customers_name: Option<&'a Name>,
    failed: Option<(&'a Name, &'static str)>,
    false_name: Option<&'a Name>,
}

impl<'a> UnconfirmedNames<'a> {
    fn new(until_ms: i64) -> Self {
        Self {
            until_ms,
            customers_name: None,
            failed: None,
            false_name: None,
        }
    }

    fn add(&mut self, name: &'a Name, back: &CachedAnswer<bool>) {
        self.until_ms = self.until_ms.min(back.until_ms);
        match back.answer {
            DnsAnswer::Failed(why) => self.failed = self.failed.or(Some((name, why))),
            DnsAnswer::Records(_) | DnsAnswer::Nothing => {
                self.false_name = self.false_name.or(Some(name));
            }
        }
    }

    fn conclude(&self, claim: &Claim, names: &Names) -> (fn(Evidence) -> Finding, String) {
        let Claim { address, suffixes } = claim;
        // The claim is not contradicted, since a name that could not be looked up or was not
        // checked might have confirmed it.
        if let Some((name, why)) = self.failed {
            let name = QuotedName(name);
            let text = format!("{address} has the name {name}, whose lookup failed: {why}.");
            (Finding::Nothing, text)
        } else if names.is_cut {
            let text = format!(
                "{address} has more than {MAX_NAMES} names, and none of the first {MAX_NAMES} \
                 both ends in {suffixes} and resolves back to the address."
            );
            (Finding::Nothing, text)
        } else if let Some(name) = self.false_name {
            let name = QuotedName(name);
            let text = format!("{address} has the name {name}, which does not resolve back to it.");
            (Finding::Contradicted, text)
        } else if let Some(name) = self.customers_name {
            let name = QuotedName(name);
            let text = format!(
                "{address} has the name {name}, in a zone open to every customer of the provider."
            );
            (Finding::Nothing, text)
        } else {
            let named = all_quoted(&names.first);
            let text = format!("No name of {address} ends in {suffixes}; found {named}.");
            (Finding::Contradicted, text)
        }
    }
}

/// Creates evidence for the reverse DNS method.
pub(super) fn evidence(text: String) -> Evidence {
    Evidence::new(Method::ReverseDns, text)
}

fn done(finding: fn(Evidence) -> Finding, text: String, until_ms: i64, now_ms: i64) -> Step {
    let left_ms = u64::try_from(until_ms.saturating_sub(now_ms)).unwrap_or_default();
    Step::Done(DnsProof {
        finding: finding(evidence(text)),
        valid_for: Duration::from_millis(left_ms),
        is_nameless: false,
    })
}

fn all_quoted(names: &[Name]) -> String {
    let mut text = String::new();
    for (at, name) in names.iter().take(MAX_SHOWN).enumerate() {
        let between = if at > 0 { " and " } else { "" };
        // Writing to a string never fails.
        let _ = write!(text, "{between}{}", QuotedName(name));
    }
    if names.len() > MAX_SHOWN {
        let _ = write!(text, " and {} more", names.len() - MAX_SHOWN);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;

    fn known<T>(answer: DnsAnswer<T>, seconds: i64) -> CachedAnswer<T> {
        let until_ms = NOW + seconds * 1_000;
        CachedAnswer { answer, until_ms }
    }

    fn named(names: &[&str], is_cut: bool) -> AddressRecords {
        let first = names.iter().map(|name| Name::from_utf8(name).unwrap());
        let first = first.collect();
        let mut host = AddressRecords::default();
        host.learn_names(known(DnsAnswer::Records(Names { first, is_cut }), 100));
        host
    }

    fn claim() -> Claim {
        Claim {
            address: IpAddr::from([192, 0, 2, 1]),
            suffixes: Suffixes::new(&["crawl.example".to_owned(), "appspot.com".to_owned()]),
        }
    }

    fn step(host: &AddressRecords) -> String {
        match host.step(&claim(), NOW) {
            Step::AskNames => "names?".to_owned(),
            Step::AskBack(place, name) => format!("{place} {name}?"),
            Step::Done(proof) => {
                let (word, evidence) = match proof.finding {
                    Finding::Confirmed(evidence) => ("yes", evidence),
                    Finding::Contradicted(evidence) => ("no", evidence),
                    Finding::Replayed(evidence) => ("replayed", evidence),
                    Finding::Nothing(evidence) => ("nothing", evidence),
                };
                let seconds = proof.valid_for.as_secs();
                format!("{word} {seconds}: {}", evidence.text)
            }
        }
    }

    #[test]
    fn only_names_with_a_suffix_are_resolved_back() {
        let mut host = AddressRecords::default();
        assert_eq!(step(&host), "names?");
        host = named(
            &["a.other.example.", "b.crawl.example.", "c.crawl.example."],
            false,
        );
        assert_eq!(step(&host), "1 b.crawl.example.?");
        host.store_resolution(1, known(DnsAnswer::Records(false), 90));
        assert_eq!(step(&host), "2 c.crawl.example.?");
        host.store_resolution(2, known(DnsAnswer::Records(true), 50));
        assert_eq!(
            step(&host),
            "yes 50: 192.0.2.1 has the name \"c.crawl.example\", which resolves back to it."
        );
        host.store_resolution(2, known(DnsAnswer::Nothing, 70));
        assert_eq!(
            step(&host),
            "no 70: 192.0.2.1 has the name \"b.crawl.example\", \
             which does not resolve back to it."
        );
        host.store_resolution(2, known(DnsAnswer::Failed("it timed out"), 30));
        assert_eq!(
            step(&host),
            "nothing 30: 192.0.2.1 has the name \"c.crawl.example\", \
             whose lookup failed: it timed out."
        );
        host.store_resolution(2, known(DnsAnswer::Records(true), 0));
        assert_eq!(step(&host), "2 c.crawl.example.?");
    }

    #[test]
    fn names_without_the_suffix_contradict() {
        assert_eq!(
            step(&named(&["a.example.", "b.example.", "c.example."], false)),
            "no 100: No name of 192.0.2.1 ends in \"crawl.example\" or \"appspot.com\"; \
             found \"a.example\" and \"b.example\" and 1 more."
        );
        let mut host = AddressRecords::default();
        host.learn_names(known(DnsAnswer::Nothing, 60));
        assert!(step(&host).starts_with("no 60: 192.0.2.1 has no name in DNS"));
        host.learn_names(known(DnsAnswer::Failed("SERVFAIL"), 60));
        assert_eq!(
            step(&host),
            "nothing 60: Could not look up the name of 192.0.2.1: SERVFAIL."
        );
        host.learn_names(known(DnsAnswer::Nothing, 0));
        assert_eq!(step(&host), "names?");
    }

    #[test]
    fn unchecked_names_prevent_a_contradiction() {
        let text = step(&named(&["a.example."], true));
        assert!(text.starts_with("nothing 100: 192.0.2.1 has more than 8 names"));
        let mut host = named(&["a.crawl.example."], true);
        host.store_resolution(0, known(DnsAnswer::Nothing, 90));
        assert!(step(&host).starts_with("nothing 90: "), "{}", step(&host));
        host.store_resolution(0, known(DnsAnswer::Records(true), 90));
        assert!(step(&host).starts_with("yes 90: "), "{}", step(&host));
    }

    #[test]
    fn names_open_to_customers_prove_nothing() {
        let text = step(&named(&["a.example.", "b.appspot.com."], false));
        assert!(text.starts_with("nothing 100: 192.0.2.1 has the name \"b.appspot.com\""));
        let mut host = named(&["b.appspot.com.", "a.crawl.example."], false);
        host.store_resolution(1, known(DnsAnswer::Records(false), 90));
        assert!(step(&host).starts_with("no 90: "), "{}", step(&host));
    }
}
