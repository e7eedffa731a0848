//! Conversion of flat file records into robots.

use super::record::{Item, Record, records};
use crate::registry::{
    Exclusion, NoPattern, Parsed, Pattern, PatternKind, Purpose, Robot, Source, Status,
    collect::Collector,
    proofs::{host_suffixes, http_url, list_names, signature_agents},
    text::{clean, clean_verbatim, cut, slug},
    useragent::{clean_useragent, normalise_clean, strip_useragent, without_version},
};

/// Maximum number of bytes in a stored value.
const MAX_BYTES: usize = 2048;
/// Maximum number of bytes in an ID.
const MAX_ID_BYTES: usize = 100;
/// Maximum number of bytes in a product token.
const MAX_TOKEN_BYTES: usize = 100;
/// Maximum number of User-Agents, patterns or hosts of one robot.
const MAX_LIST: usize = 64;
/// Minimum number of words for the text of a purpose to be considered prose.
const PROSE_WORDS: usize = 6;

/// Parses a flat file. Returns `None` if no record has a `robot-id`.
pub(in crate::registry) fn read(bytes: &[u8], source: &Source) -> Option<Parsed> {
    let mut collector = Collector::default();
    let mut has_ids = false;
    records(bytes, |item| match item {
        Item::Comment => collector.comment(),
        Item::Record(record) => {
            has_ids |= record.has("robot-id");
            match robot(&record, source) {
                Ok(robot) => collector.push(robot, record.line),
                Err(reason) => collector.skip(record.line, &what(&record), reason),
            }
        }
    });
    has_ids.then(|| collector.finish())
}

/// Returns the patterns derived from the User-Agents or, without User-Agents, from the product
/// token.
pub(super) fn patterns_of(useragent: &str, product_token: &str) -> Result<Vec<Pattern>, NoPattern> {
    normalise_clean(useragent).or_else(|error| normalise_clean(product_token).map_err(|_| error))
}

/// Returns a product token as spelled in robots.txt, or `None` for `*`, `no` and prose.
pub(super) fn product_token(value: &str) -> Option<String> {
    let clean = clean_useragent(value);
    let mut token = clean.as_str();
    loop {
        let first = token.split(',').next().unwrap_or_default();
        let first = first.split(" or ").next().unwrap_or_default();
        // Repeated until nothing changes: removing a part may expose quotation marks or a version.
        let shorter = strip_useragent(without_version(first));
        if shorter == token {
            break;
        }
        token = shorter;
    }
    let says_nothing = matches!(
        normalise_clean(token),
        Err(NoPattern::Junk(_) | NoPattern::Sentence | NoPattern::Empty)
    );
    let names_file = token.eq_ignore_ascii_case("robots.txt") || token.contains("://");
    let fits = !says_nothing && !names_file && token.len() <= MAX_TOKEN_BYTES;
    fits.then(|| token.to_owned())
}

fn robot(record: &Record, source: &Source) -> Result<Robot, &'static str> {
    if !record.has("robot-id") {
        return Err("no robot-id");
    }
    let name = text(record.first("robot-name"));
    let id = sane_id(&clean(record.first("robot-id")))
        .or_else(|| Some(slug(&name)).filter(|slug| !slug.is_empty()))
        .ok_or("neither robot-id nor robot-name")?;
    let trusted = [Source::bundled(), Source::manual()].contains(source);
    let mut robot = Robot::new(id, source.clone());
    if !name.is_empty() {
        robot.name = name;
    }
    robot.details_url = http_url(record.first("robot-details-url"));
    robot.purpose = purpose(&clean(record.first("robot-purpose")));
    robot.operator = operator(record, trusted);
    robot.product_token = product_token(record.first("robot-exclusion-useragent"));
    robot.exclusion = Exclusion::from_value(record.first("robot-exclusion"));
    // An external list could present its own hosts and keys as proofs for another operator's robot.
    if trusted {
        robot.host_suffixes = host_suffixes(record.first("robot-host")).facts;
        robot.ranges_url = http_url(record.first("robot-ranges-url"));
        robot.signature_agents = signature_agents(record.first("robot-signature-agent")).facts;
        robot.has_partial_proofs = record.first("robot-proofs").trim() == "partial";
        robot.evidence = list_names(record.first("robot-evidence")).facts;
        robot.checked = date(record.first("robot-checked"));
    }
    let useragents: Vec<String> = record
        .all("robot-useragent")
        .map(|(_, value)| clean_useragent(value))
        .filter(|useragent| !useragent.is_empty())
        .take(MAX_LIST)
        .collect();
    strip_useragent(cut(&useragents.join(" | "), MAX_BYTES)).clone_into(&mut robot.useragent);
    match stated_or_derived(record) {
        Ok(_) if robot.purpose == Purpose::Shared && !trusted => {
            let reason = "only the bundled registry and manual records may have the purpose shared";
            robot.status = Status::Unusable {
                reason: reason.to_owned(),
            };
        }
        Ok(patterns) => robot.patterns = patterns,
        Err(reason) => robot.status = Status::Unusable { reason },
    }
    Ok(robot)
}

