//! Elements that are open.

use super::{
    elements::{Element, is_island},
    page::PagePart,
    structure::Inline,
};

/// Elements inside of each other that are told apart, at most; browsers stop at 512.
const MAX_DEPTH: usize = 256;

/// Elements that are open, as far as they change what text means.
///
/// It is no tree builder: it knows which end tags may be left out and which
/// elements an end tag ends, and bounds its memory and the time a tag takes.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    stack: Vec<OpenElement>,
    /// Elements open beyond the deepest that is kept.
    beyond: usize,
    hidden: Option<usize>,
    template: Option<usize>,
    around: Option<usize>,
    main: Option<usize>,
    article: Option<usize>,
    section: Option<usize>,
    heading: Option<(usize, u8)>,
    pre: Option<usize>,
}

/// Traits of an element, from its start tag.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traits {
    /// Not shown.
    pub(super) is_hidden: bool,
    /// Section, whose header and footer are its own.
    pub(super) is_section: bool,
    /// Part of the page that it is.
    pub(super) part: Option<Part>,
    /// Style of the text in it.
    pub(super) style: Inline,
    /// Container that its blocks stand in.
    pub(super) container: u32,
}

/// Part of a page, as its element or its role says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    Main,
    Article,
    /// Navigation and the like.
    Around,
    /// Header or footer, of the page unless of a section.
    Edge,
    /// Navigation if it consists of links.
    IfLinked,
    /// Beside the matter of a page that has enough of it.
    Beside,
    /// Text of an article, by its name.
    ArticleText,
}

impl Part {
    /// Returns `true` where the rest of the page cannot change it.
    pub(super) fn is_sure(self) -> bool {
        !matches!(self, Self::IfLinked | Self::Beside | Self::ArticleText)
    }
}

#[derive(Clone, Copy, Debug)]
struct OpenElement {
    name: u64,
    element: Element,
    /// Whether it is one of SVG or `MathML`.
    is_foreign: bool,
    is_island: bool,
    style: Inline,
    container: u32,
}

impl OpenElements {
    /// Returns how many elements are open.
    pub(super) fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Returns the style of text here.
    pub(super) fn style(&self) -> Inline {
        self.stack.last().map(|open| open.style).unwrap_or_default()
    }

    /// Returns the container that blocks here stand in.
    pub(super) fn container(&self) -> u32 {
        self.stack.last().map_or(0, |open| open.container)
    }

    /// Returns `true` if lines and blanks count here.
    pub(super) fn is_pre(&self) -> bool {
        self.pre.is_some()
    }

    /// Returns `true` if lines and blanks still count when elements from one on end.
    pub(super) fn is_pre_after(&self, depth: usize) -> bool {
        self.pre.is_some_and(|at| at < depth)
    }

    /// Returns `true` if a tag here is none of HTML.
    pub(super) fn is_foreign(&self) -> bool {
        let last = self.stack.last();
        last.is_some_and(|open| open.is_foreign && !open.is_island)
    }

