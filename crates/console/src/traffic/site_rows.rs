//! The traffic figures of each site.

use std::collections::BTreeMap;

use crate::{problem::Problem, state::AdminState};
use robot_detection_layer::detect::{Kind, Verdict};
use robot_detection_traffic::traffic::{Figures, KEPT_FROM_UPSTREAM, KnownRobots, is_spared};

use super::{TrafficParams, bar::BarView, change::ChangeView, loaded::Traffic, number::FigureView};

/// The traffic of all sites, for the sites page.
#[derive(Debug)]
pub(crate) struct SiteTraffic {
    pub(crate) bar: BarView,
    pub(crate) rows: Vec<SiteRow>,
    pub(crate) csv: String,
    pub(crate) json: String,
}

#[derive(Debug)]
pub(crate) struct SiteRow {
    pub(crate) name: String,
    pub(crate) requests: FigureView,
    pub(crate) change: ChangeView,
    pub(crate) people: FigureView,
    pub(crate) robots: FigureView,
    pub(crate) impostors: FigureView,
    /// Requests that did not reach the upstream.
    pub(crate) spared: FigureView,
    pub(crate) bytes: FigureView,
}

#[derive(Default)]
struct Sums {
    all: u64,
    before: u64,
    people: u64,
    robots: u64,
    impostors: u64,
    spared: u64,
    bytes: u64,
}

impl SiteTraffic {
    pub(crate) async fn load(state: &AdminState, params: &TrafficParams) -> Result<Self, Problem> {
        let traffic = Traffic::load(state, params).await?;
        let detector = state.operations().detector.load();
        let known = KnownRobots::new(&detector);
        let before = traffic.figures_before(&known);
        let mut sums = BTreeMap::<String, Sums>::new();
        for site in state.operations().sites.load().iter() {
            sums.entry(site.name.clone()).or_default();
        }
        for (key, count) in traffic.figures(&known).sums() {
            let site = sums.entry(key.site.clone()).or_default();
            let is_person = Kind::PEOPLE.iter().any(|kind| kind.as_str() == key.kind);
            let hits_if = |is: bool| if is { count.hits } else { 0 };
            site.all += count.hits;
            site.bytes = site.bytes.saturating_add(count.bytes);
            site.people += hits_if(is_person);
            site.robots += hits_if(!is_person);
            site.impostors += hits_if(key.verdict == Verdict::Spoofed.as_str());
            site.spared += hits_if(is_spared(&key.decision));
        }
        for (key, count) in before.iter().flat_map(Figures::sums) {
            sums.entry(key.site.clone()).or_default().before += count.hits;
        }
        let word = [("by", "site")];
        Ok(Self {
            bar: BarView::new("sites", &[], &traffic, state),
            rows: sums
                .into_iter()
                .map(|(name, sums)| SiteRow::new(name, &sums, &traffic))
                .collect(),
            csv: traffic.question.link("traffic/export", &word),
            json: traffic.question.link("api/v1/traffic", &word),
        })
    }
}

impl SiteRow {
    fn new(name: String, sums: &Sums, traffic: &Traffic) -> Self {
        let figure = |value: u64, other: (&str, &str)| {
            let link = traffic.question.link("traffic", &[("site", &name), other]);
            FigureView::requests(value, link)
        };
        Self {
            requests: figure(sums.all, ("by", "")),
            change: ChangeView::new(sums.all, traffic.before.as_ref().map(|_| sums.before)),
            people: figure(sums.people, ("visitors", "people")),
            robots: figure(sums.robots, ("visitors", "robots")),
            impostors: figure(sums.impostors, ("verdict", Verdict::Spoofed.as_str())),
            spared: figure(sums.spared, ("decision", KEPT_FROM_UPSTREAM)),
            bytes: FigureView::bytes(sums.bytes),
            name,
        }
    }
}
