use std::time::Duration;

/// How often somebody is refused in how long a time, and for how long he is banned then.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct BanRule {
    /// Refusals.
    pub(crate) refusals: u32,
    /// Time that begins with the first of them.
    pub(crate) per: Duration,
    /// How long a ban lasts.
    pub(crate) lasts: Duration,
    /// What has to refuse: labels of rules, or words such as `robots.txt`; empty: whatever does.
    pub(crate) causes: Vec<String>,
}

impl BanRule {
    pub(super) fn counts(&self, cause: &str) -> bool {
        self.causes.is_empty() || self.causes.iter().any(|counted| counted == cause)
    }
}
