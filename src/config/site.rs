//! `[[site]]`: the settings of one site, which override the common settings.

use std::{collections::BTreeMap, sync::Arc};

use robot_detection_site_robot::spelling::nearest;

use super::{
    ConfigError, ConfigErrors, KEYS, Key, Loaded, RobotsTxtHostSettings, ServerSection, Settings,
    SiteTable, TABLES, Value,
    file::{SiteContent, Table},
    load::{EffectiveValue, Reading},
    table::Reader,
    tables::OF_SITES,
};

/// The prefix that is omitted from the names of keys in a `[[site]]` table.
const SERVER: &str = "server.";

/// The hosts and path of a `[[site]]` table, and all effective settings of the site.
#[derive(Clone, Debug)]
pub struct SiteLoaded {
    parts: Arc<SiteParts>,
    loaded: Loaded,
}

/// The contents of a `[[site]]` table.
#[derive(Clone, Debug)]
pub(super) struct SiteParts {
    table: SiteTable,
    values: BTreeMap<&'static str, EffectiveValue>,
    /// Settings and tables of the site; only keys that are set override the common settings.
    settings: Settings,
}

impl Key {
    /// Returns the key's name in a `[[site]]`, which omits `server.`.
    #[must_use]
    pub fn name_in_site(&self) -> &'static str {
        self.name.strip_prefix(SERVER).unwrap_or(self.name)
    }

    /// Returns the key with the given name in a `[[site]]` table.
    pub(super) fn find_in_site(name: &str) -> Option<&'static Self> {
        of_sites().find(|key| key.name_in_site() == name || key.old_name == Some(name))
    }
}

impl SiteLoaded {
    pub(super) fn new(parts: &Arc<SiteParts>, common: &Loaded) -> Self {
        let mut loaded = common.clone();
        loaded.sites = Arc::default();
        loaded.of_site = parts.values.keys().copied().collect();
        loaded.values.extend(parts.values.clone());
        let settings = Arc::make_mut(&mut loaded.settings);
        for key in of_sites().filter(|key| parts.values.contains_key(key.name)) {
            settings.take(key, &parts.settings);
        }
        let (hosts, origin) = parts.own_hosts();
        settings.server.hosts.clone_from(&hosts);
        let value = Value::List(hosts);
        let in_force = EffectiveValue { value, origin };
        loaded
            .values
            .insert(ServerSection::KEY.hosts.name, in_force);
        let (tables, own) = (&mut settings.tables, parts.settings.tables.clone());
        tables.rules.splice(..0, own.rules);
        tables.tags.splice(..0, own.tags);
        // Only the common tables for the site's own hosts apply to the site.
        tables.robots_txt_hosts.retain(|host| parts.is_about(host));
        tables.robots_txt_hosts.splice(..0, own.robots_txt_hosts);
        // A site with its own licence terms does not use the common terms.
        if !own.licenses.is_empty() {
            tables.licenses = own.licenses;
        }
        Self {
            parts: Arc::clone(parts),
            loaded,
        }
    }

    /// Returns the site's name or, if no name is set, the site's first host and path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.parts.name()
    }

    pub(super) fn into_loaded(self) -> Loaded {
        self.loaded
    }

    /// Returns the site's hosts, including patterns such as `*.example.org`.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        &self.parts.table.hosts
    }

    /// Returns the site's path prefix.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.parts.table.path
    }

    /// Returns all effective settings of this site.
    #[must_use]
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Creates an error for a `name`, `hosts` or `path` that was found to be invalid after loading.
    #[must_use]
    pub fn invalid(&self, key: &Key, reason: impl std::fmt::Display) -> ConfigErrors {
        self.parts.table.wrong(key, reason)
    }
}

impl SiteParts {
    pub(super) fn name(&self) -> &str {
        &self.table.name
    }

