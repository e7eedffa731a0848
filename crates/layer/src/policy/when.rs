//! Conditions of rules, as written in settings.

use crate::detect::Kind;
use crate::registry::Source;
use crate::suspect::Reasons;

use super::{
    Addresses, Places,
    condition::{Conditions, NameSet, RobotSet},
    error::InvalidCondition,
    glob::{FilterPattern, parse_patterns},
    host::Host,
    query::QueryConditions,
    scope::Scope,
    sender::{HeaderCondition, SenderConditions},
    text_pattern::TextPattern,
};

/// Maximum number of values of a condition that are displayed; further values are only counted.
const SHOWN: usize = 8;

/// Passes all conditions to a macro, each with its documentation, name and values.
macro_rules! conditions {
    ($apply:ident $target:tt) => {
        $apply! { $target
            /// Sets the paths that match, as globs with the syntax of filter patterns.
            ///
            /// The paths need not be filtered by other settings. Without this condition, a rule
            /// applies to filtered paths, and a tag rule to all paths.
            paths: texts,
            /// Sets the methods that match; case is ignored.
            ///
            /// Without this condition, a rule applies to all methods or only to the
            /// [redirected](crate::policy::PolicyBuilder::methods) methods, depending on its
            /// [action](crate::policy::Action).
            methods: texts,
            /// Sets the requested hosts that match; a host without a port matches every port.
            hosts: texts,
            /// Sets conditions on the parameters of the query, all of which must hold: `page`
            /// (present), `!page` (absent), `sort=price*` (any value matches).
            ///
            /// Names and values are decoded and compared in any case; a name also matches `name[]`
            /// and `name[x]`.
            query: texts,
            /// Matches only queries with more parameters than this.
            query_parameters_over: u32,
            /// Sets the robots that match, by ID; `unlisted` stands for all unlisted robots,
            /// `nameless` for requests without a User-Agent, and a host for the unlisted robot with
            /// a valid signature from this host.
            ///
            /// If the registry is refreshed, unknown IDs are allowed because a refresh may add the
            /// robots.
            robots: texts,
            /// Sets the purposes of the robots that match.
            purposes: [$crate::registry::Purpose],
            /// Sets the operators of the robots that match; case is ignored.
            operators: texts,
            /// Sets the sources of the robots that match.
            sources: [$crate::registry::Source],
            /// Sets the kinds of visitors that match. The default is all listed and unlisted
            /// robots.
            ///
            /// [Nameless](crate::detect::Kind::Nameless) visitors and visitors that
            /// [share](crate::detect::Kind::Shared) a User-Agent match only if they are listed
            /// explicitly.
            visitors: [$crate::detect::Kind],
            /// Sets the verdicts on robots' claims for which a rule matches.
            ///
            /// Without verification, all claims are unverifiable; claims of unlisted robots are
            /// always unverifiable.
            verdicts: [$crate::detect::Verdict],
            /// Sets the client addresses that match.
            addresses: [$crate::policy::Addresses],
            /// Sets the autonomous systems of the client addresses that match, by number.
            ///
            /// Set the lookup with [`places`](crate::policy::PolicyBuilder::places).
            asns: [u32],
            /// Sets the countries of the client addresses that match, by two-letter code (ISO
            /// 3166-1).
            ///
            /// Set the lookup with [`places`](crate::policy::PolicyBuilder::places).
            countries: texts,
            /// Sets conditions on request headers, all of which must hold: `X-Monitor` (present),
            /// `!Accept-Language` (absent), `Accept: text/*` (has a matching value).
            headers: texts,
            /// Sets the User-Agents that match, as case-insensitive globs for the whole header.
            user_agents: texts,
            /// Sets the values of `Signature-Agent` that match, as globs. The header is a claim,
            /// like a User-Agent.
            signature_agents: texts,
            /// Matches only [suspects](crate::suspect), or only visitors that are not suspects if
            /// `false`.
            ///
            /// Without [`visitors`](Self::visitors), the rule then applies to human visitors.
            suspect: bool,
            /// Sets the reasons for suspicion, at least one of which a suspect must have.
            ///
            /// Without [`visitors`](Self::visitors), the rule then applies to human visitors.
            reasons: [$crate::suspect::Reason],
        }
    };
}

/// Returns the type of the values of a condition.
macro_rules! values {
    (texts) => { Vec<String> };
    (bool) => { bool };
    (u32) => { u32 };
    ([$Value:ty]) => { Vec<$Value> };
}

