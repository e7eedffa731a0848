//! Parses the TOML file and records the line of every value.

use robot_detection_site_robot::spelling::nearest;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    ConfigError, KEYS, Key, Kind, SiteTable, TABLES, TableKind, Value, included, included::INCLUDE,
    site::unknown_in_site,
};

/// The maximum number of syntax errors to report; a file in another format has an error in each
/// line.
const MAX_SYNTAX_ERRORS: usize = 100;

/// The maximum length of a key name in an error message, in bytes.
const MAX_NAME_BYTES: usize = 100;

/// The parsed contents of a configuration file.
#[derive(Clone, Debug, Default)]
pub(super) struct FileContent {
    pub(super) values: Vec<(&'static Key, Value, usize)>,
    pub(super) tables: Vec<Table>,
    pub(super) sites: Vec<SiteContent>,
    /// Keys that are not settings: `include`, and keys specific to `[[site]]`.
    pub(super) own: Vec<(&'static Key, Value, usize)>,
    pub(super) errors: Vec<(usize, String)>,
}

/// A repeatable table such as `[[source]]` or `[[rule]]`, with values of the right kinds.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) kind: &'static TableKind,
    pub(super) line: usize,
    pub(super) values: Vec<(&'static Key, Value, usize)>,
}

/// The contents of a `[[site]]` table.
#[derive(Clone, Debug)]
pub(super) struct SiteContent {
    pub(super) line: usize,
    pub(super) content: FileContent,
}

/// The part of the file in which a key is set; the part determines the key's name.
#[derive(Clone, Copy)]
enum Scope {
    File,
    Site,
}

/// Parses a configuration file; errors contain their line number, starting at 1.
pub(super) fn read(text: &str) -> FileContent {
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let lines = Lines(&ends);
    let mut content = FileContent::default();
    let (table, errors) = DeTable::parse_recoverable(text);
    // Values after an unclosed quote or bracket are unreliable.
    if errors.is_empty() {
        read_table(Scope::File, "", table.get_ref(), lines, &mut content);
    }
    for error in errors.into_iter().take(MAX_SYNTAX_ERRORS) {
        let start = error.span().map_or(0, |span| span.start);
        let line = lines.at(start);
        let message = syntax_error(text, line, one_line(error.message()));
        // Further errors in a line are usually caused by the first.
        if content.errors.last().is_none_or(|(last, _)| *last != line) {
            content.errors.push((line, message));
        }
    }
    content
}

/// A converter of byte positions to line numbers, based on the end positions of all lines.
#[derive(Clone, Copy)]
struct Lines<'e>(&'e [usize]);

impl Lines<'_> {
    fn at(self, position: usize) -> usize {
        1 + self.0.partition_point(|end| *end < position)
    }
}

/// Adds the name of the setting to a parser error.
fn syntax_error(text: &str, line: usize, message: String) -> String {
    let before: Vec<&str> = text.lines().take(line).collect();
    let setting = before.last().and_then(|line| line.split_once('='));
    let Some((key, value)) = setting.filter(|(key, _)| is_name(key)) else {
        return message;
    };
    let mut headers = before.iter().rev().map(|line| line.trim());
    let table = headers.find_map(|line| line.strip_prefix('['));
    let table = table.map(|table| table.trim_matches(['[', ']', ' ']));
    let table = table.filter(|table| is_name(table));
    let table = table.map_or_else(String::new, |table| format!("{table}."));
    let mut quotes = ["\"\"\"", "'''", "\"", "'"].into_iter();
    let quote = quotes.find(|quote| value.trim_start().starts_with(quote));
    let reason = match quote {
        Some(quote) if message.contains("string, expected") => {
            format!("the string has no closing quote; add {quote} at its end")
        }
        _ => message,
    };
    format!("{table}{}: {reason}", key.trim())
}

/// Returns `true` if a text can be a key name and is safe to print in a message.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-. ".contains(&byte);
    text.len() <= MAX_NAME_BYTES && text.bytes().all(is_part)
}

