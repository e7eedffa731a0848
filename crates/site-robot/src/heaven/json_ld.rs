//! Structured data of a page (schema.org in JSON-LD).

use std::fmt;

use askama::filters::HtmlSafe;
use serde_json::{Map, Value, json};

use super::{HeavenSettings, content::Content, crumbs::Crumb};

/// JSON that can be safely embedded in a `<script>` element.
///
/// `<`, `>` and `&` are written as JSON escapes, so the content cannot end the element or open a
/// comment, and can be written to the page unchanged.
#[derive(Debug)]
pub(super) struct JsonLd {
    json: String,
}

/// First byte of the line separator and the paragraph separator in UTF-8.
const SEPARATOR: u8 = 0xe2;

impl JsonLd {
    fn new(value: &Value) -> Self {
        let text = value.to_string();
        let is_special = |byte| matches!(byte, b'<' | b'>' | b'&' | SEPARATOR);
        if !text.bytes().any(is_special) {
            return Self { json: text };
        }
        let mut json = String::with_capacity(text.len() + 64);
        for character in text.chars() {
            match character {
                '<' => json.push_str("\\u003c"),
                '>' => json.push_str("\\u003e"),
                '&' => json.push_str("\\u0026"),
                // These characters are valid in JSON, but are line terminators in scripts.
                '\u{2028}' => json.push_str("\\u2028"),
                '\u{2029}' => json.push_str("\\u2029"),
                _ => json.push(character),
            }
        }
        Self { json }
    }

    /// Creates the structured data of a page.
    pub(super) fn page(content: &Content<'_>, crumbs: &[Crumb], settings: &HeavenSettings) -> Self {
        let is_article = !content.author.is_empty();
        let mut page = Map::new();
        let mut set = |name: &str, value: Value| {
            let is_nothing = value.is_null() || value.as_str().is_some_and(str::is_empty);
            if !is_nothing {
                page.insert(name.to_owned(), value);
            }
        };
        set("@context", json!("https://schema.org"));
        set(
            "@type",
            json!(if is_article { "Article" } else { "WebPage" }),
        );
        let canonical = settings.canonical(content.url);
        set("@id", json!(canonical));
        set("url", json!(canonical));
        set(
            if is_article { "headline" } else { "name" },
            json!(content.title),
        );
        set("description", json!(content.summary()));
        set("keywords", json!(content.keywords));
        set("inLanguage", json!(content.language));
        for (name, date) in [
            ("datePublished", content.published),
            ("dateModified", content.modified),
        ] {
            set(name, json!(date.map(super::date::Date::to_text)));
        }
        if is_article {
            set(
                "author",
                json!({ "@type": "Person", "name": content.author }),
            );
        }
        set("isPartOf", site(settings));
        set("breadcrumb", breadcrumb(content, crumbs, settings));
        if settings.is_members_only(content.url) {
            set("isAccessibleForFree", json!(false));
            if !content.matter.pieces.is_empty() {
                set("hasPart", closed_part());
            }
        }
        Self::new(&Value::Object(page))
    }

    /// Creates the structured data of the start page.
    pub(super) fn start(settings: &HeavenSettings) -> Self {
        Self::new(&json!({
            "@context": "https://schema.org",
            "@type": "CollectionPage",
            "name": settings.site_name(),
            "url": settings.whole(""),
            "isPartOf": site(settings),
        }))
    }

    /// Creates the structured data of an index page.
    pub(super) fn listing(name: &str, url: &str, settings: &HeavenSettings) -> Self {
        Self::new(&json!({
            "@context": "https://schema.org",
            "@type": "CollectionPage",
            "name": name,
            "url": url,
            "isPartOf": site(settings),
        }))
    }
}

/// Returns the page element whose content requires a login on the original site.
fn closed_part() -> Value {
    json!({
        "@type": "WebPageElement",
        "isAccessibleForFree": false,
        "cssSelector": ".text",
    })
}

fn site(settings: &HeavenSettings) -> Value {
    json!({
        "@type": "WebSite",
        "name": settings.site_name(),
        "url": format!("{}/", settings.site()),
    })
}

/// Returns the breadcrumb list: the parent pages that exist, and the current page without a URL.
fn breadcrumb(content: &Content<'_>, crumbs: &[Crumb], settings: &HeavenSettings) -> Value {
    let above = crumbs.iter().filter_map(|crumb| {
        let href = crumb.href.as_deref()?;
        Some((
            crumb.text.as_str(),
            Some(format!("{}{href}", settings.site())),
        ))
    });
    let all = above.chain([(content.title.as_str(), None)]);
    let items = (1..).zip(all).map(|(position, (name, item)): (usize, _)| {
        let mut listed = json!({ "@type": "ListItem", "position": position, "name": name });
        if let (Some(listed), Some(item)) = (listed.as_object_mut(), item) {
            listed.insert("item".to_owned(), Value::String(item));
        }
        listed
    });
    json!({ "@type": "BreadcrumbList", "itemListElement": items.collect::<Vec<_>>() })
}

impl fmt::Display for JsonLd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}

/// The JSON is safe in HTML because it contains no `<`, `>` or `&`; see [`JsonLd::new`].
impl HtmlSafe for JsonLd {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn json_cannot_end_the_script_element() {
        let hostile = "</script><!--<script>]]>&lt;\u{2028}\"\\";
        let written = JsonLd::new(&json!({ hostile: hostile })).to_string();
        assert!(!written.contains(['<', '>', '&', '\u{2028}']), "{written}");
        let read: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(read[hostile], hostile);
    }

    proptest! {
        #[test]
        fn escaped_json_parses_to_the_original(text in ".*") {
            let written = JsonLd::new(&json!([text])).to_string();
            prop_assert!(!written.contains(['<', '>', '&']));
            prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), json!([text]));
        }
    }
}
