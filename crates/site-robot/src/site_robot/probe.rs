//! Requests the descriptions that servers provide for their pages (Sun 7.1 `enable-rdm-probe`).

use std::collections::HashMap;

use url::Url;

use robot_detection_store::description::{ResourceDescription, SoifReader};
use robot_detection_store::store::{
    ClaimedUrl, DescriptionChange, FoundUrl, Loss, RunCounts, WITHDRAWN_BY_ADMIN,
};

use super::{
    Rejection, Step,
    finished_visit::FinishedVisit,
    links,
    robots::{HostRules, Permission},
    scope::host_key,
    source::PageRequest,
    visitor::PageVisitor,
};

/// Paths at which a server may provide descriptions, as used by resource description servers and by
/// robot heaven.
const PLACES: [&str; 2] = ["/rd.soif", "/robot-heaven/rd.soif"];

/// Maximum number of descriptions accepted from one server.
const MAX_DESCRIPTIONS: usize = 50_000;

impl PageVisitor {
    /// Requests the descriptions that a server provides; returns the URLs of the described pages.
    pub(super) async fn probe(&self, host: &Url, rules: &HostRules) -> Vec<FoundUrl> {
        for place in PLACES {
            let Ok(url) = host.join(place) else {
                continue;
            };
            if rules.permission(url.as_str()) != Permission::Allowed {
                continue;
            }
            let answer = self.settings().source.fetch(&PageRequest::get(&url)).await;
            let Some(answer) = answer.ok().filter(|answer| answer.status == 200) else {
                continue;
            };
            let found = self.descriptions_of(host, rules, &answer.body);
            if !found.is_empty() {
                let urls = found.keys().map(|url| self.found_at(host, url, place));
                let urls = urls.collect();
                self.described.hosts().insert(host_key(host), found);
                return urls;
            }
        }
        Vec::new()
    }

    /// Returns the result for a URL on a server that provides descriptions; `None` for other
    /// servers.
    pub(super) fn described_by_server(&self, claimed: &ClaimedUrl) -> Option<FinishedVisit> {
        let mut hosts = self.described.hosts();
        let of_host = hosts.get_mut(&claimed.host)?;
        let description = of_host.remove(&claimed.url);
        let mut visited = if self.withdrawn.contains(&claimed.url) {
            let mut visited = rejected(claimed, WITHDRAWN_BY_ADMIN);
            visited.record.loss = Some(Loss::Withdrawn);
            visited
        } else if let Some(description) = description {
            let mut visited = rejected(claimed, "");
            "described by its server".clone_into(&mut visited.record.outcome);
            visited.record.loss = None;
            visited.record.description = DescriptionChange::Save(description);
            visited.counts = RunCounts::default();
            visited
        } else {
            rejected(
                claimed,
                "its server provides descriptions, but none of this page",
            )
        };
        // The server has responded, although not to a request for this URL.
        visited.record.status = Some(200);
        Some(visited)
    }

    /// Reads a server's descriptions, except descriptions of pages that the run must not visit.
    fn descriptions_of(
        &self,
        host: &Url,
        rules: &HostRules,
        soif: &[u8],
    ) -> HashMap<String, ResourceDescription> {
        let settings = self.settings();
        let read = SoifReader::new(soif).take(MAX_DESCRIPTIONS).flatten();
        let mine = read.filter_map(|description| {
            let url = Url::parse(description.url()).ok()?;
            let is_mine = url.origin() == host.origin() && url.as_str() == description.url();
            let may_be = links::check(settings, &url).is_ok()
                && rules.permission(url.as_str()) == Permission::Allowed;
            (is_mine && may_be).then(|| (url.into(), description))
        });
        mine.collect()
    }

    fn found_at(&self, host: &Url, url: &str, place: &str) -> FoundUrl {
        let starts = &self.settings().starts;
        FoundUrl {
            host: host_key(host),
            depth: 0,
            max_depth: starts.first().and_then(|start| start.max_depth),
            found_on: place.to_owned(),
            url: url.to_owned(),
        }
    }
}

fn rejected(claimed: &ClaimedUrl, reason: &str) -> FinishedVisit {
    FinishedVisit::rejected(claimed.clone(), &Rejection::new(Step::MetaData, reason))
}
