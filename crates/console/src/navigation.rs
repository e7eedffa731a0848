//! The entries of the navigation, which every page shows.

/// Entry of the navigation.
#[derive(Clone, Copy, Debug)]
pub(super) struct NavigationEntry {
    /// Address of its page below the router, without the slash at the start.
    pub(super) path: &'static str,
    pub(super) label: &'static str,
    /// Whether it stands in the second list: what is set up, and seldom looked at.
    pub(super) is_second: bool,
}

/// The entries, in their order.
pub(super) const NAVIGATION: &[NavigationEntry] = &[
    NavigationEntry::new("overview", "Now"),
    NavigationEntry::new("live", "Live"),
    NavigationEntry::new("robots", "Robots"),
    NavigationEntry::new("paths", "Paths"),
    NavigationEntry::new("sites", "Sites"),
    NavigationEntry::new("rules", "Rules"),
    NavigationEntry::new("robots-txt", "robots.txt"),
    NavigationEntry::new("verification", "Verification"),
    NavigationEntry::new("suspects", "Suspects"),
    NavigationEntry::new("site-robot", "Site robot"),
    NavigationEntry::second("identify", "Identify"),
    NavigationEntry::second("sources", "Sources"),
    NavigationEntry::second("bans", "Bans"),
    NavigationEntry::second("alerts", "Alerts"),
    NavigationEntry::second("changes", "Changes"),
    NavigationEntry::second("settings", "Settings"),
];

impl NavigationEntry {
    const fn new(path: &'static str, label: &'static str) -> Self {
        Self {
            path,
            label,
            is_second: false,
        }
    }

    const fn second(path: &'static str, label: &'static str) -> Self {
        Self {
            is_second: true,
            ..Self::new(path, label)
        }
    }
}
