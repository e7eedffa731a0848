//! Plain English: turns of phrase that technical English does not use are found in what people read.

use std::{fs, path::Path};

use regex::Regex;

/// Turn of phrase.
struct Phrase {
    name: &'static str,
    pattern: &'static str,
    /// Text right after a match that makes it right English.
    unless_followed_by: &'static str,
}

const fn phrase(name: &'static str, pattern: &'static str) -> Phrase {
    Phrase {
        name,
        pattern,
        unless_followed_by: "",
    }
}

const PHRASES: &[Phrase] = &[
    Phrase {
        name: "a program tells",
        pattern: r"\b(?:is|are|was|were|be|been) told\b|\btells?\b",
        unless_followed_by: r" (?:you|me|us|cargo|rustc|nginx|clippy|the (?:compiler|server|proxy|client|browser|kernel))\b",
    },
    phrase(
        "a program says",
        r"\b(?:it|that|which|program|file|setting|server|run|page|rule|list|log) says?\b|\bsays so\b|\bis said\b|\bas it says\b",
    ),
    phrase("whoever", r"\bwho(?:m)?(?:ever|soever)\b"),
    phrase(
        "who as a noun",
        r"(?:^|[.:;(] ?|\b(?:of|by|for|from|to|than|what|and|or|as) )who(?:m|se)?\b",
    ),
    Phrase {
        name: "somebody",
        pattern: r"\b(?:some|no|every|any)body\b",
        unless_followed_by: "`|\"| user",
    },
    phrase("he", r"\b(?:he|his|him|himself)\b"),
    Phrase {
        name: "what … as a noun",
        pattern: r"(?:^|[.:;] )What\b|\b(?:of|by|for|from|to|with|in|on|than|and|as|see|returns|is|are) what (?:is|are|was|were|has|have|it|they|comes|becomes|stands|does|did)\b",
        unless_followed_by: "'s| is (?:it|the|a|robot)\\b[^.]*\\?",
    },
    phrase(
        "comes of",
        r"\b(?:comes?|becomes?|came|became|done with) of\b|\bwhat (?:is|was) (?:done|made) (?:with|of) (?:it|them)\b",
    ),
    phrase(
        "is none",
        r"\b(?:is|are|was|were) none\b|\bthere (?:is|are) none\b",
    ),
    phrase(
        "anew",
        r"\banew\b|\bbeside\b|\bfor want of\b|\bin place of\b|[^,] but for\b",
    ),
    phrase(
        "is asked for",
        r"\b(?:is|are|was|were) asked (?:for|of)\b|\bthat (?:is|are|was|were) (?:meant|wanted|about)\b",
    ),
    phrase(
        "where there",
        r"\b[Ww]here (?:there|that|nobody|somebody|none|nothing|one)\b",
    ),
    phrase("of its own", r"\bof (?:its|his|their|one's) own\b"),
    phrase(
        "stands",
        r"\b(?:stands? (?:there|in|for itself|beside|behind|before|above|alone)|goes (?:by|on|before)|holds? of|holds? up|keeps? (?:to|out))\b",
    ),
    phrase("those who", r"\bthose (?:who|of|which)\b"),
];

/// Names of types that are participles or odd nouns.
const TYPE_NAMES: &str = r"\b(?:struct|enum|trait|type)\s+(Told|Asked|Found|Known|Seen|Served|Judged|Wanted|Settled|Said|Handed|Trapped|Kept|Ran|Made|Own|Gone|Meant|Given|Taken|Led|Held|Met|Shown|Put|Sent|Left|Lost|Done|Come|Came|Misdescribed|Asker|Presser|Aim)\b";

/// Right English that a pattern finds, with the reason; at most 60.
const RIGHT: &[(&str, &str)] = &[
    ("those of", "stands for a noun of the same sentence"),
    ("there is none", "short for a noun of the same sentence"),
    ("there are none", "short for a noun of the same sentence"),
    ("there was none", "short for a noun of the same sentence"),
    ("is none of", "excludes all listed values"),
    ("a group of their own", "the term of RFC 9309"),
    ("a group of its own", "the term of RFC 9309"),
    ("or whose page the rule", "relative pronoun"),
    ("and whose links", "relative pronoun"),
    ("whose file permissions", "relative pronoun on a new line"),
    ("whose type has no value", "relative pronoun on a new line"),
    ("row.who()", "code of a template"),
    ("Calls `tell`", "name of a parameter"),
    ("URLs of its own host", "`own` excludes other hosts"),
    ("forty lighthouses", "page of an example site"),
    ("Bridges that nobody crosses", "page of an example site"),
    ("what the sea leaves", "page of a fixture"),
    ("A preface that says", "page of a fixture"),
    ("\"what\", \"whoever\"", "words to avoid"),
    ("**Does it stand alone?**", "rule about texts"),
    ("Programs do not *tell", "words to avoid"),
];

