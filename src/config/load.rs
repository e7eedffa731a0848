//! Merges defaults, configuration file, environment and flags into one set of values.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use robot_detection_site_robot::spelling::nearest;

use crate::origins::Origins;

use super::{
    ConfigError, ConfigErrors, KEYS, Key, Settings, SiteLoaded, TABLES, Value,
    file::{self, FileContent},
    included,
    included::Includes,
    site::SiteParts,
};

/// The prefix of environment variables that set a key.
const PREFIX: &str = "ROBOT_DETECTION_";

/// The text before the variable's name in the origin of a value.
const VARIABLE: &str = "environment variable ";

/// The origin of a value that is not set explicitly.
const DEFAULT: &str = "default";

/// A loader of configuration values from files, the environment and flags.
#[derive(Clone, Debug, Default)]
pub struct Loader {
    /// Names and contents of the files; the contents are shared, because loaded settings store
    /// their loader.
    files: Vec<(String, Arc<FileContent>)>,
    environment: Vec<(String, String)>,
    flags: Vec<(&'static Key, &'static str, String)>,
}

/// The effective value of a setting, and the origin of the value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EffectiveValue {
    /// The effective value of the setting.
    pub value: Value,
    /// The origin of the value: `default`, `robot-detection.toml:3`, `environment …` or the flag.
    pub origin: String,
}

/// The result of [`Loader::remove`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Removed {
    /// A value was removed; contains the place of its table, as used in errors.
    Value(String),
    /// A table was removed, with all of its values.
    Table,
}

/// The loaded settings, each with its origin.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub(super) values: BTreeMap<&'static str, EffectiveValue>,
    pub(super) settings: Arc<Settings>,
    pub(super) sites: Arc<[Arc<SiteParts>]>,
    /// Keys that are set in the `[[site]]` to which these settings belong.
    pub(super) of_site: Vec<&'static str>,
    origins: Origins,
    loader: Arc<Loader>,
}

/// The configuration values that have been read so far.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) values: BTreeMap<&'static str, EffectiveValue>,
    pub(super) settings: Settings,
    pub(super) errors: Vec<ConfigError>,
}

impl Loader {
    /// Creates a loader that contains only the defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the configuration file `name`, given its text, and the files that the text includes.
    #[must_use]
    pub fn file(mut self, name: &str, text: &str) -> Self {
        let mut content = file::read(text);
        let own = content.own.iter();
        let includes = Includes::new(own.map(|(_, value, line)| (value, *line)));
        let included = includes.files(Path::new(name)).unwrap_or_else(|error| {
            content.errors.push(error);
            Vec::new()
        });
        self.files.push((name.to_owned(), Arc::new(content)));
        for path in included {
            let content = fs::read_to_string(&path).map_or_else(
                |error| FileContent::unreadable(&error.to_string()),
                |text| file::read(&text).into_included(),
            );
            self.files
                .push((path.display().to_string(), Arc::new(content)));
        }
        self
    }

    /// Adds the process's environment variables that begin with `ROBOT_DETECTION_`.
    #[must_use]
    pub fn process_environment(self) -> Self {
        // `std::env::vars` would panic if a variable is not UTF-8.
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| name.starts_with(PREFIX))
            .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
            .collect::<Vec<_>>();
        self.environment(variables)
    }

    /// Adds the given environment variables.
    #[must_use]
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(variables);
        self
    }

    /// Adds the value of a command-line flag; `flag` is the flag's name in errors.
    #[must_use]
    pub fn flag(mut self, key: &'static Key, flag: &'static str, value: Option<String>) -> Self {
        if let Some(value) = value {
            self.flags.push((key, flag, value));
        }
        self
    }

    /// Returns the effective settings.
    ///
    /// # Errors
    ///
    /// Returns all configuration errors, each with its place.
    pub fn load(self) -> Result<Loaded, ConfigErrors> {
        match self.read() {
            (loaded, errors) if errors.is_empty() => Ok(loaded),
            (_, errors) => Err(ConfigErrors(errors)),
        }
    }

    /// Returns the effective settings, with defaults for invalid values, and all errors.
    #[must_use]
    pub fn read(&self) -> (Loaded, Vec<ConfigError>) {
        let mut reading = Reading {
            values: defaults(),
            ..Reading::default()
        };
        let mut sites = Vec::new();
        // Order: file, environment, flags; later values replace earlier values.
        let mut names = BTreeMap::new();
        for (name, content) in &self.files {
            reading.errors.extend(content.errors(name));
            reading.twice(name, content, &mut names);
            reading.file(name, content, "");
            for site in &content.sites {
                sites.extend(SiteParts::new(name, site, &mut reading.errors).map(Arc::new));
            }
        }
        for (name, text) in &self.environment {
            let origin = format!("{VARIABLE}{name}");
            reading.text(variable(name, text), origin);
        }
        for (key, flag, text) in &self.flags {
            let value = Value::parse(key.kind, text);
            reading.text(Some((key, value)), (*flag).to_owned());
        }
        let Reading {
            values,
            settings,
            errors,
        } = reading;
        let loaded = Loaded {
            values,
            settings: Arc::new(settings),
            sites: sites.into(),
            of_site: Vec::new(),
            origins: Origins::default(),
            loader: Arc::new(self.clone()),
        };
        (loaded, errors)
    }

    /// Removes the value or table at the place of an error; returns `None` if neither is found.
    pub fn remove(&mut self, origin: &str) -> Option<Removed> {
        let flags = self.flags.len() + self.environment.len();
        self.flags.retain(|(_, flag, _)| *flag != origin);
        let name = origin.strip_prefix(VARIABLE);
        self.environment.retain(|(found, _)| Some(&**found) != name);
        if self.flags.len() + self.environment.len() < flags {
            return Some(Removed::Value(DEFAULT.to_owned()));
        }
        let (file, line) = origin.rsplit_once(':')?;
        let line = line.parse().ok()?;
        let (name, content) = self.files.iter_mut().find(|(name, _)| name == file)?;
        Some(match Arc::make_mut(content).remove(line)? {
            0 => Removed::Value(DEFAULT.to_owned()),
            table if table == line => Removed::Table,
            table => Removed::Value(format!("{name}:{table}")),
        })
    }
}

