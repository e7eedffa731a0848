//! From settings to a builder: what is wrong is told by its place in the file.

use crate::admin::{Access, Setting};
use crate::config::{
    ConfigErrors, Loaded, RuleSettings, Settings, SourceSettings, TagSettings, Value, unknown_word,
};
use crate::fetch::shown_url;
use crate::policy::{
    Action, Policy, PolicyBuilder, PolicyError, Rule, RuleBuilder, TagRule, TagRuleBuilder,
};
use crate::refresh::SourceSpec;
use crate::registry::{Format, Purpose, Source};
use crate::store::Store;

use super::{RobotDetection, RobotDetectionBuilder, enforcement, operations, robots_txt};

/// Returns the builder that the settings describe.
///
/// # Errors
///
/// Fails with the place of each wrong value.
pub fn assemble(loaded: &Loaded) -> Result<RobotDetectionBuilder, ConfigErrors> {
    let settings = loaded.settings();
    policy(loaded)?;
    let sources = sources(loaded)?;
    let mut builder = RobotDetection::builder()
        .policy(policy_builder(loaded, &settings)?)
        .enforcement(enforcement(loaded)?)
        .database_url(&settings.database_url)
        .web_robots_db("") // Where it is used it is one of the sources.
        .bundled_registry(settings.bundled_registry)
        .unlisted_robots(settings.unlisted_robots)
        .admin_access(Access::Login {
            secure_cookies: settings.secure_cookies,
        })
        .robots_txt(robots_txt(loaded)?)
        .admin_hosts(settings.hosts.iter())
        .shown_settings(shown(loaded));
    for source in sources {
        builder = builder.source(source);
    }
    Ok(builder)
}

/// Returns the policy that the settings describe.
///
/// # Errors
///
/// Fails with the place of the wrong value.
pub fn policy(loaded: &Loaded) -> Result<Policy, ConfigErrors> {
    let settings = loaded.settings();
    policy_builder(loaded, &settings)?.build().map_err(|error| {
        let key = match &error {
            PolicyError::RedirectUrl { .. } => "redirect_url",
            PolicyError::Status(_) => "redirect_status",
            PolicyError::Method(_) => "redirect_methods",
            PolicyError::NowhereToRedirect => "deny_robots",
            PolicyError::Rule {
                number,
                key,
                reason,
            } if let Some(rule) = settings.rules.get(number - 1) => {
                return rule.wrong(key, reason);
            }
            PolicyError::Tag {
                number,
                key,
                reason,
            } if let Some(tag) = settings.tags.get(number - 1) => {
                return tag.wrong(key, reason);
            }
            _ => "filter_pattern",
        };
        loaded.wrong(key, error)
    })
}

/// Returns the registries that are refreshed, the Web Robots Database first.
///
/// # Errors
///
/// Fails with the place of the wrong value.
pub fn sources(loaded: &Loaded) -> Result<Vec<SourceSpec>, ConfigErrors> {
    let settings = loaded.settings();
    let interval_days = settings.refresh_interval_days;
    let mut specs = Vec::new();
    if !settings.web_robots_db.is_empty() {
        let spec = SourceSpec::web_robots_db(&settings.web_robots_db, interval_days);
        spec.check_url()
            .map_err(|reason| loaded.wrong("web_robots_db", reason))?;
        specs.push(spec);
    }
    for source in &settings.sources {
        let spec = source_spec(source, interval_days)?;
        if specs.iter().any(|other| other.source == spec.source) {
            let message = format!("two sources are named {:?}", source.name);
            return Err(wrong(source, message));
        }
        specs.push(spec);
    }
    Ok(specs)
}

/// Settings that a running server takes over from its file, beside those of robots.txt.
const RELOADED: [&str; 8] = [
    "filter_pattern",
    "redirect_url",
    "redirect_status",
    "redirect_methods",
    "redirect_purposes",
    "allow_robots",
    "deny_robots",
    "unlisted_robots",
];

