//! Extracts the main content of a page, without the surrounding boilerplate.

use url::Url;

use super::{
    around::{ARTICLES_SHARE, linked},
    build::{Builder, is_loose},
    page::{Block, BlockKind, Page, PagePart},
};
use crate::content_tree::{ContentTree, SummaryLine, first_sentence};

/// Selection of a page's blocks: all blocks, or only the main content.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ContentSelection {
    /// All blocks of the page are selected.
    All,
    /// The main content: the `<main>` element; or else the articles, if they are more than teasers;
    /// or else everything except navigation, headers and footers. Comments, advertisements and
    /// similar elements, identified by class, are excluded if enough text remains. If exactly one
    /// element is identified as article text, only that element is included. If nothing remains,
    /// the complete page is selected.
    Main,
}

impl Page {
    /// Returns the page content as a tree, with links resolved against the page's base URL.
    pub fn content_tree(&self, part: ContentSelection, own: &Url) -> ContentTree {
        self.build(part, Some(own))
    }

    /// Returns the text of the main content, with one line per block and tab-separated table rows.
    pub fn main_text(&self) -> String {
        self.build(ContentSelection::Main, None)
            .marked('\t', None)
            .text
    }

    /// Returns the level and text of each heading in the main content, down to the given level.
    pub fn main_headings(&self, max_level: u8) -> impl Iterator<Item = (u8, &str)> {
        self.main_blocks()
            .filter_map(move |block| block.heading(max_level))
    }

    /// Returns the first paragraph of the main content that looks like a sentence, or else the
    /// first paragraph.
    ///
    /// Cells, list items, captions, code and blocks of links are skipped. Paragraphs under the
    /// heading that repeats the title take precedence.
    pub fn first_sentence(&self) -> Option<&str> {
        let lines = self.main_blocks().filter_map(|block| {
            let level = match block.kind {
                BlockKind::Heading(level) => Some(level),
                BlockKind::Text if is_loose(&self.containers, block.container) => None,
                _ => return None,
            };
            Some(SummaryLine {
                text: block.text.trim(),
                level,
                linked: linked(block),
            })
        });
        first_sentence(self.title.as_deref().unwrap_or_default(), lines)
    }

    fn build(&self, part: ContentSelection, own: Option<&Url>) -> ContentTree {
        let builder = Builder::new(self, own);
        match part {
            ContentSelection::All => builder.build(self.blocks.iter()),
            ContentSelection::Main => builder.build(self.main_blocks()),
        }
    }

    pub(super) fn main_blocks(&self) -> impl Iterator<Item = &Block> {
        let is_matter = self.places();
        self.blocks
            .iter()
            .filter(move |block| is_matter(block.place))
    }

    /// Returns a predicate that selects the page parts that contain the main content.
    fn places(&self) -> fn(PagePart) -> bool {
        let bytes = |wanted: PagePart| {
            let blocks = self.blocks.iter().filter(|block| block.place == wanted);
            blocks.map(|block| block.text.len()).sum::<usize>()
        };
        let (articles, other) = (bytes(PagePart::Article), bytes(PagePart::Body));
        if bytes(PagePart::Main) > 0 {
            |place| place == PagePart::Main
        } else if articles > 0 && articles.saturating_mul(ARTICLES_SHARE) >= articles + other {
            // Articles with a smaller share of the text are teasers that link to other pages.
            |place| place == PagePart::Article
        } else if articles + other > 0 {
            |place| place != PagePart::Around
        } else {
            |_| true
        }
    }
}

