//! Preferences about the use of a page, as stated in all formats.

use std::{cell::RefCell, collections::BTreeMap};

use serde_json::Value;
use sfv::{BareItem, Dictionary, ListEntry, Parser};

use robot_detection_robots_txt::{
    Dialect, Permission, PolicyToken, RobotsTxt, Rule, dropped_label, meta,
};

use super::{ContentUse, Usage};
use crate::document::xml;

/// A statement about one use of a page.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Preference {
    /// The use; `None` for a label that has no effect.
    pub usage: Option<ContentUse>,
    /// Whether the use is permitted; `None` if the statement has no effect.
    pub allows: Option<bool>,
    /// The file, header or tag that contains the statement, with the line if there is one.
    pub source: String,
    /// The statement, as written in the source.
    pub text: String,
    /// Why the statement has no effect or differs from its text.
    pub remark: Option<String>,
}

/// Everything that states preferences about a page. Sources that are unknown or absent are empty.
#[derive(Clone, Debug, Default)]
pub struct PageSources<'s> {
    /// The site's robots.txt.
    pub robots_txt: Option<&'s RobotsTxt>,
    /// The response headers of the page: a label that precedes the name, the name and the value.
    pub headers: Vec<(&'s str, &'s str, &'s str)>,
    /// The page.
    pub html: &'s [u8],
    /// The content of `/.well-known/tdmrep.json`.
    pub tdmrep: &'s str,
    /// RSL documents, each with its URL.
    pub licences: Vec<(&'s str, &'s str)>,
}

impl PageSources<'_> {
    /// Returns all statements about a page, for a robot.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_robots_txt::{Dialect, RobotsTxt};
    /// use robot_detection_site_robot::licensing::{ContentUse, PageSources, decisive};
    ///
    /// let text = b"User-agent: *\nContent-Usage: train-ai=n\nAllow: /\n";
    /// let file = RobotsTxt::parse(text, Dialect::rfc9309());
    /// let sources = PageSources {
    ///     robots_txt: Some(&file),
    ///     headers: vec![("", "Content-Usage", "train-ai=y")],
    ///     ..PageSources::default()
    /// };
    /// let stated = sources.preferences("ExampleBot", "/a");
    /// let training = decisive(&stated, ContentUse::Training).expect("a statement");
    /// assert_eq!(training.source, "robots.txt line 2: Content-Usage");
    /// ```
    #[must_use]
    pub fn preferences(&self, robot: &str, url: &str) -> Vec<Preference> {
        let mut stated = Vec::new();
        if let Some(file) = self.robots_txt {
            of_robots_txt(file, robot, url, &mut stated);
        }
        let path = url::Url::parse(url).map_or_else(
            |_| url.to_owned(),
            |url| url[url::Position::BeforePath..].to_owned(),
        );
        let mut reserved = Vec::from_iter(tdmrep(self.tdmrep, &path, &mut stated));
        let mut usage: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (label, name, value) in &self.headers {
            let source = format!("{label}header {name}");
            match name.to_ascii_lowercase().as_str() {
                // Several lines are one dictionary (RFC 9110 §5.3, RFC 9651 §4.2).
                "content-usage" => usage.entry(label).or_default().push(value),
                "content-signal" => signals(&source, value, &mut stated),
                "tdm-reservation" => match reservation(&source, value) {
                    Some(statement) => reserved.push(statement),
                    None => {
                        push_remark(&mut stated, &source, value, "the value is neither 0 nor 1");
                    }
                },
                "x-robots-tag" => noai(&source, for_agent(value, robot), &mut stated),
                _ => {}
            }
        }
        for (label, values) in usage {
            dictionary(
                &format!("{label}header Content-Usage"),
                &values.join(", "),
                &mut stated,
            );
        }
        for (name, content) in meta::tags(self.html) {
            let source = format!("tag {name}");
            if name.eq_ignore_ascii_case("tdm-reservation") {
                reserved.extend(reservation(&source, &content));
            } else if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(robot) {
                noai(&source, &content, &mut stated);
            }
        }
        // Each later source replaces the earlier ones (TDMRep, processing priority).
        let last = reserved.len().saturating_sub(1);
        for (place, mut statement) in reserved.into_iter().enumerate() {
            if place < last {
                statement.allows = None;
                statement.remark = Some("a later source of TDMRep replaces it".to_owned());
            }
            stated.push(statement);
        }
        for (url, document) in &self.licences {
            of_licences(url, document, &path, &mut stated);
        }
        stated
    }
}