    /// Reads a `[[site]]` table and adds its errors to `errors`.
    pub(super) fn new(
        file: &str,
        site: &SiteContent,
        errors: &mut Vec<ConfigError>,
    ) -> Option<Self> {
        let mut reading = Reading::default();
        reading.file(file, &site.content, "site.");
        errors.append(&mut reading.errors);
        let own = Table {
            kind: &SiteTable::KIND,
            line: site.line,
            values: site.content.own.clone(),
        };
        let table = SiteTable::read_complete(&mut Reader::new(file, &own, errors))?;
        Some(Self {
            table,
            values: reading.values,
            settings: reading.settings,
        })
    }

    /// Returns the hosts of the site, without patterns, and their place in the file.
    fn own_hosts(&self) -> (Vec<String>, String) {
        let names = self
            .table
            .hosts
            .iter()
            .filter(|host| !host.starts_with('*'));
        let origin = self.table.origin_of(&SiteTable::KEY.hosts);
        let origin = origin.unwrap_or(self.table.origin()).to_owned();
        (names.cloned().collect(), origin)
    }

    /// Returns `true` if a `[[robots_txt.host]]` applies to a host of this site.
    fn is_about(&self, table: &RobotsTxtHostSettings) -> bool {
        let names = table.hosts.iter().chain(&table.main_mirror);
        names
            .map(|name| without_port(name.trim()))
            .any(|name| self.table.hosts.iter().any(|host| is_host_of(name, host)))
    }
}

/// Returns the error message for a key that is not allowed in a `[[site]]`.
pub(super) fn unknown_in_site(name: &str) -> String {
    if TABLES.iter().any(|table| table.name == name) {
        return format!("[[{name}]] applies to all sites; move it out of [[site]]");
    }
    // This also matches keys without their table, such as `listen`, because `server.` may be
    // omitted.
    let of_server = Key::find(&format!("{SERVER}{name}"));
    let mut called = KEYS.iter().filter(|key| key.short_name == name);
    let only = called.next().filter(|_| called.next().is_none());
    if let Some(key) = Key::find(name).or(of_server).or(only) {
        return if key.is_per_site() {
            format!("in a [[site]], {name} is written as {}", key.name_in_site())
        } else {
            for_all_sites(key)
        };
    }
    let tables = OF_SITES.iter().map(|table| table.name);
    let names = of_sites()
        .map(Key::name_in_site)
        .chain(SiteTable::KIND.names());
    nearest(name, names.chain(tables)).map_or_else(
        || {
            format!(
                "unknown key {name:?} in [[site]]; `robot-detection init --stdout` shows an example"
            )
        },
        |near| format!("unknown key {name:?} in [[site]]; did you mean {near:?}?"),
    )
}

fn for_all_sites(key: &Key) -> String {
    let name = key.name;
    match name.rsplit_once('.') {
        Some((table, _)) => {
            format!("{name} applies to all sites; set it in [{table}], not in a [[site]]")
        }
        None => {
            format!("{name} applies to all sites; set it above the first table, not in a [[site]]")
        }
    }
}

fn of_sites() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| key.is_per_site())
}

fn without_port(name: &str) -> &str {
    match name.rsplit_once(':') {
        // The last colon of `[::1]` does not separate a port (RFC 3986 §3.2.2).
        Some((name, port)) if !port.ends_with(']') => name,
        _ => name,
    }
}

