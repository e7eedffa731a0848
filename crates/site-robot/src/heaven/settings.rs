//! Settings of robot heaven.

use std::{borrow::Cow, fmt, sync::Arc};

use robot_detection_texts::Language;

use super::{HeavenError, HeavenPath};
use crate::document::{TrackingParameters, without_session};

/// Predicate that evaluates the path of a URL.
type PathPredicate = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Settings of robot heaven.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::heaven::HeavenSettings;
///
/// let settings = HeavenSettings::new("https://www.example.com")?
///     .name("Example")
///     .needs_login(|path| path.starts_with("/members/"));
/// assert_eq!(settings.site(), "https://www.example.com");
/// # Ok::<(), robot_detection_site_robot::heaven::HeavenError>(())
/// ```
#[derive(Clone)]
pub struct HeavenSettings {
    site: String,
    base: String,
    name: String,
    summary: String,
    language: String,
    is_in_place: bool,
    has_markdown: bool,
    has_markdown_files: bool,
    content_signal: String,
    tracking: TrackingParameters,
    needs_login: PathPredicate,
    redirects_here: PathPredicate,
    former: Option<Vec<String>>,
}

impl HeavenSettings {
    /// Creates the settings of a site from the scheme, host and port of its URL.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is not a valid http or https URL.
    pub fn new(site: &str) -> Result<Self, HeavenError> {
        let wrong = || HeavenError::Site(site.to_owned());
        let url = url::Url::parse(site.trim()).map_err(|_| wrong())?;
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(wrong)?.to_owned();
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong());
        }
        Ok(Self {
            site: url.origin().ascii_serialization(),
            base: "/robot-heaven/".to_owned(),
            name: host,
            summary: String::new(),
            language: "en".to_owned(),
            is_in_place: false,
            has_markdown: true,
            has_markdown_files: false,
            content_signal: String::new(),
            tracking: TrackingParameters::default(),
            needs_login: Arc::new(|_| false),
            redirects_here: Arc::new(|_| false),
            former: None,
        })
    }

    /// Sets the path of robot heaven; the default is `/robot-heaven/`.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.base = match path.trim_matches('/') {
            "" => "/".to_owned(),
            path => format!("/{path}/"),
        };
        self
    }

    /// Sets the name of the site; the default is its host name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = super::text::one_line(name);
        self
    }

    /// Sets a one-sentence description of the site; empty by default.
    #[must_use]
    pub fn summary(mut self, summary: &str) -> Self {
        self.summary = super::text::one_line(summary);
        self
    }

    /// Sets the language of pages that specify no language (BCP 47); the default is `en`.
    #[must_use]
    pub fn language(mut self, language: &str) -> Self {
        language.clone_into(&mut self.language);
        self
    }

    /// Sets whether pages are served at the URLs of their originals; off by default.
    ///
    /// If set, the sitemap and the feed contain the original URLs.
    #[must_use]
    pub fn in_place(mut self, is_in_place: bool) -> Self {
        self.is_in_place = is_in_place;
        self
    }

    /// Sets whether pages have a Markdown rendition; on by default.
    ///
    /// Markdown is rendered on request. Pages that are published as files have Markdown only if
    /// [`Self::markdown_files`] is set.
    #[must_use]
    pub fn markdown(mut self, has_markdown: bool) -> Self {
        self.has_markdown = has_markdown;
        self
    }

    /// Sets whether a Markdown file is published next to each page; off by default.
    ///
    /// Markdown files double the total number of files, and few clients request Markdown.
    #[must_use]
    pub fn markdown_files(mut self, has_markdown_files: bool) -> Self {
        self.has_markdown_files = has_markdown_files;
        self
    }

    /// Sets the `Content-Signal` header of Markdown pages, which specifies allowed uses; by
    /// default, the header is not sent.
    #[must_use]
    pub fn content_signal(mut self, signals: &str) -> Self {
        self.content_signal = super::text::one_line(signals);
        self
    }

    /// Sets the tracking parameters that are removed from URLs; by default, the common parameters.
    ///
    /// See [`TrackingParameters::new`].
    #[must_use]
    pub fn tracking_parameters<S: AsRef<str>>(
        mut self,
        names: impl IntoIterator<Item = S>,
    ) -> Self {
        self.tracking = TrackingParameters::new(names);
        self
    }

    /// Sets the predicate for paths on the site that require a login; by default, no path requires
    /// it.
    ///
    /// The argument is the raw path of a URL. Pages with such paths are marked in JSON-LD
    /// (`isAccessibleForFree`), including the element that contains the text (`hasPart`), as search
    /// engines require for paywalled content.
    #[must_use]
    pub fn needs_login(mut self, asks: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.needs_login = Arc::new(asks);
        self
    }

    /// Sets the predicate for paths from which search engine robots are redirected to robot heaven;
    /// by default, no path redirects them.
    ///
    /// The argument is the same as for [`needs_login`](Self::needs_login). Pages with such paths
    /// are their own canonical URLs, because robots cannot reach the originals.
    #[must_use]
    pub fn redirects_here(mut self, asks: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.redirects_here = Arc::new(asks);
        self
    }

    /// Moves stored pages to the site's current address from the given former origins, and from
    /// origins that the site had while this setting was active. Otherwise, stored pages keep their
    /// addresses.
    #[must_use]
    pub fn move_from(mut self, former: Vec<String>) -> Self {
        self.former = Some(former);
        self
    }

    pub(super) fn former_addresses(&self) -> Option<&[String]> {
        self.former.as_deref()
    }

    /// Returns the origin of the site, such as `https://www.example.com`.
    pub fn site(&self) -> &str {
        &self.site
    }

    /// Returns the path of robot heaven, with a leading and trailing slash.
    pub fn base(&self) -> &str {
        &self.base
    }

    pub(super) fn site_name(&self) -> &str {
        &self.name
    }

    pub(super) fn about(&self) -> &str {
        &self.summary
    }

    pub(super) fn default_language(&self) -> &str {
        &self.language
    }

    /// Returns the language of texts that do not come from the site.
    pub(super) fn texts(&self) -> Language {
        Language::from_tag(&self.language).unwrap_or_default()
    }

    /// Returns the settings for pages published as files.
    pub(super) fn for_files(&self) -> Self {
        let settings = self.clone();
        settings.markdown(self.has_markdown && self.has_markdown_files)
    }

    pub(super) fn has_markdown(&self) -> bool {
        self.has_markdown
    }

    pub(super) fn signals(&self) -> &str {
        &self.content_signal
    }

    /// Returns `true` if a path of the site requires a login.
    pub fn is_for_members(&self, path: &str) -> bool {
        (self.needs_login)(path)
    }

    /// Returns `true` if the original of a page requires a login.
    pub(super) fn is_members_only(&self, url: &str) -> bool {
        self.path_of(url)
            .is_some_and(|path| self.is_for_members(path))
    }

    /// Returns the canonical URL of a page: the original, or the page in robot heaven if the
    /// original redirects robots there.
    pub(super) fn canonical<'u>(&self, url: &'u str) -> Cow<'u, str> {
        let redirects_here = |path| (self.redirects_here)(path);
        if !self.is_in_place && self.path_of(url).is_some_and(redirects_here) {
            Cow::Owned(self.whole(self.page(url).link()))
        } else {
            Cow::Borrowed(url)
        }
    }

    /// Returns the path of a URL if the URL belongs to the site.
    fn path_of<'u>(&self, url: &'u str) -> Option<&'u str> {
        url.strip_prefix(self.site())?.split(['?', '#']).next()
    }

    /// Returns the form of a URL that the site robot stores, if that form differs from the URL.
    pub(super) fn cleaned_url(&self, url: &str) -> Option<String> {
        // Most URLs have no query or path parameters, so checking the bytes first keeps redirects
        // fast.
        if !url.bytes().any(|byte| matches!(byte, b'?' | b';' | b'(')) {
            return None;
        }
        let url = url::Url::parse(url).ok()?;
        let clean = without_session(self.tracking.remove_from(&url).as_ref().unwrap_or(&url));
        (clean != url).then(|| clean.into())
    }

    /// Returns the path of the heaven page for a URL.
    pub fn page(&self, url: &str) -> HeavenPath {
        HeavenPath::for_url(url, &self.site)
    }

    /// Returns the link to the heaven page for a URL, relative to the site root.
    pub fn link(&self, url: &str) -> String {
        format!("{}{}", self.base, self.page(url).link())
    }

    /// Returns the absolute URL for a path below robot heaven.
    pub(super) fn whole(&self, below: &str) -> String {
        format!("{}{}{below}", self.site, self.base)
    }

    /// Returns the URL that is listed for search engines: the URL of the heaven page or of the
    /// original.
    pub(super) fn listed(&self, url: &str) -> String {
        if self.is_in_place {
            url.to_owned()
        } else {
            self.whole(self.page(url).link())
        }
    }
}

