//! Detection of robots that several sources list.

use std::{collections::HashMap, sync::Arc};

use super::{Detector, regexes::probes};
use crate::registry::{PatternKind, Robot, Source};

/// An index that finds robots that are never detected because another robot takes precedence.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use robot_detection_layer::{
///     detect::{Detector, Duplicates},
///     registry::{Pattern, PatternKind, Robot, Source},
/// };
///
/// let robot = |id, source| {
///     let mut robot = Robot::new(id, source);
///     robot.patterns.push(Pattern::new(PatternKind::Token, "ExampleBot"));
///     Arc::new(robot)
/// };
/// let by_hand = robot("example", Source::manual());
/// let listed = robot("list:examplebot", "partners".parse()?);
/// let detector = Detector::new([Arc::clone(&listed), Arc::clone(&by_hand)])?;
///
/// let duplicates = Duplicates::new(&detector);
/// assert_eq!(duplicates.winner(&listed), Some(&by_hand));
/// assert_eq!(duplicates.winner(&by_hand), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Duplicates<'d> {
    detector: &'d Detector,
    by_id: HashMap<&'d str, usize>,
    places: HashMap<(&'d Source, &'d str), usize>,
}

impl<'d> Duplicates<'d> {
    /// Creates an index of the robots in a detector.
    #[must_use]
    pub fn new(detector: &'d Detector) -> Self {
        let robots = || detector.robots().iter().enumerate();
        Self {
            detector,
            by_id: robots().map(|(at, robot)| (&*robot.id, at)).collect(),
            places: robots()
                .map(|(at, robot)| ((&robot.source, &*robot.id), at))
                .collect(),
        }
    }

    /// Returns the robot that is detected instead of the given active robot.
    ///
    /// The returned robot has the same ID and a better source, or is detected for every name in the
    /// given robot's patterns; if several robots are detected, the robot for the first name is
    /// returned. If two sources are the same or equally good, the earlier robot wins. Returns
    /// `None` if the given robot has a name that no other robot has, or has no pattern that can
    /// match.
    #[must_use]
    pub fn winner(&self, robot: &Robot) -> Option<&'d Arc<Robot>> {
        if !robot.is_active() {
            return None;
        }
        let key = (&robot.source, &*robot.id);
        let Some(&own) = self.places.get(&key) else {
            let same_id = self.by_id.get(&*robot.id)?;
            return self.detector.robots().get(*same_id);
        };
        let own = (robot.source.precedence(), own);
        let mut first = None;
        for pattern in &robot.patterns {
            let names = match pattern.kind {
                PatternKind::Regex => probes(&pattern.text)?,
                _ => vec![pattern.text.clone().into_bytes()],
            };
            for name in names {
                let winner = self.detector.identify(&name)?.robot()?;
                let place = *self.places.get(&(&winner.source, &*winner.id))?;
                if (winner.source.precedence(), place) >= own {
                    return None;
                }
                first = first.or(Some(winner));
            }
        }
        first
    }
}
