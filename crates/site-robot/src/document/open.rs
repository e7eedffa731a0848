//! Stack of open elements.

use super::{
    elements::{Element, is_island},
    page::PagePart,
    structure::Inline,
};

/// Maximum nesting depth of tracked elements; browsers stop at 512.
const MAX_DEPTH: usize = 256;

/// Stack of the open elements that affect the meaning of text.
///
/// This is not a full tree builder: it handles omitted end tags and determines which elements an
/// end tag closes, with bounded memory and bounded time per tag.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    stack: Vec<OpenElement>,
    /// Number of open elements beyond the maximum depth.
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

/// Traits of an element, determined from its start tag.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traits {
    pub(super) is_hidden: bool,
    /// Whether the element is a section, which may have its own header and footer.
    pub(super) is_section: bool,
    /// The part of the page that the element represents.
    pub(super) part: Option<Part>,
    pub(super) style: Inline,
    pub(super) container: u32,
}

/// Page part that an element's name or role indicates.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    Main,
    Article,
    /// Navigation or other boilerplate.
    Around,
    /// Header or footer of the page, unless the element is inside a section.
    Edge,
    /// Navigation, if the element consists of links.
    IfLinked,
    /// Secondary content, excluded if enough other text remains.
    Beside,
    /// Text of an article, as indicated by its class or id.
    ArticleText,
}

impl Part {
    /// Returns `true` if the rest of the page cannot change this classification.
    pub(super) fn is_sure(self) -> bool {
        !matches!(self, Self::IfLinked | Self::Beside | Self::ArticleText)
    }
}

#[derive(Clone, Copy, Debug)]
struct OpenElement {
    name: u64,
    element: Element,
    /// Whether the element belongs to SVG or `MathML`.
    is_foreign: bool,
    is_island: bool,
    style: Inline,
    container: u32,
}

impl OpenElements {
    /// Returns the number of open elements.
    pub(super) fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Returns the text style at the current position.
    pub(super) fn style(&self) -> Inline {
        self.stack.last().map(|open| open.style).unwrap_or_default()
    }

    /// Returns the container of the blocks at the current position.
    pub(super) fn container(&self) -> u32 {
        self.stack.last().map_or(0, |open| open.container)
    }

    /// Returns `true` if white space is significant at the current position.
    pub(super) fn is_pre(&self) -> bool {
        self.pre.is_some()
    }

    /// Returns `true` if white space remains significant after the elements at or below `depth` are
    /// closed.
    pub(super) fn is_pre_after(&self, depth: usize) -> bool {
        self.pre.is_some_and(|at| at < depth)
    }

    /// Returns `true` if a tag at the current position belongs to SVG or `MathML` content.
    pub(super) fn is_foreign(&self) -> bool {
        let last = self.stack.last();
        last.is_some_and(|open| open.is_foreign && !open.is_island)
    }

    /// Returns `true` if content at the current position is hidden.
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden.is_some()
    }

    /// Returns `true` if content at the current position belongs to a template, not to the page.
    pub(super) fn is_in_template(&self) -> bool {
        self.template.is_some()
    }

    /// Returns the depth of the open heading if this element closes that heading.
    pub(super) fn heading_ended_by(&self, element: Element) -> Option<usize> {
        let belongs_behind = matches!(element, Element::Paragraph | Element::List | Element::Table);
        self.heading.map(|(at, _)| at).filter(|_| belongs_behind)
    }

    /// Returns the level of the open heading.
    pub(super) fn heading(&self) -> Option<u8> {
        self.heading.map(|(_, level)| level)
    }

    pub(super) fn page_part(&self) -> PagePart {
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

    /// Returns the depth at or below which a start tag implicitly closes elements.
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
            end = self.inside(end, |open| open == Element::Paragraph, Element::is_barrier);
        }
        match element {
            Element::Heading(_) => match self.heading {
                Some((at, _)) => end.min(at),
                None => end,
            },
            Element::Item => self.inside(
                end,
                |open| open == Element::Item,
                |open| open.is_barrier() || open == Element::List,
            ),
            Element::Term => self.inside(
                end,
                |open| open == Element::Term,
                |open| open.is_barrier() || open == Element::List,
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

    /// Returns the depth at or below which an end tag closes elements, if it closes any.
    pub(super) fn ended_by_end(&self, element: Element, name: &[u8]) -> Option<usize> {
        // Elements beyond the tracked depth end before the tracked elements.
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
                _ => open.element.is_barrier() || open.is_island,
            };
            if stops {
                return None;
            }
        }
        None
    }

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
        // The outermost element is recorded, because it ends last.
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

    /// Closes an element beyond the tracked depth.
    pub(super) fn close_untracked(&mut self) {
        self.beyond = self.beyond.saturating_sub(1);
    }

    /// Closes all elements at or below `depth`.
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

    /// Returns `true` if any visible element at or below `depth` is a block.
    pub(super) fn has_block_from(&self, depth: usize) -> bool {
        let shown = self.hidden.unwrap_or(self.stack.len());
        let ended = self.stack.get(depth..shown).unwrap_or_default();
        ended.iter().any(|open| open.element.is_block())
    }

    /// Returns the level of the heading that stays open after the elements at or below `depth` are
    /// closed.
    pub(super) fn heading_after(&self, depth: usize) -> Option<u8> {
        self.heading
            .and_then(|(at, level)| (at < depth).then_some(level))
    }

    /// Returns `true` if closing the elements at or below `depth` ends a page part.
    pub(super) fn has_part_from(&self, depth: usize) -> bool {
        [self.around, self.main, self.article]
            .into_iter()
            .flatten()
            .any(|at| at >= depth && self.hidden.is_none_or(|hidden| at < hidden))
    }

    /// Returns the depth of the outermost element that matches `is_wanted` inside the innermost one
    /// that matches `is_wall`, or else `end`.
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

/// Returns the FNV-1a hash of a name; collisions are harmless.
fn key(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
