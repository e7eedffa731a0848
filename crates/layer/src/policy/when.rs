//! Conditions of rules as settings spell them.

use crate::detect::{Kind, Verdict};
use crate::registry::{Purpose, Source};
use crate::suspect::{Reason, Reasons};

use super::{
    Addresses, Places,
    condition::{Conditions, NameSet, RobotSet},
    error::InvalidCondition,
    glob::{FilterPattern, parse_patterns},
    host::Host,
    scope::Scope,
    sender::{HeaderCondition, SenderConditions},
    text_pattern::TextPattern,
};

/// Values of a condition that are shown; of others, how many there are.
const SHOWN: usize = 8;

/// Conditions of a rule; nothing is checked before the policy is built.
///
/// Each condition is a list of which one value has to fit; all conditions that
/// are set have to hold. An empty list is an error, as nothing would ever match.
///
/// # Example
///
/// ```
/// use robot_detection_layer::{policy::{Action, Policy, Rule, TagRule, When}, registry::Purpose};
///
/// let training = When::new().hosts(["www.example.com"]).purposes([Purpose::AiTraining]);
/// let policy = Policy::builder()
///     .rule(Rule::builder(Action::Redirect).when(training.clone()))
///     .x_robots_tag(TagRule::builder("noindex").when(training))
///     .build()?;
/// # Ok::<(), robot_detection_layer::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct When {
    pub(super) paths: Option<Vec<String>>,
    pub(super) methods: Option<Vec<String>>,
    pub(super) hosts: Option<Vec<String>>,
    pub(super) robots: Option<Vec<String>>,
    pub(super) purposes: Option<Vec<Purpose>>,
    pub(super) operators: Option<Vec<String>>,
    pub(super) sources: Option<Vec<Source>>,
    pub(super) visitors: Option<Vec<Kind>>,
    pub(super) verdicts: Option<Vec<Verdict>>,
    pub(super) addresses: Option<Vec<Addresses>>,
    pub(super) asns: Option<Vec<u32>>,
    pub(super) countries: Option<Vec<String>>,
    pub(super) headers: Option<Vec<String>>,
    pub(super) user_agents: Option<Vec<String>>,
    pub(super) signature_agents: Option<Vec<String>>,
    pub(super) suspect: Option<bool>,
    pub(super) reasons: Option<Vec<Reason>>,
}

