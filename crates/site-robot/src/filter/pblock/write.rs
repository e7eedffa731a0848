//! Writes a file in its normal form.

use std::fmt::{self, Write};

use super::{Item, Pair, words::is_plain};

/// Writes items: one directive a line, no more quotes than needed, single empty lines.
pub(in crate::filter) fn write(items: &[Item], out: &mut impl Write) -> fmt::Result {
    let end = items.iter().rposition(|item| *item != Item::Blank);
    for item in items.iter().take(end.map_or(0, |end| end + 1)) {
        match item {
            Item::Blank => {}
            Item::Comment(text) => write!(out, "{text}")?,
            Item::Open(tag) => {
                write!(out, "<{}", tag.name)?;
                write_pairs(&tag.pairs, true, out)?;
                write!(out, ">")?;
            }
            Item::Close { tag, .. } => write!(out, "</{tag}>")?,
            Item::Entry(entry) => {
                write!(out, "{}", entry.word)?;
                write_pairs(&entry.pairs, false, out)?;
                if let Some(comment) = &entry.comment {
                    write!(out, " {comment}")?;
                }
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_pairs(pairs: &[Pair], is_quoted: bool, out: &mut impl Write) -> fmt::Result {
    for Pair { key, value, .. } in pairs {
        if is_quoted || !is_plain(value) {
            write!(out, " {key}=\"{value}\"")?;
        } else {
            write!(out, " {key}={value}")?;
        }
    }
    Ok(())
}