/// Defines setters for optional values, either in a [`When`] field or in the type itself.
macro_rules! setters {
    ($target:tt $($(#[$documentation:meta])* $name:ident: $values:tt,)*) => {
        $(setter! { $target $(#[$documentation])* $name: $values })*
    };
}

macro_rules! setter {
    (($($field:tt)*) $(#[$documentation:meta])* $name:ident: texts) => {
        $(#[$documentation])*
        pub fn $name<S: AsRef<str>>(mut self, texts: impl IntoIterator<Item = S>) -> Self {
            self$($field)*.$name = Some($crate::policy::when::owned(texts));
            self
        }
    };
    (($($field:tt)*) $(#[$documentation:meta])* $name:ident: $Value:ident) => {
        $(#[$documentation])*
        pub fn $name(mut self, $name: $Value) -> Self {
            self$($field)*.$name = Some($name);
            self
        }
    };
    (($($field:tt)*) $(#[$documentation:meta])* $name:ident: [$Value:ty]) => {
        $(#[$documentation])*
        pub fn $name(mut self, $name: impl IntoIterator<Item = $Value>) -> Self {
            self$($field)*.$name = Some($name.into_iter().collect());
            self
        }
    };
}

pub(super) use {conditions, setter, setters};

macro_rules! declare_when {
    (() $($(#[$documentation:meta])* $name:ident: $values:tt,)*) => {
        /// The conditions of a rule, which are checked when the policy is built.
        ///
        /// Each condition is a list of values, one of which must match; all conditions that are set
        /// must hold. An empty list is an error because no request would ever match.
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
            $(pub(super) $name: Option<values!($values)>,)*
        }

        impl When {
            /// Adds other conditions, replacing conditions of the same type.
            pub(super) fn and(self, other: Self) -> Self {
                Self {
                    $($name: other.$name.or(self.$name),)*
                }
            }
        }
    };
}

conditions!(declare_when());

impl When {
    /// Creates conditions that always hold.
    pub fn new() -> Self {
        Self::default()
    }

    conditions!(setters());

    /// Builds the conditions, with a description of each as text.
    pub(super) fn build(mut self) -> Result<(Scope, Vec<String>), InvalidCondition> {
        self.add_people()?;
        let paths = self.paths.as_deref().map(parse_patterns).transpose();
        let paths =
            paths.map_err(|(pattern, reason)| ("path", format!("{pattern:?}: {reason}")))?;
        let methods = self.methods.as_deref().map(parse_methods).transpose();
        let methods = methods.map_err(|method| ("methods", not_a_method(&method)))?;
        let hosts = self.hosts.as_deref().map(parse_hosts).transpose();
        let hosts = hosts.map_err(|(host, reason)| ("hosts", format!("{host:?}: {reason}")))?;
        let query = QueryConditions::parse(self.query.as_deref(), self.query_parameters_over);
        let query = query.map_err(|reason| ("query", reason))?;
        let shown = self.shown(paths.as_deref(), methods.as_deref());
        let sender = self.sender()?;
        let scope = Scope {
            sender,
            places: Places::default(),
            paths,
            methods,
            hosts,
            query,
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
            let reason = "the list is empty, so nothing ever matches; add values or remove the key";
            return Err((key, reason.to_owned()));
        }
        if let Some((key, reason)) = scope.robots.contradiction() {
            return Err((key, format!("{reason}, so the rule never matches")));
        }
        Ok((scope, shown))
    }

    /// Adds people to the visitors if there are conditions on suspects.
    fn add_people(&mut self) -> Result<(), InvalidCondition> {
        let key = match (self.suspect, &self.reasons) {
            (Some(true), _) => "suspect",
            (_, Some(_)) => "reasons",
            _ => return Ok(()),
        };
        if self.suspect == Some(false) {
            let reason =
                "suspect is false, but only suspects have reasons; remove one of the two keys";
            return Err((key, reason.to_owned()));
        }
        let visitors = self.visitors.get_or_insert_with(|| vec![Kind::Person]);
        if !visitors.contains(&Kind::Person) {
            let reason = format!(
                "only people can be suspects, but visitors does not include people, so the rule never matches; set visitors = \"person\", or remove {key}"
            );
            return Err((key, reason));
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
        let over = self.query_parameters_over;
        let over = over.map(|over| format!("more than {over} query parameters"));
        let suspect = self.suspect.map(|suspect| {
            if suspect {
                "suspects only"
            } else {
                "no suspects"
            }
        });
        [
            listed("path", paths.into_iter().flatten()),
            listed("methods", methods.into_iter().flatten()),
            listed("hosts", texts(self.hosts.as_ref())),
            listed("query", texts(self.query.as_ref())),
            over,
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

/// Parses each item of a list. Errors contain the first invalid item.
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
        _ => Err("not a country code; write two letters, such as DE".to_owned()),
    }
}

/// Parses method names. Errors contain the first name that is not a token (RFC 9110 §9.1).
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

/// Parses host names. Errors contain the first invalid name and the reason.
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

/// Returns `true` if a byte is allowed in a token (RFC 9110 §5.6.2).
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

/// Returns the key of the first condition with an empty list, if any.
fn empty_list(scope: &Scope) -> Option<&'static str> {
    // The scope is destructured completely, so that no field can be forgotten.
    let Scope {
        paths,
        methods,
        hosts,
        // The parser reports an empty list.
        query: _,
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

/// Displays a list, such as "robots a, b and 9 more"; `None` for an empty list.
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
