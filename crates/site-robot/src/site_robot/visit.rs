//! Visits a URL: checks whether this is permitted, sends the request, and evaluates the response.

use std::sync::Arc;

use url::Url;

use robot_detection_store::fetch::Conditions;
use robot_detection_store::store::{
    ClaimedUrl, DescriptionChange, FoundUrl, Loss, PageRecord, RunCounts,
};

use super::{
    Rejection, SiteRobotError, Step,
    fetched_page::FetchedPage,
    finished_visit::{FinishedVisit, gone, moved},
    freshness::PageTreatment,
    judge::{self, FilteredUrl},
    links::{self, AcceptedLink, SITEMAP, check, found_urls, to_canonical_form},
    outcome::{ResponseMeaning, meaning, meaning_of_error, retry_ms},
    page_result::PageResult,
    robots::{HostRules, Permission},
    scope::host_key,
    settings::Settings,
    source::{PageRequest, PageResponse},
    visitor::PageVisitor,
};

/// Outcome of a visit to a URL.
#[derive(Debug)]
pub(super) enum Visit {
    /// A page was fetched and has yet to be processed.
    FetchedPage(Box<FetchedPage>),
    Ended(Box<FinishedVisit>),
}

impl Visit {
    fn came(judging: FilteredUrl, answer: PageResponse) -> Self {
        Self::FetchedPage(Box::new(FetchedPage { judging, answer }))
    }

    pub(super) fn finished(visited: FinishedVisit) -> Self {
        Self::Ended(Box::new(visited))
    }
}

impl PageVisitor {
    /// Reads the robots.txt rules of a host; returns the rules, and the sitemaps to visit.
    pub(super) async fn load_rules(
        &self,
        host: &str,
        url: &str,
    ) -> (Option<Arc<HostRules>>, Vec<FoundUrl>) {
        let settings = self.settings();
        let Ok(url) = Url::parse(url) else {
            return (None, Vec::new());
        };
        let rules = Arc::new(HostRules::read(settings, &url).await);
        let links = rules.sitemaps.iter();
        let links = links.filter_map(|link| self.sitemap(&url, link));
        let mut sitemaps: Vec<_> = links.collect();
        if settings.conf.enable_rdm_probe {
            sitemaps.extend(self.probe(&url, &rules).await);
        }
        let known = Arc::clone(&rules);
        self.all_rules().insert(host.to_owned(), known);
        (Some(rules), sitemaps)
    }

    /// Requests a URL and processes the response.
    pub(super) async fn visit(
        self: &Arc<Self>,
        claimed: ClaimedUrl,
    ) -> Result<Visit, SiteRobotError> {
        if claimed.is_relink {
            return self.follow_links_again(claimed).await.map(Visit::finished);
        }
        let rejected = |claimed, rejection: &_| {
            Ok(Visit::finished(FinishedVisit::rejected(claimed, rejection)))
        };
        let Ok(url) = Url::parse(&claimed.url) else {
            let rejection = Rejection::new(Step::Url, "not a valid URL");
            return rejected(claimed, &rejection);
        };
        if let Err(rejection) = self.may_visit(&claimed, &url) {
            return rejected(claimed, &rejection);
        }
        let rules = self.all_rules().get(&claimed.host).map(Arc::clone);
        if let Some(rules) = &rules {
            match rules.permission(&claimed.url) {
                Permission::Allowed => {}
                Permission::Refused(rejection) => return rejected(claimed, &rejection),
                Permission::Unknown(reason) => {
                    return self.keep(claimed, reason, None).await.map(Visit::finished);
                }
            }
        }
        if let Some(main) = self.main_host(&claimed, &url) {
            let reason = format!("a Host line specifies {}", main.as_str().escape_debug());
            let rejection = Rejection::new(Step::RobotsTxt, reason);
            let target = Some(String::from(main));
            return Ok(Visit::finished(moved(claimed, target, &rejection)));
        }
        if let Some(described) = self.described_by_server(&claimed) {
            return Ok(Visit::finished(described));
        }
        let ip = rules.and_then(|rules| rules.ip);
        let mut judging = FilteredUrl::new(self, url, claimed, ip);
        if let Err(rejection) = judging.metadata() {
            return rejected(judging.claimed, &rejection);
        }
        self.request_if_due(judging).await
    }

    /// Requests a page if it is due in this run.
    pub(super) async fn request_if_due(
        self: &Arc<Self>,
        judging: FilteredUrl,
    ) -> Result<Visit, SiteRobotError> {
        if judging.claimed.found_on != SITEMAP {
            self.freshness.wait_for_lists().await;
        }
        let now_ms = self.settings().clock.now_ms();
        let is_current = self.is_current(&judging.claimed);
        match self
            .freshness
            .handling(&judging.claimed, is_current, now_ms)
        {
            PageTreatment::Ask => self.request_page(judging).await,
            PageTreatment::Keep => self.not_due(judging.claimed).await.map(Visit::finished),
            PageTreatment::Wait => {
                let outcome = "postponed to the next run: the limit requests_per_run is reached";
                let record = PageRecord::new(judging.claimed, outcome);
                let visited = FinishedVisit::new(record, RunCounts::default());
                Ok(Visit::finished(visited))
            }
        }
    }

