//! One publication, from the database to the directory.

use std::{collections::HashSet, path::Path, sync::Arc};

use tokio::task::spawn_blocking;

use super::staging::{Staging, Stream};
use crate::description::ResourceDescription;
use crate::heaven::{
    Catalogue, HeavenError, HeavenSettings, Library, brief::Brief, entry::has_page, export::Export,
    feed, files, markdown, page, sitemap,
};

/// What a publication did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Published {
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
    exports: Vec<(Export, Stream)>,
    catalogue: Arc<Catalogue>,
    settings: HeavenSettings,
    /// URLs of pages that feeds tell of.
    told: HashSet<Box<str>>,
    briefs: Vec<Brief>,
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
/// What was there before is there still.
pub async fn publish(
    library: &Library,
    directory: &Path,
    settings: &HeavenSettings,
) -> Result<Published, HeavenError> {
    let catalogue = Arc::new(library.catalogue(settings).await?);
    let begun = (
        directory.to_owned(),
        Arc::clone(&catalogue),
        settings.clone(),
    );
    let mut work = blocking(directory, move || Work::begin(&begun.0, begun.1, begun.2)).await?;
    let mut reading = library.read();
    let mut next = reading.next().await;
    loop {
        let piece = match next {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(error) => {
                let abandon = move || {
                    work.staging.abandon();
                    Ok(())
                };
                blocking(directory, abandon).await?;
                return Err(error);
            }
        };
        let writing = blocking(directory, move || {
            let written = work.add(&piece);
            work.or_abandon(written)
        });
        let (written, read) = tokio::join!(writing, reading.next());
        (work, next) = (written?, read);
    }
    blocking(directory, move || work.finish()).await
}

/// Runs work on files where it holds up nothing else.
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
        let exports = Export::ALL.into_iter().map(|export| {
            let stream = staging.stream(export.file())?;
            Ok((export, stream))
        });
        let exports = exports.collect::<Result<_, HeavenError>>()?;
        Ok(Self {
            told: files::told(&catalogue),
            staging,
            exports,
            catalogue,
            settings,
            briefs: Vec::new(),
        })
    }

    /// Writes the pages of some descriptions.
    fn add(&mut self, descriptions: &[ResourceDescription]) -> Result<(), HeavenError> {
        for description in descriptions {
            // What came since the catalogue was made is there the next time.
            if !has_page(description) || !self.catalogue.contains(description.url()) {
                continue;
            }
            for (export, stream) in &mut self.exports {
                let written = export.write(description, stream.out());
                written.map_err(|error| stream.failed(error))?;
            }
            let path = self.settings.page(description.url());
            let html = page(description, &self.catalogue, &self.settings);
            self.staging.write(path.as_str(), html.as_bytes())?;
            if self.settings.has_markdown() {
                let text = markdown(description);
                self.staging.write(&path.markdown(), text.as_bytes())?;
            }
            if self.told.contains(description.url()) {
                self.briefs.extend(Brief::new(description));
            }
        }
        Ok(())
    }

    /// Writes what lists pages, and puts everything in place.
    fn finish(mut self) -> Result<Published, HeavenError> {
        let listed = self.list();
        let work = self.or_abandon(listed)?;
        let (written, unchanged) = (work.staging.written, work.staging.unchanged);
        Ok(Published {
            is_changed: work.staging.finish()?,
            catalogue: work.catalogue,
            written,
            unchanged,
        })
    }

    fn list(&mut self) -> Result<(), HeavenError> {
        for (_, stream) in self.exports.drain(..) {
            self.staging.end(stream)?;
        }
        for path in files::listings(&self.catalogue) {
            if let Some(text) = files::text(&path, &self.catalogue, &self.settings) {
                self.staging.write(&path, text.as_bytes())?;
            }
        }
        let feed = feed::feed(&self.briefs, &self.settings);
        self.staging.write(feed::FILE, feed.as_bytes())?;
        let llms = files::llms(&self.briefs, &self.catalogue, &self.settings);
        self.staging.write(files::LLMS, llms.as_bytes())?;
        let count = self.catalogue.sitemaps().len();
        for number in (1..=count).chain((count > 1).then_some(0)) {
            let mut stream = self.staging.stream(&sitemap::file(number, count))?;
            let written = files::sitemap(number, &self.catalogue, &self.settings, stream.out());
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
