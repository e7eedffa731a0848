//! Names the robot behind a User-Agent.

use std::{collections::HashMap, ops::Range, sync::Arc};

use super::{
    Claim, Listed, MAX_USER_AGENT_BYTES, Sign, Unlisted,
    matcher::{Builder, Limits, Matcher},
    signed::Signers,
    unlisted::{self, MARKS, Marks},
    visitors::{AnyRobot, MostSpecific},
};
use crate::keys::{AgentKey, SeenKeys};
use crate::registry::{Pattern, Purpose, Robot, Source};

/// What one detector takes.
pub(super) const LIMITS: Limits = Limits {
    literals_bytes: 4 << 20,
    // Each of these runs on every User-Agent: a list with more of them would slow all requests.
    always: 64,
};

/// User-Agents of people that are remembered: 32 KiB.
const PEOPLE: usize = 4_096;

/// Detector that knows the active robots of a registry.
///
/// It is immutable and shared freely; clones share its tables.
/// [`SharedDetector`](super::SharedDetector) exchanges one for another.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    robots: Vec<Arc<Robot>>,
    rejected: Vec<RejectedPattern>,
    matcher: Option<Arc<Matcher>>,
    recognises_unlisted: bool,
    signers: Arc<Signers>,
    /// `None`: each User-Agent is searched.
    people: Option<Arc<SeenKeys<PEOPLE>>>,
}

/// Pattern of an active robot that the detector does not match.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RejectedPattern {
    /// The robot, which takes part if it has other patterns.
    pub robot: Arc<Robot>,
    /// The pattern.
    pub pattern: Pattern,
    /// Why, in a few words.
    pub reason: String,
}

/// Error of patterns that no detector can be built from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There are too many patterns, or they are too long.
    #[error("the patterns do not fit a detector: {0}")]
    TooLarge(String),
}

impl Detector {
    /// Builds a detector of the active robots among `robots`.
    ///
    /// Where several sources have a robot of the same id, the one of the best
    /// source takes part: [`Source::precedence`], then the order. A pattern
    /// that cannot be used is left out and told by [`Detector::rejected`]: a
    /// literal that is empty or longer than 512 bytes, a regular expression
    /// that does not compile in 1 MiB, that matches an empty User-Agent,
    /// or that is one too many of 64 that need no literal of three bytes.
    ///
    /// Takes milliseconds for a thousand patterns: build it off the request
    /// path.
    ///
    /// # Errors
    ///
    /// Fails when the literals have more than 4 MiB, or are too many to be
    /// addressed.
    pub fn new(robots: impl IntoIterator<Item = Arc<Robot>>) -> Result<Self, BuildError> {
        let mut builder = Builder::new(LIMITS);
        let mut taking_part: Vec<Arc<Robot>> = Vec::new();
        let mut rejected = Vec::new();
        for robot in of_best_source(robots) {
            // Of a robot that has no usable pattern nothing is kept, so that the next one gets its
            // number.
            let refused = builder.add(taking_part.len(), &robot);
            let is_usable = refused.len() < robot.patterns.len();
            rejected.extend(
                refused
                    .into_iter()
                    .map(|(pattern, reason)| RejectedPattern {
                        robot: Arc::clone(&robot),
                        pattern,
                        reason,
                    }),
            );
            if is_usable {
                taking_part.push(robot);
            }
        }
        builder.add_marks(MARKS);
        Ok(Self {
            signers: Arc::new(Signers::of(&taking_part)),
            robots: taking_part,
            rejected,
            matcher: Some(Arc::new(builder.build()?)),
            recognises_unlisted: false,
            people: Some(Arc::default()),
        })
    }

    /// Sets whether robots that no registry lists are recognised; not so by default.
    ///
    /// See the [room](super#unlisted-robots) for the rule.
    #[must_use]
    pub fn recognise_unlisted(mut self, recognise: bool) -> Self {
        self.recognises_unlisted = recognise;
        // Others are people then.
        let remembers = self.people.is_some();
        self.remember_people(remembers)
    }

