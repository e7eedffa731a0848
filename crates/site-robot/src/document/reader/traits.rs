//! Evaluates the attributes of a tag.

use super::{
    super::{
        around::{is_article_text, is_secondary, part_from_name},
        attributes::{Attribute, is_html_space},
        open::{Part, Traits},
        structure::Mark,
    },
    Reader,
};

impl Reader<'_> {
    pub(super) fn traits(&self, name: &[u8]) -> Traits {
        let role = self.attributes.lower(Attribute::Role);
        let role = role.as_deref().unwrap_or_default();
        Traits {
            is_hidden: self.is_hidden(name),
            is_section: matches!(name, b"section" | b"article" | b"main"),
            part: part_of(name, role).or_else(|| self.part_of_name(name)),
            ..Traits::default()
        }
    }

    pub(super) fn is_hidden(&self, name: &[u8]) -> bool {
        let style = || self.attributes.lower(Attribute::Style);
        self.attributes.has(Attribute::Hidden)
            || self.is_kept_from_robots()
            || (name == b"dialog" && !self.attributes.has(Attribute::Open))
            || style().is_some_and(|style| hides(&style))
            || self.is_mark_of_heading(name)
    }
}

impl Reader<'_> {
    /// Records the current tag's picture if it is visible and not merely decorative.
    pub(super) fn image(&mut self) {
        if self.open.is_hidden() || self.open.is_pre() || self.is_hidden(b"img") {
            return;
        }
        let alt = self.attributes.value(Attribute::Alt);
        let Some(alt) = alt.filter(|alt| !alt.is_empty()) else {
            return;
        };
        let source = self.attributes.value(Attribute::Src).unwrap_or_default();
        let at = self.text.position();
        self.structure.begin_text(at, self.open.style());
        self.structure.note(at, Mark::Image { source, alt });
    }

    /// Returns `true` for a visible password field. Hidden fields are ignored, because many pages
    /// contain a hidden password field for later use.
    pub(super) fn asks_for_password(&self, name: &[u8]) -> bool {
        name == b"input"
            && !self.open.is_hidden()
            && !self.traits(name).is_hidden
            && self.attributes.lower(Attribute::Type).as_deref() == Some("password")
    }

    /// Returns `true` for a script that contains structured data (JSON-LD).
    pub(super) fn is_structured_data(&self) -> bool {
        let media_type = self.attributes.text(Attribute::Type);
        media_type.is_some_and(|it| it.trim().eq_ignore_ascii_case("application/ld+json"))
    }

    /// Returns `true` for text that is hidden from assistive technology or from search result
    /// snippets.
    ///
    /// Google supports `data-nosnippet` only on `span`, `div` and `section`. It is honoured on
    /// other elements as well, because text cannot be withdrawn once it has been published.
    fn is_kept_from_robots(&self) -> bool {
        let is_silent = || {
            let hidden = self.attributes.lower(Attribute::AriaHidden);
            hidden.is_some_and(|hidden| hidden == "true")
        };
        self.attributes.has(Attribute::NoSnippet) || is_silent()
    }

    /// Returns `true` for permalink signs and edit links next to headings.
    fn is_mark_of_heading(&self, name: &[u8]) -> bool {
        if !matches!(name, b"a" | b"span") {
            return false;
        }
        let classes = self.attributes.lower(Attribute::Class).unwrap_or_default();
        classes.split(is_html_space).any(|class| {
            matches!(
                class,
                "headerlink" | "permalink" | "header-anchor" | "mw-editsection" | "editsection"
            )
        })
    }

    fn is_article_text(&self) -> bool {
        let names = [Attribute::Class, Attribute::Id, Attribute::ItemProp];
        let mut names = names.into_iter();
        names.any(|it| self.attributes.text(it).is_some_and(is_article_text))
    }

    /// Returns the page part indicated by an element's class or id.
    fn part_of_name(&self, name: &[u8]) -> Option<Part> {
        if !may_stand_around(name) {
            return None;
        }
        let class = self.attributes.text(Attribute::Class);
        let values =
            [class, self.attributes.text(Attribute::Id)].map(|it| it.and_then(part_from_name));
        let mut named = values.iter().flatten().copied();
        // A classification by class or id takes precedence if it is certain.
        match named.clone().find(|part| part.is_sure()) {
            Some(sure) => Some(sure),
            None if self.is_article_text() => Some(Part::ArticleText),
            None if is_box(name) && class.is_some_and(is_secondary) => Some(Part::Beside),
            None => named.next(),
        }
    }
}

/// Returns `true` for elements that enclose the whole page; their end tags are ignored.
pub(super) fn is_page(name: &[u8]) -> bool {
    matches!(name, b"html" | b"head" | b"body" | b"frameset")
}

/// Returns `true` for an element that may turn out to be boilerplate.
pub(super) fn may_stand_around(name: &[u8]) -> bool {
    matches!(
        name,
        b"div"
            | b"ul"
            | b"ol"
            | b"dl"
            | b"p"
            | b"table"
            | b"td"
            | b"section"
            | b"header"
            | b"footer"
            | b"form"
            | b"details"
    )
}

/// Returns `true` for a generic container element. Other elements, such as a table with the class
/// `related`, are content.
fn is_box(name: &[u8]) -> bool {
    !matches!(name, b"table" | b"td" | b"dl" | b"p")
}

/// Returns the page part indicated by an element's name and role.
fn part_of(name: &[u8], role: &str) -> Option<Part> {
    match (name, role) {
        (b"nav" | b"aside", _)
        | (_, "navigation" | "banner" | "contentinfo" | "complementary" | "search") => {
            Some(Part::Around)
        }
        (b"main", _) | (_, "main") => Some(Part::Main),
        (b"article", _) | (_, "article") => Some(Part::Article),
        (b"header" | b"footer", "") => Some(Part::Edge),
        _ => None,
    }
}

/// Returns `true` if a style declaration, in lower case, hides its element.
fn hides(style: &str) -> bool {
    style.split(';').any(|rule| {
        let Some((name, value)) = rule.split_once(':') else {
            return false;
        };
        let value = value.trim().trim_end_matches("!important").trim_end();
        matches!(
            (name.trim(), value),
            ("display", "none") | ("visibility", "hidden" | "collapse")
        )
    })
}
