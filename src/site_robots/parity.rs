//! Compares heaven pages with their originals: the original page must contain each sentence of the
//! heaven page.

use crate::document::{BlockKind, Page, PagePart, decode};
use crate::heaven::{Catalogue, page};
use crate::site_robot::{
    Rendering,
    source::{PageRequest, PageResponse},
};
use crate::store::{DescriptionCursor, DescriptionQuery, StoredDescription};

use super::SiteRobotRuns;

/// Maximum number of page descriptions in memory at a time.
const PIECE: u32 = 50;

/// Result of comparing heaven pages with their originals.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Parity {
    /// Number of compared heaven pages.
    pub compared: u64,
    /// Number of skipped pages: converted from a format other than HTML and text, or rendered by
    /// scripts.
    pub left_out: u64,
    /// Heaven pages with text that their originals do not contain.
    pub disparities: Vec<Disparity>,
}

/// A heaven page with text that its original does not contain.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Disparity {
    /// URL of the original page.
    pub url: String,
    /// Description of the difference.
    pub reason: String,
    /// Sentences missing from the original.
    pub sentences: Vec<String>,
}

/// Result of comparing a heaven page with its original.
#[derive(Debug)]
pub(super) enum Comparison {
    /// The original contains all sentences of the heaven page.
    Agrees,
    /// The original lacks these sentences of the heaven page.
    SaysMore(Vec<String>),
    /// The original page cannot be downloaded; contains the reason.
    Unknown(String),
    /// The original page is neither HTML nor text, or is rendered by scripts.
    LeftOut,
}

impl SiteRobotRuns {
    /// Compares heaven pages, at most `sample` evenly chosen ones, with the current originals.
    ///
    /// # Errors
    ///
    /// Returns an error if a database operation fails; a page that cannot be downloaded is reported
    /// as a disparity.
    pub async fn parity(&self, sample: Option<u64>) -> anyhow::Result<Parity> {
        let catalogue = self.library.catalogue(self.heaven()).await?;
        let count = catalogue.len() as u64;
        let wanted = sample.unwrap_or(count).clamp(1, count.max(1));
        let mut parity = Parity::default();
        let (mut after, mut number) = (None, 0_u64);
        loop {
            let query = DescriptionQuery::new(self.robot.site())
                .after(after.take())
                .limit(PIECE);
            let piece = self.store.descriptions().list(&query).await?;
            let Some(last) = piece.last() else { break };
            after = Some(DescriptionCursor::after_url(last.description.url()));
            for stored in piece {
                if !catalogue.contains(stored.description.url()) {
                    continue;
                }
                // Selects the first page of each interval.
                if number * wanted % count.max(1) < wanted {
                    self.compare(&stored, &catalogue, &mut parity).await;
                }
                number += 1;
            }
        }
        Ok(parity)
    }

    async fn compare(
        &self,
        stored: &StoredDescription,
        catalogue: &Catalogue,
        parity: &mut Parity,
    ) {
        let (reason, sentences) = match self.comparison(stored, catalogue).await {
            Comparison::LeftOut => {
                parity.left_out += 1;
                return;
            }
            Comparison::Agrees => {
                parity.compared += 1;
                return;
            }
            Comparison::Unknown(reason) => (reason, Vec::new()),
            Comparison::SaysMore(sentences) => {
                let reason = "the original page lacks text of its heaven page";
                (reason.to_owned(), sentences)
            }
        };
        parity.compared += 1;
        parity.disparities.push(Disparity {
            url: stored.description.url().to_owned(),
            reason,
            sentences,
        });
    }

    /// Compares a heaven page with the original that the logged-in site robot currently receives.
    pub(super) async fn comparison(
        &self,
        stored: &StoredDescription,
        catalogue: &Catalogue,
    ) -> Comparison {
        let url = stored.description.url();
        let human = match self.human_page(url).await {
            Ok(Some(human)) => human,
            Ok(None) => return Comparison::LeftOut,
            Err(reason) => return Comparison::Unknown(reason),
        };
        // Text made by scripts is not in the server's response.
        if self.is_rendered(&human) {
            return Comparison::LeftOut;
        }
        let html = page(&stored.description, catalogue, self.heaven());
        let missing = missing(&html, &human, url);
        if missing.is_empty() {
            Comparison::Agrees
        } else if human.asks_password {
            Comparison::Unknown("the page requires a password".to_owned())
        } else {
            Comparison::SaysMore(missing)
        }
    }

    fn is_rendered(&self, human: &Human) -> bool {
        match self.settings.own().render {
            Rendering::Never => false,
            Rendering::Empty => human.is_empty,
            Rendering::Always => human.is_html,
        }
    }

    /// Downloads a page and returns its words; returns `None` if the page is neither HTML nor text.
    async fn human_page(&self, url: &str) -> Result<Option<Human>, String> {
        let address = url.parse().map_err(|error| format!("{error}"))?;
        let answer = self.source.ask(&PageRequest::get(&address)).await;
        let answer = answer.map_err(|error| error.to_string())?;
        match answer.status {
            200 | 203 => Ok(words_of_answer(&answer)),
            status => Err(format!("the page returned status {status}")),
        }
    }
}

