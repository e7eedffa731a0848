//! Parameter blocks: the form of filter.conf, filterrules.conf and classification.conf.
//!
//! A line is a word and `key=value` pairs; `<Tag name=…>` and `</Tag>` enclose
//! lines; `#` begins a comment.

mod item;
mod reader;
mod words;
mod write;

pub(super) use item::{Entry, Item, Pair, Tag};
pub(super) use reader::{Block, read};
pub use words::{QuoteFault, Unquoted, is_quote, unquote};
pub(super) use write::write;

#[cfg(test)]
mod tests;
