//! Publication of robot heaven from the database to a directory.

use std::{collections::HashSet, io::Write as _, path::Path, sync::Arc};

use tokio::task::spawn_blocking;

use super::{
    pages::LIST,
    staging::{Staging, Stream, Tally},
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
    catalogue: Arc<Catalogue>,
    settings: HeavenSettings,
    /// URLs of the pages that are listed in feeds.
    told: HashSet<Box<str>>,
    briefs: Vec<FeedItem>,
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

/// Renders the pages of all descriptions, batch by batch.
async fn make(
    library: &Library,
    mut work: Work,
    directory: &Path,
) -> Result<(Work, Result<(), HeavenError>), HeavenError> {
    let mut reading = library.read();
    let mut done = Ok(());
    while done.is_ok() {
        match reading.next().await {
            Ok(Some(batch)) => {
                let write = move || {
                    let done = work.write(&batch);
                    Ok((work, done))
                };
                (work, done) = blocking(directory, write).await?;
            }
            Ok(None) => break,
            Err(error) => done = Err(error),
        }
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
        Err(_) => Err(HeavenError::Ended(directory.display().to_string())),
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
            catalogue,
            settings,
            told,
            briefs: Vec::new(),
        })
    }

    /// Writes the pages of a batch of descriptions.
    fn write(&mut self, descriptions: &[ResourceDescription]) -> Result<(), HeavenError> {
        let (catalogue, settings) = (&*self.catalogue, &self.settings);
        for description in descriptions {
            // Pages that were added after the catalogue was built will be published the next time.
            if !has_page(description) || !catalogue.contains(description.url()) {
                continue;
            }
            let public = export::public(description);
            for (export, stream) in Export::ALL.into_iter().zip(&mut self.exports) {
                let written = export.write_public(&public, stream.out());
                written.map_err(|error| stream.failed(error))?;
            }
            let content = Content::new(description);
            let path = settings.page(description.url());
            let html = page::content_page(&content, catalogue, settings);
            self.staging.write(path.as_str(), html.as_bytes())?;
            if settings.has_markdown() {
                let text = markdown::content_markdown(&content, catalogue, settings);
                self.staging.write(&path.markdown(), text.as_bytes())?;
            }
            if self.told.contains(description.url()) {
                self.briefs.push(FeedItem::from_content(content));
            }
        }
        Ok(())
    }

    /// Writes the files that list pages, and moves everything into place.
    fn finish(mut self) -> Result<PublishReport, HeavenError> {
        let listed = self.list();
        let work = self.or_abandon(listed)?;
        let Tally { written, unchanged } = work.staging.tally;
        Ok(PublishReport {
            is_changed: work.staging.finish()?,
            catalogue: work.catalogue,
            written,
            unchanged,
        })
    }

    fn list(&mut self) -> Result<(), HeavenError> {
        let (catalogue, settings) = (&*self.catalogue, &self.settings);
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
