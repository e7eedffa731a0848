//! Evaluation of fleets by pure functions that compare request counts with thresholds.

use std::collections::BTreeMap;

use crate::agents::RecentActivity;
use crate::counts::{Counts, share};
use crate::reason::{Reason, Reasons};

/// Minimum number of page requests for an evaluation, to rule out chance.
const MIN_PAGES: f64 = 60.0;

/// Minimum number of paths for an evaluation, because feed readers, monitors and mail scanners
/// request few paths.
const MIN_PATHS: f64 = 20.0;

/// Minimum share of all page requests for a User-Agent to be evaluated while its usual share is
/// unknown.
const FIRST_SHARE: f64 = 0.005;

/// Minimum multiple of the usual share for a User-Agent to be evaluated.
const TIMES_USUAL: f64 = 5.0;

/// Share of all page requests below which a User-Agent is not evaluated.
const MIN_SHARE: f64 = 0.001;

/// Maximum number of requests per address: a human visitor's browser sends a dozen for a page, and
/// a browser that loads no images sends two or more per visit.
const MAX_PER_SENDER: f64 = 1.5;

/// Maximum share of assets for a User-Agent that is considered to load no assets.
const NO_ASSETS: f64 = 0.05;

/// Minimum share of assets in other visitors' requests for a lack of assets to be significant; on a
/// site whose assets are hosted elsewhere, no visitor loads any assets.
const OTHERS_ASSETS: f64 = 0.2;

/// Share of page requests with a referrer: maximum for a fleet, and minimum for other visitors.
const REFERRED: [f64; 2] = [0.02, 0.2];

/// Share of conditional requests: maximum for a fleet, and minimum for other visitors.
const CONDITIONAL: [f64; 2] = [0.002, 0.02];

/// Minimum share of new pages for a User-Agent to be unusual, if the share for other visitors is at
/// most half of this value.
const UNSEEN: f64 = 0.4;

/// Share of deep pages: minimum for a fleet, and maximum for other visitors.
const DEEP: [f64; 2] = [0.9, 0.6];

/// Minimum share of newer versions, in page requests from a browser's other versions, for a version
/// to be old; and minimum number of these page requests.
const NEWER: f64 = 0.6;
const MIN_SIBLINGS: f64 = 50.0;

/// Minimum total weight of the reasons for flagging a fleet. A fleet's share, number of addresses,
/// and lack of assets and a cache are not sufficient, because text browsers have all of these
/// traits on some days.
const FLAGGED: u32 = 10;

/// Minimum total weight of the reasons for a fleet to remain flagged.
const GOES_ON: u32 = 6;

/// Minimum number of requests from other visitors for a comparison.
const MIN_OTHERS: f64 = 100.0;

/// Requests from other visitors, with which each User-Agent is compared.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// Request counts of visitors that load assets, for comparison with visitors that load no
    /// assets.
    counts: Counts,
    /// Numbers of page requests by browser and version.
    versions: BTreeMap<&'static str, BTreeMap<u32, f64>>,
}

impl Others {
    pub(crate) fn new(lately: &[RecentActivity], is_flagged: impl Fn(u64) -> bool) -> Self {
        let mut others = Self::default();
        let mut everybody = Counts::default();
        for one in lately.iter().filter(|one| !is_flagged(one.key)) {
            everybody.add(&one.counts, 1.0);
            if one.counts.asset_share() <= NO_ASSETS {
                continue;
            }
            others.counts.add(&one.counts, 1.0);
            if let Some((family, version)) = version(&one.agent.label.user_agent) {
                let versions = others.versions.entry(family).or_default();
                *versions.entry(version).or_default() += one.counts.pages;
            }
        }
        // On a site without assets, no visitor loads any assets.
        if others.counts.requests < MIN_OTHERS {
            others.counts = everybody;
        }
        others
    }

    /// Returns the share of assets in other visitors' requests, or 0 if there are too few requests.
    pub(crate) fn asset_share(&self) -> f64 {
        if self.counts.requests < MIN_OTHERS {
            return 0.0;
        }
        self.counts.asset_share()
    }

    fn is_old(&self, user_agent: &str) -> bool {
        let Some((family, version)) = version(user_agent) else {
            return false;
        };
        let siblings = self.versions.get(family).into_iter().flatten();
        let (mut newer, mut all) = (0.0, 0.0);
        for (_, pages) in siblings.clone().filter(|(sibling, _)| **sibling > version) {
            newer += pages;
        }
        for (_, pages) in siblings.filter(|(sibling, _)| **sibling != version) {
            all += pages;
        }
        all >= MIN_SIBLINGS && share(newer, all) >= NEWER
    }

