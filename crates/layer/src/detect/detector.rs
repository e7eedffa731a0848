//! The detector, which identifies robots by their User-Agent.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, LazyLock},
};

use super::{
    Claim, Listed, MAX_USER_AGENT_BYTES, Sign, Unlisted,
    agent::{Place, Places},
    known_agents::{CachedResult, Hit, KnownAgents},
    matcher::{Builder, Limits, Matcher},
    signed::Signers,
    unlisted::{self, MARKS, Marks},
    visitors::{AnyRobot, MostSpecific},
};
use crate::keys::AgentKey;
use crate::registry::{self, Pattern, Purpose, Robot, Source};

/// Size limits of a detector.
pub(super) const LIMITS: Limits = Limits {
    literals_bytes: 4 << 20,
    // Each of these expressions runs on every User-Agent; more would slow down all requests.
    always: 64,
    // This size is enough for about 12,000 names.
    table_bytes: 32 << 20,
};

/// An immutable detector that recognises the active robots of a registry.
///
/// Clones share the detector's tables. Use a [`SharedDetector`](super::SharedDetector) to replace
/// the detector while requests are being served.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    robots: Vec<Arc<Robot>>,
    rejected: Vec<RejectedPattern>,
    matcher: Option<Arc<Matcher>>,
    recognises_unlisted: bool,
    signers: Arc<Signers>,
    /// Cache of recent User-Agents; `None` if caching is disabled.
    known: Option<Arc<KnownAgents>>,
}

/// An active robot's pattern that the detector cannot use.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RejectedPattern {
    /// The robot with the rejected pattern; its other patterns, if any, are still detected.
    pub robot: Arc<Robot>,
    /// The rejected pattern.
    pub pattern: Pattern,
    /// A short explanation of why the pattern was rejected.
    pub reason: String,
}

/// Error returned when no detector can be built from the patterns.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There are too many patterns, or the patterns are too long.
    #[error("the patterns exceed the limits of a detector: {0}")]
    TooLarge(String),
}

