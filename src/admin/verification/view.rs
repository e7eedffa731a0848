//! All that is shown of verdicts, for page and JSON.

use serde::{Deserialize, Serialize};

use super::{
    fetches::FetchView,
    lists::ListView,
    robots::{Order, RobotIndex, RobotRow},
    spoofed::SpoofedView,
    totals::{HourView, TotalsView},
};
use crate::admin::{problem::Problem, state::AdminState};
use crate::verify::{DnsProver, Method, Methods};

/// Longest robot id that the query may name.
const MAX_ROBOT_CHARS: usize = 200;

/// What the query says.
#[derive(Debug, Default, Deserialize)]
pub(in crate::admin) struct ViewParams {
    #[serde(default)]
    robot: String,
    #[serde(default)]
    sort: String,
    #[serde(default)]
    dir: String,
}

/// All that is shown of verdicts.
#[derive(Debug, Serialize)]
pub(super) struct View {
    /// Methods in use; none: verification is off.
    pub(super) methods: Vec<&'static str>,
    /// Addresses that had no name in the DNS, if there were some and none had one.
    pub(super) nameless: Option<u64>,
    /// Of the last 24 hours, on requests of all robots.
    pub(super) totals: TotalsView,
    /// Requests that passed or wait without a verdict, at the moment.
    pub(super) pending: u64,
    /// Robot that the hours are of; nothing: all of them.
    pub(super) robot: Option<String>,
    /// The last 24 hours, the oldest first; empty where no request was counted.
    pub(super) hours: Vec<HourView>,
    pub(super) robots: Vec<RobotRow>,
    /// The last hundred, the last first.
    pub(super) spoofed: Vec<SpoofedView>,
    pub(super) lists: Vec<ListView>,
    /// Whether lists are being fetched, as somebody asked for.
    pub(super) fetching: bool,
    /// What comes of that, or came of it the last time; nothing: nobody asked for it yet.
    pub(super) fetch: Option<FetchView>,
    #[serde(skip)]
    pub(super) order: Order,
}

impl View {
    pub(super) fn load(state: &AdminState, params: &ViewParams) -> Result<Self, Problem> {
        let order = Order::parse(&params.sort, &params.dir)?;
        let verifier = &state.admin().verifier;
        let detector = state.admin().detector.load();
        let known = RobotIndex::new(&detector);
        let robot: String = params.robot.chars().take(MAX_ROBOT_CHARS).collect();
        let robot = (!robot.is_empty()).then_some(robot);
        let (counts, methods) = (verifier.counts(), verifier.methods());
        let chosen = counts
            .iter()
            .filter(|counted| robot.is_none() || counted.robot == robot);
        let mut robots: Vec<_> = counts
            .iter()
            .map(|counted| RobotRow::new(counted, &known))
            .collect();
        order.apply(&mut robots);
        // Before the lists: what it says has come, they show.
        let fetch = state.list_fetches().view(state.now_ms());
        Ok(Self {
            methods: words(&methods),
            nameless: methods.reverse_dns.as_ref().and_then(DnsProver::nameless),
            totals: TotalsView::sum(&counts),
            pending: verifier.pending(),
            hours: HourView::sum(chosen, state.now_ms()),
            robot,
            robots,
            spoofed: SpoofedView::all(state, &known),
            lists: ListView::all(state, &detector, &known),
            fetching: fetch.as_ref().is_some_and(|fetch| fetch.running),
            fetch,
            order,
        })
    }

    /// Returns `true` if claims are proven at all.
    pub(super) fn is_on(&self) -> bool {
        !self.methods.is_empty()
    }

    /// Returns `true` if lists of addresses are in use.
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
