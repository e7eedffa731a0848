//! The layer asks the verifier.

use robot_detection_layer::{
    detect::{SigningHost, Verdict},
    layer::{Settling, Verdicts, Visit},
};

use super::{ClaimedRequest, Verifier};

impl Verdicts for Verifier {
    fn verdict(&self, visit: &Visit<'_>) -> Verdict {
        self.verdict_now(&request(visit))
    }

    fn settled(&self, visit: &Visit<'_>) -> Option<Settling> {
        Some(Self::settled(self, &request(visit)))
    }

    fn signer(&self, visit: &Visit<'_>) -> Option<SigningHost> {
        Self::signer(self, &request(visit))
    }

    fn is_replay(&self, visit: &Visit<'_>) -> bool {
        Self::is_replay(self, &request(visit))
    }
}

fn request<'v>(visit: &Visit<'v>) -> ClaimedRequest<'v> {
    let mut request = ClaimedRequest::new(
        visit.claim,
        visit.client,
        visit.method,
        visit.uri,
        visit.headers,
    );
    request.scheme = visit.scheme;
    request
}
