//! Compares some heaven pages with their originals after a run; heaven pages with additional text
//! are reported, or withdrawn until they match the original again.

use std::{collections::HashMap, time::Duration};

use serde::{Deserialize, Serialize};
use url::Url;

use crate::config::ParityAction;
use crate::heaven::Catalogue;
use crate::site_robot::is_large_share;
use crate::store::{ParityResult, ParityTerms};

use super::{SiteRobotRuns, parity::Comparison};

/// The time limit for all comparisons after a run.
const MAX_MS: i64 = 5 * 60 * 1_000;

/// The maximum number of characters to store from a sentence.
const SENTENCE_CHARS: usize = 300;

/// The result of comparing heaven pages with their originals after a run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ParityPass {
    /// The number of compared heaven pages.
    pub compared: u64,
    /// The number of heaven pages with text that their originals do not contain.
    pub differing: u64,
    /// The first heaven page with text that its original does not have.
    pub first: Option<Excess>,
    /// The number of heaven pages withdrawn because their originals lack some of their text.
    pub withdrawn: u64,
    /// The number of heaven pages that match their originals again and are therefore shown again.
    pub returned: u64,
    /// The reason why no page was withdrawn, although pages differ.
    pub held: Option<String>,
}

/// A sentence of a heaven page that the original does not contain.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Excess {
    /// The URL of the original page.
    pub url: String,
    /// The sentence that the original does not contain.
    pub sentence: String,
}

impl SiteRobotRuns {
    /// Compares the least recently compared pages; after a refresh of single pages, only the
    /// refreshed pages.
    ///
    /// Pages that the run downloaded in full are skipped, unless they differed before. A database
    /// failure is logged and changes nothing.
    pub(super) async fn check_parity(&self, run_id: i64) -> Option<ParityPass> {
        if self.settings.configured.heaven.parity_pages == 0 {
            return None;
        }
        let site = self.robot.site();
        let pass = match self.parity_pass(site, run_id).await {
            Ok(pass) => pass,
            Err(error) => {
                tracing::warn!(
                    site,
                    "cannot compare robot heaven with the pages of {site}: {error:#}"
                );
                return None;
            }
        };
        if let Some(Excess { url, sentence }) = &pass.first {
            let (differing, withdrawn) = (pass.differing, pass.withdrawn);
            let why = pass.held.as_ref();
            let why = why.map_or_else(String::new, |why| format!("; no page was withdrawn: {why}"));
            tracing::warn!(
                site,
                differing,
                withdrawn,
                url = %url.escape_debug(),
                "{differing} heaven pages contain text that the pages of {site} do not \
                 (withdrawn: {withdrawn}); the first contains {:?}{why}",
                sentence
            );
        }
        Some(pass)
    }

    async fn parity_pass(&self, site: &str, run_id: i64) -> anyhow::Result<ParityPass> {
        let section = &self.settings.configured.heaven;
        let urls = if self.only.is_empty() {
            let since_ms = self.store.frontier().run(run_id).await?.started_ms;
            let pages = section.parity_pages;
            self.store
                .publications()
                .pages_to_compare(site, since_ms, pages)
                .await?
        } else {
            let only = self.only.iter().map(ToString::to_string);
            only.map(|url| (url, false)).collect()
        };
        let catalogue = if urls.is_empty() {
            Catalogue::default()
        } else {
            self.library.catalogue(self.heaven()).await?
        };
        let began_ms = self.clock.now_ms();
        let (mut results, mut is_out) = (Vec::new(), Vec::new());
        let mut pauses = HashMap::new();
        for (url, is_withdrawn) in urls {
            if self.clock.now_ms().saturating_sub(began_ms) > MAX_MS {
                break;
            }
            let Some(stored) = self.store.descriptions().kept(site, &url).await? else {
                continue;
            };
            if !results.is_empty() {
                tokio::time::sleep(self.pause_of(&url, &mut pauses).await).await;
            }
            let result = match self.comparison(&stored, &catalogue).await {
                Comparison::Agrees => ParityResult::Agrees,
                Comparison::SaysMore(sentences) => ParityResult::SaysMore(shown(&sentences)),
                Comparison::Unknown(_) | Comparison::LeftOut => ParityResult::Unknown,
            };
            results.push((url, result));
            is_out.push(is_withdrawn);
        }
        let known = self.store.publications().parity_state(site).await?;
        let shown = self.store.descriptions().count(site).await?;
        let heaven = (known.withdrawn, shown);
        let (terms, mut pass) = judge(section.parity, &results, &is_out, heaven);
        let now_ms = self.clock.now_ms();
        let changes = self
            .store
            .publications()
            .record_parity(site, &results, terms, now_ms);
        (pass.withdrawn, pass.returned) = changes.await?;
        Ok(pass)
    }

