//! Detects boilerplate around a page's main content, based on element names and link density.

use std::ops::Range;

use super::{
    attributes::is_html_space,
    open::Part,
    page::{Block, BlockKind, PagePart},
    structure::Mark,
};
use crate::content_tree::repeats;

/// Minimum share of link text in a boilerplate block, in percent. Navigation exceeds this limit
/// even if it contains section titles; paragraphs with links stay far below it.
const MIN_LINKED_PERCENT: usize = 50;
/// Minimum share of link text, in percent, for a list without a telling class or id to be treated
/// as a table of contents.
const MIN_CONTENTS_PERCENT: usize = 90;
/// Minimum number of in-page links in a table of contents; fewer links may be ordinary references.
const MIN_CONTENTS: usize = 3;
/// Divisor of the minimum share of text: articles that contain at least 1/4 of the candidate text
/// are treated as the main content.
pub(super) const ARTICLES_SHARE: usize = 4;
/// Maximum length of the text per language in a list of translations, in bytes, with separators.
const MAX_LANGUAGE_BYTES: usize = 40;
/// Minimum length of a page part's text, in bytes; anything shorter is merely a tag line or a
/// number.
const MIN_TEXT_BYTES: usize = 60;
/// Minimum length of the text that remains after comments, ads and similar parts are removed, in
/// bytes. If less remains, the removed parts may be the main content, such as the posts in a forum.
const MIN_MATTER_BYTES: usize = 500;
/// Maximum number of elements recorded as secondary content or as article text.
const MAX_NAMED: usize = 4_096;
/// Maximum length of a word in a class name, in bytes; no known word is longer.
const MAX_WORD_BYTES: usize = 16;

/// Classes and ids that always indicate boilerplate.
const AROUND: [&str; 13] = [
    "breadcrumb",
    "breadcrumbs",
    "catlinks",
    "mw-jump-link",
    "navbar",
    "navfooter",
    "navheader",
    "printfooter",
    "site-branding",
    "site-description",
    "site-title",
    "sitesub",
    "skip-link",
];

/// Classes and ids of a footer, which is boilerplate unless it is inside a section.
const EDGES: [&str; 6] = [
    "copyright-footer",
    "footer",
    "page-footer",
    "pagefooter",
    "site-footer",
    "sitefooter",
];

/// Words in classes and ids that indicate boilerplate if the element consists of links, including
/// words used by common site generators.
const LINKED: [&str; 31] = [
    "breadcrumb",
    "breadcrumbs",
    "categories",
    "catlinks",
    "contentsub",
    "crumb",
    "crumbs",
    "footer",
    "header",
    "jump",
    "lang",
    "language",
    "languages",
    "menu",
    "pager",
    "pagination",
    "path",
    "prevnext",
    "promo",
    "quicklinks",
    "quickview",
    "related",
    "share",
    "sharing",
    "sidebar",
    "skip",
    "social",
    "sponsor",
    "submenu",
    "subpages",
    "toolbar",
];

/// Prefixes and suffixes in generated names that indicate boilerplate (`docnav`, `tocview`).
const LINKED_ENDS: [&[u8]; 2] = [b"nav", b"toc"];

/// Words in class names that indicate secondary content: comments, advertisements, related links.
/// Such elements are dropped if enough other text remains.
const BESIDE: [&str; 32] = [
    "ad",
    "ads",
    "advert",
    "advertisement",
    "advertising",
    "comment",
    "commentlist",
    "comments",
    "consent",
    "cookie",
    "cookies",
    "disqus",
    "gdpr",
    "modal",
    "newsletter",
    "outbrain",
    "popular",
    "popup",
    "promo",
    "promos",
    "recirc",
    "recirculation",
    "recommendations",
    "recommended",
    "related",
    "share",
    "sharing",
    "social",
    "sponsored",
    "suggested",
    "taboola",
    "trending",
];

/// Words in class names which indicate that the element also contains the main content, as in
/// `page-with-ads`.
const HOLDERS: [&str; 7] = ["body", "has", "layout", "main", "no", "page", "with"];

/// Words that identify an article's text when followed by a word such as `content` or `body`, as in
/// `entry-content` and `c-news__body`.
const KINDS_OF_ARTICLE: [&str; 6] = ["article", "blog", "entry", "news", "post", "story"];
const TEXTS: [&str; 3] = ["body", "content", "text"];

/// Returns `true` if the value of `class` indicates secondary content.
///
/// Ids are not considered because the ids of sections are generated from headings.
pub(super) fn is_secondary(value: &str) -> bool {
    value.split(is_html_space).any(|name| {
        let (mut is_beside, mut is_holder) = (false, false);
        for_each_word(name, |word| {
            is_beside |= is_one_of(&BESIDE, word);
            is_holder |= is_one_of(&HOLDERS, word);
        });
        is_beside && !is_holder
    })
}

