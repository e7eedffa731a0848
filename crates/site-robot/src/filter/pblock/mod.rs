//! Parameter blocks: the format of filter.conf, filterrules.conf and classification.conf.
//!
//! A line consists of a keyword and `key=value` pairs; `<Tag name=…>` and `</Tag>` enclose lines,
//! and `#` starts a comment.

mod item;
mod reader;
mod words;
mod write;

pub(super) use item::{Entry, Item, Pair, Tag};
pub(super) use reader::{Block, read};
pub use words::{QuoteFault, QuotedValue, is_quote, unquote};
pub(super) use write::write;

#[cfg(test)]
mod tests;
