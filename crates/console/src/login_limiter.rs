//! A rate limiter for logins, which limits password attempts per client, overall and concurrently.
//!
//! Each wrong password adds to two debts that decrease over time: the client's debt, and the debt
//! of all clients together.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tracing::warn;

use crate::login_client::LoginClient;
use robot_detection_layer::clock::Clock;
use robot_detection_store::store::{LoginFailures, Store};

/// Time after which a client's wrong password no longer counts.
const CLIENT_FAILURE_LIFETIME: Duration = Duration::from_mins(1);
/// Number of wrong passwords that still count at which a client has to wait.
const MAX_FREE_FAILURES: u32 = 5;
/// Time after which a wrong password no longer counts towards the debt of all clients.
const GLOBAL_FAILURE_LIFETIME: Duration = Duration::from_secs(2);
/// Debt of all clients up to which strangers are not delayed.
const GLOBAL_FREE_DEBT: Duration = Duration::from_mins(1);
/// Maximum debt of all clients; the limit ensures that delays end soon after an attack.
const GLOBAL_MAX_DEBT: Duration = Duration::from_mins(2);
/// Longest delay for a stranger, which is reached at [`GLOBAL_MAX_DEBT`].
const MAX_DELAY: Duration = Duration::from_secs(5);
/// The key under which failed logins of all clients are counted; no client has this key.
const ALL_CLIENTS: &str = "*";

/// Maximum number of concurrent password comparisons; argon2id needs 19 MiB for each comparison.
const MAX_CHECKS: usize = 2;
/// Maximum number of strangers in the queue; if there are more, one of them gets status 503.
const MAX_STRANGERS: usize = 64;
/// Maximum number of browsers with a cookie in the queue; strangers cannot take their places.
const MAX_BROWSERS: usize = 8;
/// Maximum number of login attempts from one client that can wait at the same time.
const MAX_WAITING_PER_CLIENT: usize = 4;
/// Maximum number of clients whose failed logins are stored in memory while the database is not
/// writable.
const MAX_REMEMBERED: usize = 10_000;

/// A rate limiter for logins, with a queue for password comparisons.
#[derive(Debug)]
pub(super) struct LoginLimiter {
    store: Store,
    clock: Clock,
    /// Expiry of failed logins that could not be counted in the database, by client.
    memory: Mutex<HashMap<String, i64>>,
    waiting: Mutex<Vec<Attempt>>,
    checks: Semaphore,
}

/// A login attempt that waits until its delay has elapsed.
#[derive(Debug)]
struct Attempt {
    client: LoginClient,
    /// Notified when another attempt takes over this attempt's place in the queue.
    eviction: Arc<Notify>,
}

/// The decision on a login attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LoginDecision {
    /// Compare the password after this delay, which may be zero.
    After(Duration),
    /// Refuse the attempt, because too many wrong passwords have been tried.
    Refused { wait: Duration },
}

/// A place in the queue of login attempts, which is free again when this value is dropped.
#[derive(Debug)]
pub(super) struct QueueSlot<'l> {
    limiter: &'l LoginLimiter,
    eviction: Arc<Notify>,
}

impl LoginLimiter {
    pub(super) fn new(store: Store, clock: Clock) -> Self {
        Self {
            store,
            clock,
            memory: Mutex::default(),
            waiting: Mutex::default(),
            checks: Semaphore::new(MAX_CHECKS),
        }
    }

