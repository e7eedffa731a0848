//! `Signature-Agent` header: the signer and the location of its keys.

use std::fmt;

use http::HeaderMap;
use sfv::{BareItem, Dictionary, Item, ListEntry, Parser};
use url::Url;

use super::{
    base::combined,
    refusal::{Refusal, shown},
    signature::Signature,
};
use robot_detection_layer::detect::SigningHost;
use robot_detection_layer::registry::Robot;

const NAME: &str = "signature-agent";

/// The value of the `Signature-Agent` header.
#[derive(Clone, Debug)]
pub(super) enum Agents {
    /// The header is missing.
    None,
    /// The older form of the `Signature-Agent` header: a string.
    One(Box<Item>),
    /// The current form of the `Signature-Agent` header: a dictionary.
    Many(Dictionary),
}

/// A way to find keys at a URL, specified by the `type` parameter of a `Signature-Agent` member.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Discovery {
    /// `directory`: the keys are at the well-known path of an origin.
    Directory,
    /// `jwks_uri`: the URL refers to the key set.
    KeySet,
    /// `cimd`: the URL refers to a Client ID Metadata Document, which contains the keys or their
    /// URL.
    Metadata,
}

/// The URL of a signer's keys, which identifies the signer; for a directory, only the origin.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct KeyUrl {
    discovery: Discovery,
    url: String,
}

impl Agents {
    /// Parses the `Signature-Agent` header; a string begins with a quote, but a dictionary never
    /// does.
    pub(super) fn read(headers: &HeaderMap) -> Result<Self, Refusal> {
        let Some(text) = combined(headers, NAME)? else {
            return Ok(Self::None);
        };
        let text = text.trim_ascii();
        if text.starts_with(b"\"") {
            let item = Parser::new(text).parse();
            return item
                .map(|it| Self::One(Box::new(it)))
                .map_err(|_| Refusal::Malformed(NAME));
        }
        let members = Parser::new(text).parse();
        members
            .map(Self::Many)
            .map_err(|_| Refusal::Malformed(NAME))
    }

    /// Returns `true` if the `Signature-Agent` header specifies one of the robot's agents.
    pub(super) fn names_robot(&self, robot: &Robot, allow_http: bool) -> bool {
        let is_known = |item: &Item| {
            KeyUrl::from_member(item, allow_http).is_ok_and(|agent| agent.belongs_to(robot))
        };
        match self {
            Self::None => false,
            Self::One(item) => is_known(item),
            Self::Many(members) => members
                .values()
                .any(|member| matches!(member, ListEntry::Item(item) if is_known(item))),
        }
    }

    /// Returns the key URL that a signature specifies and covers, or `None` if there is no such
    /// header.
    ///
    /// In a dictionary, the URL is in the member with the signature's label, or else in the only
    /// covered member. Proxies may change the label of a signature, but not the key of a covered
    /// member.
    pub(super) fn covered_by(
        &self,
        signature: &Signature,
        allow_http: bool,
    ) -> Result<Option<KeyUrl>, Refusal> {
        match self {
            Self::None => Ok(None),
            Self::One(item) => {
                let is_covered = signature.covered(NAME).any(|it| !it.contains_key("key"));
                if !is_covered {
                    return Err(Refusal::AgentNotCovered);
                }
                KeyUrl::from_member(item, allow_http).map(Some)
            }
            Self::Many(members) => {
                let key = covered_key(members, signature).ok_or(Refusal::AgentNotCovered)?;
                match members.get(key) {
                    Some(ListEntry::Item(item)) => KeyUrl::from_member(item, allow_http).map(Some),
                    Some(ListEntry::InnerList(_)) => Err(Refusal::Malformed(NAME)),
                    None => Err(Refusal::AgentNotCovered),
                }
            }
        }
    }
}

/// Returns the key of the covered member that belongs to the signature.
fn covered_key<'s>(members: &'s Dictionary, signature: &'s Signature) -> Option<&'s str> {
    let covered = signature.covered(NAME);
    let is_whole = |params: &sfv::Parameters| {
        params.is_empty() || (params.len() == 1 && params.contains_key("sf"))
    };
    let mut keys: Vec<&str> = Vec::new();
    for params in covered {
        if is_whole(params) {
            keys.extend(members.keys().map(|key| key.as_str()));
        } else if let Some(key) = params.get("key").and_then(BareItem::as_string) {
            keys.push(key.as_str());
        }
    }
    let label = signature.label.as_str();
    match keys.as_slice() {
        keys if keys.contains(&label) => Some(label),
        [key] => Some(key),
        _ => None,
    }
}