    /// Keeps the description of a page that is not requested in this run.
    async fn not_due(&self, claimed: ClaimedUrl) -> Result<FinishedVisit, SiteRobotError> {
        let record = self.kept(claimed, "unmodified").await?;
        if record.claimed.is_described {
            self.remember_content(&record.claimed.url).await?;
        }
        let counts = RunCounts {
            unmodified: 1,
            ..RunCounts::default()
        };
        Ok(FinishedVisit::new(record, counts))
    }

    pub(super) async fn request_page(
        self: &Arc<Self>,
        judging: FilteredUrl,
    ) -> Result<Visit, SiteRobotError> {
        let conditions = self.conditions(&judging.claimed);
        let was_conditional = conditions != Conditions::default();
        let request = PageRequest::get(&judging.url).if_changed(conditions);
        let asked = self.settings().source.fetch(&request).await;
        let now_ms = self.settings().clock.now_ms();
        let (meaning, answer) = match asked {
            Ok(answer) => (meaning(&answer, was_conditional, now_ms), Some(answer)),
            Err(error) => (meaning_of_error(&error), None),
        };
        let mut visited = match (meaning, answer) {
            (ResponseMeaning::Page, Some(answer)) => return Ok(Visit::came(judging, answer)),
            (ResponseMeaning::Unmodified, Some(answer)) => self.unmodified(judging, &answer).await,
            (ResponseMeaning::Moved(location), Some(answer)) => {
                Ok(self.moved(judging, &answer, &location))
            }
            (ResponseMeaning::Passing { reason, hold }, answer) => {
                let status = answer.map(|answer| answer.status);
                self.failed(judging.claimed, reason, status, hold, now_ms)
                    .await
            }
            (ResponseMeaning::Gone { reason, loss }, answer) => {
                Ok(gone(judging.claimed, reason, loss, answer.as_ref()))
            }
            (_, None) => Err(SiteRobotError::Worker {
                reason: "a response is missing".to_owned(),
            }),
        }?;
        visited.was_asked = true;
        Ok(Visit::finished(visited))
    }

    /// Keeps the description of an unchanged page and follows its known links.
    pub(super) async fn unmodified(
        &self,
        judging: FilteredUrl,
        answer: &PageResponse,
    ) -> Result<FinishedVisit, SiteRobotError> {
        let claimed = judging.claimed;
        let counts = RunCounts {
            fetched: 1,
            unmodified: 1,
            ..RunCounts::default()
        };
        let mut record = self.kept(claimed, "unmodified").await?;
        record.status = Some(answer.status);
        if record.claimed.is_described {
            self.remember_content(&record.claimed.url).await?;
        }
        let PageResult {
            record: refused, ..
        } = match judge::refused_by_header(self, answer) {
            Some(rejection) if record.claimed.is_described => {
                PageResult::rejected(record.claimed.clone(), &rejection)
            }
            _ => return Ok(FinishedVisit::new(record, counts)),
        };
        (record.outcome, record.loss) = (refused.outcome, refused.loss);
        record.description = DescriptionChange::Withdraw;
        // The page is requested unconditionally the next time, because it may be allowed again.
        (record.etag, record.last_modified, record.content_hash) = (None, None, None);
        Ok(FinishedVisit::new(record, counts))
    }

    /// Registers the content of a page that the generation filter does not process in this run.
    pub(super) async fn remember_content(&self, url: &str) -> Result<(), SiteRobotError> {
        let Settings { store, site, .. } = self.settings();
        if let Some((md5, preference)) = store.frontier().md5(site, url).await? {
            self.generation_run.register_checksum(&md5, url, preference);
        }
        Ok(())
    }

    fn moved(&self, judging: FilteredUrl, answer: &PageResponse, location: &str) -> FinishedVisit {
        let settings = self.settings();
        let target = links::to_visit(settings, &judging.url, location);
        let shown: String = location.chars().take(200).collect();
        let reason = format!(
            "status {}, moved to {}",
            answer.status,
            shown.escape_debug()
        );
        let rejection = Rejection::new(Step::Answer, reason);
        let mut visited = moved(judging.claimed, target, &rejection);
        visited.record.status = Some(answer.status);
        visited.counts.fetched = 1;
        visited
    }

    /// Retries a page later, or keeps its description if no attempts are left.
    async fn failed(
        &self,
        claimed: ClaimedUrl,
        reason: String,
        status: Option<u16>,
        hold: Option<std::time::Duration>,
        now_ms: i64,
    ) -> Result<FinishedVisit, SiteRobotError> {
        let retry_ms = retry_ms(&claimed, self.settings().retries, hold, now_ms);
        let mut visited = self.keep(claimed, reason, retry_ms).await?;
        visited.record.status = status;
        visited.counts.fetched = u64::from(status.is_some());
        visited.hold_ms = hold.and(retry_ms);
        Ok(visited)
    }

