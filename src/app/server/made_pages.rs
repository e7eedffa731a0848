//! Pages of robot heaven generated from the site robot's descriptions.

use std::{pin::Pin, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header, request::Parts,
        uri::PathAndQuery,
    },
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::warn;

use crate::assembly::{heaven_settings, site_url};
use crate::clock::Clock;
use crate::config::{ConfigErrors, HeavenSection, HeavenSource, Loaded, OpenTo, Settings};
use crate::detect::Verdict;
use crate::heaven::{HeavenSettings, Library, PageAccess, PublishedPages, ServedHeaven};
use crate::layer::{
    Identification, MarkdownPages, ServedDirectly, add_direct_page_headers, prefers_markdown,
};
use crate::listen::ClientAddr;
use crate::policy::Visitor;
use crate::store::Store;
use crate::suspect::{Mark, MarkedVisitor, Marks};

/// The time for which a redirect of a visitor to an original page is remembered.
// Same as the cookie's lifetime.
const SENT_LASTS: Duration = Duration::from_mins(1);

/// Pages of robot heaven generated from the site robot's descriptions.
#[derive(Clone, Debug)]
pub(super) struct MadePages {
    settings: HeavenSettings,
    source: Source,
    are_redirected_to: bool,
    /// Whether requests for public original pages may be answered in Markdown.
    are_at_originals: bool,
    open_to: OpenTo,
    /// Visitors that were recently redirected from a heaven page to its original.
    sent: Marks,
    /// A guard that ends the background job when the last clone is dropped.
    following: Option<Arc<DropGuard>>,
}

#[derive(Clone, Debug)]
enum Source {
    /// Pages generated on request, once a database is available.
    Database(Option<ServedHeaven>),
    /// Pages that are or will be published to a directory.
    Files(PublishedPages),
}

/// Returns the generated pages that the settings specify, if any.
///
/// If heaven is published to a directory, robots are redirected to new pages as soon as their files
/// exist.
pub(super) fn generated_pages(
    loaded: &Loaded,
    settings: &Settings,
) -> Result<Option<MadePages>, ConfigErrors> {
    let from_database = settings.heaven.source == HeavenSource::Database;
    let open_to = settings.heaven.open_to;
    if !from_database && open_to != OpenTo::All {
        let reason = "the pages are files, which are served to all visitors; set heaven.source = \"database\"";
        return Err(loaded.invalid(&HeavenSection::KEY.open_to, reason));
    }
    if !from_database && settings.heaven.directory.is_empty() {
        return Ok(None);
    }
    let heaven = if let Some(url) = site_url(settings) {
        heaven_settings(loaded, settings, &url)
    } else {
        let reason = "the URL of the site is required, such as https://www.example.com";
        Err(loaded.invalid(&HeavenSection::KEY.url, reason))
    };
    let heaven = match heaven {
        // Files need no URL, because they are served unchanged.
        Err(_) if !from_database && settings.heaven.url.is_empty() => return Ok(None),
        heaven => heaven?,
    };
    let directory = &settings.heaven.directory;
    Ok(Some(MadePages {
        source: if from_database {
            Source::Database(None)
        } else {
            Source::Files(PublishedPages::new(directory, heaven.clone()))
        },
        settings: heaven,
        open_to,
        sent: Marks::new(&Clock::system()),
        are_redirected_to: settings.heaven.own_pages,
        are_at_originals: from_database && settings.heaven.markdown_for_agents,
        following: None,
    }))
}

impl MadePages {
    /// Creates pages that are served from the database and to which robots are redirected.
    pub(super) fn for_redirects(heaven: ServedHeaven, settings: HeavenSettings) -> Self {
        Self {
            settings,
            source: Source::Database(Some(heaven)),
            are_redirected_to: true,
            are_at_originals: false,
            open_to: OpenTo::All,
            sent: Marks::new(&Clock::system()),
            following: None,
        }
    }

    /// Starts the job that updates the list of a site's pages until all clones are dropped.
    pub(super) fn start(
        &mut self,
        store: &Store,
        site: &str,
        stop: &CancellationToken,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let stop = stop.child_token();
        self.following = Some(Arc::new(stop.clone().drop_guard()));
        match &mut self.source {
            Source::Files(pages) => Box::pin(pages.clone().follow(stop)),
            Source::Database(heaven) => {
                let library = || Library::new(store.clone(), site);
                let new = || ServedHeaven::new(library(), self.settings.clone());
                Box::pin(heaven.get_or_insert_with(new).clone().follow(stop))
            }
        }
    }

    /// Loads the list of a site's heaven pages once, without tracking changes.
    pub(super) async fn load_once(&mut self, store: &Store, site: &str) {
        if let Source::Database(heaven) = &mut self.source {
            let library = Library::new(store.clone(), site);
            *heaven = Some(ServedHeaven::new(library, self.settings.clone()));
        }
        self.reload().await;
    }