    /// Enters the queue; returns `None` if there is no place for the client.
    ///
    /// If the queue is full, a new stranger replaces another stranger: see [`leaving`].
    pub(super) fn join_queue(&self, client: &LoginClient) -> Option<QueueSlot<'_>> {
        let mut waiting = self.waiting.lock();
        let of_client = waiting.iter().filter(|attempt| attempt.client == *client);
        // Behind a Unix socket, no visitor has an address, and one visitor must not lock out all
        // others.
        if of_client.count() >= MAX_WAITING_PER_CLIENT && *client != LoginClient::Unknown {
            return None;
        }
        let browsers = waiting.iter().filter(|attempt| attempt.client.is_browser());
        let browsers = browsers.count();
        // The attempt does not wait for a place, because waiting would need as much memory as a
        // place does.
        if client.is_browser() {
            if browsers >= MAX_BROWSERS {
                return None;
            }
        } else if waiting.len() - browsers >= MAX_STRANGERS {
            let place = leaving(&waiting, client)?;
            waiting.swap_remove(place).eviction.notify_one();
        }
        let eviction = Arc::<Notify>::default();
        waiting.push(Attempt {
            client: client.clone(),
            eviction: Arc::clone(&eviction),
        });
        Some(QueueSlot {
            limiter: self,
            eviction,
        })
    }

    /// Waits until fewer than [`MAX_CHECKS`] comparisons are running; never returns `None` in
    /// practice.
    pub(super) async fn check(&self) -> Option<SemaphorePermit<'_>> {
        self.checks.acquire().await.ok()
    }

    /// Decides on a login attempt, based on the client's earlier failures.
    pub(super) async fn decide(&self, client: &LoginClient) -> LoginDecision {
        let key = client.key();
        let remembered = self.remembered(&key);
        // If the failures cannot be read, the query for the password's hash reports the error.
        let counted = self.store.access().login_failures(&key, ALL_CLIENTS).await;
        let counted = counted.unwrap_or_default();
        let failures = LoginFailures {
            client_ms: counted.client_ms.max(remembered.client_ms),
            all_ms: counted.all_ms.max(remembered.all_ms),
        };
        decide_from(client, failures)
    }

    /// Counts a failed login by the client.
    pub(super) async fn fail(&self, client: &LoginClient) {
        let longest = CLIENT_FAILURE_LIFETIME * MAX_FREE_FAILURES;
        for (key, each, longest) in [
            (client.key().as_str(), CLIENT_FAILURE_LIFETIME, longest),
            (ALL_CLIENTS, GLOBAL_FAILURE_LIFETIME, GLOBAL_MAX_DEBT),
        ] {
            let counted = self
                .store
                .access()
                .count_login_failure(key, ALL_CLIENTS, each, longest);
            if let Err(error) = counted.await {
                warn!("could not store a failed login, so only this instance counts it: {error}");
                self.remember(key, each, longest);
            }
        }
    }

    /// Deletes the failed logins of a client that has logged in.
    pub(super) async fn record_success(&self, client: &LoginClient) {
        let key = client.key();
        // Only for this client, because its login says nothing about attempts by other clients.
        self.memory.lock().remove(&key);
        if let Err(error) = self.store.access().clear_login_failures(&key).await {
            warn!("could not reset the count of failed logins: {error}");
        }
    }

    fn remembered(&self, key: &str) -> LoginFailures {
        let (memory, now_ms) = (self.memory.lock(), self.clock.now_ms());
        let of = |key: &str| {
            memory
                .get(key)
                .map_or(0, |forgotten_ms| forgotten_ms - now_ms)
        };
        LoginFailures {
            client_ms: of(key),
            all_ms: of(ALL_CLIENTS),
        }
    }

    fn remember(&self, key: &str, each: Duration, longest: Duration) {
        let (mut memory, now_ms) = (self.memory.lock(), self.clock.now_ms());
        // Only when the map is full, because pruning scans all entries.
        if memory.len() >= MAX_REMEMBERED {
            memory.retain(|_, forgotten_ms| *forgotten_ms > now_ms);
        }
        // If all failures still count, the entry that expires first is evicted.
        if memory.len() >= MAX_REMEMBERED
            && !memory.contains_key(key)
            && let Some(soonest) = soonest(&memory)
        {
            memory.remove(&soonest);
        }
        let forgotten_ms = memory.entry(key.to_owned()).or_default();
        let wanted_ms = (*forgotten_ms).max(now_ms) + ms(each);
        // Setting the clock back must not make any client wait longer.
        *forgotten_ms = wanted_ms.min(now_ms + ms(longest));
    }
}

impl QueueSlot<'_> {
    /// Waits until another login attempt has taken over this place in the queue.
    pub(super) async fn wait_until_evicted(&self) {
        self.eviction.notified().await;
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        let is_other = |attempt: &Attempt| !Arc::ptr_eq(&attempt.eviction, &self.eviction);
        self.limiter.waiting.lock().retain(is_other);
    }
}

