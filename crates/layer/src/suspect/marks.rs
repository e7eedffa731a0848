//! Marks on visitors, which are valid for a limited time.

use std::{
    fmt,
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{
            AtomicU32, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::Duration,
};

use crate::clock::Clock;
use crate::keys::{AgentKey, halves};

use super::{Reason, Reasons};

/// Number of slots for marked visitors, a power of two; new visitors replace old visitors.
const PLACES: usize = 1 << 14;

/// Number of slots that are searched for a visitor.
const NEIGHBOURS: usize = 8;

/// Maximum duration of a mark in seconds; a longer duration means that the clock was set back.
const LONGEST_S: u32 = 12 * 3_600;

/// The key of a free slot; a slot that is being written has the next key.
const FREE: u64 = 0;
const TAKEN: u64 = 1;

/// A mark on a visitor, which is valid for a limited time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Mark {
    /// The application reported that the visitor is human.
    Person,
    /// The application reported that the visitor is not human ([`Reason::UpstreamWord`]).
    NoPerson,
    /// The visitor has requested a trap ([`Reason::Trap`]).
    Trap,
    /// The visitor has requested robots.txt, which is not a reason for suspicion.
    Reader,
    /// The visitor was redirected to another page, which is not a reason for suspicion.
    Sent,
}

impl Mark {
    const ALL: [Self; 5] = [
        Self::Person,
        Self::NoPerson,
        Self::Trap,
        Self::Reader,
        Self::Sent,
    ];

    /// Returns the reason for suspicion that the mark stands for, if any.
    const fn reason(self) -> Option<Reason> {
        match self {
            Self::Person | Self::Reader | Self::Sent => None,
            Self::NoPerson => Some(Reason::UpstreamWord),
            Self::Trap => Some(Reason::Trap),
        }
    }
}

/// Marks on visitors, which are identified by address (the /64 network for IPv6) and User-Agent.
///
/// Clones share the marks. Up to 16,384 visitors are stored in half a megabyte of memory, which is
/// allocated with the first mark. No operation blocks, and neither addresses nor User-Agents are
/// stored.
///
/// # Example
///
/// ```
/// use std::time::Duration;
///
/// use robot_detection_layer::{clock::Clock, suspect::{Mark, Marks, Reason}};
///
/// let marks = Marks::new(&Clock::system());
/// let visitor = marks.visitor([192, 0, 2, 7].into(), b"Chrome/156");
/// marks.set(visitor, Mark::Trap, Duration::from_secs(3_600));
/// assert!(marks.active_marks(visitor).reasons.contains(Reason::Trap));
/// ```
#[derive(Clone)]
pub struct Marks {
    shared: Arc<Shared>,
    /// The salt of the site, which prevents one site's marks from applying to other sites.
    salt: u64,
}

struct Shared {
    places: OnceLock<Box<[Place]>>,
    /// The time in seconds at which the last mark ends; 0 if there are no marks.
    last_s: AtomicU32,
    clock: Clock,
    started_ms: i64,
}

/// The key of a visitor: a keyed hash that is specific to this process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MarkedVisitor(u64);

/// The marks in effect for a visitor.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ActiveMarks {
    /// Whether the application reported that the visitor is human.
    pub is_person: bool,
    /// Whether the visitor has requested robots.txt.
    pub is_reader: bool,
    /// Whether the visitor was redirected to another page.
    pub is_sent: bool,
    /// The reasons for suspicion that the marks stand for.
    pub reasons: Reasons,
}

#[derive(Debug, Default)]
struct Place {
    key: AtomicU64,
    /// The time in seconds at which each mark ends.
    ends_s: [AtomicU32; Mark::ALL.len()],
}

impl Marks {
    /// Creates an empty set of marks.
    #[must_use]
    pub fn new(clock: &Clock) -> Self {
        let shared = Shared {
            places: OnceLock::new(),
            last_s: AtomicU32::new(0),
            started_ms: clock.now_ms(),
            clock: clock.clone(),
        };
        Self {
            shared: Arc::new(shared),
            salt: 0,
        }
    }