/// Returns the statement that decides about a use: the first that forbids it, or else the first that
/// permits it (draft-ietf-aipref-vocab-08 §5.1).
#[must_use]
pub fn decisive(stated: &[Preference], usage: ContentUse) -> Option<&Preference> {
    let of_use = |allows: bool| {
        let mut stated = stated.iter();
        stated.find(|one| one.usage == Some(usage) && one.allows == Some(allows))
    };
    of_use(false).or_else(|| of_use(true))
}

impl Preference {
    fn new(usage: ContentUse, allows: bool, source: &str, text: impl Into<String>) -> Self {
        Self {
            usage: Some(usage),
            allows: Some(allows),
            source: source.to_owned(),
            text: text.into(),
            remark: None,
        }
    }
}

fn push(
    stated: &mut Vec<Preference>,
    usage: ContentUse,
    allows: bool,
    source: &str,
    text: impl Into<String>,
) {
    stated.push(Preference::new(usage, allows, source, text));
}

fn push_remark(stated: &mut Vec<Preference>, source: &str, text: &str, remark: impl Into<String>) {
    stated.push(Preference {
        usage: None,
        allows: None,
        source: source.to_owned(),
        text: text.to_owned(),
        remark: Some(remark.into()),
    });
}

fn of_robots_txt(file: &RobotsTxt, robot: &str, url: &str, stated: &mut Vec<Preference>) {
    let rules = file.for_robot(robot);
    // A page that must not be fetched has no preference (draft-ietf-aipref-attach-05 §3.1).
    if rules.check(url).allowed() {
        for line in rules.use_lines(url) {
            let source = format!("robots.txt line {}: {}", line.line, line.field);
            match line.field {
                "Content-Usage" => dictionary(&source, &line.list, stated),
                _ => signals(&source, &line.list, stated),
            }
        }
    }
    for token in &PolicyToken::ALL {
        let (Some(rules), Some(usage)) = (file.policy(token), ContentUse::from_word(token.usage))
        else {
            continue;
        };
        let permission = rules.check(url);
        let rule = permission.rule();
        let line = rule.as_ref().map(Rule::line).or(permission.group_line());
        let text = rule.map_or_else(|| "no rule matches".to_owned(), |rule| rule.to_string());
        let source = format!(
            "robots.txt line {}: {}",
            line.unwrap_or_default(),
            token.token
        );
        push(
            stated,
            usage,
            Permission::allowed(&permission),
            &source,
            text,
        );
    }
}

/// Parses the dictionary of `Content-Usage` (draft-ietf-aipref-vocab-08 §6.5).
fn dictionary(source: &str, list: &str, stated: &mut Vec<Preference>) {
    let Ok(members) = Parser::new(list.trim()).parse::<Dictionary>() else {
        return push_remark(
            stated,
            source,
            list,
            "the list is not a structured field, so all of it is ignored",
        );
    };
    for (label, entry) in &members {
        let value = match entry {
            ListEntry::Item(item) => match &item.bare_item {
                BareItem::Token(token) => token.as_str(),
                _ => "",
            },
            ListEntry::InnerList(_) => "",
        };
        let text = format!("{label}={value}");
        match (ContentUse::from_word(label.as_str()), value) {
            (Some(usage), "y" | "n") => push(stated, usage, value == "y", source, text),
            (Some(_), _) => push_remark(
                stated,
                source,
                label.as_str(),
                "the value is neither y nor n",
            ),
            (None, _) => {
                let dropped = dropped_label(label.as_str());
                let dropped = dropped.map(|draft| format!("{draft} dropped it"));
                push_remark(
                    stated,
                    source,
                    &text,
                    dropped.unwrap_or_else(|| "the label is unknown".to_owned()),
                );
            }
        }
    }
}

