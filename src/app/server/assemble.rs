//! Converts settings into a builder; errors show the file and line of the setting.

use std::path::PathBuf;

use crate::assembly::{
    alerts, bans, enforcement, policy, policy_builder, replace_texts, robots_txt, sources,
    wanted_origins,
};
use crate::config::{ConfigErrors, Loaded};
use crate::operations::Setting;

use super::{RobotDetection, RobotDetectionBuilder, claim_prover::verification};

/// Returns a builder configured with the settings.
///
/// # Errors
///
/// Returns an error that shows the place of each invalid value.
pub fn assemble(loaded: &Loaded) -> Result<RobotDetectionBuilder, ConfigErrors> {
    let settings = loaded.settings();
    // Checked here, because errors of the builder do not contain a place.
    policy(loaded)?;
    replace_texts(loaded)?;
    let sources = sources(loaded)?;
    wanted_origins(loaded)?;
    // These settings are applied when the server starts, but are checked before anything is opened.
    alerts(loaded)?;
    bans(loaded)?;
    let enforcement = enforcement(loaded)?;
    let mut builder = RobotDetection::builder()
        .policy(|_| policy_builder(loaded))
        .enforcement(|_| enforcement)
        .database_url(&*settings.database.url)
        .database_connections(settings.database.max_connections)
        .web_robots_db("") // If used, it is one of the sources.
        .bundled_registry(settings.general.bundled_registry)
        .unlisted_robots(settings.general.unlisted_robots)
        .secure_cookies(settings.admin.secure_cookies)
        .time_zone(settings.admin.time_zone.into())
        .robots_txt(robots_txt(loaded)?)
        .verification(verification(&settings.verify))
        .keep_traffic(settings.traffic.keep)
        .find_fleets(settings.traffic.fleets)
        .live_rules(settings.admin.rules)
        .keep_paths(settings.traffic.paths)
        .evidence_days(settings.traffic.evidence_days)
        .kept_addresses(settings.traffic.addresses)
        .admin_hosts(settings.server.hosts.iter())
        .shown_settings(shown(loaded))
        .with_initial_settings(loaded.clone());
    for source in sources {
        builder = builder.source(source);
    }
    // By default, the state is next to an SQLite database; a database server may be on another
    // machine.
    let is_server = !settings.database.url.starts_with("sqlite:");
    let working = is_server.then(|| PathBuf::from("."));
    if let Some(directory) = settings.general.state_dir.clone().or(working) {
        builder = builder.state_dir(directory);
    }
    Ok(builder)
}