/// Returns `true` if the value of `class` or `id` identifies the text of an article.
pub(super) fn is_article_text(value: &str) -> bool {
    value.split(is_html_space).any(|name| {
        let (mut before, mut is_text) = (false, false);
        for_each_word(name, |word| {
            is_text |= before && is_one_of(&TEXTS, word) || is_joined(word);
            before = is_one_of(&KINDS_OF_ARTICLE, word);
        });
        is_text
    })
}

/// Returns `true` if a word identifies an article's text by itself, such as `storytext`.
fn is_joined(word: &[u8]) -> bool {
    let mut kinds = KINDS_OF_ARTICLE.iter();
    let rest = kinds.find_map(|kind| word.strip_prefix(kind.as_bytes()));
    rest.is_some_and(|rest| is_one_of(&TEXTS, rest))
}

/// Returns the page part that the value of `class` or `id` alone indicates.
pub(super) fn part_from_name(value: &str) -> Option<Part> {
    let mut found = None;
    for name in value.split(is_html_space) {
        let is = |one: &&str| one.eq_ignore_ascii_case(name);
        if AROUND.iter().any(is) {
            return Some(Part::Around);
        }
        if EDGES.iter().any(is) {
            return Some(Part::Edge);
        }
        if found.is_none() && has_linked_word(name) {
            found = Some(Part::IfLinked);
        }
    }
    found
}

/// Returns `true` if a name contains a word that indicates link boilerplate.
fn has_linked_word(name: &str) -> bool {
    let mut has = false;
    for_each_word(name, |word| {
        let mut ends = LINKED_ENDS.iter();
        has |= ends.any(|end| word.starts_with(end) || word.ends_with(end))
            || is_one_of(&LINKED, word);
    });
    has
}

fn is_one_of(words: &[&str], word: &[u8]) -> bool {
    words
        .binary_search_by(|one| one.as_bytes().cmp(word))
        .is_ok()
}

/// Calls `tell` with each word of a name, in lower case; `t-navbar` and `pageMenu` have two words
/// each.
///
/// The last call passes all letters of the name joined together, because a name such as
/// `contentSub` is meant as one word.
fn for_each_word(name: &str, mut tell: impl FnMut(&[u8])) {
    let (mut word, mut length, mut before) = ([0; MAX_WORD_BYTES], 0, 0_u8);
    let mut whole = ([0; MAX_WORD_BYTES], 0);
    for byte in name.bytes().chain([b'-']) {
        let is_new = byte.is_ascii_uppercase() && before.is_ascii_lowercase();
        if !byte.is_ascii_alphabetic() || is_new {
            if let Some(word) = word.get(..length).filter(|word| !word.is_empty()) {
                tell(word);
            }
            length = 0;
        }
        if byte.is_ascii_alphabetic() {
            for (bytes, length) in [(&mut word, &mut length), (&mut whole.0, &mut whole.1)] {
                if let Some(place) = bytes.get_mut(*length) {
                    *place = byte.to_ascii_lowercase();
                }
                *length += 1;
            }
        }
        before = byte;
    }
    if let Some(whole) = whole.0.get(..whole.1) {
        tell(whole);
    }
}

/// Running totals of the text and links on the page.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    text: usize,
    linked: usize,
    links: usize,
    /// Number of links to targets within the page.
    within: usize,
    /// Number of links with an `hreflang` attribute.
    translations: usize,
}

/// An open element that may turn out to be boilerplate.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    depth: usize,
    first: usize,
    before: Sums,
    part: Option<Part>,
    is_list: bool,
}

/// Tracks elements that may be boilerplate.
#[derive(Debug, Default)]
pub(super) struct BoilerplateTracker {
    sums: Sums,
    open: Vec<Candidate>,
    /// Blocks that were reclassified as boilerplate, each with its original page part.
    moved: Vec<(usize, PagePart)>,
    /// Block ranges of elements whose names indicate secondary content or article text.
    beside: Vec<Range<usize>>,
    articles: Vec<Range<usize>>,
}

impl BoilerplateTracker {
    /// Records an element that starts after the first `first` blocks.
    pub(super) fn begin(&mut self, depth: usize, first: usize, name: &[u8], part: Option<Part>) {
        // Elements below the depth limit share a depth and cannot be distinguished.
        if self.open.last().is_some_and(|open| open.depth >= depth) {
            return;
        }
        self.open.push(Candidate {
            depth,
            first,
            before: self.sums,
            part,
            is_list: matches!(name, b"ul" | b"ol"),
        });
    }

