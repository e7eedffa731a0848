//! One publication, from the database to the directory.

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

/// Pieces of which pages are made at once; more would only hold more in memory.
const MAX_AT_ONCE: usize = 4;

/// Files after which the disk is told to take in what is there: at the end little is left that it
/// has to be waited for.
const SYNC_FILES: usize = 500;

/// Report of a publication.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PublishReport {
    /// All pages that there are now.
    pub catalogue: Arc<Catalogue>,
    /// Files that are new or other than before.
    pub written: usize,
    /// Files that are as they were.
    pub unchanged: usize,
    /// Whether anything differs from what was there; if not, it was left alone.
    pub is_changed: bool,
}

/// Work on the files of a publication.
#[derive(Debug)]
struct Work {
    staging: Staging,
    exports: Vec<Stream>,
    shared: Arc<Shared>,
    briefs: Vec<FeedItem>,
}

/// State that all makers of pages share.
#[derive(Debug)]
struct Shared {
    catalogue: Arc<Catalogue>,
    settings: HeavenSettings,
    /// URLs of pages that feeds tell of.
    told: HashSet<Box<str>>,
}

/// Pieces made of some descriptions, whose pages are written.
#[derive(Debug, Default)]
struct WrittenPages {
    /// Their parts of the exports.
    exports: [Vec<u8>; Export::ALL.len()],
    briefs: Vec<FeedItem>,
    tally: Tally,
}

/// Future that goes on by itself once it was asked for, as a question to the database does.
///
/// Until it is awaited, no task is woken for each row of the answer.
enum Prefetch<F: Future> {
    Running(Pin<Box<F>>),
    Done(F::Output),
}

/// Publishes a heaven into a directory: all of it, or nothing.
///
/// The files are written beside the directory and put in its place when they
/// are all there. What did not change is not written again, and where nothing
/// did the directory stays as it is. Nothing of it depends on the time.
/// Pages of descriptions that are gone are gone too.
///
/// # Errors
///
/// Fails when the database or the file system does, when another publication
/// of the directory is under way, and when it holds files of somebody else.
/// The old tree stays in place.
pub async fn publish(
    library: &Library,
    directory: &Path,
    settings: &HeavenSettings,
) -> Result<PublishReport, HeavenError> {
    let settings = settings.of_files();
    let catalogue = Arc::new(library.catalogue(&settings).await?);
    let begun = (directory.to_owned(), catalogue, settings);
    let work = blocking(directory, move || Work::begin(&begun.0, begun.1, begun.2)).await?;
    let (work, made) = make(library, work, directory).await?;
    blocking(directory, move || work.or_abandon(made)?.finish()).await
}

/// Makes the pages of all descriptions, several pieces at once.
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
        // The next piece is read while the first is finished.
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
            syncing = Some(spawn_blocking(work.staging.syncing()));
        }
    }
    for left in making {
        // Nobody may write any more when what was staged is removed.
        let _ = left.await;
    }
    Ok((work, done))
}

/// Runs work on files where it holds up nothing else.
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
    /// Writes the pages of some descriptions.
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
            // What came since the catalogue was made is there the next time.
            if !has_page(description) || !catalogue.contains(description.url()) {
                continue;
            }
            let public = export::public(description);
            for (export, out) in Export::ALL.into_iter().zip(&mut made.exports) {
                // Writing into memory never fails.
                let _ = export.write_public(&public, out);
            }
            let content = Content::new(description);
            let path = settings.page(description.url());
            let html = page::of_content(&content, catalogue, settings);
            files.write(path.as_str(), html.as_bytes())?;
            if settings.has_markdown() {
                let text = markdown::of_content(&content, catalogue, settings);
                files.write(&path.markdown(), text.as_bytes())?;
            }
            if told.contains(description.url()) {
                made.briefs.push(FeedItem::of_content(content));
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
        let told = files::told(&catalogue);
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

    /// Adds what was made of the next descriptions.
    fn add(&mut self, made: WrittenPages) -> Result<(), HeavenError> {
        for (stream, text) in self.exports.iter_mut().zip(&made.exports) {
            let written = stream.out().write_all(text);
            written.map_err(|error| stream.failed(error))?;
        }
        self.briefs.extend(made.briefs);
        self.staging.count(made.tally);
        Ok(())
    }

    /// Writes what lists pages, and puts everything in place.
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
            self.staging.end(stream)?;
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
        self.staging.end(list)?;
        let feed = feed::feed(&self.briefs, settings);
        self.staging.write(feed::FILE, feed.as_bytes())?;
        let llms = files::llms(&self.briefs, catalogue, settings, false);
        self.staging.write(files::LLMS, llms.as_bytes())?;
        let count = catalogue.sitemaps().len();
        for number in (1..=count).chain((count > 1).then_some(0)) {
            let mut stream = self.staging.stream(&sitemap::file(number, count))?;
            let written = files::sitemap(number, catalogue, settings, stream.out());
            written.map_err(|error| stream.failed(error))?;
            self.staging.end(stream)?;
        }
        Ok(())
    }

    /// Returns the work, unless something failed; then nothing stays of it.
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
    /// Begins, and does not wait.
    async fn begin(future: F) -> Self {
        let mut future = Box::pin(future);
        let polled = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
        match polled.await {
            Poll::Ready(done) => Self::Done(done),
            Poll::Pending => Self::Running(future),
        }
    }

    /// Waits for the end.
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
    async fn what_has_begun_is_waited_for_later() {
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
