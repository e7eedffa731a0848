//! `Signature-Agent`: who signs, and where the keys are.

use std::fmt;

use http::HeaderMap;
use sfv::{BareItem, Dictionary, Item, ListEntry, Parser};
use url::Url;

use super::{
    fields::combined,
    refusal::{Refusal, shown},
    signature::Signature,
};
use crate::registry::Robot;

const NAME: &str = "signature-agent";

/// The header of a request.
#[derive(Clone, Debug)]
pub(super) enum Agents {
    /// There is none.
    None,
    /// The older form: one string.
    One(Box<Item>),
    /// The current form: a dictionary.
    Many(Dictionary),
}

/// Origin of a key directory: scheme, host, and its port where that is not the scheme's.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Origin(String);

impl Agents {
    /// Reads the header; a string begins with a quote, a dictionary never does.
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

    /// Tells whether the header names one of the robot's agents.
    pub(super) fn name_one_of(&self, robot: &Robot, allow_http: bool) -> bool {
        let is_known =
            |item: &Item| Origin::of(item, allow_http).is_ok_and(|origin| origin.is_of(robot));
        match self {
            Self::None => false,
            Self::One(item) => is_known(item),
            Self::Many(members) => members
                .values()
                .any(|member| matches!(member, ListEntry::Item(item) if is_known(item))),
        }
    }

    /// Returns the origin that a signature names and covers; `None` where there is no header.
    ///
    /// Of a dictionary it is the member of the signature's label, else the one
    /// member that it covers: a signature may be given another label on the
    /// way, the key of a covered member may not.
    pub(super) fn covered_by(
        &self,
        signature: &Signature,
        allow_http: bool,
    ) -> Result<Option<Origin>, Refusal> {
        match self {
            Self::None => Ok(None),
            Self::One(item) => {
                let is_covered = signature.covered(NAME).any(|it| !it.contains_key("key"));
                if !is_covered {
                    return Err(Refusal::AgentNotCovered);
                }
                Origin::of(item, allow_http).map(Some)
            }
            Self::Many(members) => {
                let key = covered_key(members, signature).ok_or(Refusal::AgentNotCovered)?;
                match members.get(key) {
                    Some(ListEntry::Item(item)) => Origin::of(item, allow_http).map(Some),
                    Some(ListEntry::InnerList(_)) => Err(Refusal::Malformed(NAME)),
                    None => Err(Refusal::AgentNotCovered),
                }
            }
        }
    }
}

/// Returns the key of the covered member that is the signature's own.
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

impl Origin {
    /// Agents of one robot that are asked for a key when the request names none.
    pub(super) const MOST: usize = 4;

    /// Reads a member: the origin of an `https:` URL, of the type `directory`.
    fn of(item: &Item, allow_http: bool) -> Result<Self, Refusal> {
        match item.params.get("type") {
            None => {}
            Some(BareItem::Token(kind)) if kind.as_str() == "directory" => {}
            Some(BareItem::Token(kind)) => return Err(Refusal::OtherType(shown(kind.as_str()))),
            Some(_) => return Err(Refusal::Malformed(NAME)),
        }
        let text = item.bare_item.as_string().ok_or(Refusal::Malformed(NAME))?;
        let text = text.as_str();
        Self::parse(text, allow_http).ok_or_else(|| Refusal::NoOrigin(shown(text)))
    }

    /// Reads the origin of a URL that has nothing else.
    pub(super) fn parse(text: &str, allow_http: bool) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let is_fetched = url.scheme() == "https" || (allow_http && url.scheme() == "http");
        let origin = url.origin().ascii_serialization();
        // Nothing but the origin, so no path, user, query or fragment.
        let rest = url.as_str().strip_prefix(origin.as_str())?;
        (is_fetched && rest == "/").then_some(Self(origin))
    }

    /// Returns the agents that the registry knows for a robot.
    pub(super) fn all_of(robot: &Robot, allow_http: bool) -> Vec<Self> {
        let scheme = if allow_http { "http" } else { "https" };
        let agents = robot.signature_agents.iter().take(Self::MOST);
        agents
            .filter_map(|agent| Self::parse(&format!("{scheme}://{agent}"), allow_http))
            .collect()
    }

    /// Tells whether the registry knows it for a robot.
    pub(super) fn is_of(&self, robot: &Robot) -> bool {
        let own = self.0.split_once("://").map_or("", |it| it.1);
        robot.signature_agents.iter().any(|agent| agent == own)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host, with its port where that is not the scheme's.
    pub(super) fn authority(&self) -> &str {
        self.0.split_once("://").map_or(&*self.0, |(_, host)| host)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