    /// Returns the marks of a site, which are separate but share the memory with other sites'
    /// marks.
    #[must_use]
    pub fn for_site(&self, name: &str) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            salt: AgentKey::parse(name.as_bytes()).number(),
        }
    }

    /// Returns the key of a visitor.
    #[must_use]
    pub fn visitor(&self, address: IpAddr, user_agent: &[u8]) -> MarkedVisitor {
        self.visitor_by(address, AgentKey::parse(user_agent))
    }

    /// Returns the key of a visitor, given the key of the User-Agent.
    pub(crate) fn visitor_by(&self, address: IpAddr, agent: AgentKey) -> MarkedVisitor {
        let (kind, sender) = match address.to_canonical() {
            IpAddr::V4(v4) => (1, u64::from(v4.to_bits())),
            IpAddr::V6(v6) => (2, halves(v6.to_bits()).0),
        };
        let key = agent.mix(self.salt ^ kind, sender);
        // The lowest two numbers have a special meaning.
        MarkedVisitor(key.max(TAKEN + 1))
    }

    /// Returns `true` if no visitor is marked. The check costs one atomic load.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.last_s.load(Relaxed) == 0
    }

    /// Sets a mark on a visitor for a duration of at most twelve hours.
    ///
    /// [`Mark::Person`] and [`Mark::NoPerson`] replace each other.
    pub fn set(&self, visitor: MarkedVisitor, mark: Mark, lasts: Duration) {
        let seconds = u32::try_from(lasts.as_secs()).unwrap_or(LONGEST_S);
        let now_s = self.now_s();
        let end_s = now_s.saturating_add(seconds.clamp(1, LONGEST_S));
        let Some(place) = self.place(visitor.0, now_s) else {
            return;
        };
        place.end(mark).fetch_max(end_s, Relaxed);
        let contrary = match mark {
            Mark::Person => Some(Mark::NoPerson),
            Mark::NoPerson => Some(Mark::Person),
            Mark::Trap | Mark::Reader | Mark::Sent => None,
        };
        if let Some(contrary) = contrary {
            place.end(contrary).store(0, Relaxed);
        }
        self.shared.last_s.fetch_max(end_s, Relaxed);
    }

    /// Returns the marks in effect for a visitor.
    #[must_use]
    pub fn active_marks(&self, visitor: MarkedVisitor) -> ActiveMarks {
        let last_s = self.shared.last_s.load(Relaxed);
        let now_s = self.now_s();
        if !holds(last_s, now_s) {
            // All marks have ended, so make later calls cheap, unless a mark was set concurrently.
            let _ = self
                .shared
                .last_s
                .compare_exchange(last_s, 0, Relaxed, Relaxed);
            return ActiveMarks::default();
        }
        let mut places = self.neighbours(visitor.0);
        let Some(place) = places.find(|place| place.key.load(Acquire) == visitor.0) else {
            return ActiveMarks::default();
        };
        let mut marked = ActiveMarks::default();
        for mark in Mark::ALL {
            if holds(place.end(mark).load(Acquire), now_s) {
                marked.is_person |= mark == Mark::Person;
                marked.is_reader |= mark == Mark::Reader;
                marked.is_sent |= mark == Mark::Sent;
                marked.reasons = marked.reasons.union(mark.reason().into_iter().collect());
            }
        }
        // Another visitor may have taken the slot concurrently.
        if place.key.load(Relaxed) == visitor.0 {
            marked
        } else {
            ActiveMarks::default()
        }
    }

    /// Returns the slot of a visitor, or assigns a slot to the visitor.
    fn place(&self, key: u64, now_s: u32) -> Option<&Place> {
        self.shared.places.get_or_init(|| {
            let places = (0..PLACES).map(|_| Place::default());
            places.collect()
        });
        if let Some(known) = self
            .neighbours(key)
            .find(|place| place.key.load(Acquire) == key)
        {
            return Some(known);
        }
        let left_s = |place: &Place| match place.key.load(Relaxed) {
            FREE => 0,
            // A slot that is being written is not replaced.
            TAKEN => u32::MAX,
            _ => place.left_s(now_s),
        };
        let place = self.neighbours(key).min_by_key(|place| left_s(place))?;
        let known = place.key.load(Relaxed);
        // If two visitors compete for the slot, only one visitor is marked.
        if known == TAKEN
            || place
                .key
                .compare_exchange(known, TAKEN, Acquire, Relaxed)
                .is_err()
        {
            return None;
        }
        for end_s in &place.ends_s {
            end_s.store(0, Release);
        }
        place.key.store(key, Release);
        Some(place)
    }

    fn neighbours(&self, key: u64) -> impl Iterator<Item = &Place> {
        let places = self.shared.places.get().map_or(&[][..], |places| places);
        let start = usize::try_from(key >> 32).unwrap_or_default() & (PLACES - 1);
        (0..NEIGHBOURS).filter_map(move |step| places.get((start + step) & (PLACES - 1)))
    }

    fn now_s(&self) -> u32 {
        let since_ms = self.shared.clock.now_ms() - self.shared.started_ms;
        // If the clock was set back to a time before the start, time stands still until the start.
        u32::try_from(since_ms.max(0) / 1_000).unwrap_or(u32::MAX)
    }
}

impl Place {
    fn end(&self, mark: Mark) -> &AtomicU32 {
        let [person, no_person, trap, reader, sent] = &self.ends_s;
        match mark {
            Mark::Person => person,
            Mark::NoPerson => no_person,
            Mark::Trap => trap,
            Mark::Reader => reader,
            Mark::Sent => sent,
        }
    }

    /// Returns the longest remaining duration of the slot's marks.
    fn left_s(&self, now_s: u32) -> u32 {
        let ends = self.ends_s.iter().map(|end_s| end_s.load(Relaxed));
        let left = ends.filter(|end_s| holds(*end_s, now_s));
        left.map(|end_s| end_s - now_s).max().unwrap_or_default()
    }
}

impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Marks")
            .field("are_none", &self.is_empty())
            .finish_non_exhaustive()
    }
}

fn holds(end_s: u32, now_s: u32) -> bool {
    let left_s = end_s.checked_sub(now_s);
    left_s.is_some_and(|left_s| (1..=LONGEST_S).contains(&left_s))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const HOUR: Duration = Duration::from_hours(1);
    const MINUTE: Duration = Duration::from_mins(1);

    fn marks() -> (Marks, Clock) {
        let clock = Clock::manual(1_000_000_000_000);
        (Marks::new(&clock), clock)
    }

    fn address(number: u32) -> IpAddr {
        IpAddr::from(number.to_be_bytes())
    }

    #[test]
    fn marks_expire_and_the_last_report_of_the_application_applies() {
        let (marks, clock) = marks();
        let visitor = marks.visitor(address(7), b"Chrome/156");
        assert!(marks.is_empty());
        marks.set(visitor, Mark::Trap, HOUR);
        marks.set(visitor, Mark::NoPerson, 10 * MINUTE);
        let all = Reasons::from(Reason::Trap).with(Reason::UpstreamWord);
        assert_eq!(marks.active_marks(visitor).reasons, all);
        marks.set(visitor, Mark::Person, 10 * MINUTE);
        let told = ActiveMarks {
            is_person: true,
            is_reader: false,
            is_sent: false,
            reasons: Reason::Trap.into(),
        };
        assert_eq!(marks.active_marks(visitor), told);
        clock.advance(10 * MINUTE);
        assert!(!marks.active_marks(visitor).is_person);
        assert!(marks.active_marks(visitor).reasons.contains(Reason::Trap));
        clock.advance(50 * MINUTE);
        assert_eq!(marks.active_marks(visitor), ActiveMarks::default());
        assert!(marks.is_empty(), "all marks have ended");
    }

    #[test]
    fn visitors_are_distinguished_by_address_user_agent_and_site() {
        let (marks, _) = marks();
        let agents = ["", "a", "Chrome/156.0", "Chrome/156.1", &"x".repeat(40)];
        let mut addresses = vec![address(7), address(8)];
        let networks = ["2001:db8::1", "2001:db8:0:1::1"];
        addresses.extend(networks.map(|text| text.parse::<IpAddr>().unwrap()));
        let mut all = Vec::new();
        for site in [marks.clone(), marks.for_site("a"), marks.for_site("b")] {
            for agent in agents {
                let of = |address: &IpAddr| site.visitor(*address, agent.as_bytes()).0;
                all.extend(addresses.iter().map(of));
            }
        }
        let number = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), number);
        let of = |text: &str| marks.visitor(text.parse().unwrap(), b"a");
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff"), "same /64");
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
    }

    #[test]
    fn new_marks_replace_old_ones_when_memory_is_full() {
        let (marks, clock) = marks();
        let visitor = |number| marks.visitor(address(number), b"a");
        let mut last = 0;
        for number in 0..100_000 {
            marks.set(visitor(number), Mark::Trap, HOUR);
            last = number;
            assert_ne!(
                marks.active_marks(visitor(number)),
                ActiveMarks::default(),
                "{number}"
            );
        }
        let kept = (0..=last)
            .filter(|number| marks.active_marks(visitor(*number)) != ActiveMarks::default());
        let kept = kept.count();
        assert!((PLACES * 9 / 10..=PLACES).contains(&kept), "{kept}");
        assert!(PLACES * size_of::<Place>() <= 1 << 19);
        clock.advance(HOUR);
        assert_eq!(marks.active_marks(visitor(last)), ActiveMarks::default());
    }

    #[test]
    fn concurrent_visitors_never_get_the_marks_of_others() {
        let (marks, _) = marks();
        thread::scope(|scope| {
            for part in 0..4_u32 {
                let marks = &marks;
                scope.spawn(move || {
                    for number in 0..50_000 {
                        let visitor = marks.visitor(address(number * 4 + part), b"a");
                        marks.set(visitor, Mark::Trap, HOUR);
                        let never = marks.visitor(address(number * 4 + part), b"b");
                        assert_eq!(marks.active_marks(never), ActiveMarks::default());
                    }
                });
            }
        });
    }

    #[test]
    fn changing_the_clock_does_not_extend_marks_forever() {
        let clock = Clock::manual(0);
        let marks = Marks::new(&clock);
        let visitor = marks.visitor(address(7), b"a");
        clock.advance(Duration::from_hours(1_000));
        marks.set(visitor, Mark::Trap, Duration::MAX);
        assert!(marks.active_marks(visitor).reasons.contains(Reason::Trap));
        clock.advance(Duration::from_hours(12));
        assert_eq!(marks.active_marks(visitor), ActiveMarks::default());
    }
}
