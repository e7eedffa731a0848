//! Paths that no person is shown and robots.txt closes: who asks for one shows what he is.

use std::{net::IpAddr, sync::Arc, time::Duration};

use http::{Method, Request};

use crate::detect::Claim;
use crate::policy::CountedBreach;
use crate::suspect::{Mark, Marks};

use super::{disposition::Asker, header, layer::Shared};

/// Time for which that is known of a person.
const LASTS: Duration = Duration::from_hours(1);

/// Time for which it is known that somebody has asked for robots.txt.
const READ_LASTS: Duration = Duration::from_hours(12);

const ROBOTS_TXT: &str = "/robots.txt";

/// Traps of a site, and who of its visitors has asked for robots.txt.
///
/// Whoever asks for one, by GET or HEAD, passes, whatever rules say; robots.txt is held against robots
/// as ever. It is reported [as such](super::Outcome::is_trap), and of people it is a
/// [reason](crate::suspect::Reason::Trap) for an hour.
#[derive(Clone, Debug)]
pub struct Traps {
    paths: Arc<[Box<str>]>,
    readers: Marks,
}

/// Somebody in a trap.
#[derive(Debug)]
pub(super) enum Trapped {
    /// It broke a rule of robots.txt, and that is what is told.
    Violation,
    /// What robots.txt says of it, if it has asked for that before.
    Alone(Option<CountedBreach>),
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

impl Shared {
    /// Returns `true` if a request is for a trap.
    #[inline]
    pub(super) fn is_for_trap<B>(&self, request: &Request<B>) -> bool {
        let Some(traps) = &self.traps else {
            return false;
        };
        header::is_read(request) && traps.has(request.uri().path())
    }

    /// Notes who asks for robots.txt, where there are traps.
    #[inline]
    pub(super) fn note_reader<B>(
        &self,
        request: &Request<B>,
        user_agent: &[u8],
        sender: Option<IpAddr>,
    ) {
        if let (Some(traps), Some(sender)) = (&self.traps, sender)
            && request.uri().path() == ROBOTS_TXT
            && *request.method() == Method::GET
        {
            let reader = traps.readers.visitor(sender, user_agent);
            traps.readers.set(reader, Mark::Reader, READ_LASTS);
        }
    }

    /// Marks somebody who is in a trap; returns what is told of it.
    ///
    /// `broken` says that a violation of robots.txt was counted.
    #[cold]
    pub(super) fn trapped<B>(
        &self,
        request: &Request<B>,
        asker: Asker<'_>,
        broken: bool,
    ) -> Trapped {
        let agent = asker.user_agent;
        if let (Some(marks), Some(sender), Claim::Person) =
            (&self.marks, asker.client, asker.visitor.claim)
        {
            marks.set(marks.visitor(sender, agent), Mark::Trap, LASTS);
        }
        if broken {
            return Trapped::Violation;
        }
        let has_read = self
            .traps
            .as_ref()
            .zip(asker.client)
            .is_some_and(|(traps, sender)| {
                let readers = &traps.readers;
                readers.found(readers.visitor(sender, agent)).is_reader
            });
        let said = || {
            let (host, target) = (header::host(request), header::target(request));
            let claim = asker.visitor.claim;
            self.enforcer.said_of(host, target, claim, agent)
        };
        Trapped::Alone(has_read.then(said).flatten())
    }
}
