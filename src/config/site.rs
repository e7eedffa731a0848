//! `[[site]]`: the settings of one site over those of all.

use std::collections::BTreeMap;

use robot_detection_site_robot::spelling::nearest;

use super::{
    ConfigError, ConfigErrors, KEYS, Key, Loaded, RobotsTxtHostSettings, Value,
    file::SiteTable,
    load::{InForce, Tables},
    tables::{ROBOTS_TXT_HOST, RULE, SITE, TABLES, TableKind, X_ROBOTS_TAG},
};

/// Names of settings that each site may have of its own; with a `.` at the end, all of a table.
const OF_SITES: &[&str] = &[
    "mode",
    "filter_pattern",
    "redirect_url",
    "redirect_status",
    "redirect_methods",
    "redirect_purposes",
    "allow_robots",
    "deny_robots",
    "server.upstream",
    "server.preserve_host",
    "server.connect_timeout_seconds",
    "server.response_timeout_seconds",
    "server.health_path",
    "server.health_interval_seconds",
    "heaven.",
    "robots_txt.",
    "site_robot.",
];

/// Tables that may stand in a `[[site]]`.
const TABLES_OF_SITES: &[&TableKind] = &[&RULE, &X_ROBOTS_TAG, &ROBOTS_TXT_HOST];

/// Table whose settings a site spells without its name.
const SERVER: &str = "server.";

/// One `[[site]]`: where it is reached, and all settings as they are for it.
#[derive(Clone, Debug)]
pub struct SiteLoaded {
    parts: SiteParts,
    loaded: Loaded,
}

/// What stands in one `[[site]]`.
#[derive(Clone, Debug, Default)]
pub(super) struct SiteParts {
    name: String,
    hosts: Vec<String>,
    path: String,
    origin: String,
    /// Where `name`, `hosts` and `path` stand.
    origins: BTreeMap<&'static str, String>,
    values: BTreeMap<&'static str, InForce>,
    tables: Tables,
}

impl Key {
    /// Returns `true` if a `[[site]]` may set it for itself.
    ///
    /// Everything about the upstream is of a site, whatever follows
    /// `server.upstream` in its name.
    #[must_use]
    pub fn is_per_site(&self) -> bool {
        OF_SITES.iter().any(|of_sites| {
            *of_sites == self.name
                || (of_sites.ends_with('.') && self.name.starts_with(of_sites))
                || (*of_sites == "server.upstream" && self.name.starts_with("server.upstream_"))
        })
    }

    /// Returns its name in a `[[site]]`, where `server.` goes without saying.
    #[must_use]
    pub fn name_in_site(&self) -> &'static str {
        self.name.strip_prefix(SERVER).unwrap_or(self.name)
    }

    /// Returns the key that a `[[site]]` calls so.
    pub(super) fn find_in_site(name: &str) -> Option<&'static Self> {
        of_sites().find(|key| key.name_in_site() == name || key.old_name == Some(name))
    }
}

impl TableKind {
    /// Returns the table that a `[[site]]` calls so.
    pub(super) fn find_in_site(name: &str) -> Option<&'static Self> {
        let mut tables = TABLES_OF_SITES.iter().copied();
        tables.find(|table| table.name == name)
    }
}

impl SiteLoaded {
    pub(super) fn new(parts: &SiteParts, common: &Loaded) -> Self {
        let mut loaded = common.clone();
        loaded.sites.clear();
        loaded.of_site = parts.values.keys().copied().collect();
        loaded.values.extend(parts.values.clone());
        loaded.values.insert("server.hosts", parts.own_hosts());
        let of_common = std::mem::replace(&mut loaded.tables, parts.tables.clone());
        loaded.tables.sources = of_common.sources;
        loaded.tables.rules.extend(of_common.rules);
        loaded.tables.tags.extend(of_common.tags);
        let hosts = of_common.robots_txt_hosts.into_iter();
        let ours = hosts.filter(|host| parts.is_about(host));
        loaded.tables.robots_txt_hosts.extend(ours);
        Self {
            parts: parts.clone(),
            loaded,
        }
    }

    /// Returns its name; without one, its first host and its path.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// Returns the hosts by which it is reached, `*.example.org` among them.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        &self.parts.hosts
    }

    /// Returns the path at and below which it is reached.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.parts.path
    }

    /// Returns all settings as they are for this site.
    #[must_use]
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Creates the error of a `name`, `hosts` or `path` that turned out wrong later.
    #[must_use]
    pub fn wrong(&self, key: &str, reason: impl std::fmt::Display) -> ConfigErrors {
        let origin = self.parts.origins.get(key).unwrap_or(&self.parts.origin);
        ConfigErrors::from(ConfigError {
            origin: origin.clone(),
            message: format!("site.{key}: {reason}"),
        })
    }
}

