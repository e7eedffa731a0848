//! Writes settings to an existing configuration file without changing the rest of the file.

use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::{Key, SiteTable, Value, file};

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
    for (key, value) in changes {
        edited = with_setting(&edited, site, key, value)
            .filter(|edited| file::read(edited).errors.is_empty())
            .ok_or_else(|| by_hand(site, key, value))?;
    }
    Ok(edited)
}

fn with_setting(text: &str, site: Option<usize>, key: &Key, value: &Value) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let comment = document.trailing().as_str().unwrap_or_default().to_owned();
    let base = match site {
        None => document.as_table_mut(),
        Some(number) => {
            let sites = document.get_mut(SiteTable::KIND.name)?;
            sites.as_array_of_tables_mut()?.get_mut(number)?
        }
    };
    let mut is_last = false;
    let name = match key.old_name {
        Some(old) if base.contains_key(old) => old,
        _ => name_in(site, key),
    };
    let (table, name): (&mut dyn TableLike, _) = match name.split_once('.') {
        None => (base, name),
        Some((table, name)) => {
            let missing = || {
                let mut new = Table::new();
                is_last = site.is_none();
                new.set_dotted(!is_last);
                if is_last {
                    new.decor_mut().set_prefix(above(&comment));
                }
                Item::Table(new)
            };
            let found = base.entry(table).or_insert_with(missing);
            (found.as_table_like_mut()?, name)
        }
    };
    let mut new: toml_edit::Value = value.to_string().parse().ok()?;
    match table.get_mut(name) {
        Some(item) => {
            let old = item.as_value_mut()?;
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        None => drop(table.insert(name, Item::Value(new))),
    }
    if is_last {
        document.set_trailing("");
    }
    Some(document.to_string())
}

/// Returns the comment at the end of the file with an empty line, which precede a new table.
fn above(comment: &str) -> String {
    let has_end = comment.is_empty() || comment.ends_with('\n');
    format!("{comment}{}\n", if has_end { "" } else { "\n" })
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
                "heaven.path = '/h/'\nheaven.source = \"database\"\nheaven.url = \"http://h\"\n[log]\nlevel = 'info'\n"
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
    fn setting_is_written_into_its_table_in_a_file_from_init() {
        let text = commented_configuration();
        let mut changes = heaven();
        changes.push(starts());
        let edited = with_settings(&text, None, &changes).unwrap();
        for lines in [
            "\n[heaven]\nsource = \"database\"\nurl = \"http://h\"\n",
            "\n[site_robot]\nstarting_points = [\"http://h/a/\"]\n",
        ] {
            assert!(edited.contains(lines), "{lines}");
        }
        assert_eq!(edited.lines().count(), text.lines().count() + 3);
    }

    #[test]
    fn unsupported_form_is_not_edited() {
        for text in ["[heaven\n", "[heaven.source]\n"] {
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