    /// Returns the pause that a run makes between two visits to the URL's host.
    async fn pause_of(&self, url: &str, known: &mut HashMap<String, Duration>) -> Duration {
        let Ok(url) = Url::parse(url) else {
            return Duration::ZERO;
        };
        let host = url.authority().to_owned();
        if let Some(pause) = known.get(&host) {
            return *pause;
        }
        let pause = self.robot.pause_of(&url).await;
        known.insert(host, pause);
        pause
    }
}

/// Decides which pages with additional text are withdrawn; if there are many such pages, none are
/// withdrawn.
///
/// `is_out` specifies for each page whether it is already withdrawn; `withdrawn` and `shown` are
/// the numbers of withdrawn and shown heaven pages.
fn judge(
    action: ParityAction,
    results: &[(String, ParityResult)],
    is_out: &[bool],
    (withdrawn, shown): (u64, u64),
) -> (ParityTerms, ParityPass) {
    let (mut pass, mut new, mut compared) = (ParityPass::default(), 0, 0);
    for ((url, result), is_out) in results.iter().zip(is_out) {
        if *result == ParityResult::Unknown {
            continue;
        }
        pass.compared += 1;
        compared += u64::from(!is_out);
        if let ParityResult::SaysMore(sentence) = result {
            pass.differing += 1;
            new += u64::from(!is_out);
            pass.first.get_or_insert_with(|| Excess {
                url: url.clone(),
                sentence: sentence.clone(),
            });
        }
    }
    if action == ParityAction::Report {
        return (ParityTerms::Report, pass);
    }
    let pages = withdrawn.saturating_add(shown);
    if is_large_share(new, compared) {
        pass.held = Some(format!(
            "{new} of {compared} compared pages have more text than their originals, as happens when a login has expired: \
             check site_robot.login"
        ));
    } else if new > 0 && is_large_share(withdrawn.saturating_add(new), pages) {
        pass.held = Some(format!(
            "{withdrawn} of {pages} pages are already withdrawn for this reason: see the output of site-robot parity"
        ));
    }
    let terms = match pass.held {
        Some(_) => ParityTerms::WithdrawNoMore,
        None => ParityTerms::Withdraw,
    };
    (terms, pass)
}

/// Returns the first of the sentences, truncated to the maximum length.
fn shown(sentences: &[String]) -> String {
    let first = sentences.first().map_or("", String::as_str);
    first.chars().take(SENTENCE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(more: usize, agree: usize, unknown: usize) -> Vec<(String, ParityResult)> {
        let result = |number: usize| match number {
            it if it < more => ParityResult::SaysMore(format!("Sentence {it}.")),
            it if it < more + agree => ParityResult::Agrees,
            _ => ParityResult::Unknown,
        };
        let count = more + agree + unknown;
        let url = |number| format!("https://www.example.com/{number}");
        (0..count).map(|it| (url(it), result(it))).collect()
    }

    fn judged(
        action: ParityAction,
        (more, agree, unknown): (usize, usize, usize),
        out: usize,
        heaven: (u64, u64),
    ) -> (ParityTerms, ParityPass) {
        let results = results(more, agree, unknown);
        let is_out: Vec<_> = (0..results.len()).map(|number| number < out).collect();
        judge(action, &results, &is_out, heaven)
    }

    #[test]
    fn pages_with_additional_text_are_reported_or_withdrawn() {
        let (terms, pass) = judged(ParityAction::Report, (2, 5, 3), 0, (0, 100));
        assert_eq!(
            (terms, pass.compared, pass.differing),
            (ParityTerms::Report, 7, 2)
        );
        let first = pass.first.unwrap();
        assert_eq!(first.url, "https://www.example.com/0");
        assert_eq!(first.sentence, "Sentence 0.");
        let (terms, pass) = judged(ParityAction::Withdraw, (2, 5, 3), 0, (0, 100));
        assert_eq!((terms, pass.held), (ParityTerms::Withdraw, None));
    }

    #[test]
    fn no_page_is_withdrawn_if_many_differ() {
        let of = |results, out, heaven| {
            let (terms, pass) = judged(ParityAction::Withdraw, results, out, heaven);
            assert_eq!(pass.held.is_some(), terms == ParityTerms::WithdrawNoMore);
            pass.held.unwrap_or_default()
        };
        assert_eq!(
            of((10, 0, 0), 0, (0, 100)),
            "",
            "ten pages are withdrawn, as in a run"
        );
        let held = of((11, 30, 9), 0, (0, 1_000));
        assert!(held.contains("11 of 41 compared pages"), "{held}");
        assert_eq!(of((11, 44, 0), 0, (0, 1_000)), "", "a fifth is withdrawn");
        let held = of((5, 45, 0), 0, (16, 80));
        assert!(
            held.contains("16 of 96 pages are already withdrawn"),
            "{held}"
        );
        assert_eq!(
            of((16, 20, 0), 16, (16, 80)),
            "",
            "pages that are already withdrawn"
        );
    }
}
