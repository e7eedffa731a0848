//! Text of PDF, by poppler's `pdftotext`.

use std::path::PathBuf;

use crate::filter::CommandLine;

/// Media type of PDF.
pub(super) const MEDIA_TYPE: &str = "application/pdf";

/// Program that makes text of it (poppler-utils).
const PROGRAM: &str = "pdftotext";

/// Its names for the dates of a document, and those of pages.
const DATES: [(&str, &str); 2] = [
    ("name=\"CreationDate\"", "name=\"article:published_time\""),
    ("name=\"ModDate\"", "name=\"article:modified_time\""),
];

/// Returns the program, where one of these directories has it.
pub(super) fn command(mut directories: impl Iterator<Item = PathBuf>) -> Option<CommandLine> {
    let is_there = directories.any(|directory| directory.join(PROGRAM).is_file());
    // With what the document says of itself: title, author, dates.
    let words = ["-htmlmeta", "-enc", "UTF-8", "-q", "-", "-"].into_iter();
    is_there.then(|| words.fold(CommandLine::new(PROGRAM), CommandLine::argument))
}

/// Returns `true` if a command is the one that is made here.
pub(super) fn is_command(line: &CommandLine) -> bool {
    line.program == PROGRAM && line.arguments.first().is_some_and(|it| it == "-htmlmeta")
}

/// Makes a page of what the program writes: its text is one block, in which empty lines part
/// paragraphs.
pub(super) fn page(written: &[u8]) -> Vec<u8> {
    let written = String::from_utf8_lossy(written);
    let Some((head, text)) = written.split_once("<pre>") else {
        return written.into_owned().into();
    };
    let text = text.rsplit_once("</pre>").map_or(text, |(text, _)| text);
    let head = DATES
        .iter()
        .fold(head.to_owned(), |head, (from, to)| head.replace(from, to));
    // A form feed ends a page of paper, and most often no paragraph.
    let text = text.replace('\u{c}', "\n").replace("\r\n", "\n");
    let paragraphs = text.split("\n\n").map(str::trim);
    let paragraphs = paragraphs.filter(|it| !it.is_empty());
    let paragraphs = paragraphs.flat_map(|it| ["<p>", it, "</p>\n"]);
    let paragraphs: String = paragraphs.collect();
    format!("{head}<main>\n{paragraphs}</main>\n</body>\n</html>\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Page;

    #[test]
    fn paragraphs_title_and_dates_are_those_of_the_document() {
        let written = "<html><head><title>Salt &amp; people</title>\
            <meta name=\"CreationDate\" content=\"2024-03-02T12:00:00Z\"/></head><body>\n\
            <pre>\nOf salt\nand stone.\n\nSecond &lt;part&gt;.\n\u{c}</pre>\n</body></html>";
        let page = page(written.as_bytes());
        let page = Page::read(str::from_utf8(&page).unwrap());
        assert_eq!(page.title.as_deref(), Some("Salt & people"));
        let texts: Vec<_> = page.blocks.iter().map(|it| it.text.clone()).collect();
        assert_eq!(texts, ["Of salt and stone.", "Second <part>."]);
        assert_eq!(page.metas[0].name, "article:published_time");
    }

    #[test]
    fn what_is_no_page_stays_as_it_is() {
        assert_eq!(page(b"words"), b"words");
        assert!(command([PathBuf::from("/nowhere")].into_iter()).is_none());
    }
}
