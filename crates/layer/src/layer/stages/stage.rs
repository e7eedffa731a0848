//! What a stage can do about a request, and what the stages know of it.

use std::net::IpAddr;

use http::{HeaderMap, Request};

use crate::clock::Clock;
use crate::detect::Verdict;
use crate::keys::AgentKey;
use crate::layer::{answers::Answers, future::Additions, header::Agent};
use crate::policy::{
    self, CountedBreach, ErrorCounter, Judgement, PacedRequest, PassReason, Policy, Rule, Sender,
    Visitor,
};
use crate::suspect::{Reasons, Transport};

use super::{Client, Disposition, traps::TrapHit};

/// Stage of a decision; by default it does nothing.
pub(crate) trait Stage {
    /// Returns `true` if [`look`](Self::look) has to be asked about each request.
    ///
    /// By default it is asked about requests that the policy is about.
    fn wants_sender(&self) -> bool {
        false
    }

    /// Returns why a request is no visit of the site, where it is none.
    fn own<B>(&self, _: &Request<B>, _: &Clock) -> Option<&'static str> {
        None
    }

    /// Finds out more about the sender, before the policy judges the request.
    fn look<B>(&self, _: &ReceivedRequest<'_, B>, _: &mut Case<'_>) {}

    /// Changes what is done with a visitor's request.
    fn decide<B>(&self, _: &ReceivedRequest<'_, B>, _: Requester<'_>, _: &mut Case<'_>) {}

    /// Readies a request that goes on to the application.
    fn ready<B>(&self, _: &mut Request<B>, _: Option<Visitor<'_>>, _: &mut Case<'_>) {}
}

/// Request as it was received.
pub(crate) struct ReceivedRequest<'r, B> {
    pub(crate) request: &'r Request<B>,
    pub(crate) agent: Agent<'r>,
    /// What the policy looks at.
    pub(crate) asked: policy::Request<'r>,
}

/// What is known of a request, and decided about it so far.
pub(crate) struct Case<'p> {
    pub(crate) answers: &'p Answers,
    pub(crate) clock: &'p Clock,
    /// Whether another URL leads to another page.
    pub(crate) routes: bool,
    pub(crate) agent: AgentKey,
    /// Why it is no visit of the site, where it is none.
    pub(crate) own: Option<&'static str>,
    /// Verdict on the claim, where somebody was asked for it.
    pub(crate) verdict: Option<Verdict>,
    /// Whether it is a visit that names no robot.
    pub(crate) is_person: bool,
    pub(crate) client: Addresses,
    /// Why a person is suspect.
    pub(crate) reasons: Reasons,
    /// Where a trap is requested.
    pub(crate) trap: Option<TrapHit>,
    pub(crate) judgement: Judgement<'p>,
    pub(crate) disposition: Disposition<'p>,
    /// What is broken of robots.txt, where that is only reported.
    pub(crate) breach: Option<Box<CountedBreach>>,
    pub(crate) additions: Additions,
}

/// Visitor that a request comes from, and what its requests are counted by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requester<'s> {
    pub(crate) visitor: Visitor<'s>,
    /// The header that makes the claim.
    pub(crate) user_agent: &'s [u8],
    /// Its address, where that is known.
    pub(crate) client: Option<IpAddr>,
}

/// Addresses that a request comes from, and how it came.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Addresses {
    pub(crate) address: Option<IpAddr>,
    /// The same, where it stands for a network of its own.
    pub(crate) network: Option<IpAddr>,
    pub(crate) transport: Transport,
}

impl<'p> Case<'p> {
    pub(crate) fn new(
        answers: &'p Answers,
        clock: &'p Clock,
        agent: AgentKey,
        routes: bool,
    ) -> Self {
        Self {
            answers,
            clock,
            routes,
            agent,
            own: None,
            verdict: None,
            is_person: false,
            client: Addresses::default(),
            reasons: Reasons::default(),
            trap: None,
            judgement: Judgement::pass(PassReason::NoRule),
            disposition: Disposition::Pass,
            breach: None,
            additions: Additions::default(),
        }
    }

    pub(crate) fn policy(&self) -> &'p Policy {
        &self.answers.policy
    }

    /// Returns what is broken of robots.txt.
    pub(crate) fn broken(&self) -> Option<&CountedBreach> {
        match &self.disposition {
            Disposition::Violation(breach) => Some(breach),
            _ => self.breach.as_deref(),
        }
    }

    pub(crate) fn requester<'s, B>(
        &self,
        received: &ReceivedRequest<'s, B>,
        visitor: Visitor<'s>,
    ) -> Requester<'s> {
        let sender = self.client.sender(received.request.headers(), self.reasons);
        Requester {
            visitor: visitor.sent_by(sender),
            user_agent: received.agent.text,
            client: self.client.network,
        }
    }
}

impl Requester<'_> {
    /// Returns what is to be told of the answer to its request, where a rule counts errors.
    pub(crate) fn error_counters(self, judgement: &Judgement<'_>) -> Vec<ErrorCounter> {
        let rules = [judgement.errors_by, judgement.noted].into_iter().flatten();
        rules
            .filter_map(|rule| self.paced(rule)?.error_counter())
            .collect()
    }

    /// Returns the rate limit of a rule for it, if the rule slows down.
    pub(crate) fn paced(self, rule: &Rule) -> Option<PacedRequest<'_>> {
        rule.paced(self.visitor, self.user_agent, self.client)
    }
}

impl Addresses {
    pub(crate) fn alike(address: Option<IpAddr>) -> Self {
        Self {
            address,
            network: address,
            ..Self::default()
        }
    }

    pub(crate) fn sender(self, headers: &HeaderMap, reasons: Reasons) -> Sender<'_> {
        Sender {
            address: self.address,
            headers: Some(headers),
            reasons,
        }
    }
}

impl From<Client> for Addresses {
    fn from(client: Client) -> Self {
        Self {
            address: Some(client.address),
            network: client.network,
            transport: client.transport,
        }
    }
}
