//! Redirect targets, with protection against redirect loops.

use std::sync::Arc;

use super::{
    Redirect,
    glob::FilterPattern,
    host::Host,
    path::PathReading,
    redirect::{self, Guard},
};

/// A redirect target for robots.
#[derive(Clone, Debug)]
pub(super) struct Heaven {
    pub(super) redirect: Redirect,
    guard: Guard,
}

/// All redirect targets. Requests for redirect targets are never redirected.
#[derive(Clone, Debug)]
pub(super) struct Heavens {
    places: Vec<Arc<Heaven>>,
    reading: PathReading,
}

impl Heavens {
    pub(super) fn new(reading: PathReading) -> Self {
        Self {
            places: Vec::new(),
            reading,
        }
    }

    /// Adds the target of a redirect URL. Errors contain the reason and a correction.
    pub(super) fn add(
        &mut self,
        url: &str,
        status: u16,
        own_hosts: &[Host],
    ) -> Result<Arc<Heaven>, String> {
        let (location, mut guard) = redirect::parse(url, own_hosts)?;
        guard.read_as(self.reading);
        let redirect = Redirect { status, location };
        if let Some(known) = self.places.iter().find(|known| known.redirect == redirect) {
            return Ok(Arc::clone(known));
        }
        let heaven = Arc::new(Heaven { redirect, guard });
        self.places.push(Arc::clone(&heaven));
        Ok(heaven)
    }

    /// Returns the redirect target that contains the requested page, if any.
    pub(super) fn covering(&self, host: Option<&str>, path: &[u8]) -> Option<&Heaven> {
        self.places
            .iter()
            .map(|heaven| &**heaven)
            .find(|heaven| heaven.guard.covers(host, path))
    }

    /// Returns `true` if a path that starts with `text` may belong to a redirect target, on any
    /// host.
    pub(super) fn may_cover(&self, text: &[u8]) -> bool {
        self.places
            .iter()
            .any(|heaven| heaven.guard.may_cover(text))
    }

    /// Returns `true` if a redirect target is limited to certain hosts.
    pub(super) fn has_hosts(&self) -> bool {
        self.places.iter().any(|heaven| heaven.guard.has_host())
    }

    /// Returns a redirect target that contains paths of the patterns, if all paths that the
    /// patterns match are in redirect targets.
    pub(super) fn covering_all(&self, patterns: &[FilterPattern]) -> Option<&Heaven> {
        let mut found = None;
        for pattern in patterns {
            let covers = |heaven: &&Arc<Heaven>| heaven.guard.covers_all(pattern.literal_start());
            found = Some(&**self.places.iter().find(covers)?);
        }
        found
    }

    pub(super) fn redirects(&self) -> impl Iterator<Item = &Redirect> {
        self.places.iter().map(|heaven| &heaven.redirect)
    }
}
