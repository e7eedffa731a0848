//! The interface of the stages, and the request state that all stages share.

use std::net::IpAddr;

use http::{HeaderMap, Request};

use crate::clock::Clock;
use crate::detect::Verdict;
use crate::keys::AgentKey;
use crate::layer::{answers::Answers, future::Additions, header::Agent};
use crate::policy::{
    self, CountedViolation, ErrorCounter, Judgement, LimitedRequest, PassReason, Policy, Rule,
    Sender, Visitor,
};
use crate::suspect::{Reasons, Transport};

use super::{Client, Disposition, traps::TrapHit};

/// A stage of a decision; the default methods do nothing.
pub(crate) trait Stage {
    /// Returns `true` if [`look`](Self::look) must be called for every request.
    ///
    /// By default, `look` is called only for requests that the policy judges.
    fn needs_sender(&self) -> bool {
        false
    }

    /// Returns the reason why a request does not count as a visit, or `None` if it does.
    fn own<B>(&self, _: &Request<B>, _: &Clock) -> Option<&'static str> {
        None
    }

    /// Examines the sender before the policy judges the request.
    fn examine<B>(&self, _: &ReceivedRequest<'_, B>, _: &mut RequestState<'_>) {}

    /// Changes the action taken on a visitor's request.
    fn decide<B>(&self, _: &ReceivedRequest<'_, B>, _: Requester<'_>, _: &mut RequestState<'_>) {}

    /// Prepares a request that is forwarded to the application.
    fn ready<B>(&self, _: &mut Request<B>, _: Option<Visitor<'_>>, _: &mut RequestState<'_>) {}
}

/// A request as received.
pub(crate) struct ReceivedRequest<'r, B> {
    pub(crate) request: &'r Request<B>,
    pub(crate) agent: Agent<'r>,
    /// The parts of the request that the policy evaluates.
    pub(crate) asked: policy::Request<'r>,
}

/// The findings about a request, and the decision made so far.
pub(crate) struct RequestState<'p> {
    pub(crate) answers: &'p Answers,
    pub(crate) clock: &'p Clock,
    /// Whether the inner service routes by URL, so that rewriting the URL has an effect.
    pub(crate) routes: bool,
    pub(crate) agent: AgentKey,
    /// The reason why the request does not count as a visit; `None` if it does.
    pub(crate) own: Option<&'static str>,
    /// The verdict on the claim, if a source of verdicts was queried.
    pub(crate) verdict: Option<Verdict>,
    /// Whether the request is a visit that does not claim to be from a robot.
    pub(crate) is_person: bool,
    pub(crate) client: Addresses,
    /// The reasons why a human visitor is suspect.
    pub(crate) reasons: Reasons,
    /// The trap that was requested, if any.
    pub(crate) trap: Option<TrapHit>,
    pub(crate) judgement: Judgement<'p>,
    pub(crate) disposition: Disposition<'p>,
    /// A violation of robots.txt that is only reported.
    pub(crate) breach: Option<Box<CountedViolation>>,
    pub(crate) additions: Additions,
}

/// The visitor that sent a request, with the keys used to count its requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requester<'s> {
    pub(crate) visitor: Visitor<'s>,
    /// The User-Agent header that makes the claim.
    pub(crate) user_agent: &'s [u8],
    /// The client's address, if known.
    pub(crate) client: Option<IpAddr>,
}

/// The client addresses and the transport of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Addresses {
    pub(crate) address: Option<IpAddr>,
    /// The client address, if it identifies the client's own network.
    pub(crate) network: Option<IpAddr>,
    pub(crate) transport: Transport,
}

impl<'p> RequestState<'p> {
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

    /// Returns the request's violation of robots.txt, if any.
    pub(crate) fn violation(&self) -> Option<&CountedViolation> {
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
            visitor: visitor.with_sender(sender),
            user_agent: received.agent.text,
            client: self.client.network,
        }
    }
}

impl Requester<'_> {
    /// Returns the error counters to update when the response arrives, for rules that count errors.
    pub(crate) fn error_counters(self, judgement: &Judgement<'_>) -> Vec<ErrorCounter> {
        let rules = [judgement.errors_by, judgement.noted].into_iter().flatten();
        rules
            .filter_map(|rule| self.limited_request(rule)?.error_counter())
            .collect()
    }

    /// Returns the request's entry in the rate limit of a rule, if the rule slows robots down.
    pub(crate) fn limited_request(self, rule: &Rule) -> Option<LimitedRequest<'_>> {
        rule.limited_request(self.visitor, self.user_agent, self.client)
    }
}

impl Addresses {
    pub(crate) fn same(address: Option<IpAddr>) -> Self {
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
