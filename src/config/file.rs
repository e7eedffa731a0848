//! Reads the TOML file, with the line of every value.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{ConfigError, KEYS, Key, Value, error::nearest, key::SOURCE_KEYS};

/// What a file says.
#[derive(Clone, Debug, Default)]
pub(super) struct FileContent {
    pub(super) values: Vec<(&'static Key, Value, usize)>,
    pub(super) sources: Vec<SourceTable>,
    pub(super) errors: Vec<(usize, String)>,
}

/// One `[[source]]`, as spelled.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceTable {
    pub(super) line: usize,
    pub(super) values: Vec<(String, Value, usize)>,
}

/// Reads a configuration file; errors carry their line, from 1.
pub(super) fn read(text: &str) -> FileContent {
    let lines = Lines(text);
    let mut content = FileContent::default();
    match DeTable::parse(text) {
        Ok(table) => read_table("", table.get_ref(), lines, &mut content),
        Err(error) => {
            let line = error.span().map_or(1, |span| lines.at(span.start));
            content.errors.push((line, one_line(error.message())));
        }
    }
    content
}

/// Turns bytes' positions into line numbers.
#[derive(Clone, Copy)]
struct Lines<'t>(&'t str);

impl Lines<'_> {
    fn at(self, position: usize) -> usize {
        1 + self
            .0
            .bytes()
            .take(position)
            .filter(|b| *b == b'\n')
            .count()
    }
}

fn read_table(prefix: &str, table: &DeTable<'_>, lines: Lines<'_>, content: &mut FileContent) {
    for (name, value) in table {
        let line = lines.at(name.span().start);
        let full = format!("{prefix}{}", name.get_ref());
        match (value.get_ref(), Key::find(&full)) {
            (DeValue::Array(tables), None) if full == "source" => {
                for table in tables {
                    read_source(table, lines, content);
                }
            }
            (DeValue::Table(inner), None) if prefix.is_empty() && is_table(&full) => {
                read_table(&format!("{full}."), inner, lines, content);
            }
            (value, Some(key)) => match convert(value).and_then(|value| value.fit(key.kind)) {
                Ok(value) => content.values.push((key, value, line)),
                Err(reason) => content.errors.push((line, format!("{full}: {reason}"))),
            },
            (_, None) => content.errors.push((line, unknown(&full))),
        }
    }
}

fn read_source(table: &Spanned<DeValue<'_>>, lines: Lines<'_>, content: &mut FileContent) {
    let mut source = SourceTable {
        line: lines.at(table.span().start),
        values: Vec::new(),
    };
    let Some(entries) = table.get_ref().as_table() else {
        content.errors.push((
            source.line,
            "source is not a table: write [[source]]".to_owned(),
        ));
        return;
    };
    for (name, value) in entries {
        let line = lines.at(name.span().start);
        let name = name.get_ref().as_ref();
        if !SOURCE_KEYS.contains(&name) {
            let hint = hint(nearest(name, SOURCE_KEYS.iter().copied()));
            content
                .errors
                .push((line, format!("unknown key {name:?} in [[source]]{hint}")));
            continue;
        }
        match convert(value.get_ref()) {
            Ok(value) => source.values.push((name.to_owned(), value, line)),
            Err(reason) => content
                .errors
                .push((line, format!("source.{name}: {reason}"))),
        }
    }
    content.sources.push(source);
}

fn convert(value: &DeValue<'_>) -> Result<Value, String> {
    match value {
        DeValue::String(text) => Ok(Value::Text(text.to_string())),
        DeValue::Boolean(flag) => Ok(Value::Bool(*flag)),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::Integer)
            .map_err(|_| format!("{} is too large a number", number.as_str())),
        DeValue::Array(items) => items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(text) => Ok(text.to_string()),
                other => Err(format!(
                    "a list holds texts, not {} values",
                    other.type_str()
                )),
            })
            .collect::<Result<_, _>>()
            .map(Value::List),
        other => Err(format!("a {} fits no setting", other.type_str())),
    }
}

fn is_table(name: &str) -> bool {
    KEYS.iter()
        .filter_map(|key| key.name.split_once('.'))
        .any(|(table, _)| table == name)
}

/// Message for an unknown key, with the nearest right name.
pub(super) fn unknown(name: &str) -> String {
    let names = KEYS
        .iter()
        .flat_map(|key| [Some(key.name), key.old_name])
        .flatten()
        .chain([
            "source",
            "source.name",
            "source.url",
            "source.format",
            "source.interval_days",
        ]);
    if let Some((table, key)) = name.split_once('.')
        && let Some(key) = Key::find(key)
    {
        let key = key.name;
        return format!(
            "unknown key {name:?}; write {key} above the first table, not in [{table}]"
        );
    }
    format!("unknown key {name:?}{}", hint(nearest(name, names)))
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(
        || "; `robot-detection init --stdout` prints every key".to_owned(),
        |name| format!("; did you mean {name:?}?"),
    )
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl FileContent {
    /// Returns the errors with the file's name.
    pub(super) fn errors(&self, file: &str) -> impl Iterator<Item = ConfigError> {
        self.errors.iter().map(move |(line, message)| ConfigError {
            origin: format!("{file}:{line}"),
            message: message.clone(),
        })
    }
}
