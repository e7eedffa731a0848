//! Robot heaven served from the database.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use axum::{
    body::Body,
    http::{HeaderMap, Method, Response, StatusCode},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    pieces::Pieces,
    reply::{self, Reply, moved, short, streamed},
    request::{PageRequest, file},
};
use crate::heaven::{
    Catalogue, HeavenError, HeavenSettings, Library, PageAccess,
    access::{reduce_to_lead, was_redirected},
    date::Date,
    entry::has_page,
    export::Export,
    feed::{self, FeedItem},
    files, index, markdown, page, sitemap,
};

/// Interval at which the database is checked for changes that were not announced by a notification.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Robot heaven served from the database.
///
/// Pages are rendered on request. The catalogue is kept in memory and reflects publications,
/// rollbacks and withdrawals within a second. Clones share their state.
///
/// # Example
///
/// ```
/// use axum::http::{HeaderMap, Method};
/// use robot_detection_site_robot::heaven::{HeavenSettings, Library, ServedHeaven};
/// use robot_detection_store::store::Store;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let library = Library::new(Store::connect("sqlite::memory:").await?, "default");
/// let heaven = ServedHeaven::new(library, HeavenSettings::new("https://www.example.com")?);
/// heaven.reload().await?;
/// let answer = heaven.answer(&Method::GET, "sitemap.xml", &HeaderMap::new()).await;
/// assert_eq!(answer.status(), 200);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ServedHeaven {
    shared: Arc<Shared>,
    access: PageAccess,
    /// Whether pages are served at the URLs of their originals.
    is_in_place: bool,
}

#[derive(Debug)]
struct Shared {
    library: Library,
    settings: Arc<HeavenSettings>,
    /// Settings for pages served at the URLs of their originals.
    in_place: HeavenSettings,
    catalogue: ArcSwap<Catalogue>,
}

impl ServedHeaven {
    /// Creates a robot heaven without pages; [`Self::reload`] loads the pages.
    pub fn new(library: Library, settings: HeavenSettings) -> Self {
        let shared = Shared {
            library,
            in_place: settings.clone().in_place(true),
            settings: Arc::new(settings),
            catalogue: ArcSwap::from_pointee(Catalogue::default()),
        };
        Self {
            shared: Arc::new(shared),
            access: PageAccess::Full,
            is_in_place: false,
        }
    }

    /// Sets which part of each page is served; by default, complete pages are served.
    ///
    /// Use a separate clone for each visitor.
    #[must_use]
    pub fn access(mut self, access: PageAccess) -> Self {
        self.access = access;
        self
    }

    /// Reloads the catalogue of pages.
    ///
    /// # Errors
    ///
    /// Returns an error if the database query fails; in that case, the previous catalogue stays in
    /// use.
    pub async fn reload(&self) -> Result<(), HeavenError> {
        let shared = &*self.shared;
        let catalogue = shared.library.catalogue(&shared.settings).await?;
        shared.catalogue.store(Arc::new(catalogue));
        Ok(())
    }

    /// Follows changes in the database until it is stopped.
    pub async fn follow(self, stop: CancellationToken) {
        let follow = async {
            let mut known = None;
            loop {
                let began = Instant::now();
                match self.look(known).await {
                    Ok(version) => known = Some(version),
                    Err(error) => warn!(%error, "cannot reload robot heaven: {error}"),
                }
                // Reading a million pages takes a while: if changes never stop, at most half of the
                // time is spent on reading.
                tokio::time::sleep(began.elapsed()).await;
                self.wait(known).await;
            }
        };
        stop.run_until_cancelled(follow).await;
    }

    /// Waits for a publication, up to a timeout.
    async fn wait(&self, known: Option<(Option<i64>, i64)>) {
        let changed = async {
            match known {
                Some((.., seen)) => self.shared.library.changed(seen).await.is_ok(),
                None => false,
            }
        };
        // If the database keeps failing, retries are as rare as the regular checks.
        match tokio::time::timeout(LOOK_EVERY, changed).await {
            Ok(true) | Err(_) => {}
            Ok(false) => tokio::time::sleep(LOOK_EVERY).await,
        }
    }

    /// Reloads the catalogue if something changed, and returns the current version.
    async fn look(
        &self,
        known: Option<(Option<i64>, i64)>,
    ) -> Result<(Option<i64>, i64), HeavenError> {
        if known.is_none() {
            self.shared.library.settle(&self.shared.settings).await?;
        }
        // A publication between the two reads will be noticed the next time.
        let publication = self.shared.library.publication().await?;
        let version = (self.shared.library.changed_ms().await?, publication);
        if known != Some(version) {
            self.reload().await?;
            let pages = self.catalogue().len();
            info!(pages, "robot heaven has {pages} pages");
        }
        Ok(version)
    }