/// Puts filter and redirect settings, rules, lists of robots and robots.txt in force in a running server.
///
/// # Errors
///
/// Fails with the place of the wrong value; then nothing changes.
pub fn reload(robots: &RobotDetection, loaded: &Loaded) -> Result<(), ConfigErrors> {
    let enforcement = enforcement(loaded)?;
    let robots_txt = robots_txt(loaded)?;
    robots.policy().replace(policy(loaded)?);
    robots.served_robots_txt().replace(robots_txt);
    robots.enforcer().replace_settings(enforcement);
    let recognise = loaded.settings().unlisted_robots;
    robots.detector().recognise_unlisted(recognise);
    let fresh = shown(loaded);
    let current = robots.shown_settings().load();
    let merged = current.iter().map(|setting| {
        let is_reloaded =
            RELOADED.contains(&setting.key.as_str()) || setting.key.starts_with("robots_txt.");
        let found = fresh
            .iter()
            .find(|fresh| is_reloaded && fresh.key == setting.key);
        found.unwrap_or(setting).clone()
    });
    robots.shown_settings().replace(merged.collect());
    Ok(())
}

fn policy_builder(loaded: &Loaded, settings: &Settings) -> Result<PolicyBuilder, ConfigErrors> {
    let mut builder = Policy::builder()
        .filter_patterns(&settings.filter_patterns)
        .redirect_url(&settings.redirect_url)
        .status(settings.redirect_status)
        .methods(&settings.redirect_methods)
        .allow_robots(&settings.allow_robots)
        .deny_robots(&settings.deny_robots)
        .own_hosts(&settings.hosts);
    if settings.admin_enabled {
        builder = builder.never(&settings.admin_path);
    }
    if settings.admin_listen.is_empty() {
        // What watches this program is no visitor of the site.
        for path in operations::PATHS {
            builder = builder.never(path);
        }
    }
    if settings.heaven_serve {
        builder = builder.never(&settings.heaven_path);
    }
    if !settings.redirect_purposes.is_empty() {
        let purposes = purposes(&settings.redirect_purposes);
        builder =
            builder.purposes(purposes.map_err(|reason| loaded.wrong("redirect_purposes", reason))?);
    }
    for settings in &settings.rules {
        builder = builder.rule(rule(settings)?);
    }
    for settings in &settings.tags {
        builder = builder.x_robots_tag(tag_rule(settings)?);
    }
    Ok(builder)
}

fn rule(settings: &RuleSettings) -> Result<RuleBuilder, ConfigErrors> {
    let action = Action::from_word(&settings.action).ok_or_else(|| {
        let words = Action::ALL.iter().map(|action| action.as_str());
        settings.wrong("action", unknown_word("action", &settings.action, words))
    })?;
    let mut rule = Rule::builder(action)
        .name(&settings.name)
        .origin(&settings.origin);
    if let Some(paths) = &settings.paths {
        rule = rule.paths(paths);
    }
    if let Some(robots) = &settings.robots {
        rule = rule.robots(robots);
    }
    if let Some(words) = &settings.purposes {
        let purposes = purposes(words);
        rule = rule.purposes(purposes.map_err(|reason| settings.wrong("purposes", reason))?);
    }
    if let Some(operators) = &settings.operators {
        rule = rule.operators(operators);
    }
    if let Some(names) = &settings.sources {
        let sources = names.iter().map(|name| {
            let source = name.trim().parse::<Source>();
            source.map_err(|error| settings.wrong("sources", format!("{name:?}: {error}")))
        });
        rule = rule.sources(sources.collect::<Result<Vec<_>, _>>()?);
    }
    if let Some(unlisted) = settings.unlisted {
        rule = rule.unlisted(unlisted);
    }
    if let Some(url) = &settings.redirect_url {
        rule = rule.redirect_url(url);
    }
    Ok(rule)
}

fn tag_rule(settings: &TagSettings) -> Result<TagRuleBuilder, ConfigErrors> {
    let mut rule = TagRule::builder(&settings.value).origin(&settings.origin);
    if let Some(paths) = &settings.paths {
        rule = rule.paths(paths);
    }
    if let Some(robots) = &settings.robots {
        rule = rule.robots(robots);
    }
    if let Some(words) = &settings.purposes {
        let purposes = purposes(words);
        rule = rule.purposes(purposes.map_err(|reason| settings.wrong("purposes", reason))?);
    }
    Ok(rule)
}

fn purposes(words: &[String]) -> Result<Vec<Purpose>, String> {
    let parse = |word: &String| {
        Purpose::from_word(word.trim()).ok_or_else(|| {
            let words = Purpose::ALL.iter().map(|purpose| purpose.as_str());
            unknown_word("purpose", word, words)
        })
    };
    words.iter().map(parse).collect()
}

