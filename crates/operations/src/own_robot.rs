//! The key by which the layer recognises this program's site robot, shared by all instances that
//! use the same database.

use std::time::Duration;

use crate::generate_password;
use robot_detection_layer::clock::Clock;
use robot_detection_layer::layer::SiteRobotKey;
use robot_detection_store::store::{Store, StoreError};

/// Minimum length of a key that is accepted; generated keys are nearly twice as long.
// Whoever guesses a short key could sign requests that pass as requests from the site robot.
const MIN_KEY_BYTES: usize = 32;

/// Delay before a database that failed is queried again.
const RETRY: Duration = Duration::from_secs(5);

/// Creates a random key, which is used until the key is loaded from the database.
pub fn unknown_key() -> SiteRobotKey {
    SiteRobotKey::new(new_key().as_bytes())
}

/// Returns the key from the database; if there is no key, creates one.
///
/// # Errors
///
/// Returns an error if the database operation fails.
pub async fn load_or_create_key(store: &Store, clock: &Clock) -> Result<String, StoreError> {
    store.site_robot_key(&new_key(), clock.now_ms()).await
}

/// Loads the key from the database and applies the key.
///
/// # Errors
///
/// Returns an error if the database operation fails.
pub async fn load(own: &SiteRobotKey, store: &Store, clock: &Clock) -> Result<(), StoreError> {
    let key = load_or_create_key(store, clock).await?;
    if key.len() >= MIN_KEY_BYTES {
        own.replace_key(key.as_bytes());
    } else {
        tracing::error!("own_robot_key in the database is not a valid key: delete it and restart");
    }
    Ok(())
}

/// Queries the database repeatedly until the key has been loaded.
pub async fn load_later(own: SiteRobotKey, store: Store, clock: Clock) {
    loop {
        tokio::time::sleep(RETRY).await;
        match load(&own, &store, &clock).await {
            Ok(()) => return,
            Err(error) => tracing::debug!("could not load the key of the site robot: {error}"),
        }
    }
}

/// Returns a new key that contains 160 random bits.
fn new_key() -> String {
    let [first, second] = [(); 2].map(|()| generate_password());
    format!("{first}{second}")
}
