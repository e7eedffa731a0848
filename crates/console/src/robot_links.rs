//! Links to the pages about robots, relative to the console's root.

use super::page::encode;
use robot_detection_layer::registry::{Purpose, Robot, Source};
use robot_detection_operations::robots::{RobotLinkView, RobotView};

/// A robot that has pages to which links can be created.
pub(super) trait RobotLinks {
    /// Returns the source and ID of the robot.
    fn key(&self) -> (&str, &str);

    /// Returns the link to the robot's page.
    fn link(&self) -> String {
        let (source, id) = self.key();
        link(source, id)
    }

    /// Returns the link to the page that shows the verdicts on the robot over time.
    fn verdicts_link(&self) -> String {
        verdicts_link(self.key().1)
    }

    /// Returns the link to the page that previews a rule for the robot.
    fn rule_link(&self, action: &str) -> String {
        format!(
            "rules/confirm?action={action}&robot={}",
            encode(self.key().1)
        )
    }

    /// Returns `true` if the robot was added by hand.
    fn is_manual(&self) -> bool {
        self.key().0 == Source::manual().as_str()
    }
}

impl RobotLinks for RobotView {
    fn key(&self) -> (&str, &str) {
        (&self.source, &self.id)
    }
}

impl RobotLinks for RobotLinkView {
    fn key(&self) -> (&str, &str) {
        (&self.source, &self.id)
    }
}

/// Returns the link to the page that previews a rule for all robots of an operator.
pub(super) fn operator_rule_link(operator: &str, action: &str) -> String {
    format!(
        "rules/confirm?action={action}&operator={}",
        encode(operator)
    )
}

/// Returns a robot that has only the fields that rules examine.
pub(super) fn to_rule_robot(view: &RobotView) -> Robot {
    let mut robot = Robot::new(&view.id, Source::manual());
    robot.operator.clone_from(&view.operator);
    robot.purpose = Purpose::from_word(view.purpose).unwrap_or_default();
    robot
}

/// Returns the link to a robot's page.
pub(super) fn link(source: &str, id: &str) -> String {
    match id {
        // Browsers interpret these IDs as steps up, whether encoded or not (URL Standard §4.3).
        "." | ".." => format!("robots/{}?id={id}", encode(source)),
        _ => format!("robots/{}/{}", encode(source), encode(id)),
    }
}

/// Returns the link to the page that shows the verdicts on a robot over time.
pub(super) fn verdicts_link(id: &str) -> String {
    format!("verification?robot={}", encode(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_a_page() {
        assert_eq!(
            link("web-robots-db", "a/b c"),
            "robots/web-robots-db/a%2Fb%20c"
        );
        assert_eq!(link("manual", ".."), "robots/manual?id=..");
    }
}
