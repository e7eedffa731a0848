//! The stage that redirects robots to canonical URLs without calling the application.

use std::{fmt, sync::Arc};

use http::{HeaderValue, Method, Uri};

use crate::detect::Verdict;
use crate::layer::{
    head::{Head, StageAnswer},
    header,
};
use crate::policy::{Action, Judgement, PassReason, Visitor};
use crate::registry::Purpose;

use super::{Disposition, ReceivedRequest, RequestState, Requester, Stage};

type Find = Arc<dyn Fn(Option<&str>, &Uri) -> Option<HeaderValue> + Send + Sync>;

/// Redirects of certain robots from a page to its canonical URL.
///
/// # Example
///
/// ```
/// use http::HeaderValue;
/// use robot_detection_layer::{
///     layer::{CanonicalRedirects, RobotDetectionLayer},
///     registry::Purpose,
/// };
///
/// let redirects = CanonicalRedirects::new([Purpose::AiTraining], |_, asked| {
///     (asked.path() == "/old").then(|| HeaderValue::from_static("/new"))
/// });
/// let layer = RobotDetectionLayer::builder().build()?.canonical_redirects(redirects);
/// # Ok::<(), robot_detection_layer::layer::LayerError>(())
/// ```
#[derive(Clone)]
pub struct CanonicalRedirects {
    purposes: Box<[Purpose]>,
    verdicts: Box<[Verdict]>,
    find: Find,
}

impl CanonicalRedirects {
    /// Creates redirects for verified robots with the given purposes; `find` returns the canonical
    /// location for a host and a URL.
    ///
    /// `find` is called only for GET and HEAD requests from these robots, and must not block.
    #[must_use]
    pub fn new(
        purposes: impl IntoIterator<Item = Purpose>,
        find: impl Fn(Option<&str>, &Uri) -> Option<HeaderValue> + Send + Sync + 'static,
    ) -> Self {
        Self {
            purposes: purposes.into_iter().collect(),
            verdicts: Box::new([Verdict::Verified]),
            find: Arc::new(find),
        }
    }

    /// Sets the verdicts for which robots are redirected; defaults to [`Verdict::Verified`].
    #[must_use]
    pub fn verdicts(mut self, verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        self.verdicts = verdicts.into_iter().collect();
        self
    }

    /// Returns `true` if a robot that passes for the given reason may be redirected.
    #[must_use]
    pub fn applies_to(&self, visitor: Visitor<'_>, passes: PassReason) -> bool {
        let claim = visitor.claim;
        !claim.kind().is_human()
            && self.purposes.contains(&claim.purpose())
            && self.verdicts.contains(&visitor.verdict)
            && permits_redirect(passes)
    }

    fn applies_to_judgement(&self, visitor: Visitor<'_>, judgement: &Judgement<'_>) -> bool {
        let passes = judgement.decision.pass_reason();
        passes.is_some_and(|passes| self.applies_to(visitor, passes))
    }
}

/// Returns `false` if the reason is that a robot is explicitly allowed to pass.
fn permits_redirect(reason: PassReason) -> bool {
    !matches!(
        reason,
        PassReason::NeverFiltered
            | PassReason::Heaven
            | PassReason::Trap
            | PassReason::Allowed
            | PassReason::Rule
    )
}

impl Stage for Option<CanonicalRedirects> {
    fn decide<B>(
        &self,
        received: &ReceivedRequest<'_, B>,
        requester: Requester<'_>,
        case: &mut RequestState<'_>,
    ) {
        let (Some(redirects), Disposition::Pass) = (self, &case.disposition) else {
            return;
        };
        let (request, visitor) = (received.request, requester.visitor);
        if !header::is_read(request) || !redirects.applies_to_judgement(visitor, &case.judgement) {
            return;
        }
        // A rule that exempts a passing visitor is not the deciding rule, so check it here.
        let may_go = || !case.policy().passes(&received.asked, visitor);
        let to = (redirects.find)(header::host(request), request.uri());
        if let Some(to) = to.filter(|_| may_go()) {
            let mut answer = StageAnswer::new(Action::Redirect, Head::permanent_redirect(to));
            answer.cause = Some("canonical");
            case.disposition = answer.into();
        } else {
            // A page requested with a query, a cookie or credentials may differ for other visitors.
            case.additions.is_learnt_from = *request.method() == Method::GET
                && request.uri().query().is_none()
                && !header::may_be_logged_in(request);
        }
    }
}

impl fmt::Debug for CanonicalRedirects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CanonicalRedirects")
            .field("purposes", &self.purposes)
            .field("verdicts", &self.verdicts)
            .finish_non_exhaustive()
    }
}
