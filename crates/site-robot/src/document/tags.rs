//! Start tags that contain information about the page: META tags, links and the base URL.

use super::{
    attributes::{Attribute, Attributes, is_html_space},
    page::{Link, LinkKind, Meta, Page},
};

const MAX_LINKS: usize = 10_000;
const MAX_METAS: usize = 1_000;

/// Maximum length of a stored link, in bytes; longer URLs are never fetched.
const MAX_LINK_BYTES: usize = 8 * 1024;

/// Values of `rel` for which a `<link>` refers to another page.
const RELATIONS: [&str; 24] = [
    "alternate",
    "appendix",
    "author",
    "bookmark",
    "chapter",
    "contents",
    "copyright",
    "first",
    "glossary",
    "help",
    "index",
    "last",
    "license",
    "next",
    "prev",
    "previous",
    "section",
    "sitemap",
    "start",
    "subsection",
    "toc",
    "top",
    "up",
    "made",
];

/// Adds the information in a start tag to the page.
pub(super) fn read_tag(page: &mut Page, name: &[u8], attributes: &Attributes) {
    Tag { page, attributes }.take_in(name);
}

/// A start tag and the page that contains it.
struct Tag<'a> {
    page: &'a mut Page,
    attributes: &'a Attributes,
}

impl Tag<'_> {
    fn take_in(&mut self, name: &[u8]) {
        match name {
            b"a" | b"area" => self.link(Attribute::Href, LinkKind::Anchor),
            b"frame" | b"iframe" => self.link(Attribute::Src, LinkKind::Frame),
            b"link" => self.link_element(),
            b"meta" => self.meta(),
            b"base" if self.page.base.is_none() => {
                self.page.base = self.attributes.value(Attribute::Href);
            }
            b"html" if self.page.language.is_none() => {
                let language = self.attributes.value(Attribute::Lang);
                self.page.language = language.filter(|language| !language.is_empty());
            }
            _ => {}
        }
    }

    fn link(&mut self, from: Attribute, kind: LinkKind) {
        if let Some(url) = self.attributes.value(from) {
            self.add_link(url, kind);
        }
    }

    fn add_link(&mut self, url: String, kind: LinkKind) {
        let fits = url.len() <= MAX_LINK_BYTES && self.page.links.len() < MAX_LINKS;
        if !fits || (url.is_empty() && kind != LinkKind::Anchor) {
            return;
        }
        let is_nofollow = self.relations().iter().any(|word| word == "nofollow");
        let told = |from| self.attributes.lower(from).filter(|it| !it.is_empty());
        let (language, media_type) = (told(Attribute::HrefLang), told(Attribute::Type));
        self.page.links.push(Link {
            url,
            kind,
            is_nofollow,
            language,
            media_type,
        });
    }

    fn link_element(&mut self) {
        let relations = self.relations();
        let has = |relation: &str| relations.iter().any(|word| word == relation);
        if has("canonical") && self.page.canonical.is_none() {
            let url = self.attributes.value(Attribute::Href);
            self.page.canonical = url.filter(|url| !url.is_empty() && url.len() <= MAX_LINK_BYTES);
        }
        // `rel="alternate stylesheet"` does not refer to a page.
        if RELATIONS.iter().any(|it| has(it)) && !has("stylesheet") {
            self.link(Attribute::Href, LinkKind::Relation);
        }
    }

    /// Returns the keywords in `rel`, in lower case.
    fn relations(&self) -> Vec<String> {
        let relations = self.attributes.lower(Attribute::Rel).unwrap_or_default();
        let words = relations.split(is_html_space).filter(|it| !it.is_empty());
        words.map(str::to_owned).take(100).collect()
    }

    fn meta(&mut self) {
        let Some(content) = self.attributes.value(Attribute::Content) else {
            return;
        };
        let names = [Attribute::Name, Attribute::Property, Attribute::HttpEquiv];
        for (at, attribute) in names.into_iter().enumerate() {
            let is_http_equiv = at == 2;
            let name = self.attributes.lower(attribute).unwrap_or_default();
            if is_http_equiv
                && name == "refresh"
                && let Some(url) = refresh_url(&content)
            {
                self.add_link(url.to_owned(), LinkKind::Refresh);
            }
            if !name.is_empty() && self.page.metas.len() < MAX_METAS {
                self.page.metas.push(Meta {
                    name,
                    content: content.clone(),
                    is_http_equiv,
                });
            }
        }
    }
}

/// Returns the target URL of a META refresh (WHATWG HTML §4.2.4.2).
///
/// `0; url=/a`, `5;URL='/a'`, `0,/a` and `0 /a` all specify `/a`; a bare time has no target.
fn refresh_url(content: &str) -> Option<&str> {
    let content = content.trim_start_matches(is_html_space);
    let rest = content.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let first = rest.chars().next()?;
    let has_time = rest.len() < content.len();
    if !has_time || !(is_html_space(first) || matches!(first, ';' | ',')) {
        return None;
    }
    let rest = rest.trim_start_matches(is_html_space);
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest);
    let rest = rest.trim_start_matches(is_html_space);
    let url = after_name(rest).unwrap_or(rest);
    let url = match url.chars().next()? {
        quote @ ('"' | '\'') => url.split(quote).nth(1)?,
        _ => url,
    };
    let url = url.trim_matches(is_html_space);
    (!url.is_empty()).then_some(url)
}

/// Returns the text that follows `url =`.
fn after_name(text: &str) -> Option<&str> {
    let (name, rest) = text.split_at_checked(3)?;
    let rest = rest.trim_start_matches(is_html_space);
    let rest = name.eq_ignore_ascii_case("url").then_some(rest)?;
    let rest = rest.strip_prefix('=')?;
    Some(rest.trim_start_matches(is_html_space))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_meta_refresh_are_parsed() {
        for (content, url) in [
            ("0; url=/a", Some("/a")),
            ("5;URL='/a b'", Some("/a b")),
            ("0;url=\"/a\" x", Some("/a")),
            (" 1.5 , Url = /a ", Some("/a")),
            ("0 /a", Some("/a")),
            ("0;/a", Some("/a")),
            (".5;/a", Some("/a")),
            ("0;url=url=/a", Some("url=/a")),
            ("0; urls", Some("urls")),
            ("0; url", Some("url")),
            ("30", None),
            ("30;", None),
            ("30; url=", None),
            ("30; url=''", None),
            ("url=/a", None),
            ("5x; url=/a", None),
            ("", None),
            ("0;ürl=/a", Some("ürl=/a")),
        ] {
            assert_eq!(refresh_url(content), url, "{content:?}");
        }
    }
}
