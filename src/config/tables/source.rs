//! `[[source]]` tables.

use robot_detection_site_robot::spelling::unknown_word;

use crate::config::{
    Kind, Value,
    setting::{Item as _, Setting},
    table::{Reader, table},
};
use crate::registry::{Format, Source};

const NEEDS: &str =
    "a [[source]] needs a name and a url, or a preset such as \"crawler-user-agents\"";

/// A published registry with a known URL.
#[derive(Debug)]
pub struct Preset {
    /// The name of the preset and of the registry's format.
    name: &'static str,
    url: &'static str,
    interval_days: u32,
}

/// All presets for a `[[source]]` table.
const PRESETS: &[Preset] = &[
    Preset {
        name: "crawler-user-agents",
        url: "https://raw.githubusercontent.com/monperrus/crawler-user-agents/master/crawler-user-agents.json",
        interval_days: 7,
    },
    Preset {
        name: "ai-robots-txt",
        url: "https://raw.githubusercontent.com/ai-robots-txt/ai.robots.txt/main/robots.json",
        interval_days: 7,
    },
];

table! {
    /// A `[[source]]` table.
    pub struct SourceSettings, SourceKeys = "source" needs NEEDS;
    /// Preset for a published registry; sets name, url, format and interval_days (7), each of which
    /// can be overridden
    preset: Option<&'static Preset>;
    /// Unique name of the registry: lower-case letters, digits, -, . and _
    name: Source;
    /// URL or file path of the registry, uncompressed or gzip
    url: String;
    /// Format of the registry; default: web-robots-db
    format: Option<Format>;
    /// Days between refreshes; default: refresh_interval_days
    interval_days: Option<u32>, 1..=3_650;
}

impl SourceSettings {
    /// Reads a `[[source]]` table; keys that are not set take the values of the preset.
    pub(in crate::config) fn read_complete(reader: &mut Reader<'_>) -> Option<Self> {
        // The preset is read before the rest of the table, because a preset sets required keys.
        if let Some(Some(preset)) = reader.value::<Option<&Preset>>(&Self::KEY.preset) {
            reader.suggest(&Self::KEY.name, Value::Text(preset.name.to_owned()));
            reader.suggest(&Self::KEY.url, Value::Text(preset.url.to_owned()));
            reader.suggest(&Self::KEY.format, Value::Text(preset.name.to_owned()));
            reader.suggest(
                &Self::KEY.interval_days,
                Value::Integer(preset.interval_days.into()),
            );
        }
        let source = Self::read(reader)?;
        if source.url.is_empty() {
            reader.needs(NEEDS);
            return None;
        }
        Some(source)
    }
}

/// Sources are equal if their settings are equal, whether or not a preset is used.
impl PartialEq for SourceSettings {
    fn eq(&self, other: &Self) -> bool {
        let what = |source: &Self| {
            (
                source.name.clone(),
                source.url.clone(),
                source.format,
                source.interval_days,
            )
        };
        what(self) == what(other)
    }
}

impl Setting for &'static Preset {
    const KIND: Kind = Kind::Word(|| PRESETS.iter().map(|preset| preset.name).collect());

    fn read(value: &Value) -> Result<Self, String> {
        let word = value.text()?;
        let preset = PRESETS.iter().find(|preset| preset.name == word);
        preset.ok_or_else(|| {
            let names = PRESETS.iter().map(|preset| preset.name);
            unknown_word("preset of a [[source]]", word, names)
        })
    }
}

impl Setting for Source {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Result<Self, String> {
        Self::read_item(value.text()?)
    }
}