    /// Returns `true` if what stands here is not shown.
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden.is_some()
    }

    /// Returns `true` if what stands here is no part of the page.
    pub(super) fn is_in_template(&self) -> bool {
        self.template.is_some()
    }

    /// Returns where the heading begins that an element ends, which belongs behind it.
    pub(super) fn heading_ended_by(&self, element: Element) -> Option<usize> {
        let belongs_behind = matches!(element, Element::Paragraph | Element::List | Element::Table);
        self.heading.map(|(at, _)| at).filter(|_| belongs_behind)
    }

    /// Returns the level of the heading that is open.
    pub(super) fn heading(&self) -> Option<u8> {
        self.heading.map(|(_, level)| level)
    }

    pub(super) fn place(&self) -> PagePart {
        if self.around.is_some() {
            PagePart::Around
        } else if self.main.is_some() {
            PagePart::Main
        } else if self.article.is_some() {
            PagePart::Article
        } else {
            PagePart::Body
        }
    }

    /// Returns where the elements begin that a start tag ends without saying so.
    pub(super) fn ended_by(&self, element: Element, name: &[u8]) -> usize {
        let depth = self.stack.len();
        if self.is_foreign() {
            if !element.breaks_out(name) {
                return depth;
            }
            let html = |open: &OpenElement| !open.is_foreign || open.is_island;
            return self.stack.iter().rposition(html).map_or(0, |at| at + 1);
        }
        let mut end = depth;
        if element.ends_paragraph() {
            end = self.inside(end, |open| open == Element::Paragraph, Element::is_wall);
        }
        match element {
            Element::Heading(_) => match self.heading {
                Some((at, _)) => end.min(at),
                None => end,
            },
            Element::Item => self.inside(
                end,
                |open| open == Element::Item,
                |open| open.is_wall() || open == Element::List,
            ),
            Element::Term => self.inside(
                end,
                |open| open == Element::Term,
                |open| open.is_wall() || open == Element::List,
            ),
            Element::Cell => self.inside(end, |open| open == Element::Cell, is_table),
            Element::Row => self.inside(
                end,
                |open| matches!(open, Element::Row | Element::Cell),
                is_table,
            ),
            Element::RowGroup => self.inside(
                end,
                |open| matches!(open, Element::RowGroup | Element::Row | Element::Cell),
                is_table,
            ),
            _ => end,
        }
    }

    /// Returns where the elements begin that an end tag ends, if it ends any.
    pub(super) fn ended_by_end(&self, element: Element, name: &[u8]) -> Option<usize> {
        // What lies deeper than the elements that are kept ends before them.
        if self.beyond > 0 {
            return None;
        }
        let key = key(name);
        let is_wanted = |open: &OpenElement| match element {
            Element::Heading(_) => matches!(open.element, Element::Heading(_)),
            _ => open.name == key,
        };
        for (at, open) in self.stack.iter().enumerate().rev() {
            if is_wanted(open) {
                return Some(at);
            }
            let stops = match element {
                Element::Table
                | Element::Template
                | Element::Svg
                | Element::Math
                | Element::Unseen => open.element == Element::Template,
                Element::Row | Element::RowGroup | Element::Cell => is_table(open.element),
                Element::Inline => open.element.is_block() || open.is_island,
                _ => open.element.is_wall() || open.is_island,
            };
            if stops {
                return None;
            }
        }
        None
    }

    /// Opens an element.
    pub(super) fn push(&mut self, element: Element, name: &[u8], traits: Traits) {
        let at = self.stack.len();
        if at >= MAX_DEPTH {
            self.beyond = self.beyond.saturating_add(1);
            return;
        }
        let is_foreign = self.is_foreign() || matches!(element, Element::Svg | Element::Math);
        self.stack.push(OpenElement {
            name: key(name),
            element,
            is_foreign,
            is_island: is_foreign && is_island(name),
            style: traits.style,
            container: traits.container,
        });
        // The outermost counts: it ends last, and what is in it before.
        let set = |mark: &mut Option<usize>, is: bool| {
            if is && mark.is_none() {
                *mark = Some(at);
            }
        };
        let is_unseen = matches!(element, Element::Unseen | Element::Svg | Element::Template);
        set(&mut self.hidden, traits.is_hidden || is_unseen);
        set(&mut self.template, element == Element::Template);
        set(&mut self.pre, matches!(name, b"pre" | b"listing"));
        let is_around = match traits.part {
            Some(Part::Around) => true,
            Some(Part::Edge) => self.section.is_none(),
            Some(
                Part::Main | Part::Article | Part::IfLinked | Part::Beside | Part::ArticleText,
            )
            | None => false,
        };
        let is_main = traits.part == Some(Part::Main);
        let is_article = traits.part == Some(Part::Article);
        set(&mut self.around, is_around);
        set(&mut self.main, is_main);
        set(&mut self.article, is_article);
        let is_section = traits.is_section || is_main || is_article;
        set(&mut self.section, is_section);
        if let (Element::Heading(level), None) = (element, self.heading) {
            self.heading = Some((at, level));
        }
    }

    /// Ends an element that is deeper than those kept.
    pub(super) fn end_beyond(&mut self) {
        self.beyond = self.beyond.saturating_sub(1);
    }

    /// Ends all elements from one on.
    pub(super) fn truncate(&mut self, depth: usize) {
        if depth >= self.stack.len() {
            return;
        }
        self.stack.truncate(depth);
        self.beyond = 0;
        for mark in [
            &mut self.hidden,
            &mut self.template,
            &mut self.around,
            &mut self.main,
            &mut self.article,
            &mut self.section,
            &mut self.pre,
        ] {
            mark.take_if(|at| *at >= depth);
        }
        self.heading.take_if(|(at, _)| *at >= depth);
    }

    /// Returns `true` if any block that is shown is among the elements from one on.
    pub(super) fn has_block_from(&self, depth: usize) -> bool {
        let shown = self.hidden.unwrap_or(self.stack.len());
        let ended = self.stack.get(depth..shown).unwrap_or_default();
        ended.iter().any(|open| open.element.is_block())
    }

    /// Returns the level of the heading that stays open when elements from one on end.
    pub(super) fn heading_after(&self, depth: usize) -> Option<u8> {
        self.heading
            .and_then(|(at, level)| (at < depth).then_some(level))
    }

    /// Returns `true` if a part of the page ends with the elements from one on.
    pub(super) fn has_part_from(&self, depth: usize) -> bool {
        [self.around, self.main, self.article]
            .into_iter()
            .flatten()
            .any(|at| at >= depth && self.hidden.is_none_or(|hidden| at < hidden))
    }

    /// Returns where the outermost wanted element in reach begins, else `end`.
    fn inside(
        &self,
        end: usize,
        is_wanted: impl Fn(Element) -> bool,
        is_wall: impl Fn(Element) -> bool,
    ) -> usize {
        let mut found = end;
        for (at, open) in self.stack.iter().enumerate().take(end).rev() {
            if is_wanted(open.element) {
                found = at;
            } else if is_wall(open.element) {
                break;
            }
        }
        found
    }
}

fn is_table(element: Element) -> bool {
    matches!(element, Element::Table | Element::Template)
}

/// Returns a number for a name (FNV-1a); that two share one does no harm.
fn key(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
