//! The overview, which shows current traffic and problems that need attention.

use askama::Template;
use axum::{extract::State, response::Response};

use crate::api::{Need, needs};
use crate::fields::Params;
use crate::filtering::FilteringView;
use crate::page::{Page, html};
use crate::problem::Problem;
use crate::sites::SelectedSite;
use crate::sources::{self, SourceView};
use crate::state::AdminState;
use crate::{AdminSite, refreshes};
use robot_detection_layer::detect::{Detector, Kind, Verdict};
use robot_detection_layer::policy::Action;
use robot_detection_store::store::TrafficKey;
use robot_detection_traffic::traffic::{
    By, Figures, KEPT_FROM_UPSTREAM, KnownRobots, NONE_KNOWN, TimeSteps,
};

use super::{
    TrafficParams,
    area::{AreaChart, Named, sparkline},
    bar::BarView,
    change::ChangeView,
    explore::{RowView, rows},
    loaded::Traffic,
    number::{FigureView, percent},
    question::parse_grouping,
    sentences::{Sentence, sentences},
};

/// Number of robots shown on the overview.
const TOP_ROBOTS: usize = 8;

/// The groupings offered for the chart on the overview.
const STACKED: &[By] = &[By::Purpose, By::Decision];

#[derive(Template)]
#[template(path = "admin/now.html")]
struct NowPage {
    page: Page,
    sources: Vec<SourceView>,
    /// Problems that need attention, other than problems with the traffic.
    needs: Vec<Need>,
    /// Text about a front proxy that hides the visitors' addresses, with the required action.
    front: Option<String>,
    is_bundled_only: bool,
    is_refreshing: bool,
    filtering: FilteringView,
    /// Current traffic; `None` while the database is unavailable.
    now: Option<NowView>,
}

