//! Identification of robots for handlers and upstreams.

use std::{fmt::Write, ops::Range, sync::Arc};

use http::{HeaderName, HeaderValue, Request};

use crate::detect::{Claim, Kind, NAMELESS, Signed, SigningHost, UNLISTED, Unlisted, Verdict};
use crate::layer::header::remove_variants;
use crate::policy::Visitor;
use crate::registry::{Pattern, Purpose, Robot};

use super::{OWN_ROBOT_HEADER, RequestState, Stage};

/// Maximum length in bytes of the robot ID in the header for the upstream.
const MAX_ID_BYTES: usize = 128;

/// The identification of the robot that a request claims to be from.
///
/// The layer adds an `Identification` to the extensions of each request that comes from a robot or
/// has no User-Agent, but not to requests from human visitors. With the feature `axum`, handlers
/// extract `Option<Identification>`, or `Identification` to serve only robots. The identification
/// is a claim, not proof: see [`verdict`](Self::verdict).
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Identification {
    /// A robot in the registry.
    Listed(ListedRobot),
    /// A robot that is not in the registry.
    Unlisted(Unlisted),
    /// A robot that is not in the registry, detected by the signature of its request.
    Signed(Signed),
    /// A client that sends no User-Agent or an empty one.
    Nameless,
}

/// A robot in the registry, with the part of the request that identified it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ListedRobot {
    /// The registry record of the robot.
    pub robot: Arc<Robot>,
    /// The pattern that matched the User-Agent; `None` if the request's signature identifies the
    /// robot.
    pub pattern: Option<Pattern>,
    /// The byte range in the User-Agent that the pattern matched.
    pub range: Range<usize>,
    /// The verdict on the claim.
    pub verdict: Verdict,
}

impl Identification {
    /// Returns the robot's ID, or [`UNLISTED`] or [`NAMELESS`] for a robot that is not in the
    /// registry.
    ///
    /// For an unlisted robot with a valid signature, returns the [signer](Signed::signer).
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Listed(listed) => &listed.robot.id,
            Self::Unlisted(_) => UNLISTED,
            Self::Signed(signed) => signed.signer.as_ref().map_or(UNLISTED, SigningHost::as_str),
            Self::Nameless => NAMELESS,
        }
    }

    /// Returns the kind of visitor.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Listed(_) => Kind::Listed,
            Self::Unlisted(_) | Self::Signed(_) => Kind::Unlisted,
            Self::Nameless => Kind::Nameless,
        }
    }

    /// Returns the registry record of a listed robot.
    #[must_use]
    pub fn robot(&self) -> Option<&Arc<Robot>> {
        match self {
            Self::Listed(listed) => Some(&listed.robot),
            Self::Unlisted(_) | Self::Signed(_) | Self::Nameless => None,
        }
    }

    /// Returns the robot's purpose.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        match self {
            Self::Listed(listed) => listed.robot.purpose,
            Self::Unlisted(unlisted) => unlisted.sign.purpose(),
            Self::Signed(signed) => signed.purpose(),
            Self::Nameless => Purpose::Unknown,
        }
    }

    /// Returns the verdict on the claim; claims that cannot be verified are unverifiable.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Listed(listed) => listed.verdict,
            Self::Unlisted(_) | Self::Signed(_) | Self::Nameless => Verdict::Unverifiable,
        }
    }

    /// Creates the identification of a visitor; `None` for human visitors.
    fn of(visitor: Visitor<'_>) -> Option<Self> {
        Some(match visitor.claim {
            Claim::Listed(listed) => Self::Listed(ListedRobot {
                robot: Arc::clone(listed.robot),
                pattern: listed.pattern.cloned(),
                range: listed.range.clone(),
                verdict: visitor.verdict,
            }),
            Claim::Unlisted(unlisted) => Self::Unlisted(unlisted.clone()),
            Claim::Signed(signed) => Self::Signed(signed.clone()),
            Claim::Nameless => Self::Nameless,
            Claim::Shared(_) | Claim::Person => return None,
        })
    }
}

/// Headers that identify a robot to the upstream, and headers that are removed from clients'
/// requests.
#[derive(Clone, Default)]
pub(crate) struct IdentificationHeaders {
    id: Option<HeaderName>,
    /// The name of the header that contains the verdict; `None` if the name would be too long.
    verdict: Option<HeaderName>,
    /// The names of the headers that are removed from each request.
    removed: Vec<Box<str>>,
}

impl IdentificationHeaders {
    /// Sets the name of the header with the robot's ID.
    pub(crate) fn name(&mut self, id: HeaderName) {
        let verdict = HeaderName::try_from(format!("{id}-verdict")).ok();
        for name in [Some(&id), verdict.as_ref()].into_iter().flatten() {
            self.remove(name.as_str());
        }
        // Upstreams must not see the signature of our own robot.
        self.remove(OWN_ROBOT_HEADER);
        (self.id, self.verdict) = (Some(id), verdict);
    }

