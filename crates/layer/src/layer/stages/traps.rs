//! The stage for trap paths: robots.txt disallows these paths, and human visitors see no links to
//! them.

use std::{sync::Arc, time::Duration};

use http::Method;

use crate::detect::Claim;
use crate::layer::header;
use crate::policy::CountedViolation;
use crate::suspect::{Mark, Marks};

use super::{ReceivedRequest, RequestState, Requester, Stage};

/// The time for which a visitor remains suspect after requesting a trap.
const SUSPICION_DURATION: Duration = Duration::from_secs(60 * 60);

/// The time for which a visitor's request for robots.txt is remembered.
const READ_LASTS: Duration = Duration::from_secs(12 * 60 * 60);

const ROBOTS_TXT: &str = "/robots.txt";

/// The trap paths of a site, and the visitors that have requested robots.txt.
///
/// A GET or HEAD request for a trap passes regardless of rules, but robots.txt is enforced for
/// robots as usual. The request is reported [as a trap request](crate::layer::Outcome::is_trap).
/// For a human visitor, the request is a [reason for suspicion](crate::suspect::Reason::Trap) for
/// an hour.
#[derive(Clone, Debug)]
pub struct Traps {
    paths: Arc<[Box<str>]>,
    readers: Marks,
}

/// The trap paths of a site, and the marks of visitors that request a trap.
#[derive(Clone, Default)]
pub(crate) struct TrapStage {
    pub(crate) traps: Option<Traps>,
    pub(crate) marks: Option<Marks>,
}

/// A request for a trap.
#[derive(Debug, Default)]
pub(crate) struct TrapHit {
    /// Whether the visitor has previously requested robots.txt.
    pub(crate) has_read: bool,
    /// The robots.txt rule that disallows the trap, unless a violation is already recorded for the
    /// request.
    pub(crate) said: Option<CountedViolation>,
}

impl Traps {
    /// Creates traps at the given request paths.
    ///
    /// `readers` must be a separate set of marks, so that a client that requests robots.txt with
    /// many User-Agents does not displace other marks.
    #[must_use]
    pub fn new(paths: impl IntoIterator<Item = impl Into<Box<str>>>, readers: Marks) -> Self {
        Self {
            paths: paths.into_iter().map(Into::into).collect(),
            readers,
        }
    }

    fn has(&self, path: &str) -> bool {
        self.paths.iter().any(|trap| **trap == *path)
    }
}

impl Stage for TrapStage {
    #[inline]
    fn needs_sender(&self) -> bool {
        self.traps.is_some()
    }

    /// Records requests for robots.txt and for traps.
    #[inline]
    fn examine<B>(&self, received: &ReceivedRequest<'_, B>, case: &mut RequestState<'_>) {
        let Some(traps) = &self.traps else {
            return;
        };
        let (request, path) = (received.request, received.request.uri().path());
        if path == ROBOTS_TXT
            && *request.method() == Method::GET
            && let Some(sender) = case.client.network
        {
            let reader = traps.readers.visitor(sender, received.agent.text);
            traps.readers.set(reader, Mark::Reader, READ_LASTS);
        }
        if case.own.is_none() && header::is_read(request) && traps.has(path) {
            case.trap = Some(TrapHit::default());
        }
    }

    fn decide<B>(
        &self,
        _: &ReceivedRequest<'_, B>,
        requester: Requester<'_>,
        case: &mut RequestState<'_>,
    ) {
        let (Some(traps), Some(hit), Some(sender)) =
            (&self.traps, &mut case.trap, requester.client)
        else {
            return;
        };
        if let (Some(marks), Claim::Person) = (&self.marks, requester.visitor.claim) {
            let visitor = marks.visitor(sender, requester.user_agent);
            marks.set(visitor, Mark::Trap, SUSPICION_DURATION);
        }
        let readers = &traps.readers;
        let reader = readers.visitor(sender, requester.user_agent);
        hit.has_read = readers.active_marks(reader).is_reader;
    }
}
