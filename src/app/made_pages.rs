//! Pages of robot heaven that are made from the site robot's descriptions.

use std::{path::Path, sync::Arc};

use axum::{
    body::Body,
    http::{HeaderValue, Response, Uri, request::Parts},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::config::{ConfigErrors, Loaded, Settings};
use crate::heaven::{HeavenSettings, Library, ServedHeaven, is_published};
use crate::layer::ServedInPlace;
use crate::store::Store;

/// Where pages come from, as the configuration spells it.
const SOURCES: [&str; 2] = ["files", "database"];

/// Pages of robot heaven that are made from the site robot's descriptions.
#[derive(Clone, Debug)]
pub(super) struct MadePages {
    settings: HeavenSettings,
    /// Whether they are served from the database; if not, they are files.
    from_database: bool,
    are_redirected_to: bool,
    heaven: Option<ServedHeaven>,
    /// Ends with the last clone.
    following: Option<Arc<DropGuard>>,
}

/// Reads what pages are to be made, if any.
///
/// Of a directory that heaven was published to, robots are sent to its pages.
pub(super) fn made_pages(
    loaded: &Loaded,
    settings: &Settings,
) -> Result<Option<MadePages>, ConfigErrors> {
    let source = settings.heaven_source.as_str();
    if !SOURCES.contains(&source) {
        let reason = format!("{source:?} is neither files nor database");
        return Err(loaded.wrong("heaven.source", reason));
    }
    let from_database = source == "database";
    let directory = Path::new(&settings.heaven_directory);
    let is_published = !settings.heaven_directory.is_empty() && is_published(directory);
    if !from_database && !is_published {
        return Ok(None);
    }
    let heaven = match site_url(settings) {
        Some(url) => HeavenSettings::new(&url)
            .map_err(|error| loaded.wrong("heaven.url", error.to_string()))?,
        // Files need no URL: they are served as they are.
        None if !from_database => return Ok(None),
        None => {
            let reason = "the pages need the site's; write such as https://www.example.com";
            return Err(loaded.wrong("heaven.url", reason));
        }
    };
    let heaven = heaven.path(&settings.heaven_path);
    Ok(Some(MadePages {
        settings: match settings.heaven_name.as_str() {
            "" => heaven,
            name => heaven.name(name),
        },
        from_database,
        are_redirected_to: settings.heaven_own_pages,
        heaven: None,
        following: None,
    }))
}

fn site_url(settings: &Settings) -> Option<String> {
    if !settings.heaven_url.is_empty() {
        return Some(settings.heaven_url.clone());
    }
    let scheme = if settings.secure_cookies {
        "https"
    } else {
        "http"
    };
    let host = settings.hosts.first()?;
    Some(format!("{scheme}://{host}"))
}

impl MadePages {
    /// Creates pages that are served from the database, and that robots are redirected to.
    pub(super) fn of(heaven: ServedHeaven, settings: HeavenSettings) -> Self {
        Self {
            settings,
            from_database: true,
            are_redirected_to: true,
            heaven: Some(heaven),
            following: None,
        }
    }

    /// Returns the job that follows the descriptions of a site, until all clones are gone.
    pub(super) fn start(
        &mut self,
        store: &Store,
        site: &str,
        stop: &CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<> {
        let library = Library::new(store.clone(), site);
        let new = || ServedHeaven::new(library, self.settings.clone());
        let heaven = self.heaven.take().unwrap_or_else(new);
        let stop = stop.child_token();
        self.heaven = Some(heaven.clone());
        self.following = Some(Arc::new(stop.clone().drop_guard()));
        heaven.follow(stop)
    }

    /// Tells whether robots are redirected to the page made from the one they asked for.
    pub(super) fn are_redirected_to(&self) -> bool {
        self.are_redirected_to
    }

    /// Returns where a robot goes that would be sent to heaven's start: to its page, if there is one.
    pub(super) fn location(&self, asked: &Uri, to: &HeaderValue) -> Option<HeaderValue> {
        let to = to.to_str().ok()?;
        let start = to.strip_suffix(self.settings.base())?;
        let is_heaven = start.is_empty() || start == self.settings.site();
        let page = self
            .heaven
            .as_ref()
            .filter(|_| is_heaven)?
            .link(path(asked))?;
        HeaderValue::try_from(format!("{start}{page}")).ok()
    }

    /// Answers a request for something below the path of heaven, if it is for these pages.
    pub(super) async fn answer(&self, asked: &Parts, base: &str) -> Option<Response<Body>> {
        let heaven = self.heaven.as_ref()?;
        let (method, headers) = (&asked.method, &asked.headers);
        if let Some(served) = asked.extensions.get::<ServedInPlace>() {
            let own = heaven.answer_in_place(method, path(served.uri()), headers);
            if let Some(page) = own.await {
                return Some(page);
            }
        }
        // Before there is a page, the one that comes with the program is shown.
        let below = asked.uri.path().strip_prefix(base)?;
        if !self.from_database || heaven.catalogue().is_empty() {
            return None;
        }
        Some(heaven.answer(method, below, headers).await)
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
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        made_pages(&loaded, &loaded.settings()).map_err(|error| error.to_string())
    }

    #[test]
    fn pages_are_made_where_the_configuration_says_so() {
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
    fn a_wrong_source_is_told() {
        let error = made("[heaven]\nsource = 'sky'").unwrap_err();
        assert!(error.contains("neither files nor database"), "{error}");
    }
}
