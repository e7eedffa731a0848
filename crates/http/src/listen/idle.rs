use std::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use tokio::time::Instant;

/// The minimum number of body bytes that a client must send within each idle timeout.
///
/// Without this minimum, an occasional byte would keep a connection, and the corresponding
/// connection to the upstream, open indefinitely.
const MIN_BODY_BYTES: u64 = 1024;

/// Counters of the events on a connection, which use no clock.
///
/// One timer per connection checks the counters ([`IdleWatch`]). Separate timers for each request
/// and each read would cost more than the rest of a small request's I/O.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Whether several requests on the connection are served concurrently, each by its own task.
    is_multiplexed: bool,
    reads: AtomicU32,
    writes: AtomicU32,
    /// Whether a write is waiting for the client to accept data.
    blocked: AtomicBool,
    requests: AtomicU32,
    in_flight: AtomicU32,
    /// The number of response pieces on streams; `waiting` counts the pieces that wait for the
    /// client's window.
    pieces: AtomicU32,
    waiting: AtomicU32,
    /// The value that the counter `reads` had when the last request ended.
    reads_when_idle: AtomicU32,
    /// The number of requests with a body that the service is waiting for.
    awaited_bodies: AtomicU32,
    /// The number of bytes received in request bodies.
    body_bytes: AtomicU64,
    /// Whether the last guarded request body was read to its end.
    body_ended: AtomicBool,
    /// Whether the last response began before the body of its request had ended (HTTP/1 only).
    answers_early: AtomicBool,
    /// The number of requests in flight whose responses have begun.
    answering: AtomicU32,
    /// Whether the connection ends with the response to the last request.
    ends: AtomicBool,
    /// The properties of the request heads that were read (HTTP/1 only).
    pub(super) head_flags: RequestHeadFlags,
}

/// The properties of the request heads on one HTTP/1 connection that hyper does not expose.
#[derive(Debug, Default)]
pub(super) struct RequestHeadFlags {
    /// Whether a line of a request head exceeded the size limit.
    pub(super) is_long: AtomicBool,
    /// Whether the connection has become a tunnel and carries no more requests.
    pub(super) is_over: AtomicBool,
    /// The number of the request whose body length is ambiguous; zero if there is no such request.
    pub(super) unclear: AtomicU32,
}

impl Activity {
    pub(super) fn new(is_multiplexed: bool) -> Self {
        Self {
            is_multiplexed,
            ..Self::default()
        }
    }

    /// Returns `true` if several requests on the connection are served concurrently.
    pub(super) fn is_multiplexed(&self) -> bool {
        self.is_multiplexed
    }

    pub(super) fn record_read(&self) {
        add_alone(&self.reads);
    }

    pub(super) fn record_write(&self) {
        add_alone(&self.writes);
        self.blocked.store(false, Relaxed);
    }

    pub(super) fn record_blocked_write(&self) {
        self.blocked.store(true, Relaxed);
    }

    pub(super) fn begin_request(&self) {
        add_alone(&self.requests);
        self.add(&self.in_flight);
    }

    pub(super) fn end_request(&self) {
        self.reads_when_idle
            .store(self.reads.load(Relaxed), Relaxed);
        self.take_away(&self.in_flight);
    }

    /// Returns the number of requests received so far on the connection.
    pub(super) fn requests(&self) -> u32 {
        self.requests.load(Relaxed)
    }

    /// Returns `true` if a request on the connection is in flight.
    pub(super) fn is_serving(&self) -> bool {
        self.in_flight.load(Relaxed) > 0
    }

    pub(super) fn set_body_waiting(&self, is_waiting: bool) {
        if is_waiting {
            self.awaited_bodies.fetch_add(1, Relaxed);
        } else {
            self.awaited_bodies.fetch_sub(1, Relaxed);
        }
    }

