//! Findings of the verification methods, and the proof that they form.

use robot_detection_layer::detect::Verdict;

robot_detection_layer::words! {
    /// Method of verifying a robot's claim.
    #[derive(Hash)]
    pub enum Method {
        /// Published ranges of the robot's addresses.
        Ranges = "ranges",
        /// Host name of the operator that resolves back to the address.
        ReverseDns = "reverse-dns",
        /// Request signature with a key that the operator publishes.
        WebBotAuth = "web-bot-auth",
    }
}

/// Finding of one method about a claim.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Finding {
    /// The claim is true.
    Confirmed(Evidence),
    /// The claim is false.
    Contradicted(Evidence),
    /// The request repeats a signature that proved an earlier request, so it proves nothing.
    Replayed(Evidence),
    /// Nothing was proved: no data is published or available.
    Nothing(Evidence),
}

/// Evidence for people to read: the check and its result.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// Method that produced the evidence.
    pub method: Method,
    /// One sentence; text from outside is quoted and truncated.
    pub text: String,
}

/// Verdict on one claim, with its evidence.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Proof {
    /// Verdict that follows from all findings.
    pub verdict: Verdict,
    /// Method that confirms or contradicts the claim.
    pub by: Option<Method>,
    /// Evidence of each method, in the order in which the methods were used.
    pub evidence: Vec<Evidence>,
}

impl Evidence {
    /// Creates evidence of a method.
    pub fn new(method: Method, text: impl Into<String>) -> Self {
        Self {
            method,
            text: text.into(),
        }
    }
}

impl Finding {
    /// Returns the verdict that follows from this finding alone.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Confirmed(_) => Verdict::Verified,
            Self::Contradicted(_) => Verdict::Spoofed,
            Self::Replayed(_) | Self::Nothing(_) => Verdict::Unverifiable,
        }
    }

    /// Returns the evidence of the finding.
    pub fn evidence(&self) -> &Evidence {
        match self {
            Self::Confirmed(evidence)
            | Self::Contradicted(evidence)
            | Self::Replayed(evidence)
            | Self::Nothing(evidence) => evidence,
        }
    }

    /// Converts the finding into its evidence.
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
    /// Combines findings: one confirmation decides, else one contradiction.
    ///
    /// Operators publish several kinds of data, and DNS may already have an address that a list
    /// does not have yet.
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

    /// Returns the sentences of the evidence, joined by blanks.
    pub fn text(&self) -> String {
        let texts = self.evidence.iter().map(|evidence| &*evidence.text);
        texts.collect::<Vec<_>>().join(" ")
    }
}

/// Returns the stronger of two verdicts: verified before spoofed before unverifiable.
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
    fn proof_names_the_deciding_method() {
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