    /// Returns the reasons why the request counts resemble a fleet's request counts.
    fn traits(&self, one: &Counts, user_agent: &str) -> Reasons {
        let others = &self.counts;
        if others.requests < MIN_OTHERS {
            return Reasons::default();
        }
        let of_pages = |part: f64, whole: &Counts| share(part, whole.pages);
        let is_few =
            |mine: f64, of_others: f64, [few, many]: [f64; 2]| mine <= few && of_others >= many;
        let referred = is_few(
            of_pages(one.referred, one),
            of_pages(others.referred, others),
            REFERRED,
        );
        let conditional = is_few(
            share(one.conditional, one.requests),
            share(others.conditional, others.requests),
            CONDITIONAL,
        );
        let [unseen, unseen_of_others] =
            [one, others].map(|counts| of_pages(counts.unseen, counts));
        let [deep, deep_of_others] = [one, others].map(|counts| of_pages(counts.deep, counts));
        let per_sender = one.per_sender();
        Reasons::default()
            .with_if(
                Reason::OneRequest,
                per_sender <= MAX_PER_SENDER && others.per_sender() >= 2.0 * per_sender,
            )
            .with_if(
                Reason::NoAssets,
                is_few(
                    one.asset_share(),
                    others.asset_share(),
                    [NO_ASSETS, OTHERS_ASSETS],
                ),
            )
            .with_if(Reason::NoReferrers, referred)
            .with_if(Reason::NoConditional, conditional)
            .with_if(
                Reason::Unseen,
                unseen >= UNSEEN && unseen_of_others <= unseen / 2.0,
            )
            .with_if(Reason::Deep, deep >= DEEP[0] && deep_of_others <= DEEP[1])
            .with_if(Reason::OldVersion, self.is_old(user_agent))
    }
}

/// Returns the reasons why a User-Agent belongs to a fleet, or `None` if it does not.
pub(crate) fn fleet(one: &RecentActivity, others: &Others) -> Option<Reasons> {
    if one.agent.paths.estimate() < MIN_PATHS {
        return None;
    }
    let is_far_over = match one.usual {
        Some(usual) => one.share >= (usual * TIMES_USUAL).max(MIN_SHARE),
        None => one.share >= FIRST_SHARE,
    };
    // New fleets are detected in the current window, slow fleets in the last hours.
    [&one.window, &one.counts].into_iter().find_map(|counts| {
        let reasons = others.traits(counts, &one.agent.label.user_agent);
        let reasons = reasons.with_if(Reason::Share, is_far_over);
        (counts.pages >= MIN_PAGES && is_fleet(reasons)).then_some(reasons)
    })
}

/// Returns `true` if the reasons are sufficient and include one that human visitors never cause.
fn is_fleet(reasons: Reasons) -> bool {
    let has = |reason| reasons.contains(reason);
    // Human visitors with a fleet's User-Agent load assets, and must not be flagged because of the
    // fleet. On sites without assets, require unseen pages without referrers.
    let is_nobody = has(Reason::NoAssets) || has(Reason::NoReferrers) && has(Reason::Unseen);
    has(Reason::Share) && is_nobody && reasons.weight() >= FLAGGED
}

/// Returns `true` if a flagged fleet continued to behave like a fleet in a window.
pub(crate) fn still_behaves_like_fleet(window: &Counts, user_agent: &str, others: &Others) -> bool {
    others.traits(window, user_agent).weight() >= GOES_ON
}

/// Texts that precede a browser's version, most specific first: the User-Agents of Edge and Opera
/// also contain Chrome's version.
const FAMILIES: [&str; 7] = [
    "Edg/",
    "OPR/",
    "SamsungBrowser/",
    "FxiOS/",
    "Firefox/",
    "Chrome/",
    "Version/",
];

/// Returns a browser's family and major version.
pub(crate) fn version(user_agent: &str) -> Option<(&'static str, u32)> {
    FAMILIES.into_iter().find_map(|family| {
        let (_, rest) = user_agent.split_once(family)?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((family, digits.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_specific_browser_name_is_used() {
        for (user_agent, expected) in [
            (
                "Mozilla/5.0 (X11) AppleWebKit/537.36 Chrome/150.0.0.0 Safari/537.36",
                Some(("Chrome/", 150)),
            ),
            (
                "… Chrome/150.0.0.0 Safari/537.36 Edg/151.0",
                Some(("Edg/", 151)),
            ),
            ("Gecko/20100101 Firefox/153.0", Some(("Firefox/", 153))),
            ("Version/18.3 Safari/605.1.15", Some(("Version/", 18))),
            ("Chrome/99999999999999999999", None),
            ("w3m/0.5.3", None),
        ] {
            assert_eq!(version(user_agent), expected, "{user_agent}");
        }
    }
}