    pub(super) fn record_body_bytes(&self, bytes: usize) {
        self.body_bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn begin_body(&self) {
        self.body_ended.store(false, Relaxed);
    }

    pub(super) fn end_body(&self) {
        self.body_ended.store(true, Relaxed);
    }

    /// Returns `true` if the body of the last request was read to its end; HTTP/1 only.
    pub(super) fn has_body_ended(&self) -> bool {
        self.body_ended.load(Relaxed)
    }

    /// Records that the response begins before the request's body has ended.
    pub(super) fn record_early_response(&self) {
        self.answers_early.store(true, Relaxed);
    }

    /// Returns `true` once if the last response began before the body of its request had ended.
    pub(super) fn take_early_response(&self) -> bool {
        self.answers_early.swap(false, Relaxed)
    }

    pub(super) fn begin_response(&self) {
        self.add(&self.answering);
    }

    pub(super) fn end_response(&self) {
        self.take_away(&self.answering);
    }

    /// Records that the connection ends with the response to the request in flight.
    pub(super) fn mark_last_response(&self) {
        self.ends.store(true, Relaxed);
    }

    /// Returns `true` if the current write is the last one on the connection.
    pub(super) fn is_last_response(&self) -> bool {
        self.ends.load(Relaxed) && !self.is_serving()
    }

    pub(super) fn set_chunk_waiting(&self) {
        self.pieces.fetch_add(1, Relaxed);
        self.waiting.fetch_add(1, Relaxed);
    }

    pub(super) fn clear_chunk_waiting(&self) {
        self.waiting.fetch_sub(1, Relaxed);
    }

    /// Increments a counter that the tasks of several requests may change.
    fn add(&self, count: &AtomicU32) {
        if self.is_multiplexed {
            count.fetch_add(1, Relaxed);
        } else {
            // HTTP/1 has one task per connection, so a load and a store without a lock suffice.
            add_alone(count);
        }
    }

    fn take_away(&self, count: &AtomicU32) {
        if self.is_multiplexed {
            count.fetch_sub(1, Relaxed);
        } else {
            count.store(count.load(Relaxed).wrapping_sub(1), Relaxed);
        }
    }

    fn phase(&self) -> Phase {
        let multiplexed = self.is_multiplexed;
        let requests = self.requests.load(Relaxed);
        // This is checked first, because a client that reads nothing stalls the connection,
        // whatever else happens.
        if self.blocked.load(Relaxed) {
            return Phase::Stalled(self.writes.load(Relaxed));
        }
        let in_flight = self.in_flight.load(Relaxed);
        if multiplexed && in_flight > 0 && self.waiting.load(Relaxed) >= in_flight {
            // `reads` and `writes` are ignored here, because pings would keep a connection alive on
            // which no stream makes progress (RFC 9113 §6.7).
            return Phase::Stalled(self.pieces.load(Relaxed));
        }
        if in_flight > 0 {
            // Once a response has begun, both sides may be silent for a long time, as with an event
            // stream or a tunnel.
            let awaited = self.awaited_bodies.load(Relaxed);
            let uploads = awaited >= in_flight && self.answering.load(Relaxed) == 0;
            return if uploads {
                Phase::Upload(self.body_bytes.load(Relaxed) / MIN_BODY_BYTES)
            } else {
                Phase::Busy
            };
        }
        // A read since the last request is the start of a head; over HTTP/2, it may be a ping.
        let unread = self.reads.load(Relaxed) == self.reads_when_idle.load(Relaxed);
        if requests == 0 || !(multiplexed || unread) {
            Phase::Head(requests)
        } else {
            Phase::Idle(requests)
        }
    }
}

/// Increments a counter that only the connection's own task changes and that other tasks may read.
fn add_alone(count: &AtomicU32) {
    count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
}

/// The event for which a connection is waiting, with a count; equal values mean that there was no
/// progress.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    /// The connection waits for the rest of a request's head.
    Head(u32),
    /// The connection waits for the next request.
    Idle(u32),
    /// The connection waits for the client to send the next part of a body.
    Upload(u64),
    /// The connection waits for the client to read the data that was sent.
    Stalled(u32),
    /// The connection waits for the service to respond.
    Busy,
}

/// A monitor that detects timeouts on one connection.
#[derive(Debug)]
pub(super) struct IdleWatch {
    header_timeout: Duration,
    idle_timeout: Duration,
    phase: Phase,
    since: Instant,
}

