//! Sources of verdicts on robots' claims.

use std::{fmt, net::IpAddr, pin::Pin, sync::Arc, time::Duration};

use http::{Extensions, HeaderMap, Method, Request, Uri};

use crate::detect::{Claim, Kind, SigningHost, Verdict};
use crate::layer::{
    head::{Head, StageAnswer},
    header,
    visit::ClaimProof,
};
use crate::policy::{Action, Decision, Policy, Sender, Visitor};
use crate::suspect::Transport;

use super::{Disposition, ReceivedRequest, RequestState, Requester, Stage};

/// The `Retry-After` value for a request with a replayed signature.
const SIGN_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The text of the response to a request with a replayed signature.
const SIGN_AGAIN: &str =
    "The nonce of this signature has already been used. Sign the request again.\n";

/// A robot's request, with the data needed to verify the request's claim.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ClaimedRequest<'r> {
    /// The robot's claim.
    pub claim: &'r Claim<'r>,
    /// The client's address, if known.
    pub client: Option<IpAddr>,
    /// The request's method.
    pub method: &'r Method,
    /// The request's target.
    pub uri: &'r Uri,
    /// The request's headers.
    pub headers: &'r HeaderMap,
    /// The scheme that the client used, if known to the server with certainty; `None` by default.
    ///
    /// The scheme in the request target is not reliable because the client or a proxy set it.
    pub scheme: Option<&'r str>,
}

impl<'r> ClaimedRequest<'r> {
    /// Creates a claimed request from its parts.
    #[must_use]
    pub fn new(
        claim: &'r Claim<'r>,
        client: Option<IpAddr>,
        method: &'r Method,
        uri: &'r Uri,
        headers: &'r HeaderMap,
    ) -> Self {
        Self {
            claim,
            client,
            method,
            uri,
            headers,
            scheme: None,
        }
    }

    /// Sets the scheme that the client used, which must be known with certainty.
    #[must_use]
    pub fn scheme(mut self, scheme: &'r str) -> Self {
        self.scheme = Some(scheme);
        self
    }
}

/// A source of verdicts on robots' claims. The source must answer immediately, from memory.
pub trait Verdicts: Send + Sync + 'static {
    /// Returns the current verdict on a claim, and may start verification in the background.
    fn verdict(&self, request: &ClaimedRequest<'_>) -> Verdict;

    /// Returns the current verdict with a handle to the result of the verification.
    ///
    /// The default implementation returns no handle.
    fn finding(&self, request: &ClaimedRequest<'_>) -> ClaimFinding {
        self.verdict(request).into()
    }

    /// Returns a future that completes when a pending verdict is settled.
    ///
    /// This function is called after [`verdict`](Self::verdict) has returned `Pending`, if a rule
    /// [waits](crate::policy::RuleBuilder::wait) for the verdict. Dropping the future does not
    /// cancel the verification. By default, requests do not wait.
    fn settled(&self, request: &ClaimedRequest<'_>) -> Option<VerdictFuture> {
        let _ = request;
        None
    }

    /// Returns the signer of a request from a robot that is not in the registry.
    ///
    /// This function is called once for each request with a [signed](Claim::Signed) claim. It
    /// returns `None` unless the signature is valid. The default implementation always returns
    /// `None`.
    fn signer(&self, request: &ClaimedRequest<'_>) -> Option<SigningHost> {
        let _ = request;
        None
    }

    /// Returns `true` if an unverifiable request carries a proof that has already been used.
    ///
    /// This function is called for refused requests; if `true` is returned, the response asks the
    /// robot to sign again. The default implementation returns `false`.
    fn is_replay(&self, request: &ClaimedRequest<'_>) -> bool {
        let _ = request;
        false
    }
}

/// The verdict on a claim, with the evidence if the claim is contradicted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ClaimFinding {
    /// The verdict on the claim.
    pub verdict: Verdict,
    /// The result of the verification, available now or later.
    pub proof: Option<ClaimProof>,
}

/// A future that resolves to the settled verdict.
pub type VerdictFuture = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// The client of a request, as far as it is known to the server.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// The client's address.
    pub address: IpAddr,
    /// The client address, if it identifies the client's own network.
    pub network: Option<IpAddr>,
    /// The scheme that the client used, if known.
    pub scheme: Option<&'static str>,
    /// The transport of the request.
    pub transport: Transport,
}

/// A pending verdict that a request must wait for.
pub struct Pending {
    /// The future that resolves to the verdict.
    pub settling: VerdictFuture,
    /// The maximum time to wait for the verdict.
    pub limit: Duration,
    /// A handle to the result of the verification.
    pub proof: Option<ClaimProof>,
}

/// A function that determines the client's address.
type FindClient = dyn Fn(&Extensions) -> Option<IpAddr> + Send + Sync;

/// The layer's source of verdicts; by default, there is no source.
#[derive(Clone, Default)]
pub(crate) struct VerdictSource {
    pub(crate) verdicts: Option<Arc<dyn Verdicts>>,
    /// The function that determines the client's address.
    pub(crate) client: Option<Arc<FindClient>>,
}

