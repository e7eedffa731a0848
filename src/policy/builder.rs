//! From settings to a policy.

use crate::registry::Purpose;

use super::{
    Policy, PolicyError, Redirect,
    decision::Heaven,
    glob::{FilterPattern, MAX_PATTERNS, split_csv},
    host::Host,
    path::{Subtree, has_odd_segments},
    redirect,
};

/// Purposes that are not redirected unless a setting names them.
///
/// Libraries, driven browsers and monitors are people's tools, and a preview
/// of heaven would be shown to people.
const NOT_REDIRECTED: [Purpose; 4] = [
    Purpose::Library,
    Purpose::Automation,
    Purpose::Monitoring,
    Purpose::Preview,
];

/// Builder of a [`Policy`]; the defaults are those of the original package.
///
/// Nothing is checked before [`build`](Self::build).
///
/// # Example
///
/// ```
/// use robot_detection::policy::Policy;
///
/// let policy = Policy::builder()
///     .filter_patterns(["/members-only-stuff/*, /archive/*.pdf"])
///     .redirect_url("/robot-heaven/")
///     .never("/robot-detection/admin")
///     .build()?;
/// assert_eq!(policy.filter_patterns().count(), 2);
/// # Ok::<(), robot_detection::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PolicyBuilder {
    filter_patterns: Vec<String>,
    redirect_url: String,
    status: u16,
    methods: Vec<String>,
    purposes: Vec<Purpose>,
    never: Vec<String>,
    own_hosts: Vec<String>,
}

impl PolicyBuilder {
    /// Replaces the patterns of filtered paths: globs, `/members-only-stuff/*` by default (`FilterPattern`).
    ///
    /// Each item may be a list with commas; blanks around a pattern and empty
    /// patterns are skipped. Without any pattern, nothing is filtered. See the
    /// [room](super#filter-patterns) for what a pattern may hold.
    #[must_use]
    pub fn filter_patterns<S: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.filter_patterns = owned(patterns);
        self
    }

    /// Sets where robots are sent, `/robot-heaven/` by default (`RedirectURL`).
    ///
    /// It is a path with one leading slash, or an http or https URL. Empty
    /// means that nothing is redirected.
    #[must_use]
    pub fn redirect_url(mut self, url: impl Into<String>) -> Self {
        self.redirect_url = url.into();
        self
    }

    /// Sets the status of the redirect, 302 by default.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Replaces the methods that are redirected, GET and HEAD by default.
    ///
    /// Upper and lower case are the same here; empty names are skipped.
    #[must_use]
    pub fn methods<S: AsRef<str>>(mut self, methods: impl IntoIterator<Item = S>) -> Self {
        self.methods = owned(methods);
        self
    }

    /// Replaces the purposes of the robots that are redirected.
    ///
    /// By default these are all but library, automation, monitoring and preview.
    #[must_use]
    pub fn purposes(mut self, purposes: impl IntoIterator<Item = Purpose>) -> Self {
        self.purposes = purposes.into_iter().collect();
        self
    }

    /// Adds a path that is never redirected, nor is anything below it.
    ///
    /// The admin page is one. The paths that are there for robots, such as
    /// `/robots.txt`, need not be named.
    #[must_use]
    pub fn never(mut self, path: impl Into<String>) -> Self {
        self.never.push(path.into());
        self
    }

    /// Replaces the names under which this site is reached; none by default.
    ///
    /// A redirect URL on one of them leads back here, whatever `Host` a proxy
    /// in front puts into the request. A name without a port is meant with any.
    #[must_use]
    pub fn own_hosts<S: AsRef<str>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.own_hosts = owned(hosts);
        self
    }

    /// Builds the policy.
    ///
    /// # Errors
    ///
    /// Fails on the first setting that is none, saying why and what to write:
    /// a pattern that can match no path, a redirect URL that is neither a path
    /// nor an http(s) URL or that covers all that is filtered, another status,
    /// a method that is no token.
    pub fn build(self) -> Result<Policy, PolicyError> {
        let patterns = parse_patterns(&self.filter_patterns)?;
        let methods = parse_methods(&self.methods)?;
        let never = parse_never(&self.never)?;
        let own_hosts = parse_hosts(&self.own_hosts)?;
        if !matches!(self.status, 301 | 302 | 303 | 307 | 308) {
            return Err(PolicyError::Status(self.status));
        }
        let heaven = parse_heaven(&self.redirect_url, self.status, &patterns, &own_hosts)?;
        Ok(Policy {
            patterns,
            heaven,
            methods,
            purposes: self.purposes,
            never,
        })
    }
}

