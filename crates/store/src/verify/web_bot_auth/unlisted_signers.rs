//! Signers that the registry does not list.
//!
//! Key directories and nonces of such signers are cached separately, so that a signer with many
//! names does not displace the key directories and nonces of listed robots.

use std::collections::HashSet;

use parking_lot::Mutex;

use super::{SignatureSettings, agent::KeyUrl, directories::Directories, replay::UsedNonces};
use robot_detection_layer::clock::Clock;

/// The maximum number of cached key directories of unlisted signers.
const MAX_DIRECTORIES: usize = 256;
/// The maximum number of stored nonces of unlisted signers.
const MAX_REMEMBERED: usize = 1 << 14;
/// The maximum number of concurrent fetches for unlisted signers.
const MAX_FETCHES: usize = 2;
/// The maximum number of fetches per minute, since a signature may specify any host.
const FETCHES_A_MINUTE: u32 = 20;

const MINUTE_MS: i64 = 60_000;

/// Key directories and nonces of signers that the registry does not list.
#[derive(Debug)]
pub(super) struct UnlistedSigners {
    pub(super) directories: Directories,
    pub(super) used: UsedNonces,
    begun: Mutex<FetchBudget>,
    clock: Clock,
}

/// The number of fetches in the current minute, and the fetches in progress.
#[derive(Debug, Default)]
struct FetchBudget {
    under_way: HashSet<KeyUrl>,
    minute: i64,
    count: u32,
}

impl UnlistedSigners {
    pub(super) fn new(settings: &SignatureSettings, clock: Clock) -> Self {
        let apart = SignatureSettings {
            max_directories: MAX_DIRECTORIES,
            max_fetches: MAX_FETCHES,
            ..settings.clone()
        };
        Self {
            directories: Directories::new(apart, clock.clone()),
            used: UsedNonces::new(MAX_REMEMBERED),
            begun: Mutex::default(),
            clock,
        }
    }

    /// Returns `true` if a directory may be fetched now, that is, if it is not already being
    /// fetched and no limit has been reached.
    pub(super) fn begin(&self, agent: &KeyUrl) -> bool {
        let minute = self.clock.now_ms().div_euclid(MINUTE_MS);
        let mut begun = self.begun.lock();
        if begun.minute != minute {
            (begun.minute, begun.count) = (minute, 0);
        }
        if begun.count >= FETCHES_A_MINUTE || begun.under_way.contains(agent) {
            return false;
        }
        begun.count += 1;
        begun.under_way.insert(agent.clone())
    }

    /// Marks the fetch of a directory as finished.
    pub(super) fn end(&self, agent: &KeyUrl) {
        self.begun.lock().under_way.remove(agent);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::verify::web_bot_auth::agent::Discovery;

    fn agent(number: u32) -> KeyUrl {
        let url = format!("https://agent{number}.example");
        KeyUrl::parse(&url, Discovery::Directory, false).unwrap()
    }

    #[test]
    fn fetches_are_limited() {
        let clock = Clock::manual(1_800_000_000_000);
        let unlisted_signers = UnlistedSigners::new(&SignatureSettings::default(), clock.clone());
        assert!(unlisted_signers.begin(&agent(0)));
        assert!(!unlisted_signers.begin(&agent(0)), "fetch started twice");
        unlisted_signers.end(&agent(0));
        let begun = (0..100).filter(|number| unlisted_signers.begin(&agent(*number)));
        assert_eq!(begun.count(), 19);
        clock.advance(Duration::from_mins(1));
        assert!(!unlisted_signers.begin(&agent(1)), "fetch started twice");
        assert!(unlisted_signers.begin(&agent(50)));
    }
}
