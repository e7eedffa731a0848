//! The main matter of a page: its text without what stands around it.

use super::page::{Block, BlockKind, Page, PagePart, add_line, length};

/// Bytes of a cell beyond which a row is no row of a table of data.
const MAX_CELL_BYTES: usize = 300;
/// Columns of a table of data, at most.
const MAX_COLUMNS: u32 = 50;
/// Articles hold at least this share of what could be the matter, if they are it.
const ARTICLES_SHARE: usize = 4;

impl Page {
    /// Returns the text of the main matter: a block a line, a table's row a line with tabs.
    ///
    /// That is what stands in `<main>`. Where there is none it is the articles,
    /// if they are more than teasers, else all but navigation, headers and
    /// footers. Of a page that has nothing else, it is all text.
    #[must_use]
    pub fn main_text(&self) -> String {
        let blocks: Vec<&Block> = self.main_blocks().collect();
        let are_one_row = |a: &&Block, b: &&Block| {
            let rows = a.cell.zip(b.cell);
            rows.is_some_and(|(a, b)| a.row == b.row)
        };
        let mut text = String::with_capacity(length(blocks.iter().copied()));
        for row in blocks.chunk_by(are_one_row) {
            match line_of_row(row) {
                Some(line) => add_line(&mut text, &line),
                None => row
                    .iter()
                    .for_each(|block| add_line(&mut text, &block.text)),
            }
        }
        text
    }

    /// Returns level and text of each heading of the main matter down to a level.
    pub fn main_headings(&self, max_level: u8) -> impl Iterator<Item = (u8, &str)> {
        self.main_blocks()
            .filter_map(move |block| block.heading(max_level))
    }

    fn main_blocks(&self) -> impl Iterator<Item = &Block> {
        let is_matter = self.matter();
        self.blocks
            .iter()
            .filter(move |block| is_matter(block.place))
    }

    /// Returns which places hold the main matter.
    fn matter(&self) -> fn(PagePart) -> bool {
        let bytes = |wanted: PagePart| {
            let blocks = self.blocks.iter().filter(|block| block.place == wanted);
            blocks.map(|block| block.text.len()).sum::<usize>()
        };
        let (articles, other) = (bytes(PagePart::Article), bytes(PagePart::Body));
        if bytes(PagePart::Main) > 0 {
            |place| place == PagePart::Main
        } else if articles > 0 && articles.saturating_mul(ARTICLES_SHARE) >= articles + other {
            // Less than that are teasers, which lead to articles elsewhere.
            |place| place == PagePart::Article
        } else if articles + other > 0 {
            |place| place != PagePart::Around
        } else {
            |_| true
        }
    }
}

impl Block {
    /// Returns level and text of a heading down to a level.
    pub(super) fn heading(&self, max_level: u8) -> Option<(u8, &str)> {
        match self.kind {
            BlockKind::Heading(level) if level <= max_level => Some((level, &self.text)),
            _ => None,
        }
    }
}

/// Returns the cells of a row with tabs between them; none where pages are laid out by it.
fn line_of_row(row: &[&Block]) -> Option<String> {
    if row.len() < 2 {
        return None;
    }
    let mut line = String::new();
    let mut column = 0;
    for (at, block) in row.iter().enumerate() {
        let cell = block.cell?;
        let is_next = at == 0 || cell.column > column;
        // A table with long cells, or with headings in them, lays a page out.
        let is_short = block.kind == BlockKind::Text && block.text.len() <= MAX_CELL_BYTES;
        if !is_next || !is_short || cell.column > MAX_COLUMNS {
            return None;
        }
        for _ in column..cell.column {
            line.push('\t');
        }
        line.push_str(&block.text);
        column = cell.column;
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main_text(html: &str) -> String {
        Page::read(html).main_text()
    }

    #[test]
    fn the_main_part_is_the_matter() {
        let page = Page::read(
            "<a href=#m>Skip</a><header>Site</header><article>Teaser</article>\
             <main><nav>Trail</nav><h1>Head</h1><article>Text</article></main><p>Loose<footer>Foot</footer>",
        );
        assert_eq!(page.main_text(), "Head\nText");
        assert_eq!(page.main_headings(6).collect::<Vec<_>>(), [(1, "Head")]);
        assert!(page.text().contains("Teaser") && page.text().contains("Foot"));
    }

    #[test]
    fn articles_are_the_matter_unless_they_are_teasers() {
        let long = "A long text of the page. ".repeat(9);
        let long = long.trim_end();
        let article = format!("<div>Menu</div><article><p>{long}</article>");
        assert_eq!(main_text(&article), long);
        let teaser = format!("<p>{long}</p><article>New!</article><nav>Menu</nav>");
        assert_eq!(main_text(&teaser), format!("{long}\nNew!"));
    }

    #[test]
    fn without_marks_it_is_all_but_what_stands_around() {
        assert_eq!(
            main_text("<nav>Menu</nav><p>Text<footer>Foot</footer>"),
            "Text"
        );
        assert_eq!(main_text("<nav>Menu</nav>"), "Menu");
        assert_eq!(main_text(""), "");
    }

    #[test]
    fn a_class_tells_what_stands_around() {
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
    fn rows_of_data_are_lines() {
        let table = "<table><tr><th>Tide<th>Height<tr><td>High<td>4 m<tr><td><td>1 m</table><p>End";
        assert_eq!(main_text(table), "Tide\tHeight\nHigh\t4 m\n1 m\nEnd");
        let gap = "<table><tr><td>a<td><td>c<tr><td><td>b<td>c</table>";
        assert_eq!(main_text(gap), "a\t\tc\n\tb\tc");
        assert_eq!(Page::read(gap).text(), "a\nc\nb\nc");
    }

    #[test]
    fn rows_that_lay_out_a_page_are_none() {
        let layout = "<table><tr><td>Menu<td><h1>Head</h1><p>One<p>Two</table>";
        assert_eq!(main_text(layout), "Menu\nHead\nOne\nTwo");
        let nested = "<table><tr><td>a<td>b<table><tr><td>c<td>d</table>e</table>";
        assert_eq!(main_text(nested), "a\tb\nc\nd\ne");
    }
}