    /// Reloads the list of pages; if reloading fails, the old list stays in use.
    pub(super) async fn reload(&self) {
        match &self.source {
            Source::Files(pages) => pages.refresh().await,
            Source::Database(Some(heaven)) => {
                if let Err(error) = heaven.reload().await {
                    warn!(%error, "cannot reload the pages of robot heaven: {error}");
                }
            }
            Source::Database(None) => {}
        }
    }

    /// Returns `true` if robots are redirected to the heaven page that corresponds to the requested
    /// page.
    pub(super) fn is_redirect_target(&self) -> bool {
        self.are_redirected_to
    }

    /// Returns `true` if requests for original pages may be answered in Markdown.
    pub(super) fn serves_markdown_at_originals(&self) -> bool {
        self.are_at_originals
    }

    /// Returns the heaven page to which a robot is redirected instead of heaven's start page, if
    /// any.
    pub(super) fn location(&self, asked: &Uri, to: &HeaderValue) -> Option<HeaderValue> {
        let to = to.to_str().ok()?;
        // `to` is the path or URL of heaven; the pages of another site's heaven are unknown here.
        let start = to.strip_suffix(self.settings.base())?;
        let is_heaven = start.is_empty() || start == self.settings.site();
        let page = if is_heaven { self.link(asked) } else { None };
        HeaderValue::try_from(format!("{start}{}", page?)).ok()
    }

    /// Returns the link to the heaven page that corresponds to the requested page.
    fn link(&self, asked: &Uri) -> Option<String> {
        match &self.source {
            Source::Database(heaven) => heaven.as_ref()?.link(path(asked)),
            Source::Files(pages) => pages.link(path(asked)),
        }
    }

    /// Returns `true` if the requested page has a public copy.
    pub(super) fn contains(&self, asked: &Uri) -> bool {
        self.open_to == OpenTo::All
            && !self.settings.is_for_members(asked.path())
            && self.link(asked).is_some()
    }

    /// Returns the copy of a page that is served from the database.
    pub(super) async fn copy(
        &self,
        method: &Method,
        asked: &Uri,
        headers: &HeaderMap,
    ) -> Option<Response<Body>> {
        let Source::Database(Some(heaven)) = &self.source else {
            return None;
        };
        let copy = heaven.answer_in_place(method, path(asked), headers);
        copy.await
    }

    /// Answers a request below heaven's path if the request is for one of the generated pages.
    pub(super) async fn answer(&self, asked: &Parts, base: &str) -> Option<Response<Body>> {
        let Source::Database(Some(heaven)) = &self.source else {
            return None;
        };
        let (method, headers) = (&asked.method, &asked.headers);
        let robot = asked.extensions.get::<Identification>();
        let mut access = access(self.open_to, robot.map(Identification::verdict));
        let is_sent = access == PageAccess::Original;
        let visit = is_sent.then(|| Visit::of(&self.sent, asked)).flatten();
        if visit.as_ref().is_some_and(Visit::was_sent) {
            access = PageAccess::Lead;
        }
        let heaven = heaven.clone().access(access);
        if let Some(served) = asked.extensions.get::<ServedDirectly>() {
            let own = heaven.answer_in_place(method, path(served.uri()), headers);
            if let Some(page) = own.await {
                return Some(self.told_apart(page));
            }
        }
        // The bundled page is shown until generated pages exist.
        let below = asked.uri.path().strip_prefix(base)?;
        if heaven.catalogue().is_empty() {
            return None;
        }
        let page = heaven.answer(method, below, headers).await;
        if page.status() == StatusCode::FOUND
            && let Some(visit) = visit
        {
            visit.note_sent();
        }
        Some(self.told_apart(page))
    }

    /// Prevents caches from storing pages that not all visitors may read.
    fn told_apart(&self, mut page: Response<Body>) -> Response<Body> {
        if self.open_to != OpenTo::All {
            add_direct_page_headers(page.headers_mut());
        }
        page
    }

    /// Returns the published files for a requested page, the best match first.
    pub(super) fn files_in_place(&self, asked: &Uri, headers: &HeaderMap) -> Vec<String> {
        let page = match &self.source {
            Source::Files(pages) => pages.page(path(asked)),
            Source::Database(_) => None,
        };
        let Some(page) = page else {
            return Vec::new();
        };
        let markdown = prefers_markdown(headers).then(|| format!("/{}", page.markdown()));
        markdown
            .into_iter()
            .chain([format!("/{}", page.link())])
            .collect()
    }

    /// Returns `true` if published pages have Markdown files next to them.
    pub(super) fn negotiates(&self) -> bool {
        matches!(&self.source, Source::Files(pages) if pages.is_published())
    }
}

/// A visit to a heaven page by a visitor that may be redirected to the original page.
///
/// To prevent redirect loops, a client without cookies is recognised by its address and User-Agent.
struct Visit {
    sent: Marks,
    visitor: MarkedVisitor,
}

