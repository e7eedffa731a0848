//! The period and filter of a traffic page.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::page::encode;
use crate::problem::Problem;
use crate::{TimeZone, robot_links};
use robot_detection_layer::registry::{Purpose, Robot};
use robot_detection_traffic::traffic::{
    By, Class, Moment, NONE_KNOWN, TimeRange, TrafficFilter, VISITORS, decision_words,
    verdict_words,
};

/// The words for periods that end now, with their labels.
pub(super) const TIMES: &[(&str, &str)] = &[
    ("1h", "hour"),
    ("24h", "24 hours"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("90d", "90 days"),
    ("all", "all"),
];

const DEFAULT_TIME: &str = "24h";

/// The classes of response statuses.
pub(super) const STATUSES: &[&str] = &["1xx", "2xx", "3xx", "4xx", "5xx", "unknown"];

/// Maximum length of a query parameter in bytes.
const MAX_BYTES: usize = 1_000;

/// The validated period and filter of a traffic page.
#[derive(Clone, Debug)]
pub(crate) struct TrafficQuestion {
    pub(super) time: Period,
    pub(super) times: TimeRange,
    pub(super) filter: TrafficFilter,
}

/// The period, as specified in the URL of a traffic page.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Period {
    /// A predefined period from [`TIMES`].
    Word(&'static str),
    /// A custom period; an empty `until` means now.
    Range { since: String, until: String },
}

impl TrafficQuestion {
    /// Parses the query parameters of a traffic page.
    pub(super) fn parse(params: &TrafficParams, zone: TimeZone) -> Result<Self, Problem> {
        let (time, times) = parse_time(params, zone)?;
        let visitors = VISITORS.iter().map(|(word, _)| *word);
        Ok(Self {
            time,
            times,
            filter: TrafficFilter {
                visitors: word("visitors", &params.visitors, visitors)?,
                class: word(
                    "class",
                    &params.class,
                    Class::ALL.iter().map(|class| class.as_str()),
                )?,
                site: text("site", &params.site)?,
                robot: text("robot", &params.robot)?,
                operator: text("operator", &params.operator)?,
                purpose: word("purpose", &params.purpose, purpose_words())?,
                verdict: word("verdict", &params.verdict, verdict_words())?,
                decision: word("decision", &params.decision, decision_words())?,
                cause: text("cause", &params.cause)?,
                status: word("status", &params.status, STATUSES.iter().copied())?,
            },
        })
    }

    /// Returns a link to a page with the same period and filter, relative to the console's root.
    ///
    /// Parameters in `other` replace the parameters of this page; an empty value removes a
    /// parameter.
    pub(super) fn link(&self, page: &str, other: &[(&str, &str)]) -> String {
        let mut link = page.to_owned();
        let mut mark = '?';
        let named = |key: &str| other.iter().any(|(name, _)| *name == key);
        let pairs = self.pairs();
        let kept = pairs.iter().filter(|(key, _)| !named(key));
        let kept = kept.map(|(key, value)| (*key, value.as_str()));
        for (key, value) in kept.chain(other.iter().copied()) {
            if !value.is_empty() {
                // Writing to a `String` never fails.
                let _ = write!(link, "{mark}{key}={}", encode(value));
                mark = '&';
            }
        }
        link
    }

    /// Returns a link to a robot's page with the same period and site.
    pub(super) fn robot_link(&self, robot: &Robot) -> String {
        let page = robot_links::link(robot.source.as_str(), &robot.id);
        // The page shows a single robot, regardless of the other filters on this page.
        let other = ["robot", "operator", "purpose", "visitors"].map(|key| (key, ""));
        self.link(&page, &other)
    }

    /// Returns the query parameters from which this value was parsed.
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = match &self.time {
            Period::Word(word) if *word == DEFAULT_TIME => Vec::new(),
            Period::Word(word) => vec![("time", (*word).to_owned())],
            Period::Range { since, until } => {
                vec![("since", since.clone()), ("until", until.clone())]
            }
        };
        pairs.extend(self.filters());
        pairs
    }

    /// Returns the query parameters of the filter.
    pub(super) fn filters(&self) -> Vec<(&'static str, String)> {
        let filter = &self.filter;
        let all = [
            ("visitors", &filter.visitors),
            ("site", &filter.site),
            ("class", &filter.class),
            ("robot", &filter.robot),
            ("operator", &filter.operator),
            ("purpose", &filter.purpose),
            ("verdict", &filter.verdict),
            ("decision", &filter.decision),
            ("cause", &filter.cause),
            ("status", &filter.status),
        ];
        let set = all.into_iter();
        set.filter_map(|(key, value)| Some((key, value.clone()?)))
            .collect()
    }

    /// Returns the link from the number in a row to the requests that the number counts.
    pub(super) fn row_link(&self, by: By, cells: &[Option<String>]) -> String {
        let cell = |at: usize| cells.get(at).cloned().flatten();
        let named = |at: usize| cell(at).unwrap_or_else(|| NONE_KNOWN.to_owned());
        let (first, second) = (named(0), named(1));
        let other = match by {
            By::Class => vec![("class", &*first)],
            By::Robot => vec![("robot", &*first)],
            By::Operator => vec![("operator", &*first)],
            By::Purpose => vec![("purpose", &*first)],
            By::Verdict => vec![("robot", &*first), ("verdict", &*second)],
            By::Decision => vec![("decision", &*first)],
            By::Cause => vec![("decision", &*first), ("cause", &*second)],
            By::Site => vec![("site", &*first)],
            By::Status => vec![("status", &*first)],
            By::Total => vec![("visitors", visitors_word(&first))],
        };
        self.link("traffic", &other)
    }

    /// Returns a text for the previous period, such as "in the previous 24 hours".
    pub(super) fn previous_period_text(&self) -> String {
        match &self.time {
            Period::Word("1h") => "in the previous hour".to_owned(),
            Period::Word(word) => {
                let name = TIMES.iter().find(|(of, _)| of == word);
                let name = name.map_or(*word, |(_, name)| *name);
                format!("in the previous {name}")
            }
            Period::Range { .. } => "in the previous period of the same length".to_owned(),
        }
    }
}

