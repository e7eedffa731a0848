//! Refusals, which consist of a status and the text of the response.

/// HTTP statuses that are allowed for a refusal.
const STATUSES: [u16; 11] = [400, 401, 402, 403, 404, 406, 410, 418, 429, 451, 503];

/// Maximum number of bytes in a text for robots.
const MAX_TEXT_BYTES: usize = 4096;

/// A refusal by a rule: the status and the text of the response.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Refuse {
    /// The status of the response: 400, 401, 402, 403, 404, 406, 410, 418, 429, 451 or 503.
    pub status: u16,
    /// The text of the response, ending with a line feed.
    pub text: String,
}

impl Refuse {
    /// Creates a refusal from settings. Errors contain the key of the setting and the reason.
    pub(super) fn new(
        status: Option<u16>,
        text: Option<&str>,
    ) -> Result<Self, (&'static str, String)> {
        let status = status.unwrap_or(403);
        if !STATUSES.contains(&status) {
            let known = STATUSES.map(|status| status.to_string()).join(", ");
            return Err((
                "status",
                format!("{status} is not allowed for a refusal; use one of {known}"),
            ));
        }
        let text = match text {
            Some(text) => response_text(text)?,
            None => "Robots are not allowed here.\n".to_owned(),
        };
        Ok(Self { status, text })
    }
}

/// Returns a text for robots that ends with a line feed.
pub(super) fn response_text(text: &str) -> Result<String, (&'static str, String)> {
    let text = text.trim_end();
    // The limit includes the added line feed.
    let reason = if text.len() >= MAX_TEXT_BYTES {
        format!("the text is longer than {MAX_TEXT_BYTES} bytes")
    } else if text
        .chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
    {
        "the text contains a control character".to_owned()
    } else {
        return Ok(format!("{text}\n"));
    };
    Err(("text", reason))
}

/// The text of the response that refuses a request with a spoofed claim.
const TEXT: &str = "This request does not come from the robot that its User-Agent claims.\n";

crate::words! {
    /// The action for requests with a spoofed claim.
    ///
    /// Whatever the action, a spoofed claim gives an impostor no advantage: neither the list of
    /// [allowed](super::PolicyBuilder::allow_robots) robots nor a rule that lets certain robots
    /// pass applies, unless the rule includes the verdict.
#[derive(Default, Hash)]
    #[non_exhaustive]
    pub enum Spoofed {
        /// Requests are reported and counted, and handled like requests from the claimed robot.
        #[default]
        Report = "report",
        /// Requests are redirected on every filtered path, regardless of the robot's purpose.
        Redirect = "redirect",
        /// Requests are refused with 403 on all paths except the paths that are never redirected.
        Refuse = "refuse",
    }
}

/// Returns the refusal for requests with a spoofed claim.
pub(super) fn spoofed_refusal() -> Refuse {
    Refuse {
        status: 403,
        text: TEXT.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_its_own_status_and_text() {
        let refuse = Refuse::new(None, None).unwrap();
        assert_eq!(
            (refuse.status, &*refuse.text),
            (403, "Robots are not allowed here.\n")
        );
        let refuse = Refuse::new(Some(451), Some("Gone.\nFor ever.\n\n")).unwrap();
        assert_eq!((refuse.status, &*refuse.text), (451, "Gone.\nFor ever.\n"));
    }

    #[test]
    fn invalid_refusals_are_rejected() {
        for (status, text, key, hint) in [
            (Some(200), None, "status", "use one of 400, 401"),
            (Some(302), None, "status", "302 is not allowed"),
            (Some(407), None, "status", "407 is not allowed"),
            (None, Some("a\u{1b}[2J"), "text", "control character"),
            (None, Some("a\rb"), "text", "control character"),
        ] {
            let (found, reason) = Refuse::new(status, text).unwrap_err();
            assert_eq!(found, key);
            assert!(reason.contains(hint), "{reason}");
        }
        assert!(response_text(&"a".repeat(MAX_TEXT_BYTES)).is_err());
        assert!(response_text(&"a".repeat(MAX_TEXT_BYTES - 1)).is_ok());
    }
}