/// An overview of the stored traffic.
struct NowView {
    bar: BarView,
    /// Whether traffic has ever been stored.
    is_kept: bool,
    sentences: Vec<SentenceView>,
    tiles: Vec<TileView>,
    chart: AreaChart,
    by: &'static str,
    /// Name and link of each grouping, and whether the grouping is selected.
    stacks: Vec<(&'static str, String, bool)>,
    robots: Vec<RowView>,
    /// Link to the list of all robots.
    all_robots: String,
    spared: AvoidedLoadView,
}

struct SentenceView {
    text: String,
    link: String,
    is_alarm: bool,
}

struct TileView {
    name: &'static str,
    note: &'static str,
    figure: FigureView,
    change: ChangeView,
    spark: String,
}

/// The requests that did not reach the upstream.
struct AvoidedLoadView {
    figure: FigureView,
    share: String,
    /// Number of requests for each action.
    parts: Vec<(&'static str, FigureView)>,
}

/// Shows the overview page.
pub(crate) async fn show(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
    page: Page,
) -> Result<Response, Problem> {
    let of = SelectedSite::new(&state, &params.site, None);
    let sources = sources::load(&state).await?;
    let traffic = match Traffic::load(&state, &params).await {
        Ok(loaded) => Some(loaded),
        // The page must report the database outage instead of failing because traffic figures are
        // missing.
        Err(problem) if page.already_reports(&problem) => None,
        Err(problem) => return Err(problem),
    };
    let front = first_front(&state);
    let in_need = |source: &&SourceView| source.held.is_some() || source.failure.is_some();
    let own = needs(&state).await?;
    let needs = sources.iter().filter(in_need).count() + usize::from(front.is_some()) + own.len();
    let asked = parse_grouping(&params.by, STACKED)?.unwrap_or(By::Purpose);
    let detector = state.operations().detector.load();
    Ok(html(&NowPage {
        now: traffic.map(|traffic| NowView::new(&traffic, asked, needs, &state, &detector)),
        filtering: of.map_or_else(
            || FilteringView::new("", &state.operations().policy.load()),
            |of| FilteringView::new(&of.name, &of.policy.load()),
        ),
        needs: own,
        front,
        is_bundled_only: sources::is_bundled_only(&sources),
        is_refreshing: refreshes::current(&state).running,
        sources,
        page,
    }))
}

/// Shows the overview at the console's root.
///
/// Redirects if the URL has no trailing slash, because relative links would not work.
pub(crate) async fn top(
    State(state): State<AdminState>,
    Params(params): Params<TrafficParams>,
    page: Page,
) -> Result<Response, Problem> {
    if page.location.root == "./" {
        show(State(state), Params(params), page).await
    } else {
        Ok(page.location.see_other("overview"))
    }
}

fn first_front(state: &AdminState) -> Option<String> {
    let sites = state.operations().sites.load();
    sites.iter().find_map(AdminSite::masking_proxy)
}

impl NowView {
    fn new(
        traffic: &Traffic,
        by: By,
        needs: usize,
        state: &AdminState,
        detector: &Detector,
    ) -> Self {
        let known = KnownRobots::new(detector);
        let figures = traffic.figures(&known);
        let before = traffic.figures_before(&known);
        let question = &traffic.question;
        let course = traffic.time_steps();
        let by_word = by.as_str();
        let own = [("by", if by == By::Purpose { "" } else { by_word })];
        let words = question.previous_period_text();
        let said = sentences(&figures, before.as_ref(), &words, needs);
        Self {
            bar: BarView::new("overview", &own, traffic, state),
            is_kept: traffic.first.is_some(),
            sentences: said
                .into_iter()
                .map(|sentence| SentenceView::new(sentence, traffic))
                .collect(),
            tiles: tiles(traffic, &figures, before.as_ref(), &course),
            chart: chart(traffic, by, &known, &course),
            by: by_word,
            stacks: STACKED
                .iter()
                .map(|one| {
                    let link = question.link("overview", &[("by", one.as_str())]);
                    (one.as_str(), link, *one == by)
                })
                .collect(),
            robots: rows(
                traffic,
                &known,
                &figures,
                before.as_ref(),
                By::Robot,
                TOP_ROBOTS,
            ),
            all_robots: question.link("robots", &[]),
            spared: AvoidedLoadView::new(traffic, &figures),
        }
    }
}

/// Returns the chart of robots. People are omitted, because their larger numbers would dominate the
/// chart.
fn chart(traffic: &Traffic, by: By, known: &KnownRobots<'_>, course: &TimeSteps) -> AreaChart {
    let figures = traffic.robots_only(known);
    let lines = figures.lines(by, course);
    AreaChart::new(&lines, course, traffic.zone, |line| {
        let word = line.cells.first().cloned().flatten();
        let value = word.clone().unwrap_or_else(|| NONE_KNOWN.to_owned());
        let visitors = traffic
            .question
            .filter
            .visitors
            .as_deref()
            .unwrap_or("robots");
        let other = [("visitors", visitors), (by.as_str(), &*value)];
        Named {
            name: word.unwrap_or_else(|| "unknown".to_owned()),
            link: traffic.question.link("traffic", &other),
        }
    })
}

impl SentenceView {
    fn new(sentence: Sentence, traffic: &Traffic) -> Self {
        let other = [("robot", &*sentence.robot), ("verdict", sentence.verdict)];
        let link = match &*sentence.robot {
            "" => String::new(),
            _ => traffic.question.link("traffic", &other),
        };
        Self {
            text: sentence.text,
            link,
            is_alarm: sentence.is_alarm,
        }
    }
}

fn tiles(
    traffic: &Traffic,
    figures: &Figures<'_>,
    before: Option<&Figures<'_>>,
    course: &TimeSteps,
) -> Vec<TileView> {
    let is_kind =
        |key: &TrafficKey, kinds: &[Kind]| kinds.iter().any(|kind| kind.as_str() == key.kind);
    let tile = |name, note, other: (&str, &str), is_of: &dyn Fn(&TrafficKey) -> bool| {
        let total = |figures: &Figures<'_>| -> u64 {
            let sums = figures.sums().filter(|(key, _)| is_of(key));
            sums.map(|(_, count)| count.hits).sum()
        };
        let now = total(figures);
        let link = traffic.question.link("traffic", &[other]);
        let steps = figures.requests_per_step(course, is_of);
        TileView {
            name,
            note,
            figure: FigureView::requests(now, link),
            change: ChangeView::new(now, before.map(total)),
            spark: sparkline(&steps),
        }
    };
    vec![
        tile(
            "People",
            "browsers, and services shared by many people",
            ("visitors", "people"),
            &|key| is_kind(key, Kind::PEOPLE),
        ),
        tile(
            "Robots",
            "listed in the registry",
            ("visitors", "listed"),
            &|key| is_kind(key, &[Kind::Listed]),
        ),
        tile(
            "Unlisted",
            "robots not in the registry",
            ("visitors", "unlisted"),
            &|key| is_kind(key, &[Kind::Unlisted]),
        ),
        tile(
            "Impostors",
            "address contradicts the claimed robot",
            ("verdict", Verdict::Spoofed.as_str()),
            &|key| key.verdict == Verdict::Spoofed.as_str(),
        ),
    ]
}

impl AvoidedLoadView {
    /// Counts the requests for which a decision other than a pass was enforced.
    fn new(traffic: &Traffic, figures: &Figures<'_>) -> Self {
        let mut all = 0;
        let mut parts: Vec<(&'static str, u64)> = Vec::new();
        for action in Action::ALL.iter().filter(|action| **action != Action::Pass) {
            let done = figures
                .sums()
                .filter(|(key, _)| key.decision == action.as_str());
            let hits = done.map(|(_, count)| count.hits).sum();
            if hits > 0 {
                parts.push((action.as_str(), hits));
            }
        }
        for (_, count) in figures.sums() {
            all += count.hits;
        }
        let spared = parts.iter().map(|(_, hits)| hits).sum();
        let link = |word: &str| traffic.question.link("traffic", &[("decision", word)]);
        Self {
            figure: FigureView::requests(spared, link(KEPT_FROM_UPSTREAM)),
            share: percent(spared, all),
            parts: parts
                .into_iter()
                .map(|(word, hits)| (word, FigureView::requests(hits, link(word))))
                .collect(),
        }
    }
}
