//! Evaluates a page: its links, and its description or the reason why it has none.

use std::{net::IpAddr, sync::Arc};

use md5::{Digest as _, Md5};
use url::Url;

use crate::document::resolve;
use crate::filter::{Denial, Filter, ReceivedResource, Resource, StageOutcome, Surroundings};
use robot_detection_robots_txt::meta::{RobotsDirectives, RobotsMeta};
use robot_detection_store::description::{ResourceDescription, name};
use robot_detection_store::store::{
    ClaimedUrl, DescriptionChange, Loss, PageRecord, WITHDRAWN_BY_ADMIN,
};

use super::{
    Rejection, Step,
    freshness::OpenList,
    links::{self, AcceptedLink, SITEMAP, unique},
    outcome::time,
    page_result::{PageResult, SCRIPTS_NOT_RUN, SCRIPTS_WITHOUT_TEXT, lacks_words},
    preference::{canonical, preference},
    repeats::page_fingerprint,
    source::PageResponse,
    visitor::PageVisitor,
};

/// A URL with the results of its filters.
#[derive(Debug)]
pub(super) struct FilteredUrl {
    pub(super) url: Url,
    pub(super) claimed: ClaimedUrl,
    visitor: Arc<PageVisitor>,
    resource: Resource,
    /// Whether scripts of the page should have been run but were not.
    is_unrendered: bool,
    /// Guard for a sitemap or feed: pages wait until the dates that it lists are known.
    _list: Option<OpenList>,
    /// Denials by the enumeration filter and by the generation filter, if any.
    enumeration: Option<Denial>,
    generation: Option<Denial>,
}

impl FilteredUrl {
    pub(super) fn new(
        visitor: &Arc<PageVisitor>,
        url: Url,
        claimed: ClaimedUrl,
        ip: Option<IpAddr>,
    ) -> Self {
        let list = (claimed.found_on == SITEMAP).then(|| visitor.freshness.open_list());
        let names = Arc::clone(&visitor.settings().names);
        let mut resource = Resource::new(url.clone(), claimed.depth).in_run(names);
        if let Some(ip) = ip.filter(|_| visitor.settings().conf.enable_ip) {
            resource.set_ip(&ip.to_string());
        }
        Self {
            url,
            claimed,
            visitor: Arc::clone(visitor),
            resource,
            is_unrendered: false,
            _list: list,
            enumeration: None,
            generation: None,
        }
    }

    /// Runs both filters before the page is fetched; rejects the page if both filters deny it.
    pub(super) fn metadata(&mut self) -> Result<(), Rejection> {
        // Sitemaps come from robots.txt; filters apply only to pages.
        if self.claimed.found_on == SITEMAP {
            return Ok(());
        }
        self.filtered()
    }

    fn filtered(&mut self) -> Result<(), Rejection> {
        let visitor = Arc::clone(&self.visitor);
        let settings = visitor.settings();
        let is_again = self.claimed.attempts > 0;
        let denial = |filter, run| {
            let (mut resource, around) = (self.resource.clone(), visitor.surroundings(run));
            metadata(filter, &mut resource, &around, is_again)
                .denial()
                .cloned()
        };
        self.enumeration = denial(&settings.enumeration, &visitor.enumeration_run);
        self.generation = denial(&settings.generation, &visitor.generation_run);
        match (&self.enumeration, &self.generation) {
            (Some(_), Some(denial)) => Err(Rejection::new(Step::MetaData, denial.to_string())),
            _ => Ok(()),
        }
    }

