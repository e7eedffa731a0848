//! A page of the demonstration: what is its own, in the frame that all share.

use std::fmt;

use askama::{Template, filters::HtmlSafe};

/// Page of the demonstration site.
///
/// It is read from a file of this program: lines such as `title: …`, an empty
/// line, and the mark-up of the main part.
#[derive(Debug, Default, Template)]
#[template(path = "demo/page.html")]
pub(super) struct DemoPage {
    title: &'static str,
    /// Name and content of META tags.
    metas: Vec<(&'static str, &'static str)>,
    /// Link of the navigation that leads here.
    here: &'static str,
    content: OwnHtml,
}

/// Mark-up that comes with the program.
#[derive(Debug, Default)]
struct OwnHtml(&'static str);

impl DemoPage {
    const LINKS: [(&'static str, &'static str); 4] = [
        ("/", "Welcome"),
        ("/about.html", "About"),
        ("/members-only-stuff/", "Members"),
        ("/robot-heaven/", "Robot heaven"),
    ];

    /// Returns a page as it is sent.
    pub(super) fn html(file: &'static str) -> String {
        let (head, content) = file.split_once("\n\n").unwrap_or(("", file));
        let mut page = Self {
            content: OwnHtml(content.trim_end()),
            ..Self::default()
        };
        for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
            match name {
                "title" => page.title = value,
                "here" => page.here = value,
                _ => page.metas.push((name, value)),
            }
        }
        // Writing into a string never fails.
        page.render().unwrap_or_default()
    }
}

impl fmt::Display for OwnHtml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// It is ours, not of anybody who visits.
impl HtmlSafe for OwnHtml {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stands_in_the_frame_that_all_share() {
        let page =
            DemoPage::html("title: A & B\nauthor: Me\nhere: /about.html\n\n<h1>A</h1>\n\n<p>b\n");
        for part in [
            "<title>A &#38; B</title>",
            "<meta name=\"author\" content=\"Me\">",
            "<a href=\"/about.html\" aria-current=\"page\">About</a>",
            "<a href=\"/\">Welcome</a>",
            "<main id=\"main\">\n<h1>A</h1>\n\n<p>b\n  </main>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