impl Reading {
    /// Reports keys that another file also sets, and tables whose name another file also uses.
    fn twice(
        &mut self,
        file: &str,
        content: &FileContent,
        names: &mut BTreeMap<(&'static str, String), String>,
    ) {
        for (key, _, line) in &content.values {
            if let Some(set) = self.values.get(key.name)
                && set.origin != DEFAULT
                && !set.origin.starts_with(&format!("{file}:"))
            {
                let reason = format!("the key is also set by {}; remove one of them", set.origin);
                self.wrong(format!("{file}:{line}"), key.name, &reason);
            }
        }
        for (kind, name, line) in content.named() {
            let origin = format!("{file}:{line}");
            let known = names.entry((kind, name)).or_insert_with(|| origin.clone());
            if *known != origin && !known.starts_with(&format!("{file}:")) {
                let reason = format!("{known} has the same name; rename one of them");
                self.wrong(origin, &format!("{kind}.name"), &reason);
            }
        }
    }

    /// Reads the keys and tables of a file or `[[site]]`; errors show key names with the prefix
    /// `label`.
    pub(super) fn file(&mut self, name: &str, content: &FileContent, label: &str) {
        for (key, value, line) in &content.values {
            let origin = format!("{name}:{line}");
            let called = if label.is_empty() {
                key.name
            } else {
                key.name_in_site()
            };
            self.set(key, value.clone(), origin, &format!("{label}{called}"));
        }
        for table in &content.tables {
            self.settings.tables.add(name, table, &mut self.errors);
        }
    }

    /// Reads a value from the text of an environment variable or flag.
    fn text(&mut self, key: Option<(&'static Key, Result<Value, String>)>, origin: String) {
        let Some((key, text)) = key else {
            self.errors.push(unknown_variable(origin));
            return;
        };
        match text {
            Ok(value) => self.set(key, value, origin, key.name),
            Err(reason) => self.wrong(origin, key.name, &reason),
        }
    }

    fn set(&mut self, key: &'static Key, value: Value, origin: String, called: &str) {
        match self.settings.set(key, &value) {
            Ok(()) => {
                self.values
                    .insert(key.name, EffectiveValue { value, origin });
            }
            Err(reason) => self.wrong(origin, called, &reason),
        }
    }

    fn wrong(&mut self, origin: String, called: &str, reason: &str) {
        let message = format!("{called}: {reason}");
        self.errors.push(ConfigError { origin, message });
    }
}

impl Loaded {
    /// Returns the loader that loaded these settings.
    #[must_use]
    pub fn loader(&self) -> &Loader {
        &self.loader
    }

    /// Returns the settings as typed values.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns each `[[site]]` with its effective settings.
    ///
    /// A site's own values take precedence over flags and environment, which apply to all sites. A
    /// site's rules and `X-Robots-Tag` headers come before the common rules and headers.
    #[must_use]
    pub fn sites(&self) -> Vec<SiteLoaded> {
        let sites = self.sites.iter();
        sites.map(|site| SiteLoaded::new(site, self)).collect()
    }

    /// Returns the effective settings of a site; the common settings if no `[[site]]` has the name.
    #[must_use]
    pub fn for_site_named(&self, name: &str) -> Self {
        let mut sites = self.sites.iter();
        let own = sites.find(|site| site.name() == name);
        own.map_or_else(
            || self.clone(),
            |site| SiteLoaded::new(site, self).into_loaded(),
        )
    }

    /// Returns the address data that rules use; the data may be updated while in use.
    #[must_use]
    pub fn origins(&self) -> &Origins {
        &self.origins
    }

    /// Returns the upstream settings, so that sites with equal settings can share a proxy.
    #[must_use]
    pub fn upstream_settings(&self) -> Vec<(&'static str, Value)> {
        let keys = KEYS
            .iter()
            .filter(|key| key.is_per_site() && key.name.starts_with("server."));
        keys.filter_map(|key| Some((key.name, self.values.get(key.name)?.value.clone())))
            .collect()
    }

    /// Copies settings that cannot change at run time from `other`, the running settings; returns
    /// the names of changed settings.
    ///
    /// Only keys selected by `is_kept` are copied; rules and sites are not. A name is returned if
    /// the running value differs from the new value.
    pub fn keep(&mut self, other: &Self, is_kept: impl Fn(&Key) -> bool) -> Vec<&'static str> {
        let mut kept = Vec::new();
        let settings = Arc::make_mut(&mut self.settings);
        for key in KEYS.iter().filter(|key| is_kept(key)) {
            let Some(running) = other.values.get(key.name) else {
                continue;
            };
            let wanted = self.values.insert(key.name, running.clone());
            settings.take(key, &other.settings);
            if wanted.is_none_or(|wanted| wanted.value != running.value) {
                kept.push(key.name);
            }
        }
        kept.extend(settings.tables.keep(&other.settings.tables));
        self.origins.clone_from(&other.origins);
        kept
    }

    /// Returns each key with its value and origin, in the order used in the documentation.
    pub fn effective_values(&self) -> impl Iterator<Item = (&'static Key, &EffectiveValue)> {
        KEYS.iter()
            .filter_map(|key| Some((key, self.values.get(key.name)?)))
    }

    /// Returns the origin of a setting's value.
    #[must_use]
    pub fn origin(&self, key: &Key) -> &str {
        self.values
            .get(key.name)
            .map_or(DEFAULT, |found| &found.origin)
    }

    /// Returns `true` if a key is set explicitly.
    #[must_use]
    pub fn is_set(&self, key: &Key) -> bool {
        self.origin(key) != DEFAULT
    }

    /// Creates an error for a value that was found to be invalid after loading.
    #[must_use]
    pub fn invalid(&self, key: &Key, reason: impl std::fmt::Display) -> ConfigErrors {
        let message = if self.of_site.contains(&key.name) {
            format!("site.{}: {reason}", key.name_in_site())
        } else {
            format!("{}: {reason}", key.name)
        };
        ConfigErrors::from(ConfigError {
            origin: self.origin(key).to_owned(),
            message,
        })
    }
}

fn defaults() -> BTreeMap<&'static str, EffectiveValue> {
    KEYS.iter()
        .filter_map(|key| {
            let value = Value::parse(key.kind, key.default).ok()?;
            Some((
                key.name,
                EffectiveValue {
                    value,
                    origin: DEFAULT.to_owned(),
                },
            ))
        })
        .collect()
}

