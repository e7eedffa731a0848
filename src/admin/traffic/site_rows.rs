//! Figures of each site.

use std::collections::BTreeMap;

use crate::admin::{problem::Problem, state::AdminState};
use crate::detect::{Kind, Verdict};
use crate::traffic::{Figures, KnownRobots, SPARED, is_spared};

use super::{TrafficParams, bar::BarView, change::ChangeView, loaded::Traffic, number::FigureView};

/// Traffic of all sites.
#[derive(Debug)]
pub(in crate::admin) struct SiteTraffic {
    pub(in crate::admin) bar: BarView,
    pub(in crate::admin) rows: Vec<SiteRow>,
    pub(in crate::admin) csv: String,
    pub(in crate::admin) json: String,
}

#[derive(Debug)]
pub(in crate::admin) struct SiteRow {
    pub(in crate::admin) name: String,
    pub(in crate::admin) requests: FigureView,
    pub(in crate::admin) change: ChangeView,
    pub(in crate::admin) people: FigureView,
    pub(in crate::admin) robots: FigureView,
    pub(in crate::admin) impostors: FigureView,
    /// Requests that were not passed on.
    pub(in crate::admin) spared: FigureView,
    pub(in crate::admin) bytes: FigureView,
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
    pub(in crate::admin) async fn load(
        state: &AdminState,
        params: &TrafficParams,
    ) -> Result<Self, Problem> {
        let traffic = Traffic::load(state, params).await?;
        let detector = state.admin().detector.load();
        let known = KnownRobots::new(&detector);
        let before = traffic.figures_before(&known);
        let mut sums = BTreeMap::<String, Sums>::new();
        for site in state.admin().sites.load().iter() {
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
            json: traffic.question.link("api/traffic", &word),
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
            spared: figure(sums.spared, ("decision", SPARED)),
            bytes: FigureView::bytes(sums.bytes),
            name,
        }
    }
}