    /// Evaluates a fetched page.
    pub(super) fn page(
        mut self,
        visitor: &PageVisitor,
        answer: &PageResponse,
        hash: String,
    ) -> PageResult {
        if let Some((taken, are_sitemaps)) = self.list(visitor, answer) {
            let mut judged = PageResult::rejected(
                self.claimed,
                &Rejection::new(Step::Answer, "a sitemap or feed, whose entries are visited"),
            );
            (judged.taken, judged.is_list) = (taken, true);
            judged.are_sitemaps = are_sitemaps;
            judged.record.loss = Some(Loss::List);
            // A stored version would lack the kinds and dates of the entries.
            return judged;
        }
        // Announced sitemaps may be anywhere on the host and bypass filters; this does not apply to
        // ordinary pages.
        if self.claimed.found_on == SITEMAP
            && let Err(rejection) =
                links::check(visitor.settings(), &self.url).and_then(|()| self.filtered())
        {
            return PageResult::rejected(self.claimed, &rejection);
        }
        let (alias_of, preference) = self.canonical_and_rank(visitor);
        self.resource.set_preference(preference);
        let meta = self.meta(answer);
        let now = time(visitor.settings().clock.now_ms());
        let user_agent = visitor.settings().user_agent();
        let directives = meta.for_robot(user_agent).directives;
        let mut judged = if directives.is_indexable(now) {
            self.generate(visitor, &meta, &directives)
        } else {
            let reason = format!("the page must not be indexed ({directives})");
            PageResult::rejected(
                self.claimed.clone(),
                &Rejection::new(Step::RobotsMeta, reason),
            )
        };
        self.note_password(&mut judged.record);
        if directives.follow() {
            judged.taken = self.enumerate(visitor);
        }
        let page = self.resource.page_or_sniffed();
        let page = page.filter(|_| !judged.taken.is_empty());
        judged.look = page.and_then(|page| {
            let title = page.title.as_deref().unwrap_or_default();
            let texts = page.blocks.iter().map(|block| &*block.text);
            page_fingerprint(&visitor.looks, &self.url, title, texts)
        });
        judged.record.status = Some(answer.status);
        judged.record.preference = Some(preference);
        if matches!(judged.record.description, DescriptionChange::Save(_)) {
            let link = alias_of.clone().filter(|_| directives.follow());
            let link = link.map(|url| AcceptedLink { url, steps: 0 });
            judged.taken.extend(link);
            judged.record.alias_of = alias_of;
        }
        // A 304 response would not reveal that a restriction by a header or a date has ended. Pages
        // without text are processed again because a converter may have become available.
        let is_lasting = !judged.is_wordless()
            && directives.unavailable_after().is_none()
            && (directives.index() || meta_of_header(visitor, answer).index());
        if is_lasting {
            judged.record.keep_version(answer, hash);
        }
        judged
    }

    /// Records the reason why a page was not rendered.
    pub(super) fn set_render_error(&mut self, why: String) {
        self.resource.add_problem(why);
        self.is_unrendered = true;
    }

    /// Returns `true` if the response is a page without text.
    pub(super) fn is_empty(&mut self, answer: &PageResponse) -> bool {
        self.receive(answer);
        self.is_wordless()
    }

    fn is_wordless(&self) -> bool {
        let page = self.resource.page_or_sniffed();
        page.is_some_and(|page| page.blocks.iter().all(|it| it.text.trim().is_empty()))
    }

    /// Passes the response to the filters; returns a checksum of everything that is evaluated.
    pub(super) fn receive(&mut self, answer: &PageResponse) -> String {
        let text = |name| answer.text(&name);
        let robots = header_meta(answer).for_all_robots().directives;
        self.resource.receive(ReceivedResource {
            status: answer.status,
            content_type: answer.content_type(),
            content_encoding: text(http::header::CONTENT_ENCODING),
            content_language: text(http::header::CONTENT_LANGUAGE),
            expires: text(http::header::EXPIRES),
            last_modified: text(http::header::LAST_MODIFIED),
            etag: text(http::header::ETAG),
            canonical: answer.canonical(),
            robots: (!robots.is_empty()).then(|| robots.to_string()),
            body: answer.body.clone(),
        });
        content_hash(answer, self.resource.md5().unwrap_or_default())
    }

    /// Returns the directives for robots in a page and its response headers.
    fn meta(&self, answer: &PageResponse) -> RobotsMeta {
        let mut meta = header_meta(answer);
        if let Some(page) = self.resource.page_or_sniffed() {
            let tags = page.metas.iter().filter(|tag| !tag.is_http_equiv);
            tags.for_each(|tag| meta.add_tag(&tag.name, &tag.content));
        }
        meta
    }

