//! Which pages a published heaven has.

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

/// File that lists the URLs of all pages, one a line.
pub(super) const LIST: &str = ".robot-heaven-pages";

/// Bytes of it that are read: millions of URLs.
const MAX_LIST_BYTES: u64 = 1 << 30;

/// Time after which a publication is seen.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Looks at a publication that is exchanged for another meanwhile.
const MAX_LOOKS: usize = 3;

/// Pages of a published heaven, as its directory lists them.
///
/// Whoever publishes, this process or another, the pages are known two seconds
/// later: the file that marks the directory is looked at, and the list read when
/// it is another one. Clones share everything.
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
    seen: ArcSwap<SeenPublication>,
}

/// Publication that was seen in the directory the last time.
#[derive(Debug, Default)]
struct SeenPublication {
    /// None: nothing is published there.
    stamp: Option<Stamp>,
    /// URLs, in order.
    urls: Vec<Box<str>>,
}

/// Stamp of a publication: each has a mark of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stamp {
    modified: Option<SystemTime>,
    file: u64,
}

impl PublishedPages {
    /// Creates the pages of a directory; there is none before it is [looked at](Self::refresh).
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

    /// Reads which pages there are, if something was published since the last time.
    pub async fn refresh(&self) {
        let shared = Arc::clone(&self.shared);
        // It ends early only with the process.
        let _ = spawn_blocking(move || shared.refresh()).await;
    }

    /// Follows what is published until it is told to stop.
    pub async fn follow(self, stop: CancellationToken) {
        let follow = async {
            loop {
                self.refresh().await;
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        stop.run_until_cancelled(follow).await;
    }

    /// Returns the link to the page of a path and query of the site, if there is one.
    ///
    /// It takes no lock and reads no file.
    pub fn link(&self, path_and_query: &str) -> Option<String> {
        let url = self.find(path_and_query)?;
        Some(self.shared.settings.link(&url))
    }

    /// Returns where the page of a path and query of the site stands, if there is one.
    pub fn page(&self, path_and_query: &str) -> Option<HeavenPath> {
        let url = self.find(path_and_query)?;
        Some(self.shared.settings.page(&url))
    }

    /// Returns `true` if anything is published in the directory.
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

/// Returns how many pages are published in a directory; `None` where nothing is.
///
/// # Errors
///
/// Fails when the directory, or the list of its pages, cannot be read.
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
            // The stamp before the list: if another heaven comes in between, the next look sees
            // another stamp.
            let stamp = stamp(&self.directory);
            if self.seen.load().stamp == stamp {
                return;
            }
            let urls = match stamp.map(|_| read(&self.directory)) {
                None => Vec::new(),
                Some(Ok(urls)) => urls,
                Some(Err(error)) => {
                    let directory = self.directory.display();
                    warn!(%error, %directory, "the pages published in {directory} are not known: {error}");
                    // Kept with the stamp, so that the warning comes once for each publication.
                    Vec::new()
                }
            };
            let pages = urls.len();
            info!(pages, "robot heaven is published with {pages} pages");
            self.seen.store(Arc::new(SeenPublication { stamp, urls }));
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
