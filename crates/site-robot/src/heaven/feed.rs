//! Atom feed of the most recently changed pages (RFC 4287).

use std::fmt::Write as _;

use super::{HeavenSettings, content::Content, date::Date, entry::has_page, text::xml};
use robot_detection_store::description::ResourceDescription;

/// Maximum number of entries in the feed.
pub(super) const MAX_ENTRIES: usize = 50;

/// File name of the feed.
pub(super) const FILE: &str = "feed.atom";

/// A page as listed in feeds, which occupies a few hundred bytes regardless of the page size.
#[derive(Clone, Debug)]
pub(super) struct FeedItem {
    pub(super) url: String,
    pub(super) title: String,
    /// Summary of the page; empty if the page must not be quoted.
    pub(super) summary: String,
    pub(super) author: String,
    pub(super) class: String,
    pub(super) date: Option<Date>,
    pub(super) published: Option<Date>,
}

impl FeedItem {
    /// Creates the feed item for a description if the description has a page.
    pub(super) fn new(description: &ResourceDescription) -> Option<Self> {
        if !has_page(description) {
            return None;
        }
        Some(Self::from_content(Content::new(description)))
    }

    /// Creates the feed item for a page's content.
    pub(super) fn from_content(content: Content<'_>) -> Self {
        // A summary that merely repeats the title or heading is useless.
        let is_news = |summary: &String| *summary != content.title && *summary != content.heading;
        let summary = content.may_be_quoted.then(|| content.summary());
        let summary = summary.filter(is_news);
        Self {
            url: content.url.to_owned(),
            summary: summary.unwrap_or_default(),
            class: content.classes.join(":"),
            date: content.date,
            published: content.published,
            title: content.title,
            author: content.author,
        }
    }
}

/// Returns a feed of the pages that have a date, newest first.
///
/// The feed has the date of its newest entry, so the feed changes only if pages change.
pub(super) fn feed(pages: &[FeedItem], settings: &HeavenSettings) -> String {
    let mut dated: Vec<_> = pages
        .iter()
        .filter_map(|page| Some((page.date?, page)))
        .collect();
    dated.sort_by(|(a, page), (b, other)| b.cmp(a).then_with(|| page.url.cmp(&other.url)));
    dated.truncate(MAX_ENTRIES);
    let updated = dated.first().map_or(Date::EPOCH, |(date, _)| *date);
    let name = xml(settings.site_name());
    let mut feed = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string never fails.
    let _ = write!(
        feed,
        "<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"{}\">\n\
         <id>{me}</id>\n<title>{name}</title>\n<updated>{}</updated>\n\
         <link rel=\"self\" type=\"application/atom+xml\" href=\"{me}\"/>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n\
         <author><name>{name}</name></author>\n",
        xml(settings.default_language()),
        updated.iso(),
        xml(&settings.whole("")),
        me = xml(&settings.whole(FILE)),
    );
    for (date, page) in dated {
        entry(page, date, settings, &mut feed);
    }
    feed.push_str("</feed>\n");
    feed
}

fn entry(page: &FeedItem, date: Date, settings: &HeavenSettings, feed: &mut String) {
    let _ = write!(
        feed,
        "<entry>\n<id>{}</id>\n<title>{}</title>\n<updated>{}</updated>\n\
         <link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n",
        xml(&page.url),
        xml(&page.title),
        date.iso(),
        xml(&settings.listed(&page.url)),
    );
    if let Some(published) = page.published {
        let _ = writeln!(feed, "<published>{}</published>", published.iso());
    }
    if !page.author.is_empty() {
        let _ = writeln!(feed, "<author><name>{}</name></author>", xml(&page.author));
    }
    if !page.class.is_empty() {
        let _ = writeln!(feed, "<category term=\"{}\"/>", xml(&page.class));
    }
    if !page.summary.is_empty() {
        let _ = writeln!(feed, "<summary>{}</summary>", xml(&page.summary));
    }
    feed.push_str("</entry>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use robot_detection_store::description::name;

    fn brief(url: &str, date: &str) -> FeedItem {
        let mut description = ResourceDescription::new(url);
        description.set(name::TITLE, "<b>&\0</title>");
        description.set(name::AUTHOR, "]]>");
        description.set(name::CLASSIFICATION, "A:\"B\"");
        description.set(name::DESCRIPTION, "</summary><script>");
        description.set(name::LAST_MODIFIED, date);
        FeedItem::new(&description).unwrap()
    }

    fn settings() -> HeavenSettings {
        HeavenSettings::new("https://a.example")
            .unwrap()
            .name("A & B")
    }

    /// Returns the names of all elements, each with the name of its parent.
    fn elements(feed: &str) -> Vec<(String, String)> {
        let mut reader = quick_xml::Reader::from_str(feed);
        let (mut found, mut open) = (Vec::new(), vec![String::new()]);
        loop {
            use quick_xml::events::Event;
            let event = reader.read_event().unwrap();
            let name = match &event {
                Event::Start(start) | Event::Empty(start) => {
                    for attribute in start.attributes() {
                        attribute.unwrap();
                    }
                    start.name().as_ref().to_owned()
                }
                _ => String::new(),
            };
            if !name.is_empty() {
                found.push((open.last().unwrap().clone(), name.clone()));
            }
            match event {
                Event::Start(_) => open.push(name),
                Event::End(_) => drop(open.pop()),
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(open.len(), 1);
        found
    }

    #[test]
    fn feed_is_valid_atom_for_any_page_content() {
        let pages = [
            brief(
                "https://a.example/?a=1&b=<",
                "Sun, 01 Mar 2026 12:30:05 GMT",
            ),
            brief("https://a.example/b", "Mon, 02 Mar 2026 12:30:05 GMT"),
            brief("https://a.example/c", "some day"),
        ];
        let feed = feed(&pages, &settings());
        let found = elements(&feed);
        let count = |parent: &str, name: &str| {
            let of = |(above, known): &&(String, String)| above == parent && known == name;
            found.iter().filter(of).count()
        };
        for (name, expected) in [
            ("id", 1),
            ("title", 1),
            ("updated", 1),
            ("link", 2),
            ("author", 1),
            ("entry", 2),
        ] {
            assert_eq!(count("feed", name), expected, "{name}");
        }
        for name in [
            "id", "title", "updated", "link", "author", "category", "summary",
        ] {
            assert_eq!(count("entry", name), 2, "{name}");
        }
        assert_eq!(count("author", "name"), 3);
        assert!(feed.contains("<updated>2026-03-02T12:30:05Z</updated>\n<link rel=\"self\""));
        assert!(!feed.contains("<script>"));
    }

    #[test]
    fn feed_contains_the_newest_fifty_pages() {
        let pages: Vec<_> = (0..60)
            .map(|minute| {
                brief(
                    &format!("https://a.example/{minute}"),
                    &format!("Sun, 01 Mar 2026 12:{minute:02}:05 GMT"),
                )
            })
            .collect();
        let feed = feed(&pages, &settings());
        assert_eq!(feed.matches("<entry>").count(), 50);
        assert!(
            feed.contains("<id>https://a.example/10</id>")
                && !feed.contains("<id>https://a.example/9</id>")
        );
    }

    #[test]
    fn nosnippet_omits_the_summary() {
        let mut description = ResourceDescription::new("https://a.example/");
        description.set(name::DESCRIPTION, "secret");
        description.set(name::ROBOTS, "nosnippet");
        assert_eq!(FeedItem::new(&description).unwrap().summary, "");
    }
}
