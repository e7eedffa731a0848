//! Writes the normal form of a configuration file.

use std::fmt::{self, Write};

use super::{Item, Pair, words::is_plain};

/// Writes items: one directive per line, with minimal quoting and single empty lines.
pub(in crate::filter) fn write(items: &[Item], out: &mut impl Write) -> fmt::Result {
    let (mut is_parted, mut has_lines) = (false, false);
    for item in items {
        // Removed items may leave two adjacent empty lines, or an empty line at the start.
        if *item == Item::Blank {
            is_parted = has_lines;
            continue;
        }
        if std::mem::take(&mut is_parted) {
            writeln!(out)?;
        }
        write_item(item, out)?;
        writeln!(out)?;
        has_lines = true;
    }
    Ok(())
}

fn write_item(item: &Item, out: &mut impl Write) -> fmt::Result {
    match item {
        Item::Blank => Ok(()),
        Item::Comment(text) => write!(out, "{text}"),
        Item::Open(tag) => {
            write!(out, "<{}", tag.name)?;
            write_pairs(&tag.pairs, true, out)?;
            write!(out, ">")
        }
        Item::Close { tag, .. } => write!(out, "</{tag}>"),
        Item::Entry(entry) => {
            write!(out, "{}", entry.word)?;
            write_pairs(&entry.pairs, false, out)?;
            match &entry.comment {
                Some(comment) => write!(out, " {comment}"),
                None => Ok(()),
            }
        }
    }
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
