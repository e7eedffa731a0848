//! Generator of sitemaps (sitemaps.org protocol).

use std::{
    io::{self, Write},
    ops::Range,
};

use super::{HeavenSettings, date::Date, entry::Entry, text::xml};

/// Maximum number of URLs in a sitemap, not counting the start page; the protocol allows 50,000.
const MAX_URLS: usize = 49_999;
/// Maximum size of a sitemap, in bytes: 50 MB minus the enclosing XML.
const MAX_BYTES: usize = 50 * 1024 * 1024 - 1_000;
/// Estimated number of XML bytes that surround each URL in a sitemap.
const AROUND: usize = 96;
/// Maximum length of a URL according to the protocol, in bytes.
const MAX_URL_BYTES: usize = 2_047;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const XMLNS: &str = "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";

/// Divides the entries into sitemaps; returns at least one range.
pub(super) fn parts(entries: &[Entry], settings: &HeavenSettings) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, entry) in entries.iter().enumerate() {
        let size = location(entry, settings).map_or(0, |url| url.len() + AROUND);
        // The protocol sets both limits: 50,000 URLs, and 50 MB uncompressed.
        if at - start == MAX_URLS || bytes + size > MAX_BYTES {
            parts.push(start..at);
            (start, bytes) = (at, 0);
        }
        bytes += size;
    }
    parts.push(start..entries.len());
    parts
}

/// Returns the file name of the sitemap with the given number, where `of` is the number of
/// sitemaps; 0 is the sitemap index.
pub(super) fn file(number: usize, of: usize) -> String {
    if of == 1 || number == 0 {
        "sitemap.xml".to_owned()
    } else {
        format!("sitemap-{number}.xml")
    }
}

/// Writes a complete sitemap.
pub(super) fn write(
    entries: &[Entry],
    number: usize,
    settings: &HeavenSettings,
    out: &mut impl Write,
) -> io::Result<()> {
    write_start(number, settings, out)?;
    write_urls(entries, settings, out)?;
    write_end(out)
}

/// Starts a sitemap; the first sitemap contains the start page, so that no sitemap is empty.
pub(super) fn write_start(
    number: usize,
    settings: &HeavenSettings,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "{HEAD}<urlset {XMLNS}>")?;
    if number == 1 {
        writeln!(out, "<url><loc>{}</loc></url>", xml(&settings.whole("")))?;
    }
    Ok(())
}

/// Writes the `<url>` elements of a sitemap.
pub(super) fn write_urls(
    entries: &[Entry],
    settings: &HeavenSettings,
    out: &mut impl Write,
) -> io::Result<()> {
    for entry in entries {
        let Some(url) = location(entry, settings) else {
            continue;
        };
        write!(out, "<url><loc>{url}</loc>")?;
        if let Some(date) = entry.date {
            write!(out, "<lastmod>{}</lastmod>", date.to_text())?;
        }
        writeln!(out, "</url>")?;
    }
    Ok(())
}

pub(super) fn write_end(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "</urlset>")
}

/// Writes the sitemap index, with the date of the newest page in each sitemap.
pub(super) fn write_index(
    dates: &[Option<Date>],
    settings: &HeavenSettings,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "{HEAD}<sitemapindex {XMLNS}>")?;
    for (number, date) in (1..).zip(dates) {
        let url = settings.whole(&file(number, dates.len()));
        write!(out, "<sitemap><loc>{}</loc>", xml(&url))?;
        if let Some(date) = date {
            write!(out, "<lastmod>{}</lastmod>", date.iso())?;
        }
        writeln!(out, "</sitemap>")?;
    }
    writeln!(out, "</sitemapindex>")
}

