//! Writes settings to an existing configuration file without changing the rest of the file.

use std::{collections::BTreeMap, ops::Range};

use toml::de::{DeTable, DeValue};

use super::{
    Key, SiteTable, Value,
    file::{self, FileContent, Table},
};

/// A setting to write to a configuration file, with its value.
pub type Change = (&'static Key, Value);

/// Writes settings to the text of a configuration file.
///
/// `site` is the index of the `[[site]]` table to write to, from 0; `None` writes settings for all
/// sites. Existing lines and comments are preserved, except for replaced values.
///
/// # Errors
///
/// Returns the settings to add manually if the text cannot be edited without changing other
/// settings.
pub fn with_settings(
    text: &str,
    site: Option<usize>,
    changes: &[Change],
) -> Result<String, String> {
    let mut edited = text.to_owned();
    let mut expected = flat(text);
    for (key, value) in changes {
        edited = place(&edited, site, key)
            .and_then(|place| place.fill(&edited, value))
            .ok_or_else(|| by_hand(site, key, value))?;
        expected.insert(flat_name(site, key), value.clone());
        // The edited text is parsed again to check the effect of the change.
        if flat(&edited) != expected || !file::read(&edited).errors.is_empty() {
            return Err(by_hand(site, key, value));
        }
    }
    Ok(edited)
}

/// The position at which a setting is written.
#[derive(Debug)]
enum Place {
    /// The range of the existing value to replace.
    Value(Range<usize>),
    /// Position for a new line, and the text to write before the value.
    Lines(usize, String),
}

impl Place {
    fn fill(self, text: &str, value: &Value) -> Option<String> {
        let (range, new) = match self {
            Self::Value(range) => (range, value.to_string()),
            Self::Lines(at, before) => (at..at, format!("{before}{value}\n")),
        };
        let (head, tail) = (text.get(..range.start)?, text.get(range.end..)?);
        // The last line of a file may not end with a line break.
        let end = if range.is_empty() && !head.is_empty() && !head.ends_with('\n') {
            "\n"
        } else {
            ""
        };
        Some(format!("{head}{end}{new}{tail}"))
    }
}

/// Finds the position at which to write a setting.
fn place(text: &str, site: Option<usize>, key: &Key) -> Option<Place> {
    let document = DeTable::parse(text).ok()?;
    let root = document.get_ref();
    let (base, start) = match site {
        None => (root, 0),
        Some(number) => {
            let sites = root.get(SiteTable::KIND.name)?.get_ref().as_array()?;
            let site = sites.get(number)?;
            (
                site.get_ref().as_table()?,
                end_of_line(text, site.span().end),
            )
        }
    };
    let name = name_in(site, key);
    let Some((table, short)) = name.split_once('.') else {
        return Some(in_table(text, base, start, name, ""));
    };
    let Some(found) = base.get(table) else {
        return Some(match site {
            None => Place::Lines(text.len(), format!("\n[{table}]\n{short} = ")),
            Some(_) => Place::Lines(last_line(text, base, start), format!("{name} = ")),
        });
    };
    let (entries, span) = (found.get_ref().as_table()?, found.span());
    match text.get(span.start..)?.chars().next()? {
        '[' => Some(in_table(
            text,
            entries,
            end_of_line(text, span.end),
            short,
            "",
        )),
        // In an inline table, only an existing value can be replaced.
        '{' => entries.get(short).map(|value| Place::Value(value.span())),
        // Dotted keys, such as `heaven.path`.
        _ => Some(in_table(
            text,
            entries,
            start_of_line(text, span.start),
            short,
            &format!("{table}."),
        )),
    }
}

/// Finds the position for a setting in a table whose lines begin at `start`.
fn in_table(text: &str, table: &DeTable<'_>, start: usize, name: &str, prefix: &str) -> Place {
    if let Some(value) = table.get(name) {
        return Place::Value(value.span());
    }
    let at = below_comment(text, start, name).unwrap_or_else(|| last_line(text, table, start));
    Place::Lines(at, format!("{prefix}{name} = "))
}

/// Returns the position after the commented-out default of a key, as written by `init`.
fn below_comment(text: &str, start: usize, name: &str) -> Option<usize> {
    let shown = format!("#{name} = ");
    let mut at = start;
    for line in text.get(start..)?.split_inclusive('\n') {
        at += line.len();
        if line.starts_with(&shown) {
            return Some(at);
        }
        if line.starts_with('[') {
            return None;
        }
    }
    None
}

/// Returns the position after the last line of a table's own values.
fn last_line(text: &str, table: &DeTable<'_>, start: usize) -> usize {
    end_of(text, table).map_or(start, |end| end_of_line(text, end).max(start))
}

/// Returns the end of a table's last value, including the values of dotted keys.
fn end_of(text: &str, table: &DeTable<'_>) -> Option<usize> {
    let ends = table.values().filter_map(|value| {
        let span = value.span();
        let begins_with = |head: &str| {
            text.get(span.start..)
                .is_some_and(|it| it.starts_with(head))
        };
        match value.get_ref() {
            DeValue::Table(_) if begins_with("[") => None,
            DeValue::Table(inner) if !begins_with("{") => end_of(text, inner),
            DeValue::Array(items) if items.iter().any(|item| item.get_ref().is_table()) => None,
            _ => Some(span.end),
        }
    });
    ends.max()
}

fn start_of_line(text: &str, at: usize) -> usize {
    let head = text.get(..at).unwrap_or_default();
    head.rfind('\n').map_or(0, |end| end + 1)
}

fn end_of_line(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |end| at + end + 1)
}

