//! Markdown rendition of a page, and llms.txt.

use std::fmt::Write as _;

use super::{
    Catalogue, HeavenSettings,
    brief::Brief,
    content::{Block, Content},
    text::shorten,
    view::View,
};
use crate::description::ResourceDescription;

/// Pages that llms.txt lists.
pub(super) const MAX_PAGES: usize = 200;
/// Bytes of a note behind a link.
const MAX_NOTE_BYTES: usize = 160;

/// Returns a page in Markdown (`CommonMark`): the same words in the same order.
#[must_use]
pub fn markdown(description: &ResourceDescription) -> String {
    let content = Content::new(description);
    let mut out = format!("# {}\n", Escaped(&content.title));
    // Writing into a string never fails.
    if let Some(lead) = content.lead() {
        let _ = write!(out, "\n> {}\n", Escaped(lead));
    }
    for block in &content.blocks {
        let _ = match block {
            Block::Heading(heading) => {
                let marks = "#".repeat(usize::from(heading.level));
                write!(out, "\n{marks} {}\n", Escaped(&heading.text))
            }
            Block::Paragraph(text) => write!(out, "\n{}\n", Escaped(text)),
        };
    }
    let _ = write!(
        out,
        "\n[{}]({})\n",
        Escaped(content.url),
        Target(content.url)
    );
    out
}

/// Returns llms.txt: where to begin (llmstxt.org).
pub(super) fn llms(pages: &[Brief], catalogue: &Catalogue, settings: &HeavenSettings) -> String {
    let mut out = format!("# {}\n", Escaped(settings.site_name()));
    if !settings.about().is_empty() {
        let _ = write!(out, "\n> {}\n", Escaped(settings.about()));
    }
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
    for (title, file, note) in [
        ("Sitemap", "sitemap.xml", "every page and when it changed"),
        ("Resource descriptions", "rd.jsonl", "a line of JSON each"),
    ] {
        link(title, &settings.whole(file), note, &mut out);
    }
    out
}

fn link(title: &str, url: &str, note: &str, out: &mut String) {
    let _ = write!(out, "- [{}]({})", Escaped(title), Target(url));
    if !note.is_empty() {
        let _ = write!(out, ": {}", Escaped(note));
    }
    out.push('\n');
}

/// Text on one line, in which nothing is mark-up (`CommonMark` §2.4).
struct Escaped<'t>(&'t str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut begins = true;
        let mut is_number = true;
        for character in self.0.chars() {
            let is_mark = match character {
                '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '|' | '~' | '#' => true,
                // Of lists and rules, where a line begins.
                '-' | '+' | '=' => begins,
                '.' | ')' => is_number && !begins,
                _ => false,
            };
            if is_mark {
                f.write_char('\\')?;
            }
            is_number = is_number && character.is_ascii_digit();
            begins = false;
            f.write_char(if character == '\n' { ' ' } else { character })?;
        }
        Ok(())
    }
}

/// Target of a link (`CommonMark` §6.3).
struct Target<'t>(&'t str);

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
    use crate::description::name;
    use crate::heaven::CatalogueBuilder;

    fn description(title: &str, text: &str) -> ResourceDescription {
        let mut description = ResourceDescription::new("https://a.example/a_(b)?c&d");
        description.set(name::TITLE, title);
        description.set(name::FULL_TEXT, text);
        description.set(name::TABLE_OF_CONTENTS, "One\n  Two");
        description
    }

    #[test]
    fn a_page_is_told_in_markdown() {
        let told = markdown(&description("A page", "First.\nOne\nSecond."));
        assert_eq!(
            told,
            "# A page\n\nFirst.\n\n## One\n\nSecond.\n\n\
             [https://a.example/a\\_(b)?c\\&d](https://a.example/a_%28b%29?c&amp;d)\n"
        );
    }

    #[test]
    fn text_is_never_mark_up() {
        for (text, written) in [
            ("- item", "\\- item"),
            ("1. item", "1\\. item"),
            ("12) item", "12\\) item"),
            ("1.5 is 1.5", "1\\.5 is 1.5"),
            ("# heading", "\\# heading"),
            ("> quote", "\\> quote"),
            ("===", "\\==="),
            ("[a](javascript:x)", "\\[a\\](javascript:x)"),
            ("<script>", "\\<script\\>"),
            (
                "&amp; `x` *y* _z_ ~~s~~",
                "\\&amp; \\`x\\` \\*y\\* \\_z\\_ \\~\\~s\\~\\~",
            ),
            ("a - b + c", "a - b + c"),
        ] {
            assert_eq!(Escaped(text).to_string(), written);
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
        let told = llms(&[Brief::new(&description).unwrap()], &catalogue, &settings);
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
