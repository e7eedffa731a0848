//! Checks that search engines can be told of pages by `IndexNow`.

use crate::app::SiteRobotSettings;
use crate::operations::rfc3339;
use crate::store::{Store, StoreError};

use super::{check::Check, sites::ServedSite};

/// Checks how the last telling went, and that the key's file is where search engines look for it.
pub(super) async fn index_now_checks(
    site: &ServedSite,
    robot: &SiteRobotSettings,
    store: Option<&Store>,
    offline: bool,
) -> Vec<Check> {
    let name = site.label("IndexNow");
    let (Some(announcer), Some(store)) = (robot.announcer(), store) else {
        return Vec::new();
    };
    let mut checks = Vec::new();
    checks.push(match last(store, site.name()).await {
        Ok((text, None)) => Check::new(&*name, Ok(text)),
        Ok((text, Some(failure))) => Check::warning(&name, format!("{text}: {failure}")),
        Err(error) => Check::new(&*name, Err(error.to_string())),
    });
    if !offline {
        let key = announcer.key(store, site.name()).await;
        checks.push(match key {
            Ok(key) => match announcer.file_fault(&key).await {
                None => Check::new(&*name, Ok("its key's file is there".to_owned())),
                Some(fault) => {
                    let advice =
                        "what is told is not believed: have robot-detection serve answer it";
                    Check::warning(&name, format!("{fault}; {advice}"))
                }
            },
            Err(error) => Check::new(&*name, Err(error.to_string())),
        });
    }
    checks
}

/// Returns how the last telling went, and why it failed if it did.
async fn last(store: &Store, site: &str) -> Result<(String, Option<String>), StoreError> {
    let waiting = store.index_now().waiting(site).await?;
    let Some(state) = store.index_now().state(site).await? else {
        let text = "nobody was told yet: what a run changes is told when it has ended";
        return Ok((text.to_owned(), None));
    };
    let (taken, told) = (state.taken, rfc3339(state.told_ms));
    let text = format!("{taken} URLs were taken at {told}, {waiting} wait");
    Ok(match state.failure {
        None => (text, None),
        Some(failure) => {
            let next = rfc3339(state.next_ms);
            (format!("{text} until a run behind {next}"), Some(failure))
        }
    })
}
