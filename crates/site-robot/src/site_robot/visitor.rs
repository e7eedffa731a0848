//! State that the visits of a run share.

use std::{
    collections::{HashMap, HashSet},
    hash::RandomState,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use url::Url;

use crate::filter::{Filter, FilterRun, Surroundings};
use crate::render::Answer;
use robot_detection_store::{
    description::ResourceDescription,
    store::{ClaimedUrl, RunCommand},
};

use super::{
    Progress, freshness::Freshness, known_links::KnownLinks, readers::Readers, robots::HostRules,
    settings::Settings,
};

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) wanted: watch::Sender<RunCommand>,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) is_running: AtomicBool,
    pub(super) runs_ended: AtomicU64,
}

/// State that all visits of a run share.
#[derive(Debug)]
pub(super) struct PageVisitor {
    pub(super) shared: Arc<Shared>,
    pub(super) fingerprint: String,
    pub(super) enumeration_run: FilterRun,
    pub(super) generation_run: FilterRun,
    pub(super) rules: AllRules,
    pub(super) known_links: KnownLinks,
    pub(super) described: ServerDescriptions,
    pub(super) readers: Readers,
    /// Renderer, if rendering is enabled.
    pub(super) renderer: Option<crate::render::Renderer>,
    pub(super) kept_files: ResourceCache,
    pub(super) freshness: Freshness,
    pub(super) looks: RandomState,
    /// URLs that are permanently excluded from robot heaven.
    pub(super) withdrawn: HashSet<String>,
}

/// robots.txt rules of all hosts, which all visits share.
pub(super) type AllRules = Mutex<HashMap<String, Arc<HostRules>>>;

/// Maximum size of the scripts and style sheets cached in a run, in bytes.
const MAX_KEPT: usize = 16 * 1024 * 1024;

/// Cache of the scripts and style sheets in a run, most of which are used on every page of a site.
#[derive(Debug, Default)]
pub(super) struct ResourceCache {
    by_url: Mutex<(HashMap<Url, Answer>, usize)>,
}

/// Descriptions that servers provide for their pages, by host and URL.
#[derive(Debug, Default)]
pub(super) struct ServerDescriptions {
    by_host: Mutex<HashMap<String, HashMap<String, ResourceDescription>>>,
}

impl PageVisitor {
    pub(super) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Returns the filters, each with the state of its run.
    pub(super) fn filters(&self) -> [(&Filter, &FilterRun); 2] {
        let settings = self.settings();
        [
            (&settings.enumeration, &self.enumeration_run),
            (&settings.generation, &self.generation_run),
        ]
    }

    /// Returns the [`Surroundings`] for the run of a filter.
    pub(super) fn surroundings<'a>(&'a self, run: &'a FilterRun) -> Surroundings<'a> {
        Surroundings {
            run,
            commands: &*self.settings().commands,
            now_ms: self.settings().clock.now_ms(),
        }
    }

    /// Returns `true` if a page was last evaluated under the current settings.
    pub(super) fn is_current(&self, claimed: &ClaimedUrl) -> bool {
        claimed.settings.as_ref() == Some(&self.fingerprint)
    }

    pub(super) fn all_rules(&self) -> MutexGuard<'_, HashMap<String, Arc<HostRules>>> {
        self.rules.lock()
    }
}

impl ResourceCache {
    pub(super) fn get(&self, url: &Url) -> Option<Answer> {
        let kept = self.by_url.lock();
        kept.0.get(url).cloned()
    }

    pub(super) fn store(&self, url: Url, answer: &Answer) {
        let mut kept = self.by_url.lock();
        let bytes = kept.1 + answer.body.len();
        if bytes <= MAX_KEPT && kept.0.insert(url, answer.clone()).is_none() {
            kept.1 = bytes;
        }
    }
}

impl ServerDescriptions {
    pub(super) fn hosts(
        &self,
    ) -> MutexGuard<'_, HashMap<String, HashMap<String, ResourceDescription>>> {
        self.by_host.lock()
    }
}
