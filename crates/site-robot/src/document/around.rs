//! What stands around the matter of a page: found by names, and by how much of it is links.

use std::ops::Range;

use super::{
    attributes::is_html_space,
    open::Part,
    page::{Block, BlockKind, PagePart},
    structure::Mark,
};
use crate::matter::says;

/// Parts of a link's surroundings that are text of their own, in percent: navigation with
/// section titles has some, a paragraph with links has far more.
const MIN_LINKED_PERCENT: usize = 50;
/// As above, of lists without a name that says what they are.
const MIN_CONTENTS_PERCENT: usize = 90;
/// Links within the page that a table of contents has; fewer may be a remark.
const MIN_CONTENTS: usize = 3;
/// Articles hold at least this share of what could be the matter, if they are it.
pub(super) const ARTICLES_SHARE: usize = 4;
/// Bytes of text for each language of a list of translations, with what parts it from the next.
const MAX_LANGUAGE_BYTES: usize = 40;
/// Bytes of text that are no matter if nothing else is left: a tag line, a number.
const MIN_TEXT_BYTES: usize = 60;
/// Bytes of text that a page has without what stands beside it: with fewer that may be the matter,
/// such as the posts of a forum.
const MIN_MATTER_BYTES: usize = 500;
/// Elements of a page that are named as standing beside its matter, or as the text of an article.
const MAX_NAMED: usize = 4_096;
/// Bytes of a word of a class; none that is looked for is longer.
const MAX_WORD_BYTES: usize = 16;

/// Classes and ids of what is around the matter, whatever stands in it.
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

/// Classes and ids of a footer, of the page unless of a section.
const EDGES: [&str; 6] = [
    "copyright-footer",
    "footer",
    "page-footer",
    "pagefooter",
    "site-footer",
    "sitefooter",
];

/// Words of classes and ids of what is around the matter if it consists of links: the usual
/// ones, and those of generators that many sites share.
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

/// What such words begin or end with where generators make them up: `docnav`, `tocview`.
const LINKED_ENDS: [&[u8]; 2] = [b"nav", b"toc"];

/// Words of classes of what stands beside the matter of a page that has enough of it: what others
/// say of it, what is advertised, what else there is to read.
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

/// Words that say that such a name is of what holds the matter as well: `page-with-ads`.
const HOLDERS: [&str; 7] = ["body", "has", "layout", "main", "no", "page", "with"];

/// What a name of the text of an article is made of, as `entry-content` and `c-news__body` are.
const KINDS_OF_ARTICLE: [&str; 6] = ["article", "blog", "entry", "news", "post", "story"];
const TEXTS: [&str; 3] = ["body", "content", "text"];

/// Returns `true` if a value of `class` names what stands beside the matter.
///
/// Ids do not say it: those of sections are made of their headings.
pub(super) fn is_beside(value: &str) -> bool {
    value.split(is_html_space).any(|name| {
        let (mut is_beside, mut is_holder) = (false, false);
        for_each_word(name, |word| {
            is_beside |= is_one_of(&BESIDE, word);
            is_holder |= is_one_of(&HOLDERS, word);
        });
        is_beside && !is_holder
    })
}

/// Returns `true` if a value of `class` or `id` names the text of an article.
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

/// Returns `true` for such a name in one word: `storytext`.
fn is_joined(word: &[u8]) -> bool {
    let mut kinds = KINDS_OF_ARTICLE.iter();
    let rest = kinds.find_map(|kind| word.strip_prefix(kind.as_bytes()));
    rest.is_some_and(|rest| is_one_of(&TEXTS, rest))
}

/// Returns what a value of `class` or `id` says of its element by itself.
pub(super) fn named(value: &str) -> Option<Part> {
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

/// Returns `true` if a word of a name is one of those.
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

/// Has each word of a name told in lower case; `t-navbar` and `pageMenu` are of two.
///
/// All together are told last: `contentSub` is one word to those who write it.
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

/// Sums of the page so far.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    text: usize,
    linked: usize,
    links: usize,
    /// Links to places within the page.
    within: usize,
    /// Links with `hreflang`.
    translations: usize,
}

/// Element that is open and may prove to stand around the matter.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    depth: usize,
    first: usize,
    before: Sums,
    part: Option<Part>,
    is_list: bool,
}

/// Watch over elements that may stand around the matter.
#[derive(Debug, Default)]
pub(super) struct Around {
    sums: Sums,
    open: Vec<Candidate>,
    /// Blocks that proved to stand around the matter, and where they stood before.
    moved: Vec<(usize, PagePart)>,
    /// Blocks that are named as standing beside it, and as the text of an article.
    beside: Vec<Range<usize>>,
    articles: Vec<Range<usize>>,
}