/// Setters of conditions, for whatever has a [`When`] or is one.
macro_rules! condition_setters {
    ($($when:ident)?) => {
        /// Sets the paths: globs as filter patterns are.
        ///
        /// They stand for themselves: they need not be filtered otherwise. Without
        /// them a rule is about the filter patterns, a header about every path.
        pub fn paths<S: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
            self$(.$when)?.paths = Some($crate::policy::when::owned(patterns));
            self
        }

        /// Sets the methods, in upper or lower case.
        ///
        /// Without them a rule is about all, or about those that are
        /// [redirected](crate::policy::PolicyBuilder::methods): its
        /// [action](crate::policy::Action) says so.
        pub fn methods<S: AsRef<str>>(mut self, methods: impl IntoIterator<Item = S>) -> Self {
            self$(.$when)?.methods = Some($crate::policy::when::owned(methods));
            self
        }

        /// Sets the hosts that are asked for; one without a port is meant with any.
        pub fn hosts<S: AsRef<str>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
            self$(.$when)?.hosts = Some($crate::policy::when::owned(hosts));
            self
        }

        /// Sets the robots by their ids; `unlisted` stands for all that are not listed,
        /// `nameless` for whoever sends no User-Agent, and a host for the robot that is not
        /// listed and whose signature by that host holds.
        ///
        /// Where the registry is refreshed, an unknown id is no error: a refresh may bring it.
        pub fn robots<S: AsRef<str>>(mut self, ids: impl IntoIterator<Item = S>) -> Self {
            self$(.$when)?.robots = Some($crate::policy::when::owned(ids));
            self
        }

        /// Sets what the robots are for.
        pub fn purposes(
            mut self,
            purposes: impl IntoIterator<Item = $crate::registry::Purpose>,
        ) -> Self {
            self$(.$when)?.purposes = Some(purposes.into_iter().collect());
            self
        }

        /// Sets who operates the robots, in upper or lower case.
        pub fn operators<S: AsRef<str>>(mut self, operators: impl IntoIterator<Item = S>) -> Self {
            self$(.$when)?.operators = Some($crate::policy::when::owned(operators));
            self
        }

        /// Sets the registries that the robots come from.
        pub fn sources(
            mut self,
            sources: impl IntoIterator<Item = $crate::registry::Source>,
        ) -> Self {
            self$(.$when)?.sources = Some(sources.into_iter().collect());
            self
        }

        /// Sets the kinds of visitors; without them every robot that is listed or unlisted.
        ///
        /// [Nameless](crate::detect::Kind::Nameless) visitors are meant only where they are
        /// named, and so are people who [share](crate::detect::Kind::Shared) a User-Agent.
        pub fn visitors(
            mut self,
            kinds: impl IntoIterator<Item = $crate::detect::Kind>,
        ) -> Self {
            self$(.$when)?.visitors = Some(kinds.into_iter().collect());
            self
        }

        /// Sets the verdicts on the robots' claims.
        ///
        /// Where nobody proves claims, all are unverifiable; those of unlisted
        /// robots always are.
        pub fn verdicts(
            mut self,
            verdicts: impl IntoIterator<Item = $crate::detect::Verdict>,
        ) -> Self {
            self$(.$when)?.verdicts = Some(verdicts.into_iter().collect());
            self
        }

        /// Sets the addresses that requests come from.
        pub fn addresses(
            mut self,
            addresses: impl IntoIterator<Item = $crate::policy::Addresses>,
        ) -> Self {
            self$(.$when)?.addresses = Some(addresses.into_iter().collect());
            self
        }

        /// Sets the autonomous systems that requests come from, by their numbers.
        ///
        /// Where they are is what [`places`](crate::policy::PolicyBuilder::places) finds.
        pub fn asns(mut self, asns: impl IntoIterator<Item = u32>) -> Self {
            self$(.$when)?.asns = Some(asns.into_iter().collect());
            self
        }

        /// Sets the countries that requests come from, by two letters (ISO 3166-1).
        ///
        /// Where they are is what [`places`](crate::policy::PolicyBuilder::places) finds.
        pub fn countries<S: AsRef<str>>(mut self, countries: impl IntoIterator<Item = S>) -> Self {
            self$(.$when)?.countries = Some($crate::policy::when::owned(countries));
            self
        }

        /// Sets what requests have for headers: `X-Monitor` is there, `!Accept-Language` is not,
        /// `Accept: text/*` has a value like this. All of them have to hold.
        pub fn headers<S: AsRef<str>>(mut self, headers: impl IntoIterator<Item = S>) -> Self {
            self$(.$when)?.headers = Some($crate::policy::when::owned(headers));
            self
        }

        /// Sets the User-Agents: globs over all of it, in upper or lower case.
        pub fn user_agents<S: AsRef<str>>(mut self, globs: impl IntoIterator<Item = S>) -> Self {
            self$(.$when)?.user_agents = Some($crate::policy::when::owned(globs));
            self
        }

        /// Sets the values of `Signature-Agent`: globs; it is a claim, as a User-Agent is.
        pub fn signature_agents<S: AsRef<str>>(
            mut self,
            globs: impl IntoIterator<Item = S>,
        ) -> Self {
            self$(.$when)?.signature_agents = Some($crate::policy::when::owned(globs));
            self
        }

        /// Sets that only [suspects](crate::suspect) match, or with `false` only others.
        ///
        /// Suspects are people: without other [`visitors`](Self::visitors) they are meant.
        pub fn suspect(mut self, suspect: bool) -> Self {
            self$(.$when)?.suspect = Some(suspect);
            self
        }

        /// Sets the reasons of which a suspect has to have one.
        ///
        /// Suspects are people: without other [`visitors`](Self::visitors) they are meant.
        pub fn reasons(
            mut self,
            reasons: impl IntoIterator<Item = $crate::suspect::Reason>,
        ) -> Self {
            self$(.$when)?.reasons = Some(reasons.into_iter().collect());
            self
        }
    };
}

pub(super) use condition_setters;

impl When {
    /// Creates conditions that always hold.
    pub fn new() -> Self {
        Self::default()
    }

    condition_setters!();

