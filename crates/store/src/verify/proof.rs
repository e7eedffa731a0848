//! Findings of the methods, and the proof that they make together.

use robot_detection_layer::detect::Verdict;

robot_detection_layer::words! {
    /// Way to prove a robot's claim.
    #[derive(Hash)]
    pub enum Method {
        /// The operator publishes the ranges of the robot's addresses.
        Ranges = "ranges",
        /// The address has a name of the operator's, and that name has the address.
        ReverseDns = "reverse-dns",
        /// The request is signed with a key that the operator publishes.
        WebBotAuth = "web-bot-auth",
    }
}

/// Finding of one method about a claim.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Finding {
    /// It is who it says.
    Confirmed(Evidence),
    /// It is not who it says.
    Contradicted(Evidence),
    /// It proves nothing a second time: what proved a request before came again.
    Replayed(Evidence),
    /// Nothing can be said: nothing is published, or it could not be had.
    Nothing(Evidence),
}

/// Evidence for people to read: what was checked, and what it showed.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// The method that found it.
    pub method: Method,
    /// One sentence; text from outside is in it quoted and cut.
    pub text: String,
}

/// Verdict on one claim, and what led to it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Proof {
    /// Verdict of the findings together.
    pub verdict: Verdict,
    /// The method that proves or contradicts the claim.
    pub by: Option<Method>,
    /// Finding of each method, in the order in which they were asked.
    pub evidence: Vec<Evidence>,
}

impl Evidence {
    /// Creates what a method found.
    pub fn new(method: Method, text: impl Into<String>) -> Self {
        Self {
            method,
            text: text.into(),
        }
    }
}

impl Finding {
    /// Returns what it alone says of the claim.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Confirmed(_) => Verdict::Verified,
            Self::Contradicted(_) => Verdict::Spoofed,
            Self::Replayed(_) | Self::Nothing(_) => Verdict::Unverifiable,
        }
    }

    /// Returns what was looked at.
    pub fn evidence(&self) -> &Evidence {
        match self {
            Self::Confirmed(evidence)
            | Self::Contradicted(evidence)
            | Self::Replayed(evidence)
            | Self::Nothing(evidence) => evidence,
        }
    }

    /// Returns what was looked at.
    pub fn into_evidence(self) -> Evidence {
        match self {
            Self::Confirmed(evidence)
            | Self::Contradicted(evidence)
            | Self::Replayed(evidence)
            | Self::Nothing(evidence) => evidence,
        }
    }
}

impl Proof {
    /// Weighs findings: one confirmation is enough, else one contradiction.
    ///
    /// Operators publish more than one thing, and what a list of addresses has not yet
    /// the DNS may have.
    pub fn weigh(findings: impl IntoIterator<Item = Finding>) -> Self {
        let (mut verdict, mut by) = (Verdict::Unverifiable, None);
        let mut evidence = Vec::new();
        for finding in findings {
            let found = finding.verdict();
            if outweighs(found, verdict) {
                verdict = found;
                by = Some(finding.evidence().method);
            }
            evidence.push(finding.into_evidence());
        }
        Self {
            verdict,
            by,
            evidence,
        }
    }

    /// Returns the sentences of the evidence, one after the other.
    pub fn text(&self) -> String {
        let texts = self.evidence.iter().map(|evidence| &*evidence.text);
        texts.collect::<Vec<_>>().join(" ")
    }
}

/// Returns what two verdicts say together: verified before spoofed before unverifiable.
pub(super) fn stronger(one: Verdict, other: Verdict) -> Verdict {
    if outweighs(other, one) { other } else { one }
}

fn outweighs(found: Verdict, known: Verdict) -> bool {
    let weight = |verdict| match verdict {
        Verdict::Verified => 2,
        Verdict::Spoofed => 1,
        Verdict::Unverifiable | Verdict::Pending => 0,
    };
    weight(found) > weight(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(verdict: Verdict) -> Finding {
        let evidence = Evidence::new(Method::Ranges, "a sentence");
        match verdict {
            Verdict::Verified => Finding::Confirmed(evidence),
            Verdict::Spoofed => Finding::Contradicted(evidence),
            _ => Finding::Nothing(evidence),
        }
    }

    #[test]
    fn one_confirmation_outweighs_contradictions() {
        use Verdict::{Spoofed, Unverifiable, Verified};
        for (findings, verdict) in [
            (&[][..], Unverifiable),
            (&[Unverifiable], Unverifiable),
            (&[Unverifiable, Spoofed], Spoofed),
            (&[Spoofed, Unverifiable], Spoofed),
            (&[Spoofed, Verified], Verified),
            (&[Verified, Spoofed], Verified),
        ] {
            let proof = Proof::weigh(findings.iter().map(|&verdict| finding(verdict)));
            assert_eq!(proof.verdict, verdict, "{findings:?}");
            assert_eq!(proof.evidence.len(), findings.len());
        }
    }

    #[test]
    fn a_proof_names_the_method_that_decides() {
        let text = |method: Method| Evidence::new(method, method.as_str());
        let proof = Proof::weigh([
            Finding::Nothing(text(Method::WebBotAuth)),
            Finding::Contradicted(text(Method::Ranges)),
            Finding::Confirmed(text(Method::ReverseDns)),
        ]);
        assert_eq!(proof.by, Some(Method::ReverseDns));
        assert_eq!(proof.text(), "web-bot-auth ranges reverse-dns");
        let nothing = Proof::weigh([Finding::Nothing(text(Method::Ranges))]);
        assert_eq!(nothing.by, None);
    }
}
