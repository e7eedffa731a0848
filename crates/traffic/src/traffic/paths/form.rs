//! The document format of a requested page, derived from the page's path.

/// The document format of a requested page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    Html,
    Markdown,
    /// A feed or sitemap, which lists pages for programs.
    Feed,
    Other,
    /// The format is unknown, because only a pattern of the path is stored.
    Unknown,
}

const HTML: &[&str] = &["html", "htm", "xhtml", "php", "asp", "aspx", "jsp", "cgi"];
const MARKDOWN: &[&str] = &["md", "markdown", "mdx"];
const FEEDS: &[&str] = &["rss", "atom", "rdf"];

/// File names of feeds, regardless of the extension.
const FEED_NAMES: &[&str] = &["feed", "rss", "atom"];

impl Form {
    /// Returns the document format that a stored path indicates.
    pub(super) fn of(path: &str) -> Self {
        if path.ends_with('*') {
            return Self::Unknown;
        }
        let mut segments = path.trim_end_matches('/').rsplit('/');
        let name = segments.next().unwrap_or_default().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let is = |list: &[&str]| list.contains(&extension);
        if is(FEEDS) || FEED_NAMES.contains(&stem) || stem.starts_with("sitemap") {
            Self::Feed
        } else if is(MARKDOWN) {
            Self::Markdown
        } else if extension.is_empty() || is(HTML) {
            Self::Html
        } else {
            Self::Other
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "markdown",
            Self::Feed => "feed",
            Self::Other => "other",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_format_is_derived_from_the_end_of_the_path() {
        for (path, form) in [
            ("/", "html"),
            ("/a/", "html"),
            ("/a.HTML", "html"),
            ("/a/index.php", "html"),
            ("/a.md", "markdown"),
            ("/feed/", "feed"),
            ("/blog/atom.xml", "feed"),
            ("/news.rss", "feed"),
            ("/sitemap-2.xml.gz", "feed"),
            ("/robots.txt", "other"),
            ("/a/b.css", "other"),
            ("/a/*", "unknown"),
            ("*", "unknown"),
        ] {
            assert_eq!(Form::of(path).word(), form, "{path}");
        }
    }
}