impl Around {
    /// Notes an element that begins behind so many blocks.
    pub(super) fn begin(&mut self, depth: usize, first: usize, name: &[u8], part: Option<Part>) {
        // Those that lie too deep to be told apart share a depth.
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

    /// Notes a link.
    pub(super) fn link(&mut self, url: &str, is_translation: bool) {
        self.sums.links += 1;
        self.sums.within += usize::from(url.starts_with('#'));
        self.sums.translations += usize::from(is_translation);
    }

    /// Notes a block.
    pub(super) fn block(&mut self, block: &Block) {
        self.sums.text += block.text.len();
        self.sums.linked += linked(block);
    }

    /// Ends elements from a depth on: blocks of those that are around the matter are told so.
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

    /// Ends a page of a title.
    pub(super) fn finish(&mut self, title: &str, blocks: &mut [Block]) {
        self.end(0, blocks);
        self.move_beside(title, blocks);
        self.move_around_article(title, blocks);
        if let Some(title) = linked_before_title(title, blocks) {
            move_out(0..title, blocks, &mut self.moved);
        }
        // A list of links may be the matter: where nothing else is, it stays.
        for part in [PagePart::Main, PagePart::Article, PagePart::Body] {
            let of_place = blocks.iter().filter(|block| block.place == part);
            if of_place.map(text_of).sum::<usize>() < MIN_TEXT_BYTES {
                let of_part = self.moved.iter().filter(|(_, was)| *was == part);
                restore(of_part, blocks);
            }
        }
    }

    /// Moves what stands beside the matter, unless too little is left then.
    ///
    /// Where the title is, there is the matter, whatever it is called.
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

    /// Moves what stands before the title and behind the text of the one article, where there is
    /// one.
    fn move_around_article(&mut self, title: &str, blocks: &mut [Block]) {
        let text = |blocks: &[Block]| blocks.iter().map(text_of).sum::<usize>();
        let in_range = |it: &Range<usize>| text(blocks.get(it.clone()).unwrap_or_default());
        // The outermost end last: what is within them is a part of them.
        let mut articles: Vec<Range<usize>> = Vec::new();
        for range in self.articles.drain(..) {
            while articles.pop_if(|it| it.start >= range.start).is_some() {}
            articles.push(range);
        }
        articles.retain(|it| in_range(it) >= MIN_MATTER_BYTES);
        // Several are a list of articles, or what several people say.
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
        // That is the matter: no links stand in for it.
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
        // Links may be pictures alone: arrows to the next page.
        (is_named && links > 0 && is_over(MIN_LINKED_PERCENT))
            || (text > 0 && (is_contents || is_translations))
    }
}

/// Returns `true` for a main heading, and for one that the title says.
fn is_title(title: &str, block: &Block) -> bool {
    block.kind == BlockKind::Heading(1) || is_said(title, block)
}

fn is_said(title: &str, block: &Block) -> bool {
    block.heading(6).is_some_and(|(_, text)| says(title, text))
}

/// Returns how many bytes of the matter's text a block has; those of headings do not count.
fn text_of(block: &Block) -> usize {
    match (block.place, block.kind) {
        (PagePart::Around, _) | (_, BlockKind::Heading(_)) => 0,
        _ => block.text.len(),
    }
}

/// Has blocks stand around the matter, and notes where they stood.
fn move_out(range: Range<usize>, blocks: &mut [Block], moved: &mut Vec<(usize, PagePart)>) {
    let blocks = blocks.iter_mut().enumerate().take(range.end);
    for (at, block) in blocks.skip(range.start) {
        if block.place != PagePart::Around {
            moved.push((at, block.place));
            block.place = PagePart::Around;
        }
    }
}

/// Puts blocks back to where they stood.
fn restore<'m>(moved: impl IntoIterator<Item = &'m (usize, PagePart)>, blocks: &mut [Block]) {
    for (at, was) in moved {
        if let Some(block) = blocks.get_mut(*at) {
            block.place = *was;
        }
    }
}

/// Returns where the page's title stands, if mostly links stand before it.
///
/// That is its main heading; on a page without one, the first that its title says too.
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

/// Returns how many bytes of a block are links.
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
    fn words_are_in_order_so_that_they_are_found() {
        for words in [&LINKED[..], &BESIDE, &HOLDERS, &KINDS_OF_ARTICLE, &TEXTS] {
            assert!(words.is_sorted());
            assert!(words.iter().all(|word| word.len() <= MAX_WORD_BYTES));
        }
    }

    #[test]
    fn names_tell_the_text_of_an_article_and_what_stands_beside_it() {
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
            assert_eq!(is_beside(name), is_other, "{name}");
        }
    }

    #[test]
    fn names_are_read_word_by_word() {
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
            assert_eq!(named(value), told, "{value}");
        }
    }
}
