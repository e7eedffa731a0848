//! A resource that is processed by a filter.

use std::{borrow::Cow, sync::Arc};

use url::Url;

use crate::document::{Meta, Page};

use super::{
    ReceivedResource, Source,
    content::Content,
    sniff::{is_unspecified, sniff},
    source::SourceName,
};

/// Maximum number of problems recorded per resource.
const MAX_TROUBLES: usize = 16;

/// Media types that indicate HTML.
const HTML: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// Prefix of text media types.
const TEXT: &str = "text/";

/// A resource that is processed by one filter, with its sources of information.
///
/// A resource is created from a URL, passes [`Filter::metadata`](super::Filter::metadata), is
/// retrieved ([`Resource::receive`]), and passes the later stages. Each filter gets its own clone,
/// so that assignments stay separate; clones share the body, page, checksum and conversion.
///
/// # Example
///
/// ```
/// use robot_detection_site_robot::filter::{Resource, Source};
///
/// let url = "http://home.example.com/docs/".parse().unwrap();
/// let resource = Resource::new(url, 2);
/// assert_eq!(resource.source(&Source::from_name("host")).as_deref(), Some("home.example.com"));
/// assert_eq!(resource.source(&Source::from_name("depth")).as_deref(), Some("2"));
/// ```
#[derive(Clone, Debug)]
pub struct Resource {
    url: Url,
    depth: u32,
    host_and_port: String,
    names: Option<Arc<RunNames>>,
    ip: Option<Box<str>>,
    assigned: Vec<(Source, Option<String>)>,
    received: Option<Arc<ReceivedResource>>,
    content: Option<Arc<Content>>,
    troubles: Vec<String>,
    preference: u8,
    better: Option<String>,
}

/// Names that are available as sources of every resource in a run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunNames {
    /// Catalog server id (`csid`): the instance that runs the site robot.
    pub csid: String,
    /// Name of the enumeration filter.
    pub enumeration_filter: String,
    /// Name of the generation filter.
    pub generation_filter: String,
}

