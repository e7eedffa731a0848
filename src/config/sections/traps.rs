//! `[traps]`.

use crate::config::section::section;

section! {
    /// Paths that no person is shown and robots.txt closes.
    pub struct TrapsSection, TrapsKeys = "traps." @site;
    /// Whether each site has traps: paths of this installation's own that robots.txt closes to everybody
    /// where this program serves or merges it; whoever asks for one shows that it is a robot which does not
    /// keep to that. The pages' link to them: robot-detection traps
    active: bool = "false";
}