    /// Keeps the description of a page that is currently unavailable.
    async fn keep(
        &self,
        claimed: ClaimedUrl,
        reason: String,
        retry_ms: Option<i64>,
    ) -> Result<FinishedVisit, SiteRobotError> {
        let mut record = self.kept(claimed, &format!("failed: {reason}")).await?;
        (record.retry_ms, record.loss) = (retry_ms, Some(Loss::Missing));
        // The page will be visited again, with its links.
        if retry_ms.is_some() {
            record.found.clear();
        }
        let counts = RunCounts {
            failed: u64::from(retry_ms.is_none()),
            ..RunCounts::default()
        };
        Ok(FinishedVisit::new(record, counts))
    }

    /// Follows the known links of a page again after the page was found at a smaller depth.
    async fn follow_links_again(
        &self,
        claimed: ClaimedUrl,
    ) -> Result<FinishedVisit, SiteRobotError> {
        let record = self.kept(claimed, "").await?;
        Ok(FinishedVisit::new(record, RunCounts::default()))
    }

    /// Returns a record that leaves the page unchanged and contains its stored links.
    pub(super) async fn kept(
        &self,
        claimed: ClaimedUrl,
        outcome: &str,
    ) -> Result<PageRecord, SiteRobotError> {
        let settings = self.settings();
        let lines = settings
            .frontier()
            .links(&settings.site, &claimed.url)
            .await?;
        let taken: Vec<AcceptedLink> = lines
            .iter()
            .filter_map(|line| AcceptedLink::from_line(line))
            .collect();
        // Links that used to be in scope may now be out of scope.
        let is_in = |taken: &AcceptedLink| {
            let url = Url::parse(&taken.url);
            url.is_ok_and(|url| check(settings, &url).is_ok())
        };
        let taken: Vec<AcceptedLink> = taken.into_iter().filter(is_in).collect();
        let found = found_urls(&claimed, &taken);
        let mut record = PageRecord::new(claimed, outcome);
        if self.is_current(&record.claimed) {
            record.etag.clone_from(&record.claimed.etag);
            record
                .last_modified
                .clone_from(&record.claimed.last_modified);
            record.content_hash.clone_from(&record.claimed.content_hash);
        }
        record.found = found;
        Ok(record)
    }

    /// Returns the URL of a page on the main host that the robots.txt file of its host specifies.
    ///
    /// The main host must be in scope and must not specify another main host, to prevent endless
    /// redirects.
    fn main_host(&self, claimed: &ClaimedUrl, url: &Url) -> Option<Url> {
        let rules = |host: &str| self.all_rules().get(host).map(Arc::clone);
        let main = rules(&claimed.host)?.on_main_host(url)?;
        if claimed.found_on == SITEMAP || check(self.settings(), &main).is_err() {
            return None;
        }
        let there = rules(&host_key(&main));
        let names_another = there.is_some_and(|there| there.on_main_host(&main).is_some());
        (!names_another).then_some(main)
    }

    /// Checks whether a URL may be visited; sitemaps may be anywhere on a host in scope.
    fn may_visit(&self, claimed: &ClaimedUrl, url: &Url) -> Result<(), Rejection> {
        if claimed.found_on == SITEMAP {
            return self.settings().scope.check_host(url);
        }
        check(self.settings(), url)
    }

    /// Returns `true` for a URL that is out of scope, or that robots.txt is known to disallow.
    pub(super) fn is_refused(&self, found: &FoundUrl) -> bool {
        let rules = self.all_rules().get(&found.host).map(Arc::clone);
        let is_disallowed = rules
            .is_some_and(|rules| matches!(rules.permission(&found.url), Permission::Refused(_)));
        let is_out = |url: &Url| self.settings().scope.check_host(url).is_err();
        is_disallowed || Url::parse(&found.url).is_ok_and(|url| is_out(&url))
    }

    fn sitemap(&self, host: &Url, link: &str) -> Option<FoundUrl> {
        let url = to_canonical_form(self.settings(), crate::document::resolve(host, link)?);
        self.settings().scope.check_host(&url).ok()?;
        Some(FoundUrl {
            host: host_key(&url),
            depth: 0,
            max_depth: self.settings().starts.first()?.max_depth,
            found_on: SITEMAP.to_owned(),
            url: url.into(),
        })
    }

    fn conditions(&self, claimed: &ClaimedUrl) -> Conditions {
        if !self.is_current(claimed) {
            return Conditions::default();
        }
        Conditions {
            etag: claimed.etag.clone(),
            last_modified: claimed.last_modified.clone(),
        }
    }
}