impl Default for PolicyBuilder {
    fn default() -> Self {
        Self {
            filter_patterns: owned(["/members-only-stuff/*"]),
            redirect_url: "/robot-heaven/".to_owned(),
            status: 302,
            methods: owned(["GET", "HEAD"]),
            purposes: Purpose::ALL
                .iter()
                .copied()
                .filter(|purpose| !NOT_REDIRECTED.contains(purpose))
                .collect(),
            never: Vec::new(),
            own_hosts: Vec::new(),
        }
    }
}

fn owned<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Vec<String> {
    items
        .into_iter()
        .map(|item| item.as_ref().to_owned())
        .collect()
}

fn parse_patterns(items: &[String]) -> Result<Vec<FilterPattern>, PolicyError> {
    let mut patterns = Vec::new();
    for spelled in items.iter().flat_map(|item| split_csv(item)) {
        let pattern = if patterns.len() < MAX_PATTERNS {
            FilterPattern::parse(spelled)
        } else {
            Err(format!(
                "there are more than {MAX_PATTERNS} patterns; join some with *"
            ))
        };
        patterns.push(pattern.map_err(|reason| PolicyError::FilterPattern {
            pattern: spelled.to_owned(),
            reason,
        })?);
    }
    Ok(patterns)
}

fn parse_methods(items: &[String]) -> Result<Vec<String>, PolicyError> {
    items
        .iter()
        .map(|item| item.trim())
        .filter(|method| !method.is_empty())
        .map(|method| {
            if method.bytes().all(is_token_byte) {
                Ok(method.to_ascii_uppercase())
            } else {
                Err(PolicyError::Method(method.to_owned()))
            }
        })
        .collect()
}

/// Tells whether a byte may stand in a token (RFC 9110 §5.6.2).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn parse_never(paths: &[String]) -> Result<Vec<Subtree>, PolicyError> {
    let parse = |path: &String| {
        let subtree = Subtree::new(path.as_bytes());
        let reason = if !path.starts_with('/') {
            "it does not start with /; write it from the root"
        } else if has_odd_segments(path.as_bytes()) {
            "it holds //, /./ or /../; write the path that is meant"
        } else if subtree.is_root() {
            "it is the whole site; leave the filter patterns empty instead"
        } else {
            return Ok(subtree);
        };
        Err(PolicyError::Never {
            path: path.clone(),
            reason: reason.to_owned(),
        })
    };
    paths.iter().map(parse).collect()
}

fn parse_hosts(hosts: &[String]) -> Result<Vec<Host>, PolicyError> {
    let parse = |host: &String| {
        Host::parse(host.trim()).map_err(|reason| PolicyError::OwnHost {
            host: host.clone(),
            reason,
        })
    };
    hosts.iter().map(parse).collect()
}

fn parse_heaven(
    url: &str,
    status: u16,
    patterns: &[FilterPattern],
    own_hosts: &[Host],
) -> Result<Option<Heaven>, PolicyError> {
    let url = url.trim();
    if url.is_empty() {
        return Ok(None);
    }
    let refuse = |reason| PolicyError::RedirectUrl {
        url: url.to_owned(),
        reason,
    };
    let (location, guard) = redirect::parse(url, own_hosts).map_err(refuse)?;
    let is_all_heaven = !patterns.is_empty()
        && patterns
            .iter()
            .all(|pattern| guard.covers_all(pattern.literal_start()));
    if is_all_heaven {
        return Err(refuse(
            "all filtered paths lie below it, so that nothing would be redirected; name another place"
                .to_owned(),
        ));
    }
    Ok(Some(Heaven {
        redirect: Redirect { status, location },
        guard,
    }))
}