fn source_spec(settings: &SourceSettings, interval_days: u32) -> Result<SourceSpec, ConfigErrors> {
    let source: Source = settings
        .name
        .parse()
        .map_err(|error| wrong(settings, format!("name {:?}: {error}", settings.name)))?;
    if source.precedence() < 3 {
        return Err(wrong(
            settings,
            format!(
                "the name {source:?} is taken by the program itself",
                source = source.as_str()
            ),
        ));
    }
    let format = match settings.format.as_str() {
        "" => Format::WebRobotsDb,
        word => Format::from_word(word).ok_or_else(|| {
            let words = Format::ALL.iter().map(|format| format.as_str());
            wrong(settings, unknown_word("format", word, words))
        })?,
    };
    let spec = SourceSpec {
        source,
        url: settings.url.clone(),
        format,
        interval_days: settings.interval_days.unwrap_or(interval_days),
    };
    spec.check_url().map_err(|reason| wrong(settings, reason))?;
    Ok(spec)
}

fn wrong(source: &SourceSettings, message: String) -> ConfigErrors {
    ConfigErrors::from(crate::config::ConfigError {
        origin: source.origin.clone(),
        message,
    })
}

fn shown(loaded: &Loaded) -> Vec<Setting> {
    loaded
        .in_force()
        .map(|(key, found)| Setting {
            key: key.name.to_owned(),
            old_name: key.old_name.map(str::to_owned),
            value: shown_value(key.name, &found.value),
            origin: found.origin.clone(),
            help: key.help.replace('`', ""),
        })
        .collect()
}

/// Values as people read them, without passwords.
fn shown_value(key: &str, value: &Value) -> String {
    match value {
        Value::Text(text) if key == "database.url" => Store::shown_url(text),
        Value::Text(text) if key == "web_robots_db" => shown_url(text),
        Value::Text(text) => text.clone(),
        Value::List(items) => items.join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Loader, commented_configuration};

    fn error_of(text: &str) -> String {
        let loaded = Loader::new().file("c.toml", text).load().unwrap();
        assemble(&loaded).unwrap_err().to_string()
    }

    #[test]
    fn wrong_values_are_told_with_their_place() {
        for (text, expected) in [
            (
                "\nredirect_url = '//evil.example/'",
                "c.toml:2: redirect_url",
            ),
            ("filter_pattern = '/a/[b'", "c.toml:1: filter_pattern"),
            ("redirect_status = 304", "c.toml:1: redirect_status"),
            (
                "redirect_purposes = ['serch']",
                "c.toml:1: redirect_purposes: \"serch\" is no purpose; did you mean \"search\"?",
            ),
            (
                "[[source]]\nname='x'\nurl='u'\nformat='matamo'",
                "c.toml:1: \"matamo\" is no format; did you mean \"matomo\"?",
            ),
            (
                "web_robots_db = 'gopher://u:geheim@x'",
                "c.toml:1: web_robots_db: gopher://u:***@x cannot be read: gopher:",
            ),
            (
                "[[source]]\nname='x'\nurl='htp://x/'",
                "c.toml:1: htp://x/ cannot be read: htp: is none of http:, https: and file:",
            ),
            (
                "[[source]]\nname='manual'\nurl='u'",
                "c.toml:1: the name \"manual\" is taken",
            ),
            (
                "[[source]]\nname='x'\nurl='u'\n[[source]]\nname='x'\nurl='v'",
                "c.toml:4: two sources are named \"x\"",
            ),
        ] {
            let error = error_of(text);
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn the_example_that_init_writes_is_right() {
        let text = commented_configuration();
        let lines = text.lines().map(|line| match line.strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') => rest,
            _ => line,
        });
        let live = lines.collect::<Vec<_>>().join("\n");
        let loaded = Loader::new().file("c.toml", &live).load().unwrap();
        assert!(assemble(&loaded).is_ok());
        assert_eq!(policy(&loaded).unwrap().rules().count(), 1);
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
    fn a_database_is_shown_by_its_place() {
        for (url, place) in [
            ("postgres://u:p@h/db", "postgres://u@h:5432/db"),
            ("sqlite://a.db", "sqlite://a.db"),
            ("sqlite::memory:", "sqlite::memory:"),
        ] {
            assert_eq!(
                shown_value("database.url", &Value::Text(url.to_owned())),
                place
            );
        }
    }
}
