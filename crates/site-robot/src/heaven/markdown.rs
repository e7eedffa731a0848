//! Markdown rendition of a page, and llms.txt.

use std::fmt::Write as _;

use super::{
    Catalogue, HeavenSettings,
    content::Content,
    feed_item::FeedItem,
    files::LLMS_FULL,
    links::Site,
    markdown_line::{add_text, text},
    markdown_text::{heading, pieces, without_closing},
    text::shorten,
    view::View,
};
use crate::matter::Line;
use robot_detection_store::description::ResourceDescription;

/// Pages that llms.txt lists.
pub(super) const MAX_PAGES: usize = 200;
/// Bytes of a note behind a link.
const MAX_NOTE_BYTES: usize = 160;

/// Returns a page in Markdown (`CommonMark`): the same words in the same order.
#[must_use]
pub fn markdown(
    description: &ResourceDescription,
    catalogue: &Catalogue,
    settings: &HeavenSettings,
) -> String {
    of_content(&Content::new(description), catalogue, settings)
}

pub(super) fn of_content(
    content: &Content<'_>,
    catalogue: &Catalogue,
    settings: &HeavenSettings,
) -> String {
    let site = Site {
        catalogue,
        settings,
    };
    let said = |text: &str| heading(&Line::plain(text), site);
    let mut out = format!("# {}\n", said(&content.heading));
    // Writing into a string never fails.
    if let Some(lead) = content.lead() {
        let _ = write!(out, "\n> {}\n", said(lead));
    }
    let text = pieces(&content.matter.pieces, site);
    if !text.is_empty() {
        let _ = write!(out, "\n{text}\n");
    }
    let url = Target(content.url);
    let _ = write!(out, "\n[{}]({url})\n", said(content.url));
    out
}

/// Returns what site it is.
pub(super) fn title(settings: &HeavenSettings) -> String {
    let mut out = format!("# {}\n", without_closing(text(settings.site_name())));
    if !settings.about().is_empty() {
        let _ = write!(out, "\n> {}\n", text(settings.about()));
    }
    out
}

/// Returns llms.txt: where to begin (llmstxt.org); `has_full` says whether llms-full.txt is there.
pub(super) fn llms(
    pages: &[FeedItem],
    catalogue: &Catalogue,
    settings: &HeavenSettings,
    has_full: bool,
) -> String {
    let mut out = title(settings);
    out.push_str("\n## Pages\n\n");
    for page in pages {
        let path = settings.page(&page.url);
        let below = if settings.has_markdown() {
            path.markdown()
        } else {
            path.link().to_owned()
        };
        let note = shorten(&page.summary, MAX_NOTE_BYTES);
        link(&page.title, &settings.whole(&below), &note, &mut out);
    }
    out.push_str("\n## Optional\n\n");
    for view in View::ALL {
        let count = catalogue.count(view);
        if count > 0 {
            let note = format!("{count}, {} a page", super::catalogue::PAGE_LINKS);
            link(
                view.heading(),
                &settings.whole(&view.path(1)),
                &note,
                &mut out,
            );
        }
    }
    let full = ("All of these pages", LLMS_FULL, "as one file");
    let full = has_full.then_some(full).into_iter();
    for (title, file, note) in full.chain([
        ("Sitemap", "sitemap.xml", "every page and when it changed"),
        ("Resource descriptions", "rd.jsonl", "a line of JSON each"),
    ]) {
        link(title, &settings.whole(file), note, &mut out);
    }
    out
}

/// Adds an item that leads to a page, and what is there.
pub(super) fn link(title: &str, url: &str, note: &str, out: &mut String) {
    out.push_str("- [");
    add_text(out, title, true);
    let _ = write!(out, "]({})", Target(url));
    if !note.is_empty() {
        out.push_str(": ");
        add_text(out, note, false);
    }
    out.push('\n');
}

/// Target of a link (`CommonMark` §6.3).
pub(super) struct Target<'t>(pub(super) &'t str);

