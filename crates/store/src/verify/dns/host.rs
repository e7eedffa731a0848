//! What is known about one address, and what follows from it.

use std::{fmt::Write, net::IpAddr, time::Duration};

use hickory_resolver::proto::rr::Name;

use super::{
    DnsProof,
    quoted::Quoted,
    suffixes::{Belongs, Suffixes},
};
use crate::verify::{Evidence, Finding, Method};

/// How many names of an address are looked at.
pub(super) const MAX_NAMES: usize = 8;

/// How many names a sentence quotes.
const MAX_SHOWN: usize = 2;

/// What DNS answered to one question.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Answer<T> {
    /// There are records.
    Records(T),
    /// There are none, says who should know.
    Nothing,
    /// No answer could be had; why, in two words.
    Failed(&'static str),
}

/// An answer, and until when it holds.
#[derive(Clone, Debug)]
pub(super) struct Known<T> {
    pub(super) answer: Answer<T>,
    pub(super) until_ms: i64,
}

/// Names of an address.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Names {
    /// The first of them, at most [`MAX_NAMES`].
    pub(super) first: Vec<Name>,
    /// Whether there are more.
    pub(super) is_cut: bool,
}

/// What is known about one address.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    names: Option<Known<Names>>,
    /// Whether the name at the same place has the address.
    leads_back: Vec<Option<Known<bool>>>,
}

/// Claim that an address is of an operator.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) address: IpAddr,
    pub(super) suffixes: Suffixes,
}

/// What to do next to prove a claim.
#[derive(Debug)]
pub(super) enum Step {
    /// To ask for the names of the address.
    AskNames,
    /// To ask whether the name at this place has the address.
    AskBack(usize, Name),
    /// Nothing: that is the proof.
    Done(DnsProof),
}

impl Step {
    /// Notes that the proof is the want of a name.
    fn nameless(mut self) -> Self {
        if let Self::Done(proof) = &mut self {
            proof.is_nameless = true;
        }
        self
    }
}

impl Host {
    /// Puts in the names of the address.
    pub(super) fn learn_names(&mut self, names: Known<Names>) {
        let count = match &names.answer {
            Answer::Records(names) => names.first.len(),
            Answer::Nothing | Answer::Failed(_) => 0,
        };
        self.leads_back = vec![None; count];
        self.names = Some(names);
    }

    /// Puts in whether the name at a place has the address.
    pub(super) fn learn_back(&mut self, place: usize, leads_back: Known<bool>) {
        if let Some(slot) = self.leads_back.get_mut(place) {
            *slot = Some(leads_back);
        }
    }

    /// Returns about how many bytes the names take.
    pub(super) fn names_bytes(&self) -> usize {
        match &self.names {
            Some(Known {
                answer: Answer::Records(names),
                ..
            }) => names.first.iter().map(Name::len).sum(),
            _ => 0,
        }
    }

    /// Says what to do next to prove a claim, at a time.
    pub(super) fn step(&self, claim: &Claim, now_ms: i64) -> Step {
        let Some(known) = self.names.as_ref().filter(|known| known.until_ms > now_ms) else {
            return Step::AskNames;
        };
        match &known.answer {
            Answer::Records(names) => self.step_back(claim, names, known.until_ms, now_ms),
            Answer::Nothing => {
                let text = format!(
                    "{} has no name in DNS, where those of the operator end in {}.",
                    claim.address, claim.suffixes
                );
                done(Finding::Contradicted, text, known.until_ms, now_ms).nameless()
            }
            Answer::Failed(why) => {
                let text = format!("The name of {} could not be had: {why}.", claim.address);
                done(Finding::Nothing, text, known.until_ms, now_ms)
            }
        }
    }