impl KeyUrl {
    /// The maximum number of a robot's agents to search for a key if the request does not specify
    /// an agent.
    pub(super) const MOST: usize = 4;

    /// Parses a member of the `Signature-Agent` header: an `https:` URL and the type of its
    /// content.
    fn from_member(item: &Item, allow_http: bool) -> Result<Self, Refusal> {
        let discovery = match item.params.get("type") {
            None => Discovery::Directory,
            Some(BareItem::Token(kind)) => match kind.as_str() {
                "directory" => Discovery::Directory,
                "jwks_uri" => Discovery::KeySet,
                "cimd" => Discovery::Metadata,
                other => return Err(Refusal::OtherType(shown(other))),
            },
            Some(_) => return Err(Refusal::Malformed(NAME)),
        };
        let text = item.bare_item.as_string().ok_or(Refusal::Malformed(NAME))?;
        let text = text.as_str();
        let refusal = || match discovery {
            Discovery::Directory => Refusal::NoOrigin(shown(text)),
            Discovery::KeySet | Discovery::Metadata => Refusal::NoUrl(shown(text)),
        };
        Self::parse(text, discovery, allow_http).ok_or_else(refusal)
    }

    /// Parses the URL of a signer's keys. For a directory, the result contains only the origin.
    pub(super) fn parse(text: &str, discovery: Discovery, allow_http: bool) -> Option<Self> {
        let mut url = Url::parse(text).ok()?;
        let is_fetched = url.scheme() == "https" || (allow_http && url.scheme() == "http");
        // A user name and password in the URL would be sent in our request.
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        if !is_fetched || !is_anonymous {
            return None;
        }
        if discovery != Discovery::Directory {
            // The fragment is never sent, and each fragment would be another cache entry.
            url.set_fragment(None);
            return Some(Self {
                discovery,
                url: url.into(),
            });
        }
        let origin = url.origin().ascii_serialization();
        // Only the origin: no path, query or fragment.
        let rest = url.as_str().strip_prefix(origin.as_str())?;
        (rest == "/").then_some(Self {
            discovery,
            url: origin,
        })
    }

    /// Returns the directories that the registry lists for a robot.
    ///
    /// For URLs with a path, only the request specifies how to find the keys.
    pub(super) fn for_robot(robot: &Robot, allow_http: bool) -> Vec<Self> {
        let scheme = if allow_http { "http" } else { "https" };
        let agents = robot.signature_agents.iter().take(Self::MOST);
        agents
            .filter_map(|agent| {
                let url = format!("{scheme}://{agent}");
                Self::parse(&url, Discovery::Directory, allow_http)
            })
            .collect()
    }

    /// Returns `true` if the registry lists this URL for a robot.
    ///
    /// A host in the registry is the host of a directory: only the owner of a host controls its
    /// well-known path, whereas other paths may belong to others. A query must also match, so that
    /// clients cannot cause a fetch for each query.
    pub(super) fn belongs_to(&self, robot: &Robot) -> bool {
        let mut known = robot.signature_agents.iter();
        match self.discovery {
            Discovery::Directory => known.any(|agent| agent == self.authority()),
            Discovery::KeySet | Discovery::Metadata => {
                let (scheme, _) = self.url.split_once("://").unwrap_or_default();
                known.filter(|agent| agent.contains('/')).any(|agent| {
                    let known = Url::parse(&format!("{scheme}://{agent}"));
                    known.is_ok_and(|known| known.as_str() == self.url)
                })
            }
        }
    }

    /// Returns the host of an unlisted signer's directory, which must be a host name with the
    /// default port.
    ///
    /// Only the owner of a host controls its well-known path. If `http:` is allowed, for tests, any
    /// host is accepted.
    pub(super) fn host_of_anybody(&self, allow_http: bool) -> Option<&str> {
        let is_directory = self.discovery == Discovery::Directory;
        let authority = Some(self.authority()).filter(|_| is_directory)?;
        let host = authority.split(':').next().filter(|_| allow_http);
        host.or_else(|| SigningHost::new(authority).is_some().then_some(authority))
    }

    /// Returns the way to find the keys at the URL.
    pub(super) fn discovery(&self) -> Discovery {
        self.discovery
    }

    pub(super) fn as_str(&self) -> &str {
        &self.url
    }

    /// Returns the URL without its scheme; for a directory, this is the host and port.
    fn authority(&self) -> &str {
        self.url
            .split_once("://")
            .map_or(&*self.url, |(_, host)| host)
    }
}

impl fmt::Display for KeyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}