/// Parses the list of `Content-Signal` (contentsignals.org).
fn signals(source: &str, list: &str, stated: &mut Vec<Preference>) {
    for member in list
        .split(',')
        .map(str::trim)
        .filter(|member| !member.is_empty())
    {
        let (label, value) = member.split_once('=').unwrap_or((member, ""));
        let usage = match label.trim().to_ascii_lowercase().as_str() {
            "ai-train" => ContentUse::Training,
            "ai-input" => ContentUse::Input,
            "search" => ContentUse::Search,
            _ => {
                push_remark(
                    stated,
                    source,
                    member,
                    "the signal is about another use or unknown",
                );
                continue;
            }
        };
        match value.trim().to_ascii_lowercase().as_str() {
            "yes" => push(stated, usage, true, source, member),
            "no" => push(stated, usage, false, source, member),
            _ => push_remark(stated, source, member, "the value is neither yes nor no"),
        }
    }
}

/// Returns the first reservation for a path in a `tdmrep.json` file.
fn tdmrep(text: &str, path: &str, stated: &mut Vec<Preference>) -> Option<Preference> {
    let Ok(rules) = serde_json::from_str::<Vec<Value>>(text) else {
        if !text.is_empty() {
            push_remark(stated, "tdmrep.json", "", "the file is not a JSON list");
        }
        return None;
    };
    let mut rules = rules.iter().zip(1..);
    let (rule, number) = rules.find(|(rule, _)| {
        let location = rule.get("location").and_then(Value::as_str);
        location.is_some_and(|location| is_below(location, path))
    })?;
    let value = rule.get("tdm-reservation")?;
    reservation(&format!("tdmrep.json rule {number}"), &value.to_string())
}

/// Returns `true` if a path matches a pattern of robots.txt.
fn is_below(pattern: &str, path: &str) -> bool {
    // Some documents contain URLs instead of paths.
    let pattern =
        url::Url::parse(pattern).map_or_else(|_| pattern.to_owned(), |url| url.path().to_owned());
    let file = format!(
        "User-agent: *\nDisallow: {}\n",
        pattern.replace(['\n', '\r', '#'], "%")
    );
    let file = RobotsTxt::parse(file.as_bytes(), Dialect::rfc9309());
    !file.for_robot("*").check(path).allowed()
}

fn reservation(source: &str, value: &str) -> Option<Preference> {
    let allows = match value.trim() {
        "0" => true,
        "1" => false,
        _ => return None,
    };
    let text = format!("tdm-reservation {}", value.trim());
    Some(Preference::new(ContentUse::Training, allows, source, text))
}

/// Returns the directives of an `X-Robots-Tag` that apply to a robot: a value may begin with the name
/// of the only robot that it is for.
fn for_agent<'v>(value: &'v str, robot: &str) -> &'v str {
    match value.split_once(':') {
        Some((agent, directives)) if !agent.contains(',') => {
            let is_meant = agent.trim().eq_ignore_ascii_case(robot);
            if is_meant { directives } else { "" }
        }
        _ => value,
    }
}