fn read_table(
    scope: Scope,
    prefix: &str,
    table: &DeTable<'_>,
    lines: Lines<'_>,
    content: &mut FileContent,
) {
    for (name, value) in table {
        let line = lines.at(name.span().start);
        let full = format!("{prefix}{}", name.get_ref());
        if let (DeValue::Array(tables), Some(kind)) = (value.get_ref(), scope.table(&full)) {
            for table in tables {
                if kind.name == SiteTable::KIND.name {
                    read_site(table, lines, content);
                } else {
                    read_one_of(kind, table, lines, content);
                }
            }
            continue;
        }
        if let Some(own) = scope.own(&full) {
            match convert(value.get_ref()).and_then(|value| value.fit(own.kind)) {
                Ok(value) => content.own.push((own, value, line)),
                Err(reason) => content.errors.push((line, scope.wrong(&full, &reason))),
            }
            continue;
        }
        match (value.get_ref(), scope.key(&full)) {
            // A table nested deeper than any key is unknown, and reported by its full name.
            (DeValue::Table(inner), None) if is_table(&full) => {
                read_table(scope, &format!("{full}."), inner, lines, content);
            }
            (value, Some(key)) => match convert(value).and_then(|value| value.fit(key.kind)) {
                Ok(value) => content.values.push((key, value, line)),
                Err(reason) => content.errors.push((line, scope.wrong(&full, &reason))),
            },
            (value, None) => match Key::find_secret(&full, "_file", |name| scope.key(name)) {
                Some(key) => match secret(key, value, &content.values) {
                    Ok(value) => content.values.push((key, value, line)),
                    Err(reason) => content.errors.push((line, scope.wrong(&full, &reason))),
                },
                None => content.errors.push((line, scope.unknown(&full))),
            },
        }
    }
}

impl Scope {
    fn key(self, name: &str) -> Option<&'static Key> {
        match self {
            Self::File => Key::find(name),
            Self::Site => Key::find_in_site(name),
        }
    }

    fn table(self, name: &str) -> Option<&'static TableKind> {
        match self {
            Self::File => TableKind::find(name),
            Self::Site => TableKind::find_in_site(name),
        }
    }

    /// Returns the key with the given name that exists only in a `[[site]]` table.
    fn own(self, name: &str) -> Option<&'static Key> {
        match self {
            Self::File => (name == INCLUDE.name).then_some(&INCLUDE),
            Self::Site => SiteTable::KIND.key(name),
        }
    }

    fn wrong(self, name: &str, reason: &str) -> String {
        match self {
            Self::File => format!("{name}: {reason}"),
            Self::Site => format!("{}.{name}: {reason}", SiteTable::KIND.name),
        }
    }

    fn unknown(self, name: &str) -> String {
        match self {
            Self::File => unknown(name),
            Self::Site => unknown_in_site(name),
        }
    }
}

/// Reads a `[[site]]` table, which contains settings and the site's own keys.
fn read_site(table: &Spanned<DeValue<'_>>, lines: Lines<'_>, content: &mut FileContent) {
    let line = lines.at(table.span().start);
    let Some(entries) = table.get_ref().as_table() else {
        let message = "site must be an array of tables; write [[site]]".to_owned();
        content.errors.push((line, message));
        return;
    };
    let mut site = FileContent::default();
    read_table(Scope::Site, "", entries, lines, &mut site);
    content.errors.append(&mut site.errors);
    content.sites.push(SiteContent {
        line,
        content: site,
    });
}

fn read_one_of(
    kind: &'static TableKind,
    table: &Spanned<DeValue<'_>>,
    lines: Lines<'_>,
    content: &mut FileContent,
) {
    let mut found = Table {
        kind,
        line: lines.at(table.span().start),
        values: Vec::new(),
    };
    let kind_name = kind.name;
    let Some(entries) = table.get_ref().as_table() else {
        let message = format!("{kind_name} must be an array of tables; write [[{kind_name}]]");
        content.errors.push((found.line, message));
        return;
    };
    read_keys(&mut found, "", entries, lines, &mut content.errors);
    content.tables.push(found);
}