impl Visit {
    fn of(sent: &Marks, asked: &Parts) -> Option<Self> {
        let client = asked.extensions.get::<ClientAddr>()?;
        // Each page redirects the visitor separately.
        let sent = sent.for_site(asked.uri.path());
        let agent = asked.headers.get(header::USER_AGENT);
        let agent = agent.map_or(&b""[..], HeaderValue::as_bytes);
        let visitor = sent.visitor(client.client, agent);
        Some(Self { sent, visitor })
    }

    fn was_sent(&self) -> bool {
        self.sent.active_marks(self.visitor).is_sent
    }

    fn note_sent(&self) {
        self.sent.set(self.visitor, Mark::Sent, SENT_LASTS);
    }
}

impl MarkdownPages for MadePages {
    fn has(&self, asked: &Uri) -> bool {
        matches!(&self.source, Source::Database(Some(heaven)) if heaven.has_open_page(path(asked)))
    }

    fn page(&self, asked: &Uri) -> Option<PathAndQuery> {
        let Source::Database(Some(heaven)) = &self.source else {
            return None;
        };
        heaven.markdown_link(path(asked))?.try_into().ok()
    }

    fn is_for(&self, visitor: Option<Visitor<'_>>) -> bool {
        let robot = visitor.filter(|visitor| !visitor.claim.kind().is_human());
        access(self.open_to, robot.map(|robot| robot.verdict)) == PageAccess::Full
    }
}

/// Returns the part of a page that a visitor may read; `robot` is the verdict on a robot's claim.
fn access(open_to: OpenTo, robot: Option<Verdict>) -> PageAccess {
    match (open_to, robot) {
        (OpenTo::All, _)
        | (OpenTo::Robots, Some(_))
        | (OpenTo::Verified, Some(Verdict::Verified)) => PageAccess::Full,
        (OpenTo::Robots | OpenTo::Verified, None) => PageAccess::Original,
        (OpenTo::Verified, Some(_)) => PageAccess::Lead,
    }
}

fn path(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |path| path.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    fn made(text: &str) -> Result<Option<MadePages>, String> {
        let loaded = Loader::new().file("c.toml", text).load();
        let made = loaded.and_then(|loaded| generated_pages(&loaded, loaded.settings()));
        made.map_err(|error| error.to_string())
    }

    #[test]
    fn pages_are_generated_according_to_the_configuration() {
        assert!(made("").unwrap().is_none());
        let made = |text: &str| made(&format!("[heaven]\nsource = 'database'\n{text}"));
        let pages = made("url = 'https://www.example.com/a'").unwrap().unwrap();
        assert_eq!(pages.settings.site(), "https://www.example.com");
        let pages = made("[server]\nhosts = 'www.example.com'")
            .unwrap()
            .unwrap();
        assert!(pages.settings.site().ends_with("://www.example.com"));
        assert!(made("").unwrap_err().contains("https://www.example.com"));
        assert!(made("url = 'ftp://a'").unwrap_err().contains("heaven.url"));
    }

    #[test]
    fn directory_may_be_published_to_later() {
        let files = "[heaven]\ndirectory = 'nowhere'\n";
        assert!(made(files).unwrap().is_none());
        let of_host = format!("{files}[server]\nhosts = 'www.example.com'");
        assert!(!made(&of_host).unwrap().unwrap().negotiates());
        let wrong = made(&format!("{files}url = 'ftp://a'")).unwrap_err();
        assert!(wrong.contains("heaven.url"), "{wrong}");
    }

    #[test]
    fn access_depends_on_the_verdict() {
        let robot = |verdict| Some(verdict);
        for (open_to, robot, expected) in [
            (OpenTo::All, None, PageAccess::Full),
            (OpenTo::All, robot(Verdict::Spoofed), PageAccess::Full),
            (OpenTo::Robots, None, PageAccess::Original),
            (
                OpenTo::Robots,
                robot(Verdict::Unverifiable),
                PageAccess::Full,
            ),
            (OpenTo::Verified, None, PageAccess::Original),
            (OpenTo::Verified, robot(Verdict::Verified), PageAccess::Full),
            (OpenTo::Verified, robot(Verdict::Pending), PageAccess::Lead),
            (OpenTo::Verified, robot(Verdict::Spoofed), PageAccess::Lead),
        ] {
            assert_eq!(access(open_to, robot), expected, "{open_to:?} {robot:?}");
        }
        let error = made("heaven.directory = 'a'\nheaven.open_to = 'robots'").unwrap_err();
        assert!(error.contains("heaven.source = \"database\""), "{error}");
        let error = made("heaven.open_to = 'people'").unwrap_err();
        assert!(error.contains("verified"), "{error}");
    }

    #[test]
    fn invalid_source_is_reported() {
        let error = made("[heaven]\nsource = 'sky'").unwrap_err();
        assert!(error.contains("neither files nor database"), "{error}");
    }
}