/// Returns the patterns stated in a record or, without stated patterns, the patterns derived from
/// the record's User-Agents.
fn stated_or_derived(record: &Record) -> Result<Vec<Pattern>, String> {
    let reason = text(record.first("robot-unusable"));
    if !reason.is_empty() {
        return Err(reason);
    }
    let mut patterns = Vec::new();
    for (_, value) in record.all("robot-pattern").take(MAX_LIST) {
        let value = clean_verbatim(value);
        let (word, text) = value.split_once(' ').unwrap_or((&value, ""));
        add(&mut patterns, [stated(word, text)?]);
    }
    if !patterns.is_empty() {
        return Ok(patterns);
    }
    let mut first_error = None;
    for (number, value) in record.all("robot-useragent").take(MAX_LIST) {
        let kind = record
            .numbered_value("robot-useragent-kind", number)
            .or_else(|| record.numbered_value("robot-useragent-kind", 1));
        match kind {
            Some(kind) => add(&mut patterns, stated_useragent(kind, value)?),
            None => match normalise_clean(&clean_useragent(value)) {
                Ok(derived) => add(&mut patterns, derived),
                Err(error) => first_error = first_error.or(Some(error)),
            },
        }
    }
    if !patterns.is_empty() {
        return Ok(patterns);
    }
    normalise_clean(&clean_useragent(record.first("robot-exclusion-useragent")))
        .map_err(|_| first_error.unwrap_or(NoPattern::Empty).to_string())
}

fn add(patterns: &mut Vec<Pattern>, more: impl IntoIterator<Item = Pattern>) {
    for pattern in more {
        if patterns.len() < MAX_LIST && !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
}

/// Returns the patterns of a User-Agent for which the record states the pattern kind.
fn stated_useragent(kind: &str, value: &str) -> Result<Vec<Pattern>, String> {
    let kind = clean(kind);
    if kind == PatternKind::Regex.as_str() {
        return Ok(vec![stated(&kind, &clean_verbatim(value))?]);
    }
    clean_useragent(value)
        .split('|')
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(|text| stated(&kind, text))
        .collect()
}

fn stated(word: &str, text: &str) -> Result<Pattern, String> {
    let kind = PatternKind::from_word(&word.to_ascii_lowercase())
        .ok_or_else(|| format!("{:?} is not a kind of pattern", cut(word, 40)))?;
    Pattern::stated(kind, text).map_err(|error| error.to_string())
}

fn operator(record: &Record, trusted: bool) -> Option<String> {
    let stated = text(record.first("robot-operator"));
    let owner = || {
        if trusted {
            text(record.first("robot-owner-name"))
        } else {
            String::new()
        }
    };
    Some(stated)
        .filter(|name| !name.is_empty())
        .or_else(|| Some(owner()).filter(|name| !name.is_empty()))
}

/// Returns the purpose for the first known word in a list.
///
/// `indexing` stands for search. The other words of the Web Robots Database (`maintenance`,
/// `statistics`, `mirroring`) yield an unknown purpose: such robots are redirected by default,
/// unlike robots with the purpose `monitoring`.
fn purpose(value: &str) -> Purpose {
    let words: Vec<&str> = value
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .filter(|word| !word.is_empty())
        .take(PROSE_WORDS)
        .collect();
    if words.len() >= PROSE_WORDS {
        return Purpose::Unknown;
    }
    words
        .into_iter()
        .filter_map(|word| {
            if word.eq_ignore_ascii_case("indexing") {
                return Some(Purpose::Search);
            }
            Purpose::from_word(word)
        })
        .find(|&purpose| purpose != Purpose::Unknown)
        .unwrap_or_default()
}

/// Returns the value if it is a calendar date such as `2026-11-21`.
fn date(value: &str) -> Option<String> {
    let day = clean(value);
    let mut parts = day.splitn(3, '-');
    let mut number = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits)?;
        let is_number = part.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| part.parse::<u16>().ok()).flatten()
    };
    let (year, month, of_month) = (number(4)?, number(2)?, number(2)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u16::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&of_month).then_some(day)
}

/// Returns an ID with invalid characters replaced by `-`.
fn sane_id(id: &str) -> Option<String> {
    let mut sane = String::new();
    for c in id.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':') {
            sane.push(c);
        } else if !sane.is_empty() && !sane.ends_with('-') {
            sane.push('-');
        }
    }
    let sane = cut(&sane, MAX_ID_BYTES);
    let sane = if id.len() == sane.len() {
        sane
    } else {
        sane.trim_end_matches('-')
    };
    sane.contains(|c: char| c.is_ascii_alphanumeric())
        .then(|| sane.to_owned())
}

fn text(value: &str) -> String {
    cut(&clean(value), MAX_BYTES).trim_end().to_owned()
}

/// Returns a few words that describe a skipped record but never contain an owner's name.
fn what(record: &Record) -> String {
    let name = clean(record.first("robot-name"));
    let heading = record
        .heading
        .as_deref()
        .filter(|heading| !heading.contains('@'));
    if name.is_empty() {
        heading.unwrap_or("a block of fields").to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests;