/// Returns the position of the stranger that must leave a full queue; `None` if the newcomer must
/// leave.
///
/// A random stranger from the network with the most places leaves the queue. To replace strangers
/// from other networks, an attacker needs addresses in as many networks as there are places.
fn leaving(waiting: &[Attempt], newcomer: &LoginClient) -> Option<usize> {
    let strangers = waiting.iter().enumerate();
    let strangers = strangers.filter(|(_, attempt)| !attempt.client.is_browser());
    let strangers = strangers.map(|(place, attempt)| (Some(place), attempt.client.large_network()));
    let all: Vec<_> = strangers
        .chain([(None, newcomer.large_network())])
        .collect();
    let size = |network| all.iter().filter(|(_, other)| *other == network).count();
    let largest = all.iter().map(|(_, network)| size(*network)).max();
    let of_largest = all
        .iter()
        .filter(|(_, network)| Some(size(*network)) == largest);
    fastrand::choice(of_largest.collect::<Vec<_>>())?.0
}

/// Decides on a login attempt, based on the debt that remains from earlier failures.
fn decide_from(client: &LoginClient, failures: LoginFailures) -> LoginDecision {
    // The debt of the first four failures is free; the client must wait until the rest has expired.
    let wait_ms = failures.client_ms - ms(CLIENT_FAILURE_LIFETIME * (MAX_FREE_FAILURES - 1));
    let wait = duration(wait_ms.min(ms(CLIENT_FAILURE_LIFETIME)));
    let most_ms = ms(GLOBAL_MAX_DEBT) - ms(GLOBAL_FREE_DEBT);
    let crowd_ms = (failures.all_ms - ms(GLOBAL_FREE_DEBT)).clamp(0, most_ms);
    // The delay grows with the debt: a few wrong passwords cause no delay, and many do not lock out
    // a user who logs in from a new place.
    let delay = duration(crowd_ms * ms(MAX_DELAY) / most_ms);
    match client {
        // Never refused, because all visitors may share this client.
        LoginClient::Unknown => LoginDecision::After(delay.max(wait.min(MAX_DELAY))),
        _ if !wait.is_zero() => LoginDecision::Refused { wait },
        LoginClient::Network(_) => LoginDecision::After(delay),
        // An attack on the login does not delay browsers that have logged in before.
        LoginClient::Browser(_) => LoginDecision::After(Duration::ZERO),
    }
}

fn soonest(memory: &HashMap<String, i64>) -> Option<String> {
    let clients = memory.iter().filter(|(key, _)| *key != ALL_CLIENTS);
    let soonest = clients.min_by_key(|(_, forgotten_ms)| **forgotten_ms);
    soonest.map(|(key, _)| key.clone())
}