impl Detector {
    /// Builds a detector for the active robots among `robots`.
    ///
    /// If several robots have the same ID, the one from the best source is used (by
    /// [`Source::precedence`], then by order). Unusable patterns are skipped and returned by
    /// [`Detector::rejected`]: literals that are empty or longer than 512 bytes, and regular
    /// expressions that need more than 1 MiB to compile, that match an empty User-Agent, or that
    /// exceed the limit of 64 expressions without a literal of three bytes.
    ///
    /// Building a detector with a thousand patterns takes milliseconds, so do not build a detector
    /// for each request.
    ///
    /// # Errors
    ///
    /// Returns an error if the literals exceed 4 MiB, or if there are too many literals.
    pub fn new(robots: impl IntoIterator<Item = Arc<Robot>>) -> Result<Self, BuildError> {
        let mut builder = Builder::new(LIMITS);
        let mut taking_part: Vec<Arc<Robot>> = Vec::new();
        let mut rejected = Vec::new();
        for robot in keep_best_sources(robots) {
            // A robot without a usable pattern is dropped, and the next robot gets its number.
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
            signers: Arc::new(Signers::from_robots(&taking_part)),
            robots: taking_part,
            rejected,
            matcher: Some(Arc::new(builder.build()?)),
            recognises_unlisted: false,
            known: Some(Arc::default()),
        })
    }

    /// Returns the detector for the bundled registry, which is built once and shared.
    #[must_use]
    pub fn bundled() -> &'static Self {
        static BUNDLED: LazyLock<Detector> = LazyLock::new(|| {
            let robots = registry::bundled().robots.into_iter().map(Arc::new);
            // This never fails, as tests build the same detector.
            Detector::new(robots).unwrap_or_default()
        });
        &BUNDLED
    }

    /// Sets whether robots that are not in the registry are detected; disabled by default.
    ///
    /// See [unlisted robots](super#unlisted-robots) for the criteria.
    #[must_use]
    pub fn recognise_unlisted(mut self, recognise: bool) -> Self {
        self.recognises_unlisted = recognise;
        // Discard the cached results, which depend on this setting.
        let remembers = self.known.is_some();
        self.remember_user_agents(remembers)
    }

    /// Sets whether the layer caches the detection results of the 4,096 most recent User-Agents;
    /// enabled by default.
    #[must_use]
    pub fn remember_user_agents(mut self, remember: bool) -> Self {
        self.known = remember.then(Arc::default);
        self
    }

    /// Returns `true` if robots that are not in the registry are detected.
    #[must_use]
    pub fn recognises_unlisted(&self) -> bool {
        self.recognises_unlisted
    }

    /// Returns the robot that a User-Agent identifies, if any.
    ///
    /// A listed robot takes precedence over an unlisted robot. If several listed robots match, the
    /// most specific robot is returned: names of libraries and automated browsers have the lowest
    /// precedence; then the longer literal wins (punctuation at its ends is not counted), then the
    /// better source ([`Source::precedence`]), then the earlier robot. The length of a regular
    /// expression is the length of the shortest literal that it requires.
    ///
    /// The run time is linear in the length of the User-Agent and does not depend on the number of
    /// patterns; only the first [`MAX_USER_AGENT_BYTES`](super::MAX_USER_AGENT_BYTES) are scanned.
    /// Matching literals never allocates; regular expressions allocate on their first uses. At most
    /// 64 regular expressions run in addition to the expressions that always run.
    #[must_use]
    pub fn identify(&self, user_agent: &[u8]) -> Option<Claim<'_>> {
        let claim = self.find(user_agent)?;
        claim.shared().is_none().then_some(claim)
    }

    /// Returns the robot or the shared record that a User-Agent identifies.
    fn find(&self, user_agent: &[u8]) -> Option<Claim<'_>> {
        self.search(user_agent).0
    }

    /// Returns the claim made by a User-Agent, with the matched pattern if the claim is a listed
    /// robot.
    fn search(&self, user_agent: &[u8]) -> (Option<Claim<'_>>, Option<Hit>) {
        let Some(matcher) = self.matcher.as_deref() else {
            return (None, None);
        };
        let mut best = MostSpecific::new(self.recognises_unlisted);
        matcher.scan(user_agent, &mut best);
        let Some((owner, range, _)) = best.hit else {
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
        // A mark within a shared User-Agent's name does not reveal a robot.
        let marks = best.marks.outside(&listed.range);
        let named = self.named_unlisted(user_agent, &marks, &listed.range);
        (
            Some(named.map_or(Claim::Shared(listed), Claim::Unlisted)),
            None,
        )
    }

    /// Returns the listed robot that a cached or scanned hit refers to.
    fn listed(&self, hit: &Hit) -> Option<Listed<'_>> {
        let robot = self.robots.get(hit.robot as usize)?;
        Some(Listed {
            robot,
            pattern: Some(robot.patterns.get(hit.pattern as usize)?),
            range: hit.range.clone(),
        })
    }

    /// Returns the unlisted robot revealed by a robot word outside the name of a shared User-Agent.
    fn named_unlisted(
        &self,
        user_agent: &[u8],
        marks: &Marks,
        shared: &Range<usize>,
    ) -> Option<Unlisted> {
        if !self.recognises_unlisted {
            return None;
        }
        let text = read(user_agent);
        let found = unlisted::find(text, marks)?;
        let is_beside = found.range.end <= shared.start || found.range.start >= shared.end;
        // A URL or an address may belong to the shared service; a word that robots use in their
        // names does not.
        let is_name = || Places::new(text).at(found.range.start) == Place::Name;
        (found.sign == Sign::Word && is_beside && is_name()).then_some(found)
    }

    /// Returns the claim made by a User-Agent; an empty User-Agent is [nameless](Claim::Nameless).
    ///
    /// A User-Agent that many human visitors share is [shared](Claim::Shared). For any other
    /// User-Agent, the result is the same as from [`identify`](Self::identify). If the header is
    /// missing, pass an empty User-Agent.
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

    /// Returns the claim made by a User-Agent with the given key, using and updating the cache.
    ///
    /// Most User-Agents have been seen before; scanning them again would take a twentieth of the
    /// time needed for a passing request, or a tenth of the time for a redirect.
    pub(crate) fn claim_cached(&self, user_agent: &[u8], key: AgentKey) -> Option<Claim<'_>> {
        let Some(known) = &self.known else {
            return self.claim(user_agent);
        };
        match known.get(key) {
            Some(CachedResult::Nobody) => return None,
            Some(CachedResult::Robot(hit)) => return self.listed(&hit).map(Claim::Listed),
            None if user_agent.trim_ascii().is_empty() => return Some(Claim::Nameless),
            None => {}
        }
        match self.search(user_agent) {
            (None, _) => {
                known.set(key, &CachedResult::Nobody);
                None
            }
            (claim, hit) => {
                if let Some(hit) = hit {
                    known.set(key, &CachedResult::Robot(hit));
                }
                claim
            }
        }
    }

    /// Returns `true` if [`Detector::identify`] would return a robot for the User-Agent.
    ///
    /// This is faster than `identify` because the search stops at the first matching robot.
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
        if any.is_found || any.is_undecided {
            return any.is_found || self.identify(user_agent).is_some();
        }
        self.recognises_unlisted && unlisted::find(read(user_agent), &any.marks).is_some()
    }

    /// Returns the index of robots by their `Signature-Agent`.
    pub(super) fn signers(&self) -> &Signers {
        &self.signers
    }

    /// Returns the robots that can be detected.
    #[must_use]
    pub fn robots(&self) -> &[Arc<Robot>] {
        &self.robots
    }

    /// Returns the rejected patterns of active robots, with the reasons.
    #[must_use]
    pub fn rejected(&self) -> &[RejectedPattern] {
        &self.rejected
    }

    /// Returns the number of patterns that the detector uses.
    #[must_use]
    pub fn pattern_count(&self) -> usize {
        self.matcher.as_deref().map_or(0, Matcher::pattern_count)
    }

    /// Returns the size of the tables in bytes, excluding robots and regular expressions.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.matcher.as_deref().map_or(0, Matcher::memory_bytes)
    }
}

/// Returns the part of a User-Agent that the detector scans.
fn read(user_agent: &[u8]) -> &[u8] {
    user_agent.get(..MAX_USER_AGENT_BYTES).unwrap_or(user_agent)
}

/// Removes inactive robots, and robots whose ID also occurs in a better source.
pub(super) fn keep_best_sources(robots: impl IntoIterator<Item = Arc<Robot>>) -> Vec<Arc<Robot>> {
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
    fn repeated_user_agent_makes_the_same_claim() {
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
            ("ExampleCDN (+a@otherbot.com)", Some("shared")),
            ("otherbot/1.0 (+https://example.com/bot)", Some("unlisted")),
            (" ", Some("nameless")),
            ("", Some("nameless")),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0)", None),
        ] {
            let user_agent = user_agent.as_bytes();
            let key = AgentKey::parse(user_agent);
            let first = detector.claim_cached(user_agent, key);
            assert_eq!(first.as_ref().map(Claim::id), id, "{user_agent:?}");
            assert_eq!(first, detector.claim(user_agent));
            assert_eq!(first, detector.claim_cached(user_agent, key));
        }
    }
}
