//! Stored evidence of a single request.

use super::sql;

/// The events for which evidence is stored.
///
/// A request that violates robots.txt is a `violation`, regardless of the decision. A request from
/// an `impostor` or for a `trap` violated no rule that applies to the visitor, and a request from a
/// `suspect` was passed.
pub const EVIDENCE_EVENTS: [&str; 8] = [
    "redirect",
    "serve",
    "refuse",
    "slow",
    "impostor",
    "violation",
    "trap",
    "suspect",
];

/// The word that matches every reason for suspicion.
pub const ANY_REASON: &str = "any";

columns! {
    /// A request stored as evidence.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct Evidence {
        /// The time of the request, in milliseconds since the Unix epoch.
        pub at_ms: i64,
        /// The event for which the request is stored, one of [`EVIDENCE_EVENTS`].
        pub event: String,
        /// The name of the site that received the request.
        pub site: String,
        /// The kind of visitor that sent the request.
        pub kind: String,
        /// The ID of the robot that sent the request; empty for human visitors.
        pub robot: String,
        /// The verdict on the request's claim; `none` if there was no claim or no verification.
        pub verdict: String,
        /// The decision for the request; in a dry run, the decision that would have been enforced.
        pub decision: String,
        /// The cause of the decision: a rule's label, or a word that describes another cause.
        pub cause: String,
        /// The HTTP status of the response.
        pub status: u16,
        /// The HTTP method of the request.
        pub method: String,
        /// The host that was requested.
        pub host: String,
        /// The requested path without the query; for human visitors, only the pattern of the path.
        pub path: String,
        /// The address or network of the client; empty if addresses are not stored.
        pub address: String,
        /// The `User-Agent` header of the request.
        pub user_agent: String,
        /// The host of the referring page.
        pub referrer: String,
        /// The evidence that contradicts an impostor's claim.
        pub proof: String,
        /// The robots.txt rule or delay that the request violated, if any.
        pub broken: Option<BrokenRule>,
        /// The comma-separated codes of the reasons for suspicion; empty if the visitor was not a
        /// suspect.
        pub suspect: String,
    }
}

/// The robots.txt rule that a request violated, as the rule was at the time of the request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum BrokenRule {
    /// A disallowed path was requested.
    Rule {
        /// The line number of the rule, starting at 1; 0 if a setting refuses the robot.
        line: u64,
        /// The text of the robots.txt rule.
        rule: String,
        /// The line number of the first `User-agent` line in the group.
        group_line: u64,
        /// The user-agent names in the rule's group.
        group: String,
    },
    /// The `Crawl-delay` was not observed.
    Delay {
        /// The delay that robots.txt requires, in milliseconds.
        delay_ms: u64,
        /// The delay that the robot actually observed, in milliseconds.
        gap_ms: u64,
    },
}

columns! {
    /// The columns in which a [`BrokenRule`] is stored.
    struct BrokenColumns {
        broken: String,
        line: u64,
        rule: String,
        group_line: u64,
        agents: String,
        delay_ms: u64,
        gap_ms: u64,
    }
}

column!(Option<BrokenRule>, BrokenColumns, |columns| Ok(
    match &*columns.broken {
        sql::RULE => Some(BrokenRule::Rule {
            line: columns.line,
            rule: columns.rule,
            group_line: columns.group_line,
            group: columns.agents,
        }),
        sql::DELAY => Some(BrokenRule::Delay {
            delay_ms: columns.delay_ms,
            gap_ms: columns.gap_ms,
        }),
        _ => None,
    }
));
