//! Conditions of a rule on the request and the robot.

use super::{
    Places, Visitor,
    condition::{Conditions, Mismatch},
    decision::NormalizedRequest,
    glob::FilterPattern,
    host::Host,
    query::QueryConditions,
    sender::SenderConditions,
};

/// The conditions of a rule on the request and the robot, all of which must hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// The paths to which the rule applies; `None` stands for the filter patterns.
    pub(super) paths: Option<Vec<FilterPattern>>,
    /// The method names in upper case; `None` stands for all methods.
    pub(super) methods: Option<Vec<String>>,
    pub(super) hosts: Option<Vec<Host>>,
    pub(super) query: Option<QueryConditions>,
    pub(super) robots: Conditions,
    pub(super) sender: SenderConditions,
    /// The lookup of the autonomous system and country of addresses.
    pub(super) places: Places,
}

impl PartialEq for Scope {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            paths,
            methods,
            hosts,
            query,
            robots,
            sender,
            places: _,
        } = self;
        *paths == other.paths
            && *methods == other.methods
            && *hosts == other.hosts
            && *query == other.query
            && *robots == other.robots
            && *sender == other.sender
    }
}

impl Scope {
    /// Returns `true` if the conditions on the path, method and host hold.
    pub(super) fn matches(&self, asked: &NormalizedRequest<'_>) -> bool {
        self.unlike(asked).is_none()
    }

    /// Returns `true` if the condition on the method holds.
    pub(super) fn has_method(&self, method: &str) -> bool {
        let methods = self.methods.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|ours| ours == method))
    }

    /// Returns `true` if the conditions include all robots.
    pub(super) fn is_for_all(&self) -> bool {
        self.robots.is_empty() && self.sender.is_empty()
    }

    /// Returns `true` if the conditions include all visitors, including human visitors.
    pub(super) fn is_for_everybody(&self) -> bool {
        self.robots.matches_all_visitors() && self.sender.is_empty()
    }

    /// Returns the first condition that does not hold, if any.
    ///
    /// Conditions on the robot never hold for a human visitor.
    pub(super) fn mismatch(
        &self,
        asked: &NormalizedRequest<'_>,
        visitor: Option<Visitor<'_>>,
    ) -> Option<Mismatch> {
        self.unlike(asked).or_else(|| match visitor {
            _ if self.is_for_all() => None,
            Some(visitor) => {
                // The robot is checked last: a mismatch of the verdict means that everything else
                // matches.
                let robot = self.robots.mismatch(visitor);
                match robot {
                    None | Some(Mismatch::Verdict) => self
                        .sender
                        .mismatch(visitor.sender, &self.places)
                        .map(Mismatch::Sender)
                        .or(robot),
                    Some(_) => robot,
                }
            }
            None => Some(Mismatch::Person),
        })
    }

    /// Returns `true` if the conditions include all requests that `other` includes.
    pub(super) fn includes(&self, other: &Self) -> bool {
        // Patterns may overlap in any way, so a rule is treated as hidden only if this is certain.
        let has_paths = match (&self.paths, &other.paths) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => theirs.iter().all(|path| ours.contains(path)),
            _ => false,
        };
        has_paths
            && has_all(self.methods.as_deref(), other.methods.as_deref())
            && has_all(self.hosts.as_deref(), other.hosts.as_deref())
            && (self.query.is_none() || self.query == other.query)
            && self.robots.include(&other.robots)
            && self.sender.include(&other.sender)
    }

    fn unlike(&self, asked: &NormalizedRequest<'_>) -> Option<Mismatch> {
        let is_path = match &self.paths {
            Some(paths) => paths.iter().any(|pattern| pattern.matches(asked.path)),
            None => asked.is_filtered,
        };
        if !is_path {
            Some(Mismatch::Path)
        } else if !self.has_method(asked.method) {
            Some(Mismatch::Method)
        } else if !self.has_host(asked.host) {
            Some(Mismatch::Host)
        } else if !self.has_query(asked.query) {
            Some(Mismatch::Query)
        } else {
            None
        }
    }

    fn has_query(&self, query: Option<&str>) -> bool {
        let conditions = self.query.as_ref();
        conditions.is_none_or(|conditions| conditions.match_query(query.unwrap_or_default()))
    }

    fn has_host(&self, host: Option<&str>) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| {
            host.is_some_and(|host| hosts.iter().any(|ours| ours.matches(host)))
        })
    }
}

/// Returns `true` if one list contains all items of another. An unset list contains all items.
fn has_all<T: PartialEq>(ours: Option<&[T]>, theirs: Option<&[T]>) -> bool {
    match (ours, theirs) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(ours), Some(theirs)) => theirs.iter().all(|item| ours.contains(item)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: NormalizedRequest<'static> = NormalizedRequest {
        method: "GET",
        host: Some("www.example.com:8080"),
        path: b"/a/b",
        query: None,
        is_filtered: false,
    };

    fn scope(path: &str, methods: &[&str], hosts: &[&str]) -> Scope {
        Scope {
            paths: Some(vec![FilterPattern::parse(path).unwrap()]),
            methods: Some(methods.iter().map(|&name| name.to_owned()).collect()),
            hosts: Some(
                hosts
                    .iter()
                    .map(|name| Host::parse(name).unwrap())
                    .collect(),
            ),
            ..Scope::default()
        }
    }

    #[test]
    fn path_method_and_host_must_match() {
        for (path, methods, hosts, mismatch) in [
            ("/a/*", &["POST", "GET"][..], &["www.example.com"][..], None),
            ("/b/*", &["GET"], &["www.example.com"], Some(Mismatch::Path)),
            (
                "/a/*",
                &["POST"],
                &["www.example.com"],
                Some(Mismatch::Method),
            ),
            ("/a/*", &["GET"], &["example.com"], Some(Mismatch::Host)),
            ("/a/*", &["GET"], &["www.example.com:8080"], None),
            (
                "/a/*",
                &["GET"],
                &["www.example.com:80"],
                Some(Mismatch::Host),
            ),
        ] {
            let scope = scope(path, methods, hosts);
            assert_eq!(scope.mismatch(&ASKED, None), mismatch, "{scope:?}");
        }
        let nowhere = NormalizedRequest {
            host: None,
            ..ASKED
        };
        let scope = scope("/a/*", &["GET"], &["www.example.com"]);
        assert_eq!(scope.mismatch(&nowhere, None), Some(Mismatch::Host));
    }

    #[test]
    fn a_wider_scope_includes_a_narrower_one() {
        let narrow = scope("/a/*", &["GET"], &["a.example"]);
        let wide = scope("/a/*", &["GET", "HEAD"], &["a.example", "b.example"]);
        assert!(wide.includes(&narrow) && !narrow.includes(&wide));
        let any = Scope {
            methods: None,
            hosts: None,
            ..narrow.clone()
        };
        assert!(any.includes(&wide) && !wide.includes(&any));
        assert!(!Scope::default().includes(&narrow));
    }
}
