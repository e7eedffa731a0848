//! Searches for the sentence that summarizes a page.

use super::tree::{ContentTree, Line, Piece, Run};

/// Separators between the parts of a title.
const BETWEEN: &str = ":|–—-·•»«/>~";

/// Minimum share of link text, in percent, for a paragraph to be skipped as navigation.
const MIN_LINKED_PERCENT: usize = 50;

/// A line of a page, as a candidate for the sentence that summarizes the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SummaryLine<S> {
    pub(crate) text: S,
    /// Level of a heading; `None` for a paragraph.
    pub(crate) level: Option<u8>,
    /// Number of bytes of link text.
    pub(crate) linked: usize,
}

impl ContentTree {
    /// Returns the first paragraph that looks like a sentence, or else the first paragraph.
    ///
    /// Paragraphs after the heading that matches the title, or else after the main heading, take
    /// precedence over earlier paragraphs. Paragraphs that consist of links or are inside lists,
    /// tables or quotations are skipped.
    pub fn first_sentence(&self, title: &str) -> Option<String> {
        let told = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Heading(level, line) => Some(told(line, Some(*level))),
            Piece::Paragraph(line) => Some(told(line, None)),
            _ => None,
        });
        first_sentence(title, told)
    }
}

fn told(line: &Line, level: Option<u8>) -> SummaryLine<String> {
    let linked = line.runs.iter().map(|run| match run {
        Run::Text(text, style) if style.link.is_some() => text.len(),
        _ => 0,
    });
    SummaryLine {
        text: line.text(),
        level,
        linked: linked.sum(),
    }
}

/// Returns the first paragraph that looks like a sentence, or else the first paragraph; see
/// [`ContentTree::first_sentence`].
pub(crate) fn first_sentence<S: AsRef<str>>(
    title: &str,
    lines: impl Iterator<Item = SummaryLine<S>>,
) -> Option<S> {
    let mut lines: Vec<_> = lines.collect();
    let is_said =
        |line: &SummaryLine<S>| line.level.is_some() && repeats(title, line.text.as_ref());
    let is_main = |line: &SummaryLine<S>| line.level == Some(1);
    let heading = lines.iter().position(is_said);
    let heading = heading.or_else(|| lines.iter().position(is_main));
    let under = heading.map_or(0, |at| at + 1);
    let find = |from: usize, is_wanted: fn(&str) -> bool| {
        let mut lines = lines.iter().skip(from);
        let found = lines.position(|it| it.is_paragraph() && is_wanted(it.text.as_ref()))?;
        Some(from + found)
    };
    let at = find(under, is_sentence)
        .or_else(|| find(0, is_sentence))
        .or_else(|| find(under, |_| true))?;
    Some(lines.swap_remove(at).text)
}

impl<S: AsRef<str>> SummaryLine<S> {
    fn is_paragraph(&self) -> bool {
        let length = self.text.as_ref().len();
        self.level.is_none() && length > 0 && self.linked * 100 < length * MIN_LINKED_PERCENT
    }
}

/// Returns `true` if a text ends like a sentence and is longer than a label.
fn is_sentence(text: &str) -> bool {
    const ENDS: [char; 9] = ['.', '!', '?', '…', '。', '！', '？', '؟', '।'];
    let end = text.trim_end_matches(['"', '”', '»', '\'', ')', '」']);
    end.ends_with(ENDS) && text.chars().count() > 20 || text.chars().count() > 120
}

/// Returns `true` if a title is the same as a heading, or combines it with other text such as the
/// site name, separated by `|` or a similar character.
pub(crate) fn repeats(title: &str, heading: &str) -> bool {
    let is_mark = |mark: Option<char>| mark.is_none_or(|mark| BETWEEN.contains(mark));
    let behind = title.strip_prefix(heading).map(str::trim_start);
    let before = title.strip_suffix(heading).map(str::trim_end);
    !heading.is_empty()
        && (behind.is_some_and(|rest| is_mark(rest.chars().next()))
            || before.is_some_and(|rest| is_mark(rest.chars().next_back())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: &str = "Salt is what the sea leaves when the sun has gone.";
    const SITE: &str = "Small, fast and reliable; choose any three of them.";

    /// Searches lines in a short notation: `#` marks a heading, `##` a heading of level two, `[` a
    /// link.
    fn found(title: &str, lines: &[&'static str]) -> Option<&'static str> {
        let lines = lines.iter().map(|line| {
            let text = line.trim_start_matches(['#', '[']);
            SummaryLine {
                text,
                level: match line.len() - line.trim_start_matches('#').len() {
                    0 => None,
                    level => u8::try_from(level).ok(),
                },
                linked: if line.starts_with('[') { text.len() } else { 0 },
            }
        });
        first_sentence(title, lines)
    }

    #[test]
    fn sentence_takes_precedence_over_label() {
        assert_eq!(found("", &["Log", SALT, SITE]), Some(SALT));
        assert_eq!(found("", &["Log", "8.7"]), Some("Log"));
        assert_eq!(found("", &["", "#Log"]), None);
    }

    #[test]
    fn text_below_the_title_takes_precedence() {
        let page = [SITE, "##Library", SITE, "##Salt", SALT];
        assert_eq!(found("Salt | Sea", &page), Some(SALT));
        assert_eq!(found("Other", &page), Some(SITE));
        assert_eq!(found("Other", &[SITE, "#1. Salt", SALT]), Some(SALT));
        assert_eq!(found("Salt", &[SITE, "##Salt", "8.7"]), Some(SITE));
        assert_eq!(found("Salt", &["8.7", "##Salt", "Log"]), Some("Log"));
        assert_eq!(found("Salt", &["8.7", "##Salt"]), None);
    }

    #[test]
    fn links_are_skipped() {
        assert_eq!(found("", &["[top contents prev up next", SALT]), Some(SALT));
        assert_eq!(found("", &["[top contents prev up next"]), None);
    }
}