    /// Goes through the names below the suffixes; the first that leads back confirms.
    fn step_back(&self, claim: &Claim, names: &Names, until_ms: i64, now_ms: i64) -> Step {
        let mut seen = Seen::new(until_ms);
        for (place, (name, back)) in names.first.iter().zip(&self.leads_back).enumerate() {
            match claim.suffixes.belongs(name) {
                Belongs::No => continue,
                Belongs::AsCustomer => {
                    seen.customers_name = seen.customers_name.or(Some(name));
                    continue;
                }
                Belongs::Yes => {}
            }
            let Some(back) = back.as_ref().filter(|back| back.until_ms > now_ms) else {
                return Step::AskBack(place, name.clone());
            };
            if back.answer == Answer::Records(true) {
                let (address, name) = (claim.address, Quoted(name));
                let text = format!("{address} is named {name}, and that name has the address.");
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

/// What was seen of the names of an address, none of which confirms.
struct Seen<'a> {
    until_ms: i64,
    customers_name: Option<&'a Name>,
    failed: Option<(&'a Name, &'static str)>,
    false_name: Option<&'a Name>,
}

impl<'a> Seen<'a> {
    fn new(until_ms: i64) -> Self {
        Self {
            until_ms,
            customers_name: None,
            failed: None,
            false_name: None,
        }
    }

    fn add(&mut self, name: &'a Name, back: &Known<bool>) {
        self.until_ms = self.until_ms.min(back.until_ms);
        match back.answer {
            Answer::Failed(why) => self.failed = self.failed.or(Some((name, why))),
            Answer::Records(_) | Answer::Nothing => {
                self.false_name = self.false_name.or(Some(name));
            }
        }
    }

    fn conclude(&self, claim: &Claim, names: &Names) -> (fn(Evidence) -> Finding, String) {
        let Claim { address, suffixes } = claim;
        if let Some((name, why)) = self.failed {
            let name = Quoted(name);
            let text =
                format!("{address} is named {name}, whose addresses could not be had: {why}.");
            (Finding::Nothing, text)
        } else if names.is_cut {
            let text = format!(
                "{address} has more than {MAX_NAMES} names, and none of the first {MAX_NAMES} \
                 ends in {suffixes} and has the address."
            );
            (Finding::Nothing, text)
        } else if let Some(name) = self.false_name {
            let name = Quoted(name);
            let text =
                format!("{address} is named {name}, but that name does not have the address.");
            (Finding::Contradicted, text)
        } else if let Some(name) = self.customers_name {
            let name = Quoted(name);
            let text = format!(
                "{address} is named {name}, in a zone whose names any customer of the provider gets."
            );
            (Finding::Nothing, text)
        } else {
            let named = all_quoted(&names.first);
            let text = format!("{address} is named {named}, which does not end in {suffixes}.");
            (Finding::Contradicted, text)
        }
    }
}

/// Returns an evidence by this method.
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
        // Writing to a string does not fail.
        let _ = write!(text, "{between}{}", Quoted(name));
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

    fn known<T>(answer: Answer<T>, seconds: i64) -> Known<T> {
        let until_ms = NOW + seconds * 1_000;
        Known { answer, until_ms }
    }

    fn named(names: &[&str], is_cut: bool) -> Host {
        let first = names.iter().map(|name| Name::from_utf8(name).unwrap());
        let first = first.collect();
        let mut host = Host::default();
        host.learn_names(known(Answer::Records(Names { first, is_cut }), 100));
        host
    }

    fn claim() -> Claim {
        Claim {
            address: IpAddr::from([192, 0, 2, 1]),
            suffixes: Suffixes::new(&["crawl.example".to_owned(), "appspot.com".to_owned()]),
        }
    }

    fn step(host: &Host) -> String {
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
    fn only_names_below_a_suffix_are_asked_back() {
        let mut host = Host::default();
        assert_eq!(step(&host), "names?");
        host = named(
            &["a.other.example.", "b.crawl.example.", "c.crawl.example."],
            false,
        );
        assert_eq!(step(&host), "1 b.crawl.example.?");
        host.learn_back(1, known(Answer::Records(false), 90));
        assert_eq!(step(&host), "2 c.crawl.example.?");
        host.learn_back(2, known(Answer::Records(true), 50));
        assert_eq!(
            step(&host),
            "yes 50: 192.0.2.1 is named \"c.crawl.example\", and that name has the address."
        );
        host.learn_back(2, known(Answer::Nothing, 70));
        assert_eq!(
            step(&host),
            "no 70: 192.0.2.1 is named \"b.crawl.example\", \
             but that name does not have the address."
        );
        host.learn_back(2, known(Answer::Failed("it timed out"), 30));
        assert_eq!(
            step(&host),
            "nothing 30: 192.0.2.1 is named \"c.crawl.example\", \
             whose addresses could not be had: it timed out."
        );
        host.learn_back(2, known(Answer::Records(true), 0));
        assert_eq!(step(&host), "2 c.crawl.example.?");
    }

    #[test]
    fn names_that_are_not_the_operators_contradict() {
        assert_eq!(
            step(&named(&["a.example.", "b.example.", "c.example."], false)),
            "no 100: 192.0.2.1 is named \"a.example\" and \"b.example\" and 1 more, \
             which does not end in \"crawl.example\" or \"appspot.com\"."
        );
        let mut host = Host::default();
        host.learn_names(known(Answer::Nothing, 60));
        assert!(step(&host).starts_with("no 60: 192.0.2.1 has no name in DNS"));
        host.learn_names(known(Answer::Failed("SERVFAIL"), 60));
        assert_eq!(
            step(&host),
            "nothing 60: The name of 192.0.2.1 could not be had: SERVFAIL."
        );
        host.learn_names(known(Answer::Nothing, 0));
        assert_eq!(step(&host), "names?");
    }

    #[test]
    fn names_that_were_not_looked_at_keep_it_open() {
        let text = step(&named(&["a.example."], true));
        assert!(text.starts_with("nothing 100: 192.0.2.1 has more than 8 names"));
        let mut host = named(&["a.crawl.example."], true);
        host.learn_back(0, known(Answer::Nothing, 90));
        assert!(step(&host).starts_with("nothing 90: "), "{}", step(&host));
        host.learn_back(0, known(Answer::Records(true), 90));
        assert!(step(&host).starts_with("yes 90: "), "{}", step(&host));
    }

    #[test]
    fn names_that_customers_get_prove_nothing_either_way() {
        let text = step(&named(&["a.example.", "b.appspot.com."], false));
        assert!(text.starts_with("nothing 100: 192.0.2.1 is named \"b.appspot.com\""));
        let mut host = named(&["b.appspot.com.", "a.crawl.example."], false);
        host.learn_back(1, known(Answer::Records(false), 90));
        assert!(step(&host).starts_with("no 90: "), "{}", step(&host));
    }
}
