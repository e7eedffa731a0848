//! A parser that converts octets to groups in one pass over the lines.

use std::{
    array,
    mem::{replace, take},
    ops::{Deref, Range},
};

use super::{
    Dialect, RequestRate,
    dialect::AgentsEnd,
    field::{Content, Field, lines, read},
    request_rate::crawl_delay,
};

/// The position of a part of a robots.txt file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    start: u32,
    length: u32,
}

/// The value of a `User-agent` line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agent {
    pub(super) value: Span,
    pub(super) line: u32,
}

/// An `Allow` or `Disallow` line of a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RuleLine {
    pub(super) path: Span,
    pub(super) line: u32,
    pub(super) allow: bool,
}

/// A line that is not a rule, with its field and position.
#[derive(Clone, Debug)]
pub(super) struct Extra {
    pub(super) field: Field,
    pub(super) value: Span,
    pub(super) line: u32,
    /// The index of the group that contains the line, if any.
    pub(super) group: Option<usize>,
    /// The agents of the line's group that were listed since the previous line with the same field.
    pub(super) agents: Range<usize>,
}

/// A group of a file, stored as ranges of agents and rules.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupLines {
    pub(super) agents: Range<usize>,
    pub(super) rules: Range<usize>,
    /// Whether the group applies to every robot because it has no `User-agent` line.
    pub(super) implied: bool,
}

/// A parsed robots.txt file.
#[derive(Debug)]
pub(super) struct ParsedFile {
    pub(super) text: Box<[u8]>,
    pub(super) agents: SmallVec<Agent, 2>,
    pub(super) rules: SmallVec<RuleLine, 4>,
    pub(super) extras: Vec<Extra>,
    pub(super) groups: SmallVec<GroupLines, 1>,
}

impl ParsedFile {
    /// Parses a robots.txt file; content beyond 4 GiB is ignored.
    pub(super) fn new(bytes: &[u8], dialect: &Dialect) -> Self {
        let bytes = bytes.get(..u32::MAX as usize).unwrap_or(bytes);
        let mut parser = Parser::new(bytes, dialect);
        // No line follows the final line ending.
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        for line in lines(text, dialect.lines) {
            match read(line, dialect.lines) {
                Content::Nothing => {}
                Content::Blank => parser.blank(),
                Content::Field(field, value) => parser.field(field, value, line.number),
            }
        }
        parser.end_group();
        parser.parsed
    }

    /// Returns the octets of a part of the file's text.
    pub(super) fn octets(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        self.text
            .get(start..start + span.length as usize)
            .unwrap_or_default()
    }

    /// Returns the agents of a group.
    pub(super) fn agents_of(&self, group: &GroupLines) -> &[Agent] {
        self.agents.get(group.agents.clone()).unwrap_or_default()
    }

    /// Returns the rules of a group.
    pub(super) fn rules_of(&self, group: &GroupLines) -> &[RuleLine] {
        self.rules.get(group.rules.clone()).unwrap_or_default()
    }

    /// Returns the number of a group's first line.
    pub(super) fn line_of(&self, group: &GroupLines) -> usize {
        let agent = self.agents_of(group).first().map(|agent| agent.line);
        let rule = self.rules_of(group).first().map(|rule| rule.line);
        agent.or(rule).unwrap_or_default() as usize
    }

    /// Returns the number of a group's last rule or, if it comes later, last `User-agent` line.
    pub(super) fn last_line_of(&self, group: &GroupLines) -> u32 {
        let agent = self.agents_of(group).last().map_or(0, |agent| agent.line);
        let rule = self.rules_of(group).last().map_or(0, |rule| rule.line);
        agent.max(rule)
    }

    /// Returns the lines with the given field, in file order.
    pub(super) fn extras_of(&self, field: Field) -> impl Iterator<Item = &Extra> {
        self.extras.iter().filter(move |extra| extra.field == field)
    }
}

/// The parser's state between two lines: outside a group, among a group's `User-agent` lines, or
/// among a group's rules. The dialect's `agents_end`, `blank_line_ends` and `orphans_for_all`
/// determine the transitions.
struct Parser<'t> {
    text: &'t [u8],
    dialect: &'t Dialect,
    parsed: ParsedFile,
    /// Whether the next rule belongs to the group parsed last.
    open: bool,
    /// Whether the next `User-agent` line belongs to the group parsed last.
    listing: bool,
    /// The index of the first agent that the next `Crawl-delay` applies to, and the same index for
    /// `Request-rate`.
    delayed: usize,
    rated: usize,
}

impl<'t> Parser<'t> {
    #[inline]
    fn new(text: &'t [u8], dialect: &'t Dialect) -> Self {
        Self {
            text,
            dialect,
            parsed: ParsedFile {
                text: text.into(),
                agents: SmallVec::with_capacity(1),
                rules: SmallVec::with_capacity(text.len() / 32),
                extras: Vec::new(),
                groups: SmallVec::with_capacity(1),
            },
            open: false,
            listing: false,
            delayed: 0,
            rated: 0,
        }
    }

    fn blank(&mut self) {
        if self.dialect.blank_line_ends {
            self.open = false;
        }
    }

    #[inline]
    fn field(&mut self, field: Field, value: &[u8], line: u32) {
        match field {
            Field::Allow if self.dialect.allow => self.rule(true, value, line),
            Field::Disallow => self.rule(false, value, line),
            Field::UserAgent => self.agent(value, line),
            // Dialects without `Allow` treat it as an unknown field.
            Field::Allow | Field::Other => self.end_listing(AgentsEnd::AnyField),
            _ => self.extra(field, value, line),
        }
    }

