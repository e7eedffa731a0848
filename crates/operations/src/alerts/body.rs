//! Message bodies in the formats that receivers expect.

use serde_json::{Value, json};
use url::Url;

use super::{Alert, AlertFormat, Event, Message};

/// Names of the placeholders that a template may contain.
const PLACEHOLDERS: [&str; 7] = ["name", "on", "event", "title", "text", "time", "since"];

/// A template of a message body: JSON that contains placeholders such as `{title}` in its strings.
///
/// The template is parsed as JSON before the placeholders are filled in, so the result has the same
/// JSON structure regardless of text from visitors.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Template(Value);

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// Returns an error message if the text is not JSON or contains an unknown placeholder.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| format!("the template is not valid JSON: {error}"))?;
        check(&value)?;
        Ok(Self(value))
    }

    fn fill(&self, message: &Message) -> Value {
        fill(&self.0, message)
    }
}

/// Returns the body of a message, and the target URL if it differs from the URL of the alert.
pub(super) fn body(alert: &Alert, url: &Url, message: &Message) -> (Value, Option<Url>) {
    if let Some(template) = &alert.template {
        return (template.fill(message), None);
    }
    match alert.format {
        AlertFormat::Json => (own(message), None),
        AlertFormat::Slack => (json!({ "text": slack(message) }), None),
        AlertFormat::Matrix => (
            json!({ "text": plain(message), "username": "robot-detection" }),
            None,
        ),
        AlertFormat::Ntfy => ntfy(url, message),
    }
}

fn own(message: &Message) -> Value {
    let value = |name| message.placeholder(name);
    json!({
        "name": message.name,
        "on": message.watch,
        "event": message.event.as_str(),
        "title": message.title,
        "text": message.text(),
        "findings": message.findings,
        "time": value("time"),
        "since": value("since"),
    })
}

fn plain(message: &Message) -> String {
    format!("{} ({})\n{}", message.title, message.name, message.text())
}

fn slack(message: &Message) -> String {
    // In Slack's text, these characters start links, mentions and entities; a robot could be named
    // `<!channel>`.
    let text = plain(message);
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Returns the JSON message for ntfy, which accepts JSON only at the server's root URL.
fn ntfy(url: &Url, message: &Message) -> (Value, Option<Url>) {
    let mut root = url.clone();
    let path = url.path().trim_end_matches('/');
    let (above, topic) = path.rsplit_once('/').unwrap_or(("", path));
    root.set_path(&format!("{above}/"));
    let (tag, priority) = match message.event {
        Event::Begun | Event::Lasting => ("warning", 4),
        Event::Ended => ("white_check_mark", 3),
        Event::Test => ("robot", 3),
    };
    let body = json!({
        "topic": topic,
        "title": format!("{} ({})", message.title, message.name),
        "message": message.text(),
        "tags": [tag],
        "priority": priority,
    });
    (body, Some(root))
}

fn fill(value: &Value, message: &Message) -> Value {
    match value {
        Value::String(text) => {
            let mut filled = String::with_capacity(text.len());
            for part in parts(text) {
                match part {
                    Part::Text(text) => filled.push_str(text),
                    Part::Placeholder(name) => {
                        filled.push_str(&message.placeholder(name).unwrap_or_default());
                    }
                }
            }
            Value::String(filled)
        }
        Value::Array(items) => items.iter().map(|item| fill(item, message)).collect(),
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(key, value)| (key.clone(), fill(value, message)))
                .collect()
        }
        other => other.clone(),
    }
}

fn check(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) => {
            let unknown = parts(text).into_iter().find_map(|part| match part {
                Part::Placeholder(name) if !PLACEHOLDERS.contains(&name) => Some(name),
                _ => None,
            });
            unknown.map_or(Ok(()), |name| {
                let known = PLACEHOLDERS.map(|name| format!("{{{name}}}")).join(", ");
                Err(format!(
                    "unknown placeholder {{{name}}}; the placeholders are {known}"
                ))
            })
        }
        Value::Array(items) => items.iter().try_for_each(check),
        Value::Object(members) => members.values().try_for_each(check),
        _ => Ok(()),
    }
}

enum Part<'t> {
    Text(&'t str),
    Placeholder(&'t str),
}

/// Splits a text at its placeholders, which consist of lowercase letters in braces.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let name = after.split_once('}').map(|(name, _)| name);
        let name = name.filter(|name| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        });
        parts.push(Part::Text(before));
        if let Some(name) = name {
            parts.push(Part::Placeholder(name));
            rest = after.get(name.len() + 1..).unwrap_or_default();
        } else {
            parts.push(Part::Text("{"));
            rest = after;
        }
    }
    parts.push(Part::Text(rest));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        Message {
            name: "a".to_owned(),
            watch: "impostor",
            event: Event::Begun,
            title: "Impostors".to_owned(),
            findings: vec!["\"},\"x\":{\"<!channel>".to_owned(), "{name}".to_owned()],
            at_ms: 0,
            since_ms: 0,
        }
    }

    #[test]
    fn filled_template_keeps_its_json_shape() {
        let text = r#"{"a": ["{title}: {text}", 1, "{", "{}", "{ name }"], "{name}": null}"#;
        let filled = Template::parse(text).unwrap().fill(&message());
        let expected = "Impostors: \"},\"x\":{\"<!channel>\n{name}";
        assert_eq!(filled["a"][0], expected);
        assert_eq!(filled["a"][3], "{}");
        assert_eq!(filled["a"][4], "{ name }");
        assert_eq!(filled.as_object().unwrap().len(), 2);
    }

    #[test]
    fn wrong_template_is_reported() {
        for (text, words) in [
            ("{\"a\": {text}}", "not valid JSON"),
            ("", "not valid JSON"),
            (r#"{"a": "{tekst}"}"#, "unknown placeholder {tekst}"),
        ] {
            let told = Template::parse(text).unwrap_err();
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn slack_messages_contain_no_mentions() {
        let text = slack(&message());
        assert!(!text.contains('<'), "{text}");
        assert!(text.contains("&lt;!channel&gt;"), "{text}");
    }

    #[test]
    fn ntfy_messages_go_to_the_root_with_a_topic() {
        for (url, root, topic) in [
            (
                "https://ntfy.example/robots",
                "https://ntfy.example/",
                "robots",
            ),
            ("https://h/ntfy/robots/", "https://h/ntfy/", "robots"),
        ] {
            let (body, to) = ntfy(&url.parse().unwrap(), &message());
            assert_eq!(to.unwrap().as_str(), root);
            assert_eq!(body["topic"], topic);
        }
    }
}
