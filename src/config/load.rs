//! Defaults, file, environment and flags become one set of values.

use std::collections::BTreeMap;

use robot_detection_site_robot::spelling::nearest;

use super::{
    CertificateSettings, ConfigError, ConfigErrors, KEYS, Key, ListenerSettings,
    RobotsTxtHostSettings, RuleSettings, Settings, SiteLoaded, SourceSettings, TagSettings, Value,
    file::{self, FileContent, Table},
    site::SiteParts,
    tables::{CERTIFICATE, LISTENER, ROBOTS_TXT_HOST, RULE, SOURCE, TABLES, X_ROBOTS_TAG},
};

/// Prefix of the environment's variables.
const PREFIX: &str = "ROBOT_DETECTION_";

/// Collects what file, environment and flags say.
#[derive(Clone, Debug, Default)]
pub struct Loader {
    file: Option<(String, FileContent)>,
    environment: Vec<(String, String)>,
    flags: Vec<(&'static str, &'static str, String)>,
}

/// A setting in force and where it came from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InForce {
    /// The value.
    pub value: Value,
    /// `default`, `robot-detection.toml:3`, `environment …` or the flag.
    pub origin: String,
}

/// Settings that have been read, each with its origin.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub(super) values: BTreeMap<&'static str, InForce>,
    pub(super) tables: Tables,
    pub(super) sites: Vec<SiteParts>,
    /// Keys that were set in the `[[site]]` that these are the settings of.
    pub(super) of_site: Vec<&'static str>,
}

/// Tables that may stand several times, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    pub(super) sources: Vec<SourceSettings>,
    pub(super) rules: Vec<RuleSettings>,
    pub(super) tags: Vec<TagSettings>,
    pub(super) robots_txt_hosts: Vec<RobotsTxtHostSettings>,
    pub(super) listeners: Vec<ListenerSettings>,
    pub(super) certificates: Vec<CertificateSettings>,
}

impl Loader {
    /// Creates a loader that knows the defaults only.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the text of a configuration file; `name` is what errors call it.
    #[must_use]
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.file = Some((name.to_owned(), file::read(text)));
        self
    }

    /// Adds the process's environment variables, those of our prefix.
    #[must_use]
    pub fn process_environment(self) -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| name.starts_with(PREFIX))
            .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
            .collect::<Vec<_>>();
        self.environment(variables)
    }

    /// Adds environment variables.
    #[must_use]
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(variables);
        self
    }

    /// Adds a flag's value; `flag` is what errors call it.
    #[must_use]
    pub fn flag(mut self, key: &'static str, flag: &'static str, value: Option<String>) -> Self {
        if let Some(value) = value {
            self.flags.push((key, flag, value));
        }
        self
    }

    /// Returns the settings in force.
    ///
    /// # Errors
    ///
    /// Fails with everything that is wrong, each with its place.
    pub fn load(self) -> Result<Loaded, ConfigErrors> {
        let mut errors = Vec::new();
        let mut values = defaults();
        let mut tables = Tables::default();
        let mut sites = Vec::new();
        if let Some((name, content)) = &self.file {
            errors.extend(content.errors(name));
            for (key, value, line) in &content.values {
                let origin = format!("{name}:{line}");
                values.insert(
                    key.name,
                    InForce {
                        value: value.clone(),
                        origin,
                    },
                );
            }
            for table in &content.tables {
                errors.extend(tables.add(name, table).err());
            }
            for site in &content.sites {
                sites.push(SiteParts::new(name, site, &mut errors));
            }
        }
        for (name, text) in &self.environment {
            set(
                &mut values,
                &mut errors,
                variable(name),
                text,
                format!("environment variable {name}"),
            );
        }
        for (name, flag, text) in &self.flags {
            set(
                &mut values,
                &mut errors,
                Key::find(name),
                text,
                (*flag).to_owned(),
            );
        }
        if errors.is_empty() {
            Ok(Loaded {
                values,
                tables,
                sites,
                of_site: Vec::new(),
            })
        } else {
            Err(ConfigErrors(errors))
        }
    }
}