fn name_in(site: Option<usize>, key: &Key) -> &'static str {
    site.map_or(key.name, |_| key.name_in_site())
}

fn by_hand(site: Option<usize>, key: &Key, value: &Value) -> String {
    let name = name_in(site, key);
    let whole = site.map_or(String::new(), |_| format!("{}.", SiteTable::KIND.name));
    format!(
        "the file cannot be edited automatically; add this line manually: {whole}{name} = {value}"
    )
}

/// Returns all values in a configuration file, keyed by their place.
fn flat(text: &str) -> BTreeMap<String, Value> {
    let content = file::read(text);
    let mut all = of_content("", &content);
    for (number, site) in content.sites.iter().enumerate() {
        all.extend(of_content(&site_prefix(number), &site.content));
    }
    all
}

fn of_content(prefix: &str, content: &FileContent) -> BTreeMap<String, Value> {
    let keys = content.values.iter().chain(&content.own);
    let mut all: BTreeMap<_, _> = keys
        .map(|(key, value, _)| (format!("{prefix}{}", key.name), value.clone()))
        .collect();
    for (number, Table { kind, values, .. }) in content.tables.iter().enumerate() {
        let values = values.iter();
        all.extend(values.map(|(key, value, _)| {
            let name = format!("{prefix}{} {number} {}", kind.name, key.name);
            (name, value.clone())
        }));
    }
    all
}

fn flat_name(site: Option<usize>, key: &Key) -> String {
    format!("{}{}", site.map_or(String::new(), site_prefix), key.name)
}

fn site_prefix(number: usize) -> String {
    format!("site {number} ")
}

#[cfg(test)]
mod tests {
    use super::super::{GeneralSection, HeavenSection, SiteRobotSection, commented_configuration};
    use super::*;

    const KEYS: [&Key; 2] = [&HeavenSection::KEY.source, &HeavenSection::KEY.url];

    fn heaven() -> Vec<Change> {
        let [source, url] = KEYS;
        let text = |text: &str| Value::Text(text.to_owned());
        vec![(source, text("database")), (url, text("http://h"))]
    }

    fn starts() -> Change {
        let list = vec!["http://h/a/".to_owned()];
        (&SiteRobotSection::KEY.starting_points, Value::List(list))
    }

