//! Import of `robots.json` from ai.robots.txt, an object with product tokens as keys.

use super::value::{Value, first_url, link_text};
use crate::registry::{
    Exclusion, Parsed, Purpose, Robot, Source,
    collect::{Collector, Numbers},
    text::{clean, cut, slug},
    useragent::{token, without_version},
};

/// Maximum number of bytes in a name.
const MAX_NAME_BYTES: usize = 200;
/// Minimum number of bytes for an operator's name to be considered prose.
const PROSE_BYTES: usize = 60;

/// Parses the JSON object. Each sufficiently specific key becomes a token.
pub(in crate::registry) fn read(bytes: &[u8], source: &Source) -> Result<Parsed, String> {
    let file = Value::from_json(bytes)?;
    let Value::Map(entries) = &file else {
        return Err(format!("expected a JSON object, found {}", file.shape()));
    };
    let mut collector = Collector::default();
    let mut numbers = Numbers::new();
    for (key, entry) in entries {
        let name = clean(key);
        if !matches!(entry, Value::Map(_)) {
            collector.skip(
                0,
                &name,
                format!("expected an object, found {}", entry.shape()),
            );
            continue;
        }
        match token(&name) {
            Ok(pattern) => {
                let mut robot = Robot::new(format!("ai:{}", slug(&name)), source.clone());
                robot.patterns = vec![pattern];
                describe(&mut robot, &name, entry);
                collector.push_numbered(robot, 0, &mut numbers);
            }
            Err(error) => collector.skip(0, &name, error.to_string()),
        }
    }
    Ok(collector.finish())
}

fn describe(robot: &mut Robot, name: &str, entry: &Value) {
    let operator = entry.field("operator").as_text();
    cut(name, MAX_NAME_BYTES).clone_into(&mut robot.name);
    name.clone_into(&mut robot.useragent);
    robot.details_url =
        first_url(operator).or_else(|| first_url(entry.field("description").as_text()));
    robot.operator = operator_name(operator);
    robot.product_token = Some(without_version(name).to_owned());
    robot.exclusion = Exclusion::from_value(entry.field("respect").as_text());
    robot.purpose = purpose(entry.field("function").as_text());
}

/// Returns the operator's name, unless the text is a sentence or a URL.
fn operator_name(text: &str) -> Option<String> {
    let name = clean(link_text(text));
    let says_nothing = name.is_empty()
        || name.len() > PROSE_BYTES
        || name.contains("://")
        || name.to_ascii_lowercase().starts_with("unclear")
        || name.to_ascii_lowercase().starts_with("unknown");
    (!says_nothing).then_some(name)
}

/// Returns the purpose for a description, which is the word for a purpose or contains terms that
/// the list uses.
fn purpose(function: &str) -> Purpose {
    // Files of other programs may contain the word for a purpose.
    if let Some(purpose) = Purpose::from_word(function.trim()) {
        return purpose;
    }
    let function = function.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| function.contains(word));
    if says(&["train", "scrap", "dataset", "data provider"]) {
        Purpose::AiTraining
    } else if says(&["search"]) {
        Purpose::AiSearch
    } else if says(&["assistant", "agent", "user"]) {
        Purpose::AiUser
    } else {
        Purpose::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Pattern, PatternKind};

    fn parsed(json: &str) -> Parsed {
        read(json.as_bytes(), &"ai".parse().unwrap()).unwrap()
    }

    #[test]
    fn keys_become_tokens_and_operators_details() {
        let parsed = parsed(
            r#"{"QuillBot": {"operator": "[Quill](https://quill.example/bot)", "respect": "[Yes](https://quill.example)",
                             "function": "AI Search Crawlers", "description": "See https://other.example"},
                "acme-ai": {"operator": "Unclear at this time.", "respect": "Unclear at this time.",
                            "function": "Scrapes data to train models.", "description": "More at https://acme.example/x."},
                "acme bot 1.0": {"operator": "Acme"}}"#,
        );
        let [quill, acme, last] = parsed.robots.as_slice() else {
            panic!("{parsed:?}")
        };
        assert_eq!(quill.id, "ai:quillbot");
        assert_eq!(
            quill.patterns,
            [Pattern::new(PatternKind::Token, "QuillBot")]
        );
        assert_eq!(
            quill.details_url.as_deref(),
            Some("https://quill.example/bot")
        );
        assert_eq!(quill.operator.as_deref(), Some("Quill"));
        assert_eq!(
            (quill.purpose, quill.exclusion),
            (Purpose::AiSearch, Exclusion::Yes)
        );
        assert_eq!(acme.details_url.as_deref(), Some("https://acme.example/x"));
        assert_eq!(
            (acme.operator.as_ref(), acme.exclusion),
            (None, Exclusion::Unknown)
        );
        assert_eq!(acme.purpose, Purpose::AiTraining);
        assert_eq!(
            last.patterns,
            [Pattern::new(PatternKind::Token, "acme bot")]
        );
    }

    #[test]
    fn a_key_that_is_too_general_is_skipped() {
        let parsed = parsed(r#"{"Operator": {}, "bot": {}, "Go": {}, "AcmeBot": {}, "Acme2": 7}"#);
        assert_eq!(parsed.robots.len(), 1);
        let skipped: Vec<_> = parsed
            .skipped
            .iter()
            .map(|skipped| skipped.what.as_str())
            .collect();
        assert_eq!(skipped, ["Operator", "bot", "Go", "Acme2"]);
    }

    #[test]
    fn keys_with_the_same_id_are_numbered() {
        let parsed = parsed(r#"{"Acme-AI": {}, "acme ai": {}, "Acme.AI": {}}"#);
        let ids: Vec<_> = parsed
            .robots
            .iter()
            .map(|robot| robot.id.as_str())
            .collect();
        assert_eq!(ids, ["ai:acme-ai", "ai:acme-ai-2", "ai:acme-ai-3"]);
    }
}