    fn agent(&mut self, value: &[u8], line: u32) {
        if !(self.open && self.listing) {
            self.begin(false);
        }
        let value = self.span(value);
        self.parsed.agents.push(Agent { value, line });
    }

    fn begin(&mut self, implied: bool) {
        self.end_group();
        let (agent, rule) = (self.parsed.agents.len(), self.parsed.rules.len());
        self.parsed.groups.push(GroupLines {
            agents: agent..agent,
            rules: rule..rule,
            implied,
        });
        self.open = true;
        self.listing = !implied;
        self.delayed = agent;
        self.rated = agent;
    }

    /// Ends the group parsed last, which gets all agents and rules since its start.
    fn end_group(&mut self) {
        if let Some(group) = self.parsed.groups.last_mut() {
            group.agents.end = self.parsed.agents.len();
            group.rules.end = self.parsed.rules.len();
        }
    }

    #[inline]
    fn rule(&mut self, allow: bool, value: &[u8], line: u32) {
        if !self.open {
            // After a group that was ended by a blank line, rules apply to no robot; only rules at
            // the start of a file may apply to all robots.
            if !(self.dialect.orphans_for_all && self.parsed.agents.is_empty()) {
                return;
            }
            self.begin(true);
        }
        if !(allow && self.dialect.agents_end == AgentsEnd::Disallow) {
            self.listing = false;
        }
        let path = self.span(value);
        self.parsed.rules.push(RuleLine { path, line, allow });
    }

    fn extra(&mut self, field: Field, value: &[u8], line: u32) {
        let named = self.parsed.agents.len();
        // An invalid value applies to no agent: the next line of the field then applies to
        // all agents since the last valid one.
        let from = match field {
            Field::CrawlDelay if crawl_delay(value).is_some() => replace(&mut self.delayed, named),
            Field::RequestRate if RequestRate::parse(value).is_some() => {
                replace(&mut self.rated, named)
            }
            _ => named,
        };
        let value = self.span(value);
        let group = self
            .open
            .then(|| self.parsed.groups.len().saturating_sub(1));
        let agents = if self.open { from..named } else { named..named };
        self.parsed.extras.push(Extra {
            field,
            value,
            line,
            group,
            agents,
        });
        self.end_listing(if field.is_extension() {
            AgentsEnd::AnyField
        } else {
            AgentsEnd::KnownField
        });
        // Content-Usage is a rule of its group (draft-ietf-aipref-attach-05 §3).
        if field == Field::ContentUsage && self.dialect.usage_is_rule() {
            self.listing = false;
        }
    }

    /// Ends the list of agents if a field of this kind ends the list in the dialect.
    fn end_listing(&mut self, by: AgentsEnd) {
        let ends = match self.dialect.agents_end {
            AgentsEnd::AnyField => true,
            AgentsEnd::KnownField => by == AgentsEnd::KnownField,
            AgentsEnd::Rule | AgentsEnd::Disallow => false,
        };
        if ends {
            self.listing = false;
        }
    }

    /// Returns the position of a part of the file's text.
    #[inline]
    fn span(&self, part: &[u8]) -> Span {
        // Parts are slices of the text. For any other slice the position would be out of range and
        // be treated as empty.
        let start = part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        match (u32::try_from(start), u32::try_from(part.len())) {
            (Ok(start), Ok(length)) => Span { start, length },
            _ => Span::default(),
        }
    }
}

/// A list that stores up to `N` items inline, and longer lists in a vector.
///
/// Many files have one group with one robot and few rules. This type avoids a dependency on the
/// `smallvec` crate for programs that use only the layer.
#[derive(Clone, Debug)]
pub(super) enum SmallVec<T, const N: usize> {
    /// Items stored inline, with the number of items in use.
    Inline([T; N], usize),
    Heap(Vec<T>),
}

impl<T: Default, const N: usize> SmallVec<T, N> {
    /// Creates an empty list with the given capacity.
    #[inline]
    pub(super) fn with_capacity(count: usize) -> Self {
        if count > N {
            Self::Heap(Vec::with_capacity(count))
        } else {
            Self::Inline(array::from_fn(|_| T::default()), 0)
        }
    }

    #[inline]
    pub(super) fn push(&mut self, item: T) {
        match self {
            Self::Inline(items, count) => match items.get_mut(*count) {
                Some(free) => {
                    *free = item;
                    *count += 1;
                }
                None => *self = Self::Heap(spilled(items, item)),
            },
            Self::Heap(items) => items.push(item),
        }
    }

    #[inline]
    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Inline(items, count) => items.get_mut(count.checked_sub(1)?),
            Self::Heap(items) => items.last_mut(),
        }
    }
}

#[cold]
fn spilled<T: Default>(items: &mut [T], item: T) -> Vec<T> {
    let mut many = Vec::with_capacity(items.len() * 2 + 2);
    many.extend(items.iter_mut().map(take));
    many.push(item);
    many
}

impl<T, const N: usize> Deref for SmallVec<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Inline(items, count) => items.get(..*count).unwrap_or_default(),
            Self::Heap(items) => items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order_beyond_the_inline_capacity() {
        for room in [0, 2, 3] {
            let mut list: SmallVec<usize, 2> = SmallVec::with_capacity(room);
            for number in 0..20 {
                assert_eq!(list.len(), number);
                list.push(number);
                assert_eq!(list.last_mut().copied(), Some(number));
                assert!(list.iter().copied().eq(0..=number));
            }
        }
    }
}