/// Returns the word for the kind of visitors that a total includes.
fn visitors_word(total: &str) -> &str {
    match total {
        "people" => "person",
        "robots" => "listed",
        "no-user-agent" => "nameless",
        "all" => "",
        other => other,
    }
}

fn parse_time(params: &TrafficParams, zone: TimeZone) -> Result<(Period, TimeRange), Problem> {
    let [since, until] = [&params.since, &params.until].map(|text| text.trim());
    if since.is_empty() && until.is_empty() {
        let words = TIMES.iter().map(|(word, _)| *word);
        let asked = word("time", &params.time, words)?;
        let known = TIMES
            .iter()
            .find(|(word, _)| Some(*word) == asked.as_deref());
        let word = known.map_or(DEFAULT_TIME, |(word, _)| *word);
        let since = moment("time", word, zone)?;
        return Ok((Period::Word(word), TimeRange { since, until: None }));
    }
    if !params.time.trim().is_empty() {
        return Err(invalid("time must not be combined with since or until"));
    }
    let times = TimeRange {
        since: match since {
            "" => Moment::All,
            since => moment("since", since, zone)?,
        },
        until: match until {
            "" => None,
            until => Some(moment("until", until, zone)?),
        },
    };
    let [since, until] = [since, until].map(str::to_owned);
    Ok((Period::Range { since, until }, times))
}

fn moment(key: &str, text: &str, zone: TimeZone) -> Result<Moment, Problem> {
    Moment::parse(text, zone.zone()).map_err(|told| invalid(format!("{key}: {told}")))
}

pub(super) fn text(key: &str, value: &str) -> Result<Option<String>, Problem> {
    if value.len() > MAX_BYTES {
        return Err(invalid(format!(
            "{key} must be at most {MAX_BYTES} bytes long"
        )));
    }
    Ok(Some(value.to_owned()).filter(|value| !value.is_empty()))
}

fn word<'w>(
    key: &str,
    value: &str,
    words: impl IntoIterator<Item = &'w str>,
) -> Result<Option<String>, Problem> {
    let Some(value) = text(key, value.trim())? else {
        return Ok(None);
    };
    let words: Vec<_> = words.into_iter().collect();
    if words.contains(&&*value) {
        return Ok(Some(value));
    }
    Err(invalid(format!(
        "{key} must be one of {}",
        words.join(", ")
    )))
}

