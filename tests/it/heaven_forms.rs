//! Heaven's output conforms to its formats: HTML, JSON-LD, sitemap, Atom, llms.txt.

use std::collections::{BTreeMap, BTreeSet};

use quick_xml::{Reader, events::Event};
use regex::Regex;
use robot_detection::document::Page;
use serde_json::Value;

use crate::support::program::{GOOGLEBOT, Server};

/// Largest number of bytes and URLs in one sitemap (sitemaps.org).
const MAX_SITEMAP: (usize, usize) = (50 * 1024 * 1024, 50_000);

/// XML element: its text and its child elements, in order.
#[derive(Debug, Default)]
struct Node {
    name: String,
    attributes: BTreeMap<String, String>,
    text: String,
    inside: Vec<Self>,
}

impl Node {
    /// Parses a document; panics if it is not well-formed.
    fn read(xml: &str) -> Self {
        let mut reader = Reader::from_str(xml);
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().unwrap() {
                Event::Start(start) => open.push(Self::begin(&start)),
                Event::Empty(start) => {
                    let node = Self::begin(&start);
                    open.last_mut().unwrap().inside.push(node);
                }
                Event::End(_) => {
                    let node = open.pop().unwrap();
                    open.last_mut().unwrap().inside.push(node);
                }
                Event::Text(text) => open.last_mut().unwrap().text += &text.xml10_content(),
                Event::GeneralRef(name) => {
                    let character = match &*name {
                        "amp" => '&',
                        "lt" => '<',
                        "gt" => '>',
                        "quot" => '"',
                        "apos" => '\'',
                        other => panic!("{other}"),
                    };
                    open.last_mut().unwrap().text.push(character);
                }
                Event::Eof => break,
                Event::Decl(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(open.len(), 1);
        let mut document = open.pop().unwrap();
        assert_eq!(document.inside.len(), 1, "expected one root element");
        document.inside.pop().unwrap()
    }

    fn begin(start: &quick_xml::events::BytesStart<'_>) -> Self {
        let attributes = start.attributes().map(|attribute| {
            let attribute = attribute.unwrap();
            let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
            (
                attribute.key.as_ref().to_owned(),
                value.unwrap().into_owned(),
            )
        });
        Self {
            name: start.name().as_ref().to_owned(),
            attributes: attributes.collect(),
            ..Self::default()
        }
    }

    fn all(&self, name: &str) -> Vec<&Self> {
        let inside = self.inside.iter();
        inside.filter(|node| node.name == name).collect()
    }

    /// Returns the text of the only child element with a name.
    fn one(&self, name: &str) -> &str {
        let found = self.all(name);
        assert_eq!(found.len(), 1, "{name} of {}", self.name);
        &found[0].text
    }
}

/// Checks a time in RFC 3339 with seconds, which both W3C datetime and Atom accept.
fn is_moment(text: &str) -> bool {
    let form = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$";
    Regex::new(form).unwrap().is_match(text)
}

/// Checks a time or a day alone, which W3C datetime accepts too.
fn is_day_or_moment(text: &str) -> bool {
    is_moment(text) || is_moment(&format!("{text}T00:00:00Z"))
}

/// Checks a sitemap against the schema of sitemaps.org; returns its URLs.
fn check_sitemap(xml: &str, site: &str) -> Vec<String> {
    assert!(xml.len() <= MAX_SITEMAP.0);
    let root = Node::read(xml);
    assert_eq!(root.name, "urlset");
    let namespace = "http://www.sitemaps.org/schemas/sitemap/0.9";
    assert_eq!(root.attributes["xmlns"], namespace);
    assert!((1..=MAX_SITEMAP.1).contains(&root.inside.len()));
    let urls = root.inside.iter().map(|url| {
        assert_eq!((&*url.name, url.text.trim()), ("url", ""));
        let names: Vec<_> = url.inside.iter().map(|node| &*node.name).collect();
        assert!(matches!(*names, ["loc"] | ["loc", "lastmod"]), "{names:?}");
        let location = url.one("loc").to_owned();
        assert!((12..=2_048).contains(&location.len()), "{location}");
        assert!(location.starts_with(&format!("{site}/")), "{location}");
        let parsed = url::Url::parse(&location).unwrap();
        assert_eq!(parsed.as_str(), location, "the URL is not normalised");
        let dates = url.all("lastmod");
        assert!(
            dates.iter().all(|date| is_day_or_moment(&date.text)),
            "{dates:?}"
        );
        location
    });
    let urls: Vec<_> = urls.collect();
    assert_eq!(urls.iter().collect::<BTreeSet<_>>().len(), urls.len());
    urls
}

/// Checks a feed by the rules of RFC 4287; returns the links of its entries.
fn check_feed(xml: &str, me: &str) -> Vec<String> {
    let feed = Node::read(xml);
    assert_eq!(feed.name, "feed");
    assert_eq!(feed.attributes["xmlns"], "http://www.w3.org/2005/Atom");
    let check = |node: &Node| {
        assert!(url::Url::parse(node.one("id")).is_ok(), "§4.2.6");
        assert!(!node.one("title").trim().is_empty(), "§4.2.14");
        assert!(is_moment(node.one("updated")), "§4.2.15");
        for author in node.all("author") {
            assert!(!author.one("name").is_empty(), "§3.2.1");
        }
        assert!(node.all("summary").len() <= 1, "§4.1.2");
        for link in node.all("link") {
            assert!(
                url::Url::parse(&link.attributes["href"]).is_ok(),
                "§4.2.7.1"
            );
        }
    };
    check(&feed);
    let own = feed.all("link");
    let own = own.iter().find(|link| link.attributes["rel"] == "self");
    assert_eq!(own.unwrap().attributes["href"], me, "§4.1.1");
    assert_eq!(feed.one("id"), me);
    let (mut ids, mut last) = (BTreeSet::new(), feed.one("updated").to_owned());
    let entries = feed.all("entry");
    let links = entries.iter().map(|entry| {
        check(entry);
        assert!(ids.insert(entry.one("id").to_owned()), "§4.2.6.1");
        assert!(entry.one("updated") <= &*last, "newest entries come first");
        entry.one("updated").clone_into(&mut last);
        let has_author = !entry.all("author").is_empty() || !feed.all("author").is_empty();
        assert!(has_author, "§4.1.1");
        let links = entry.all("link");
        let mut links = links
            .iter()
            .filter(|link| link.attributes["rel"] == "alternate");
        let link = links.next().unwrap();
        assert!(links.next().is_none(), "§4.1.2: one link for each type");
        link.attributes["href"].clone()
    });
    links.collect()
}

/// Checks the structured data that search engines require.
fn check_json_ld(data: &Value, canonical: &str) {
    assert_eq!(data["@context"], "https://schema.org");
    assert_eq!(data["url"], canonical);
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let required: &[&str] = match data["@type"].as_str().unwrap() {
        "Article" => &["headline", "author", "breadcrumb", "description"],
        "WebPage" => &["name", "breadcrumb", "description"],
        "CollectionPage" => &["name"],
        other => panic!("{other}"),
    };
    for name in required {
        assert!(!data[*name].is_null(), "{name} in {data}");
    }
    assert!(text(&data["headline"]) || text(&data["name"]));
    if data["@type"] == "Article" {
        let author = &data["author"];
        assert!(
            author["@type"] == "Person" && text(&author["name"]),
            "{author}"
        );
    }
    for name in ["datePublished", "dateModified"] {
        if let Some(date) = data[name].as_str() {
            assert!(is_day_or_moment(date), "{date}");
        }
    }
    assert_eq!(data["isPartOf"]["@type"], "WebSite");
    if required.contains(&"breadcrumb") {
        let items = data["breadcrumb"]["itemListElement"].as_array().unwrap();
        for (number, item) in (1_u64..).zip(items) {
            assert_eq!(item["position"], number);
            assert!(item["@type"] == "ListItem" && text(&item["name"]));
            let is_last = number == items.len() as u64;
            assert!(is_last || url::Url::parse(item["item"].as_str().unwrap()).is_ok());
        }
        assert_eq!(data["isAccessibleForFree"], false, "only for members");
        assert_eq!(data["hasPart"]["isAccessibleForFree"], false);
        assert_eq!(data["hasPart"]["cssSelector"], ".text");
    }
}

/// Checks an HTML page; returns its canonical URL.
fn check_page(url: &str, html: &str) -> String {
    let page = Page::read(html);
    let title = page.title.unwrap_or_default();
    assert!(!title.is_empty(), "{url} has no title");
    let metas = page.metas.iter();
    let descriptions: Vec<_> = metas.filter(|meta| meta.name == "description").collect();
    assert_eq!(descriptions.len(), 1, "{url}");
    assert!(!descriptions[0].content.is_empty(), "{url}");
    let canonical = page.canonical.unwrap_or_default();
    assert!(url::Url::parse(&canonical).is_ok(), "{url}: {canonical}");
    assert_eq!(html.matches("rel=\"canonical\"").count(), 1, "{url}");
    let scripts = Regex::new("(?s)<script type=\"application/ld\\+json\">(.*?)</script>").unwrap();
    let scripts: Vec<_> = scripts.captures_iter(html).collect();
    assert_eq!(scripts.len(), 1, "{url}");
    check_json_ld(&serde_json::from_str(&scripts[0][1]).unwrap(), &canonical);
    assert_eq!(
        html.contains("class=\"text\""),
        html.contains("cssSelector"),
        "{url}"
    );
    canonical
}

/// Returns the URLs in a Markdown text.
fn links(markdown: &str) -> Vec<String> {
    let form = Regex::new(r"\]\(([^)]*)\)").unwrap();
    let links = form.captures_iter(markdown);
    links.map(|link| link[1].replace("&amp;", "&")).collect()
}

#[test]
fn the_demonstrations_heaven_conforms_to_every_format() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["serve", "--demo"]);
    let site = format!("http://{}", server.addr);
    let get = |url: &str| {
        let path = url.strip_prefix(&site).unwrap_or_else(|| panic!("{url}"));
        let answer = server.get(path, GOOGLEBOT);
        assert_eq!(answer.status, 200, "{url}");
        answer.text()
    };
    let heaven = format!("{site}/robot-heaven/");
    let pages = check_sitemap(&get(&format!("{heaven}sitemap.xml")), &site);
    assert_eq!(pages.len(), 10, "expected nine pages and the start page");
    for url in &pages {
        let canonical = check_page(url, &get(url));
        // The original redirects search engines here, so each page must be the canonical one.
        assert_eq!(canonical, *url);
    }
    for view in ["title", "author", "date", "depth"] {
        let url = format!("{heaven}by/{view}/");
        assert_eq!(check_page(&url, &get(&url)), url);
    }

    let feed = format!("{heaven}feed.atom");
    let entries = check_feed(&get(&feed), &feed);
    assert_eq!(entries.len(), 9);
    assert!(entries.iter().all(|entry| pages.contains(entry)));
    let feed = get(&feed);
    assert!(feed.contains("<published>2025-02-12T00:00:00Z</published>"));
    assert!(feed.contains("<updated>2026-02-02T09:30:00Z</updated>"));
    let cat = get(&format!("{heaven}members-only-stuff/cat.html"));
    for part in [
        "\"datePublished\":\"2025-02-12\"",
        "\"dateModified\":\"2026-02-02T09:30:00Z\"",
    ] {
        assert!(cat.contains(part), "{part} in {cat}");
    }

    let llms = get(&format!("{heaven}llms.txt"));
    assert!(llms.starts_with("# Harbour Library\n\n> "), "{llms}");
    let told = links(&llms);
    assert!(told.len() >= 9 + 4 + 2, "{llms}");
    for link in &told {
        let text = get(link);
        if link.strip_suffix(".md").is_some() {
            assert!(
                text.starts_with("# ") && !text.contains("Skip to"),
                "{text}"
            );
        }
    }
}
