//! Where verdicts on robots' claims come from.

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

use super::{Case, Disposition, ReceivedRequest, Requester, Stage};

/// Time after which a robot whose signature was used before may come with another.
const SIGN_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What it is told.
const SIGN_AGAIN: &str = "The nonce of this signature was used before: sign the request anew.\n";

/// Request of a robot, with what is looked at to prove its claim.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ClaimedRequest<'r> {
    /// What the robot says that it is.
    pub claim: &'r Claim<'r>,
    /// Address of the client, where it is known.
    pub client: Option<IpAddr>,
    /// Method of the request.
    pub method: &'r Method,
    /// Target of the request.
    pub uri: &'r Uri,
    /// Headers of the request.
    pub headers: &'r HeaderMap,
    /// Scheme that the client used, where the server knows it for sure; it does not by default.
    ///
    /// The target of a request tells what the client, or a proxy before it, has
    /// written there, and that is not the same.
    pub scheme: Option<&'r str>,
}

impl<'r> ClaimedRequest<'r> {
    /// Creates it from the parts of a request.
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

    /// Sets the scheme that the client used, where it is known for sure.
    #[must_use]
    pub fn scheme(mut self, scheme: &'r str) -> Self {
        self.scheme = Some(scheme);
        self
    }
}

/// Source of verdicts on robots' claims; it answers at once, from memory.
pub trait Verdicts: Send + Sync + 'static {
    /// Returns what is known of a claim now; a proof may begin in the background.
    fn verdict(&self, request: &ClaimedRequest<'_>) -> Verdict;

    /// Returns the same, and where what the proof finds can be read.
    ///
    /// By default that is nowhere.
    fn finding(&self, request: &ClaimedRequest<'_>) -> ClaimFinding {
        self.verdict(request).into()
    }

    /// Returns the end of a proof that is under way, to be waited for.
    ///
    /// It is asked after [`verdict`](Self::verdict) has said that the verdict is
    /// pending, where a rule [waits](crate::policy::RuleBuilder::wait) for it.
    /// Dropped, it ends nothing but the waiting. By default nothing is waited for.
    fn settled(&self, request: &ClaimedRequest<'_>) -> Option<Settling> {
        let _ = request;
        None
    }

    /// Returns who has signed a request of a robot that no registry lists.
    ///
    /// It is asked once of each request whose claim is a [signed](Claim::Signed) one, and
    /// names nobody before the signature holds. By default nobody is.
    fn signer(&self, request: &ClaimedRequest<'_>) -> Option<SigningHost> {
        let _ = request;
        None
    }

    /// Returns `true` if an unverifiable request has a proof that was good once, before.
    ///
    /// It is asked of requests that are refused, which are told then to sign anew. By
    /// default there is none.
    fn is_replay(&self, request: &ClaimedRequest<'_>) -> bool {
        let _ = request;
        false
    }
}

/// Verdict on a claim, with its evidence where the claim is contradicted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ClaimFinding {
    /// The verdict.
    pub verdict: Verdict,
    /// What was found, or will be.
    pub proof: Option<ClaimProof>,
}

/// Future of a verdict whose proof is under way.
pub type Settling = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// What a server knows of the client of a request.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Its address.
    pub address: IpAddr,
    /// The same, where it stands for a network of its own.
    pub network: Option<IpAddr>,
    /// Scheme that it used, where that is known.
    pub scheme: Option<&'static str>,
    /// How its request came.
    pub transport: Transport,
}

/// Verdict that a request waits for.
pub struct Pending {
    /// The verdict, once it is there.
    pub settling: Settling,
    /// How long it waits at most.
    pub limit: Duration,
    /// What will be found.
    pub proof: Option<ClaimProof>,
}

/// Way to find the address of a client.
type FindClient = dyn Fn(&Extensions) -> Option<IpAddr> + Send + Sync;

/// Source of verdicts of a layer; by default there is none.
#[derive(Clone, Default)]
pub(crate) struct VerdictSource {
    pub(crate) verdicts: Option<Arc<dyn Verdicts>>,
    /// Finds the address of a client.
    pub(crate) client: Option<Arc<FindClient>>,
}

impl VerdictSource {
    /// Returns the address of the client, where the request tells it.
    pub(crate) fn client<B>(&self, request: &Request<B>) -> Option<IpAddr> {
        let find = self.client.as_ref()?;
        find(request.extensions())
    }

    /// Returns what is known of a claim now; `None` where nobody proves claims.
    ///
    /// The address of the client is the one in its request. A signed claim gets its
    /// signer here.
    pub(crate) fn verdict<B>(
        &self,
        request: &Request<B>,
        claim: &mut Claim<'_>,
    ) -> Option<ClaimFinding> {
        let verdicts = self.verdicts.as_ref()?;
        if claim.robot().is_none() {
            return self.of_no_robot(request, claim, self.client(request), None);
        }
        Some(verdicts.finding(&claimed(request, claim, self.client(request), None)))
    }

    /// Names who signs, and returns the verdict on whom no registry lists; nameless and shared
    /// visitors claim nothing.
    fn of_no_robot<B>(
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

    /// Returns `true` if a robot is refused for want of a proof that it has used before.
    ///
    /// A rule that refuses verified robots too is not to be got past by another signature.
    fn is_used_up<B>(
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

    /// Returns what is known of a claim now, or what to wait for where the policy asks to.
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
            return Ok(self.of_no_robot(request, claim, Some(client.address), client.scheme));
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
            && let Some(limit) = policy.wait(&header::parts(request), visitor(claim, verdict))
            // Asked last, as it takes part in the proof.
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
        case: &mut Case<'_>,
    ) {
        // No rule refuses an impostor, and a new signature would not make it genuine.
        if let Disposition::Decided(Decision::Refuse(_), Some(_)) = &case.disposition
            && self.is_used_up(received, case.policy(), requester.visitor)
        {
            // draft-ietf-webbotauth-httpsig-protocol §5.3: a nonce used too often is answered 429.
            let head = Head::again(SIGN_AGAIN, SIGN_AGAIN_AFTER);
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
