//! Arbitrary bytes never make the parsers of pages, sitemaps, feeds and URLs panic.

use robot_detection::{
    content_tree::ContentTree,
    document::{
        BlockKind, ContentSelection, Feed, Moment, Page, Sitemap, TrackingParameters, decode,
        resolve, urls_in_text, without_session,
    },
    fetch::gunzip,
};

/// Parses arbitrary bytes.
pub fn run(bytes: &[u8]) {
    let decoded = decode(bytes, None, Some("jp"));
    let page = Page::read(&decoded.text);
    assert!(page.first_text(100).chars().count() <= 100);
    for block in &page.blocks {
        assert!(block.kind == BlockKind::Code || !block.text.contains("  "));
    }
    let base = "http://h.example/a/b".parse().expect("valid URL");
    let matter = page.content_tree(ContentSelection::All, &base);
    let told = matter.marked('\n', None);
    assert!(told.marks.is_empty() || ContentTree::read(&told.text, &told.marks) == Some(matter));
    let links = page.links.iter().map(|link| link.url.as_str());
    for link in links.chain(urls_in_text(&decoded.text)) {
        if let Some(url) = resolve(&base, link) {
            assert_eq!(resolve(&base, url.as_str()).as_ref(), Some(&url));
            let clean = without_session(&url);
            assert_eq!(without_session(&clean), clean);
            let tracking = TrackingParameters::default();
            let clean = tracking.remove_from(&url).unwrap_or(url);
            assert_eq!(tracking.remove_from(&clean), None);
        }
    }
    let _ = (Sitemap::read(&decoded.text), Feed::read(&decoded.text));
    let mut dates = [&page.published, &page.modified].into_iter().flatten();
    assert!(dates.all(|date| Moment::read(date).is_some()));
    let _ = Moment::read(&decoded.text);
    let _ = gunzip(bytes, 10_000);
}
