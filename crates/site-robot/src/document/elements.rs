//! HTML elements, grouped by their effect on the surrounding text.

use html5gum::State;

/// Effect of an element on the text in and around it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Element {
    /// An element that does not start a new line; unknown elements are treated the same way.
    Inline,
    /// An element that is separated from the surrounding text by line breaks.
    Block,
    /// A `<p>` element, which is closed by any block element.
    Paragraph,
    /// A heading, `<h1>` to `<h6>`.
    Heading(u8),
    /// A list item, `<li>`.
    Item,
    /// A `<dt>` or `<dd>` element.
    Term,
    /// A list, such as `<ul>`, `<ol>` or `<dl>`.
    List,
    /// A `<table>` element.
    Table,
    /// A `<thead>`, `<tbody>`, `<tfoot>`, `<caption>` or `<colgroup>` element.
    RowGroup,
    /// A table row, `<tr>`.
    Row,
    /// A table cell, `<td>` or `<th>`.
    Cell,
    /// An element without an end tag, except `<br>` and `<hr>`.
    Void,
    /// A line break, `<br>`.
    LineBreak,
    /// An `<hr>` element.
    Rule,
    /// A `<template>` element.
    Template,
    /// An `<svg>` element.
    Svg,
    /// A `<math>` element.
    Math,
    /// An element whose content is hidden.
    Unseen,
    /// An element that contains only text and no tags.
    Raw(Raw),
}

/// An element that contains only text and no tags.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Raw {
    Title,
    /// An `<xmp>` or `<plaintext>` element.
    Shown(State),
    Dropped(State),
}

impl Element {
    pub(super) fn from_name(name: &[u8]) -> Self {
        match name {
            b"p" => Self::Paragraph,
            b"h1" => Self::Heading(1),
            b"h2" => Self::Heading(2),
            b"h3" => Self::Heading(3),
            b"h4" => Self::Heading(4),
            b"h5" => Self::Heading(5),
            b"h6" => Self::Heading(6),
            b"li" => Self::Item,
            b"dt" | b"dd" => Self::Term,
            b"ul" | b"ol" | b"dl" | b"menu" | b"dir" => Self::List,
            b"table" => Self::Table,
            b"thead" | b"tbody" | b"tfoot" | b"caption" | b"colgroup" => Self::RowGroup,
            b"tr" => Self::Row,
            b"td" | b"th" => Self::Cell,
            b"br" => Self::LineBreak,
            b"hr" => Self::Rule,
            b"template" => Self::Template,
            b"svg" => Self::Svg,
            b"math" => Self::Math,
            b"address" | b"article" | b"aside" | b"blockquote" | b"body" | b"center"
            | b"details" | b"dialog" | b"div" | b"fieldset" | b"figcaption" | b"figure"
            | b"footer" | b"form" | b"frameset" | b"head" | b"header" | b"hgroup" | b"html"
            | b"legend" | b"listing" | b"main" | b"nav" | b"pre" | b"search" | b"section"
            | b"summary" => Self::Block,
            b"area" | b"base" | b"basefont" | b"bgsound" | b"col" | b"embed" | b"frame"
            | b"img" | b"input" | b"keygen" | b"link" | b"meta" | b"param" | b"source"
            | b"track" | b"wbr" => Self::Void,
            // Most of these elements contain fallback content for browsers that do not support
            // them.
            b"annotation" | b"annotation-xml" | b"audio" | b"canvas" | b"datalist"
            | b"noscript" | b"object" | b"rp" | b"select" | b"video" => Self::Unseen,
            _ => Self::raw(name).map_or(Self::Inline, Self::Raw),
        }
    }

    fn raw(name: &[u8]) -> Option<Raw> {
        Some(match name {
            b"title" => Raw::Title,
            b"textarea" => Raw::Dropped(State::RcData),
            b"script" => Raw::Dropped(State::ScriptData),
            b"style" | b"iframe" | b"noembed" | b"noframes" => Raw::Dropped(State::RawText),
            b"xmp" => Raw::Shown(State::RawText),
            b"plaintext" => Raw::Shown(State::PlainText),
            _ => return None,
        })
    }

    /// Returns `true` if line breaks separate the element from the surrounding text.
    pub(super) fn is_block(self) -> bool {
        !matches!(
            self,
            Self::Inline
                | Self::Void
                | Self::LineBreak
                | Self::Math
                | Self::Svg
                | Self::Template
                | Self::Unseen
                | Self::Raw(Raw::Title | Raw::Dropped(_))
        )
    }

    /// Returns `true` if the element is always empty.
    pub(super) fn is_void(self) -> bool {
        matches!(self, Self::Void | Self::LineBreak | Self::Rule)
    }

    /// Returns `true` if the element starts SVG or `MathML` content.
    pub(super) fn is_foreign_root(self) -> bool {
        matches!(self, Self::Svg | Self::Math)
    }

    /// Returns `true` if the element closes an open `<p>` (WHATWG HTML §13.2.6.4.7).
    pub(super) fn ends_paragraph(self) -> bool {
        self.is_block() && !matches!(self, Self::RowGroup | Self::Row | Self::Cell)
    }

    /// Returns `true` if the end tag of an outer element does not close this element.
    pub(super) fn is_barrier(self) -> bool {
        matches!(self, Self::Cell | Self::Table | Self::Template)
    }

    /// Returns `true` if the tag ends the enclosing SVG or `MathML` content (WHATWG HTML
    /// §13.2.6.5).
    pub(super) fn breaks_out(self, name: &[u8]) -> bool {
        match self {
            Self::Inline | Self::Void => matches!(
                name,
                b"b" | b"big"
                    | b"code"
                    | b"em"
                    | b"embed"
                    | b"i"
                    | b"img"
                    | b"meta"
                    | b"nobr"
                    | b"ruby"
                    | b"s"
                    | b"small"
                    | b"span"
                    | b"strike"
                    | b"strong"
                    | b"sub"
                    | b"sup"
                    | b"tt"
                    | b"u"
                    | b"var"
            ),
            Self::Row | Self::Cell | Self::RowGroup | Self::Raw(_) => false,
            _ => self.is_block() || self == Self::LineBreak,
        }
    }
}

impl Raw {
    /// Returns the tokenizer state in which the element's text is read.
    pub(super) fn state(self) -> State {
        match self {
            Self::Title => State::RcData,
            Self::Shown(state) | Self::Dropped(state) => state,
        }
    }
}

/// Returns `true` if the content of an SVG or `MathML` element is parsed as HTML.
pub(super) fn is_island(name: &[u8]) -> bool {
    matches!(
        name,
        b"foreignobject" | b"desc" | b"title" | b"mi" | b"mo" | b"mn" | b"ms" | b"mtext"
    )
}