    /// Counts a link on the page.
    pub(super) fn link(&mut self, url: &str, is_translation: bool) {
        self.sums.links += 1;
        self.sums.within += usize::from(url.starts_with('#'));
        self.sums.translations += usize::from(is_translation);
    }

    /// Adds a block's text to the page's totals.
    pub(super) fn block(&mut self, block: &Block) {
        self.sums.text += block.text.len();
        self.sums.linked += linked(block);
    }

    /// Closes all elements at or below a depth, and reclassifies the blocks of boilerplate
    /// elements.
    pub(super) fn end(&mut self, depth: usize, blocks: &mut [Block]) {
        while let Some(candidate) = self.open.pop_if(|open| open.depth >= depth) {
            if self.is_around(&candidate) {
                move_out(candidate.first..blocks.len(), blocks, &mut self.moved);
            }
            let named = match candidate.part {
                Some(Part::Beside) => &mut self.beside,
                Some(Part::ArticleText) => &mut self.articles,
                _ => continue,
            };
            if candidate.first < blocks.len() && named.len() < MAX_NAMED {
                named.push(candidate.first..blocks.len());
            }
        }
    }

    /// Finishes evaluating a page that has the given title.
    pub(super) fn finish(&mut self, title: &str, blocks: &mut [Block]) {
        self.end(0, blocks);
        self.move_beside(title, blocks);
        self.move_around_article(title, blocks);
        if let Some(title) = linked_before_title(title, blocks) {
            move_out(0..title, blocks, &mut self.moved);
        }
        // A list of links may be the main content, so the list is restored if little else remains.
        for part in [PagePart::Main, PagePart::Article, PagePart::Body] {
            let of_place = blocks.iter().filter(|block| block.place == part);
            if of_place.map(text_of).sum::<usize>() < MIN_TEXT_BYTES {
                let of_part = self.moved.iter().filter(|(_, was)| *was == part);
                restore(of_part, blocks);
            }
        }
    }

    /// Reclassifies secondary content, unless too little text would remain.
    ///
    /// An element that contains the page title is kept, whatever its class.
    fn move_beside(&mut self, title: &str, blocks: &mut [Block]) {
        let titles = blocks.iter().enumerate();
        let titles = titles.filter(|(_, block)| is_title(title, block));
        let titles: Vec<_> = titles.map(|(at, _)| at).collect();
        let mut moved = Vec::new();
        for range in std::mem::take(&mut self.beside) {
            let next = titles.partition_point(|at| *at < range.start);
            if titles.get(next).is_none_or(|at| !range.contains(at)) {
                move_out(range, blocks, &mut moved);
            }
        }
        if blocks.iter().map(text_of).sum::<usize>() < MIN_MATTER_BYTES {
            restore(&moved, blocks);
        }
    }

    /// If the page has exactly one article, reclassifies the blocks before the article's title and
    /// after its text.
    fn move_around_article(&mut self, title: &str, blocks: &mut [Block]) {
        let text = |blocks: &[Block]| blocks.iter().map(text_of).sum::<usize>();
        let in_range = |it: &Range<usize>| text(blocks.get(it.clone()).unwrap_or_default());
        // Only the outermost ranges are kept, because they contain the nested ranges.
        let mut articles: Vec<Range<usize>> = Vec::new();
        for range in self.articles.drain(..) {
            while articles.pop_if(|it| it.start >= range.start).is_some() {}
            articles.push(range);
        }
        articles.retain(|it| in_range(it) >= MIN_MATTER_BYTES);
        // Several ranges indicate a list of articles, or several reader comments.
        let [article] = articles.as_slice() else {
            return;
        };
        if in_range(article).saturating_mul(ARTICLES_SHARE) < text(blocks) {
            return;
        }
        let before = blocks.get(..article.start).unwrap_or_default();
        let first = before.iter().rposition(|block| is_title(title, block));
        let first = first.unwrap_or(article.start);
        for (at, block) in blocks.iter_mut().enumerate() {
            if at < first || at >= article.end {
                block.place = PagePart::Around;
            }
        }
        // The article is the main content, so link lists need not be restored.
        self.moved.clear();
    }

    fn is_around(&self, candidate: &Candidate) -> bool {
        let (now, before) = (&self.sums, &candidate.before);
        let text = now.text - before.text;
        let linked = now.linked - before.linked;
        let links = now.links - before.links;
        let within = now.within - before.within;
        let translations = now.translations - before.translations;
        let is_over = |percent: usize| linked.saturating_mul(100) >= text.saturating_mul(percent);
        let is_contents = candidate.is_list
            && within == links
            && links >= MIN_CONTENTS
            && is_over(MIN_CONTENTS_PERCENT);
        let is_translations =
            translations > 1 && text <= translations.saturating_mul(MAX_LANGUAGE_BYTES);
        let is_named = matches!(candidate.part, Some(Part::IfLinked | Part::Beside));
        // A link may consist of a picture only, such as an arrow to the next page.
        (is_named && links > 0 && is_over(MIN_LINKED_PERCENT))
            || (text > 0 && (is_contents || is_translations))
    }
}

