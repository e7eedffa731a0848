//! Publication of robot heaven from the database to a directory.

use std::{
    collections::{HashSet, VecDeque},
    io::Write as _,
    path::Path,
    pin::Pin,
    sync::Arc,
    task::Poll,
};

use tokio::task::{JoinHandle, spawn_blocking};

use super::{
    pages::LIST,
    staging::{Files, Staging, Stream, Tally},
};
use crate::heaven::{
    Catalogue, HeavenError, HeavenSettings, Library,
    content::Content,
    entry::has_page,
    export::{self, Export},
    feed::{self, FeedItem},
    files, markdown, page, sitemap,
};
use robot_detection_store::description::ResourceDescription;

/// Maximum number of batches rendered in parallel; more would only increase memory use.
const MAX_AT_ONCE: usize = 4;

/// Number of files after which a sync to disk is started, so that the final sync is short.
const SYNC_FILES: usize = 500;

/// Result of a publication: the catalogue and the numbers of files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PublishReport {
    /// Catalogue of all published pages.
    pub catalogue: Arc<Catalogue>,
    /// Number of files that are new or changed.
    pub written: usize,
    /// Number of files that are unchanged.
    pub unchanged: usize,
    /// Whether anything changed; if not, the directory was left untouched.
    pub is_changed: bool,
}

/// State of a publication in progress.
#[derive(Debug)]
struct Work {
    staging: Staging,
    exports: Vec<Stream>,
    shared: Arc<Shared>,
    briefs: Vec<FeedItem>,
}

/// State shared by all rendering tasks.
#[derive(Debug)]
struct Shared {
    catalogue: Arc<Catalogue>,
    settings: HeavenSettings,
    /// URLs of the pages that are listed in feeds.
    told: HashSet<Box<str>>,
}

/// Result of writing a batch of pages.
#[derive(Debug, Default)]
struct WrittenPages {
    /// Parts of the export files that contain this batch's pages.
    exports: [Vec<u8>; Export::ALL.len()],
    briefs: Vec<FeedItem>,
    tally: Tally,
}

/// A future, such as a database query, that continues in the background once it has been polled.
///
/// Until the future is awaited, the rows of the result do not wake its task.
enum Prefetch<F: Future> {
    Running(Pin<Box<F>>),
    Done(F::Output),
}

/// Publishes robot heaven to a directory atomically.
///
/// The files are written to a staging directory, which replaces the published directory as soon as
/// all files are complete. Unchanged files are reused; if nothing changed, the directory is left
/// untouched. The output does not depend on the current time. Pages that no longer have a
/// description are removed.
///
/// # Errors
///
/// Returns an error if the database or file system fails, if another publication to the directory
/// is in progress, or if the directory contains files that do not belong to robot heaven. In that
/// case, the old tree stays in place.
pub async fn publish(
    library: &Library,
    directory: &Path,
    settings: &HeavenSettings,
) -> Result<PublishReport, HeavenError> {
    let settings = settings.for_files();
    let catalogue = Arc::new(library.catalogue(&settings).await?);
    let begun = (directory.to_owned(), catalogue, settings);
    let work = blocking(directory, move || Work::begin(&begun.0, begun.1, begun.2)).await?;
    let (work, made) = make(library, work, directory).await?;
    blocking(directory, move || work.or_abandon(made)?.finish()).await
}

/// Renders the pages of all descriptions, several batches in parallel.
async fn make(
    library: &Library,
    mut work: Work,
    directory: &Path,
) -> Result<(Work, Result<(), HeavenError>), HeavenError> {
    let most = std::thread::available_parallelism().map_or(1, |most| most.get().min(MAX_AT_ONCE));
    let mut reading = library.read();
    let mut making: VecDeque<JoinHandle<_>> = VecDeque::new();
    let (mut done, mut has_more) = (Ok(()), true);
    let (mut syncing, mut synced): (Option<JoinHandle<()>>, usize) = (None, 0);
    while done.is_ok() && (has_more || !making.is_empty()) {
        let is_full = making.len() > most || !has_more;
        let first = making.pop_front_if(|_| is_full);
        // The next batch is read while the oldest batch is being finished.
        let next = async {
            if has_more {
                reading.next().await
            } else {
                Ok(None)
            }
        };
        let next = Prefetch::begin(next).await;
        let made = match first {
            Some(first) => Some(first.await.unwrap_or_else(|_| Err(ended(directory)))),
            None => None,
        };
        let read = next.end().await;
        match read {
            Ok(Some(piece)) => {
                let (shared, files) = (Arc::clone(&work.shared), work.staging.files());
                making.push_back(spawn_blocking(move || {
                    WrittenPages::of(&piece, &shared, files)
                }));
            }
            Ok(None) => has_more = false,
            Err(error) => done = Err(error),
        }
        if let Some(made) = made {
            let add = move || {
                let added = made.and_then(|made| work.add(made));
                Ok((work, done.and(added)))
            };
            (work, done) = blocking(directory, add).await?;
        }
        let written = work.staging.tally().written;
        if written >= synced + SYNC_FILES && syncing.as_ref().is_none_or(JoinHandle::is_finished) {
            synced = written;
            syncing = Some(spawn_blocking(work.staging.sync_task()));
        }
    }
    for left in making {
        // No task may still be writing when the staging directory is removed.
        let _ = left.await;
    }
    Ok((work, done))
}

/// Runs file operations on a thread for blocking work.
async fn blocking<T: Send + 'static>(
    directory: &Path,
    work: impl FnOnce() -> Result<T, HeavenError> + Send + 'static,
) -> Result<T, HeavenError> {
    match spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(ended(directory)),
    }
}