impl VerdictSource {
    /// Returns the client's address if the request's extensions contain it.
    pub(crate) fn client<B>(&self, request: &Request<B>) -> Option<IpAddr> {
        let find = self.client.as_ref()?;
        find(request.extensions())
    }

    /// Returns the current verdict on a claim with its evidence, or `None` if claims are not
    /// verified.
    ///
    /// Reads the client's address from the request, and sets the signer of a signed claim.
    pub(crate) fn verdict<B>(
        &self,
        request: &Request<B>,
        claim: &mut Claim<'_>,
    ) -> Option<ClaimFinding> {
        let verdicts = self.verdicts.as_ref()?;
        if claim.robot().is_none() {
            return self.verdict_without_robot(request, claim, self.client(request), None);
        }
        Some(verdicts.finding(&claimed(request, claim, self.client(request), None)))
    }

    /// Sets the signer of a signed claim, and returns the verdict on unlisted robots. Visitors
    /// without a User-Agent or with a shared User-Agent make no claim.
    fn verdict_without_robot<B>(
        &self,
        request: &Request<B>,
        claim: &mut Claim<'_>,
        client: Option<IpAddr>,
        scheme: Option<&str>,
    ) -> Option<ClaimFinding> {
        if let Claim::Signed(_) = claim
            && let Some(verdicts) = &self.verdicts
        {
            let signer = verdicts.signer(&claimed(request, claim, client, scheme));
            if let Claim::Signed(signed) = claim {
                signed.signer = signer;
            }
        }
        (claim.kind() == Kind::Unlisted).then(|| Verdict::Unverifiable.into())
    }

    /// Returns `true` if a robot is refused only because its proof has already been used.
    ///
    /// The robot must not be asked to sign again if the rule refuses verified robots too.
    fn is_refused_as_replay<B>(
        &self,
        received: &ReceivedRequest<'_, B>,
        policy: &Policy,
        visitor: Visitor<'_>,
    ) -> bool {
        let Some(verdicts) = &self.verdicts else {
            return false;
        };
        if visitor.verdict != Verdict::Unverifiable
            || !verdicts.is_replay(&claimed(received.request, visitor.claim, None, None))
        {
            return false;
        }
        let verified = Visitor {
            verdict: Verdict::Verified,
            ..visitor
        };
        let judgement = policy.judge(&received.asked, Some(verified));
        !matches!(judgement.decision, Decision::Refuse(_))
    }

    /// Returns the current verdict on a claim, or `Err(Pending)` if the policy requires waiting.
    pub(crate) fn verdict_or_pending<B>(
        &self,
        policy: &Policy,
        request: &Request<B>,
        claim: &mut Claim<'_>,
        client: Client,
    ) -> Result<Option<ClaimFinding>, Pending> {
        let Some(verdicts) = &self.verdicts else {
            return Ok(None);
        };
        if claim.robot().is_none() {
            return Ok(self.verdict_without_robot(
                request,
                claim,
                Some(client.address),
                client.scheme,
            ));
        }
        let claimed = claimed(request, claim, Some(client.address), client.scheme);
        let ClaimFinding { verdict, proof } = verdicts.finding(&claimed);
        let sender = Sender {
            address: Some(client.address),
            headers: Some(request.headers()),
            ..Sender::default()
        };
        let visitor = |claim, verdict| Visitor {
            claim,
            verdict,
            sender,
        };
        if verdict == Verdict::Pending
            && let Some(limit) = policy.wait(&header::request_parts(request), visitor(claim, verdict))
            // Called last, because the call joins the proof.
            && let Some(settling) = verdicts.settled(&claimed)
        {
            return Err(Pending {
                settling,
                limit,
                proof,
            });
        }
        Ok(Some(ClaimFinding { verdict, proof }))
    }
}

impl Stage for VerdictSource {
    fn decide<B>(
        &self,
        received: &ReceivedRequest<'_, B>,
        requester: Requester<'_>,
        case: &mut RequestState<'_>,
    ) {
        // Impostors are refused without a rule; a new signature would not make the claim true.
        if let Disposition::Decided(Decision::Refuse(_), Some(_)) = &case.disposition
            && self.is_refused_as_replay(received, case.policy(), requester.visitor)
        {
            // draft-ietf-webbotauth-httpsig-protocol §5.3: a request whose nonce was used too often
            // gets a 429 response.
            let head = Head::retry_later(SIGN_AGAIN, SIGN_AGAIN_AFTER);
            case.disposition = StageAnswer::new(Action::Refuse, head).into();
        }
    }
}

fn claimed<'r, B>(
    request: &'r Request<B>,
    claim: &'r Claim<'r>,
    client: Option<IpAddr>,
    scheme: Option<&'r str>,
) -> ClaimedRequest<'r> {
    ClaimedRequest {
        claim,
        client,
        method: request.method(),
        uri: request.uri(),
        headers: request.headers(),
        scheme,
    }
}

impl From<Verdict> for ClaimFinding {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            proof: None,
        }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