/// The action to take on a connection that has timed out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum IdleAction {
    Keep,
    /// Shut the connection down, because no request is in flight.
    Close,
    /// Close the connection immediately, because the client is too slow.
    Cut,
}

impl IdleWatch {
    pub(super) fn new(header_timeout: Duration, idle_timeout: Duration, now: Instant) -> Self {
        Self {
            header_timeout,
            idle_timeout,
            phase: Phase::Head(0),
            since: now,
        }
    }

    /// Returns the time between two checks, which is a quarter of the shorter timeout, so that
    /// timeouts are detected in time.
    pub(super) fn period(&self) -> Duration {
        // The bounds avoid a busy loop for very short timeouts, and dead connections that last for
        // minutes for very long timeouts.
        (self.header_timeout.min(self.idle_timeout) / 4)
            .clamp(Duration::from_millis(10), Duration::from_secs(15))
    }

    pub(super) fn check(&mut self, activity: &Activity, now: Instant) -> IdleAction {
        let phase = activity.phase();
        if phase != self.phase {
            self.phase = phase;
            self.since = now;
            return IdleAction::Keep;
        }
        let (limit, action) = match phase {
            Phase::Head(_) => (self.header_timeout, IdleAction::Cut),
            Phase::Idle(_) => (self.idle_timeout, IdleAction::Close),
            Phase::Stalled(_) | Phase::Upload(_) => (self.idle_timeout, IdleAction::Cut),
            // The service enforces its own timeouts.
            Phase::Busy => return IdleAction::Keep,
        };
        if now.duration_since(self.since) >= limit {
            action
        } else {
            IdleAction::Keep
        }
    }
}

impl RequestHeadFlags {
    /// Returns `true` if a line of a request head on the connection may exceed the size limit.
    pub(super) fn is_long(&self) -> bool {
        self.is_long.load(Relaxed)
    }

