//! Import of `crawler-user-agents.json`, an array of objects that each contain a regular
//! expression.

use super::{value::Value, value::first_url};
use crate::registry::{
    Parsed, Pattern, PatternKind, Purpose, Robot, Source,
    collect::{Collector, Numbers},
    text::{clean, cut, slug},
};

/// Maximum number of bytes in a name.
const MAX_NAME_BYTES: usize = 200;

/// Minimum number of bytes for a literal part of an expression to be considered a name.
const LONG_RUN: usize = 4;

/// The tags that differ from the word for the purpose.
const TAGS: &[(&str, Purpose)] = &[
    ("search-engine", Purpose::Search),
    ("ai-crawler", Purpose::AiTraining),
    ("archiver", Purpose::Archive),
    ("feed-reader", Purpose::Feed),
    ("http-library", Purpose::Library),
    ("social-preview", Purpose::Preview),
    ("uptime-monitor", Purpose::Monitoring),
    ("seo-tool", Purpose::Seo),
];

/// Parses the list. The anchors and the case of the expressions are preserved.
pub(in crate::registry) fn read(bytes: &[u8], source: &Source) -> Result<Parsed, String> {
    let file = Value::from_json(bytes)?;
    let Value::List(entries) = &file else {
        return Err(format!("expected a JSON array, found {}", file.shape()));
    };
    let mut collector = Collector::default();
    let mut numbers = Numbers::new();
    for (number, entry) in (1_usize..).zip(entries) {
        let text = entry.field("pattern").as_text();
        if text.is_empty() {
            collector.skip(0, &format!("entry {number}"), "no pattern");
            continue;
        }
        match Pattern::stated(PatternKind::Regex, text) {
            Ok(pattern) => {
                let robot = robot(pattern, entry, source);
                collector.push_numbered(robot, 0, &mut numbers);
            }
            Err(error) => collector.skip(0, text, error.to_string()),
        }
    }
    Ok(collector.finish())
}

fn robot(pattern: Pattern, entry: &Value, source: &Source) -> Robot {
    let name = clean(&literal(&pattern.text));
    let name = cut(&name, MAX_NAME_BYTES).trim_end().to_owned();
    let slug = slug(&name);
    let id = if slug.is_empty() {
        "cua:robot".to_owned()
    } else {
        format!("cua:{slug}")
    };
    let mut robot = Robot::new(id, source.clone());
    if !name.is_empty() {
        robot.name = name;
    }
    robot.details_url = first_url(entry.field("url").as_text());
    robot.purpose = entry
        .field("tags")
        .items()
        .iter()
        .find_map(|tag| purpose(tag.as_text()))
        .unwrap_or_default();
    robot.useragent = clean(&pattern.text);
    robot.patterns = vec![pattern];
    robot
}

fn purpose(tag: &str) -> Option<Purpose> {
    TAGS.iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(tag))
        .map(|&(_, purpose)| purpose)
        .or_else(|| Purpose::from_word(tag))
        .filter(|&purpose| purpose != Purpose::Unknown)
}

/// Returns the first long literal part of an expression or, if no part is long, the longest literal
/// part.
fn literal(regex: &str) -> String {
    let mut longest = String::new();
    let mut run = String::new();
    let mut end = |run: &mut String| {
        if longest.len() < LONG_RUN && run.len() > longest.len() {
            longest.clone_from(run);
        }
        run.clear();
    };
    let mut chars = regex.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped) if !escaped.is_ascii_alphanumeric() => run.push(escaped),
                _ => end(&mut run),
            },
            '[' => {
                let class: String = chars.by_ref().take_while(|&c| c != ']').collect();
                match one_letter(&class) {
                    Some(letter) => run.push(letter),
                    None => end(&mut run),
                }
            }
            '?' | '*' | '{' => {
                // The preceding character is optional, so it is not part of the name.
                run.pop();
                end(&mut run);
                if c == '{' {
                    chars.by_ref().find(|&c| c == '}');
                }
            }
            '^' | '$' | '.' | '+' | '(' | ')' | '|' => end(&mut run),
            _ => run.push(c),
        }
    }
    end(&mut run);
    longest
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_owned()
}

/// Returns the letter of a class that contains only a single letter in both cases, such as `wW`.
fn one_letter(class: &str) -> Option<char> {
    let mut letters = class.chars();
    let (first, second) = (letters.next()?, letters.next()?);
    (letters.next().is_none() && first.eq_ignore_ascii_case(&second)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(json: &str) -> Parsed {
        read(json.as_bytes(), &"cua".parse().unwrap()).unwrap()
    }

    #[test]
    fn expressions_keep_anchors_and_case() {
        let parsed = parsed(
            r#"[{"pattern": "^AcmeBot\\/", "url": "https://acme.example/bot", "instances": [], "tags": ["x", "search-engine"]},
                {"pattern": "[qQ]uill(Bot|-Image)?", "url": 5}]"#,
        );
        let acme = &parsed.robots[0];
        assert_eq!(
            (acme.id.as_str(), acme.name.as_str()),
            ("cua:acmebot", "AcmeBot")
        );
        assert_eq!(
            acme.patterns,
            [Pattern::new(PatternKind::Regex, "^AcmeBot\\/")]
        );
        assert_eq!(
            acme.details_url.as_deref(),
            Some("https://acme.example/bot")
        );
        assert_eq!(acme.purpose, Purpose::Search);
        assert_eq!(parsed.robots[1].name, "quill");
        assert_eq!(parsed.robots[1].details_url, None);
    }

    #[test]
    fn an_invalid_entry_is_skipped_with_a_reason() {
        let parsed = parsed(
            r#"[{"pattern": "Foo(?=Bar)"}, {"pattern": ".*"}, {"url": "x"}, 7, {"pattern": ["x"]}, {"pattern": "AcmeBot"}]"#,
        );
        assert_eq!(parsed.robots.len(), 1);
        assert_eq!(parsed.records, 6);
        let reasons: Vec<_> = parsed
            .skipped
            .iter()
            .map(|skipped| skipped.reason.as_str())
            .collect();
        assert!(reasons[0].contains("look-around"), "{reasons:?}");
        assert!(reasons[1].contains("too general"), "{reasons:?}");
        assert_eq!(&reasons[2..], ["no pattern"; 3]);
    }

    #[test]
    fn names_with_the_same_id_are_numbered() {
        let parsed =
            parsed(r#"[{"pattern": "acme\\/"}, {"pattern": "acme-"}, {"pattern": "^acme$"}]"#);
        let ids: Vec<_> = parsed
            .robots
            .iter()
            .map(|robot| robot.id.as_str())
            .collect();
        assert_eq!(ids, ["cua:acme", "cua:acme-2", "cua:acme-3"]);
    }

    #[test]
    fn a_file_that_is_not_an_array_is_rejected() {
        let refused = |json: &str| read(json.as_bytes(), &Source::bundled()).unwrap_err();
        assert_eq!(refused("{}"), "expected a JSON array, found an object");
        assert!(refused("[{\"pattern\": \"x").contains("EOF"), "truncated");
        assert!(refused(&"[".repeat(100_000)).contains("recursion"), "deep");
    }
}
