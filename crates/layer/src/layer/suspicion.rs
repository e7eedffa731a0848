//! Who is suspect, and who of them gets a copy of a page.

use http::{HeaderValue, Request};

use crate::policy::{Decision, Policy, Visitor};
use crate::suspect::Reasons;

use super::{
    disposition::Disposition,
    header::{Agent, parts_for},
    in_place::{NoCopies, opens_page},
    layer::Shared,
    people::{PersonRequest, Release},
    service::Addresses,
};

/// Why a person is suspect, and what its response gets for that.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    pub(super) reasons: Reasons,
    pub(super) cookie: Option<Box<HeaderValue>>,
}

/// Who has sent a request, as far as that is known.
#[derive(Clone, Copy)]
pub(super) struct Sender<'h> {
    pub(super) agent: Agent<'h>,
    /// Whether it names no robot, and is none of our own.
    pub(super) is_person: bool,
    /// Whether the policy is about it.
    pub(super) is_judged: bool,
}

impl Shared {
    /// Returns where a request comes from, as far as anything hangs on that, and why its sender is
    /// suspect.
    pub(super) fn sent_by<B>(
        &self,
        policy: &Policy,
        request: &Request<B>,
        sender: Sender<'_>,
        client: impl Fn(&Request<B>) -> Addresses,
    ) -> (Addresses, Suspicion) {
        let looks =
            self.coherence.is_some() || self.people.source.is_some() || self.traps.is_some();
        if !sender.is_judged && !looks {
            return (Addresses::default(), Suspicion::default());
        }
        let client = client(request);
        self.note_reader(request, sender.agent.text, client.network);
        let suspicion = if sender.is_person && looks {
            self.suspicion(policy, request, sender.agent, client)
        } else {
            Suspicion::default()
        };
        (client, suspicion)
    }

    /// Returns why a person is suspect, unless nobody looks, a rule lets it pass, or it has said that
    /// it is one.
    fn suspicion<B>(
        &self,
        policy: &Policy,
        request: &Request<B>,
        agent: Agent<'_>,
        client: Addresses,
    ) -> Suspicion {
        let coherence = self.coherence.as_ref();
        let mut reasons = coherence.map_or(Reasons::default(), |coherence| {
            coherence.judge_by(request, agent.text, agent.key, client.transport)
        });
        let asked = || PersonRequest::of(request, client.address);
        if let Some(people) = self.people.telling() {
            reasons = reasons.union(people.reasons(&asked()));
        }
        reasons = self.with_marks(reasons, agent.key, client.network);
        if !reasons.are_suspect() {
            return Suspicion::default();
        }
        let visitor = Visitor::person(client.sender(request.headers(), reasons));
        if policy.lets_pass(&parts_for(policy, request), visitor) {
            return Suspicion::default();
        }
        let people = self.people.source.as_ref();
        match people.and_then(|people| people.release(&asked(), reasons)) {
            Some(Release { left, cookie }) => Suspicion {
                reasons: left.if_suspect(),
                cookie: cookie.map(Box::new),
            },
            None => Suspicion {
                reasons,
                cookie: None,
            },
        }
    }

    /// Returns `false` if a page would be served in place of which heaven has no copy, or where no
    /// page is opened or found by its URL.
    pub(super) fn has_copy<B>(
        &self,
        request: &Request<B>,
        disposition: &Disposition<'_>,
        routes: bool,
    ) -> bool {
        let is_served = matches!(disposition, Disposition::Decided(Decision::Serve(_), _));
        if !is_served {
            return true;
        }
        let may_have = routes && request.extensions().get::<NoCopies>().is_none();
        may_have && opens_page(request) && self.copies.has(request.uri())
    }
}
