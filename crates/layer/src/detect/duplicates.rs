//! Robots listed by several sources.

use std::{collections::HashMap, sync::Arc};

use super::{Detector, regexes::probes};
use crate::registry::{PatternKind, Robot, Source};

/// Index that finds robots which never match because another robot takes precedence.
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
    /// Creates the index of a detector's robots.
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

    /// Returns the robot that is detected instead of an active robot.
    ///
    /// That is the robot with the same id in a better source, or the robot detected for each name
    /// in the other robot's patterns; if several are detected, the one of the first name. Of robots
    /// in the same or in equal sources, the earlier one wins. `None` for a robot with a name of its
    /// own, and for robots that are never matched.
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