fn ended(directory: &Path) -> HeavenError {
    HeavenError::Ended(directory.display().to_string())
}

impl WrittenPages {
    /// Writes the pages of a batch of descriptions.
    fn of(
        descriptions: &[ResourceDescription],
        shared: &Shared,
        mut files: Files,
    ) -> Result<Self, HeavenError> {
        let Shared {
            catalogue,
            settings,
            told,
        } = shared;
        let mut made = Self::default();
        for description in descriptions {
            // Pages that were added after the catalogue was built will be published the next time.
            if !has_page(description) || !catalogue.contains(description.url()) {
                continue;
            }
            let public = export::public(description);
            for (export, out) in Export::ALL.into_iter().zip(&mut made.exports) {
                // Writing to memory never fails.
                let _ = export.write_public(&public, out);
            }
            let content = Content::new(description);
            let path = settings.page(description.url());
            let html = page::content_page(&content, catalogue, settings);
            files.write(path.as_str(), html.as_bytes())?;
            if settings.has_markdown() {
                let text = markdown::content_markdown(&content, catalogue, settings);
                files.write(&path.markdown(), text.as_bytes())?;
            }
            if told.contains(description.url()) {
                made.briefs.push(FeedItem::from_content(content));
            }
        }
        made.tally = files.tally;
        Ok(made)
    }
}

impl Work {
    fn begin(
        directory: &Path,
        catalogue: Arc<Catalogue>,
        settings: HeavenSettings,
    ) -> Result<Self, HeavenError> {
        let mut staging = Staging::new(directory)?;
        let exports = Export::ALL.map(Export::file).into_iter();
        let exports = exports.map(|file| staging.stream(file));
        let exports = exports.collect::<Result<_, HeavenError>>()?;
        let told = files::listed_urls(&catalogue);
        Ok(Self {
            staging,
            exports,
            shared: Arc::new(Shared {
                catalogue,
                settings,
                told,
            }),
            briefs: Vec::new(),
        })
    }

    /// Adds the results of a batch to the publication.
    fn add(&mut self, made: WrittenPages) -> Result<(), HeavenError> {
        for (stream, text) in self.exports.iter_mut().zip(&made.exports) {
            let written = stream.out().write_all(text);
            written.map_err(|error| stream.failed(error))?;
        }
        self.briefs.extend(made.briefs);
        self.staging.count(made.tally);
        Ok(())
    }

    /// Writes the files that list pages, and moves everything into place.
    fn finish(mut self) -> Result<PublishReport, HeavenError> {
        let listed = self.list();
        let work = self.or_abandon(listed)?;
        let Tally { written, unchanged } = work.staging.tally();
        Ok(PublishReport {
            is_changed: work.staging.finish()?,
            catalogue: Arc::clone(&work.shared.catalogue),
            written,
            unchanged,
        })
    }

    fn list(&mut self) -> Result<(), HeavenError> {
        let shared = Arc::clone(&self.shared);
        let (catalogue, settings) = (&*shared.catalogue, &shared.settings);
        for stream in self.exports.drain(..) {
            self.staging.finish_stream(stream)?;
        }
        for path in files::listings(catalogue) {
            if let Some(text) = files::text(&path, catalogue, settings) {
                self.staging.write(&path, text.as_bytes())?;
            }
        }
        let mut list = self.staging.stream(LIST)?;
        for entry in catalogue.entries() {
            let written = writeln!(list.out(), "{}", entry.url);
            written.map_err(|error| list.failed(error))?;
        }
        self.staging.finish_stream(list)?;
        let feed = feed::feed(&self.briefs, settings);
        self.staging.write(feed::FILE, feed.as_bytes())?;
        let llms = files::llms(&self.briefs, catalogue, settings, false);
        self.staging.write(files::LLMS, llms.as_bytes())?;
        let count = catalogue.sitemaps().len();
        for number in (1..=count).chain((count > 1).then_some(0)) {
            let mut stream = self.staging.stream(&sitemap::file(number, count))?;
            let written = files::sitemap(number, catalogue, settings, stream.out());
            written.map_err(|error| stream.failed(error))?;
            self.staging.finish_stream(stream)?;
        }
        Ok(())
    }

    /// Returns the work, or discards everything that was written if a step failed.
    fn or_abandon(self, done: Result<(), HeavenError>) -> Result<Self, HeavenError> {
        match done {
            Ok(()) => Ok(self),
            Err(error) => {
                self.staging.abandon();
                Err(error)
            }
        }
    }
}

impl<F: Future> Prefetch<F> {
    /// Starts the future without waiting for its result.
    async fn begin(future: F) -> Self {
        let mut future = Box::pin(future);
        let polled = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
        match polled.await {
            Poll::Ready(done) => Self::Done(done),
            Poll::Pending => Self::Running(future),
        }
    }

    async fn end(self) -> F::Output {
        match self {
            Self::Running(future) => future.await,
            Self::Done(done) => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn started_future_is_awaited_later() {
        let steps = Cell::new(0);
        let ahead = Prefetch::begin(async {
            steps.set(1);
            tokio::task::yield_now().await;
            steps.set(2);
            "done"
        });
        let ahead = ahead.await;
        assert_eq!(steps.get(), 1);
        assert_eq!((ahead.end().await, steps.get()), ("done", 2));
        assert_eq!(Prefetch::begin(async { 7 }).await.end().await, 7);
    }
}
