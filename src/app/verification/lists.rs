//! The job that keeps lists of addresses up to date.

use std::{collections::BTreeSet, time::Duration};

use tokio::time;
use tracing::warn;

use crate::detect::SharedDetector;
use crate::fetch::shown_url;
use crate::verify::Method;

use super::Proving;

/// Time between two looks at what is due; what a robot asks for is looked at once.
const TICK: Duration = Duration::from_mins(5);

impl Proving {
    /// Loads the lists that the database has, and downloads those that are due, for ever.
    ///
    /// A list is downloaded once a robot came that it could prove, and from then on.
    pub(in crate::app) async fn keep_lists(self, detector: SharedDetector) {
        let mut is_loaded = false;
        loop {
            if self.settings().uses(Method::Ranges) {
                // Nothing is downloaded before: a list that the database has would be fetched once
                // more.
                is_loaded = is_loaded || self.load_lists().await;
                let urls = self.kept_lists(&detector);
                if is_loaded && !urls.is_empty() {
                    self.refresher().refresh(&urls, false).await;
                }
            }
            tokio::select! {
                () = time::sleep(TICK) => {}
                () = self.verifier().ranges_wanted() => {}
            }
        }
    }

    /// Applies what the database keeps; returns whether it could be read.
    pub(in crate::app) async fn load_lists(&self) -> bool {
        match self.refresher().load().await {
            Ok(()) => true,
            Err(error) => {
                warn!(%error, "the lists of robots' addresses cannot be loaded, so that they prove nothing for now: {error}");
                false
            }
        }
    }

    /// Returns the URLs of lists that robots name, and that are here or wanted.
    fn kept_lists(&self, detector: &SharedDetector) -> Vec<String> {
        let wanted = self.verifier().wanted_ranges();
        let states = self.refresher().states();
        let known: BTreeSet<&str> = states.iter().map(|state| &*state.url).collect();
        let urls: BTreeSet<String> = (detector.load().robots().iter())
            .filter_map(|robot| robot.ranges_url.as_ref())
            // Lists of robots that never come are not asked for; states have URLs without their
            // passwords.
            .filter(|url| wanted.contains(*url) || known.contains(&*shown_url(url)))
            .cloned()
            .collect();
        urls.into_iter().collect()
    }
}