/// Parses the word for a grouping, which must be one of `allowed`.
pub(super) fn parse_grouping(value: &str, allowed: &[By]) -> Result<Option<By>, Problem> {
    let words = allowed.iter().map(|by| by.as_str());
    Ok(word("by", value, words)?.and_then(|word| By::from_word(&word)))
}

/// Returns the allowed words of a parameter; empty if the parameter is not an enumeration.
pub(crate) fn words(name: &str) -> Vec<&'static str> {
    match name {
        "time" => TIMES.iter().map(|(word, _)| *word).collect(),
        "visitors" => VISITORS.iter().map(|(word, _)| *word).collect(),
        "purpose" => purpose_words().collect(),
        "status" => STATUSES.to_vec(),
        _ => Vec::new(),
    }
}

fn purpose_words() -> impl Iterator<Item = &'static str> {
    let purposes = Purpose::ROBOTS.iter().map(|purpose| purpose.as_str());
    purposes.chain([NONE_KNOWN])
}

/// Returns the problem for an invalid query parameter.
pub(super) fn invalid(told: impl Into<String>) -> Problem {
    Problem::invalid(told)
}

/// The query parameters of a traffic page or its JSON version; empty parameters are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TrafficParams {
    pub(crate) time: String,
    pub(crate) since: String,
    pub(crate) until: String,
    pub(crate) site: String,
    pub(crate) robot: String,
    pub(crate) operator: String,
    pub(crate) purpose: String,
    pub(crate) verdict: String,
    pub(crate) decision: String,
    pub(crate) visitors: String,
    pub(crate) class: String,
    pub(crate) cause: String,
    pub(crate) status: String,
    pub(crate) by: String,
    pub(crate) sort: String,
    pub(crate) dir: String,
}

/// Declares the parameter names of each page: the common parameters and the page's own parameters.
macro_rules! lists {
    ($($(#[$doc:meta])* $LIST:ident = $($own:literal),*;)*) => {
        $($(#[$doc])*
        pub(crate) const $LIST: &[&str] = &[
            "time", "since", "until", "site", "robot", "operator", "purpose", "verdict", "decision",
            "visitors", "class", "cause", "status", $($own),*
        ];)*
    };
}

lists! {
    /// The parameters of the overview, of the requests page, and of traffic figures as JSON and
    /// CSV.
    FIGURES = "by";
    /// The parameters of the list of robots.
    ROBOTS = "by", "sort", "dir";
    /// The parameters of a robot's page.
    ROBOT = "by", "id", "note";
    /// The parameters of the sites page.
    SITES =;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(change: impl FnOnce(&mut TrafficParams)) -> Result<TrafficQuestion, String> {
        let mut params = TrafficParams::default();
        change(&mut params);
        TrafficQuestion::parse(&params, TimeZone::default()).map_err(|problem| problem.message)
    }

    #[test]
    fn link_keeps_the_parameters_except_those_it_changes() {
        let question = parsed(|params| {
            params.time = "7d".to_owned();
            params.site = "a&b".to_owned();
            params.robot = "googlebot".to_owned();
        });
        let question = question.unwrap();
        assert_eq!(
            question.link("robots", &[("robot", ""), ("by", "operator")]),
            "robots?time=7d&site=a%26b&by=operator"
        );
        let row = [None];
        let link = question.row_link(By::Operator, &row);
        assert_eq!(
            link,
            "traffic?time=7d&site=a%26b&robot=googlebot&operator=-"
        );
        assert_eq!(parsed(|_| ()).unwrap().link("overview", &[]), "overview");
    }

    #[test]
    fn wrong_value_is_refused_with_the_valid_values() {
        let told = |change: fn(&mut TrafficParams)| parsed(change).unwrap_err();
        assert_eq!(
            told(|params| params.time = "2h".to_owned()),
            "time must be one of 1h, 24h, 7d, 30d, 90d, all"
        );
        assert!(told(|params| params.since = "soon".to_owned()).starts_with("since: use 30m"));
        assert!(told(|params| params.verdict = "true".to_owned()).contains("verified, "));
        assert!(told(|params| params.status = "200".to_owned()).contains("2xx"));
        let both = told(|params| {
            params.time = "7d".to_owned();
            params.since = "2026-01-01".to_owned();
        });
        assert!(both.contains("must not be combined"), "{both}");
        assert!(told(|params| params.site = "x".repeat(1_001)).contains("at most"));
    }
}