impl SiteParts {
    /// Reads one `[[site]]`; what is wrong in it is added to `errors`.
    pub(super) fn new(file: &str, table: &SiteTable, errors: &mut Vec<ConfigError>) -> Self {
        let at = |line: usize| format!("{file}:{line}");
        let mut site = Self {
            path: "/".to_owned(),
            origin: at(table.line),
            ..Self::default()
        };
        for (name, value, line) in &table.content.own {
            site.origins.insert(name, at(*line));
            match (*name, value) {
                ("name", Value::Text(text)) => text.trim().clone_into(&mut site.name),
                ("path", Value::Text(text)) => text.trim().clone_into(&mut site.path),
                ("hosts", Value::List(items)) => site.hosts.clone_from(items),
                _ => {}
            }
        }
        for (key, value, line) in &table.content.values {
            let (value, origin) = (value.clone(), at(*line));
            site.values.insert(key.name, InForce { value, origin });
        }
        for table in &table.content.tables {
            errors.extend(site.tables.add(file, table).err());
        }
        if let Some(first) = site.hosts.first() {
            if site.name.is_empty() {
                site.name = format!("{first}{}", site.path.trim_end_matches('/'));
            }
        } else {
            errors.push(ConfigError {
                origin: site.origin.clone(),
                message: "a [[site]] needs hosts, such as hosts = [\"www.example.com\"]".to_owned(),
            });
        }
        site
    }

    /// The names of the site itself; a pattern is none.
    fn own_hosts(&self) -> InForce {
        let names = self.hosts.iter().filter(|host| !host.starts_with('*'));
        InForce {
            value: Value::List(names.cloned().collect()),
            origin: self.origins.get("hosts").unwrap_or(&self.origin).clone(),
        }
    }

    /// Returns `true` if a `[[robots_txt.host]]` is about a host of this site.
    fn is_about(&self, table: &RobotsTxtHostSettings) -> bool {
        let names = table.hosts.iter().chain(&table.main_mirror);
        names
            .map(|name| without_port(name.trim()))
            .any(|name| self.hosts.iter().any(|host| is_of(name, host)))
    }
}

/// Returns what to say of a key that a `[[site]]` cannot have.
pub(super) fn unknown_in_site(name: &str) -> String {
    if let Some(key) = Key::find(name) {
        return if key.is_per_site() {
            format!("in a [[site]] {name} is called {}", key.name_in_site())
        } else {
            format!("{name} is one for all sites; write it outside of [[site]]")
        };
    }
    if TABLES.iter().any(|table| table.name == name) {
        return format!("[[{name}]] is one for all sites; write it outside of [[site]]");
    }
    let tables = TABLES_OF_SITES.iter().map(|table| table.name);
    let names = of_sites().map(Key::name_in_site).chain(SITE.names());
    nearest(name, names.chain(tables)).map_or_else(
        || format!("unknown key {name:?} in [[site]]; `robot-detection init --stdout` shows one"),
        |near| format!("unknown key {name:?} in [[site]]; did you mean {near:?}?"),
    )
}

fn of_sites() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| key.is_per_site())
}

fn without_port(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => name,
        _ => name,
    }
}

