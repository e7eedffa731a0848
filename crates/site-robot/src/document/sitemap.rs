//! Parser for sitemaps and sitemap indexes (sitemaps.org protocol).

use super::xml;

/// Maximum number of entries stored from a single sitemap; the protocol has the same limit.
const MAX_ENTRIES: usize = 50_000;

/// A parsed sitemap or sitemap index.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Sitemap {
    /// Whether the entries are themselves sitemaps.
    pub is_index: bool,
    /// The first 50,000 entries of the sitemap.
    pub entries: Vec<SitemapEntry>,
}

/// A sitemap entry.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct SitemapEntry {
    /// URL of the page or sitemap, as written.
    pub url: String,
    /// Value of `lastmod` as written, such as `2026-05-01` or `2026-05-01T12:00:00+02:00`.
    pub last_modified: Option<String>,
}

impl Sitemap {
    /// Parses a sitemap in XML format, or in plain text format with one URL per line.
    ///
    /// Returns `None` if the text is not a sitemap. Unreadable parts are skipped. Feeds can also
    /// serve as sitemaps: see [`Feed`](super::Feed).
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_site_robot::document::Sitemap;
    ///
    /// let sitemap = Sitemap::read(
    ///     "<urlset><url><loc>http://h.example/?a&amp;b</loc></url></urlset>",
    /// );
    /// assert_eq!(sitemap.unwrap().entries[0].url, "http://h.example/?a&b");
    /// ```
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{FEFF}').trim_start();
        if text.starts_with('<') {
            Self::read_xml(text)
        } else {
            Self::read_lines(text)
        }
    }

    fn read_xml(text: &str) -> Option<Self> {
        let mut is_index = None;
        let mut is_other = false;
        let mut entries = Vec::new();
        let mut entry = SitemapEntry::default();
        xml::read(
            text,
            |tag, depth| {
                if depth == 0 {
                    match tag.local_name().as_ref() {
                        "sitemapindex" => is_index = Some(true),
                        "urlset" => is_index = Some(false),
                        _ => is_other = true,
                    }
                }
                !is_other
            },
            |name, depth, text| {
                match (depth, name) {
                    (2, "loc") if entry.url.is_empty() => text.clone_into(&mut entry.url),
                    (2, "lastmod") if !text.is_empty() => {
                        entry.last_modified = Some(text.to_owned());
                    }
                    (1, "url" | "sitemap") => {
                        let entry = std::mem::take(&mut entry);
                        if !entry.url.is_empty() {
                            entries.push(entry);
                        }
                    }
                    _ => {}
                }
                entries.len() < MAX_ENTRIES
            },
        );
        let is_index = is_index?;
        Some(Self { is_index, entries })
    }

    fn read_lines(text: &str) -> Option<Self> {
        let is_url = |line: &&str| {
            let scheme = line.split("://").next().unwrap_or_default();
            scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
        };
        let lines = text.lines().map(str::trim).filter(is_url).take(MAX_ENTRIES);
        let entries: Vec<_> = lines
            .map(|line| SitemapEntry {
                url: line.to_owned(),
                last_modified: None,
            })
            .collect();
        (!entries.is_empty()).then_some(Self {
            is_index: false,
            entries,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<(String, Option<String>)> {
        let sitemap = Sitemap::read(text).expect("a sitemap");
        let entries = sitemap.entries.into_iter();
        entries
            .map(|entry| (entry.url, entry.last_modified))
            .collect()
    }

    #[test]
    fn pages_and_dates_are_parsed() {
        let found = entries(
            "\u{FEFF}<?xml version='1.0' encoding='UTF-8'?>\n<!-- a -->\
             <urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'\
                 xmlns:image='http://www.google.com/schemas/sitemap-image/1.1'>\
             <url><loc> http://h/?a=1&amp;b=&#x32; </loc><lastmod>2026-05-01</lastmod>\
             <image:image><image:loc>http://h/i.png</image:loc></image:image></url>\
             <url><lastmod>2026-05-01</lastmod></url>\
             <url><loc><![CDATA[http://h/c?d&e]]></loc><lastmod/></url></urlset>",
        );
        let first = (
            "http://h/?a=1&b=2".to_owned(),
            Some("2026-05-01".to_owned()),
        );
        assert_eq!(found, [first, ("http://h/c?d&e".to_owned(), None)]);
    }

    #[test]
    fn sitemap_index_is_recognized() {
        let index = "<s:sitemapindex xmlns:s='x'><s:sitemap><s:loc>http://h/1.xml</s:loc>\
                     </s:sitemap></s:sitemapindex>";
        let index = Sitemap::read(index).unwrap();
        assert!(index.is_index);
        assert_eq!(index.entries[0].url, "http://h/1.xml");
        assert!(!Sitemap::read("<urlset/>").unwrap().is_index);
    }

    #[test]
    fn plain_text_sitemap_is_parsed() {
        let found = entries("http://h/a\r\n\r\n  HTTPS://h/b\n# nothing\nftp://h/c\n");
        let urls: Vec<_> = found.iter().map(|(url, _)| url.as_str()).collect();
        assert_eq!(urls, ["http://h/a", "HTTPS://h/b"]);
    }

    #[test]
    fn other_documents_are_not_sitemaps() {
        for text in [
            "",
            "nothing",
            "<html><p>http://h/</p></html>",
            "<rss/>",
            "<",
            "\u{FEFF}",
        ] {
            assert_eq!(Sitemap::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn broken_sitemap_is_parsed_up_to_the_error() {
        let text = "<urlset><url><loc>http://h/a</loc></url><url><loc>http://h/b</url><url><";
        assert_eq!(entries(text)[0].0, "http://h/a");
    }

    #[test]
    fn entities_are_not_expanded_and_entries_are_limited() {
        let bomb = "<!DOCTYPE urlset [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'>]>\
                    <urlset><url><loc>http://h/&b;x</loc></url></urlset>";
        assert_eq!(entries(bomb)[0].0, "http://h/ x");
        let long = format!(
            "<urlset>{}",
            "<url><loc>x</loc></url>".repeat(MAX_ENTRIES + 5)
        );
        assert_eq!(entries(&long).len(), MAX_ENTRIES);
        assert!(
            Sitemap::read(&"<urlset>".repeat(100_000))
                .unwrap()
                .entries
                .is_empty()
        );
    }
}
