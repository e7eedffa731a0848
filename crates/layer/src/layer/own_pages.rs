//! Pages of heaven that are made from the pages that robots ask for, and pages of our own.

use std::{fmt, sync::Arc};

use http::{HeaderValue, Uri};

use crate::policy::is_own_path;

type Has = Arc<dyn Fn(&Uri) -> bool + Send + Sync>;

type Find = Arc<dyn Fn(&Uri, &HeaderValue) -> Option<HeaderValue> + Send + Sync>;

/// Finds the page that is made from one, for a robot that is redirected anyway.
#[derive(Clone, Default)]
pub(super) struct OwnPages {
    find: Option<Find>,
}

impl OwnPages {
    pub(super) fn new(
        find: impl Fn(&Uri, &HeaderValue) -> Option<HeaderValue> + Send + Sync + 'static,
    ) -> Self {
        Self {
            find: Some(Arc::new(find)),
        }
    }

    /// Returns a better location than that of a redirect, if there is one.
    pub(super) fn find(&self, asked: &Uri, redirect: Option<&HeaderValue>) -> Option<HeaderValue> {
        let find = self.find.as_ref()?;
        find(asked, redirect?)
    }
}

/// Tells of which pages heaven has copies.
#[derive(Clone, Default)]
pub(super) struct Copies {
    has: Option<Has>,
}

impl Copies {
    pub(super) fn new(has: impl Fn(&Uri) -> bool + Send + Sync + 'static) -> Self {
        Self {
            has: Some(Arc::new(has)),
        }
    }

    pub(super) fn has(&self, asked: &Uri) -> bool {
        self.has.as_ref().is_some_and(|has| has(asked))
    }
}

impl fmt::Debug for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Copies").field(&self.has.is_some()).finish()
    }
}

/// Path of pages of the program, such as the admin page, and of all below it.
#[derive(Clone, Debug)]
pub(super) struct OwnPath(Box<str>);

impl OwnPath {
    pub(super) fn new(path: &str) -> Self {
        Self(path.trim_end_matches('/').into())
    }

    pub(super) fn contains(&self, path: &str) -> bool {
        is_own_path(path, &self.0)
    }
}

impl fmt::Debug for OwnPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_there = self.find.is_some();
        f.debug_tuple("OwnPages").field(&is_there).finish()
    }
}
