//! The filter bar at the top of the traffic pages.

use crate::state::AdminState;
use robot_detection_layer::registry::Purpose;
use robot_detection_traffic::traffic::{NONE_KNOWN, decision_words, verdict_words};

use super::{
    loaded::Traffic,
    question::{Period, TIMES, TrafficQuestion},
};

/// The filter bar, which consists of plain links and forms and needs no scripts.
#[derive(Clone, Debug, Default)]
pub(crate) struct BarView {
    /// Page to which the forms are submitted, relative to the console's root.
    pub(crate) page: String,
    pub(crate) times: Vec<PresetView>,
    /// Parameters that the filter form preserves: the period and the page's own parameters.
    pub(crate) kept_by_filters: Vec<(&'static str, String)>,
    /// Parameters that the period form preserves.
    pub(crate) kept_by_range: Vec<(&'static str, String)>,
    pub(crate) selects: Vec<SelectView>,
    pub(crate) inputs: Vec<InputView>,
    /// Filters that have no form field, each with a link that removes the filter.
    pub(crate) others: Vec<(String, String)>,
    /// Link to the page without filters; empty if no filter is set.
    pub(crate) clear: String,
    pub(crate) since: String,
    pub(crate) until: String,
    /// Whether a custom period is shown.
    pub(crate) is_range: bool,
    /// Period that the page shows, and the previous period.
    pub(crate) shown: String,
    pub(crate) before: String,
}

#[derive(Clone, Debug)]
pub(crate) struct PresetView {
    pub(crate) word: &'static str,
    pub(crate) name: &'static str,
    pub(crate) link: String,
    pub(crate) is_chosen: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct SelectView {
    pub(crate) key: &'static str,
    pub(crate) label: &'static str,
    /// Value and label of each choice, and whether the choice is selected.
    pub(crate) choices: Vec<(String, String, bool)>,
}

#[derive(Clone, Debug)]
pub(crate) struct InputView {
    pub(crate) key: &'static str,
    pub(crate) label: &'static str,
    pub(crate) value: String,
    /// Kind of names to suggest, as in the JSON API; empty if no names are suggested.
    pub(crate) names: &'static str,
}

/// The filters that have a form field.
const FIELDS: &[&str] = &[
    "site", "robot", "operator", "purpose", "verdict", "decision",
];

impl BarView {
    /// Creates the filter bar of a page; `own` contains the page's additional parameters.
    pub(super) fn new(
        page: &str,
        own: &[(&'static str, &str)],
        traffic: &Traffic,
        state: &AdminState,
    ) -> Self {
        let question = &traffic.question;
        let filter = &question.filter;
        let own_pairs = own.iter().filter(|(_, value)| !value.is_empty());
        let own_pairs: Vec<_> = own_pairs
            .map(|(key, value)| (*key, (*value).to_owned()))
            .collect();
        let (since, until) = match &question.time {
            Period::Word(_) => (String::new(), String::new()),
            Period::Range { since, until } => (since.clone(), until.clone()),
        };
        let filters = question.filters();
        let input = |key, label, value: &Option<String>| InputView {
            key,
            label,
            value: value.clone().unwrap_or_default(),
            names: key,
        };
        Self {
            page: page.to_owned(),
            times: times(page, own, question),
            kept_by_filters: kept(question, &own_pairs, |key| !FIELDS.contains(&key)),
            kept_by_range: kept(question, &own_pairs, |key| {
                !["time", "since", "until"].contains(&key)
            }),
            selects: selects(traffic, traffic.sites(state).into_iter().collect()),
            inputs: vec![
                input("robot", "Robot", &filter.robot),
                input("operator", "Operator", &filter.operator),
            ],
            others: others(page, own, question),
            clear: if filter.is_empty() {
                String::new()
            } else {
                let none: Vec<_> = filters.iter().map(|(key, _)| (*key, "")).collect();
                question.link(page, &with(own, &none))
            },
            is_range: matches!(question.time, Period::Range { .. }),
            since,
            until,
            shown: range(traffic, &traffic.told),
            before: traffic
                .before
                .as_ref()
                .map_or_else(String::new, |before| range(traffic, before)),
        }
    }
}

fn with<'p>(own: &[(&'p str, &'p str)], other: &[(&'p str, &'p str)]) -> Vec<(&'p str, &'p str)> {
    own.iter().chain(other).copied().collect()
}

/// Returns the filters that have no form field, each with a link that removes the filter.
fn others(page: &str, own: &[(&str, &str)], question: &TrafficQuestion) -> Vec<(String, String)> {
    let filters = question.filters().into_iter();
    filters
        .filter(|(key, _)| !FIELDS.contains(key))
        .map(|(key, value)| {
            let link = question.link(page, &with(own, &[(key, "")]));
            (format!("{key}: {value}"), link)
        })
        .collect()
}

fn range(traffic: &Traffic, minutes: &std::ops::Range<i64>) -> String {
    let [since, until] = [minutes.start, minutes.end].map(|minute| traffic.exact(minute));
    format!("{since} to {until}")
}

fn kept(
    question: &TrafficQuestion,
    own: &[(&'static str, String)],
    is_kept: impl Fn(&str) -> bool,
) -> Vec<(&'static str, String)> {
    let pairs = question.pairs().into_iter();
    let pairs = pairs.filter(|(key, value)| is_kept(key) && !value.is_empty());
    pairs.chain(own.iter().cloned()).collect()
}

fn times(page: &str, own: &[(&str, &str)], question: &TrafficQuestion) -> Vec<PresetView> {
    let view = |(word, name): &(&'static str, &'static str)| {
        let is_chosen = question.time == Period::Word(word);
        let other = with(own, &[("since", ""), ("until", ""), ("time", word)]);
        PresetView {
            word,
            name,
            link: question.link(page, &other),
            is_chosen,
        }
    };
    TIMES.iter().map(view).collect()
}

fn selects(traffic: &Traffic, sites: Vec<String>) -> Vec<SelectView> {
    let filter = &traffic.question.filter;
    let purposes = Purpose::ROBOTS.iter().map(|purpose| purpose.as_str());
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
    vec![
        select("site", "Site", sites, filter.site.as_ref()),
        select(
            "purpose",
            "Purpose",
            owned(purposes.chain([NONE_KNOWN]).collect()),
            filter.purpose.as_ref(),
        ),
        select(
            "verdict",
            "Verdict",
            owned(verdict_words()),
            filter.verdict.as_ref(),
        ),
        select(
            "decision",
            "Decision",
            owned(decision_words()),
            filter.decision.as_ref(),
        ),
    ]
}

fn select(
    key: &'static str,
    label: &'static str,
    words: Vec<String>,
    chosen: Option<&String>,
) -> SelectView {
    let all = [(String::new(), "All".to_owned(), chosen.is_none())];
    let choices = words.into_iter().map(|word| {
        let name = match &*word {
            NONE_KNOWN => "unknown".to_owned(),
            word => word.to_owned(),
        };
        let is_chosen = chosen == Some(&word);
        (word, name, is_chosen)
    });
    SelectView {
        key,
        label,
        choices: all.into_iter().chain(choices).collect(),
    }
}
