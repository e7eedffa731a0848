//! Robots that a policy names and no registry lists.

use robot_detection_robots_txt::nearest;

use crate::detect::Detector;

use super::{Policy, condition::RobotSet};

/// Robot that a rule or a list names and that the registry does not list.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{by} names the robot {id:?}, which the registry does not list{}", hint(.nearest.as_deref()))]
#[non_exhaustive]
pub struct UnknownRobot {
    /// The rule or the list, such as `rule 2` or `allow_robots`.
    pub by: String,
    /// The id as spelled.
    pub id: String,
    /// The id that is spelled most like it, if one comes near.
    pub nearest: Option<String>,
}

impl Policy {
    /// Returns the robots that rules and lists name and that a detector does not know.
    pub fn unknown_robots(&self, detector: &Detector) -> impl Iterator<Item = UnknownRobot> {
        let ids = || detector.robots().iter().map(|robot| robot.id.as_str());
        let lists = [
            ("allow_robots", &self.allowed),
            ("deny_robots", &self.denied),
        ];
        let rules = self.rules.iter().map(|rule| (rule.label(), &rule.scope));
        let tags = self.tag_rules.iter().map(|tag| (tag.label(), tag.scope()));
        let named = rules.chain(tags);
        let named = named.filter_map(|(label, scope)| Some((label, scope.robots.robots.as_ref()?)));
        let named = lists.into_iter().chain(named);
        let named: Vec<(&str, &RobotSet)> = named.collect();
        let named = named.into_iter();
        named.flat_map(move |(by, robots)| {
            let unknown = robots
                .listed()
                .filter(move |id| !ids().any(|known| known == *id));
            unknown.map(move |id| UnknownRobot {
                by: by.to_owned(),
                id: id.to_owned(),
                nearest: nearest(id.as_bytes(), ids()).map(str::to_owned),
            })
        })
    }
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}