/// Reads the words `noai` and `noimageai`, which `DeviantArt` proposed in 2022.
fn noai(source: &str, value: &str, stated: &mut Vec<Preference>) {
    let words = value.split(',').map(str::trim);
    for word in words.filter(|word| {
        ["noai", "noimageai"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
    }) {
        push(stated, ContentUse::Training, false, source, word);
    }
}

/// The maximum number of elements that are read of an RSL document.
const MAX_CONTENTS: usize = 1000;

/// A licence in an RSL document.
#[derive(Debug, Default)]
struct Licence {
    permits: Vec<Usage>,
    prohibits: Vec<Usage>,
    is_paid: bool,
}

impl Licence {
    /// Returns the decision about a use, given the words that include it, the narrowest first.
    fn decide(&self, words: &[Usage]) -> Option<(bool, Usage)> {
        words.iter().find_map(|word| {
            let is_permitted = self.permits.contains(word);
            let is_prohibited = self.prohibits.contains(word);
            (is_permitted || is_prohibited).then_some((!is_prohibited, *word))
        })
    }
}

/// Reads the licences of an RSL 1.0 document, by their paths.
fn licences(document: &str) -> Vec<(String, Vec<Licence>)> {
    let contents: RefCell<Vec<(String, Vec<Licence>)>> = RefCell::default();
    let last = |change: &dyn Fn(&mut Licence)| {
        let mut contents = contents.borrow_mut();
        let licence = contents
            .last_mut()
            .and_then(|(_, licences)| licences.last_mut());
        licence.into_iter().for_each(change);
    };
    xml::read(
        document,
        |tag, _| {
            let value = |name| xml::attribute(tag, name).unwrap_or_default().into_owned();
            match tag.local_name().as_ref() {
                "content" => contents.borrow_mut().push((value("url"), Vec::new())),
                "license" => {
                    let mut contents = contents.borrow_mut();
                    let content = contents.last_mut().into_iter();
                    content.for_each(|(_, licences)| licences.push(Licence::default()));
                }
                "payment" => {
                    let is_free = ["free", "attribution", ""].contains(&value("type").as_str());
                    last(&|licence| licence.is_paid = !is_free);
                }
                _ => {}
            }
            contents.borrow().len() <= MAX_CONTENTS
        },
        |name, _, text| {
            let words = || {
                text.split([' ', ',', '\n', '\t'])
                    .filter_map(Usage::from_word)
            };
            match name {
                "permits" => last(&|licence| licence.permits.extend(words())),
                "prohibits" => last(&|licence| licence.prohibits.extend(words())),
                _ => {}
            }
            true
        },
    );
    contents.into_inner()
}

/// Adds the statements of the licences for a path in an RSL 1.0 document.
///
/// The longest path applies. A narrower use precedes a wider one, and one of several licences
/// suffices for a permission; a use that must be paid for is neither permitted nor forbidden.
fn of_licences(url: &str, document: &str, path: &str, stated: &mut Vec<Preference>) {
    let contents = licences(document);
    if contents.is_empty() {
        push_remark(stated, url, "", "the document is not RSL");
    }
    let about = contents
        .iter()
        .filter(|(pattern, _)| is_below(pattern, path));
    let Some((pattern, licences)) = about.max_by_key(|(pattern, _)| pattern.len()) else {
        return;
    };
    for (usage, words) in [
        (
            ContentUse::Training,
            &[Usage::AiTrain, Usage::AiAll, Usage::All][..],
        ),
        (
            ContentUse::Input,
            &[Usage::AiInput, Usage::AiAll, Usage::All],
        ),
        (ContentUse::Search, &[Usage::Search, Usage::All]),
    ] {
        let decided = licences.iter().filter_map(|licence| {
            let (allows, word) = licence.decide(words)?;
            (!allows || !licence.is_paid).then_some((allows, word))
        });
        if let Some((allows, word)) = decided.max_by_key(|(allows, _)| *allows) {
            let verb = if allows { "permits" } else { "prohibits" };
            let source = format!("licence {url} for {pattern}");
            push(stated, usage, allows, &source, format!("{verb} {word}"));
        }
    }
}

#[cfg(test)]
mod tests;