impl Loaded {
    /// Returns the settings as typed values.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings::new(&self.values, self.tables.clone())
    }

    /// Returns each `[[site]]` with all settings as they are for it.
    ///
    /// What a site sets itself counts before flags and environment: these are
    /// about all sites. Its rules and `X-Robots-Tag` headers come before the
    /// common ones.
    #[must_use]
    pub fn sites(&self) -> Vec<SiteLoaded> {
        let sites = self.sites.iter();
        sites.map(|site| SiteLoaded::new(site, self)).collect()
    }

    /// Returns what is set about the upstream: of equal ones, one proxy does for both.
    #[must_use]
    pub fn of_upstream(&self) -> Vec<(&'static str, Value)> {
        let keys = KEYS
            .iter()
            .filter(|key| key.is_per_site() && key.name.starts_with("server."));
        keys.filter_map(|key| Some((key.name, self.values.get(key.name)?.value.clone())))
            .collect()
    }

    /// Takes over from `other` what a running process cannot change, and returns its names.
    ///
    /// Rules, sites and the like are not taken over. A name is returned if what
    /// is running differs from what is wanted.
    pub fn keep(&mut self, other: &Self, is_kept: impl Fn(&Key) -> bool) -> Vec<&'static str> {
        let mut kept = Vec::new();
        for key in KEYS.iter().filter(|key| is_kept(key)) {
            let Some(running) = other.values.get(key.name) else {
                continue;
            };
            let wanted = self.values.insert(key.name, running.clone());
            if wanted.is_none_or(|wanted| wanted.value != running.value) {
                kept.push(key.name);
            }
        }
        let (wanted, running) = (&mut self.tables, &other.tables);
        let are_same = [
            (
                "[[source]]",
                keep_table(
                    &mut wanted.sources,
                    &running.sources,
                    SourceSettings::is_same,
                ),
            ),
            (
                "[[listener]]",
                keep_table(
                    &mut wanted.listeners,
                    &running.listeners,
                    ListenerSettings::is_same,
                ),
            ),
            (
                "[[certificate]]",
                keep_table(
                    &mut wanted.certificates,
                    &running.certificates,
                    CertificateSettings::is_same,
                ),
            ),
        ];
        let changed = are_same.iter().filter(|(_, is_same)| !is_same);
        kept.extend(changed.map(|(name, _)| name));
        kept
    }

    /// Returns each key with its value and origin, in the order of the documentation.
    pub fn in_force(&self) -> impl Iterator<Item = (&'static Key, &InForce)> {
        KEYS.iter()
            .filter_map(|key| Some((key, self.values.get(key.name)?)))
    }

    /// Returns where a setting came from.
    #[must_use]
    pub fn origin(&self, key: &str) -> &str {
        self.values
            .get(key)
            .map_or("default", |found| &found.origin)
    }

    /// Creates the error of a value that turned out wrong later.
    #[must_use]
    pub fn wrong(&self, key: &str, reason: impl std::fmt::Display) -> ConfigErrors {
        ConfigErrors::from(ConfigError {
            origin: self.origin(key).to_owned(),
            message: match Key::find(key).filter(|key| self.of_site.contains(&key.name)) {
                Some(key) => format!("site.{}: {reason}", key.name_in_site()),
                None => format!("{key}: {reason}"),
            },
        })
    }
}

impl Tables {
    pub(super) fn add(&mut self, file: &str, table: &Table) -> Result<(), ConfigError> {
        match table.kind.name {
            of if of == SOURCE.name => self.sources.push(SourceSettings::new(file, table)?),
            of if of == RULE.name => self.rules.push(RuleSettings::new(file, table)?),
            of if of == X_ROBOTS_TAG.name => self.tags.push(TagSettings::new(file, table)?),
            of if of == ROBOTS_TXT_HOST.name => self
                .robots_txt_hosts
                .push(RobotsTxtHostSettings::new(file, table)?),
            of if of == LISTENER.name => self.listeners.push(ListenerSettings::new(file, table)?),
            of if of == CERTIFICATE.name => self
                .certificates
                .push(CertificateSettings::new(file, table)?),
            _ => {}
        }
        Ok(())
    }
}

/// Puts what is running in place of what is wanted; returns whether that is the same.
fn keep_table<T: Clone>(
    wanted: &mut Vec<T>,
    running: &[T],
    is_same: impl Fn(&T, &T) -> bool,
) -> bool {
    let wanted = std::mem::replace(wanted, running.to_vec());
    wanted.len() == running.len()
        && wanted
            .iter()
            .zip(running)
            .all(|(wanted, running)| is_same(wanted, running))
}

fn defaults() -> BTreeMap<&'static str, InForce> {
    KEYS.iter()
        .filter_map(|key| {
            let value = Value::parse(key.kind, key.default).ok()?;
            Some((
                key.name,
                InForce {
                    value,
                    origin: "default".to_owned(),
                },
            ))
        })
        .collect()
}

fn variable(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.variable() == name)
}

fn set(
    values: &mut BTreeMap<&'static str, InForce>,
    errors: &mut Vec<ConfigError>,
    key: Option<&'static Key>,
    text: &str,
    origin: String,
) {
    let Some(key) = key else {
        errors.push(unknown_variable(origin));
        return;
    };
    match Value::parse(key.kind, text) {
        Ok(value) => {
            values.insert(key.name, InForce { value, origin });
        }
        Err(reason) => errors.push(ConfigError {
            origin,
            message: format!("{}: {reason}", key.name),
        }),
    }
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
        let message = format!("[[{table}]] has no variable; write it into the configuration file");
        return ConfigError { origin, message };
    }
    let variables = KEYS.iter().map(Key::variable).collect::<Vec<_>>();
    let message = nearest(name, variables.iter().map(String::as_str)).map_or_else(
        || "no setting has this name; `robot-detection init --stdout` prints every key".to_owned(),
        |near| format!("no setting has this name; did you mean {near}?"),
    );
    ConfigError { origin, message }
}
