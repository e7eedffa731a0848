//! Converts live rules to rules of the configuration file.

use std::fmt::Write as _;

use super::{LiveAction, RuleTarget, StoredRule, definition::EVERY_PATH};

/// Returns the rules as `[[rule]]` tables, or as `[[site.rule]]` tables if they are limited to one
/// site.
///
/// Expiries become comments, because configured rules do not expire. The tables of a site belong
/// below the site's `[[site]]` table.
pub fn to_toml(rules: &[StoredRule], end: impl Fn(i64) -> String) -> String {
    let mut text = String::new();
    let (of_all, of_sites): (Vec<_>, Vec<_>) =
        rules.iter().partition(|kept| kept.rule.site.is_none());
    for kept in of_all {
        table("rule", kept, &end, &mut text);
    }
    for kept in of_sites {
        table("site.rule", kept, &end, &mut text);
    }
    text
}

fn table(name: &str, kept: &StoredRule, end: &impl Fn(i64) -> String, text: &mut String) {
    let rule = &kept.rule;
    let end = kept.ends_ms.map_or("never".to_owned(), end);
    let mut line = |text_of_line: String| {
        // Writing to a `String` never fails.
        let _ = writeln!(text, "{text_of_line}");
    };
    line(format!("# {}, ends: {end}", comment(&kept.origin())));
    if let Some(site) = &rule.site {
        line(format!("# below [[site]] name = {}", quoted(site)));
    }
    line(format!("[[{name}]]"));
    line(format!(
        "name = {}",
        quoted(kept.name.as_deref().unwrap_or(&kept.label()))
    ));
    line(format!("action = \"{}\"", rule.action.action()));
    match rule.action {
        LiveAction::Pass | LiveAction::Redirect => {}
        LiveAction::Refuse { status } => line(format!("status = {status}")),
        LiveAction::Slow {
            requests,
            per_seconds,
        } => {
            line(format!("requests = {requests}"));
            line(format!("per_seconds = {per_seconds}"));
        }
    }
    let path = rule.path.as_deref().unwrap_or(EVERY_PATH);
    line(format!("path = {}", quoted(path)));
    if let Some(query) = &rule.query {
        let items: Vec<_> = query.split_whitespace().map(quoted).collect();
        line(format!("query = [{}]", items.join(", ")));
    }
    line(match &rule.about {
        RuleTarget::Robot(id) => format!("robots = [{}]", quoted(id)),
        RuleTarget::Operator(operator) => format!("operators = [{}]", quoted(operator)),
        RuleTarget::Purpose(purpose) => format!("purposes = [\"{purpose}\"]"),
        RuleTarget::Unlisted
        | RuleTarget::Nameless
        | RuleTarget::People
        | RuleTarget::Everybody => {
            let (_, word) = rule.about.key();
            format!("visitors = \"{word}\"")
        }
    });
    if let Some(networks) = &rule.addresses {
        let all: Vec<_> = networks.as_str().split(", ").map(quoted).collect();
        line(format!("addresses = [{}]", all.join(", ")));
    }
    if let Some(glob) = &rule.user_agent {
        line(format!("user_agents = [{}]", quoted(glob)));
    }
    if rule.is_for_people {
        line("people = true".to_owned());
    }
    if rule.is_for_verified {
        line("verdicts = \"verified\"".to_owned());
    }
    line(String::new());
}

/// Quotes a text that contains no control characters; for such a text, JSON and TOML quoting are
/// the same.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a text with line breaks removed, for use in a comment.
fn comment(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