    /// Records whether the page asks for a password, and whether it did so at the previous visit.
    ///
    /// If it did not ask before, a login page may have replaced it, so the existing description is
    /// kept.
    fn note_password(&self, record: &mut PageRecord) {
        let asks = self.resource.page_or_sniffed();
        let asks = asks.is_some_and(|page| page.asks_password);
        record.asks_password = Some(asks);
        let is_start = self.claimed.found_on.is_empty();
        if !asks || self.claimed.asks_password || !(self.claimed.is_described || is_start) {
            return;
        }
        record.loss = Some(Loss::Login);
        if self.claimed.is_described && !matches!(record.description, DescriptionChange::Save(_)) {
            record.description = DescriptionChange::Keep;
        }
    }

    fn generate(
        &self,
        visitor: &PageVisitor,
        meta: &RobotsMeta,
        directives: &RobotsDirectives,
    ) -> PageResult {
        if visitor.withdrawn.contains(self.url.as_str()) {
            let rejection = Rejection::new(Step::Generate, WITHDRAWN_BY_ADMIN);
            let mut judged = PageResult::rejected(self.claimed.clone(), &rejection);
            judged.record.loss = Some(Loss::Withdrawn);
            return judged;
        }
        if let Some(denial) = &self.generation {
            return self.denied(Step::MetaData, denial);
        }
        let filter = &visitor.settings().generation;
        let around = visitor.surroundings(&visitor.generation_run);
        // The resource is cloned, so that assignments by this filter do not affect the other
        // filter.
        let mut resource = self.resource.clone();
        filter.reapply_metadata(&mut resource, &around);
        if let Some(denial) = filter.data(&mut resource, &around).denial() {
            // A filter for pages denies resources whose conversion has failed.
            if let Some(trouble) = resource.troubles().first() {
                return PageResult::without_text(self.claimed.clone(), trouble);
            }
            let mut judged = self.denied(Step::Data, denial);
            judged.record.alias_of = resource.preferred_url().map(str::to_owned);
            return judged;
        }
        let lacks = resource
            .page()
            .is_some_and(|page| lacks_words(page, &self.resource));
        if lacks || self.is_unrendered && self.is_wordless() {
            let without = match visitor.renderer {
                Some(_) => SCRIPTS_WITHOUT_TEXT,
                None => SCRIPTS_NOT_RUN,
            };
            let why = resource.troubles().first();
            let why = why.map_or(without, String::as_str);
            return PageResult::without_text(self.claimed.clone(), why);
        }
        let mut description = ResourceDescription::new(self.url.as_str());
        let passage = filter.generate(&mut resource, &mut description, &around);
        if let Some(denial) = passage.denial() {
            return self.denied(Step::Generate, denial);
        }
        for trouble in resource.troubles() {
            tracing::debug!(url = self.url.as_str(), "{trouble}");
        }
        self.complete(&mut description, meta, directives);
        visitor
            .freshness
            .add_dates(self.url.as_str(), &mut description);
        let mut record = PageRecord::new(self.claimed.clone(), "described");
        record.description = DescriptionChange::Save(description);
        PageResult::new(record)
    }

    /// Returns the page's canonical URL if it differs from the page's own URL, and the rank of the
    /// latter.
    fn canonical_and_rank(&self, visitor: &PageVisitor) -> (Option<String>, u8) {
        let page = self.resource.page_or_sniffed();
        let header = self
            .resource
            .received()
            .and_then(|it| it.canonical.as_deref());
        let canonical = canonical(page, header, &self.url);
        // The entries of a sitemap have the same depth as the sitemap.
        let is_listed = self.claimed.depth == 0 && !self.claimed.found_on.is_empty();
        let preference = preference(page, canonical.as_ref(), &self.url, is_listed);
        let other = canonical.filter(|url| *url != self.url);
        let settings = visitor.settings();
        let url = other.and_then(|url| links::to_visit(settings, &self.url, url.as_str()));
        (url.filter(|url| *url != self.claimed.url), preference)
    }

