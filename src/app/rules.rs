//! From `[[rule]]` and `[[x_robots_tag]]` to rules of the policy.

use std::time::Duration;

use robot_detection_site_robot::spelling::unknown;

use crate::config::{self, ActionHelp, ConfigErrors, RuleSettings, TagSettings, WhenSettings};
use crate::detect::{Kind, Verdict};
use crate::policy::{Action, Rule, RuleBuilder, TagRule, TagRuleBuilder, When};
use crate::registry::{Format, Purpose, Source};

pub(super) fn rule(settings: &RuleSettings) -> Result<RuleBuilder, ConfigErrors> {
    let action = Action::from_word(&settings.action).ok_or_else(|| {
        let words = Action::ALL.iter().map(|action| action.as_str());
        settings.wrong("action", unknown("action", &settings.action, words))
    })?;
    let when = when(&settings.when).map_err(|(key, reason)| settings.wrong(key, reason))?;
    let mut rule = Rule::builder(action)
        .name(&settings.name)
        .origin(&settings.origin)
        .when(when);
    if let Some(url) = &settings.redirect_url {
        rule = rule.redirect_url(url);
    }
    if let Some(status) = settings.status {
        rule = rule.status(status);
    }
    if let Some(text) = &settings.text {
        rule = rule.text(text);
    }
    if let Some(requests) = settings.requests {
        rule = rule.requests(requests);
    }
    if let Some(seconds) = settings.per_seconds {
        rule = rule.per(Duration::from_secs(seconds.into()));
    }
    if let Some(burst) = settings.burst {
        rule = rule.burst(burst);
    }
    if let Some(milliseconds) = settings.wait_milliseconds {
        rule = rule.wait(Duration::from_millis(milliseconds.into()));
    }
    Ok(rule)
}

/// Returns a configuration file in which every key stands with its help and default, commented out.
#[must_use]
pub fn commented_configuration() -> String {
    let help = |action: &Action| {
        let words = action.words();
        ActionHelp {
            word: words.word,
            lines: words.help,
            is_of_any_method: !words.is_for_redirected_methods,
        }
    };
    let actions: Vec<_> = Action::ALL.iter().map(help).collect();
    let formats: Vec<_> = Format::ALL.iter().map(|format| format.as_str()).collect();
    config::commented_configuration(&actions, &formats)
}

pub(super) fn tag_rule(settings: &TagSettings) -> Result<TagRuleBuilder, ConfigErrors> {
    let when = when(&settings.when).map_err(|(key, reason)| settings.wrong(key, reason))?;
    Ok(TagRule::builder(&settings.value)
        .origin(&settings.origin)
        .when(when))
}

pub(super) fn purposes(words: &[String]) -> Result<Vec<Purpose>, String> {
    let parse = |word: &String| match Purpose::from_word(word.trim()) {
        Some(Purpose::Shared) => {
            let reason = "shared is no purpose of robots: it marks User-Agents that stand for many people, which rules name as visitors = [\"shared\"]";
            Err(reason.to_owned())
        }
        Some(purpose) => Ok(purpose),
        None => {
            let words = Purpose::ROBOTS.iter().map(|purpose| purpose.as_str());
            Err(unknown("purpose", word, words))
        }
    };
    words.iter().map(parse).collect()
}

fn verdicts(words: &[String]) -> Result<Vec<Verdict>, String> {
    let parse = |word: &String| {
        Verdict::from_word(word.trim()).ok_or_else(|| {
            let words = Verdict::ALL.iter().map(|verdict| verdict.as_str());
            unknown("verdict", word, words)
        })
    };
    words.iter().map(parse).collect()
}

/// Reads kinds of visitors; `robots` stands for all that are no people, `all` for everybody.
///
/// Of people a rule is about those alone that share a User-Agent: a person always passes.
fn visitors(words: &[String]) -> Result<Vec<Kind>, String> {
    let mut kinds = Vec::new();
    for word in words {
        match word.trim() {
            "robots" => kinds.extend(Kind::ROBOTS),
            "people" => kinds.push(Kind::Shared),
            "all" => kinds.extend(Kind::ROBOTS.iter().chain([&Kind::Shared])),
            word => match Kind::from_word(word) {
                Some(Kind::Person) => {
                    return Err(
                        "a person always passes; of people, rules are about \"shared\" User-Agents"
                            .to_owned(),
                    );
                }
                Some(kind) => kinds.push(kind),
                None => {
                    let words = Kind::ROBOTS.iter().chain([&Kind::Shared]);
                    let words = words.map(|kind| kind.as_str());
                    let groups = ["robots", "people", "all"];
                    return Err(unknown("visitor", word, words.chain(groups)));
                }
            },
        }
    }
    Ok(kinds)
}

/// Reads the conditions that every kind of rule has; the error is a key, and what is wrong.
fn when(settings: &WhenSettings) -> Result<When, (&'static str, String)> {
    let mut when = When::new();
    if let Some(paths) = &settings.paths {
        when = when.paths(paths);
    }
    if let Some(methods) = &settings.methods {
        when = when.methods(methods);
    }
    if let Some(hosts) = &settings.hosts {
        when = when.hosts(hosts);
    }
    if let Some(robots) = &settings.robots {
        when = when.robots(robots);
    }
    if let Some(words) = &settings.purposes {
        when = when.purposes(purposes(words).map_err(|reason| ("purposes", reason))?);
    }
    if let Some(operators) = &settings.operators {
        when = when.operators(operators);
    }
    if let Some(names) = &settings.sources {
        let sources = names.iter().map(|name| {
            let source = name.trim().parse::<Source>();
            source.map_err(|error| ("sources", format!("{name:?}: {error}")))
        });
        when = when.sources(sources.collect::<Result<Vec<_>, _>>()?);
    }
    if let Some(unlisted) = settings.unlisted {
        when = when.unlisted(unlisted);
    }
    if let Some(words) = &settings.visitors {
        when = when.visitors(visitors(words).map_err(|reason| ("visitors", reason))?);
    }
    if let Some(words) = &settings.verdicts {
        when = when.verdicts(verdicts(words).map_err(|reason| ("verdicts", reason))?);
    }
    Ok(when)
}