/// Returns `true` if a name is a host of a site, or one of those that its pattern stands for.
fn is_of(name: &str, host: &str) -> bool {
    match host.strip_prefix('*') {
        None => name.eq_ignore_ascii_case(host),
        Some(suffix) => {
            let start = name.len().checked_sub(suffix.len());
            let end = start.and_then(|start| name.get(start..));
            start != Some(0) && end.is_some_and(|end| end.eq_ignore_ascii_case(suffix))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Loader;
    use super::*;

    fn sites(text: &str) -> Vec<SiteLoaded> {
        Loader::new().file("c.toml", text).load().unwrap().sites()
    }

    fn error(text: &str) -> String {
        let loaded = Loader::new().file("c.toml", text).load();
        loaded.unwrap_err().to_string()
    }

    const TWO: &str = "filter_pattern = '/all/*'\nredirect_url = '/heaven/'\n\
        [server]\nupstream = 'http://127.0.0.1:1'\n\
        [[rule]]\nname = 'common'\naction = 'pass'\n\
        [[robots_txt.host]]\nhosts = 'shop.example.org'\n\
        [[robots_txt.host]]\nhosts = 'www.example.com'\n\
        [[site]]\nname = 'shop'\nhosts = ['shop.example.org', '*.shop.example.org']\npath = '/en'\n\
        upstream = 'http://127.0.0.1:2'\nFilterPattern = '/cart/*'\npreserve_host = false\n\
        robots_txt.serve = 'settings'\n[site.heaven]\npath = '/clouds/'\n\
        [[site.rule]]\nname = 'own'\naction = 'redirect'\n\
        [[site.x_robots_tag]]\nvalue = 'noindex'\n\
        [[site]]\nhosts = 'b.example.org'\n";

    #[test]
    fn a_site_overrides_what_it_says_and_has_the_rest_in_common() {
        let sites = sites(TWO);
        let [shop, other] = &sites[..] else {
            panic!("{sites:?}")
        };
        assert_eq!((shop.name(), shop.path()), ("shop", "/en"));
        let settings = shop.loaded().settings();
        assert_eq!(settings.upstream, ["http://127.0.0.1:2"]);
        assert_eq!(settings.filter_patterns, ["/cart/*"]);
        assert_eq!(settings.redirect_url, "/heaven/");
        assert_eq!(settings.heaven_path, "/clouds/");
        assert_eq!(settings.robots_txt_serve, "settings");
        assert!(!settings.preserve_host);
        assert_eq!(settings.hosts, ["shop.example.org"]);
        let rules: Vec<_> = settings.rules.iter().map(|rule| &*rule.name).collect();
        assert_eq!(rules, ["own", "common"]);
        assert_eq!(settings.tags.len(), 1);
        assert_eq!(settings.robots_txt_hosts.len(), 1);
        assert_eq!(shop.loaded().origin("server.upstream"), "c.toml:16");
        assert_eq!((other.name(), other.path()), ("b.example.org", "/"));
        let settings = other.loaded().settings();
        assert_eq!(settings.upstream, ["http://127.0.0.1:1"]);
        assert_eq!((settings.rules.len(), settings.tags.len()), (1, 0));
    }

    #[test]
    fn errors_of_a_site_name_their_place_in_it() {
        let site = &sites(TWO)[0];
        let wrong = |key| site.loaded().wrong(key, "no").to_string();
        assert_eq!(wrong("server.upstream"), "c.toml:16: site.upstream: no");
        assert_eq!(wrong("redirect_url"), "c.toml:2: redirect_url: no");
        let text = site.wrong("path", "no").to_string();
        assert_eq!(text, "c.toml:15: site.path: no");
    }

    #[test]
    fn what_a_site_cannot_have_is_refused_with_its_place_and_the_right_name() {
        for (text, expected) in [
            (
                "[[site]]\nname = 'a'",
                "c.toml:1: a [[site]] needs hosts, such as",
            ),
            (
                "[[site]]\nhosts = 'a'\nupstraem = 'x'",
                "c.toml:3: unknown key \"upstraem\" in [[site]]; did you mean \"upstream\"?",
            ),
            (
                "[[site]]\nhosts = 'a'\nredirect_status = 'x'",
                "c.toml:3: site.redirect_status: \"x\" is not a whole number",
            ),
            (
                "[[site]]\nhosts = 'a'\n[site.database]\nurl = 'x'",
                "c.toml:4: database.url is one for all sites; write it outside of [[site]]",
            ),
            (
                "[[site]]\nhosts = 'a'\nserver.upstream = 'x'",
                "c.toml:3: in a [[site]] server.upstream is called upstream",
            ),
            (
                "[[site]]\nhosts = 'a'\n[[site.source]]\nname = 'x'",
                "c.toml:3: [[source]] is one for all sites",
            ),
            (
                "[[site]]\nhosts = 'a'\n[[site.rule]]\nactoin = 'x'",
                "c.toml:4: unknown key \"actoin\" in [[rule]]; did you mean \"action\"?",
            ),
            (
                "[[site]]\nhosts = 'a'\n[site.heaven]\npaht = 'x'",
                "c.toml:4: unknown key \"heaven.paht\" in [[site]]; did you mean \"heaven.path\"?",
            ),
            ("site = 'a'", "c.toml:1: unknown key \"site\"; write it as"),
        ] {
            let error = error(text);
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_pattern_stands_for_what_is_below_it() {
        assert!(is_of("a.Example.org", "*.example.org"));
        assert!(!is_of("example.org", "*.example.org"));
        assert!(!is_of(".example.org", "*.example.org"));
        assert!(!is_of("aexample.org", "*.example.org"));
    }
}
