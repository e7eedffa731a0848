//! Findings of the verification methods, and the proof that results from them.

use robot_detection_layer::detect::Verdict;

robot_detection_layer::words! {
    /// A method by which a robot's claim is verified.
    #[derive(Hash)]
    pub enum Method {
        /// Address ranges that the robot's operator publishes.
        Ranges = "ranges",
        /// The operator's host name, which resolves back to the address.
        ReverseDns = "reverse-dns",
        /// The signature of the request, made with a key that the operator publishes.
        WebBotAuth = "web-bot-auth",
    }
}

/// The finding of one verification method about a claim.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Finding {
    /// The claim is proved to be true.
    Confirmed(Evidence),
    /// The claim is proved to be false.
    Contradicted(Evidence),
    /// The request repeats a signature that proved an earlier request, so it proves nothing.
    Replayed(Evidence),
    /// Nothing was proved, because no data is published or available.
    Nothing(Evidence),
}

/// Human-readable evidence: the check and its result.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// The method that produced the evidence.
    pub method: Method,
    /// A sentence that describes the evidence; external text is quoted and truncated.
    pub text: String,
}

/// A verdict on a claim, with its evidence.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Proof {
    /// The verdict that follows from all findings.
    pub verdict: Verdict,
    /// The method that confirms or contradicts the claim, if any.
    pub by: Option<Method>,
    /// The evidence from each method, in the order in which the methods were used.
    pub evidence: Vec<Evidence>,
}

impl Evidence {
    /// Creates evidence from the given method.
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

    /// Returns the evidence on which the finding is based.
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
    /// Combines findings: a single confirmation is decisive; without one, a single contradiction is
    /// decisive.
    ///
    /// A confirmation takes precedence because operators publish several kinds of data, and DNS may
    /// already include an address that a list lacks.
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

    /// Returns the sentences of the evidence, joined by spaces.
    pub fn text(&self) -> String {
        let texts = self.evidence.iter().map(|evidence| &*evidence.text);
        texts.collect::<Vec<_>>().join(" ")
    }
}

/// Returns the stronger of two verdicts; verified is stronger than spoofed, and spoofed than
/// unverifiable.
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
