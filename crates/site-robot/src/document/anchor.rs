//! Signs at the ends of headings that lead to the headings themselves.

use super::structure::{Mark, Span};

const SIGNS: [&str; 4] = ["#", "¶", "§", "🔗"];

/// Takes such a sign off the text of a heading.
pub(super) fn take_sign_off(text: &mut String, spans: &mut Vec<Span>) {
    let is_sign = |part: Option<&str>| part.is_some_and(|part| SIGNS.contains(&part.trim()));
    let is_link = |span: &Span| matches!(span.mark, Mark::Style(style) if style.link > 0);
    let last = spans.iter().rposition(is_link);
    if let Some((last, at)) = last.and_then(|last| Some((last, spans.get(last)?.at)))
        && is_sign(text.get(at..))
        && let length @ 1.. = text.get(..at).unwrap_or_default().trim_end().len()
    {
        text.truncate(length);
        spans.truncate(last);
    }
    if let [first, second, ..] = spans.as_slice()
        && is_link(first)
        && is_sign(text.get(..second.at))
    {
        let rest = text.get(second.at..).unwrap_or_default().trim_start();
        let length = text.len() - rest.len();
        text.drain(..length);
        spans.remove(0);
        for span in spans {
            span.at = span.at.saturating_sub(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Page;

    #[test]
    fn a_heading_is_told_without_the_sign_that_leads_to_it() {
        for (html, expected) in [
            (
                "<h2>Salt<span><a class=mark href=#s>#</a></span></h2>",
                "Salt",
            ),
            ("<h2 id=s>Salt <a href=#s>¶</a></h2>", "Salt"),
            (
                "<h2><a href=#s>§</a> <b>Salt</b> of the sea</h2>",
                "Salt of the sea",
            ),
            ("<h2><a href=/c>C#</a></h2>", "C#"),
            (
                "<h2>Rooms of <a href=/irc>#</a> salt</h2>",
                "Rooms of # salt",
            ),
            ("<h2><a href=#s>#</a></h2>", "#"),
            ("<h2>Salt #</h2>", "Salt #"),
        ] {
            let page = Page::read(&format!("{html}<p>Text."));
            assert_eq!(page.main_headings(6).next(), Some((2, expected)), "{html}");
            assert_eq!(page.main_text(), format!("{expected}\nText."), "{html}");
        }
    }
}
