//! Files of robot heaven other than heaven pages, such as llms.txt and the style sheet.

use std::{
    collections::HashSet,
    fmt::Write as _,
    io::{self, Write},
};

use super::{
    Catalogue, HeavenSettings,
    catalogue::PAGE_LINKS,
    feed::{self, FeedItem},
    index,
    markdown::without_closing,
    markdown_line::{Target, add_text, text as escaped},
    sitemap,
    text::shorten,
    view::View,
};

/// Style sheet that all pages use.
pub(super) const STYLE: &str = include_str!("../../robot-heaven/heaven.css");

/// File name of the style sheet.
pub(super) const STYLE_FILE: &str = "heaven.css";

/// File name of llms.txt.
pub(super) const LLMS: &str = "llms.txt";

/// File name of llms-full.txt, which contains the text of the listed pages.
pub(super) const LLMS_FULL: &str = "llms-full.txt";

/// Maximum length of the note that follows a link in llms.txt, in bytes.
const MAX_NOTE_BYTES: usize = 160;

/// Maximum size of llms-full.txt, in bytes.
///
/// Clients load the complete file, and language models read at most about half a million words.
const MAX_FULL_BYTES: usize = 2 * 1024 * 1024;

/// Builder of llms-full.txt.
#[derive(Debug)]
pub(super) struct LlmsFull {
    text: String,
}

impl LlmsFull {
    pub(super) fn new(settings: &HeavenSettings) -> Self {
        Self {
            text: title(settings),
        }
    }

    /// Appends a page in Markdown format; returns `false` if the page does not fit into the file.
    pub(super) fn add(&mut self, page: &str) -> bool {
        let has_room = self.text.len() + page.len() < MAX_FULL_BYTES;
        if has_room {
            self.text.push_str("\n---\n\n");
            self.text.push_str(page);
        }
        has_room
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Returns the URLs of the pages listed in the feed and in llms.txt.
pub(super) fn listed_urls(catalogue: &Catalogue) -> HashSet<Box<str>> {
    let newest = catalogue.newest(feed::MAX_ENTRIES).into_iter();
    let nearest = catalogue.nearest();
    newest
        .chain(nearest)
        .map(|entry| entry.url.clone())
        .collect()
}

/// Returns llms.txt, which lists the pages nearest to the starting points; `has_full` adds a link
/// to llms-full.txt.
pub(super) fn llms(
    briefs: &[FeedItem],
    catalogue: &Catalogue,
    settings: &HeavenSettings,
    has_full: bool,
) -> String {
    let nearest = catalogue.nearest().into_iter();
    let listed = nearest.filter_map(|entry| briefs.iter().find(|brief| *brief.url == *entry.url));
    write_llms(listed, catalogue, settings, has_full)
}

/// Returns the site's title block, which consists of its name and description.
pub(super) fn title(settings: &HeavenSettings) -> String {
    let mut out = format!("# {}\n", without_closing(escaped(settings.site_name())));
    if !settings.about().is_empty() {
        let _ = write!(out, "\n> {}\n", escaped(settings.about()));
    }
    out
}

/// Formats llms.txt (see llmstxt.org); `has_full` adds a link to llms-full.txt.
fn write_llms<'i>(
    pages: impl Iterator<Item = &'i FeedItem>,
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
    for &view in View::ALL {
        let count = catalogue.count(view);
        if count > 0 {
            let note = format!("{count} pages, {PAGE_LINKS} per index page");
            link(
                view.heading(settings.texts()),
                &settings.whole(&view.path(1)),
                &note,
                &mut out,
            );
        }
    }
    let full = ("All of these pages", LLMS_FULL, "in one file");
    let full = has_full.then_some(full).into_iter();
    for (title, file, note) in full.chain([
        (
            "Sitemap",
            "sitemap.xml",
            "all pages with their modification dates",
        ),
        (
            "Resource descriptions",
            "rd.jsonl",
            "one JSON object per line",
        ),
    ]) {
        link(title, &settings.whole(file), note, &mut out);
    }
    out
}

/// Adds a list item with a link and a note.
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

/// Returns the paths of the start page, the style sheet and all index pages.
pub(super) fn listings(catalogue: &Catalogue) -> impl Iterator<Item = String> {
    let indexes = View::ALL.iter().flat_map(|&view| {
        let last = catalogue.listing(view, 1).map_or(0, |first| first.last);
        (1..=last).map(move |number| match number {
            1 => format!("{}index.html", view.path(1)),
            _ => view.path(number),
        })
    });
    let fixed = ["index.html", STYLE_FILE].map(str::to_owned);
    fixed.into_iter().chain(indexes)
}

/// Returns the content of the start page, the style sheet or an index page.
pub(super) fn text(path: &str, catalogue: &Catalogue, settings: &HeavenSettings) -> Option<String> {
    match path {
        "index.html" => return Some(index::start(catalogue, settings)),
        STYLE_FILE => return Some(STYLE.to_owned()),
        _ => {}
    }
    let (view, file) = path.strip_prefix("by/")?.split_once('/')?;
    let view = View::from_word(view)?;
    let number = match file {
        "index.html" => 1,
        _ => file.strip_suffix(".html")?.parse().ok()?,
    };
    // Each page has exactly one path, so neither `1.html` nor `02.html` exists.
    let is_its_name = number == 1 || view.path(number).ends_with(&format!("/{file}"));
    let is_first = (number == 1) == (file == "index.html");
    (is_its_name && is_first).then(|| index::listing(view, number, catalogue, settings))?
}

/// Writes a sitemap, or the sitemap index if `number` is 0.
pub(super) fn sitemap(
    number: usize,
    catalogue: &Catalogue,
    settings: &HeavenSettings,
    out: &mut impl Write,
) -> io::Result<()> {
    match number.checked_sub(1) {
        None => sitemap::write_index(catalogue.sitemap_dates(), settings, out),
        Some(at) => {
            let entries = catalogue.sitemaps().nth(at).unwrap_or_default();
            sitemap::write(entries, number, settings, out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heaven::CatalogueBuilder;
    use robot_detection_store::description::{ResourceDescription, name};

    #[test]
    fn plain_text_is_not_escaped() {
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
    fn llms_txt_is_well_formed() {
        let settings = HeavenSettings::new("https://a.example")
            .unwrap()
            .name("A *site*")
            .summary("What it is.");
        let mut description = ResourceDescription::new("https://a.example/a_(b)?c&d");
        description.set(name::TITLE, "A [page]");
        description.set(name::FULL_TEXT, "Text.");
        let mut builder = CatalogueBuilder::default();
        builder.add(&description);
        let catalogue = builder.build(&settings);
        let told = write_llms(
            [&FeedItem::new(&description).unwrap()].into_iter(),
            &catalogue,
            &settings,
            true,
        );
        assert!(told.contains("](https://a.example/robot-heaven/llms-full.txt): in one file\n"));
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
