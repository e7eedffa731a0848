//! Charts of the last months, for pages other than the traffic pages.

use crate::{page::Page, problem::Problem, state::AdminState};
use robot_detection_layer::detect::Kind;
use robot_detection_store::store::TrafficKey;
use robot_detection_traffic::summary::Count;
use robot_detection_traffic::traffic::{Figures, KnownRobots, Line, TimeSteps};

use super::{
    TrafficParams,
    area::{AreaChart, Named},
    loaded::Traffic,
    question::TrafficQuestion,
};

/// Period that the charts show, which is long enough to span several deployments.
const TIME: &str = "90d";

/// A chart on a page other than the traffic pages, with a link to the traffic figures.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) chart: AreaChart,
    /// Link to the traffic figures, relative to the console's root.
    pub(crate) link: String,
    /// Attribute by which the stacked areas are grouped.
    pub(crate) by: &'static str,
}

/// The layers of a chart: requests grouped by a word, such as the verdict.
#[derive(Clone, Copy)]
struct Layers {
    /// Query parameter that filters requests by the word of a layer.
    by: &'static str,
    words: &'static [&'static str],
    word_of: fn(&TrafficKey) -> &str,
}

const VERDICTS: Layers = Layers {
    by: "verdict",
    words: &["verified", "unverifiable", "spoofed"],
    word_of: |key| &key.verdict,
};

const ROBOTS_TXT: Layers = Layers {
    by: "cause",
    words: &["robots.txt", "crawl-delay"],
    word_of: |key| &key.cause,
};

impl History {
    /// Loads the verdicts on all listed robots, or on a single robot; returns none while the
    /// database is unavailable.
    pub(crate) async fn verdicts(
        state: &AdminState,
        robot: Option<&str>,
        page: &Page,
    ) -> Result<Option<Self>, Problem> {
        let params = TrafficParams {
            visitors: Kind::Listed.as_str().to_owned(),
            robot: robot.unwrap_or_default().to_owned(),
            ..TrafficParams::default()
        };
        Self::load(state, params, page, VERDICTS).await
    }

    /// Loads the decisions based on a site's robots.txt, both enforced decisions and dry-run
    /// decisions.
    pub(crate) async fn robots_txt(
        state: &AdminState,
        site: &str,
        page: &Page,
    ) -> Result<Option<Self>, Problem> {
        let params = TrafficParams {
            site: site.to_owned(),
            ..TrafficParams::default()
        };
        Self::load(state, params, page, ROBOTS_TXT).await
    }

    async fn load(
        state: &AdminState,
        params: TrafficParams,
        page: &Page,
        layers: Layers,
    ) -> Result<Option<Self>, Problem> {
        let params = TrafficParams {
            time: TIME.to_owned(),
            ..params
        };
        match Self::read(state, &params, layers).await {
            Err(problem) if page.already_reports(&problem) => Ok(None),
            history => history.map(Some),
        }
    }

    async fn read(
        state: &AdminState,
        params: &TrafficParams,
        layers: Layers,
    ) -> Result<Self, Problem> {
        let question = TrafficQuestion::parse(params, state.admin().time_zone)?;
        // Names are not checked, so the page shows no requests for an unknown name.
        let traffic = Traffic::read(state, question, None).await?;
        let detector = state.operations().detector.load();
        let figures = traffic.figures(&KnownRobots::new(&detector));
        let course = traffic.time_steps();
        let lines = layers.lines(&figures, &course);
        let chart = AreaChart::new(&lines, &course, traffic.zone, |line| {
            let word = line.cells.first().cloned().flatten().unwrap_or_default();
            let link = traffic.question.link("traffic", &[(layers.by, &*word)]);
            Named { name: word, link }
        });
        Ok(Self {
            chart,
            link: traffic.question.link("traffic", &[("by", layers.by)]),
            by: layers.by,
        })
    }
}

impl Layers {
    /// Returns the requests for each word over time, without words that have no requests.
    fn lines(self, figures: &Figures<'_>, course: &TimeSteps) -> Vec<Line> {
        let count = |hits| Count { hits, bytes: 0 };
        let line = |word: &&str| {
            let steps = figures.requests_per_step(course, |key| (self.word_of)(key) == *word);
            Line {
                cells: vec![Some((*word).to_owned())],
                count: count(steps.iter().sum()),
                steps: steps.into_iter().map(count).collect(),
            }
        };
        let lines = self.words.iter().map(line);
        lines.filter(|line| line.count.hits > 0).collect()
    }
}
