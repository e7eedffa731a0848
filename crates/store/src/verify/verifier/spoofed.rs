//! The last requests of robots that are not who they say.

use std::{
    collections::VecDeque,
    net::IpAddr,
    sync::{Mutex, PoisonError, TryLockError},
};

use crate::verify::SignedRequest;
use robot_detection_layer::layer::ClaimedRequest;

/// Requests that are remembered.
const MAX_REQUESTS: usize = 100;

/// Longest path and host that are kept, in bytes.
const MAX_TEXT_BYTES: usize = 200;

/// Request of a robot that is not who it says.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SpoofedRequest {
    /// When it came, in milliseconds since 1970, UTC.
    pub at_ms: i64,
    /// Id of the robot that it claims to be.
    pub robot: String,
    /// Address of the client.
    pub address: Option<IpAddr>,
    /// Host that was asked for, cut, as the client spelled it.
    pub host: String,
    /// Path that was asked for, cut, as the client spelled it.
    pub path: String,
    /// Evidence that contradicts the claim.
    pub evidence: String,
}

/// Parts of a request that are noted, borrowed from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestSummary<'t> {
    pub(super) robot: &'t str,
    pub(super) address: Option<IpAddr>,
    pub(super) host: &'t str,
    pub(super) path: &'t str,
}

impl<'r> From<&ClaimedRequest<'r>> for RequestSummary<'r> {
    fn from(request: &ClaimedRequest<'r>) -> Self {
        Self {
            robot: request.claim.id(),
            address: request.client,
            host: SignedRequest::from(request).authority,
            path: request.uri.path(),
        }
    }
}

/// The last spoofed requests; a new one replaces the oldest.
#[derive(Debug, Default)]
pub(super) struct LastSpoofed {
    requests: Mutex<VecDeque<SpoofedRequest>>,
}

impl LastSpoofed {
    /// Notes a request; leaves it out where another thread notes one just now.
    pub(super) fn note(&self, summary: RequestSummary<'_>, evidence: &str, now_ms: i64) {
        // A request does not wait for a list that is for people to read.
        let mut requests = match self.requests.try_lock() {
            Ok(requests) => requests,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let is_full = requests.len() >= MAX_REQUESTS;
        // A flood takes no more memory: its texts go where the oldest ones were.
        let reused = if is_full { requests.pop_front() } else { None };
        let mut noted = reused.unwrap_or_else(SpoofedRequest::empty);
        noted.put(summary, evidence, now_ms);
        requests.push_back(noted);
    }

    /// Returns them, the last one first.
    pub(super) fn all(&self) -> Vec<SpoofedRequest> {
        let requests = self.requests.lock();
        let requests = requests.unwrap_or_else(PoisonError::into_inner);
        requests.iter().rev().cloned().collect()
    }
}

impl SpoofedRequest {
    /// Copies what will be noted if the request turns out to be spoofed.
    pub(super) fn of(summary: RequestSummary<'_>, now_ms: i64) -> Self {
        let mut noted = Self::empty();
        noted.put(summary, "", now_ms);
        noted
    }

    pub(super) fn summary(&self) -> RequestSummary<'_> {
        RequestSummary {
            robot: &self.robot,
            address: self.address,
            host: &self.host,
            path: &self.path,
        }
    }

    fn put(&mut self, summary: RequestSummary<'_>, evidence: &str, now_ms: i64) {
        self.at_ms = now_ms;
        self.address = summary.address;
        put(&mut self.robot, summary.robot);
        put(&mut self.host, summary.host);
        put(&mut self.path, summary.path);
        self.evidence.clear();
        self.evidence.push_str(evidence);
    }

    fn empty() -> Self {
        Self {
            at_ms: 0,
            robot: String::new(),
            address: None,
            host: String::new(),
            path: String::new(),
            evidence: String::new(),
        }
    }
}

/// Replaces a text by another, which is cut if it is long.
fn put(place: &mut String, text: &str) {
    place.clear();
    for (at, sign) in text.char_indices() {
        if at + sign.len_utf8() > MAX_TEXT_BYTES {
            place.push('\u{2026}');
            return;
        }
        place.push(sign);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_ones_are_kept_and_cut() {
        let last = LastSpoofed::default();
        for number in 0..MAX_REQUESTS + 5 {
            let path = format!("/{number}/{}", "x".repeat(500));
            let summary = RequestSummary {
                robot: "examplebot",
                address: Some(IpAddr::from([192, 0, 2, 1])),
                host: "www.example.com",
                path: &path,
            };
            let kept = SpoofedRequest::of(summary, 0);
            last.note(
                kept.summary(),
                "it is elsewhere",
                number.try_into().unwrap(),
            );
        }
        let all = last.all();
        assert_eq!(all.len(), MAX_REQUESTS);
        let [first, .., oldest] = &*all else {
            panic!("there are many");
        };
        assert_eq!((first.at_ms, oldest.at_ms), (104, 5));
        assert_eq!(first.robot, "examplebot");
        assert_eq!(first.address, Some(IpAddr::from([192, 0, 2, 1])));
        assert_eq!(first.host, "www.example.com");
        assert!(first.path.starts_with("/104/xxx"));
        assert!(first.path.len() <= MAX_TEXT_BYTES + 3);
        assert_eq!(first.evidence, "it is elsewhere");
    }

    #[test]
    fn a_cut_keeps_signs_whole() {
        let mut place = "before".to_owned();
        put(&mut place, &"é".repeat(150));
        assert_eq!(place.chars().filter(|sign| *sign == 'é').count(), 100);
        assert!(place.ends_with('\u{2026}'));
    }
}