fn duration(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Period in which failed logins share a single audit log entry, so that guesses do not flood the
/// log.
const FAILURES_MS: i64 = 10 * 60_000;

/// The failed logins that are not in the audit log yet.
#[derive(Debug, Default)]
pub(crate) struct LoginFailureLog {
    pending: Mutex<Pending>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    failures: u64,
    recorded_ms: Option<i64>,
}

impl LoginFailureLog {
    /// Counts a failed login; if an audit log entry is due, returns the number of failures to
    /// record.
    pub(crate) fn fail(&self, now_ms: i64) -> Option<u64> {
        let mut pending = self.pending.lock();
        pending.failures += 1;
        let is_time = pending
            .recorded_ms
            .is_none_or(|recorded_ms| now_ms.saturating_sub(recorded_ms) >= FAILURES_MS);
        is_time.then(|| pending.take(now_ms))
    }

    /// Returns the number of failed logins to record before a successful login.
    pub(crate) fn record_success(&self, now_ms: i64) -> u64 {
        let mut pending = self.pending.lock();
        if pending.failures == 0 {
            return 0;
        }
        pending.take(now_ms)
    }
}

impl Pending {
    fn take(&mut self, now_ms: i64) -> u64 {
        self.recorded_ms = Some(now_ms);
        std::mem::take(&mut self.failures)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn network(last: u8) -> LoginClient {
        LoginClient::Network(Ipv4Addr::new(192, 0, 2, last).into())
    }

    fn browser() -> LoginClient {
        LoginClient::Browser("x".to_owned())
    }

    fn rule_of(client: &LoginClient, client_ms: i64, all_ms: i64) -> LoginDecision {
        decide_from(client, LoginFailures { client_ms, all_ms })
    }

    async fn limiter() -> LoginLimiter {
        let store = Store::connect("sqlite::memory:").await.unwrap();
        LoginLimiter::new(store, Clock::manual(1_000))
    }

    #[test]
    fn four_failures_are_free_then_one_attempt_per_minute_is_allowed() {
        let now = LoginDecision::After(Duration::ZERO);
        assert_eq!(rule_of(&network(1), 240_000, 8_000), now);
        for (client_ms, wait_ms) in [(300_000, 60_000), (240_001, 1), (i64::MAX, 60_000)] {
            let wait = Duration::from_millis(wait_ms);
            let refused = LoginDecision::Refused { wait };
            assert_eq!(rule_of(&network(1), client_ms, 0), refused);
            assert_eq!(rule_of(&browser(), client_ms, 0), refused);
        }
    }

    #[test]
    fn many_failures_delay_strangers_but_refuse_no_client() {
        for (all_ms, delay_ms) in [
            (60_000, 0),
            (90_000, 2_500),
            (120_000, 5_000),
            (i64::MAX, 5_000),
        ] {
            let delay = LoginDecision::After(Duration::from_millis(delay_ms));
            assert_eq!(rule_of(&network(1), 0, all_ms), delay);
            assert_eq!(rule_of(&LoginClient::Unknown, 0, all_ms), delay);
            let now = LoginDecision::After(Duration::ZERO);
            assert_eq!(rule_of(&browser(), 0, all_ms), now);
        }
    }

    #[test]
    fn clients_without_an_address_are_only_delayed() {
        let delay = LoginDecision::After(MAX_DELAY);
        assert_eq!(rule_of(&LoginClient::Unknown, 300_000, 0), delay);
    }

    #[tokio::test]
    async fn queue_is_bounded_and_not_filled_by_one_client_or_network() {
        let limiter = limiter().await;
        let of_one: Vec<_> = (0..9)
            .map_while(|_| limiter.join_queue(&network(1)))
            .collect();
        assert_eq!(of_one.len(), 4);
        let flood = || (2..=255).filter_map(|last| limiter.join_queue(&network(last)));
        let mut guesses: Vec<_> = flood().collect();
        let others = [
            LoginClient::Network("192.1.0.1".parse().unwrap()),
            LoginClient::Network("2001:db8::".parse().unwrap()),
            LoginClient::Unknown,
            browser(),
        ];
        let slots = others
            .each_ref()
            .map(|other| limiter.join_queue(other).unwrap());
        guesses.extend(flood());
        let waiting = || limiter.waiting.lock().len();
        assert_eq!(waiting(), MAX_STRANGERS + 1);
        for other in &others {
            let waiting = limiter.waiting.lock();
            assert!(waiting.iter().any(|it| it.client == *other), "{other:?}");
        }
        drop((of_one, guesses));
        assert_eq!(waiting(), others.len());
        drop(slots);
        assert_eq!(waiting(), 0);
    }

    #[tokio::test]
    async fn failures_are_counted_in_bounded_memory_without_the_database() {
        let limiter = limiter().await;
        limiter.store.close().await;
        for _ in 0..5 {
            limiter.fail(&network(1)).await;
        }
        let wait = Duration::from_mins(1);
        let refused = LoginDecision::Refused { wait };
        assert_eq!(limiter.decide(&network(1)).await, refused);
        let others = LoginDecision::After(Duration::ZERO);
        assert_eq!(limiter.decide(&network(2)).await, others);
        for number in 0..20_000 {
            limiter.remember(
                &format!("client {number}"),
                CLIENT_FAILURE_LIFETIME,
                CLIENT_FAILURE_LIFETIME * MAX_FREE_FAILURES,
            );
        }
        assert_eq!(limiter.memory.lock().len(), MAX_REMEMBERED);
        assert_eq!(limiter.decide(&network(1)).await, refused);
        limiter.clock.advance(wait);
        assert_eq!(limiter.decide(&network(1)).await, others);
    }
}

#[cfg(test)]
mod record_tests {
    use super::*;

    #[test]
    fn guesses_are_recorded_as_one_entry_per_ten_minutes() {
        let log = LoginFailureLog::default();
        assert_eq!(log.fail(0), Some(1));
        for at_ms in 1..1_000 {
            assert_eq!(log.fail(at_ms), None);
        }
        assert_eq!(log.fail(FAILURES_MS), Some(1_000));
        assert_eq!(log.fail(FAILURES_MS + 1), None);
        assert_eq!(log.record_success(FAILURES_MS + 2), 1);
        assert_eq!(log.record_success(FAILURES_MS + 3), 0);
    }
}
