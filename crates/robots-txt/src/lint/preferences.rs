//! Checks of `Content-Signal` and `Content-Usage`.

use crate::policy::dropped_label;
use crate::preferences::{Member, PreferenceLine, Vocabulary};

use super::{
    WarningKind,
    nearest::nearest,
    warnings::{Warnings, quote},
};

/// Adds warnings for the preferences in a line that robots ignore.
pub(super) fn preferences(words: Vocabulary, value: &[u8], line: usize, warnings: &mut Warnings) {
    let kind = match words {
        Vocabulary::Signal => WarningKind::ContentSignal,
        Vocabulary::Usage => WarningKind::ContentUsage,
    };
    let statement = PreferenceLine::read(value);
    if statement.members.is_empty() {
        warnings.add(line, kind, || {
            format!("the line is empty; write preferences {}", example(words))
        });
    }
    for member in &statement.members {
        if let Some(text) = wrong(words, member) {
            warnings.add(line, kind, || text);
        }
    }
}

fn example(words: Vocabulary) -> &'static str {
    match words {
        Vocabulary::Signal => "such as search=yes, ai-train=no",
        Vocabulary::Usage => "such as search=y, train-ai=n",
    }
}

/// Returns the text of the warning if a preference is invalid.
fn wrong(words: Vocabulary, member: &Member<'_>) -> Option<String> {
    let (what, each) = match words {
        Vocabulary::Signal => ("signal", "signals"),
        Vocabulary::Usage => ("use", "uses"),
    };
    let shown = quote(member.name);
    if words == Vocabulary::Usage
        && let Some(draft) = str::from_utf8(member.name).ok().and_then(dropped_label)
    {
        return Some(format!(
            "{shown} has no effect, because {draft} dropped it; remove it"
        ));
    }
    let known = words.words().iter();
    let Some((name, values)) = known.clone().find(|(name, _)| is(words, member.name, name)) else {
        let names = known.map(|(name, _)| *name);
        let next = nearest(member.name, names.clone()).map_or_else(
            || format!("known words are {}", list(names, "and")),
            |near| format!("write {near}"),
        );
        return Some(format!(
            "{shown} is not a known {what} and is ignored; {next}"
        ));
    };
    let Some(value) = member.value else {
        let whole = values.iter().map(|value| format!("{name}={value}"));
        let whole = list(whole, "or");
        return Some(format!(
            "{shown} has no value and is ignored; write {whole}"
        ));
    };
    if values.iter().any(|known| is(words, value, known)) {
        return None;
    }
    let next = if value.contains(&b'=') {
        format!("a comma between two {each}")
    } else {
        list(values.iter(), "or")
    };
    let value = quote(value);
    Some(format!(
        "{value} is not a value of {name} and is ignored; write {next}"
    ))
}

/// Compares two words; the words of `Content-Usage` are case-sensitive (draft-ietf-aipref-vocab
/// §6.1).
fn is(words: Vocabulary, word: &[u8], known: &str) -> bool {
    match words {
        Vocabulary::Signal => word.eq_ignore_ascii_case(known.as_bytes()),
        Vocabulary::Usage => word == known.as_bytes(),
    }
}

fn list(words: impl Iterator<Item: ToString>, last: &str) -> String {
    let words: Vec<String> = words.map(|word| word.to_string()).collect();
    match words.split_last() {
        Some((end, words)) if !words.is_empty() => format!("{} {last} {end}", words.join(", ")),
        _ => words.concat(),
    }
}
