//! List of the pages in a published robot heaven.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use arc_swap::ArcSwap;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::directory::{MARK, is_published};
use crate::heaven::{HeavenPath, HeavenSettings};

/// File that lists the URLs of all pages, one per line.
pub(super) const LIST: &str = ".robot-heaven-pages";

/// Maximum number of bytes read from the list, enough for millions of URLs.
const MAX_LIST_BYTES: u64 = 1 << 30;

/// Interval between checks for new publications.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Maximum number of attempts if a publication is replaced during a check.
const MAX_LOOKS: usize = 3;

/// Pages of a published robot heaven, as listed in its directory.
///
/// A publication by any process is noticed within two seconds: the marker file is checked
/// regularly, and the list is reloaded if the marker is new. Clones share their state.
///
/// # Example
///
/// ```no_run
/// use robot_detection_site_robot::heaven::{HeavenSettings, PublishedPages};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let settings = HeavenSettings::new("https://www.example.com")?;
/// let pages = PublishedPages::new("heaven", settings);
/// pages.refresh().await;
/// assert_eq!(pages.link("/members/a").as_deref(), Some("/robot-heaven/members/a.htm"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PublishedPages {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    settings: HeavenSettings,
    seen: ArcSwap<LoadedPublication>,
}

/// The publication that was found by the latest check.
#[derive(Debug, Default)]
struct LoadedPublication {
    /// Stamp of the publication; `None` if there is no publication.
    stamp: Option<Stamp>,
    /// URLs of the published pages, sorted.
    urls: Vec<Box<str>>,
}

/// Stamp that identifies a publication, taken from its unique marker file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stamp {
    modified: Option<SystemTime>,
    file: u64,
}

impl PublishedPages {
    /// Creates an empty list for a directory; [`Self::refresh`] loads the list.
    pub fn new(directory: impl Into<PathBuf>, settings: HeavenSettings) -> Self {
        let shared = Shared {
            directory: directory.into(),
            settings,
            seen: ArcSwap::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Reloads the list of pages if there is a new publication.
    pub async fn refresh(&self) {
        let shared = Arc::clone(&self.shared);
        // The task fails only if the process is ending.
        let _ = spawn_blocking(move || shared.refresh()).await;
    }

    /// Watches for new publications until it is stopped.
    pub async fn follow(self, stop: CancellationToken) {
        let follow = async {
            loop {
                self.refresh().await;
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        stop.run_until_cancelled(follow).await;
    }

    /// Returns the link to the heaven page for a path and query on the site, if there is such a
    /// page.
    ///
    /// This function takes no lock and reads no file.
    pub fn link(&self, path_and_query: &str) -> Option<String> {
        let url = self.find(path_and_query)?;
        Some(self.shared.settings.link(&url))
    }

    /// Returns the path of the heaven page for a path and query on the site, if there is such a
    /// page.
    pub fn page(&self, path_and_query: &str) -> Option<HeavenPath> {
        let url = self.find(path_and_query)?;
        Some(self.shared.settings.page(&url))
    }

    /// Returns `true` if the directory contains a published robot heaven.
    pub fn is_published(&self) -> bool {
        self.shared.seen.load().stamp.is_some()
    }

    fn find(&self, path_and_query: &str) -> Option<String> {
        let url = format!("{}{path_and_query}", self.shared.settings.site());
        let seen = self.shared.seen.load();
        let found = seen.urls.binary_search_by(|known| (**known).cmp(&*url));
        found.is_ok().then_some(url)
    }
}

/// Returns the number of pages published to a directory; `None` if nothing is published.
///
/// # Errors
///
/// Returns an error if the directory or its list of pages cannot be read.
pub fn count_published(directory: &Path) -> io::Result<Option<usize>> {
    fs::read_dir(directory)?;
    if !is_published(directory) {
        return Ok(None);
    }
    read(directory).map(|urls| Some(urls.len()))
}

impl Shared {
    fn refresh(&self) {
        for _ in 0..MAX_LOOKS {
            // The stamp is read before the list: if the publication is replaced in between, the
            // next check sees a different stamp.
            let stamp = stamp(&self.directory);
            if self.seen.load().stamp == stamp {
                return;
            }
            let urls = match stamp.map(|_| read(&self.directory)) {
                None => Vec::new(),
                Some(Ok(urls)) => urls,
                Some(Err(error)) => {
                    let directory = self.directory.display();
                    warn!(%error, %directory, "cannot read the list of pages published in {directory}: {error}");
                    // The error is stored with the stamp, so that the warning appears once per
                    // publication.
                    Vec::new()
                }
            };
            let pages = urls.len();
            info!(pages, "found a published robot heaven with {pages} pages");
            self.seen.store(Arc::new(LoadedPublication { stamp, urls }));
        }
    }
}

fn stamp(directory: &Path) -> Option<Stamp> {
    let mark = fs::metadata(directory.join(MARK)).ok()?;
    #[cfg(unix)]
    let file = std::os::unix::fs::MetadataExt::ino(&mark);
    #[cfg(not(unix))]
    let file = 0;
    Some(Stamp {
        modified: mark.modified().ok(),
        file,
    })
}

fn read(directory: &Path) -> io::Result<Vec<Box<str>>> {
    let mut text = String::new();
    let list = File::open(directory.join(LIST))?;
    list.take(MAX_LIST_BYTES).read_to_string(&mut text)?;
    let mut urls: Vec<Box<str>> = text.lines().map(Box::from).collect();
    urls.sort_unstable();
    urls.dedup();
    Ok(urls)
}
