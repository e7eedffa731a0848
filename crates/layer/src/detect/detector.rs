//! Names the robot behind a User-Agent.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, LazyLock},
};

use super::{
    Claim, Listed, MAX_USER_AGENT_BYTES, Sign, Unlisted,
    known_agents::{Hit, Known, KnownAgents},
    matcher::{Builder, Limits, Matcher},
    signed::Signers,
    unlisted::{self, MARKS, Marks},
    visitors::{AnyRobot, MostSpecific},
};
use crate::keys::AgentKey;
use crate::registry::{self, Pattern, Purpose, Robot, Source};

/// What one detector takes.
pub(super) const LIMITS: Limits = Limits {
    literals_bytes: 4 << 20,
    // Each of these runs on every User-Agent: a list with more of them would slow all requests.
    always: 64,
    // Some 12,000 names fit.
    table_bytes: 32 << 20,
};

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
    known: Option<Arc<KnownAgents>>,
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
            known: Some(Arc::default()),
        })
    }

    /// Returns the detector of the bundled registry, which is built once and shared.
    #[must_use]
    pub fn bundled() -> &'static Self {
        static BUNDLED: LazyLock<Detector> = LazyLock::new(|| {
            let robots = registry::bundled().robots.into_iter().map(Arc::new);
            // Tests build it, so that this never happens.
            Detector::new(robots).unwrap_or_default()
        });
        &BUNDLED
    }

    /// Sets whether robots that no registry lists are recognised; not so by default.
    ///
    /// See the [room](super#unlisted-robots) for the rule.
    #[must_use]
    pub fn recognise_unlisted(mut self, recognise: bool) -> Self {
        self.recognises_unlisted = recognise;
        // Others are people then.
        let remembers = self.known.is_some();
        self.remember_user_agents(remembers)
    }

    /// Sets whether the layer remembers which robot a User-Agent named, or that it named nobody, of the
    /// last 4,096 of them; so by default.
    #[must_use]
    pub fn remember_user_agents(mut self, remember: bool) -> Self {
        self.known = remember.then(Arc::default);
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
        self.search(user_agent).0
    }

    /// Returns the same, and the pattern that names a robot, where nothing else does.
    fn search(&self, user_agent: &[u8]) -> (Option<Claim<'_>>, Option<Hit>) {
        let Some(matcher) = self.matcher.as_deref() else {
            return (None, None);
        };
        let mut best = MostSpecific::new(self.recognises_unlisted);
        matcher.scan(user_agent, &mut best);
        let Some((owner, range)) = best.hit else {
            let marks = Some(&best.marks).filter(|_| self.recognises_unlisted);
            let found = marks.and_then(|marks| unlisted::find(read(user_agent), marks));
            return (found.map(Claim::Unlisted), None);
        };
        let hit = Hit::new(owner, range);
        let Some(listed) = self.listed(&hit) else {
            return (None, None);
        };
        if listed.robot.purpose != Purpose::Shared {
            return (Some(Claim::Listed(listed)), Some(hit));
        }
        // A mark within the shared name is part of it, and names nobody else.
        let marks = best.marks.outside(&listed.range);
        let named = self.named_unlisted(user_agent, &marks, &listed.range);
        (
            Some(named.map_or(Claim::Shared(listed), Claim::Unlisted)),
            None,
        )
    }

    /// Returns the robot of a hit.
    fn listed(&self, hit: &Hit) -> Option<Listed<'_>> {
        let robot = self.robots.get(hit.robot as usize)?;
        Some(Listed {
            robot,
            pattern: Some(robot.patterns.get(hit.pattern as usize)?),
            range: hit.range.clone(),
        })
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

    /// Returns the same for a User-Agent whose number is known, and remembers which robot it names, or
    /// that it names nobody.
    ///
    /// Most requests bring one that came before, and to search it again is a twentieth of all that a
    /// passing request costs, and a tenth of a redirect.
    pub(crate) fn claim_by(&self, user_agent: &[u8], key: AgentKey) -> Option<Claim<'_>> {
        let Some(known) = &self.known else {
            return self.claim(user_agent);
        };
        match known.get(key) {
            Some(Known::Nobody) => return None,
            Some(Known::Robot(hit)) => return self.listed(&hit).map(Claim::Listed),
            None if user_agent.trim_ascii().is_empty() => return Some(Claim::Nameless),
            None => {}
        }
        match self.search(user_agent) {
            (None, _) => {
                known.set(key, &Known::Nobody);
                None
            }
            (claim, hit) => {
                if let Some(hit) = hit {
                    known.set(key, &Known::Robot(hit));
                }
                claim
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::PatternKind;

    fn robot(id: &str, token: &str, purpose: Purpose) -> Arc<Robot> {
        let mut robot = Robot::new(id, Source::manual());
        robot.purpose = purpose;
        robot.patterns = vec![Pattern::new(PatternKind::Token, token)];
        Arc::new(robot)
    }

    #[test]
    fn a_user_agent_that_comes_again_claims_the_same() {
        let robots = [
            robot("examplebot", "ExampleBot", Purpose::Search),
            robot("examplecdn", "ExampleCDN", Purpose::Shared),
        ];
        let detector = Detector::new(robots).unwrap().recognise_unlisted(true);
        for (user_agent, id) in [
            (
                "Mozilla/5.0 (compatible; ExampleBot/2.1)",
                Some("examplebot"),
            ),
            ("ExampleCDN", Some("shared")),
            ("ExampleCDN otherbot/1.0", Some("unlisted")),
            ("otherbot/1.0 (+https://example.com/bot)", Some("unlisted")),
            (" ", Some("nameless")),
            ("", Some("nameless")),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0)", None),
        ] {
            let user_agent = user_agent.as_bytes();
            let key = AgentKey::of(user_agent);
            let first = detector.claim_by(user_agent, key);
            assert_eq!(first.as_ref().map(Claim::id), id, "{user_agent:?}");
            assert_eq!(first, detector.claim(user_agent));
            assert_eq!(first, detector.claim_by(user_agent, key));
        }
    }
}
