//! Actions and conditions of a live rule.

use std::{fmt, sync::Arc, time::Duration};

use robot_detection_layer::detect::{Kind, Verdict};
use robot_detection_layer::policy::{Action, Addresses, Rule, RuleBuilder};
use robot_detection_layer::registry::{Purpose, Robot};
use robot_detection_store::verify::RangeSet;

use super::RuleFields;

/// Path pattern for a rule that specifies no paths; the pattern matches all paths, filtered or not.
pub(super) const EVERY_PATH: &str = "/*";

/// Words for people and for all visitors, as in the setting `visitors` of a rule.
pub(super) const PEOPLE_WORD: &str = "people";
pub(super) const ALL_WORD: &str = "all";

/// Kinds of visitors that count as people.
const PEOPLE: [Kind; 2] = [Kind::Person, Kind::Shared];

/// The action and conditions of a live rule.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveRule {
    /// Action for matched requests.
    pub action: LiveAction,
    /// Visitors that the rule matches.
    pub about: RuleTarget,
    /// Path pattern in the syntax of filter patterns; `None` for all paths.
    pub path: Option<String>,
    /// Conditions on the parameters of the query, separated by blanks; `None` for any query.
    pub query: Option<String>,
    /// Name of the site to which the rule is limited; `None` for all sites.
    pub site: Option<String>,
    /// Networks, one of which must contain the visitor's address; `None` for any address.
    pub addresses: Option<Networks>,
    /// Glob pattern for the User-Agent; `None` for any User-Agent.
    pub user_agent: Option<String>,
    /// Whether the rule applies only to verified robots.
    pub is_for_verified: bool,
    /// Whether the rule may affect people; otherwise, it only records its decisions about people.
    pub is_for_people: bool,
}

/// Addresses and networks, with their original spelling.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Networks {
    written: String,
    set: Arc<RangeSet>,
}

/// The visitors to which a live rule applies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RuleTarget {
    /// The robot with this ID.
    Robot(String),
    /// All robots of this operator.
    Operator(String),
    /// All robots with this purpose.
    Purpose(Purpose),
    /// Robots that are not in the registry.
    Unlisted,
    /// Requests without a User-Agent.
    Nameless,
    /// People, including people with a User-Agent that many people share.
    People,
    /// All visitors.
    Everybody,
}

/// The action of a live rule.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LiveAction {
    /// Allows the request.
    Pass,
    /// Redirects to the site's redirect target; live rules cannot specify their own target.
    Redirect,
    /// Refuses the request.
    Refuse {
        /// HTTP status of the refusal.
        status: u16,
    },
    /// Limits the request rate.
    Slow {
        /// Number of requests allowed per period.
        requests: u32,
        /// Length of the period in seconds.
        per_seconds: u32,
    },
}

impl LiveRule {
    /// Returns the policy rule that is equivalent to the live rule.
    pub(super) fn builder(&self) -> RuleBuilder {
        let path = self.path.as_deref().unwrap_or(EVERY_PATH);
        let rule = Rule::builder(self.action.action()).paths([path]);
        let rule = match self.action {
            LiveAction::Pass | LiveAction::Redirect => rule,
            LiveAction::Refuse { status } => rule.status(status),
            LiveAction::Slow {
                requests,
                per_seconds,
            } => rule
                .requests(requests)
                .per(Duration::from_secs(per_seconds.into())),
        };
        let rule = match &self.about {
            RuleTarget::Robot(id) => rule.robots([id]),
            RuleTarget::Operator(operator) => rule.operators([operator]),
            RuleTarget::Purpose(purpose) => rule.purposes([*purpose]),
            RuleTarget::Unlisted => rule.visitors([Kind::Unlisted]),
            RuleTarget::Nameless => rule.visitors([Kind::Nameless]),
            RuleTarget::People => rule.visitors(PEOPLE),
            RuleTarget::Everybody => rule.visitors(Kind::ALL.iter().copied()),
        };
        let rule = if self.is_for_people {
            rule.people(true)
        } else {
            rule
        };
        let rule = match &self.addresses {
            Some(networks) => rule.addresses([networks.addresses()]),
            None => rule,
        };
        let rule = match &self.query {
            Some(query) => rule.query(query.split_whitespace()),
            None => rule,
        };
        let rule = match &self.user_agent {
            Some(glob) => rule.user_agents([glob]),
            None => rule,
        };
        if self.is_for_verified {
            rule.verdicts([Verdict::Verified])
        } else {
            rule
        }
    }

    /// Returns `true` if the rule would affect people if it were confirmed for people.
    pub(super) fn affects_people(&self) -> bool {
        let is_about_people = matches!(self.about, RuleTarget::People | RuleTarget::Everybody);
        is_about_people && self.action != LiveAction::Pass
    }

    /// Returns the description of a stored rule; empty if the rule's definition cannot be parsed.
    pub fn told(definition: &str) -> String {
        let fields: Option<RuleFields> = serde_json::from_str(definition).ok();
        let rule = fields.and_then(|fields| fields.rule().ok());
        rule.map(|rule| rule.to_string()).unwrap_or_default()
    }

