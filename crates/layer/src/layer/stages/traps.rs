//! Paths that no person is shown and robots.txt closes: who asks for one shows what he is.

use std::{sync::Arc, time::Duration};

use http::Method;

use crate::detect::Claim;
use crate::layer::header;
use crate::policy::CountedBreach;
use crate::suspect::{Mark, Marks};

use super::{Case, ReceivedRequest, Requester, Stage};

/// Time for which that is known of a person.
const LASTS: Duration = Duration::from_secs(60 * 60);

/// Time for which it is known that somebody has asked for robots.txt.
const READ_LASTS: Duration = Duration::from_secs(12 * 60 * 60);

const ROBOTS_TXT: &str = "/robots.txt";

/// Traps of a site, and who of its visitors has asked for robots.txt.
///
/// Whoever asks for one, by GET or HEAD, passes, whatever rules say; robots.txt is held against robots
/// as ever. It is reported [as such](crate::layer::Outcome::is_trap), and of people it is a
/// [reason](crate::suspect::Reason::Trap) for an hour.
#[derive(Clone, Debug)]
pub struct Traps {
    paths: Arc<[Box<str>]>,
    readers: Marks,
}

/// Traps of a site, and the marks of those that request one.
#[derive(Clone, Default)]
pub(crate) struct TrapStage {
    pub(crate) traps: Option<Traps>,
    pub(crate) marks: Option<Marks>,
}

/// Request for a trap.
#[derive(Debug, Default)]
pub(crate) struct TrapHit {
    /// Whether the visitor has requested robots.txt before.
    pub(crate) has_read: bool,
    /// What robots.txt says of the trap, unless the visitor has broken a rule of it.
    pub(crate) said: Option<CountedBreach>,
}

impl Traps {
    /// Creates them of paths as they are asked for.
    ///
    /// `readers` are marks of their own, so that whoever asks for robots.txt under many names has
    /// nothing else forgotten.
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
    fn wants_sender(&self) -> bool {
        self.traps.is_some()
    }

    /// Notes who asks for robots.txt, and who asks for a trap.
    #[inline]
    fn look<B>(&self, received: &ReceivedRequest<'_, B>, case: &mut Case<'_>) {
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

    fn decide<B>(&self, _: &ReceivedRequest<'_, B>, requester: Requester<'_>, case: &mut Case<'_>) {
        let (Some(traps), Some(hit), Some(sender)) =
            (&self.traps, &mut case.trap, requester.client)
        else {
            return;
        };
        if let (Some(marks), Claim::Person) = (&self.marks, requester.visitor.claim) {
            let visitor = marks.visitor(sender, requester.user_agent);
            marks.set(visitor, Mark::Trap, LASTS);
        }
        let readers = &traps.readers;
        let reader = readers.visitor(sender, requester.user_agent);
        hit.has_read = readers.found(reader).is_reader;
    }
}