/// Returns the escaped `<loc>` of an entry, or `None` if the URL must not be listed in this site's
/// sitemap.
fn location(entry: &Entry, settings: &HeavenSettings) -> Option<String> {
    let url = settings.listed(&entry.url);
    let rest = url.strip_prefix(settings.site())?;
    // A sitemap may only list URLs of its own host; `https://www.example.com.evil` is another host.
    let is_own = rest.starts_with(['/', '?']);
    (is_own && url.len() <= MAX_URL_BYTES).then(|| xml(&url).into_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use robot_detection_store::description::{ResourceDescription, name};

    fn entries(urls: impl IntoIterator<Item = String>) -> Vec<Entry> {
        let mut words = HashSet::new();
        let descriptions = urls.into_iter().map(|url| {
            let mut description = ResourceDescription::new(url);
            description.set(name::LAST_MODIFIED, "Sun, 01 Mar 2026 12:30:05 GMT");
            description
        });
        descriptions
            .filter_map(|description| Entry::new(&description, &mut words))
            .collect()
    }

    fn settings() -> HeavenSettings {
        HeavenSettings::new("https://a.example").unwrap()
    }

    /// Reads the pair `(loc, lastmod)` of each element, and checks the format.
    fn read(xml: &[u8], root: &str, item: &str) -> Vec<(String, String)> {
        let text = std::str::from_utf8(xml).unwrap();
        let mut reader = quick_xml::Reader::from_str(text);
        let (mut found, mut open) = (Vec::new(), Vec::new());
        loop {
            match reader.read_event().unwrap() {
                quick_xml::events::Event::Start(start) => {
                    let name = start.name().as_ref().to_owned();
                    let depth = open.len();
                    let expected: &[&str] = match depth {
                        0 => &[root],
                        1 => &[item],
                        _ => &["loc", "lastmod"],
                    };
                    assert!(depth < 3 && expected.contains(&name.as_str()), "{name}");
                    if depth == 1 {
                        found.push((String::new(), String::new()));
                    }
                    open.push(name);
                }
                quick_xml::events::Event::End(_) => drop(open.pop()),
                quick_xml::events::Event::Text(text) if open.len() == 3 => {
                    let at = found.last_mut().unwrap();
                    let field = if open[2] == "loc" {
                        &mut at.0
                    } else {
                        &mut at.1
                    };
                    field.push_str(&text.xml10_content());
                }
                quick_xml::events::Event::GeneralRef(name) => {
                    let at = found.last_mut().unwrap();
                    assert_eq!(&*name, "amp");
                    at.0.push('&');
                }
                quick_xml::events::Event::Eof => break,
                _ => {}
            }
        }
        assert!(open.is_empty());
        found
    }

    #[test]
    fn sitemap_lists_heaven_pages_with_dates() {
        let entries = entries([
            "https://a.example/a".to_owned(),
            "https://b.example/b".to_owned(),
        ]);
        let mut xml = Vec::new();
        write(&entries, 1, &settings(), &mut xml).unwrap();
        let start = ("https://a.example/robot-heaven/".to_owned(), String::new());
        assert_eq!(
            read(&xml, "urlset", "url"),
            [
                start,
                (
                    "https://a.example/robot-heaven/a.htm".to_owned(),
                    "2026-03-01T12:30:05Z".to_owned()
                ),
                (
                    "https://a.example/robot-heaven/~b.example/b.htm".to_owned(),
                    "2026-03-01T12:30:05Z".to_owned()
                ),
            ]
        );
    }

    #[test]
    fn sitemap_lists_originals_for_pages_served_in_place() {
        let urls = [
            "https://a.example/?a=b&c",
            "https://a.example.evil/",
            "https://b.example/",
        ];
        let entries = entries(urls.map(str::to_owned));
        let mut xml = Vec::new();
        write(&entries, 2, &settings().in_place(true), &mut xml).unwrap();
        let listed = read(&xml, "urlset", "url");
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!(listed[0].0, "https://a.example/?a=b&c");
    }

    #[test]
    fn sitemap_is_limited_to_fifty_thousand_urls() {
        let entries = entries((0..100_001).map(|number| format!("https://a.example/{number}")));
        let parts = parts(&entries, &settings());
        assert_eq!(parts, [0..49_999, 49_999..99_998, 99_998..100_001]);
        let dates = [entries[0].date, None, entries[100_000].date];
        let mut xml = Vec::new();
        write_index(&dates, &settings(), &mut xml).unwrap();
        let listed = read(&xml, "sitemapindex", "sitemap");
        assert_eq!(listed.len(), 3);
        assert_eq!(listed[1].1, "");
        let last = "https://a.example/robot-heaven/sitemap-3.xml".to_owned();
        assert_eq!(listed[2], (last, "2026-03-01T12:30:05Z".to_owned()));
        assert_eq!(file(1, 1), "sitemap.xml");
    }

    #[test]
    fn sitemap_is_limited_to_fifty_megabytes() {
        let long = "a".repeat(1_900);
        let entries =
            entries((0..30_000).map(|number| format!("https://a.example/?{number}={long}")));
        let settings = settings().in_place(true);
        let parts = parts(&entries, &settings);
        assert_eq!(parts.len(), 2);
        let last = parts[1].clone();
        let mut xml = Vec::new();
        write(&entries[last.clone()], 2, &settings, &mut xml).unwrap();
        // All entries that do not fit into the last sitemap are in the first one.
        let each = xml.len() / last.len();
        assert!((parts[0].len() + 2) * each <= 50 * 1024 * 1024);
    }

    #[test]
    fn sitemap_of_an_empty_heaven_lists_the_start_page() {
        let mut xml = Vec::new();
        write(&[], 1, &settings(), &mut xml).unwrap();
        assert_eq!(read(&xml, "urlset", "url").len(), 1);
        assert_eq!(parts(&[], &settings()).len(), 1);
    }
}