    /// Sets whether the layer remembers which User-Agents named nobody, the last 4,096 of them; so by
    /// default.
    #[must_use]
    pub fn remember_people(mut self, remember: bool) -> Self {
        self.people = remember.then(Arc::default);
        self
    }

    /// Returns `true` if robots that no registry lists are recognised.
    #[must_use]
    pub fn recognises_unlisted(&self) -> bool {
        self.recognises_unlisted
    }

    /// Returns the robot that a User-Agent names, if any.
    ///
    /// A robot of the registry goes before an unlisted one.
    /// Of several, the most specific: a library's or driven browser's name
    /// only where there is no other; then the longer literal, signs at its ends
    /// not counted, the better source ([`Source::precedence`]), the order. A
    /// regular expression counts as long as the shortest literal that it needs.
    ///
    /// Time is linear in the length, of which the first
    /// [`MAX_USER_AGENT_BYTES`](super::MAX_USER_AGENT_BYTES) count, and does
    /// not depend on the number of patterns. Literals never allocate; regular
    /// expressions do so while they warm up. At most 64 of these run beside
    /// those that always do.
    #[must_use]
    pub fn identify(&self, user_agent: &[u8]) -> Option<Claim<'_>> {
        let claim = self.find(user_agent)?;
        claim.shared().is_none().then_some(claim)
    }

    /// Returns the robot that a User-Agent names, or the record that many people share.
    fn find(&self, user_agent: &[u8]) -> Option<Claim<'_>> {
        let matcher = self.matcher.as_deref()?;
        let mut best = MostSpecific::new(self.recognises_unlisted);
        matcher.scan(user_agent, &mut best);
        let Some((owner, range)) = best.hit else {
            if !self.recognises_unlisted {
                return None;
            }
            return unlisted::find(read(user_agent), &best.marks).map(Claim::Unlisted);
        };
        let robot = self.robots.get(owner.robot as usize)?;
        let listed = Listed {
            robot,
            pattern: Some(robot.patterns.get(owner.pattern as usize)?),
            range,
        };
        if listed.robot.purpose != Purpose::Shared {
            return Some(Claim::Listed(listed));
        }
        // A mark within the shared name is part of it, and names nobody else.
        let marks = best.marks.outside(&listed.range);
        let named = self.named_unlisted(user_agent, &marks, &listed.range);
        Some(named.map_or(Claim::Shared(listed), Claim::Unlisted))
    }

    /// Returns the unlisted robot that a User-Agent names by a robot's word, outside of what is shared.
    fn named_unlisted(
        &self,
        user_agent: &[u8],
        marks: &Marks,
        shared: &Range<usize>,
    ) -> Option<Unlisted> {
        if !self.recognises_unlisted {
            return None;
        }
        let found = unlisted::find(read(user_agent), marks)?;
        let is_beside = found.range.end <= shared.start || found.range.start >= shared.end;
        // A URL or an address may be that of what is shared; a word that robots call themselves is
        // not.
        (found.sign == Sign::Word && is_beside).then_some(found)
    }

    /// Returns what a request claims whose User-Agent this is; an empty one is [nameless](Claim::Nameless).
    ///
    /// One that stands for many people is [shared](Claim::Shared). Of any other it is what
    /// [`identify`](Self::identify) returns. A request without the header is to be asked
    /// about with an empty one.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_layer::detect::{Claim, Detector};
    ///
    /// let detector = Detector::new([])?;
    /// assert_eq!(detector.claim(b" "), Some(Claim::Nameless));
    /// assert_eq!(detector.claim(b"Mozilla/5.0 (X11; Linux x86_64)"), None);
    /// # Ok::<(), robot_detection_layer::detect::BuildError>(())
    /// ```
    #[must_use]
    pub fn claim(&self, user_agent: &[u8]) -> Option<Claim<'_>> {
        if user_agent.trim_ascii().is_empty() {
            return Some(Claim::Nameless);
        }
        self.find(user_agent)
    }

    /// Returns the same for a User-Agent whose number is known, and remembers of whom it is that of nobody.
    ///
    /// Most requests bring one that came before, and to search it again is a twentieth of all that a
    /// passing request costs.
    pub(crate) fn claim_by(&self, user_agent: &[u8], key: AgentKey) -> Option<Claim<'_>> {
        let Some(people) = &self.people else {
            return self.claim(user_agent);
        };
        if people.has(key.number()) {
            return None;
        }
        let claim = self.claim(user_agent);
        if claim.is_none() {
            people.add(key.number());
        }
        claim
    }

    /// Returns `true` if a User-Agent is a robot's: whether [`Detector::identify`] names one.
    ///
    /// It is the quicker question, as the first robot found is enough.
    ///
    /// # Example
    ///
    /// ```
    /// use robot_detection_layer::detect::Detector;
    ///
    /// let detector = Detector::new([])?.recognise_unlisted(true);
    /// assert!(detector.is_robot("Mozilla/5.0 (compatible; examplebot/2.1)"));
    /// assert!(!detector.is_robot("Mozilla/5.0 (X11; Linux x86_64; rv:140.0)"));
    /// # Ok::<(), robot_detection_layer::detect::BuildError>(())
    /// ```
    #[must_use]
    pub fn is_robot(&self, user_agent: impl AsRef<[u8]>) -> bool {
        self.is_any(user_agent.as_ref())
    }

    fn is_any(&self, user_agent: &[u8]) -> bool {
        let Some(matcher) = self.matcher.as_deref() else {
            return false;
        };
        let mut any = AnyRobot::default();
        matcher.scan(user_agent, &mut any);
        if any.is_found || any.is_shared {
            // Beside what is shared, only the whole search tells whether a robot is named too.
            return any.is_found || self.identify(user_agent).is_some();
        }
        self.recognises_unlisted && unlisted::find(read(user_agent), &any.marks).is_some()
    }

    /// Returns the robots by the agents with whose keys they sign.
    pub(super) fn signers(&self) -> &Signers {
        &self.signers
    }

    /// Returns the robots that take part.
    #[must_use]
    pub fn robots(&self) -> &[Arc<Robot>] {
        &self.robots
    }

    /// Returns the patterns of active robots that are not matched, and why.
    #[must_use]
    pub fn rejected(&self) -> &[RejectedPattern] {
        &self.rejected
    }

    /// Returns how many patterns are matched.
    #[must_use]
    pub fn pattern_count(&self) -> usize {
        self.matcher.as_deref().map_or(0, Matcher::pattern_count)
    }

    /// Returns the memory of the tables in bytes, robots and regular expressions apart.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.matcher.as_deref().map_or(0, Matcher::memory_bytes)
    }
}

/// Returns what is read of a User-Agent.
fn read(user_agent: &[u8]) -> &[u8] {
    user_agent.get(..MAX_USER_AGENT_BYTES).unwrap_or(user_agent)
}

/// Drops the inactive, and those of which a better source has the id.
pub(super) fn of_best_source(robots: impl IntoIterator<Item = Arc<Robot>>) -> Vec<Arc<Robot>> {
    let mut active: Vec<_> = robots
        .into_iter()
        .filter(|robot| robot.is_active())
        .collect();
    let mut best: HashMap<String, Source> = HashMap::new();
    for robot in &active {
        best.entry(robot.id.clone())
            .and_modify(|source| {
                if robot.source.precedence() < source.precedence() {
                    source.clone_from(&robot.source);
                }
            })
            .or_insert_with(|| robot.source.clone());
    }
    active.retain(|robot| best.get(&robot.id) == Some(&robot.source));
    active
}
