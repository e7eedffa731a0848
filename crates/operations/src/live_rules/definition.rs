//! What a live rule does, and to whom.

use std::{fmt, sync::Arc, time::Duration};

use robot_detection_layer::detect::{Kind, Verdict};
use robot_detection_layer::policy::{Action, Addresses, Rule, RuleBuilder};
use robot_detection_layer::registry::{Purpose, Robot};
use robot_detection_store::verify::RangeSet;

use super::RuleFields;

/// Paths of a rule that names none: all, whatever is filtered.
pub(super) const EVERY_PATH: &str = "/*";

/// Words for people, and for everybody, as `visitors` of the configuration has them.
pub(super) const PEOPLE_WORD: &str = "people";
pub(super) const ALL_WORD: &str = "all";

/// Kinds of visitors that are people.
const PEOPLE: [Kind; 2] = [Kind::Person, Kind::Shared];

/// What a live rule does, and to whom.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveRule {
    /// Action.
    pub action: LiveAction,
    /// Matched visitors.
    pub about: About,
    /// Patterns of paths, as a filter pattern spells them; `None`: every path.
    pub path: Option<String>,
    /// Name of the only site; `None`: every site.
    pub site: Option<String>,
    /// Networks of which the visitor's address has to be; `None`: any address.
    pub addresses: Option<Networks>,
    /// Glob of the User-Agent; `None`: any.
    pub user_agent: Option<String>,
    /// Whether it is about verified robots alone.
    pub is_for_verified: bool,
    /// Whether it may do to people what it does; it only notes that otherwise.
    pub is_for_people: bool,
}

/// Networks and addresses, as they are written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Networks {
    written: String,
    set: Arc<RangeSet>,
}

/// Whom a live rule is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum About {
    /// A robot by its id.
    Robot(String),
    /// Robots of an operator.
    Operator(String),
    /// Robots with a purpose.
    Purpose(Purpose),
    /// Robots that no list knows.
    Unlisted,
    /// Requests without a User-Agent.
    Nameless,
    /// People, those who share a User-Agent among them.
    People,
    /// Every request.
    Everybody,
}

/// What a live rule does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LiveAction {
    /// Passes the request.
    Pass,
    /// To where the site sends robots: nobody types a target.
    Redirect,
    /// Refuses the request.
    Refuse {
        /// Status of the refusal.
        status: u16,
    },
    /// Limits the request rate.
    Slow {
        /// Requests allowed per period.
        requests: u32,
        /// Length of the period in seconds.
        per_seconds: u32,
    },
}

impl LiveRule {
    /// Returns the rule for policies.
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
            About::Robot(id) => rule.robots([id]),
            About::Operator(operator) => rule.operators([operator]),
            About::Purpose(purpose) => rule.purposes([*purpose]),
            About::Unlisted => rule.visitors([Kind::Unlisted]),
            About::Nameless => rule.visitors([Kind::Nameless]),
            About::People => rule.visitors(PEOPLE),
            About::Everybody => rule.visitors(Kind::ALL.iter().copied()),
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

    /// Returns `true` if people may get something else by it, once that is confirmed.
    pub(super) fn touches_people(&self) -> bool {
        let is_about_people = matches!(self.about, About::People | About::Everybody);
        is_about_people && self.action != LiveAction::Pass
    }

    /// Returns what a rule does that the database keeps; empty where it cannot be read.
    pub fn told(definition: &str) -> String {
        let fields: Option<RuleFields> = serde_json::from_str(definition).ok();
        let rule = fields.and_then(|fields| fields.rule().ok());
        rule.map(|rule| rule.to_string()).unwrap_or_default()
    }

    /// Returns the rule as the database keeps it.
    pub(super) fn definition(&self) -> String {
        // A struct of texts and numbers always becomes JSON.
        serde_json::to_string(&RuleFields::from(self)).unwrap_or_default()
    }

    /// Restricts a rule that lets pass to verified robots, where one of `robots` can be proven.
    #[must_use]
    pub fn proven<'r>(mut self, robots: impl IntoIterator<Item = &'r Robot>) -> Self {
        let mut robots = robots.into_iter();
        // A name alone must not open a site where its operator says how it is proven.
        self.is_for_verified = self.action == LiveAction::Pass
            && self.about != About::Everybody
            && robots.any(|robot| self.about.is_about(robot) && is_provable(robot));
        self
    }

    /// Returns `true` if it is about requests of a site.
    pub(super) fn is_of_site(&self, site: &str) -> bool {
        self.site.as_deref().is_none_or(|own| own == site)
    }
}

impl Networks {
    /// Reads addresses and networks between commas.
    ///
    /// # Errors
    ///
    /// Fails with the first text that is neither.
    pub(super) fn read(text: &str) -> Result<Self, &str> {
        let written = text.split(',').map(str::trim);
        let set = RangeSet::parse(written.clone())?;
        Ok(Self {
            written: written.collect::<Vec<_>>().join(", "),
            set: Arc::new(set),
        })
    }

    /// Returns them between commas.
    pub fn written(&self) -> &str {
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

impl About {
    /// Returns `true` if it is about a robot of a registry.
    pub fn is_about(&self, robot: &Robot) -> bool {
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

    /// Returns the key that settings name it by, and the value.
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
    /// Returns what a policy does.
    pub fn action(self) -> Action {
        match self {
            Self::Pass => Action::Pass,
            Self::Redirect => Action::Redirect,
            Self::Refuse { .. } => Action::Refuse,
            Self::Slow { .. } => Action::Slow,
        }
    }
}

/// Writes what is done to whom: `slow robot gptbot to 10 requests in 60 s on /a/*`.
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
        if let Some(site) = &self.site {
            write!(f, " of the site {site}")?;
        }
        if self.is_for_verified {
            f.write_str(", if verified")?;
        }
        if self.touches_people() && !self.is_for_people {
            f.write_str("; only noted, as it is about people too")?;
        }
        Ok(())
    }
}

impl fmt::Display for About {
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
