//! Settings are written into a file that somebody else wrote: all else in it stays as it is.

use std::{collections::BTreeMap, ops::Range};

use toml::de::{DeTable, DeValue};

use super::{
    Key, SiteTable, Value,
    file::{self, FileContent, Table},
};

/// Setting that is to stand in a file.
pub type Change = (&'static Key, Value);

/// Writes settings into the text of a configuration file.
///
/// `site` is the number of the `[[site]]` that they are for, from 0; without one they are for all.
/// Lines that are there stay, comments too, but for the values that are replaced.
///
/// # Errors
///
/// Fails with what to write by hand, where the text has a form that this cannot change: then
/// nothing else than the settings would have changed.
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
        // What the change does is read as it is when the file is loaded.
        if flat(&edited) != expected || !file::read(&edited).errors.is_empty() {
            return Err(by_hand(site, key, value));
        }
    }
    Ok(edited)
}

/// Where a setting goes.
#[derive(Debug)]
enum Place {
    /// In the place of the value that is there.
    Value(Range<usize>),
    /// As lines of their own at this position, with this before the value.
    Lines(usize, String),
}

impl Place {
    fn fill(self, text: &str, value: &Value) -> Option<String> {
        let (range, new) = match self {
            Self::Value(range) => (range, value.to_string()),
            Self::Lines(at, before) => (at..at, format!("{before}{value}\n")),
        };
        let (head, tail) = (text.get(..range.start)?, text.get(range.end..)?);
        // The last line of a file may lack its end.
        let end = if range.is_empty() && !head.is_empty() && !head.ends_with('\n') {
            "\n"
        } else {
            ""
        };
        Some(format!("{head}{end}{new}{tail}"))
    }
}

/// Finds where a setting goes.
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
        // A table on one line takes a new value for an old one, and no more.
        '{' => entries.get(short).map(|value| Place::Value(value.span())),
        // Keys with dots, as `heaven.path`.
        _ => Some(in_table(
            text,
            entries,
            start_of_line(text, span.start),
            short,
            &format!("{table}."),
        )),
    }
}

/// Finds where a setting goes in a table whose lines begin at `start`.
fn in_table(text: &str, table: &DeTable<'_>, start: usize, name: &str, prefix: &str) -> Place {
    if let Some(value) = table.get(name) {
        return Place::Value(value.span());
    }
    let at = below_comment(text, start, name).unwrap_or_else(|| last_line(text, table, start));
    Place::Lines(at, format!("{prefix}{name} = "))
}

/// Returns the position behind the line that shows a key with its default, as `init` writes it.
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

/// Returns the position behind the last line of a table's own values.
fn last_line(text: &str, table: &DeTable<'_>, start: usize) -> usize {
    end_of(text, table).map_or(start, |end| end_of_line(text, end).max(start))
}

/// Returns where the last value of a table ends, those of keys with dots among them.
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
        "it has a form that is not changed here; write into it by hand: {whole}{name} = {value}"
    )
}

/// Returns every value of a file under a name that tells its place.
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
    fn what_is_there_stays() {
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
    fn a_setting_of_no_table_stands_above_the_tables() {
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
    fn a_site_has_its_own() {
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
    fn in_the_file_that_init_writes_a_setting_stands_below_its_help() {
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
    fn a_form_that_is_not_understood_is_left_alone() {
        for text in [
            "heaven = { path = '/h/' }\n",
            "[heaven\n",
            "[heaven.source]\n",
        ] {
            let error = with_settings(text, None, &heaven()).unwrap_err();
            assert!(
                error.contains("by hand: heaven.source = \"database\""),
                "{error}"
            );
        }
        let error = with_settings("", Some(0), &heaven()).unwrap_err();
        assert!(error.contains("site.heaven.source"), "{error}");
    }
}