/// Returns `true` if a block is a main heading or a heading that repeats the page title.
fn is_title(title: &str, block: &Block) -> bool {
    block.kind == BlockKind::Heading(1) || is_said(title, block)
}

fn is_said(title: &str, block: &Block) -> bool {
    block
        .heading(6)
        .is_some_and(|(_, text)| repeats(title, text))
}

/// Returns the number of bytes that a block contributes to the main content; headings contribute 0.
fn text_of(block: &Block) -> usize {
    match (block.place, block.kind) {
        (PagePart::Around, _) | (_, BlockKind::Heading(_)) => 0,
        _ => block.text.len(),
    }
}

/// Reclassifies blocks as boilerplate, and records their original page part.
fn move_out(range: Range<usize>, blocks: &mut [Block], moved: &mut Vec<(usize, PagePart)>) {
    let blocks = blocks.iter_mut().enumerate().take(range.end);
    for (at, block) in blocks.skip(range.start) {
        if block.place != PagePart::Around {
            moved.push((at, block.place));
            block.place = PagePart::Around;
        }
    }
}

/// Restores the original page part of the given blocks.
fn restore<'m>(moved: impl IntoIterator<Item = &'m (usize, PagePart)>, blocks: &mut [Block]) {
    for (at, was) in moved {
        if let Some(block) = blocks.get_mut(*at) {
            block.place = *was;
        }
    }
}

/// Returns the index of the block that contains the page title if the text before that block
/// consists mostly of links.
///
/// The title block is the main heading, or else the first heading that repeats the page title.
fn linked_before_title(title: &str, blocks: &[Block]) -> Option<usize> {
    let is_shown = |block: &&Block| block.place != PagePart::Around;
    let mut shown = blocks.iter().enumerate().filter(|(_, it)| is_shown(it));
    let is_main = |(_, block): &(usize, &Block)| block.kind == BlockKind::Heading(1);
    let main = shown.clone().find(is_main);
    let (at, _) = main.or_else(|| shown.find(|(_, block)| is_said(title, block)))?;
    let before = blocks.get(..at)?.iter().filter(is_shown);
    let (text, links) = before.fold((0, 0), |(text, links), block| {
        (text + block.text.len(), links + linked(block))
    });
    (links * 100 >= text * MIN_LINKED_PERCENT).then_some(at)
}

/// Returns the number of bytes of link text in a block.
pub(super) fn linked(block: &Block) -> usize {
    let mut sum = 0;
    let mut from = None;
    for span in &block.spans {
        if let Mark::Style(style) = &span.mark {
            sum += from.map_or(0, |from| span.at.saturating_sub(from));
            from = (style.link > 0).then_some(span.at);
        }
    }
    sum + from.map_or(0, |from| block.text.len().saturating_sub(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_lists_are_sorted_for_binary_search() {
        for words in [&LINKED[..], &BESIDE, &HOLDERS, &KINDS_OF_ARTICLE, &TEXTS] {
            assert!(words.is_sorted());
            assert!(words.iter().all(|word| word.len() <= MAX_WORD_BYTES));
        }
    }

    #[test]
    fn class_names_identify_article_text_and_secondary_content() {
        for (name, is_text, is_other) in [
            ("entry-content", true, false),
            ("c-news__body", true, false),
            ("articleBody x", true, false),
            ("storytext", true, false),
            ("article-most-popular", false, true),
            ("comment-content", false, true),
            ("relatedLinks", false, true),
            ("post", false, false),
            ("content-post", false, false),
            ("with-ads", false, false),
            ("shadow", false, false),
        ] {
            assert_eq!(is_article_text(name), is_text, "{name}");
            assert_eq!(is_secondary(name), is_other, "{name}");
        }
    }

    #[test]
    fn names_are_split_into_words() {
        for (value, told) in [
            ("t-navbar", Some(Part::IfLinked)),
            ("pageMenu x", Some(Part::IfLinked)),
            ("contentSub", Some(Part::IfLinked)),
            ("wide NavBar", Some(Part::Around)),
            ("Site-Footer", Some(Part::Edge)),
            ("card_footer", Some(Part::IfLinked)),
            ("docnav", Some(Part::IfLinked)),
            ("tocViewTitle", Some(Part::IfLinked)),
            ("unnavigable", None),
            ("canvas-menus", None),
            ("a-very-long-name-of-a-class", None),
            ("", None),
        ] {
            assert_eq!(part_from_name(value), told, "{value}");
        }
    }
}