fn words_of_answer(answer: &PageResponse) -> Option<Human> {
    let content_type = answer.headers.get("content-type");
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let text = decode(&answer.body, content_type, None).text;
    match answer.media_type().as_deref() {
        // Without a media type, browsers detect HTML too.
        Some("text/html") | None => Some(Human::of_page(&Page::read(&text))),
        Some("application/xhtml+xml") => Some(Human::of_page(&Page::read_xhtml(&text))),
        Some(other) if other.starts_with("text/") => Some(Human::of_text(&text)),
        _ => None,
    }
}

/// Words of an original page, in each form in which robot heaven may extract them.
///
/// A summary omits headings, and the main part omits the surrounding text. Words that are separate
/// on the page may therefore be adjacent.
#[derive(Debug)]
struct Human {
    readings: Vec<String>,
    is_html: bool,
    /// Whether the page has no words.
    is_empty: bool,
    asks_password: bool,
}

impl Human {
    /// Reads all words of a page, from its title, META tags and text.
    fn of_page(page: &Page) -> Self {
        let title = page.title.iter().map(String::as_str);
        let metas = page.metas.iter().map(|meta| meta.content.as_str());
        let texts = page.blocks.iter().map(|block| block.text.as_str());
        let all: Vec<_> = title.chain(metas).chain(texts).map(folded).collect();
        let first = page.first_text(usize::MAX - 1);
        Self {
            readings: vec![all.join(" "), folded(&first), folded(&page.main_text())],
            is_html: true,
            is_empty: page.text().trim().is_empty(),
            asks_password: page.asks_password,
        }
    }

    fn of_text(text: &str) -> Self {
        Self {
            readings: vec![folded(text)],
            is_html: false,
            is_empty: false,
            asks_password: false,
        }
    }

    fn says(&self, words: &str) -> bool {
        self.readings.iter().any(|reading| reading.contains(words))
    }
}

/// Returns the sentences of a heaven page that the original does not contain.
fn missing(heaven: &str, human: &Human, url: &str) -> Vec<String> {
    let heaven = Page::read(heaven);
    let blocks = heaven
        .blocks
        .iter()
        .filter(|block| block.place == PagePart::Main);
    let mut missing: Vec<String> = Vec::new();
    for block in blocks {
        let is_title = matches!(block.kind, BlockKind::Heading(1));
        // A page without a title has its URL as its heading, which the original need not contain.
        if is_title && block.text == url {
            continue;
        }
        let text = folded(block.text.trim_end_matches('…'));
        // Most blocks exist as a whole.
        if human.says(&text) {
            continue;
        }
        let mut absent = sentences(&text);
        absent.retain(|sentence| !human.says(sentence));
        missing.append(&mut absent);
    }
    missing.dedup();
    missing
}

/// Splits text into sentences, only at the end of words, so that addresses stay whole.
fn sentences(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        words.push(word);
        if word.ends_with(['.', '!', '?', '。']) {
            sentences.push(words.join(" "));
            words.clear();
        }
    }
    if !words.is_empty() {
        sentences.push(words.join(" "));
    }
    sentences
}

/// Returns words separated by single spaces, without the control characters that heaven removes.
fn folded(text: &str) -> String {
    let is_shown = |it: &char| !it.is_control() || matches!(it, '\t' | '\n' | '\r' | '\u{c}');
    let text: String = text.chars().filter(is_shown).collect();
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAVEN: &str =
        "<nav>Home</nav><main><article><h1>Salt</h1><p>One. Two?</p></article></main>";

    #[test]
    fn every_sentence_must_be_on_the_original_page() {
        let human = |html: &str| Human::of_page(&Page::read(html));
        let same = human("<title>Salt</title><p>One.\n<b>Two?</b> Three.");
        assert!(missing(HEAVEN, &same, "u").is_empty());
        let other = human("<title>Salt</title><p>One. Three.");
        assert_eq!(missing(HEAVEN, &other, "u"), ["Two?"]);
    }

    #[test]
    fn words_of_meta_tags_belong_to_the_page() {
        let page = Page::read("<meta name=description content='One. Two?'><title>Salt</title>");
        assert!(missing(HEAVEN, &Human::of_page(&page), "u").is_empty());
    }

    #[test]
    fn page_without_title_is_headed_by_its_url() {
        let heaven = "<main><h1>http://h.example/a</h1></main>";
        let nothing = Human::of_text("");
        assert!(missing(heaven, &nothing, "http://h.example/a").is_empty());
        assert_eq!(missing(heaven, &nothing, "http://h.example/b").len(), 1);
    }

    #[test]
    fn control_characters_are_ignored() {
        let page = Page::read("<p>One\u{94}self, o\u{85}ther");
        let heaven = "<main><p>Oneself, other</p></main>";
        assert!(missing(heaven, &Human::of_page(&page), "u").is_empty());
    }

    #[test]
    fn summary_may_skip_headings_and_asides() {
        let page = Page::read(
            "<main><p>A level</p><h2>Sea</h2><p>is set. <aside>Note</aside><p>It holds</main>",
        );
        let human = Human::of_page(&page);
        let heaven = |lead: &str| format!("<main><p>{lead}</p></main>");
        assert!(missing(&heaven("A level is set. It holds…"), &human, "u").is_empty());
        assert_eq!(
            missing(&heaven("A level holds"), &human, "u"),
            ["A level holds"]
        );
    }
}
