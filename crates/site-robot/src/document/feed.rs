//! Parser for RSS and Atom feeds.

use quick_xml::events::BytesStart;

use super::xml;

/// Maximum number of entries stored from a single feed.
const MAX_ENTRIES: usize = 10_000;

/// A parsed RSS or Atom feed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Feed {
    /// Title of the feed.
    pub title: Option<String>,
    /// The first 10,000 entries of the feed that have a link.
    pub entries: Vec<FeedEntry>,
}

/// A feed entry.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct FeedEntry {
    /// URL of the page that the entry describes, as written.
    pub url: String,
    /// Title of the page that the entry describes.
    pub title: Option<String>,
    /// Value of `updated`, `pubDate` or a similar element, as written.
    pub last_modified: Option<String>,
    /// Value of `published`, `issued` or `pubDate`, as written.
    pub published: Option<String>,
}

impl Feed {
    /// Parses a feed: RSS 0.9 to 2.0, RDF Site Summary, or Atom (RFC 4287).
    ///
    /// Returns `None` if the text is not a feed. Unreadable parts are skipped.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{FEFF}').trim_start();
        let mut reading = FeedReader::default();
        // Both closures modify the state, but neither is called by the other.
        let reader = std::cell::RefCell::new(&mut reading);
        xml::read(
            text,
            |tag, depth| reader.borrow_mut().start(tag, depth),
            |name, depth, text| reader.borrow_mut().end(name, depth, text),
        );
        reading.is_feed.then_some(reading.feed)
    }
}

#[derive(Default)]
struct FeedReader {
    is_feed: bool,
    feed: Feed,
    /// Nesting depth of the feed entry that is being read.
    entry: Option<usize>,
    current: FeedEntry,
    /// Value of `guid`, used as the link if the entry has no other link.
    guid: Option<String>,
    is_guid_link: bool,
}

impl FeedReader {
    fn start(&mut self, tag: &BytesStart<'_>, depth: usize) -> bool {
        let name = tag.local_name();
        let name = name.as_ref();
        if depth == 0 {
            self.is_feed = matches!(name, "rss" | "RDF" | "feed");
            return self.is_feed;
        }
        match (name, self.entry) {
            ("item" | "entry", None) => self.entry = Some(depth),
            ("link", Some(entry)) if depth == entry + 1 => self.atom_link(tag),
            ("guid", Some(_)) => {
                // In RSS 2.0, a `guid` is a permanent link unless `isPermaLink` is `false`.
                self.is_guid_link =
                    xml::attribute(tag, "isPermaLink").is_none_or(|it| it != "false");
            }
            _ => {}
        }
        true
    }

    fn atom_link(&mut self, tag: &BytesStart<'_>) {
        // According to RFC 4287 §4.2.7.2, a link without `rel` is an alternate link.
        let is_page = xml::attribute(tag, "rel").is_none_or(|rel| rel == "alternate");
        if let (true, true, Some(url)) = (
            is_page,
            self.current.url.is_empty(),
            xml::attribute(tag, "href"),
        ) {
            url.trim().clone_into(&mut self.current.url);
        }
    }

    fn end(&mut self, name: &str, depth: usize, text: &str) -> bool {
        let some = || (!text.is_empty()).then(|| text.to_owned());
        match self.entry {
            Some(entry) if depth == entry => self.end_entry(),
            Some(entry) if depth == entry + 1 => match name {
                "link" if self.current.url.is_empty() => text.clone_into(&mut self.current.url),
                "title" if self.current.title.is_none() => self.current.title = some(),
                "guid" if self.is_guid_link => self.guid = some(),
                "pubDate" => {
                    self.current.published = some();
                    self.current.last_modified = some().or(self.current.last_modified.take());
                }
                "updated" | "date" | "modified" => {
                    self.current.last_modified = some().or(self.current.last_modified.take());
                }
                "published" | "issued" => {
                    self.current.published = some();
                    let known = self.current.last_modified.take();
                    self.current.last_modified = known.or_else(some);
                }
                _ => {}
            },
            // The feed's title is at depth 1 in Atom and at depth 2 in RSS; the title of the feed's
            // image is deeper.
            None if name == "title" && depth <= 2 && self.feed.title.is_none() => {
                self.feed.title = some();
            }
            _ => {}
        }
        self.feed.entries.len() < MAX_ENTRIES
    }

    fn end_entry(&mut self) {
        self.entry = None;
        let mut entry = std::mem::take(&mut self.current);
        let guid = self.guid.take();
        if entry.url.is_empty() {
            entry.url = guid.unwrap_or_default();
        }
        if !entry.url.is_empty() {
            self.feed.entries.push(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(text: &str) -> Vec<String> {
        let feed = Feed::read(text).expect("a feed");
        feed.entries.into_iter().map(|entry| entry.url).collect()
    }

    #[test]
    fn rss_entries_link_by_link_or_guid() {
        let feed = Feed::read(
            "<?xml version='1.0'?><rss version='2.0'><channel><title>News &amp; more</title>\
             <link>http://h/</link>\
             <item><title>One</title><link> http://h/1?a&amp;b </link>\
             <pubDate>Fri, 01 May 2026 10:00:00 GMT</pubDate><guid>x</guid></item>\
             <item><guid>http://h/2</guid></item>\
             <item><guid isPermaLink='false'>17</guid></item></channel></rss>",
        )
        .unwrap();
        assert_eq!(feed.title.as_deref(), Some("News & more"));
        let one = FeedEntry {
            url: "http://h/1?a&b".to_owned(),
            title: Some("One".to_owned()),
            last_modified: Some("Fri, 01 May 2026 10:00:00 GMT".to_owned()),
            published: Some("Fri, 01 May 2026 10:00:00 GMT".to_owned()),
        };
        let two = FeedEntry {
            url: "http://h/2".to_owned(),
            ..FeedEntry::default()
        };
        assert_eq!(feed.entries, [one, two]);
    }

    #[test]
    fn atom_entries_link_by_alternate_links() {
        let feed = Feed::read(
            "<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title><link href='http://h/'/>\
             <entry><link rel='self' href='http://h/e'/><link href='http://h/1'/>\
             <published>2026-01-01</published><updated>2026-02-01</updated>\
             <content type='xhtml'><div><a href='x'/><link href='y'/></div></content></entry>\
             <entry><link rel='alternate' href='http://h/?a&amp;b'/></entry></feed>",
        )
        .unwrap();
        assert_eq!(feed.entries[0].url, "http://h/1");
        assert_eq!(feed.entries[0].last_modified.as_deref(), Some("2026-02-01"));
        assert_eq!(feed.entries[1].url, "http://h/?a&b");
        assert_eq!(feed.entries.len(), 2);
    }

    #[test]
    fn rdf_items_outside_the_channel_are_read() {
        let rdf = "<rdf:RDF xmlns:rdf='r'><channel><title>T</title></channel>\
                   <item rdf:about='a'><link>http://h/1</link></item></rdf:RDF>";
        assert_eq!(urls(rdf), ["http://h/1"]);
    }

    #[test]
    fn other_documents_are_not_feeds() {
        for text in ["", "text", "<urlset/>", "<html><item/></html>", "<"] {
            assert_eq!(Feed::read(text), None, "{text:?}");
        }
        assert_eq!(Feed::read("<rss><item><link>"), Some(Feed::default()));
    }
}