/// Reads the keys of a repeatable table and of its inner tables.
fn read_keys(
    found: &mut Table,
    prefix: &str,
    entries: &DeTable<'_>,
    lines: Lines<'_>,
    errors: &mut Vec<(usize, String)>,
) {
    let kind = found.kind;
    let kind_name = kind.name;
    for (name, value) in entries {
        let line = lines.at(name.span().start);
        let name = format!("{prefix}{}", name.get_ref());
        let inner = format!("{name}.");
        if let (DeValue::Table(entries), true) = (value.get_ref(), prefix.is_empty())
            && kind.names().any(|known| known.starts_with(&inner))
        {
            read_keys(found, &inner, entries, lines, errors);
            continue;
        }
        if let Some(key) = Key::find_secret(&name, "_file", |name| kind.key(name))
            && kind.key(&name).is_none()
        {
            match secret(key, value.get_ref(), &found.values) {
                Ok(value) => found.values.push((key, value, line)),
                Err(reason) => errors.push((line, format!("{kind_name}.{name}: {reason}"))),
            }
            continue;
        }
        let Some(key) = kind.key(&name) else {
            let hint = hint(nearest(&name, kind.names()));
            errors.push((
                line,
                format!("unknown key {name:?} in [[{kind_name}]]{hint}"),
            ));
            continue;
        };
        let converted = match (key.kind, value.get_ref()) {
            (Kind::Map, DeValue::Table(entries)) => map(entries),
            (_, value) => convert(value),
        };
        match converted.and_then(|value| value.fit(key.kind)) {
            Ok(value) => found.values.push((key, value, line)),
            Err(reason) => errors.push((line, format!("{kind_name}.{name}: {reason}"))),
        }
    }
}

/// Reads the secret value of a setting from the file specified by `KEY_file`, unless the setting
/// itself is present.
fn secret(
    key: &Key,
    file: &DeValue<'_>,
    set: &[(&'static Key, Value, usize)],
) -> Result<Value, String> {
    // Keys are sorted, so a key comes before its `KEY_file`.
    if set.iter().any(|(known, ..)| known.name == key.name) {
        return Err(format!("{} is also set; remove one of them", key.name));
    }
    convert(file).and_then(|file| included::read(&file))
}

pub(super) fn convert(value: &DeValue<'_>) -> Result<Value, String> {
    match value {
        DeValue::String(text) => Ok(Value::Text(text.to_string())),
        DeValue::Boolean(flag) => Ok(Value::Bool(*flag)),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::Integer)
            .map_err(|_| format!("the number {} is too large", number.as_str())),
        DeValue::Array(items) if is_numbers(items) => {
            let numbers = items.iter().map(|item| convert(item.get_ref()));
            let numbers = numbers.map(|number| match number? {
                Value::Integer(number) => Ok(number),
                other => Err(format!("{other} is not a whole number")),
            });
            numbers.collect::<Result<_, _>>().map(Value::Numbers)
        }
        DeValue::Array(items) => items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(text) => Ok(text.to_string()),
                DeValue::Integer(_) => Err("a list must not mix strings and numbers".to_owned()),
                other => Err(format!(
                    "a list must contain strings, not {} values",
                    other.type_str()
                )),
            })
            .collect::<Result<_, _>>()
            .map(Value::List),
        other => Err(format!("no setting accepts a {} value", other.type_str())),
    }
}

