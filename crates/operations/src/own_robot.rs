//! The key by which our layers know our own site robot: one for all instances of a database.

use std::time::Duration;

use crate::generate_password;
use robot_detection_layer::clock::Clock;
use robot_detection_layer::layer::OwnRobot;
use robot_detection_store::store::{Store, StoreError};

/// Shortest key that is believed; ours are nearly twice as long.
// Whoever guesses a short key signs requests that pass as those of our own robot.
const MIN_KEY_BYTES: usize = 32;

/// Pause before a database that failed is asked again.
const RETRY: Duration = Duration::from_secs(5);

/// Creates a key that nobody knows, until that of the database is in force.
pub fn unknown() -> OwnRobot {
    OwnRobot::new(new_key().as_bytes())
}

/// Returns the key of the database, which is made where there is none.
///
/// # Errors
///
/// Fails if the database does.
pub async fn key(store: &Store, clock: &Clock) -> Result<String, StoreError> {
    store.own_robot_key(&new_key(), clock.now_ms()).await
}

/// Puts the key of the database in force.
///
/// # Errors
///
/// Fails if the database does.
pub async fn load(own: &OwnRobot, store: &Store, clock: &Clock) -> Result<(), StoreError> {
    let key = key(store, clock).await?;
    if key.len() >= MIN_KEY_BYTES {
        own.replace_key(key.as_bytes());
    } else {
        tracing::error!("own_robot_key in the database holds no key: empty it, and restart");
    }
    Ok(())
}

/// Asks the database until it has told the key.
pub async fn load_later(own: OwnRobot, store: Store, clock: Clock) {
    loop {
        tokio::time::sleep(RETRY).await;
        match load(&own, &store, &clock).await {
            Ok(()) => return,
            Err(error) => tracing::debug!("the key of our own site robot is not known: {error}"),
        }
    }
}

/// Returns 160 random bits.
fn new_key() -> String {
    let [first, second] = [(); 2].map(|()| generate_password());
    format!("{first}{second}")
}
