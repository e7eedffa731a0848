//! Settings of a heaven.

use std::{borrow::Cow, fmt, sync::Arc};

use super::{HeavenError, HeavenPath};
use crate::document::{TrackingParameters, without_session};

/// Question about a URL's path.
type PathPredicate = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Settings of a heaven.
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
    /// Creates settings for a site: its URL, of which scheme, host and port count.
    ///
    /// # Errors
    ///
    /// Fails when it is no http or https URL.
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

    /// Sets the path that heaven is served under, `/robot-heaven/` by default.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.base = match path.trim_matches('/') {
            "" => "/".to_owned(),
            path => format!("/{path}/"),
        };
        self
    }

    /// Sets the site's name; by default it is the host's.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = super::text::one_line(name);
        self
    }

    /// Sets a sentence that says what the site is; none by default.
    #[must_use]
    pub fn summary(mut self, summary: &str) -> Self {
        self.summary = super::text::one_line(summary);
        self
    }

    /// Sets the language of pages that name none, `en` by default (BCP 47).
    #[must_use]
    pub fn language(mut self, language: &str) -> Self {
        language.clone_into(&mut self.language);
        self
    }

    /// Sets whether pages are served at their original URLs; they are not by default.
    ///
    /// The sitemap and the feed then name the originals.
    #[must_use]
    pub fn in_place(mut self, is_in_place: bool) -> Self {
        self.is_in_place = is_in_place;
        self
    }

    /// Sets whether pages have a Markdown rendition, as they have by default.
    ///
    /// It is made as it is asked for. Pages that are published as files have one only
    /// where [`Self::markdown_files`] says so.
    #[must_use]
    pub fn markdown(mut self, has_markdown: bool) -> Self {
        self.has_markdown = has_markdown;
        self
    }

    /// Sets whether a file in Markdown stands beside each page that is published; none by default.
    ///
    /// It doubles the files, and few ask for them.
    #[must_use]
    pub fn markdown_files(mut self, has_markdown_files: bool) -> Self {
        self.has_markdown_files = has_markdown_files;
        self
    }

    /// Sets what content may be used for, which Markdown tells as `Content-Signal`; nothing by default.
    #[must_use]
    pub fn content_signal(mut self, signals: &str) -> Self {
        self.content_signal = super::text::one_line(signals);
        self
    }

    /// Sets the parameters that URLs are known without, the usual ones by default.
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

    /// Sets which paths of the site open only to those who have logged in; none by default.
    ///
    /// It is asked with the path of a URL, as it is written there. Pages of such
    /// paths say so in JSON-LD (`isAccessibleForFree`), with the element that
    /// holds the text (`hasPart`), as search engines ask of paywalled content.
    #[must_use]
    pub fn needs_login(mut self, asks: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.needs_login = Arc::new(asks);
        self
    }

    /// Sets from which paths of the site robots of search engines are redirected to heaven; none by
    /// default.
    ///
    /// It is asked as that of [`needs_login`](Self::needs_login). Pages of such paths are canonical
    /// themselves: an original that sends robots here is none that they could take in their place.
    #[must_use]
    pub fn redirects_here(mut self, asks: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.redirects_here = Arc::new(asks);
        self
    }

    /// Sets that stored pages move to the site where it had another address: one of these origins, or one that
    /// it had while this was set. Without it they stay where they are.
    #[must_use]
    pub fn moves_from(mut self, former: Vec<String>) -> Self {
        self.former = Some(former);
        self
    }

    pub(super) fn former(&self) -> Option<&[String]> {
        self.former.as_deref()
    }

    /// Returns the site: scheme, host and port, as `https://www.example.com`.
    pub fn site(&self) -> &str {
        &self.site
    }

    /// Returns the path of heaven, with a slash at both ends.
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

    /// Returns the settings for pages that are published as files.
    pub(super) fn of_files(&self) -> Self {
        let settings = self.clone();
        settings.markdown(self.has_markdown && self.has_markdown_files)
    }

    pub(super) fn has_markdown(&self) -> bool {
        self.has_markdown
    }

    pub(super) fn signals(&self) -> &str {
        &self.content_signal
    }

    /// Returns `true` if a path of the site opens only to those who have logged in.
    pub fn is_for_members(&self, path: &str) -> bool {
        (self.needs_login)(path)
    }

    /// Returns `true` if the original of a page opens only to those who have logged in.
    pub(super) fn is_members_only(&self, url: &str) -> bool {
        self.path_of(url)
            .is_some_and(|path| self.is_for_members(path))
    }

    /// Returns the URL by which search engines are to know a page: that of its original, unless that
    /// sends their robots here.
    pub(super) fn canonical<'u>(&self, url: &'u str) -> Cow<'u, str> {
        let redirects_here = |path| (self.redirects_here)(path);
        if !self.is_in_place && self.path_of(url).is_some_and(redirects_here) {
            Cow::Owned(self.whole(self.page(url).link()))
        } else {
            Cow::Borrowed(url)
        }
    }

    /// Returns the path of a URL of the site.
    fn path_of<'u>(&self, url: &'u str) -> Option<&'u str> {
        url.strip_prefix(self.site())?.split(['?', '#']).next()
    }

    /// Returns a URL as the site robot knows it, where that is another one.
    pub(super) fn known_as(&self, url: &str) -> Option<String> {
        // Most URLs have neither a query nor parameters in their path. By bytes, as each redirect of
        // a robot asks.
        if !url.bytes().any(|byte| matches!(byte, b'?' | b';' | b'(')) {
            return None;
        }
        let url = url::Url::parse(url).ok()?;
        let clean = without_session(self.tracking.without(&url).as_ref().unwrap_or(&url));
        (clean != url).then(|| clean.into())
    }

    /// Returns where the page of a URL stands.
    pub fn page(&self, url: &str) -> HeavenPath {
        HeavenPath::of(url, &self.site)
    }

    /// Returns the link to the page of a URL, from the top of the site.
    pub fn link(&self, url: &str) -> String {
        format!("{}{}", self.base, self.page(url).link())
    }

    /// Returns the whole URL of something of heaven.
    pub(super) fn whole(&self, below: &str) -> String {
        format!("{}{}{below}", self.site, self.base)
    }

    /// Returns the URL that search engines are told of: of the page, or of the original.
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
    fn a_site_is_scheme_host_and_port() {
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
    fn links_start_at_the_top() {
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
    fn a_page_that_its_original_leads_to_is_canonical_itself() {
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
    fn what_needs_a_login_is_told_by_the_path_on_the_site() {
        let settings = HeavenSettings::new("https://www.example.com")
            .unwrap()
            .needs_login(|path| path.starts_with("/members/"));
        assert!(settings.is_members_only("https://www.example.com/members/a"));
        assert!(!settings.is_members_only("https://www.example.com/a"));
        assert!(!settings.is_members_only("https://other.example/members/a"));
    }
}