    /// Returns the catalogue of published pages.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.shared.catalogue.load_full()
    }

    /// Returns the link to the heaven page for a path and query on the site, if there is such a
    /// page.
    ///
    /// While the database is unavailable, only cached pages have links. This function makes no
    /// database query.
    pub fn link(&self, path_and_query: &str) -> Option<String> {
        let shared = &*self.shared;
        let url = format!("{}{path_and_query}", shared.settings.site());
        let catalogue = shared.catalogue.load();
        let page = catalogue.page_of(&url, &shared.settings)?;
        let is_at_hand = shared.library.has_at_hand(page);
        is_at_hand.then(|| shared.settings.link(page))
    }

    /// Returns `true` if a path and query of the site belong to a page with a public original.
    ///
    /// This function takes no lock, makes no database query, and allocates no memory.
    pub fn has_open_page(&self, path_and_query: &str) -> bool {
        self.shared.catalogue.load().may_be_open(path_and_query)
    }

    /// Returns the link to the Markdown rendition of a public page, relative to the site root.
    pub fn markdown_link(&self, path_and_query: &str) -> Option<String> {
        let Shared {
            library,
            settings,
            catalogue,
            ..
        } = &*self.shared;
        let page = catalogue.load().open_page(path_and_query, settings)?;
        let url = format!("{}{path_and_query}", settings.site());
        let has_one = settings.has_markdown() && library.has_at_hand(&url);
        has_one.then(|| format!("{}{}", settings.base(), page.markdown()))
    }

    /// Answers a request for a path below robot heaven, such as `a/b.html`; an empty path is the
    /// start page.
    pub async fn answer(
        &self,
        method: &Method,
        below: &str,
        headers: &HeaderMap,
    ) -> Response<Body> {
        let asked = PageRequest::new(method, headers);
        if !asked.is_read_only() {
            return short(StatusCode::METHOD_NOT_ALLOWED);
        }
        let catalogue = self.catalogue();
        let found = match file(below) {
            Some(path) => self.find(&path, &catalogue, &asked).await,
            None => Ok(None),
        };
        match found {
            Ok(Some(response)) => response,
            Ok(None) => self.missing(&catalogue, &asked),
            Err(error) => unavailable(&error),
        }
    }

    /// Answers a request with the heaven page for a path and query on the site, if there is such a
    /// page.
    pub async fn answer_in_place(
        &self,
        method: &Method,
        path_and_query: &str,
        headers: &HeaderMap,
    ) -> Option<Response<Body>> {
        let asked = PageRequest::new(method, headers);
        let catalogue = self.catalogue();
        let url = format!("{}{path_and_query}", self.shared.settings.site());
        if !asked.is_read_only() {
            return None;
        }
        let page = catalogue.page_of(&url, &self.shared.settings)?;
        let mut heaven = self.clone().access(self.access.in_place());
        heaven.is_in_place = true;
        match heaven.page(page, &catalogue, &asked, false).await {
            Ok(response) => response,
            Err(error) => Some(unavailable(&error)),
        }
    }

    async fn find(
        &self,
        path: &str,
        catalogue: &Arc<Catalogue>,
        asked: &PageRequest<'_>,
    ) -> Result<Option<Response<Body>>, HeavenError> {
        let settings = &self.shared.settings;
        let is_full = |path: &str| {
            path == files::LLMS_FULL || Export::ALL.iter().any(|export| export.file() == path)
        };
        if self.access != PageAccess::Full && is_full(path) {
            return Ok(Some(short(StatusCode::FORBIDDEN)));
        }
        if let Some(entry) = catalogue.find_by_path(path, settings) {
            return self.page(&entry.url, catalogue, asked, false).await;
        }
        if let Some(entry) = path
            .strip_suffix(".md")
            .filter(|_| settings.has_markdown())
            .and_then(|path| catalogue.find_by_path(path, settings))
        {
            return self.page(&entry.url, catalogue, asked, true).await;
        }
        if let Some(text) = files::text(path, catalogue, settings) {
            let kind = if path == files::STYLE_FILE {
                reply::CSS
            } else {
                reply::HTML
            };
            return Ok(Some(Reply::new(kind, text).response(asked)));
        }
        if let Some(long) = self.long_file(path, catalogue, asked) {
            return Ok(Some(long));
        }
        let (kind, text) = match path {
            feed::FILE => (reply::ATOM, self.feed(catalogue).await?),
            files::LLMS => (reply::TEXT, self.llms(catalogue).await?),
            files::LLMS_FULL if settings.has_markdown() => {
                (reply::TEXT, self.llms_full(catalogue).await?)
            }
            _ => return Ok(self.directory(path, catalogue)),
        };
        Ok(Some(Reply::new(kind, text).response(asked)))
    }

    /// Renders a page, or returns `None` if its description no longer exists.
    async fn page(
        &self,
        url: &str,
        catalogue: &Catalogue,
        asked: &PageRequest<'_>,
        is_markdown: bool,
    ) -> Result<Option<Response<Body>>, HeavenError> {
        let shared = &*self.shared;
        let settings = if self.is_in_place {
            &shared.in_place
        } else {
            &*shared.settings
        };
        let found = shared.library.recent(url).await?;
        let Some(mut description) = found.filter(has_page) else {
            return Ok(None);
        };
        if self.access == PageAccess::Original && !was_redirected(asked.headers()) {
            return Ok(Some(reply::sent(description.url(), settings.base())));
        }
        if self.access != PageAccess::Full {
            description = reduce_to_lead(description);
        }
        let has_both = settings.has_markdown() && !is_markdown;
        let mut reply = if is_markdown || has_both && asked.wants_markdown() {
            let mut reply =
                Reply::new(reply::MARKDOWN, markdown(&description, catalogue, settings));
            reply.original = Some(settings.canonical(description.url()).into_owned());
            settings.signals().clone_into(&mut reply.signals);
            reply
        } else {
            Reply::new(reply::HTML, page(&description, catalogue, settings))
        };
        reply.varies = has_both;
        reply.date = Date::from_server(&description);
        Ok(Some(reply.response(asked)))
    }

    /// Returns an export or sitemap, which is generated while it is being sent.
    fn long_file(
        &self,
        path: &str,
        catalogue: &Arc<Catalogue>,
        asked: &PageRequest<'_>,
    ) -> Option<Response<Body>> {
        let settings = &self.shared.settings;
        let count = catalogue.sitemaps().len();
        let mut exports = Export::ALL.into_iter();
        let (kind, pieces) = if let Some(export) = exports.find(|export| export.file() == path) {
            let reading = self.shared.library.read();
            (export.content_type(), Pieces::Export(export, reading))
        } else {
            // Number 0 is the sitemap index, which is not needed for a single sitemap.
            let mut numbers = usize::from(count == 1)..=count;
            let number = numbers.find(|number| sitemap::file(*number, count) == path)?;
            if number == 0 {
                let mut index = Vec::new();
                // Writing to memory never fails.
                let _ = files::sitemap(0, catalogue, settings, &mut index);
                let text = String::from_utf8(index).unwrap_or_default();
                return Some(Reply::new(reply::XML, text).response(asked));
            }
            let left = catalogue.sitemap(number - 1)?;
            let pieces = Pieces::Sitemap {
                catalogue: Arc::clone(catalogue),
                settings: Arc::clone(settings),
                number,
                left,
                is_first: true,
            };
            (reply::XML, pieces)
        };
        let body = if asked.is_head() {
            Body::empty()
        } else {
            pieces.into_body()
        };
        Some(streamed(kind, body))
    }

    async fn feed(&self, catalogue: &Catalogue) -> Result<String, HeavenError> {
        let newest = catalogue.newest(feed::MAX_ENTRIES);
        let urls = newest.iter().map(|entry| &*entry.url);
        Ok(feed::feed(&self.briefs(urls).await?, &self.shared.settings))
    }

    async fn llms(&self, catalogue: &Catalogue) -> Result<String, HeavenError> {
        let nearest = catalogue.nearest();
        let urls = nearest.iter().map(|entry| &*entry.url);
        let briefs = self.briefs(urls).await?;
        let settings = &self.shared.settings;
        let has_full = settings.has_markdown();
        Ok(files::llms(&briefs, catalogue, settings, has_full))
    }

    async fn llms_full(&self, catalogue: &Catalogue) -> Result<String, HeavenError> {
        let settings = &self.shared.settings;
        let mut full = files::LlmsFull::new(settings);
        for entry in catalogue.nearest() {
            let found = self.shared.library.recent(&entry.url).await?;
            let Some(description) = found.filter(has_page) else {
                continue;
            };
            if !full.add(&markdown(&description, catalogue, settings)) {
                break;
            }
        }
        Ok(full.into_text())
    }

    async fn briefs(&self, urls: impl Iterator<Item = &str>) -> Result<Vec<FeedItem>, HeavenError> {
        let mut briefs = Vec::new();
        for url in urls {
            let found = self.shared.library.recent(url).await?;
            briefs.extend(found.as_ref().and_then(FeedItem::new));
        }
        Ok(briefs)
    }

    /// Redirects a directory path without a trailing slash to the path with a slash.
    fn directory(&self, path: &str, catalogue: &Catalogue) -> Option<Response<Body>> {
        let settings = &self.shared.settings;
        let index = format!("{path}/index.html");
        let is_one = catalogue.find_by_path(&index, settings).is_some()
            || files::text(&index, catalogue, settings).is_some();
        is_one.then(|| moved(&format!("{}{path}/", settings.base())))
    }

    fn missing(&self, catalogue: &Catalogue, asked: &PageRequest<'_>) -> Response<Body> {
        let text = index::missing(catalogue, &self.shared.settings);
        let mut reply = Reply::new(reply::HTML, text);
        reply.status = StatusCode::NOT_FOUND;
        reply.response(asked)
    }
}

fn unavailable(error: &HeavenError) -> Response<Body> {
    warn!(%error, "cannot render a page of robot heaven: {error}");
    short(StatusCode::SERVICE_UNAVAILABLE)
}
