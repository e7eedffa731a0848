//! What stands around the matter of a page: found by names, and by how much of it is links.

use super::{
    attributes::is_html_space,
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
/// Bytes of text for each language of a list of translations, with what parts it from the next.
const MAX_LANGUAGE_BYTES: usize = 40;
/// Bytes of text that are no matter if nothing else is left: a tag line, a number.
const MIN_TEXT_BYTES: usize = 60;
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

/// What a class or an id says of its element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Named {
    Around,
    Edge,
    /// Around if it consists of links.
    IfLinked,
}

/// Returns what a value of `class` or `id` says.
pub(super) fn named(value: &str) -> Option<Named> {
    let mut found = None;
    for name in value.split(is_html_space) {
        let is = |one: &&str| one.eq_ignore_ascii_case(name);
        if AROUND.iter().any(is) {
            return Some(Named::Around);
        }
        if EDGES.iter().any(is) {
            return Some(Named::Edge);
        }
        if found.is_none() && has_linked_word(name) {
            found = Some(Named::IfLinked);
        }
    }
    found
}

/// Returns `true` if a word of a name is one of those; `t-navbar` and `pageMenu` are of two.
fn has_linked_word(name: &str) -> bool {
    let is_known = |word: &[u8]| {
        LINKED_ENDS
            .iter()
            .any(|end| word.starts_with(end) || word.ends_with(end))
            || LINKED
                .binary_search_by(|one| one.as_bytes().cmp(word))
                .is_ok()
    };
    let (mut word, mut length, mut before) = ([0; MAX_WORD_BYTES], 0, 0_u8);
    let mut whole = ([0; MAX_WORD_BYTES], 0);
    for byte in name.bytes().chain([b'-']) {
        let is_new = byte.is_ascii_uppercase() && before.is_ascii_lowercase();
        if !byte.is_ascii_alphabetic() || is_new {
            if word.get(..length).is_some_and(is_known) {
                return true;
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
    // `contentSub` is one word to those who write it.
    whole.0.get(..whole.1).is_some_and(is_known)
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
    is_named: bool,
    is_list: bool,
}

/// Watch over elements that may stand around the matter.
#[derive(Debug, Default)]
pub(super) struct Around {
    sums: Sums,
    open: Vec<Candidate>,
    /// Blocks that proved to stand around the matter, and where they stood before.
    moved: Vec<(usize, PagePart)>,
}

impl Around {
    /// Notes an element that begins behind so many blocks.
    pub(super) fn begin(&mut self, depth: usize, first: usize, name: &[u8], is_named: bool) {
        // Those that lie too deep to be told apart share a depth.
        if self.open.last().is_some_and(|open| open.depth >= depth) {
            return;
        }
        self.open.push(Candidate {
            depth,
            first,
            before: self.sums,
            is_named,
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
                self.move_around(candidate.first, blocks);
            }
        }
    }

    /// Ends a page of a title.
    pub(super) fn finish(&mut self, title: &str, blocks: &mut [Block]) {
        self.end(0, blocks);
        if let Some(title) = linked_before_title(title, blocks) {
            let before = blocks.get_mut(..title).unwrap_or_default();
            self.move_around(0, before);
        }
        // A list of links may be the matter: where nothing else is, it stays.
        for part in [PagePart::Main, PagePart::Article, PagePart::Body] {
            let is_text =
                |block: &Block| block.place == part && !matches!(block.kind, BlockKind::Heading(_));
            let left: usize = blocks
                .iter()
                .filter(|it| is_text(it))
                .map(|it| it.text.len())
                .sum();
            if left >= MIN_TEXT_BYTES {
                continue;
            }
            for (at, _) in self.moved.iter().filter(|(_, was)| *was == part) {
                if let Some(block) = blocks.get_mut(*at) {
                    block.place = part;
                }
            }
        }
    }

    fn move_around(&mut self, first: usize, blocks: &mut [Block]) {
        for (at, block) in blocks.iter_mut().enumerate().skip(first) {
            if block.place != PagePart::Around {
                self.moved.push((at, block.place));
                block.place = PagePart::Around;
            }
        }
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
        // Links may be pictures alone: arrows to the next page.
        (candidate.is_named && links > 0 && is_over(MIN_LINKED_PERCENT))
            || (text > 0 && (is_contents || is_translations))
    }
}

/// Returns where the page's title stands, if mostly links stand before it.
///
/// That is its main heading; on a page without one, the first that its title says too.
fn linked_before_title(title: &str, blocks: &[Block]) -> Option<usize> {
    let is_shown = |block: &&Block| block.place != PagePart::Around;
    let mut shown = blocks.iter().enumerate().filter(|(_, it)| is_shown(it));
    let is_main = |(_, block): &(usize, &Block)| block.kind == BlockKind::Heading(1);
    let (at, _) = shown.clone().find(is_main).or_else(|| {
        shown.find(|(_, block)| block.heading(6).is_some_and(|(_, text)| says(title, text)))
    })?;
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
        assert!(LINKED.is_sorted());
        assert!(LINKED.iter().all(|word| word.len() <= MAX_WORD_BYTES));
    }

    #[test]
    fn names_are_read_word_by_word() {
        for (value, told) in [
            ("t-navbar", Some(Named::IfLinked)),
            ("pageMenu x", Some(Named::IfLinked)),
            ("contentSub", Some(Named::IfLinked)),
            ("wide NavBar", Some(Named::Around)),
            ("Site-Footer", Some(Named::Edge)),
            ("card_footer", Some(Named::IfLinked)),
            ("docnav", Some(Named::IfLinked)),
            ("tocViewTitle", Some(Named::IfLinked)),
            ("unnavigable", None),
            ("canvas-menus", None),
            ("a-very-long-name-of-a-class", None),
            ("", None),
        ] {
            assert_eq!(named(value), told, "{value}");
        }
    }
}
