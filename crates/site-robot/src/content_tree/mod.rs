//! Content of a page as a tree: headings, paragraphs, lists, tables, code, links.
//!
//! [`ContentTree`] contains the content of a page without its markup. The tree is stored as text,
//! with [marks](ContentTree::marked) that refer to the text. If the text is modified, the marks are
//! ignored, so they can never be wrong.
//!
//! # Example
//!
//! ```
//! use robot_detection_site_robot::content_tree::{Line, ContentTree, Piece};
//!
//! let items = ["Salt", "Pepper"].map(|text| vec![Piece::Paragraph(Line::plain(text))]);
//! let list = Piece::List { start: None, items: items.to_vec() };
//! let matter = ContentTree { pieces: vec![list] };
//! let told = matter.marked('\t', None);
//! assert_eq!(told.text, "Salt\nPepper");
//! assert_eq!(ContentTree::read(&told.text, &told.marks), Some(matter));
//! ```

mod marks;
mod read;
mod sentence;
mod tree;

pub use marks::MarkedText;
pub(crate) use sentence::{SummaryLine, first_sentence, repeats};
pub use tree::{ContentTree, Definition, Line, Link, Piece, Run, Style, TableCell};

/// Maximum nesting depth of blocks in a content tree.
pub const MAX_DEPTH: usize = 12;

#[cfg(test)]
pub(crate) mod tests;
