//! What is done with robots that are not who they say.

use std::fmt;

use super::{Judgement, Policy, Refuse, Request, Visitor, heaven::Heaven, trace::Trace};

/// Text for whom is refused as an impostor.
const TEXT: &str = "This request does not come from the robot that it names.\n";

/// What is done with a request whose claim is spoofed.
///
/// Whatever it is, an impostor gains nothing by the name: neither the list of
/// [allowed](super::PolicyBuilder::allow_robots) robots nor a rule that lets
/// certain robots pass is about it, unless the rule names the verdict.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Spoofed {
    /// It is told and counted, and treated like the robot that it claims to be.
    #[default]
    Report,
    /// It is redirected on every filtered path, whatever its purpose.
    Redirect,
    /// It gets 403 everywhere but on the paths that are never redirected.
    Refuse,
}

impl Spoofed {
    /// Every treatment.
    pub const ALL: &'static [Self] = &[Self::Report, Self::Redirect, Self::Refuse];

    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Redirect => "redirect",
            Self::Refuse => "refuse",
        }
    }

    /// Returns the treatment that a word names.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|treatment| treatment.as_str() == word)
    }
}

impl fmt::Display for Spoofed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns what an impostor is told.
pub(super) fn refusal() -> Refuse {
    Refuse {
        status: 403,
        text: TEXT.to_owned(),
    }
}

impl Policy {
    /// Returns what is done with a request whose claim is spoofed.
    #[must_use]
    pub fn spoofed(&self) -> Spoofed {
        self.spoofed
    }

    /// Returns what an impostor is told where it is refused.
    ///
    /// The refusal of a decision that no rule made is this very object.
    #[must_use]
    pub fn spoofed_refusal(&self) -> &Refuse {
        &self.spoofed_refusal
    }

    /// Returns `true` if impostors are redirected where robots may be.
    pub(super) fn redirects_spoofed(&self) -> bool {
        self.spoofed == Spoofed::Redirect && self.heaven.is_some()
    }

    /// Refuses an impostor before anything else is looked at.
    pub(super) fn refuse_spoofed(
        &self,
        request: &Request<'_>,
        visitor: Option<Visitor<'_>>,
        trace: &mut impl Trace,
    ) -> Option<Judgement<'_>> {
        if self.spoofed != Spoofed::Refuse || !visitor.is_some_and(Visitor::is_spoofed) {
            return None;
        }
        let is_exempt = self
            .reading
            .with_path(request.path, |path| self.is_exempt(path));
        trace.step("spoofed", || {
            if is_exempt {
                "The claim is spoofed, but the path is one that is never refused.".to_owned()
            } else {
                "The claim is spoofed, and whoever spoofs is refused.".to_owned()
            }
        });
        (!is_exempt).then(|| Judgement::refuse_spoofed(&self.spoofed_refusal))
    }

    /// Redirects an impostor on a filtered path.
    pub(super) fn judge_spoofed(
        &self,
        visitor: Visitor<'_>,
        trace: &mut impl Trace,
    ) -> Option<&Heaven> {
        if !visitor.is_spoofed() {
            return None;
        }
        let is_redirected = self.redirects_spoofed();
        trace.step("spoofed", || {
            if is_redirected {
                "The claim is spoofed, and whoever spoofs is redirected on every filtered path."
                    .to_owned()
            } else {
                "The claim is spoofed, which is only reported.".to_owned()
            }
        });
        self.heaven.as_deref().filter(|_| is_redirected)
    }
}
