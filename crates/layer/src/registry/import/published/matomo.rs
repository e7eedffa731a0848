//! Import of `regexes/bots.yml` from Matomo's device detector.

use serde_saphyr::{DuplicateKeyPolicy, Spanned};

use super::{value::Value, value::first_url};
use crate::registry::{
    InvalidPattern, Parsed, Pattern, PatternKind, Purpose, Robot, Source,
    collect::{Collector, Numbers},
    text::{clean, cut, decode, slug},
};

/// The left boundary that Matomo's matcher prepends to every expression.
const BOUNDARY: &str = "(?i)(?:^|[^A-Z0-9_-]|[^A-Z0-9-]_|sprd-|MZ-)(?:";
/// Maximum number of bytes in a name.
const MAX_NAME_BYTES: usize = 200;

/// Matomo's categories of robots, with the corresponding purposes.
const CATEGORIES: &[(&str, Purpose)] = &[
    ("Search bot", Purpose::Search),
    ("Feed Fetcher", Purpose::Feed),
    ("Feed Parser", Purpose::Feed),
    ("Feed Reader", Purpose::Feed),
    ("Read-it-later Service", Purpose::Archive),
    ("Site Monitor", Purpose::Monitoring),
    ("Network Monitor", Purpose::Monitoring),
    ("Social Media Agent", Purpose::Preview),
    ("Security Checker", Purpose::Scanner),
    ("Security search bot", Purpose::Scanner),
    ("AI Assistant", Purpose::AiUser),
    ("AI Agent", Purpose::AiUser),
    ("AI Data Scraper", Purpose::AiTraining),
    ("AI Search Crawler", Purpose::AiSearch),
];

/// Parses the list. Expressions with look-around or backreferences are skipped.
pub(in crate::registry) fn read(bytes: &[u8], source: &Source) -> Result<Parsed, String> {
    let text = decode(bytes);
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::FirstWins,
    };
    let entries: Vec<Spanned<Value>> = serde_saphyr::from_str_with_options(&text, options)
        .map_err(|error| first_line(&error.to_string()))?;
    let mut collector = Collector::default();
    let mut numbers = Numbers::new();
    for entry in &entries {
        let line = usize::try_from(entry.defined.line()).unwrap_or(0);
        let regex = entry.value.field("regex").as_text();
        let name = clean(entry.value.field("name").as_text());
        let what = if name.is_empty() { regex } else { &name };
        if regex.is_empty() {
            collector.skip(line, what, "no regex");
            continue;
        }
        match bounded(regex) {
            Ok(pattern) => {
                let robot = robot(pattern, what, &entry.value, source);
                collector.push_numbered(robot, line, &mut numbers);
            }
            Err(error) => collector.skip(line, what, error.to_string()),
        }
    }
    Ok(collector.finish())
}

/// Creates a pattern by prepending the boundary to an expression, which must itself be valid.
fn bounded(regex: &str) -> Result<Pattern, InvalidPattern> {
    // The expression is checked separately: `a)|(b` would end the group and open another group.
    Pattern::stated(PatternKind::Regex, regex)?;
    Pattern::stated(PatternKind::Regex, &format!("{BOUNDARY}{regex})"))
}

fn robot(pattern: Pattern, name: &str, entry: &Value, source: &Source) -> Robot {
    let slug = slug(name);
    let id = if slug.is_empty() { "robot" } else { &slug };
    let mut robot = Robot::new(format!("matomo:{id}"), source.clone());
    let producer = entry.field("producer");
    cut(name, MAX_NAME_BYTES)
        .trim_end()
        .clone_into(&mut robot.name);
    robot.details_url = first_url(entry.field("url").as_text())
        .or_else(|| first_url(producer.field("url").as_text()));
    robot.operator = Some(clean(producer.field("name").as_text())).filter(|name| !name.is_empty());
    let category = entry.field("category").as_text();
    robot.purpose = CATEGORIES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(category))
        .map(|&(_, purpose)| purpose)
        .or_else(|| Purpose::from_word(category))
        .unwrap_or_default();
    robot.useragent = clean(entry.field("regex").as_text());
    robot.patterns = vec![pattern];
    robot
}

fn first_line(message: &str) -> String {
    let line = message.lines().find(|line| !line.trim().is_empty());
    cut(&clean(line.unwrap_or("not YAML")), 200).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::compile_regex;

    fn parsed(yaml: &str) -> Parsed {
        read(yaml.as_bytes(), &"matomo".parse().unwrap()).unwrap()
    }

    const FILE: &str = "\
# A comment
- regex: 'Acme(-Image|-Video)?Bot'
  name: 'Acme Bot'
  category: 'Search bot'
  url: ''
  producer:
    name: 'Acme, Inc.'
    url: 'https://acme.example'

- regex: '(?<!HTC)[ _]Quill/'
  name: 'Quill'
- regex: 'Tundra/[0-9]'
  name: 360
  url: 'http://tundra.example/'
- name: 'No regex'
- regex: 'acme'
  regex: 'other'
  name: 'Acme-Bot'
";

    #[test]
    fn expressions_get_the_boundary_and_ignore_case() {
        let parsed = parsed(FILE);
        let acme = &parsed.robots[0];
        assert_eq!(
            (acme.id.as_str(), acme.name.as_str()),
            ("matomo:acme-bot", "Acme Bot")
        );
        assert_eq!(acme.details_url.as_deref(), Some("https://acme.example"));
        assert_eq!(acme.operator.as_deref(), Some("Acme, Inc."));
        assert_eq!(acme.purpose, Purpose::Search);
        let regex = compile_regex(&acme.patterns[0].text).unwrap();
        assert!(regex.is_match(b"Mozilla/5.0 (compatible; ACME-imagebot/2.0)"));
        assert!(regex.is_match(b"acmebot"));
        assert!(!regex.is_match(b"Mozilla/5.0 (compatible; NotAcmeBot/2.0)"));
        assert!(!regex.is_match(b"my-acmebot"));
    }

    #[test]
    fn unusable_entries_are_reported_with_their_line() {
        let parsed = parsed(FILE);
        let ids: Vec<_> = parsed
            .robots
            .iter()
            .map(|robot| robot.id.as_str())
            .collect();
        assert_eq!(ids, ["matomo:acme-bot", "matomo:360", "matomo:acme-bot-2"]);
        let [look, missing] = parsed.skipped.as_slice() else {
            panic!("{:?}", parsed.skipped)
        };
        assert_eq!((look.line, look.what.as_str()), (10, "Quill"));
        assert!(look.reason.contains("look-around"), "{}", look.reason);
        assert_eq!((missing.line, missing.reason.as_str()), (15, "no regex"));
        assert_eq!(
            parsed.robots[2].useragent, "acme",
            "the first of two keys wins"
        );
    }

    #[test]
    fn a_file_that_is_not_a_list_is_rejected_in_one_line() {
        for yaml in ["just text", "key: value", "- [unclosed", "- &a [*a, *a]"] {
            let refused = read(yaml.as_bytes(), &Source::bundled());
            if let Err(error) = refused {
                assert!(!error.is_empty() && !error.contains('\n'), "{error}");
            } else {
                assert!(refused.unwrap().robots.is_empty(), "{yaml}");
            }
        }
        assert!(read(b"key: value", &Source::bundled()).is_err());
    }
}