impl std::fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '(' | ')' | '<' | '>' | '\\' | '*' => {
                    write!(f, "%{:02X}", u32::from(character))?;
                }
                '&' => f.write_str("&amp;")?,
                _ if character.is_whitespace() || character.is_control() => {}
                _ => f.write_char(character)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heaven::CatalogueBuilder;
    use robot_detection_store::description::name;

    fn description(title: &str, text: &str) -> ResourceDescription {
        let mut description = ResourceDescription::new("https://a.example/a_(b)?c&d");
        description.set(name::TITLE, title);
        description.set(name::FULL_TEXT, text);
        description.set(name::TABLE_OF_CONTENTS, "One\n  Two");
        description
    }

    fn told(description: &ResourceDescription) -> String {
        let settings = HeavenSettings::new("https://a.example").unwrap();
        markdown(description, &Catalogue::default(), &settings)
    }

    #[test]
    fn a_page_is_told_in_markdown() {
        let told = told(&description("A page", "First.\nOne\nSecond."));
        assert_eq!(
            told,
            "# A page\n\nFirst.\n\n## One\n\nSecond.\n\n\
             [https://a.example/a\\_(b)?c&d](https://a.example/a_%28b%29?c&amp;d)\n"
        );
    }

    #[test]
    fn a_table_is_one_of_markdown() {
        let told = told(&description("T", "a|\tb\n1\t2\nEnd."));
        assert!(
            told.contains("\n| a\\| | b |\n| --- | --- |\n| 1 | 2 |\n\nEnd.\n"),
            "{told}"
        );
    }

    #[test]
    fn text_is_never_mark_up() {
        for (plain, written) in [
            ("- item", "\\- item"),
            ("1. item", "1\\. item"),
            ("12) item", "12\\) item"),
            ("1.5 is 1.5", "1.5 is 1.5"),
            ("# heading", "\\# heading"),
            ("> quote", "\\> quote"),
            ("===", "\\==="),
            ("[a](javascript:x)", "\\[a\\](javascript:x)"),
            ("<script>", "\\<script>"),
            (
                "&amp; `x` *y* _z_ ~~s~~",
                "\\&amp; \\`x\\` \\*y\\* \\_z\\_ \\~\\~s\\~\\~",
            ),
            ("a - b + c", "a - b + c"),
        ] {
            assert_eq!(text(plain), written);
        }
    }

    #[test]
    fn nothing_is_escaped_that_is_no_mark_up() {
        for (title, note) in [
            (
                "3.11.2 Documentation",
                "a - b + c = d, 50 % of snake_case & more",
            ),
            ("3. An Informal Introduction", "1) first"),
            ("C# and F#", "x < y > z"),
        ] {
            let mut line = String::new();
            link(title, "https://a.example/", note, &mut line);
            assert_eq!(line, format!("- [{title}](https://a.example/): {note}\n"));
        }
    }

    #[test]
    fn llms_txt_has_the_form_of_one() {
        let settings = HeavenSettings::new("https://a.example")
            .unwrap()
            .name("A *site*")
            .summary("What it is.");
        let description = description("A [page]", "Text.");
        let mut builder = CatalogueBuilder::default();
        builder.add(&description);
        let catalogue = builder.build(&settings);
        let told = llms(
            &[FeedItem::new(&description).unwrap()],
            &catalogue,
            &settings,
            true,
        );
        assert!(told.contains("](https://a.example/robot-heaven/llms-full.txt): as one file\n"));
        assert!(told.starts_with("# A \\*site\\*\n\n> What it is.\n\n## Pages\n\n- [A \\[page\\]](https://a.example/robot-heaven/"));
        assert!(
            told.contains(".htm.md): Text.\n\n## Optional\n\n- [Pages by title]"),
            "{told}"
        );
        assert!(
            told.lines()
                .all(|line| line.is_empty() || line.starts_with(['#', '>', '-']))
        );
    }
}