impl Block {
    /// Returns the level and text of a heading whose level is at most `max_level`.
    pub(super) fn heading(&self, max_level: u8) -> Option<(u8, &str)> {
        match self.kind {
            BlockKind::Heading(level) if level <= max_level => Some((level, &self.text)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main_text(html: &str) -> String {
        Page::read(html).main_text()
    }

    #[test]
    fn main_element_is_the_main_content() {
        let page = Page::read(
            "<a href=#m>Skip</a><header>Site</header><article>Teaser</article>\
             <main><nav>Trail</nav><h1>Head</h1><article>Text</article></main><p>Loose<footer>Foot</footer>",
        );
        assert_eq!(page.main_text(), "Head\nText");
        assert_eq!(page.main_headings(6).collect::<Vec<_>>(), [(1, "Head")]);
        assert!(page.text().contains("Teaser") && page.text().contains("Foot"));
    }

    #[test]
    fn articles_are_the_main_content_unless_teasers() {
        let long = "A long text of the page. ".repeat(9);
        let long = long.trim_end();
        let article = format!("<div>Menu</div><article><p>{long}</article>");
        assert_eq!(main_text(&article), long);
        let teaser = format!("<p>{long}</p><article>New!</article><nav>Menu</nav>");
        assert_eq!(main_text(&teaser), format!("{long}\nNew!"));
    }

    #[test]
    fn unmarked_page_is_content_except_boilerplate() {
        assert_eq!(
            main_text("<nav>Menu</nav><p>Text<footer>Foot</footer>"),
            "Text"
        );
        assert_eq!(main_text("<nav>Menu</nav>"), "Menu");
        assert_eq!(main_text(""), "");
    }

    #[test]
    fn classes_mark_boilerplate() {
        for class in [
            "Breadcrumbs",
            "a breadcrumb b",
            "navbar",
            "navheader",
            "navfooter",
        ] {
            let html = format!("<div class='{class}'>Home</div><p>Text");
            assert_eq!(main_text(&html), "Text", "{class}");
        }
        let html = "<div class=footer>Foot</div><section><div class=footer>Sum</div></section>";
        assert_eq!(main_text(html), "Sum");
        assert_eq!(main_text("<p class=navigable>Text"), "Text");
    }

    #[test]
    fn navigation_names_need_links_to_count() {
        let text = "<p>Salt is what the sea leaves when the sun has taken the water away.";
        let links = "<h4>Sea</h4><a href=/a>Tides of the sea</a> <a href=/b>Winds of the sea</a>";
        let told = "Salt is what the sea leaves when the sun has taken the water away.";
        for around in [
            "class=t-navbar",
            "id=mainMenu",
            "class='x related-posts'",
            "id=contentSub",
            "class=tocset",
            "class='docnav top'",
        ] {
            let html = format!("<div {around}>{links}</div>{text}");
            assert_eq!(main_text(&html), told, "{around}");
            // Text content is never navigation, whatever its class.
            let html = format!("<div {around}>{text}</p><a href=/a>Tides</a></div>");
            assert_eq!(main_text(&html), format!("{told}\nTides"), "{around}");
        }
        let plain = format!("<div class=results>{links}</div>{text}");
        assert!(main_text(&plain).contains("Tides"));
    }

    #[test]
    fn links_before_title_and_translations_are_boilerplate() {
        let text = "<p>Salt is what the sea leaves when the sun has taken the water away.";
        let before =
            "<table><tr><td>[<a href=/o>Overview</a>][<a href=/t>Types</a>]<td>Unit</table>";
        let html = format!("{before}<h1>Salt</h1>{text}");
        assert!(main_text(&html).starts_with("Salt\nSalt is"));
        let html =
            format!("<p>A preface that says what is to come.<a href=/t>T</a><h1>Salt</h1>{text}");
        assert!(main_text(&html).starts_with("A preface"));
        // On a page without a main heading, the heading that repeats the title is used.
        let html = format!("<title>Salt | Sea</title>{before}<h2>Salt</h2>{text}");
        assert!(main_text(&html).starts_with("Salt\nSalt is"));
        let html = format!("<title>Sea</title>{before}<h2>Salt</h2>{text}");
        assert!(main_text(&html).starts_with("[Overview]"));
        let languages =
            "<p>Also in: <a href=/de hreflang=de>de</a> | <a href=/fr hreflang=fr>fr</a>";
        assert!(main_text(&format!("{text}{languages}")).ends_with("away."));
    }

    /// Returns a text that is long enough to be the main content.
    fn long() -> String {
        let sentence = "Salt is what the sea leaves when the sun has taken the water away. ";
        format!("<p>{}</p>", sentence.repeat(10))
    }

    #[test]
    fn comments_and_ads_are_secondary_content() {
        let (long, other) = (long(), "<h3>Ann</h3><p>I have never seen it.</p>");
        for class in [
            "comments",
            "c-related-posts",
            "adSlot ads",
            "newsletter-wrapper",
        ] {
            let html = format!("<h1>Salt</h1>{long}<div class='{class}'>{other}</div>");
            assert!(!main_text(&html).contains("never"), "{class}");
            // On a page with little other text, the comments may be the main content, as in a
            // forum.
            let html = format!("<h1>Salt</h1><div class='{class}'>{other}</div>");
            assert!(main_text(&html).contains("never"), "{class}");
            // The element that contains the title is the main content.
            let html = format!("{long}<div class='{class}'><h1>Salt</h1>{other}</div>");
            assert!(main_text(&html).contains("never"), "{class}");
            let html = format!(
                "<title>Salt | Sea</title>{long}<div class='{class}'><h2>Salt</h2>{other}</div>"
            );
            assert!(main_text(&html).contains("never"), "{class}");
        }
        for box_of_it in [
            "<div class=page-with-ads>",
            "<section id=comments>",
            "<div class=sidebar>",
            "<table class=related><tr><td>",
        ] {
            let html = format!("<h1>Salt</h1>{long}{box_of_it}{other}");
            assert!(main_text(&html).contains("never"), "{box_of_it}");
        }
        // The outer element contains the title and is kept, but the inner element is secondary
        // content.
        let html =
            format!("<div class=social><h1>Salt</h1>{long}<div class=comment>{other}</div></div>");
        assert!(main_text(&html).ends_with("water away."));
    }

    #[test]
    fn single_article_text_and_its_title_are_the_main_content() {
        let long = long();
        let head = "<p>The harbour today</p><h1>Salt</h1><p>How it is made.</p>";
        let foot = "<p>Read on in our other papers, each week.</p>";
        for text in [
            "<div class='c-news__body'>",
            "<div id=storytext>",
            "<section itemprop=articleBody>",
            "<div class=entry-content>",
        ] {
            let end = if text.starts_with("<div") {
                "</div>"
            } else {
                "</section>"
            };
            let told = main_text(&format!("{head}{text}{long}{end}{foot}"));
            assert!(told.starts_with("Salt\nHow it is made.\nSalt is"), "{told}");
            assert!(told.ends_with("water away."), "{told}");
            // If there are several articles, or only a small one, no article is treated as the main
            // content.
            let told = main_text(&format!("{head}{text}{long}{end}{text}{long}{end}{foot}"));
            assert!(
                told.starts_with("The harbour") && told.ends_with("week."),
                "{told}"
            );
            let told = main_text(&format!("{head}{text}<p>Soon.</p>{end}{long}{foot}"));
            assert!(
                told.starts_with("The harbour") && told.ends_with("week."),
                "{told}"
            );
        }
        // Other parts that contain only links do not replace the article.
        let links =
            "<main><div class=menu><a href=/t>Tides of the sea</a></div><p>In short.</main>";
        let told = main_text(&format!("{links}<div class=post-body>{long}</div>"));
        assert!(told.starts_with("Salt is"), "{told}");
        let all = long.repeat(5);
        let told = main_text(&format!(
            "{head}<div class=post-body>{long}</div>{all}{foot}"
        ));
        assert!(
            told.starts_with("The harbour") && told.ends_with("week."),
            "{told}"
        );
    }

    #[test]
    fn table_of_contents_is_boilerplate() {
        let text = "<p>Salt is what the sea leaves when the sun has taken the water away.";
        let contents =
            "<ul><li><a href=#a>One</a><li><a href=#b>Two</a><li><a href=#c>Three</a></ul>";
        assert!(!main_text(&format!("{contents}{text}")).contains("Two"));
        let elsewhere = contents.replace('#', "/");
        assert!(main_text(&format!("{elsewhere}{text}")).contains("Two"));
        let folded = format!("<details id=toc><summary>Contents</summary>{elsewhere}</details>");
        assert!(!main_text(&format!("{folded}{text}")).contains("Contents"));
    }

    #[test]
    fn arrows_to_other_pages_are_boilerplate() {
        let arrow = "<a href=/b><img src=/next.png alt=Next></a>";
        let text = "<p>Salt is what the sea leaves when the sun has taken the water away.";
        let own = Url::parse("https://example.org/a").unwrap();
        let pieces = |html: &str| {
            Page::read(html)
                .content_tree(ContentSelection::Main, &own)
                .pieces
        };
        let html = format!("<div class=spirit-nav>{arrow}</div>{text}");
        assert_eq!(pieces(&html), pieces(text));
        let html = format!("<div class=plate>{arrow}</div>{text}");
        assert_eq!(pieces(&html).len(), 2, "the page's own picture is kept");
    }

    #[test]
    fn first_sentence_is_taken_from_below_the_title() {
        let text = "<p>Salt is what the sea leaves when the sun has taken the water away.";
        let told = "Salt is what the sea leaves when the sun has taken the water away.";
        let site = "<div>The library of the harbour, since 1843.</div>";
        let way = "<p><a href=/>The harbour and all of its islands</a> / <a href=/s>Sea.</a>";
        let list = "<ul><li>A list of what the sea leaves to those who wait.</ul>";
        let page = format!("<title>Salt</title>{site}<h2>Salt</h2>{way}{list}{text}");
        assert_eq!(Page::read(&page).first_sentence(), Some(told));
        let page = format!("<title>Sea</title>{site}<h2>Salt</h2>{text}");
        let first = Page::read(&page).first_sentence().map(str::to_owned);
        assert_eq!(
            first.as_deref(),
            Some("The library of the harbour, since 1843.")
        );
        let page = format!("<h1>Salt</h1>{way}{list}");
        assert_eq!(Page::read(&page).first_sentence(), None);
    }

    #[test]
    fn list_of_links_is_content_if_nothing_else_remains() {
        let html =
            "<h1>Index</h1><p>21 pages<div class=menu><a href=/a>Salt</a><a href=/b>Sea</a></div>";
        assert_eq!(main_text(html), "Index\n21 pages\nSaltSea");
        let html = "<nav><a href=/c>Home</a></nav><h1>Index</h1>";
        assert_eq!(main_text(html), "Index");
    }

    #[test]
    fn endless_elements_are_read_in_linear_time() {
        let html = "<div class=menu><a href=#a>x</a>".repeat(20_000);
        assert!(main_text(&html).starts_with('x'));
        let html = "<div class='comments entry-content'><p>x".repeat(20_000);
        assert!(main_text(&html).starts_with('x'));
        let html = "<div class=comments><p>x</div>".repeat(20_000);
        assert!(main_text(&html).starts_with('x'));
    }

    #[test]
    fn data_rows_become_lines() {
        let table = "<table><tr><th>Tide<th>Height<tr><td>High<td>4 m<tr><td><td>1 m</table><p>End";
        assert_eq!(main_text(table), "Tide\tHeight\nHigh\t4 m\n\t1 m\nEnd");
        let gap = "<table><tr><td>a<td><td>c<tr><td><td>b<td>c</table>";
        assert_eq!(main_text(gap), "a\t\tc\n\tb\tc");
        assert_eq!(Page::read(gap).text(), "a\nc\nb\nc");
    }

    #[test]
    fn layout_rows_do_not_become_lines() {
        let layout = "<table><tr><td>Menu<td><h1>Head</h1><p>One<p>Two</table>";
        assert_eq!(main_text(layout), "Menu\nHead\nOne\nTwo");
        let nested = "<table><tr><td>a<td>b<table><tr><td>c<td>d</table>e</table>";
        assert_eq!(main_text(nested), "a\nb\nc\td\ne");
    }
}
