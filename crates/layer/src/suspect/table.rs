//! A table of the headers that browsers send, which is parsed once at startup.

use std::{collections::HashMap, sync::Arc};

use memchr::memmem::Finder;

use super::{seen::Field, user_agent::Shape};

/// The table of all browser families.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    families: Arc<[Family]>,
}

/// A family of browsers.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) id: Box<str>,
    pub(super) start: Shape,
    pub(super) endings: Vec<Shape>,
    pub(super) impossible: Vec<Shape>,
    pub(super) impossible_from: u32,
    pub(super) platforms: Vec<Box<str>>,
    pub(super) revision: Option<u32>,
    /// The latest known version of the browser.
    pub(super) latest: u32,
    /// A day on which the latest known version was the current version.
    pub(super) latest_day: Box<str>,
    pub(super) outdated: u32,
    pub(super) hints: Option<u32>,
    pub(super) fetch: u32,
    pub(super) fetch_first: u32,
    pub(super) upgrade: Option<u32>,
    pub(super) br: u32,
    pub(super) zstd: Option<u32>,
    pub(super) page_accept: Option<Finder<'static>>,
    pub(super) order: Vec<Field>,
    pub(super) page_order: Vec<Field>,
}

/// The fields of a record, each with its values.
type Record<'t> = HashMap<&'t str, Vec<&'t str>>;

impl Table {
    /// Returns the bundled table of browsers.
    pub(super) fn bundled() -> Self {
        // This never fails, as tests parse the same table.
        Self::parse(include_str!("browsers.txt")).unwrap_or_default()
    }

    pub(super) fn families(&self) -> &[Family] {
        &self.families
    }

    /// Parses a table. Errors contain the invalid record and field.
    fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let mut families = Vec::new();
        let mut record = Record::new();
        for line in lines.chain([""]) {
            if let Some((field, value)) = line.split_once(':') {
                record.entry(field).or_default().push(value.trim());
            } else if !record.is_empty() {
                families.push(Family::read(std::mem::take(&mut record))?);
            }
        }
        Ok(Self {
            families: families.into(),
        })
    }
}

impl Family {
    fn read(mut record: Record<'_>) -> Result<Self, String> {
        let mut all = |field: &str| record.remove(field).unwrap_or_default();
        let shapes = |values: Vec<&str>| values.into_iter().map(Shape::new).collect();
        let id = one(&all("browser-id")).ok_or("a record has no browser-id")?;
        let wrong = |field| format!("{id}: {field}: missing or not a version");
        let mut version = |field| -> Result<Option<u32>, String> {
            let value = one(&all(field));
            value
                .map(|text| text.parse().map_err(|_| wrong(field)))
                .transpose()
        };
        let (impossible_from, revision) = (
            version("browser-impossible-from")?,
            version("browser-revision")?,
        );
        let (outdated, hints) = (version("browser-outdated")?, version("browser-hints")?);
        let (fetch, fetch_first) = (version("browser-fetch")?, version("browser-fetch-first")?);
        let (upgrade, br) = (version("browser-upgrade")?, version("browser-br")?);
        let zstd = version("browser-zstd")?;
        let order = |values: Vec<&str>| -> Result<Vec<Field>, String> {
            let names = values.iter().flat_map(|value| value.split_whitespace());
            let field =
                |name| Field::from_name(name).ok_or(format!("{id}: {name} has no position"));
            names.map(field).collect()
        };
        let platforms = all("browser-platform").into_iter();
        let platforms = platforms.flat_map(|value| value.split(';').map(str::trim));
        let latest = one(&all("browser-latest")).and_then(|value| value.split_once(' '));
        let (latest, latest_day) = latest.ok_or(wrong("browser-latest"))?;
        let family = Self {
            id: id.into(),
            start: Shape::new(one(&all("browser-start")).ok_or(wrong("browser-start"))?),
            endings: shapes(all("browser-ending")),
            impossible: shapes(all("browser-impossible")),
            impossible_from: impossible_from.unwrap_or_default(),
            platforms: platforms.map(Box::from).collect(),
            revision,
            latest: latest.parse().map_err(|_| wrong("browser-latest"))?,
            latest_day: latest_day.into(),
            outdated: outdated.ok_or(wrong("browser-outdated"))?,
            hints,
            fetch: fetch.ok_or(wrong("browser-fetch"))?,
            fetch_first: fetch_first.ok_or(wrong("browser-fetch-first"))?,
            upgrade,
            br: br.ok_or(wrong("browser-br"))?,
            zstd,
            page_accept: one(&all("browser-page-accept"))
                .map(|part| Finder::new(part).into_owned()),
            order: order(all("browser-order"))?,
            page_order: order(all("browser-page-order"))?,
        };
        // This field is required for maintainers of the table, but is not used.
        one(&all("browser-sources")).ok_or(wrong("browser-sources"))?;
        match record.into_keys().next() {
            Some(field) => Err(format!("{id}: {field}: unknown field")),
            None => Ok(family),
        }
    }
}

fn one<'t>(values: &[&'t str]) -> Option<&'t str> {
    values.first().copied().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundled_table_is_valid() {
        let table = Table::parse(include_str!("browsers.txt")).unwrap();
        let ids: Vec<_> = table.families().iter().map(|family| &*family.id).collect();
        assert_eq!(ids, ["chromium", "firefox", "safari"]);
        for family in table.families() {
            assert!(family.fetch_first <= family.fetch, "{family:?}");
            assert!(!family.endings.is_empty(), "{family:?}");
        }
    }

    #[test]
    fn error_in_a_table_names_record_and_field() {
        let text = include_str!("browsers.txt");
        for (from, to, error) in [
            ("browser-br: 44\n", "", "firefox: browser-br: "),
            ("browser-br: 44", "browser-br: x", "firefox: browser-br: "),
            (
                "browser-br: 44",
                "browser-br: 44\nbrowser-bz: 4",
                "firefox: browser-bz: unknown",
            ),
            (
                "browser-order: user-agent accept",
                "browser-order: host",
                "firefox: host has no",
            ),
            (
                "browser-latest: 153 2026-11-26\n",
                "",
                "firefox: browser-latest: ",
            ),
        ] {
            let told = Table::parse(&text.replace(from, to)).unwrap_err();
            assert!(told.starts_with(error), "{told}");
        }
    }
}
