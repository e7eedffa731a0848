//! Addresses of the pages about robots, from the top of the router.

use super::page::encode;
use robot_detection_layer::registry::{Purpose, Robot, Source};
use robot_detection_operations::robots::{RobotLinkView, RobotView};

/// What pages show of a robot beside what programs read.
pub(super) trait RobotLinks {
    /// Returns source and ID.
    fn key(&self) -> (&str, &str);

    /// Returns the path of the page about the robot.
    fn link(&self) -> String {
        let (source, id) = self.key();
        link(source, id)
    }

    /// Returns the path of the page of its verdicts over time.
    fn verdicts_link(&self) -> String {
        verdicts_link(self.key().1)
    }

    /// Returns the path of the page that shows what a rule would touch, before it is made.
    fn rule_link(&self, action: &str) -> String {
        format!(
            "rules/confirm?action={action}&robot={}",
            encode(self.key().1)
        )
    }

    /// Whether the robot was added by hand.
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

/// Returns the path of the page that shows what a rule about an operator would touch.
pub(super) fn operator_rule_link(operator: &str, action: &str) -> String {
    format!(
        "rules/confirm?action={action}&operator={}",
        encode(operator)
    )
}

/// Returns what rules look at.
pub(super) fn as_asked(view: &RobotView) -> Robot {
    let mut robot = Robot::new(&view.id, Source::manual());
    robot.operator.clone_from(&view.operator);
    robot.purpose = Purpose::from_word(view.purpose).unwrap_or_default();
    robot
}

/// Returns the path of the page about a robot.
pub(super) fn link(source: &str, id: &str) -> String {
    match id {
        // Browsers take these for steps up, encoded or not (URL Standard §4.3).
        "." | ".." => format!("robots/{}?id={id}", encode(source)),
        _ => format!("robots/{}/{}", encode(source), encode(id)),
    }
}

/// Returns the path of the page of a robot's verdicts over time.
pub(super) fn verdicts_link(id: &str) -> String {
    format!("verification?robot={}", encode(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_id_has_a_page() {
        assert_eq!(
            link("web-robots-db", "a/b c"),
            "robots/web-robots-db/a%2Fb%20c"
        );
        assert_eq!(link("manual", ".."), "robots/manual?id=..");
    }
}