    /// Returns the live rule's definition as stored in the database.
    pub(super) fn definition(&self) -> String {
        // A struct of texts and numbers can always be serialised to JSON.
        serde_json::to_string(&RuleFields::from(self)).unwrap_or_default()
    }

    /// Limits a pass rule to verified robots if any of the matching `robots` can be verified.
    #[must_use]
    pub fn limited_to_verified<'r>(mut self, robots: impl IntoIterator<Item = &'r Robot>) -> Self {
        let mut robots = robots.into_iter();
        // If an operator publishes how to verify its robot, the robot's name alone must not grant
        // access.
        self.is_for_verified = self.action == LiveAction::Pass
            && self.about != RuleTarget::Everybody
            && robots.any(|robot| self.about.includes(robot) && is_provable(robot));
        self
    }

    /// Returns `true` if the rule applies to a site.
    pub(super) fn is_for_site(&self, site: &str) -> bool {
        self.site.as_deref().is_none_or(|own| own == site)
    }
}

impl Networks {
    /// Parses comma-separated addresses and networks.
    ///
    /// # Errors
    ///
    /// Returns the first part that is neither an address nor a network.
    pub(super) fn read(text: &str) -> Result<Self, &str> {
        let written = text.split(',').map(str::trim);
        let set = RangeSet::parse(written.clone())?;
        Ok(Self {
            written: written.collect::<Vec<_>>().join(", "),
            set: Arc::new(set),
        })
    }

    /// Returns the comma-separated addresses and networks in their original spelling.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    fn addresses(&self) -> Addresses {
        let set = Arc::clone(&self.set);
        Addresses::new(
            &*self.written,
            Arc::new(move |address| set.contains(address)),
        )
    }
}

impl RuleTarget {
    /// Returns `true` if the rule applies to a robot from the registry.
    pub fn includes(&self, robot: &Robot) -> bool {
        match self {
            Self::Robot(id) => *id == robot.id,
            Self::Operator(operator) => {
                let own = robot.operator.as_deref().unwrap_or_default();
                own.trim().to_lowercase() == operator.trim().to_lowercase()
            }
            Self::Purpose(purpose) => *purpose == robot.purpose,
            Self::Everybody => true,
            Self::Unlisted | Self::Nameless | Self::People => false,
        }
    }

    /// Returns the name and value of the setting that selects these visitors.
    pub fn key(&self) -> (&'static str, &str) {
        match self {
            Self::Robot(id) => ("robot", id),
            Self::Operator(operator) => ("operator", operator),
            Self::Purpose(purpose) => ("purpose", purpose.as_str()),
            Self::Unlisted => ("visitors", Kind::Unlisted.as_str()),
            Self::Nameless => ("visitors", Kind::Nameless.as_str()),
            Self::People => ("visitors", PEOPLE_WORD),
            Self::Everybody => ("visitors", ALL_WORD),
        }
    }
}

impl LiveAction {
    /// Returns the equivalent policy action.
    pub fn action(self) -> Action {
        match self {
            Self::Pass => Action::Pass,
            Self::Redirect => Action::Redirect,
            Self::Refuse { .. } => Action::Refuse,
            Self::Slow { .. } => Action::Slow,
        }
    }
}

/// Writes the action and its target, such as `slow robot gptbot to 10 requests in 60 s on /a/*`.
impl fmt::Display for LiveRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.action.action(), self.about)?;
        if let Some(networks) = &self.addresses {
            write!(f, " from {}", networks.written)?;
        }
        if let Some(glob) = &self.user_agent {
            write!(f, " whose User-Agent is {glob}")?;
        }
        match self.action {
            LiveAction::Pass | LiveAction::Redirect => {}
            LiveAction::Refuse { status } => write!(f, " with {status}")?,
            LiveAction::Slow {
                requests,
                per_seconds,
            } => write!(f, " to {requests} requests in {per_seconds} s")?,
        }
        if let Some(path) = &self.path {
            write!(f, " on {path}")?;
        }
        if let Some(query) = &self.query {
            write!(f, " with the query {query}")?;
        }
        if let Some(site) = &self.site {
            write!(f, " of the site {site}")?;
        }
        if self.is_for_verified {
            f.write_str(", if verified")?;
        }
        if self.affects_people() && !self.is_for_people {
            f.write_str("; recorded only, because it would affect people")?;
        }
        Ok(())
    }
}

impl fmt::Display for RuleTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Robot(id) => write!(f, "robot {id}"),
            Self::Operator(operator) => write!(f, "robots of {operator}"),
            Self::Purpose(purpose) => write!(f, "robots for {purpose}"),
            Self::Unlisted => f.write_str("unlisted robots"),
            Self::Nameless => f.write_str("nameless visitors"),
            Self::People => f.write_str("people"),
            Self::Everybody => f.write_str("everybody"),
        }
    }
}

fn is_provable(robot: &Robot) -> bool {
    robot.ranges_url.is_some()
        || !robot.host_suffixes.is_empty()
        || !robot.signature_agents.is_empty()
}
