//! Common interface of all page sources.

use url::Url;

use robot_detection_store::fetch::Conditions;

use super::{ApplicationSource, FileSource, HttpSource, PageResponse, SourceError};

/// Source of pages; clones share connections.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PageSource {
    /// Servers that are requested over HTTP.
    Http(HttpSource),
    /// The application in this process.
    Application(ApplicationSource),
    /// Files below a directory.
    Files(FileSource),
    /// Servers that are requested over HTTP, and files below a directory for `file:` URLs.
    HttpAndFiles(HttpSource, FileSource),
}

/// A request for a page, which is sent to a [`PageSource`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PageRequest<'a> {
    /// URL of the page.
    pub url: &'a Url,
    /// Whether to request only the headers, using HEAD instead of GET.
    pub is_head: bool,
    /// Validators of the stored version; status 304 means that this version is current.
    pub conditions: Conditions,
    /// Number of body bytes that are sufficient; `None` requests the complete body.
    pub beginning: Option<u64>,
}

impl PageSource {
    /// Fetches a page.
    ///
    /// # Errors
    ///
    /// Returns an error if no complete response arrives within the limits, or if the source does
    /// not serve this kind of URL. No status is treated as an error.
    pub async fn fetch(&self, request: &PageRequest<'_>) -> Result<PageResponse, SourceError> {
        match self {
            Self::Application(source) => source.fetch(request).await,
            Self::HttpAndFiles(_, source) if request.url.scheme() == "file" => {
                source.fetch(request).await
            }
            Self::Files(source) => source.fetch(request).await,
            Self::Http(source) | Self::HttpAndFiles(source, _) => source.fetch(request).await,
        }
    }

    /// Returns the URL of the login form if the cookies of that form are not sent to a page because
    /// the page's address differs.
    pub(in crate::site_robot) fn foreign_login(&self, page: &Url) -> Option<&Url> {
        match self {
            Self::Http(source) | Self::HttpAndFiles(source, _) => source.foreign_login(page),
            Self::Application(_) | Self::Files(_) => None,
        }
    }

    /// Starts a run, which retries a failed login.
    pub(in crate::site_robot) async fn begin_run(&self) {
        if let Self::Http(source) | Self::HttpAndFiles(source, _) = self {
            source.begin_run().await;
        }
    }
}

impl From<HttpSource> for PageSource {
    fn from(source: HttpSource) -> Self {
        Self::Http(source)
    }
}

impl From<ApplicationSource> for PageSource {
    fn from(source: ApplicationSource) -> Self {
        Self::Application(source)
    }
}

impl From<FileSource> for PageSource {
    fn from(source: FileSource) -> Self {
        Self::Files(source)
    }
}

impl<'a> PageRequest<'a> {
    /// Creates an unconditional GET request.
    pub fn get(url: &'a Url) -> Self {
        Self {
            url,
            is_head: false,
            conditions: Conditions::default(),
            beginning: None,
        }
    }

    /// Creates a HEAD request.
    pub fn head(url: &'a Url) -> Self {
        let is_head = true;
        Self {
            is_head,
            ..Self::get(url)
        }
    }

    /// Makes the request conditional, so that a page is returned only if it differs from the stored
    /// version.
    #[must_use]
    pub fn if_changed(mut self, conditions: Conditions) -> Self {
        self.conditions = conditions;
        self
    }

    /// Sets the number of bytes after which the body is truncated.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.beginning = Some(bytes);
        self
    }
}