/// Returns `true` if a host name equals the site's host or matches its pattern.
pub(crate) fn is_host_of(name: &str, host: &str) -> bool {
    match host.strip_prefix('*') {
        None => name.eq_ignore_ascii_case(host),
        Some(suffix) => {
            let start = name.len().checked_sub(suffix.len());
            let end = start.and_then(|start| name.get(start..));
            // `*.example.org` does not match `.example.org`, because `*` must match something.
            start != Some(0) && end.is_some_and(|end| end.eq_ignore_ascii_case(suffix))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GeneralSection, Loader, RobotsTxtSource};
    use super::*;
    use crate::config::tests::cases;

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
    fn site_overrides_its_settings_and_shares_the_rest() {
        let sites = sites(TWO);
        let [shop, other] = &sites[..] else {
            panic!("{sites:?}")
        };
        assert_eq!((shop.name(), shop.path()), ("shop", "/en"));
        let settings = shop.loaded().settings();
        assert_eq!(settings.server.upstream, ["http://127.0.0.1:2"]);
        assert_eq!(settings.general.filter_patterns, ["/cart/*"]);
        assert_eq!(settings.general.redirect_url, "/heaven/");
        assert_eq!(&*settings.heaven.path, "/clouds/");
        assert_eq!(settings.robots_txt.serve, RobotsTxtSource::Settings);
        assert!(!settings.server.preserve_host);
        assert_eq!(settings.server.hosts, ["shop.example.org"]);
        let rules: Vec<_> = settings
            .tables
            .rules
            .iter()
            .map(|rule| &*rule.name)
            .collect();
        assert_eq!(rules, ["own", "common"]);
        assert_eq!(settings.tables.tags.len(), 1);
        assert_eq!(settings.tables.robots_txt_hosts.len(), 1);
        assert_eq!(
            shop.loaded().origin(&ServerSection::KEY.upstream),
            "c.toml:16"
        );
        assert_eq!((other.name(), other.path()), ("b.example.org", "/"));
        let settings = other.loaded().settings();
        assert_eq!(settings.server.upstream, ["http://127.0.0.1:1"]);
        assert_eq!(
            (settings.tables.rules.len(), settings.tables.tags.len()),
            (1, 0)
        );
    }

    #[test]
    fn errors_in_a_site_name_their_line() {
        let site = &sites(TWO)[0];
        let wrong = |key: &Key| site.loaded().invalid(key, "no").to_string();
        assert_eq!(
            wrong(&ServerSection::KEY.upstream),
            "c.toml:16: site.upstream: no"
        );
        assert_eq!(
            wrong(&GeneralSection::KEY.redirect_url),
            "c.toml:2: redirect_url: no"
        );
        let text = site.invalid(&SiteTable::KEY.path, "no").to_string();
        assert_eq!(text, "c.toml:15: site.path: no");
    }

    #[test]
    fn invalid_site_keys_are_refused_with_line_and_suggestion() {
        for (text, expected) in cases(
            r#"
            [[site]]\nname = 'a' => c.toml:1: a [[site]] needs hosts, such as
            [[site]]\nhosts = 'a'\nupstraem = 'x' => c.toml:3: unknown key "upstraem" in [[site]]; did you mean "upstream"?
            [[site]]\nhosts = 'a'\nredirect_status = 'x' => c.toml:3: site.redirect_status: "x" is not a whole number
            [[site]]\nhosts = 'a'\n[site.database]\nurl = 'x' => c.toml:4: database.url applies to all sites; set it in [database], not in
            [[site]]\nhosts = 'a'\nlisten = '127.0.0.1:80' => c.toml:3: server.listen applies to all sites; set it in [server], not in
            [[site]]\nhosts = 'a'\nrefresh_interval_days = 3 => c.toml:3: refresh_interval_days applies to all sites; set it above the first table
            [[site]]\nhosts = 'a'\nserver.upstream = 'x' => c.toml:3: in a [[site]], server.upstream is written as upstream
            [[site]]\nhosts = 'a'\n[[site.source]]\nname = 'x' => c.toml:3: [[source]] applies to all sites
            [[site]]\nhosts = 'a'\n[[site.rule]]\nactoin = 'x' => c.toml:4: unknown key "actoin" in [[rule]]; did you mean "action"?
            [[site]]\nhosts = 'a'\n[site.heaven]\npaht = 'x' => c.toml:4: unknown key "heaven.paht" in [[site]]; did you mean "heaven.path"?
            site = 'a' => c.toml:1: unknown key "site"; to write an array of tables, use [[site]]
            "#,
        ) {
            let error = error(text);
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn host_pattern_matches_subdomains() {
        assert!(is_host_of("a.Example.org", "*.example.org"));
        assert!(!is_host_of("example.org", "*.example.org"));
        assert!(!is_host_of(".example.org", "*.example.org"));
        assert!(!is_host_of("aexample.org", "*.example.org"));
    }
}