impl Resource {
    /// Creates a resource that is at a given link depth from a starting point.
    pub fn new(url: Url, depth: u32) -> Self {
        let port = url.port_or_known_default();
        let host_and_port = match (url.host_str(), port) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            _ => String::new(),
        };
        Self {
            url,
            depth,
            host_and_port,
            names: None,
            ip: None,
            assigned: Vec::new(),
            received: None,
            content: None,
            troubles: Vec::new(),
            preference: 0,
            better: None,
        }
    }

    /// Sets the names of the run.
    #[must_use]
    pub fn in_run(mut self, names: Arc<RunNames>) -> Self {
        self.names = Some(names);
        self
    }

    /// Sets the IP address of the server.
    pub fn set_ip(&mut self, ip: &str) {
        self.ip = Some(ip.into());
    }

    /// Sets the server's response, and prepares the resource for the `Data` stage.
    pub fn receive(&mut self, received: ReceivedResource) {
        let content_type = received.content_type.clone();
        let domain = self.url.domain().and_then(|host| host.rsplit('.').next());
        let content = Content::new(content_type, received.body.clone()).with_domain(domain);
        self.content = Some(Arc::new(content));
        self.received = Some(Arc::new(received));
    }

    /// Sets the rank among resources with the same content (0 by default); the lowest rank wins.
    pub fn set_preference(&mut self, preference: u8) {
        self.preference = preference;
    }

    pub(super) fn preference(&self) -> u8 {
        self.preference
    }

    /// Records a better URL that has the same content.
    pub(super) fn set_preferred_url(&mut self, url: String) {
        self.better = Some(url);
    }

    /// Returns the better URL with the same content, if a filter has found such a URL.
    pub fn preferred_url(&self) -> Option<&str> {
        self.better.as_deref()
    }

    /// Assigns a value to a source of the resource.
    pub fn assign(&mut self, source: &Source, value: impl Into<String>) {
        self.put(source, Some(value.into()));
    }

    /// Removes the values of a source.
    pub fn clear(&mut self, source: &Source) {
        self.put(source, None);
    }

    /// Records a problem that does not deny the resource, such as a failed conversion.
    pub fn add_problem(&mut self, trouble: String) {
        if self.troubles.len() < MAX_TROUBLES {
            self.troubles.push(trouble);
        }
    }

    /// Returns the URL of the resource.
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the number of links between a starting point and the resource.
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the value of a source, or `None` if the source has no value.
    pub fn source(&self, source: &Source) -> Option<Cow<'_, str>> {
        match self.assigned(source.name()) {
            Some((_, value)) => value.as_deref().map(Cow::Borrowed),
            None => self.own(source),
        }
    }

    /// Returns the resource's media type in lower case: the assigned type, or else the type that
    /// the server sent.
    pub fn media_type(&self) -> Option<String> {
        Some(self.declared_type()?.to_ascii_lowercase())
    }

    /// Returns the parsed page if the resource is HTML or was converted to HTML.
    pub fn page(&self) -> Option<&Page> {
        let content = self.content.as_deref()?;
        let media_type = self.declared_type()?;
        is_html(media_type).then(|| content.page())
    }

    /// Returns the parsed page, even if the server sent no media type, as a browser would.
    ///
    /// In that case, the body must start like HTML.
    pub fn page_or_sniffed(&self) -> Option<&Page> {
        if self.page().is_some() || !is_unspecified(self.media_type().as_deref()) {
            return self.page();
        }
        let content = self.content.as_deref()?;
        (sniff(content.body()) == Some("text/html")).then(|| content.page())
    }

    /// Returns the text of a text resource, or the source code of an HTML page.
    pub fn text(&self) -> Option<&str> {
        let content = self.content.as_deref()?;
        let media_type = self.declared_type()?;
        let start = media_type.get(..TEXT.len()).unwrap_or_default();
        let is_text = start.eq_ignore_ascii_case(TEXT) || is_html(media_type);
        is_text.then(|| content.text())
    }

    /// Returns the body as received, or the result of its conversion.
    pub fn body(&self) -> &[u8] {
        self.content
            .as_deref()
            .map_or(&[], |content| content.body())
    }

    /// Returns the MD5 checksum of the received or converted body, in hexadecimal.
    pub fn md5(&self) -> Option<&str> {
        self.content.as_deref().map(Content::md5)
    }

    /// Returns the server's response, if one was received.
    pub fn received(&self) -> Option<&ReceivedResource> {
        self.received.as_deref()
    }

    /// Returns the problems recorded during processing, for the log.
    pub fn troubles(&self) -> &[String] {
        &self.troubles
    }

    /// Returns the host and port; the port is included even if it is the default port.
    pub fn host_and_port(&self) -> &str {
        &self.host_and_port
    }

    /// Returns `true` if a source is the URL's host and has been neither assigned nor cleared.
    pub(super) fn is_own_host(&self, source: &Source) -> bool {
        let is_assigned = || self.assigned.iter().any(|(assigned, _)| assigned == source);
        source.known() == SourceName::Host && !is_assigned()
    }

    pub(super) fn content(&self) -> Option<&Arc<Content>> {
        self.content.as_ref()
    }

    pub(super) fn set_content(&mut self, content: Arc<Content>) {
        self.content = Some(content);
    }

    /// Returns the assignment of a source; the value is `None` if the source was cleared.
    fn assigned(&self, name: &str) -> Option<&(Source, Option<String>)> {
        let mut assigned = self.assigned.iter();
        assigned.find(|(assigned, _)| assigned.name() == name)
    }

    /// Returns the media type as assigned or received, without its parameters.
    ///
    /// This function is called at each step, so it avoids the full source lookup.
    fn declared_type(&self) -> Option<&str> {
        let assigned = self
            .assigned("type")
            .or_else(|| self.assigned("content-type"));
        let told = match assigned {
            Some((_, value)) => value.as_deref()?,
            None => self.received.as_deref()?.bare_type()?,
        };
        Some(told.trim())
    }

    fn put(&mut self, source: &Source, value: Option<String>) {
        // Few sources are assigned, so a linear search is as fast as a map.
        let mut assigned = self.assigned.iter_mut();
        match assigned.find(|(assigned, _)| assigned == source) {
            Some((_, known)) => *known = value,
            None => self.assigned.push((source.clone(), value)),
        }
    }

    /// Returns the value of a source, ignoring assignments.
    fn own(&self, source: &Source) -> Option<Cow<'_, str>> {
        let names = self.names.as_deref();
        match source.known() {
            SourceName::Csid => some(names.map(|names| &names.csid)),
            SourceName::EnumerationFilter => some(names.map(|names| &names.enumeration_filter)),
            SourceName::GenerationFilter => some(names.map(|names| &names.generation_filter)),
            SourceName::Depth => Some(self.depth.to_string().into()),
            SourceName::Host => self.url.host_str().map(Cow::Borrowed),
            SourceName::Ip => self.ip.as_deref().map(Cow::Borrowed),
            SourceName::Path => Some(self.url.path().into()),
            SourceName::Protocol => Some(self.url.scheme().into()),
            SourceName::Url => Some(self.url.as_str().into()),
            _ => self.answered(source),
        }
    }

    /// Returns the value of a source that is taken from the server's response or the page.
    fn answered(&self, source: &Source) -> Option<Cow<'_, str>> {
        let received = self.received.as_deref()?;
        let name = source.name();
        match source.known() {
            SourceName::Type => self.source(&Source::from_name("content-type")),
            SourceName::ContentType => received.media_type().map(Cow::Owned),
            SourceName::ContentEncoding => some(received.content_encoding.as_ref()),
            SourceName::ContentLength => Some(received.body.len().to_string().into()),
            SourceName::ContentCharset => self.charset().map(Cow::Borrowed),
            SourceName::Etag => some(received.etag.as_ref()),
            SourceName::Status => Some(received.status.to_string().into()),
            SourceName::Canonical => {
                some(received.canonical.as_ref()).or_else(|| some(self.page()?.canonical.as_ref()))
            }
            SourceName::Expires => some(received.expires.as_ref()).or_else(|| self.meta(name)),
            SourceName::LastModified => {
                some(received.last_modified.as_ref()).or_else(|| self.meta(name))
            }
            SourceName::Language => self.language(),
            SourceName::Modified => {
                some(self.page()?.modified.as_ref()).or_else(|| self.meta(name))
            }
            SourceName::Published => {
                some(self.page()?.published.as_ref()).or_else(|| self.meta(name))
            }
            SourceName::Robots => self.robots(),
            SourceName::Title => some(self.page()?.title.as_ref()),
            _ => self.meta(name),
        }
    }

    fn charset(&self) -> Option<&str> {
        self.text()?;
        self.content.as_deref().map(Content::charset)
    }

    fn language(&self) -> Option<Cow<'_, str>> {
        let of_page = || self.page()?.language.as_ref();
        let received = self.received.as_deref()?;
        // The page takes precedence: its author knows the language, while the header is often set
        // for a whole server.
        some(of_page())
            .or_else(|| some(received.content_language.as_ref()))
            .or_else(|| self.meta("content-language"))
            .or_else(|| self.meta("language"))
    }

    /// Joins the robots directives in the header and META tags; robots obey the strictest
    /// directives.
    fn robots(&self) -> Option<Cow<'_, str>> {
        let header = some(self.received.as_deref()?.robots.as_ref());
        let tag = self.meta("robots");
        match (header, tag) {
            (Some(header), Some(tag)) => Some(format!("{header}, {tag}").into()),
            (header, tag) => header.or(tag),
        }
    }

    /// Returns the content of a META tag; `name` takes precedence over `http-equiv`.
    fn meta(&self, name: &str) -> Option<Cow<'_, str>> {
        let metas = &self.page()?.metas;
        let of = |is_http_equiv| {
            let wanted = |it: &&Meta| it.is_http_equiv == is_http_equiv && it.name == name;
            metas.iter().find(wanted)
        };
        let found = of(false).or_else(|| of(true))?;
        Some(found.content.as_str().into())
    }
}

fn is_html(media_type: &str) -> bool {
    HTML.iter()
        .any(|html| media_type.eq_ignore_ascii_case(html))
}

fn some(value: Option<&String>) -> Option<Cow<'_, str>> {
    value
        .filter(|it| !it.is_empty())
        .map(|it| it.as_str().into())
}
