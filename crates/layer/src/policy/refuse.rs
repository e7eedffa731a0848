//! What a refused robot is told.

/// Statuses that a refusal may have: those that say no without asking for more.
const STATUSES: [u16; 11] = [400, 401, 402, 403, 404, 406, 410, 418, 429, 451, 503];

/// Bytes of a text for robots, at most.
const MAX_TEXT_BYTES: usize = 4096;

/// Refusal of a rule: the status and a text, for whom it is about.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Refuse {
    /// 400, 401, 402, 403, 404, 406, 410, 418, 429, 451 or 503.
    pub status: u16,
    /// Text of the response; it ends with a line feed.
    pub text: String,
}

impl Refuse {
    /// Creates the refusal of settings; the error is a key, and what is wrong with it.
    pub(super) fn new(
        status: Option<u16>,
        text: Option<&str>,
    ) -> Result<Self, (&'static str, String)> {
        let status = status.unwrap_or(403);
        if !STATUSES.contains(&status) {
            let known = STATUSES.map(|status| status.to_string()).join(", ");
            return Err((
                "status",
                format!("{status} refuses nobody; use one of {known}"),
            ));
        }
        let text = match text {
            Some(text) => told(text)?,
            None => "Robots get nothing here.\n".to_owned(),
        };
        Ok(Self { status, text })
    }
}

/// Returns a text for robots with a line feed at its end.
pub(super) fn told(text: &str) -> Result<String, (&'static str, String)> {
    let text = text.trim_end();
    // Not even as long, since a line break is added.
    let reason = if text.len() >= MAX_TEXT_BYTES {
        format!("it is longer than {MAX_TEXT_BYTES} bytes")
    } else if text
        .chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
    {
        "it holds a control character".to_owned()
    } else {
        return Ok(format!("{text}\n"));
    };
    Err(("text", reason))
}

/// Text for whom is refused as an impostor.
const TEXT: &str = "This request does not come from the robot that it names.\n";

crate::words! {
    /// What is done with a request whose claim is spoofed.
    ///
    /// Whatever it is, an impostor gains nothing by the name: neither the list of
    /// [allowed](super::PolicyBuilder::allow_robots) robots nor a rule that lets
    /// certain robots pass is about it, unless the rule names the verdict.
#[derive(Default, Hash)]
    #[non_exhaustive]
    pub enum Spoofed {
        /// It is told and counted, and treated like the robot that it claims to be.
        #[default]
        Report = "report",
        /// It is redirected on every filtered path, whatever its purpose.
        Redirect = "redirect",
        /// It gets 403 everywhere but on the paths that are never redirected.
        Refuse = "refuse",
    }
}

/// Returns what an impostor is told.
pub(super) fn spoofed() -> Refuse {
    Refuse {
        status: 403,
        text: TEXT.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_no_in_its_own_words() {
        let refuse = Refuse::new(None, None).unwrap();
        assert_eq!(
            (refuse.status, &*refuse.text),
            (403, "Robots get nothing here.\n")
        );
        let refuse = Refuse::new(Some(451), Some("Gone.\nFor ever.\n\n")).unwrap();
        assert_eq!((refuse.status, &*refuse.text), (451, "Gone.\nFor ever.\n"));
    }

    #[test]
    fn what_is_no_refusal_is_refused() {
        for (status, text, key, hint) in [
            (Some(200), None, "status", "use one of 400, 401"),
            (Some(302), None, "status", "302 refuses nobody"),
            (Some(407), None, "status", "407 refuses nobody"),
            (None, Some("a\u{1b}[2J"), "text", "control character"),
            (None, Some("a\rb"), "text", "control character"),
        ] {
            let (found, reason) = Refuse::new(status, text).unwrap_err();
            assert_eq!(found, key);
            assert!(reason.contains(hint), "{reason}");
        }
        assert!(told(&"a".repeat(MAX_TEXT_BYTES)).is_err());
        assert!(told(&"a".repeat(MAX_TEXT_BYTES - 1)).is_ok());
    }
}