/// Returns the key that an environment variable sets, and the variable's value.
fn variable(name: &str, text: &str) -> Option<(&'static Key, Result<Value, String>)> {
    let find = |name: &str| KEYS.iter().find(|key| key.variable() == name);
    if let Some(key) = find(name) {
        return Some((key, Value::parse(key.kind, text)));
    }
    let key = Key::find_secret(name, "_FILE", find)?;
    Some((key, included::read(&Value::Text(text.to_owned()))))
}

fn unknown_variable(origin: String) -> ConfigError {
    let name = origin.rsplit(' ').next().unwrap_or_default();
    let table = name.strip_prefix(PREFIX).and_then(|rest| {
        let mut tables = TABLES.iter();
        tables.find(|table| {
            let prefix = table.name.replace('.', "_").to_ascii_uppercase();
            let rest = rest.strip_prefix(&prefix);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        })
    });
    if let Some(table) = table {
        let table = table.name;
        let message = format!(
            "[[{table}]] cannot be set by an environment variable; set it in the configuration file"
        );
        return ConfigError { origin, message };
    }
    // A misspelt variable name is an error, because the default would otherwise silently apply.
    let variables = KEYS.iter().map(Key::variable).collect::<Vec<_>>();
    let message = nearest(name, variables.iter().map(String::as_str)).map_or_else(
        || "no setting has this name; `robot-detection init --stdout` prints all keys".to_owned(),
        |near| format!("no setting has this name; did you mean {near}?"),
    );
    ConfigError { origin, message }
}
