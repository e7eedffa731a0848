//! One request that is kept.

use super::sql;

/// Words for what a request is kept as.
///
/// A violation of robots.txt is one whatever was done; an impostor whatever was done, if he
/// broke no rule; a trap that was asked for where no rule that is held against the visitor closes it;
/// a suspect whose request passed.
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

/// Word for any reason that makes a suspect.
pub const ANY_REASON: &str = "any";

columns! {
    /// Request of which more is kept than its place in a sum.
    #[derive(Clone, Debug, Default, Eq, PartialEq)]
    pub struct Evidence {
        /// When it came, in milliseconds since 1970.
        pub at_ms: i64,
        /// What it is kept as, one of [`EVIDENCE_EVENTS`].
        pub event: String,
        /// Name of the site.
        pub site: String,
        /// Word for the kind of visitor.
        pub kind: String,
        /// Id of the robot; empty for people.
        pub robot: String,
        /// Word for the verdict; `none` where nothing is claimed, or nobody proves claims.
        pub verdict: String,
        /// Word for what was done, or would have been done in a dry run.
        pub decision: String,
        /// What decided: a rule's label, or a word.
        pub cause: String,
        /// Status of the response.
        pub status: u16,
        /// Method.
        pub method: String,
        /// Host that was asked for.
        pub host: String,
        /// Path without its query; of people a pattern.
        pub path: String,
        /// Address or network of the client; empty where none is kept.
        pub address: String,
        /// User-Agent.
        pub user_agent: String,
        /// Host of the page that led there.
        pub referrer: String,
        /// What contradicts the claim, of an impostor.
        pub proof: String,
        /// What was broken of robots.txt.
        pub broken: Option<BrokenRule>,
        /// Codes of the reasons why the visitor was suspect, with commas between them; empty where it
        /// was not.
        pub suspect: String,
    }
}

/// Rule of robots.txt that a request broke, as it stood at that moment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum BrokenRule {
    /// Something disallowed.
    Rule {
        /// Its line, counted from 1; 0 for a setting that refuses the robot.
        line: u64,
        /// The rule as its line says it.
        rule: String,
        /// Line of the first `User-agent` of its group.
        group_line: u64,
        /// Names of the group.
        group: String,
    },
    /// A `Crawl-delay`.
    Delay {
        /// Milliseconds that are asked for.
        delay_ms: u64,
        /// Milliseconds that passed.
        gap_ms: u64,
    },
}

columns! {
    /// Columns of [`BrokenRule`].
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
