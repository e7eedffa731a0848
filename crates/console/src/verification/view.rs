//! The data about verdicts that the page and its JSON version show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    fetches::FetchView,
    lists::ListView,
    robots::{RobotIndex, RobotRef, RobotRow, sort, sorting},
    totals::{TotalsView, Verdicts},
};
use crate::{Moment, problem::Problem, sorting::Sorting, state::AdminState};
use robot_detection_layer::detect::Verdict;
use robot_detection_store::store::{EvidenceQuery, StoredEvidence};
use robot_detection_store::verify::{DnsProver, Method, Methods};

/// Maximum number of characters in the ID of a robot in the query.
const MAX_ROBOT_CHARS: usize = 200;

/// The query parameters of the verification page.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ViewParams {
    #[serde(default)]
    robot: String,
    #[serde(default)]
    sort: String,
    #[serde(default)]
    dir: String,
}

/// The data about verdicts that the page and its JSON version show.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Verification")]
pub(crate) struct View {
    /// Verification methods in use; empty if verification is turned off.
    pub(super) methods: Vec<&'static str>,
    /// Number of days for which spoofed requests are stored; 0 if they are not stored.
    #[serde(skip)]
    pub(super) kept_days: u32,
    #[serde(skip)]
    pub(super) is_counted: bool,
    /// Whether the resolver returned no names for well-known addresses.
    pub(super) resolver_is_doubted: bool,
    /// Verdicts in the last 24 hours on requests from all robots.
    pub(super) totals: TotalsView,
    /// Number of current requests that passed without a verdict or are waiting for a verdict.
    pub(super) pending: u64,
    /// Robot that the chart shows; `None` if the chart shows all robots.
    pub(super) robot: Option<String>,
    pub(super) robots: Vec<RobotRow>,
    /// The hundred most recent spoofed requests, newest first.
    pub(super) spoofed: Vec<SpoofedView>,
    pub(super) lists: Vec<ListView>,
    /// Whether a fetch that was started from the page is in progress.
    pub(super) fetching: bool,
    /// State of the running or most recent fetch; `None` before the first fetch.
    pub(super) fetch: Option<FetchView>,
    #[serde(skip)]
    pub(super) sorting: Sorting,
}

impl View {
    pub(super) async fn load(state: &AdminState, params: &ViewParams) -> Result<Self, Problem> {
        let sorting = sorting(&params.sort, &params.dir)?;
        let verdicts = Verdicts::load(state).await?;
        let kept = impostors(state).await?;
        let verifier = &state.operations().verifier;
        let detector = state.operations().detector.load();
        let known = RobotIndex::new(&detector);
        let robot: String = params.robot.chars().take(MAX_ROBOT_CHARS).collect();
        let robot = (!robot.is_empty()).then_some(robot);
        let methods = verifier.methods();
        let dns = methods.reverse_dns.as_ref();
        let robots = verdicts.robots();
        let mut robots: Vec<_> = robots
            .map(|(id, counts)| RobotRow::new(id, counts, &known))
            .collect();
        sort(&mut robots, sorting);
        // Read before the lists, so that a list counted as fetched here is also shown as fetched
        // there.
        let fetch = state.list_fetches().view(state.now_ms());
        Ok(Self {
            methods: words(&methods),
            kept_days: state.operations().traffic.evidence_days(),
            is_counted: state.operations().traffic.is_kept(),
            resolver_is_doubted: dns.is_some_and(DnsProver::is_unreliable),
            totals: verdicts.total(),
            pending: verifier.pending(),
            robot,
            robots,
            spoofed: SpoofedView::all(kept, &known, state.now_ms()),
            lists: ListView::all(state, &detector, &known),
            fetching: fetch.as_ref().is_some_and(|fetch| fetch.running),
            fetch,
            sorting,
        })
    }

    /// Returns `true` if at least one verification method is in use.
    pub(super) fn is_on(&self) -> bool {
        !self.methods.is_empty()
    }

    /// Returns `true` if address lists are in use.
    pub(super) fn uses_lists(&self) -> bool {
        self.methods.contains(&Method::Ranges.as_str())
    }
}

fn words(methods: &Methods) -> Vec<&'static str> {
    let uses = |method: &&Method| match method {
        Method::Ranges => methods.ranges.is_some(),
        Method::ReverseDns => methods.reverse_dns.is_some(),
        Method::WebBotAuth => methods.web_bot_auth.is_some(),
    };
    let methods = Method::ALL.iter().filter(uses);
    methods.map(|method| method.as_str()).collect()
}

/// A stored request whose claim is spoofed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "SpoofedRequest")]
pub(super) struct SpoofedView {
    pub(super) at: Moment,
    /// Robot that the request claims to come from.
    pub(super) robot: RobotRef,
    /// Address of the client, or its network if only the network is stored.
    pub(super) address: Option<String>,
    pub(super) site: String,
    pub(super) method: String,
    pub(super) host: String,
    pub(super) path: String,
    pub(super) user_agent: String,
    /// Word for the decision on the request.
    pub(super) decision: String,
    pub(super) evidence: String,
}

impl SpoofedView {
    fn all(kept: Vec<StoredEvidence>, known: &RobotIndex<'_>, now_ms: i64) -> Vec<Self> {
        let requests = kept.into_iter().map(|kept| kept.evidence);
        requests
            .map(|request| Self {
                at: Moment::new(request.at_ms, now_ms),
                robot: known.find(&request.robot),
                address: Some(request.address).filter(|address| !address.is_empty()),
                site: request.site,
                method: request.method,
                host: request.host,
                path: request.path,
                user_agent: request.user_agent,
                decision: request.decision,
                evidence: request.proof,
            })
            .collect()
    }
}

/// Reads the hundred most recent spoofed requests; returns none while the database is unavailable.
async fn impostors(state: &AdminState) -> Result<Vec<StoredEvidence>, Problem> {
    let query = EvidenceQuery {
        verdict: Verdict::Spoofed.as_str().to_owned(),
        ..EvidenceQuery::default()
    };
    match state.operations().store.evidence().list(&query).await {
        Err(error) if error.outage().is_some() => Ok(Vec::new()),
        kept => Ok(kept?),
    }
}