/// Returns the settings as shown on the admin page.
pub(super) fn shown(loaded: &Loaded) -> Vec<Setting> {
    loaded
        .effective_values()
        .map(|(key, found)| Setting {
            key: key.name.to_owned(),
            old_name: key.old_name.map(str::to_owned),
            value: (key.shown)(&found.value),
            origin: found.origin.clone(),
            // Backticks are Markdown for the documentation; the page shows plain text.
            help: key.help.replace('`', ""),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DatabaseSection, Loader, Value, commented_configuration, tests::cases};

    fn error_of(text: &str) -> String {
        let loaded = Loader::new().file("c.toml", text).load();
        let assembled = loaded.and_then(|loaded| assemble(&loaded));
        assembled.unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_place_of_wrong_values() {
        for (text, expected) in cases(
            r#"
            \nredirect_url = '//evil.example/' => c.toml:2: redirect_url
            filter_pattern = '/a/[b' => c.toml:1: filter_pattern
            redirect_status = 304 => c.toml:1: redirect_status
            redirect_purposes = ['serch'] => c.toml:1: redirect_purposes: "serch" is not a valid purpose; did you mean "search"?
            [[source]]\nname='x'\nurl='u'\nformat='matamo' => c.toml:4: source.format: "matamo" is not a valid format; did you mean "matomo"?
            web_robots_db = 'gopher://u:geheim@x' => c.toml:1: web_robots_db: cannot read gopher://u:***@x: unknown scheme gopher:
            [[source]]\nname='x'\nurl='htp://x/' => c.toml:3: source.url: cannot read htp://x/: unknown scheme htp:, expected http:, https: or file:
            [[source]]\nname='manual'\nurl='u' => c.toml:2: source.name: the name "manual" is reserved
            [[source]]\nname='x'\nurl='u'\n[[source]]\nname='x'\nurl='v' => c.toml:5: source.name: two sources are named "x"
            "#,
        ) {
            let error = error_of(text);
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn errors_name_the_place_of_wrong_rules() {
        for (text, expected) in cases(
            r#"
            \nmode = 'reprot' => c.toml:2: mode: "reprot" is not a valid mode; did you mean "report"?
            [[rule]]\naction='refuse'\nstatus=405 => c.toml:3: rule.status: 405 is not allowed for a refusal; use one of 400, 401
            [[rule]]\naction='slow'\nburst=5 => c.toml:1: rule.requests: set the number of requests
            [[rule]]\naction='redirect'\nrequests=5 => c.toml:3: rule.requests: the action redirect does not use this key
            [[rule]]\naction='serve'\nredirect_url='https://a.example/' => c.toml:3: rule.redirect_url: https://a.example/ is on another site
            [[rule]]\naction='pass'\nmethods=['GE T'] => c.toml:3: rule.methods: "GE T" is not an HTTP method name
            [[rule]]\naction='pass'\n\nhosts=['a/b'] => c.toml:4: rule.hosts: "a/b": invalid host name
            [[x_robots_tag]]\nvalue='noindex'\nhosts=[] => c.toml:3: x_robots_tag.hosts: the list is empty
            [[rule]]\naction='pass'\nverdicts='verfied' => c.toml:3: rule.verdicts: "verfied" is not a valid verdict; did you mean "verified"?
            [[x_robots_tag]]\nvalue='noindex'\nverdicts=['real'] => c.toml:3: x_robots_tag.verdicts: "real" is not a valid verdict
            [[rule]]\naction='pass'\nwait_milliseconds=500 => c.toml:3: rule.wait_milliseconds: the rule has no condition on verdicts to wait for
            "#,
        ) {
            let error = error_of(text);
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn errors_name_the_place_of_wrong_visitors() {
        for (text, expected) in [
            (
                "[[rule]]\naction='refuse'\nvisitors=['namless']",
                "c.toml:3: rule.visitors: \"namless\" is not a valid visitor; did you mean \"nameless\"?",
            ),
            (
                "[[rule]]\naction='refuse'\nvisitors='robots'\npeople=true",
                "c.toml:4: rule.people: the rule does not apply to people",
            ),
            (
                "[[rule]]\naction='refuse'\nvisitors='nameless'\nverdicts='spoofed'",
                "c.toml:4: rule.verdicts: human and nameless visitors have no claim to verify",
            ),
        ] {
            let error = error_of(text);
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn example_written_by_init_is_valid() {
        let text = commented_configuration();
        let lines = text.lines().map(|line| match line.strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') => rest,
            _ => line,
        });
        let live = lines.collect::<Vec<_>>().join("\n");
        let loaded = Loader::new().file("c.toml", &live).load().unwrap();
        assert!(assemble(&loaded).is_ok());
        assert_eq!(policy(&loaded).unwrap().rules().count(), 3);
    }

    #[test]
    fn passwords_are_not_shown() {
        for text in [
            "database.url = 'postgres://u:geheim@h/db'",
            "database.url = 'postgres://u@h/db?password=geheim'",
            "database.url = 'postgres://h/db?user=u&password=geheim'",
            "database.url = 'postgresql://u:ge@heim:geheim@:/db'",
            "database.url = 'postgres://u:geheim@h:port/db'",
            "database.url = 'mysql://u:geheim@h/db'",
            "web_robots_db = 'http://u:geheim@h/all.txt'",
        ] {
            let loaded = Loader::new().file("c.toml", text).load().unwrap();
            let shown = shown(&loaded);
            assert!(
                shown
                    .iter()
                    .all(|setting| !setting.value.contains("geheim")),
                "{text}"
            );
        }
    }

    #[test]
    fn database_is_shown_without_password() {
        for (url, place) in [
            ("postgres://u:p@h/db", "postgres://u@h:5432/db"),
            ("sqlite://a.db", "sqlite://a.db"),
            ("sqlite::memory:", "sqlite::memory:"),
        ] {
            let value = Value::Text(url.to_owned());
            assert_eq!((DatabaseSection::KEY.url.shown)(&value), place);
        }
    }
}