fn is_numbers(items: &[Spanned<DeValue<'_>>]) -> bool {
    let is_number = |item: &Spanned<DeValue<'_>>| matches!(item.get_ref(), DeValue::Integer(_));
    !items.is_empty() && items.iter().all(is_number)
}

/// Reads a table of names with string values; for a list of strings, the name is repeated.
fn map(entries: &DeTable<'_>) -> Result<Value, String> {
    let mut found = Vec::new();
    for (name, value) in entries {
        let name = name.get_ref();
        match convert(value.get_ref()) {
            Ok(Value::Text(text)) => found.push((name.to_string(), text)),
            Ok(Value::List(texts)) => {
                found.extend(texts.into_iter().map(|text| (name.to_string(), text)));
            }
            _ => {
                return Err(format!(
                    "{name:?} is neither a string in quotes nor a list of strings"
                ));
            }
        }
    }
    Ok(Value::Map(found))
}

fn is_table(name: &str) -> bool {
    let mut inside = KEYS.iter().filter_map(|key| key.name.strip_prefix(name));
    inside.any(|rest| rest.starts_with('.'))
}

/// Returns the error message for an unknown key, with the most similar known key.
pub(super) fn unknown(name: &str) -> String {
    if TableKind::find(name).is_some() {
        return format!("unknown key {name:?}; to write an array of tables, use [[{name}]]");
    }
    if let Some((table, key)) = name.split_once('.')
        // A common mistake: in TOML, all keys after a table header belong to that table.
        && let Some(key) = Key::find(key)
    {
        let key = key.name;
        return format!("unknown key {name:?}; move {key} above the first table, out of [{table}]");
    }
    let tables = TABLES.iter().flat_map(|table| {
        let of_table = table.names().map(|key| format!("{}.{key}", table.name));
        of_table.chain([table.name.to_owned()])
    });
    let tables: Vec<String> = tables.collect();
    let names = KEYS
        .iter()
        .flat_map(|key| [Some(key.name), key.old_name])
        .flatten()
        .chain(tables.iter().map(String::as_str));
    format!("unknown key {name:?}{}", hint(nearest(name, names)))
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(
        || "; `robot-detection init --stdout` prints all keys".to_owned(),
        |name| format!("; did you mean {name:?}?"),
    )
}

// A message of the TOML parser may have several lines, but `ConfigErrors` prints one per error.
fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl FileContent {
    /// Creates the content for a file that cannot be read.
    pub(super) fn unreadable(reason: &str) -> Self {
        Self {
            errors: vec![(1, format!("cannot read the included file: {reason}"))],
            ..Self::default()
        }
    }

    /// Converts this content to that of an included file, which must not include other files.
    pub(super) fn into_included(mut self) -> Self {
        for (key, _, line) in self.own.drain(..) {
            let message = format!(
                "{}: an included file must not include other files",
                key.name
            );
            self.errors.push((line, message));
        }
        self
    }

    /// Returns the kind, name and line of each table that has a name.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, String, usize)> {
        let tables = self.tables.iter();
        let tables = tables.map(|table| (table.kind.name, &table.values));
        let sites = self.sites.iter();
        let sites = sites.map(|site| (SiteTable::KIND.name, &site.content.own));
        tables.chain(sites).filter_map(|(kind, values)| {
            let mut names = values.iter().filter(|(key, ..)| key.short_name == "name");
            names.find_map(|(_, value, line)| Some((kind, value.text().ok()?.to_owned(), *line)))
        })
    }

    /// Removes the value or table at a line; returns the line of the value's table, or 0 if the
    /// value is outside any table.
    pub(super) fn remove(&mut self, line: usize) -> Option<usize> {
        let values = self.values.len() + self.own.len();
        self.values.retain(|(.., at)| *at != line);
        self.own.retain(|(.., at)| *at != line);
        if self.values.len() + self.own.len() < values {
            return Some(0);
        }
        for site in &mut self.sites {
            if let Some(table) = site.content.remove(line) {
                return Some(if table == 0 { site.line } else { table });
            }
        }
        for table in &mut self.tables {
            let values = table.values.len();
            table.values.retain(|(.., at)| *at != line);
            if table.values.len() < values {
                return Some(table.line);
            }
        }
        let tables = self.tables.len() + self.sites.len();
        self.tables.retain(|table| table.line != line);
        self.sites.retain(|site| site.line != line);
        (self.tables.len() + self.sites.len() < tables).then_some(line)
    }

    /// Returns the errors in the file, each with the file's name.
    pub(super) fn errors(&self, file: &str) -> impl Iterator<Item = ConfigError> {
        self.errors.iter().map(move |(line, message)| ConfigError {
            origin: format!("{file}:{line}"),
            message: message.clone(),
        })
    }
}
