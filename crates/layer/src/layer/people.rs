//! What is known of people beyond the one request.

use std::{fmt, net::IpAddr, sync::Arc};

use http::{HeaderMap, HeaderValue, Method, Request, Uri, Version};

use crate::suspect::Reasons;

/// Request of somebody who names no robot.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PersonRequest<'r> {
    /// Its method.
    pub method: &'r Method,
    /// What it asks for.
    pub uri: &'r Uri,
    /// Its version of HTTP.
    pub version: Version,
    /// All headers, as they came.
    pub headers: &'r HeaderMap,
    /// Address of the client, where it is known.
    pub client: Option<IpAddr>,
}

/// Source of what is known of people; it is asked with each of their requests.
pub trait People: Send + Sync {
    /// Returns why a sender is suspect beyond what the request itself tells.
    fn reasons(&self, request: &PersonRequest<'_>) -> Reasons;

    /// Returns `false` if it never has a reason, so that it is asked for none.
    fn has_reasons(&self) -> bool {
        true
    }

    /// Returns what is left of the reasons if the sender has said that he is a person; `None`: he has
    /// not.
    fn release(&self, request: &PersonRequest<'_>, reasons: Reasons) -> Option<Release>;
}

/// What follows from the word of a suspect that he is a person.
#[derive(Clone, Debug, Default)]
pub struct Release {
    /// Reasons that stay.
    pub left: Reasons,
    /// Value of a `Set-Cookie` that goes with the response.
    pub cookie: Option<HeaderValue>,
}

/// Who is asked; by default nobody is.
#[derive(Clone, Default)]
pub(super) struct PeopleSource {
    pub(super) source: Option<Arc<dyn People>>,
    has_reasons: bool,
}

impl PeopleSource {
    pub(super) fn new(people: Arc<dyn People>) -> Self {
        Self {
            has_reasons: people.has_reasons(),
            source: Some(people),
        }
    }

    /// Returns whoever may know a reason.
    pub(super) fn telling(&self) -> Option<&dyn People> {
        self.source.as_deref().filter(|_| self.has_reasons)
    }
}

impl<'r> PersonRequest<'r> {
    pub(super) fn of<B>(request: &'r Request<B>, client: Option<IpAddr>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            version: request.version(),
            headers: request.headers(),
            client,
        }
    }
}

impl fmt::Debug for PeopleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PeopleSource")
            .field(&self.source.is_some())
            .finish()
    }
}
