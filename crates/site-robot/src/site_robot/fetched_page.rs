//! Processes fetched pages.

use std::sync::Arc;

use robot_detection_store::store::{DescriptionChange, RunCounts};

use super::{
    SiteRobotError,
    finished_visit::FinishedVisit,
    judge::FilteredUrl,
    links::{AcceptedLink, SITEMAP, found_urls},
    page_result::PageResult,
    settings::Settings,
    source::PageResponse,
    visitor::PageVisitor,
    waiting_body::WaitingBody,
};

/// Maximum size of a page that is processed on the same thread, in bytes: waking another thread
/// takes about as long as processing a page of this size.
const SMALL_BYTES: u64 = 32 * 1024;

/// Media types that are never converted.
const AS_THEY_ARE: [&str; 3] = ["application/xhtml+xml", "text/html", "text/plain"];

/// A fetched page that is ready to be processed.
#[derive(Debug)]
pub(super) struct FetchedPage {
    pub(super) judging: FilteredUrl,
    pub(super) answer: PageResponse,
}

impl FetchedPage {
    /// Returns the host of the fetched page.
    pub(super) fn host(&self) -> &str {
        &self.judging.claimed.host
    }

    /// Returns `true` if the page, as sent by the server, has no text.
    pub(super) fn is_empty(&mut self) -> bool {
        self.judging.is_empty(&self.answer)
    }

    /// Returns `true` if processing the page only uses the CPU and does not wait for a program.
    fn is_read_at_once(&self, visitor: &PageVisitor) -> bool {
        let media_type = self.answer.media_type().unwrap_or_default();
        let Settings {
            enumeration,
            generation,
            ..
        } = visitor.settings();
        AS_THEY_ARE.contains(&media_type.as_str()) && !enumeration.waits() && !generation.waits()
    }

    /// Evaluates the page, or returns the page itself if it is unchanged.
    fn judged(mut self, visitor: &PageVisitor) -> Result<FinishedVisit, Box<Self>> {
        let hash = self.judging.receive(&self.answer);
        let claimed = &self.judging.claimed;
        // A server that sends no validators sends the complete page each time.
        if visitor.is_current(claimed) && claimed.content_hash.as_deref() == Some(&hash) {
            return Err(Box::new(self));
        }
        Ok(visited(self.judging.page(visitor, &self.answer, hash)))
    }
}

impl PageVisitor {
    /// Processes a page unless it is unchanged. Large pages are processed on separate threads, so
    /// that the threads that wait for servers stay free.
    pub(super) async fn read(
        self: &Arc<Self>,
        mut came: FetchedPage,
    ) -> Result<FinishedVisit, SiteRobotError> {
        self.render(&mut came).await;
        let bytes = came.answer.body.len() as u64;
        let judged = if came.is_read_at_once(self) && bytes <= SMALL_BYTES {
            // The next page is requested in the meantime.
            tokio::task::yield_now().await;
            came.judged(self)
        } else {
            self.wait_and_read(came).await?
        };
        let mut visited = match judged {
            Ok(visited) => visited,
            Err(known) => self.unmodified(known.judging, &known.answer).await?,
        };
        visited.counts.fetched = 1;
        visited.counts.bytes = bytes;
        (visited.was_asked, visited.holds_host) = (true, false);
        Ok(visited)
    }
}

impl PageVisitor {
    /// Processes a page from the queue.
    async fn wait_and_read(
        self: &Arc<Self>,
        mut came: FetchedPage,
    ) -> Result<Result<FinishedVisit, Box<FetchedPage>>, SiteRobotError> {
        let (visitor, is_at_once) = (Arc::clone(self), came.is_read_at_once(self));
        let body = std::mem::take(&mut came.answer.body);
        let waiting = WaitingBody::new(body, &self.settings().conf).await;
        let read = move || {
            came.answer.body = waiting.take()?;
            Ok(came.judged(&visitor))
        };
        let read: Result<_, std::io::Error> = if is_at_once {
            self.readers.read(read).await?
        } else {
            self.readers.convert(read).await?
        };
        read.map_err(|error| SiteRobotError::Worker {
            reason: format!("cannot read the page from disk: {error}"),
        })
    }
}

/// Creates the finished visit to a page, with the URLs found on the page.
fn visited(judged: PageResult) -> FinishedVisit {
    let mut record = judged.record;
    let mut found = found_urls(&record.claimed, &judged.taken);
    if judged.are_sitemaps {
        for sitemap in &mut found {
            SITEMAP.clone_into(&mut sitemap.found_on);
        }
    }
    record.links = Some(judged.taken.iter().map(AcceptedLink::line).collect());
    record.found = found;
    let is_rejected = !matches!(record.description, DescriptionChange::Save(_));
    let counts = RunCounts {
        rejected: u64::from(is_rejected && !judged.is_list),
        ..RunCounts::default()
    };
    FinishedVisit {
        is_list: judged.is_list,
        look: judged.look,
        ..FinishedVisit::new(record, counts)
    }
}