    #[test]
    fn existing_text_is_kept() {
        let new = "source = \"database\"\nurl = \"http://h\"\n";
        for (before, after) in [
            (String::new(), format!("\n[heaven]\n{new}")),
            ("# mine".to_owned(), format!("# mine\n\n[heaven]\n{new}")),
            (
                "[heaven] # mine\npath = '/h/' # my path\n# end\n[log]\n".to_owned(),
                format!("[heaven] # mine\npath = '/h/' # my path\n{new}# end\n[log]\n"),
            ),
            (
                "heaven.path = '/h/'\n[log]\nlevel = 'info'".to_owned(),
                "heaven.path = '/h/'\nheaven.source = \"database\"\nheaven.url = \"http://h\"\n[log]\nlevel = 'info'"
                    .to_owned(),
            ),
            (
                "[heaven]\nurl = '' # none\nsource = 'files' # mine\n".to_owned(),
                "[heaven]\nurl = \"http://h\" # none\nsource = \"database\" # mine\n".to_owned(),
            ),
            (
                "heaven = { url = '', source = 'files' }\n".to_owned(),
                "heaven = { url = \"http://h\", source = \"database\" }\n".to_owned(),
            ),
        ] {
            assert_eq!(with_settings(&before, None, &heaven()).unwrap(), after);
        }
    }

    #[test]
    fn top_level_setting_is_written_above_the_tables() {
        let pattern = Value::List(vec!["/a/*".to_owned()]);
        let changes = [(&GeneralSection::KEY.filter_patterns, pattern)];
        let set = |text: &str| with_settings(text, None, &changes).unwrap();
        let line = "filter_pattern = [\"/a/*\"]\n";
        assert_eq!(
            set("[log]\nlevel = 'info'\n"),
            format!("{line}[log]\nlevel = 'info'\n")
        );
        assert_eq!(
            set("mode = 'on'\n\n[log]\n"),
            format!("mode = 'on'\n{line}\n[log]\n")
        );
    }

    #[test]
    fn site_settings_are_written_into_the_site_table() {
        let before = "[[site]]\nhosts = 'a'\nupstream = 'http://a'\n[[site.rule]]\naction = 'pass'\n\
                      [[site]]\nhosts = 'b'\nupstream = 'http://b'\n[site.heaven]\npath = '/h/'\n[log]\n";
        let mut changes = heaven();
        changes.push(starts());
        let first = with_settings(before, Some(0), &changes).unwrap();
        let own = "upstream = 'http://a'\nheaven.source = \"database\"\nheaven.url = \"http://h\"\n\
                   site_robot.starting_points = [\"http://h/a/\"]\n[[site.rule]]";
        assert!(first.contains(own), "{first}");
        let second = with_settings(before, Some(1), &changes).unwrap();
        let own = "upstream = 'http://b'\nsite_robot.starting_points = [\"http://h/a/\"]\n\
                   [site.heaven]\npath = '/h/'\nsource = \"database\"\nurl = \"http://h\"\n[log]\n";
        assert!(second.ends_with(own), "{second}");
    }

    #[test]
    fn setting_is_written_below_its_help_in_a_file_from_init() {
        let text = commented_configuration();
        let mut changes = heaven();
        changes.push(starts());
        let edited = with_settings(&text, None, &changes).unwrap();
        for lines in [
            "\n#source = \"files\"\nsource = \"database\"\n",
            "\n#url = \"\"\nurl = \"http://h\"\n",
            "\n#starting_points = []\nstarting_points = [\"http://h/a/\"]\n",
        ] {
            assert!(edited.contains(lines), "{lines}");
        }
        assert_eq!(edited.lines().count(), text.lines().count() + 3);
    }

    #[test]
    fn unsupported_form_is_not_edited() {
        for text in [
            "heaven = { path = '/h/' }\n",
            "[heaven\n",
            "[heaven.source]\n",
        ] {
            let error = with_settings(text, None, &heaven()).unwrap_err();
            assert!(
                error.contains("manually: heaven.source = \"database\""),
                "{error}"
            );
        }
        let error = with_settings("", Some(0), &heaven()).unwrap_err();
        assert!(error.contains("site.heaven.source"), "{error}");
    }
}
