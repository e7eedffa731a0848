//! The entries of the navigation, which every page shows.

/// Entry of the navigation.
#[derive(Clone, Copy, Debug)]
pub(super) struct NavigationEntry {
    /// Address of its page below the router, without the slash at the start.
    pub(super) path: &'static str,
    pub(super) label: &'static str,
}

/// The entries, in their order.
pub(super) const NAVIGATION: &[NavigationEntry] = &[
    NavigationEntry::new("overview", "Now"),
    NavigationEntry::new("live", "Live"),
    NavigationEntry::new("robots", "Robots"),
    NavigationEntry::new("rules", "Rules"),
    NavigationEntry::new("paths", "Paths"),
    NavigationEntry::new("sites", "Sites"),
    NavigationEntry::new("robots-txt", "robots.txt"),
    NavigationEntry::new("verification", "Verification"),
    NavigationEntry::new("site-robot", "Site robot"),
    NavigationEntry::new("identify", "Identify"),
    NavigationEntry::new("sources", "Sources"),
    NavigationEntry::new("changes", "Changes"),
    NavigationEntry::new("alerts", "Alerts"),
    NavigationEntry::new("settings", "Settings"),
];

impl NavigationEntry {
    const fn new(path: &'static str, label: &'static str) -> Self {
        Self { path, label }
    }
}
