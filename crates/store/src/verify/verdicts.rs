//! The layer asks the verifier.

use robot_detection_layer::{
    detect::{SigningHost, Verdict},
    layer::{ClaimedRequest, Settling, Verdicts},
};

use super::Verifier;

impl Verdicts for Verifier {
    fn verdict(&self, request: &ClaimedRequest<'_>) -> Verdict {
        self.verdict_now(request)
    }

    fn settled(&self, request: &ClaimedRequest<'_>) -> Option<Settling> {
        Some(Self::settled(self, request))
    }

    fn signer(&self, request: &ClaimedRequest<'_>) -> Option<SigningHost> {
        Self::signer(self, request)
    }

    fn is_replay(&self, request: &ClaimedRequest<'_>) -> bool {
        Self::is_replay(self, request)
    }
}
