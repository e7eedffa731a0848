use http::{
    HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER},
};

use robot_detection_texts::Language;

use super::proxy_body::ProxyBody;

/// An error page that the proxy returns if it cannot forward a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ErrorPage {
    /// The request violates HTTP.
    BadRequest,
    /// The client did not send the rest of its request.
    RequestTimeout,
    /// The request's body exceeds the listener's limit.
    ContentTooLarge,
    /// The request's method is intended for a different kind of proxy, or its transfer coding is
    /// unknown.
    NotImplemented,
    /// The upstream cannot be reached, or its response is not valid HTTP.
    BadGateway,
    /// The upstream did not respond in time.
    GatewayTimeout,
    /// The request has passed through this proxy before.
    LoopDetected,
}

/// The value of `Retry-After` in seconds (RFC 9110 §10.2.3).
const RETRY_AFTER_SECONDS: &str = "10";

impl ErrorPage {
    pub(super) fn status(self) -> StatusCode {
        match self {
            // RFC 9110 §15.5.1, §15.5.9, §15.5.14, §15.6.2, §15.6.3, §15.6.5; RFC 5842 §7.2.
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::ContentTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotImplemented => StatusCode::NOT_IMPLEMENTED,
            Self::BadGateway => StatusCode::BAD_GATEWAY,
            Self::GatewayTimeout => StatusCode::GATEWAY_TIMEOUT,
            Self::LoopDetected => StatusCode::LOOP_DETECTED,
        }
    }

    /// Returns `true` if the connection is closed after the error page.
    ///
    /// The bytes after a refused request may belong to that request, although other servers would
    /// parse them as a new request (RFC 9112 §11.2).
    pub(super) fn is_last(self) -> bool {
        matches!(
            self,
            Self::BadRequest | Self::RequestTimeout | Self::ContentTooLarge | Self::NotImplemented
        )
    }

    /// Returns the error page in the format that the client accepts.
    pub(super) fn response(self, is_html: bool, language: Language) -> Response<ProxyBody> {
        let (kind, text) = if is_html {
            ("text/html; charset=utf-8", self.html(language))
        } else {
            ("text/plain; charset=utf-8", self.text(language))
        };
        let mut response = Response::new(ProxyBody::page(text));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        // Caches may store a 501 response by default (RFC 9110 §15.1), but no error page may
        // outlast its cause.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if matches!(self, Self::BadGateway | Self::GatewayTimeout) {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS));
        }
        response
    }

    fn title(self) -> String {
        let status = self.status();
        let reason = status.canonical_reason().unwrap_or("Error");
        format!("{} {reason}", status.as_str())
    }

    /// Returns the explanation for the visitor; the cause of the error is logged but not shown.
    fn sentence(self, language: Language) -> &'static str {
        language.text(match self {
            Self::BadRequest => "error-400",
            Self::RequestTimeout => "error-408",
            Self::ContentTooLarge => "error-413",
            Self::NotImplemented => "error-501",
            Self::BadGateway => "error-502",
            Self::GatewayTimeout => "error-504",
            Self::LoopDetected => "error-508",
        })
    }

    fn text(self, language: Language) -> String {
        format!("{}\n\n{}\n", self.title(), self.sentence(language))
    }

    /// Returns the error page as HTML.
    fn html(self, language: Language) -> String {
        // A text of the site may contain markup.
        let (title, tag, text) = (self.title(), language.tag(), self.sentence(language));
        let sentence = text.replace('&', "&amp;").replace('<', "&lt;");
        format!(
            "<!DOCTYPE html>\n<html lang=\"{tag}\" dir=\"ltr\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta name=\"robots\" content=\"noindex\">\n<title>{title}</title>\n\
             <h1>{title}</h1>\n<p>{sentence}</p>\n</html>\n"
        )
    }
}

/// Returns `true` if the client accepts HTML, as browsers do.
pub(super) fn accepts_html(accept: &HeaderValue) -> bool {
    accept
        .as_bytes()
        .split(|byte| *byte == b',')
        .filter_map(|range| range.split(|byte| *byte == b';').next())
        .any(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"text/html"))
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn pages_are_not_cached_and_have_a_retry_time() {
        let response = ErrorPage::BadGateway.response(true, Language::default());
        assert_eq!(response.status(), 502);
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers()["retry-after"], "10");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("<h1>502 Bad Gateway</h1>"), "{body}");
        assert!(
            !ErrorPage::BadRequest
                .response(false, Language::default())
                .headers()
                .contains_key("retry-after")
        );
    }

    #[test]
    fn html_is_sent_only_if_accepted() {
        for (accept, expected) in [
            ("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", true),
            ("application/json, TEXT/HTML; q=0.5", true),
            ("*/*", false),
            ("application/json", false),
            ("text/htmlx", false),
        ] {
            let accept = HeaderValue::from_static(accept);
            assert_eq!(accepts_html(&accept), expected, "{accept:?}");
        }
    }
}