impl fmt::Debug for HeavenSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeavenSettings")
            .field("site", &self.site)
            .field("base", &self.base)
            .field("name", &self.name)
            .field("is_in_place", &self.is_in_place)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_is_scheme_host_and_port() {
        let site = |url: &str| HeavenSettings::new(url).map(|settings| settings.site);
        assert_eq!(
            site("https://WWW.example.com/a?b").unwrap(),
            "https://www.example.com"
        );
        assert_eq!(
            site("http://127.0.0.1:3000").unwrap(),
            "http://127.0.0.1:3000"
        );
        assert_eq!(site("https://[::1]:443/").unwrap(), "https://[::1]");
        for wrong in [
            "",
            "www.example.com",
            "ftp://www.example.com",
            "file:///a",
            "javascript:x",
        ] {
            assert!(site(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn links_are_relative_to_the_site_root() {
        let settings = HeavenSettings::new("https://www.example.com")
            .unwrap()
            .path("clouds");
        assert_eq!(settings.link("https://www.example.com/a/"), "/clouds/a/");
        assert_eq!(
            settings.listed("https://www.example.com/a/"),
            "https://www.example.com/clouds/a/"
        );
        let settings = settings.in_place(true);
        assert_eq!(
            settings.listed("https://www.example.com/a/"),
            "https://www.example.com/a/"
        );
        assert_eq!(settings.path("/").base(), "/");
    }

    #[test]
    fn page_of_a_redirecting_original_is_canonical() {
        let settings = HeavenSettings::new("https://www.example.com")
            .unwrap()
            .redirects_here(|path| path.starts_with("/members/"));
        let (members, open) = (
            "https://www.example.com/members/a?b",
            "https://www.example.com/a",
        );
        let own = format!("https://www.example.com{}", settings.link(members));
        assert_eq!(settings.canonical(members), own);
        assert_eq!(settings.canonical(open), open);
        assert_eq!(settings.in_place(true).canonical(members), members);
    }

    #[test]
    fn login_requirement_depends_on_the_path() {
        let settings = HeavenSettings::new("https://www.example.com")
            .unwrap()
            .needs_login(|path| path.starts_with("/members/"));
        assert!(settings.is_members_only("https://www.example.com/members/a"));
        assert!(!settings.is_members_only("https://www.example.com/a"));
        assert!(!settings.is_members_only("https://other.example/members/a"));
    }
}
