//! What a command and a server tell each other about a run that is handed over.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::assembly::open_to_question;
use crate::config::Loaded;

use super::{Ran, SiteRobotChanges};

/// Settings that make a difference to a run, by how their names begin.
const TABLES: [&str; 3] = ["site_robot.", "heaven.", "index_now."];

/// Run that is handed over.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    /// Digest of the settings of who hands it over.
    pub(super) settings: String,
    pub(super) changes: SiteRobotChanges,
    /// Whether a server with other settings is to reload its configuration before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) reload: bool,
}

/// What came of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OrderOutcome {
    /// The run came to an end, or was stopped.
    Ran(Box<Ran>),
    /// It broke off.
    Failed(String),
    /// The server does not do it, for this reason.
    Declined(String),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Returns a digest of the settings by which a site's robot runs.
///
/// `key` is the database's, so that nobody can guess a password from it.
pub(super) fn settings_digest(loaded: &Loaded, site: &str, key: &str) -> String {
    let loaded = loaded.of_site_named(site);
    let mut digest = Sha256::new();
    digest.update(key);
    for (key, found) in loaded.in_force() {
        if TABLES.iter().any(|table| key.name.starts_with(table)) {
            digest.update(format!("\n{} = {:?}", key.name, found.value));
        }
    }
    // That a default was chosen is an answer, and no other value.
    if let Some(question) = open_to_question(&loaded, loaded.settings()) {
        digest.update(question);
    }
    hex::encode(digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Loader;

    #[test]
    fn the_digest_tells_other_settings_of_the_robot_apart() {
        let digest = |text: &str, key: &str| {
            let loaded = Loader::new().file("c.toml", text).load().unwrap();
            settings_digest(&loaded, "default", key)
        };
        let start = "site_robot.starting_points = 'http://h/'\n";
        assert_ne!(digest("", "k"), digest(start, "k"));
        assert_ne!(digest(start, "k"), digest(start, "l"));
        let elsewhere = format!("{start}server.upstream = 'http://a'");
        assert_eq!(digest(start, "k"), digest(&elsewhere, "k"));
    }

    #[test]
    fn an_order_of_a_newer_program_is_not_half_understood() {
        let order = Order {
            settings: "a".to_owned(),
            changes: SiteRobotChanges {
                urls: vec!["http://h/".to_owned()],
                depth: Some(None),
                ..SiteRobotChanges::default()
            },
            reload: false,
        };
        let text = serde_json::to_string(&order).unwrap();
        let read: Order = serde_json::from_str(&text).unwrap();
        assert_eq!(read.changes.urls, order.changes.urls);
        let newer = text.replace("\"urls\"", "\"else\":1,\"urls\"");
        assert!(serde_json::from_str::<Order>(&newer).is_err());
    }
}