/// Folders and files that people read.
const READ: &[&str] = &[
    "src",
    "crates",
    "templates",
    "tests",
    "examples",
    "benches",
    "fuzz",
    "docs",
    "packaging",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
];

/// Content of the demonstration site, data, and this table.
const NOT_READ: &[&str] = &[
    "target",
    "tests/data",
    "src/app/server/demo",
    "templates/demo",
    "tests/it/language.rs",
];

fn is(name: &str, extension: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|found| found == extension)
}

/// Calls a function with each file, its path relative to the root.
fn each_file(path: &Path, visit: &mut impl FnMut(&str, &str)) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = path.strip_prefix(root).unwrap().display().to_string();
    if NOT_READ
        .iter()
        .any(|skipped| name.ends_with(skipped) || name == *skipped)
    {
        return;
    }
    if path.is_dir() {
        let mut entries: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        for entry in entries {
            each_file(&entry, visit);
        }
    } else if ["rs", "html", "md"]
        .iter()
        .any(|known| name.ends_with(&format!(".{known}")))
        || name.starts_with("templates/proxy_config")
    {
        visit(&name, &fs::read_to_string(path).unwrap());
    }
}

/// Returns the texts of a file that people read, each with the number of its line.
fn texts(name: &str, text: &str) -> Vec<(usize, String)> {
    let string = Regex::new(r#""((?:[^"\\]|\\.){12,})""#).unwrap();
    let words = Regex::new(r"[a-z]{3} [a-z]{2}").unwrap();
    let markup = Regex::new(r"\{%.*?%\}|\{#.*?#\}|<[^>]*>").unwrap();
    let is_test = name.starts_with("tests/") || name.contains("/tests");
    let mut found = Vec::new();
    let mut is_code = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if is(name, "rs") {
            if line.starts_with("//") {
                found.push((
                    number,
                    line.trim_start_matches(['/', '!']).trim().to_owned(),
                ));
            } else if !is_test {
                let strings = string.captures_iter(line).map(|found| found[1].to_owned());
                found.extend(
                    strings
                        .filter(|text| words.is_match(text))
                        .map(|text| (number, text)),
                );
            }
        } else if is(name, "md") {
            if line.starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                found.push((number, line.to_owned()));
            }
        } else {
            found.push((number, markup.replace_all(line, " ").trim().to_owned()));
        }
    }
    found
}

/// Compiles a pattern with word boundaries of ASCII; the crate is built without Unicode tables.
fn ascii(pattern: &str) -> Regex {
    Regex::new(&pattern.replace(r"\b", r"(?-u:\b)")).unwrap()
}

#[test]
fn texts_are_plain_english() {
    let struck = Regex::new("~~.*?~~").unwrap();
    let type_names = ascii(TYPE_NAMES);
    let phrases: Vec<_> = PHRASES
        .iter()
        .map(|phrase| {
            let unless = ascii(&format!("^(?:{})", phrase.unless_followed_by));
            (phrase, ascii(phrase.pattern), unless)
        })
        .collect();
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for place in READ {
        each_file(&root.join(place), &mut |name, text| {
            for (number, text) in texts(name, text) {
                let text = struck.replace_all(&text, " ");
                for (phrase, pattern, unless) in &phrases {
                    let is_wrong = pattern.find_iter(&text).any(|hit| {
                        let rest = text.get(hit.end()..).unwrap_or_default();
                        phrase.unless_followed_by.is_empty() || !unless.is_match(rest)
                    });
                    if is_wrong && !RIGHT.iter().any(|(right, _)| text.contains(right)) {
                        found.push(format!("{name}:{}: [{}] {text}", number + 1, phrase.name));
                    }
                }
            }
            for (number, line) in text.lines().enumerate() {
                if is(name, "rs") && type_names.is_match(line) {
                    found.push(format!("{name}:{}: [type name] {line}", number + 1));
                }
            }
        });
    }
    assert!(RIGHT.len() <= 60, "too many exceptions");
    assert!(
        found.is_empty(),
        "{} turns of phrase; see CONTRIBUTING.md, Language:\n{}",
        found.len(),
        found.join("\n")
    );
}