    /// Adds data that is not known to the filter, and removes data that must not be shown.
    fn complete(
        &self,
        description: &mut ResourceDescription,
        meta: &RobotsMeta,
        directives: &RobotsDirectives,
    ) {
        description.set(name::DEPTH, self.claimed.depth.to_string());
        let everybody = meta.for_all_robots().directives;
        if !everybody.is_empty() {
            description.set(name::ROBOTS, everybody.to_string());
        }
        if let Some(canonical) = description.value(name::CANONICAL) {
            match resolve(&self.url, canonical) {
                Some(url) => description.set(name::CANONICAL, url.as_str()),
                None => drop(description.remove(name::CANONICAL)),
            }
        }
        if !directives.archive() {
            for text in [
                name::PARTIAL_TEXT,
                name::FULL_TEXT,
                name::MARKS,
                name::TABLE_OF_CONTENTS,
            ] {
                description.remove(text);
            }
        }
    }

    fn enumerate(&self, visitor: &PageVisitor) -> Vec<AcceptedLink> {
        if self.enumeration.is_some() {
            return Vec::new();
        }
        let settings = visitor.settings();
        let around = visitor.surroundings(&visitor.enumeration_run);
        let mut resource = self.resource.clone();
        settings
            .enumeration
            .reapply_metadata(&mut resource, &around);
        if !settings
            .enumeration
            .data(&mut resource, &around)
            .is_allowed()
        {
            return Vec::new();
        }
        let (passage, links) = settings.enumeration.enumerate(&mut resource, &around);
        if !passage.is_allowed() {
            return Vec::new();
        }
        let page = resource.page();
        let base = page.and_then(|page| resolve(&self.url, page.base.as_deref()?));
        let base = base.unwrap_or_else(|| self.url.clone());
        unique(links::accept(settings, &visitor.known_links, &base, &links))
    }

    fn denied(&self, step: Step, denial: &Denial) -> PageResult {
        let rejection = Rejection::new(step, denial.to_string());
        let mut judged = PageResult::rejected(self.claimed.clone(), &rejection);
        if &*denial.function == "filter-by-md5" {
            judged.record.loss = Some(Loss::Duplicate);
        }
        judged
    }
}

/// Runs the `MetaData` stage; a retry is not counted again.
fn metadata(
    filter: &Filter,
    resource: &mut Resource,
    around: &Surroundings<'_>,
    is_again: bool,
) -> StageOutcome {
    if is_again {
        filter.reapply_metadata(resource, around);
        return StageOutcome::Allowed;
    }
    filter.metadata(resource, around)
}

/// Returns the rejection if a header in a 304 response excludes the page from the index.
pub(super) fn refused_by_header(visitor: &PageVisitor, answer: &PageResponse) -> Option<Rejection> {
    let directives = meta_of_header(visitor, answer);
    let now = time(visitor.settings().clock.now_ms());
    (!directives.is_indexable(now)).then(|| {
        let reason = format!("the page must not be indexed ({directives})");
        Rejection::new(Step::RobotsMeta, reason)
    })
}

/// Returns a checksum of everything that affects the evaluation, including the checksum of the
/// body.
fn content_hash(answer: &PageResponse, md5: &str) -> String {
    let mut hash = Md5::new();
    let headers = answer.content_type().into_iter();
    let headers = headers
        .chain(answer.canonical())
        .chain(answer.x_robots_tags());
    for header in headers {
        hash.update((header.len() as u64).to_le_bytes());
        hash.update(header);
    }
    // No header has this length, so the following data cannot be mistaken for a header.
    hash.update(u64::MAX.to_le_bytes());
    hash.update(md5);
    let digest = hash.finalize();
    hex::encode(digest)
}

fn meta_of_header(visitor: &PageVisitor, answer: &PageResponse) -> RobotsDirectives {
    let user_agent = visitor.settings().user_agent();
    header_meta(answer).for_robot(user_agent).directives
}

fn header_meta(answer: &PageResponse) -> RobotsMeta {
    let mut meta = RobotsMeta::default();
    let tags = answer.x_robots_tags();
    tags.for_each(|tag| meta.add_header(tag.as_bytes()));
    meta
}

trait KeepVersion {
    /// Stores the validators of a page for the next conditional request.
    fn keep_version(&mut self, answer: &PageResponse, hash: String);
}

impl KeepVersion for PageRecord {
    fn keep_version(&mut self, answer: &PageResponse, hash: String) {
        let conditions = answer.conditions();
        self.status = Some(answer.status);
        self.etag = conditions.etag;
        self.last_modified = conditions.last_modified;
        self.content_hash = Some(hash);
    }
}