    /// Adds other conditions, which replace those of the same kind.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            paths: other.paths.or(self.paths),
            methods: other.methods.or(self.methods),
            hosts: other.hosts.or(self.hosts),
            robots: other.robots.or(self.robots),
            purposes: other.purposes.or(self.purposes),
            operators: other.operators.or(self.operators),
            sources: other.sources.or(self.sources),
            visitors: other.visitors.or(self.visitors),
            verdicts: other.verdicts.or(self.verdicts),
            addresses: other.addresses.or(self.addresses),
            asns: other.asns.or(self.asns),
            countries: other.countries.or(self.countries),
            headers: other.headers.or(self.headers),
            user_agents: other.user_agents.or(self.user_agents),
            signature_agents: other.signature_agents.or(self.signature_agents),
            suspect: other.suspect.or(self.suspect),
            reasons: other.reasons.or(self.reasons),
        }
    }

    /// Builds the conditions, and what people read of them.
    pub(super) fn build(mut self) -> Result<(Scope, Vec<String>), InvalidCondition> {
        self.mean_people()?;
        let paths = self.paths.as_deref().map(parse_patterns).transpose();
        let paths =
            paths.map_err(|(pattern, reason)| ("path", format!("{pattern:?}: {reason}")))?;
        let methods = self.methods.as_deref().map(parse_methods).transpose();
        let methods = methods.map_err(|method| ("methods", not_a_method(&method)))?;
        let hosts = self.hosts.as_deref().map(parse_hosts).transpose();
        let hosts = hosts.map_err(|(host, reason)| ("hosts", format!("{host:?}: {reason}")))?;
        let shown = self.shown(paths.as_deref(), methods.as_deref());
        let sender = self.sender()?;
        let scope = Scope {
            sender,
            places: Places::default(),
            paths,
            methods,
            hosts,
            robots: Conditions {
                robots: self.robots.as_deref().map(RobotSet::new),
                purposes: self.purposes,
                operators: self.operators.as_deref().map(NameSet::new),
                sources: self.sources,
                visitors: self.visitors,
                verdicts: self.verdicts,
            },
        };
        if let Some(key) = empty_list(&scope) {
            let reason =
                "the list is empty, so that nothing ever matches; name some or leave it out";
            return Err((key, reason.to_owned()));
        }
        if let Some((key, reason)) = scope.robots.contradiction() {
            return Err((key, format!("{reason}, so that the rule never matches")));
        }
        Ok((scope, shown))
    }

    /// Means people where suspects are asked for.
    fn mean_people(&mut self) -> Result<(), InvalidCondition> {
        let key = match (self.suspect, &self.reasons) {
            (Some(true), _) => "suspect",
            (_, Some(_)) => "reasons",
            _ => return Ok(()),
        };
        if self.suspect == Some(false) {
            let reason =
                "suspect is false, and whoever is not suspect has none; leave one of both out";
            return Err((key, reason.to_owned()));
        }
        let visitors = self.visitors.get_or_insert_with(|| vec![Kind::Person]);
        if !visitors.contains(&Kind::Person) {
            let reason = "only people are ever suspect, and visitors does not name them, so that the rule never matches; set visitors = \"person\", or leave it out";
            return Err((key, reason.to_owned()));
        }
        Ok(())
    }

    fn sender(&self) -> Result<SenderConditions, InvalidCondition> {
        let patterns =
            |key, items: &Option<Vec<String>>| read(key, items.as_deref(), TextPattern::parse);
        Ok(SenderConditions {
            addresses: self.addresses.clone(),
            asns: self.asns.clone(),
            countries: read("countries", self.countries.as_deref(), country)?,
            headers: read(
                "request_headers",
                self.headers.as_deref(),
                HeaderCondition::parse,
            )?,
            user_agents: patterns("user_agents", &self.user_agents)?,
            signature_agents: patterns("signature_agents", &self.signature_agents)?,
            suspect: self.suspect,
            reasons: self
                .reasons
                .as_ref()
                .map(|all| all.iter().copied().collect()),
        })
    }

    fn shown(&self, paths: Option<&[FilterPattern]>, methods: Option<&[String]>) -> Vec<String> {
        let paths = paths.map(|paths| paths.iter().map(FilterPattern::as_str));
        let methods = methods.map(|methods| methods.iter().map(String::as_str));
        let purposes = self.purposes.iter().flatten();
        let sources = self.sources.iter().flatten().map(Source::as_str);
        let verdicts = self.verdicts.iter().flatten();
        let addresses = self.addresses.iter().flatten().map(Addresses::name);
        let asns: Vec<_> = self.asns.iter().flatten().map(u32::to_string).collect();
        let visitors = self.visitors.iter().flatten();
        let reasons = self.reasons.iter().flatten();
        let suspect = self.suspect.map(|suspect| {
            if suspect {
                "suspects only"
            } else {
                "nobody suspect"
            }
        });
        [
            listed("path", paths.into_iter().flatten()),
            listed("methods", methods.into_iter().flatten()),
            listed("hosts", texts(self.hosts.as_ref())),
            listed("robots", texts(self.robots.as_ref())),
            listed("purposes", purposes.map(|purpose| purpose.as_str())),
            listed("operators", texts(self.operators.as_ref())),
            listed("sources", sources),
            listed("visitors", visitors.map(|kind| kind.as_str())),
            listed("verdicts", verdicts.map(|verdict| verdict.as_str())),
            listed("addresses", addresses),
            listed("asns", asns.iter().map(String::as_str)),
            listed("countries", texts(self.countries.as_ref())),
            listed("request_headers", texts(self.headers.as_ref())),
            listed("user_agents", texts(self.user_agents.as_ref())),
            listed("signature_agents", texts(self.signature_agents.as_ref())),
            suspect.map(str::to_owned),
            listed("reasons", reasons.map(|reason| reason.code())),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Reads each item of a list; the error names the first that is wrong.
fn read<T>(
    key: &'static str,
    items: Option<&[String]>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<Vec<T>>, InvalidCondition> {
    let items = items.map(|items| items.iter().map(|item| item.trim()));
    let read = items.map(|items| {
        let parsed = items
            .filter(|item| !item.is_empty())
            .map(|item| parse(item).map_err(|reason| (key, format!("{item:?}: {reason}"))));
        parsed.collect()
    });
    read.transpose()
}

fn country(text: &str) -> Result<[u8; 2], String> {
    match text.as_bytes() {
        [first, second] if text.chars().all(|c| c.is_ascii_alphabetic()) => {
            Ok([first.to_ascii_uppercase(), second.to_ascii_uppercase()])
        }
        _ => Err("it is no country; write its two letters, such as DE".to_owned()),
    }
}

/// Reads names of methods; the error is the one that is no token (RFC 9110 §9.1).
pub(super) fn parse_methods(items: &[String]) -> Result<Vec<String>, String> {
    items
        .iter()
        .map(|item| item.trim())
        .filter(|method| !method.is_empty())
        .map(|method| {
            if method.bytes().all(is_token_byte) {
                Ok(method.to_ascii_uppercase())
            } else {
                Err(method.to_owned())
            }
        })
        .collect()
}

/// Reads names of hosts; the error is the one that is none, and why.
pub(super) fn parse_hosts(items: &[String]) -> Result<Vec<Host>, (String, String)> {
    let parse = |host: &String| {
        let host = host.trim();
        Host::parse(host).map_err(|reason| (host.to_owned(), reason))
    };
    items.iter().map(parse).collect()
}

pub(super) fn owned<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Vec<String> {
    items
        .into_iter()
        .map(|item| item.as_ref().to_owned())
        .collect()
}

fn not_a_method(method: &str) -> String {
    format!("{method:?} is not an HTTP method name; use names such as GET and HEAD")
}

/// Returns `true` if a byte may stand in a token (RFC 9110 §5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn texts(items: Option<&Vec<String>>) -> impl Iterator<Item = &str> {
    items
        .into_iter()
        .flatten()
        .map(|item| item.trim())
        .filter(|item| !item.is_empty())
}

/// Returns the key of a condition whose list is empty.
fn empty_list(scope: &Scope) -> Option<&'static str> {
    // Taken apart field by field, so that none that is added later can be forgotten.
    let Scope {
        paths,
        methods,
        hosts,
        robots,
        sender,
        places: _,
    } = scope;
    let SenderConditions {
        addresses,
        asns,
        countries,
        headers,
        user_agents,
        signature_agents,
        suspect: _,
        reasons,
    } = sender;
    let Conditions {
        robots,
        purposes,
        operators,
        sources,
        visitors,
        verdicts,
    } = robots;
    [
        ("path", paths.as_ref().is_some_and(Vec::is_empty)),
        ("methods", methods.as_ref().is_some_and(Vec::is_empty)),
        ("hosts", hosts.as_ref().is_some_and(Vec::is_empty)),
        ("robots", robots.as_ref().is_some_and(RobotSet::is_empty)),
        ("purposes", purposes.as_ref().is_some_and(Vec::is_empty)),
        (
            "operators",
            operators.as_ref().is_some_and(NameSet::is_empty),
        ),
        ("sources", sources.as_ref().is_some_and(Vec::is_empty)),
        ("visitors", visitors.as_ref().is_some_and(Vec::is_empty)),
        ("verdicts", verdicts.as_ref().is_some_and(Vec::is_empty)),
        ("addresses", addresses.as_ref().is_some_and(Vec::is_empty)),
        ("asns", asns.as_ref().is_some_and(Vec::is_empty)),
        ("countries", countries.as_ref().is_some_and(Vec::is_empty)),
        (
            "request_headers",
            headers.as_ref().is_some_and(Vec::is_empty),
        ),
        (
            "user_agents",
            user_agents.as_ref().is_some_and(Vec::is_empty),
        ),
        (
            "signature_agents",
            signature_agents.as_ref().is_some_and(Vec::is_empty),
        ),
        ("reasons", reasons.is_some_and(Reasons::is_empty)),
    ]
    .into_iter()
    .find_map(|(key, is_empty)| is_empty.then_some(key))
}

/// Returns "robots a, b and 9 more", nothing for an empty list.
fn listed<'i>(what: &str, items: impl Iterator<Item = &'i str>) -> Option<String> {
    let mut items = items.peekable();
    items.peek()?;
    let first: Vec<_> = items.by_ref().take(SHOWN).collect();
    let first = first.join(", ");
    Some(match items.count() {
        0 => format!("{what} {first}"),
        more => format!("{what} {first} and {more} more"),
    })
}
