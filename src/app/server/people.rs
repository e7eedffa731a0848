//! Data about human visitors that this process keeps across requests.

use crate::confirmation::{ConfirmationKeys, ConfirmingVisitor};
use crate::layer::{ConfirmedRelease, People, PersonRequest};
use crate::suspect::{Reason, Reasons};
use crate::suspicion::Suspicion;

/// Detected fleets, automated behaviour, and confirmations by human visitors.
#[derive(Clone, Debug)]
pub(super) struct KnownPeople {
    pub(super) suspicion: Option<Suspicion>,
    pub(super) way_out: ConfirmationKeys,
}

impl People for KnownPeople {
    fn reasons(&self, request: &PersonRequest<'_>) -> Reasons {
        let Some((suspicion, client)) = self.suspicion.as_ref().zip(request.client) else {
            return Reasons::default();
        };
        let found = suspicion.flags_for(request.uri, request.headers, request.version, client);
        let fleet = found.is_in_fleet.then_some(Reason::Fleet);
        let conduct = found.is_odd.then_some(Reason::Conduct);
        fleet.into_iter().chain(conduct).collect()
    }

    fn has_reasons(&self) -> bool {
        self.suspicion.is_some()
    }

    fn release(&self, request: &PersonRequest<'_>, reasons: Reasons) -> Option<ConfirmedRelease> {
        let presser = ConfirmingVisitor::of(request.uri, request.headers, request.client?);
        // Checked for each request from a fleet, because the share of confirmations matters.
        let is_fleet = reasons.contains(Reason::Fleet);
        let is_believed = !is_fleet || self.way_out.accepts_from_fleet(presser.user_agent());
        let word = self.way_out.confirmation(&presser, request.headers)?;
        let mut left = reasons.after_confirmation();
        if !is_believed {
            left = left.with(Reason::Fleet);
        }
        Some(ConfirmedRelease {
            left,
            cookie: word.next_cookie,
        })
    }
}