    /// Configures a header to be removed from each request, including alternative spellings.
    pub(crate) fn remove(&mut self, name: &str) {
        if !self.removed.iter().any(|known| **known == *name) {
            self.removed.push(name.into());
        }
    }
}

impl Stage for IdentificationHeaders {
    fn ready<B>(
        &self,
        request: &mut Request<B>,
        visitor: Option<Visitor<'_>>,
        case: &mut RequestState<'_>,
    ) {
        // An outer layer may have inserted its own identification.
        request.extensions_mut().remove::<Identification>();
        remove_variants(request.headers_mut(), &self.removed);
        let Some(visitor) = visitor else { return };
        let Some(identification) = Identification::of(visitor) else {
            return;
        };
        request.extensions_mut().insert(identification);
        let headers = request.headers_mut();
        if let Some(name) = &self.id
            && let Some(value) = id_value(visitor.claim.id())
        {
            headers.insert(name.clone(), value);
        }
        if let (Some(name), Some(verdict)) = (&self.verdict, case.verdict) {
            headers.insert(name.clone(), HeaderValue::from_static(verdict.as_str()));
        }
    }
}

/// Returns a robot's ID as a header value; bytes other than visible ASCII are percent-encoded.
fn id_value(id: &str) -> Option<HeaderValue> {
    let mut value = String::with_capacity(id.len());
    for byte in id.bytes().take(MAX_ID_BYTES) {
        if byte.is_ascii_graphic() && byte != b'%' {
            value.push(char::from(byte));
        } else {
            let _ = write!(value, "%{byte:02X}");
        }
    }
    HeaderValue::try_from(value).ok()
}

#[cfg(feature = "axum")]
pub use extract::NotARobot;

/// An axum extractor for identifications.
#[cfg(feature = "axum")]
mod extract {
    use std::convert::Infallible;

    use axum::{
        extract::{FromRequestParts, OptionalFromRequestParts},
        response::{IntoResponse, Response},
    };
    use http::{StatusCode, request::Parts};

    use super::Identification;

    /// The rejection (403) of human visitors for a handler that extracts [`Identification`].
    #[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
    #[error("this page is for robots")]
    #[non_exhaustive]
    pub struct NotARobot;

    impl IntoResponse for NotARobot {
        fn into_response(self) -> Response {
            (StatusCode::FORBIDDEN, format!("{self}\n")).into_response()
        }
    }

    /// Rejects human visitors with 403; extract `Option<Identification>` to accept all visitors.
    impl<S: Sync> FromRequestParts<S> for Identification {
        type Rejection = NotARobot;

        async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, NotARobot> {
            parts.extensions.get().cloned().ok_or(NotARobot)
        }
    }

    impl<S: Sync> OptionalFromRequestParts<S> for Identification {
        type Rejection = Infallible;

        async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
            Ok(parts.extensions.get().cloned())
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    #[test]
    fn forged_headers_are_removed_in_all_spellings() {
        let mut names = IdentificationHeaders::default();
        names.name(HeaderName::from_static("x-robot-detection"));
        names.remove("x-person");
        let mut headers = HeaderMap::new();
        for forged in [
            "X-Robot-Detection",
            "x-robot-detection",
            "X_Robot_Detection",
            "x.robot.detection",
            "x~robot-detection",
            "X-Robot-Detection-Verdict",
            "x_robot_detection_verdict",
            "X-Person",
            "x_person",
        ] {
            let forged: HeaderName = forged.parse().unwrap();
            headers.append(forged, HeaderValue::from_static("a"));
        }
        headers.append("x-robot-detections", HeaderValue::from_static("a"));
        headers.append("xarobot-detection", HeaderValue::from_static("a"));
        headers.append("x-robot-detection-verdicts", HeaderValue::from_static("a"));
        remove_variants(&mut headers, &names.removed);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(
            left,
            [
                "x-robot-detection-verdicts",
                "x-robot-detections",
                "xarobot-detection"
            ]
        );
    }

    #[test]
    fn id_is_percent_encoded_and_truncated() {
        assert_eq!(id_value("googlebot").unwrap(), "googlebot");
        assert_eq!(
            id_value("a b\r\nc: é%").unwrap(),
            "a%20b%0D%0Ac:%20%C3%A9%25"
        );
        assert_eq!(id_value("").unwrap(), "");
        assert_eq!(id_value(&"a".repeat(1000)).unwrap().len(), MAX_ID_BYTES);
    }
}
