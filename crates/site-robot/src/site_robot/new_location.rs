//! Searches for the new location of pages that have moved or are excluded by our settings.

use url::Url;

use robot_detection_store::store::{Loss, LostDescription, StoreError};

use super::{
    ending::RunEnd,
    losses::{NewLocation, is_same_site},
    settings::Settings,
    starts::{RedirectEnd, is_described, redirect_end},
    tally::LossTally,
};

impl RunEnd<'_> {
    /// Finds the new location of a moved page by following its redirects.
    pub(super) async fn follow_redirects(
        &self,
        lost: &LostDescription,
        tally: &mut LossTally,
    ) -> Result<NewLocation, StoreError> {
        let Settings { store, site, .. } = self.settings;
        let run_id = self.run.run_id;
        let Some(known) = store.frontier().known_url(site, &lost.url).await? else {
            return Ok(NewLocation::Behind);
        };
        let end = redirect_end(self.settings, run_id, &lost.url, &known).await?;
        let (RedirectEnd::Met(to, _) | RedirectEnd::Unmet(to)) = &end;
        tally.count_target(to);
        Ok(match end {
            RedirectEnd::Unmet(to) => {
                let urls = (Url::parse(&lost.url), Url::parse(&to));
                // Only these statuses are permanent redirects (RFC 9110 §15.4.2 and §15.4.9).
                let is_lasting = matches!(lost.status, Some(301 | 308));
                let is_out = |to: &Url| self.settings.scope.check_host(to).is_err();
                match urls {
                    (Ok(from), Ok(to))
                        if is_lasting && is_out(&to) && !is_same_site(&from, &to) =>
                    {
                        NewLocation::AwayForGood
                    }
                    _ => NewLocation::Away,
                }
            }
            RedirectEnd::Met(to, there) => {
                let is_known = store.descriptions().find(site, &to).await?.is_some();
                if is_described(&there) && (!there.asks_password || is_known) {
                    NewLocation::Described
                } else if there.status.is_none()
                    || there.asks_password
                    || matches!(there.loss, Some(Loss::Login | Loss::Locked | Loss::Missing))
                {
                    NewLocation::Behind
                } else {
                    NewLocation::Nowhere
                }
            }
        })
    }

    /// Looks for an excluded page below a starting point, because the scheme, name or address of
    /// the site may have changed.
    pub(super) async fn find_at_starting_point(
        &self,
        lost: &LostDescription,
    ) -> Result<NewLocation, StoreError> {
        let Settings {
            store,
            site,
            starts,
            ..
        } = self.settings;
        let Ok(url) = Url::parse(&lost.url) else {
            return Ok(NewLocation::Nowhere);
        };
        let below = url.as_str().get(url.origin().ascii_serialization().len()..);
        for start in starts {
            let origin = start.url.origin();
            if origin == url.origin() {
                continue;
            }
            let twin = format!("{}{}", origin.ascii_serialization(), below.unwrap_or("/"));
            let known = store.frontier().known_url(site, &twin).await?;
            let is_here = |run_id| run_id == self.run.run_id;
            if known.is_some_and(|known| is_here(known.run_id) && is_described(&known)) {
                return Ok(NewLocation::Described);
            }
        }
        Ok(NewLocation::Nowhere)
    }
}