    /// Stops all checks of the connection, because it has become a tunnel.
    pub(super) fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// Returns `true` if this request has a `Content-Length` in addition to chunks (RFC 9112 §6.1),
    /// or an invalid `Content-Length` (RFC 9112 §6.3), so that another parser might see a different
    /// request.
    pub(super) fn is_ambiguous(&self, number: u32) -> bool {
        self.unclear.load(Relaxed) == number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Duration = Duration::from_secs(10);
    const IDLE: Duration = Duration::from_mins(1);

    struct Watched {
        activity: Activity,
        watch: IdleWatch,
        now: Instant,
    }

    impl Watched {
        fn new(multiplexed: bool) -> Self {
            let now = Instant::now();
            Self {
                activity: Activity::new(multiplexed),
                watch: IdleWatch::new(HEADER, IDLE, now),
                now,
            }
        }

        /// Polls the watch at its interval until it returns an action, and returns the seconds that
        /// have passed and the action.
        fn seconds_until_action(&mut self) -> Option<(u64, IdleAction)> {
            let start = self.now;
            while self.now - start < Duration::from_mins(10) {
                self.now += self.watch.period();
                match self.watch.check(&self.activity, self.now) {
                    IdleAction::Keep => {}
                    action => return Some(((self.now - start).as_secs(), action)),
                }
            }
            None
        }
    }

    #[test]
    fn silent_client_is_cut_after_the_header_timeout() {
        let mut watched = Watched::new(false);
        assert_eq!(watched.seconds_until_action(), Some((10, IdleAction::Cut)));
    }

    #[test]
    fn head_sent_byte_by_byte_is_cut() {
        let mut watched = Watched::new(false);
        watched.activity.begin_request();
        watched.activity.end_request();
        watched.activity.record_read();
        let (seconds, action) = watched.seconds_until_action().unwrap();
        assert_eq!(action, IdleAction::Cut);
        assert!((10..=13).contains(&seconds), "{seconds}");
    }

    #[test]
    fn idle_connection_is_closed_after_the_timeout() {
        for multiplexed in [false, true] {
            let mut watched = Watched::new(multiplexed);
            watched.activity.record_read();
            watched.activity.begin_request();
            watched.activity.end_request();
            let (seconds, action) = watched.seconds_until_action().unwrap();
            assert_eq!(action, IdleAction::Close);
            assert!((60..=63).contains(&seconds), "{seconds}");
        }
    }

    #[test]
    fn completed_response_is_last_if_the_client_closes() {
        let activity = Activity::new(false);
        activity.begin_request();
        activity.end_request();
        assert!(!activity.is_last_response());
        activity.begin_request();
        activity.mark_last_response();
        assert!(!activity.is_last_response());
        activity.end_request();
        assert!(activity.is_last_response());
    }

    #[test]
    fn http2_pings_do_not_count_as_a_head() {
        let mut watched = Watched::new(true);
        watched.activity.begin_request();
        watched.activity.end_request();
        watched.activity.record_read();
        assert_eq!(watched.seconds_until_action().unwrap().1, IdleAction::Close);
    }

    #[test]
    fn slow_service_is_waited_for() {
        let mut watched = Watched::new(false);
        watched.activity.begin_request();
        assert_eq!(watched.seconds_until_action(), None);
    }

    #[test]
    fn client_that_does_not_read_is_cut() {
        let mut watched = Watched::new(false);
        watched.activity.begin_request();
        watched.activity.record_blocked_write();
        let (seconds, action) = watched.seconds_until_action().unwrap();
        assert_eq!(action, IdleAction::Cut);
        assert!((60..=63).contains(&seconds), "{seconds}");
    }

    #[test]
    fn missing_body_is_cut() {
        let mut watched = Watched::new(false);
        watched.activity.begin_request();
        watched.activity.set_body_waiting(true);
        let (seconds, action) = watched.seconds_until_action().unwrap();
        assert_eq!(action, IdleAction::Cut);
        assert!((60..=63).contains(&seconds), "{seconds}");
    }

    #[test]
    fn trickling_body_is_cut_and_steady_body_is_not() {
        for (bytes, expected) in [(1, Some(IdleAction::Cut)), (MIN_BODY_BYTES, None)] {
            let mut watched = Watched::new(false);
            watched.activity.begin_request();
            watched.activity.set_body_waiting(true);
            let mut found = None;
            for _ in 0..100 {
                watched
                    .activity
                    .record_body_bytes(usize::try_from(bytes).unwrap());
                watched.now += watched.watch.period();
                match watched.watch.check(&watched.activity, watched.now) {
                    IdleAction::Keep => {}
                    action => found = found.or(Some(action)),
                }
            }
            assert_eq!(found, expected, "{bytes}");
        }
    }

    #[test]
    fn missing_body_does_not_affect_other_requests() {
        let mut watched = Watched::new(true);
        watched.activity.begin_request();
        watched.activity.set_body_waiting(true);
        watched.activity.begin_request();
        assert_eq!(watched.seconds_until_action(), None);
    }

    #[test]
    fn exchange_may_pause_once_the_response_has_begun() {
        let mut watched = Watched::new(true);
        watched.activity.begin_request();
        watched.activity.set_body_waiting(true);
        watched.activity.begin_response();
        assert_eq!(watched.seconds_until_action(), None);
    }
    #[test]
    fn unread_streams_are_cut_despite_pings() {
        let mut watched = Watched::new(true);
        for _ in 0..2 {
            watched.activity.begin_request();
            watched.activity.set_chunk_waiting();
        }
        watched.activity.record_read();
        watched.activity.record_write();
        let (seconds, action) = watched.seconds_until_action().unwrap();
        assert_eq!(action, IdleAction::Cut);
        assert!((60..=63).contains(&seconds), "{seconds}");
    }

    #[test]
    fn stream_may_stall_while_another_progresses() {
        let mut watched = Watched::new(true);
        for _ in 0..2 {
            watched.activity.begin_request();
            watched.activity.set_chunk_waiting();
        }
        watched.activity.clear_chunk_waiting();
        assert_eq!(watched.seconds_until_action(), None);
    }
}
