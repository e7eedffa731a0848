//! Documents that contain the terms of a site, ready to be served.

use std::{cmp::Reverse, fmt::Write as _, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{self, HeaderValue, Response, StatusCode},
    response::IntoResponse,
    routing::any,
};
use serde_json::{Map, Value, json};

use crate::heaven::xml;
use robot_detection_layer::clock::Clock;
use robot_detection_store::robots_file::PreparedFile;

use super::{Terms, TermsError, Usage};

/// Path of the TDM Reservation Protocol file.
pub const TDMREP_PATH: &str = "/.well-known/tdmrep.json";

/// XML namespace of RSL 1.0 (§2.2).
const NAMESPACE: &str = "https://rslstandard.org/rsl";

/// Maximum number of licence terms per site.
const MAX_TERMS: usize = 500;

/// Terms of a site, and the documents that announce them to robots.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Licensing {
    terms: Vec<Terms>,
    /// Path of the RSL document.
    rsl: Option<String>,
    has_tdmrep: bool,
    /// Documents that are served, with their paths.
    documents: Arc<[(String, PreparedFile)]>,
}

impl Licensing {
    /// Creates the licensing of a site; by default, no documents are served.
    ///
    /// # Errors
    ///
    /// Returns an error if terms are empty or contradictory, or if there are more than 500 terms.
    pub fn new(terms: impl IntoIterator<Item = Terms>) -> Result<Self, TermsError> {
        let terms: Vec<_> = terms.into_iter().collect();
        terms.iter().try_for_each(Terms::check)?;
        if terms.len() > MAX_TERMS {
            let reason = format!("more than {MAX_TERMS} terms; combine paths with the wildcard *");
            return Err(TermsError::new("path", reason));
        }
        Ok(Self {
            terms,
            ..Self::default()
        })
    }

    /// Sets the path of the RSL document, such as `/license.xml`.
    ///
    /// # Errors
    ///
    /// Returns an error if the path is not a valid path of a single page.
    pub fn rsl(mut self, path: &str) -> Result<Self, TermsError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._~-".contains(c);
        let is_page = path.starts_with('/') && !path.ends_with('/') && !path.contains("//");
        if !is_page || !path.chars().all(is_plain) || path.contains("/.") || path == "/robots.txt" {
            let reason = format!("{path:?} is not the path of a page such as /license.xml");
            return Err(TermsError::new("rsl", reason));
        }
        self.rsl = Some(path.to_owned());
        Ok(self.prepared())
    }

    /// Sets whether [`/.well-known/tdmrep.json`](TDMREP_PATH) is served.
    pub fn tdmrep(mut self, served: bool) -> Self {
        self.has_tdmrep = served;
        self.prepared()
    }

    /// Returns the terms of the site.
    pub fn terms(&self) -> &[Terms] {
        &self.terms
    }

    /// Returns the paths of the served documents.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.documents.iter().map(|(path, _)| path.as_str())
    }

    /// Answers a request for one of the documents, or returns `None` if the path belongs to none of
    /// them.
    pub fn answer<B>(&self, request: &http::Request<B>) -> Option<Response<Body>> {
        let path = request.uri().path();
        let mut documents = self.documents.iter();
        let (_, document) = documents.find(|(ours, _)| ours == path)?;
        Some(document.answer(request.method(), request.headers()))
    }

    /// Returns a router that serves the documents.
    pub fn router(&self) -> Router {
        async fn answer(State(served): State<Licensing>, request: Request) -> Response<Body> {
            let answer = served.answer(&request);
            answer.unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
        }
        let router = self.paths().fold(Router::new(), |router, path| {
            router.route(path, any(answer))
        });
        router.with_state(self.clone())
    }

    /// Returns the terms as an RSL 1.0 document.
    pub fn rsl_document(&self) -> String {
        let mut text =
            format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rsl xmlns=\"{NAMESPACE}\">\n");
        for (path, terms) in self.by_path() {
            content(&mut text, path, &terms);
        }
        text.push_str("</rsl>\n");
        text
    }

    /// Returns the reservations as a file in TDM Reservation Protocol format.
    pub fn tdmrep_document(&self) -> String {
        let mut paths = self.by_path();
        // The first matching entry applies (TDMRep, file on the server), so the longest comes first.
        paths.sort_by_key(|(path, _)| Reverse(path.len()));
        let entries = paths.into_iter().map(|(path, terms)| {
            let is_reserved = terms.iter().any(|terms| terms.is_reserved());
            let mut entry = Map::new();
            entry.insert("location".to_owned(), json!(path));
            entry.insert("tdm-reservation".to_owned(), json!(u8::from(is_reserved)));
            let policy = terms.iter().find_map(|terms| terms.tdm_policy.as_ref());
            if let Some(policy) = policy.filter(|_| is_reserved) {
                entry.insert("tdm-policy".to_owned(), json!(policy));
            }
            Value::Object(entry)
        });
        let entries = Value::Array(entries.collect());
        format!("{entries:#}\n")
    }

    /// Groups the terms by path, in order: each path is a single asset with all of its licences.
    fn by_path(&self) -> Vec<(&str, Vec<&Terms>)> {
        let mut paths: Vec<(&str, Vec<&Terms>)> = Vec::new();
        for terms in &self.terms {
            for path in terms.about() {
                match paths.iter_mut().find(|(known, _)| *known == path) {
                    Some((_, all)) => all.push(terms),
                    None => paths.push((path, vec![terms])),
                }
            }
        }
        paths
    }

    fn prepared(mut self) -> Self {
        let now_ms = Clock::system().now_ms();
        let document = |path: &str, text: String, content_type: &'static str| {
            let file = PreparedFile::new(text, now_ms);
            let content_type = HeaderValue::from_static(content_type);
            (path.to_owned(), file.with_content_type(content_type))
        };
        let rsl = self.rsl.as_ref();
        let rsl = rsl.map(|path| document(path, self.rsl_document(), "application/rsl+xml"));
        let tdmrep = self.has_tdmrep.then(|| {
            let text = self.tdmrep_document();
            document(TDMREP_PATH, text, "application/json")
        });
        self.documents = rsl.into_iter().chain(tdmrep).collect();
        self
    }
}

/// Writes the terms of one path (RSL 1.0 §3.3).
fn content(text: &mut String, path: &str, terms: &[&Terms]) {
    let first = |value: fn(&Terms) -> Option<&String>| terms.iter().find_map(|terms| value(terms));
    let server = first(|terms| terms.server.as_ref());
    let server = server.map(|url| format!(" server=\"{}\"", xml(url)));
    let _ = writeln!(
        text,
        "  <content url=\"{}\"{}>",
        xml(path),
        server.unwrap_or_default()
    );
    for terms in terms.iter().filter(|terms| terms.has_licence()) {
        license(text, terms);
    }
    if let Some(holder) = first(|terms| terms.copyright.as_ref()) {
        let _ = writeln!(text, "    <copyright>{}</copyright>", xml(holder));
    }
    if let Some(url) = first(|terms| terms.terms.as_ref()) {
        let _ = writeln!(text, "    <terms>{}</terms>", xml(url));
    }
    text.push_str("  </content>\n");
}

fn license(text: &mut String, terms: &Terms) {
    text.push_str("    <license>\n");
    for (element, uses) in [("permits", &terms.permits), ("prohibits", &terms.prohibits)] {
        if !uses.is_empty() {
            let words: Vec<_> = uses.iter().copied().map(Usage::as_str).collect();
            let words = words.join(" ");
            let _ = writeln!(text, "      <{element} type=\"usage\">{words}</{element}>");
        }
    }
    if let Some(payment) = terms.payment {
        let _ = writeln!(text, "      <payment type=\"{}\">", payment.as_str());
        for (element, url) in [("standard", &terms.standard), ("custom", &terms.custom)] {
            if let Some(url) = url {
                let _ = writeln!(text, "        <{element}>{}</{element}>", xml(url));
            }
        }
        if let Some((amount, currency)) = &terms.amount {
            let _ = writeln!(
                text,
                "        <amount currency=\"{currency}\">{amount}</amount>"
            );
        }
        text.push_str("      </payment>\n");
    }
    text.push_str("    </license>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::licensing::Payment;

    const RSL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<rsl xmlns="https://rslstandard.org/rsl">
  <content url="/" server="https://licences.example">
    <license>
      <permits type="usage">search ai-input</permits>
      <prohibits type="usage">ai-train</prohibits>
    </license>
    <license>
      <permits type="usage">ai-train</permits>
      <payment type="training">
        <custom>https://example.com/deal</custom>
        <amount currency="EUR">1500</amount>
      </payment>
    </license>
    <copyright>A &lt;B&gt; &amp; &quot;C&quot;</copyright>
    <terms>https://example.com/?a=1&amp;b=2</terms>
  </content>
  <content url="/archive/*" server="https://licences.example">
    <license>
      <permits type="usage">ai-train</permits>
      <payment type="training">
        <custom>https://example.com/deal</custom>
        <amount currency="EUR">1500</amount>
      </payment>
    </license>
    <copyright>A &lt;B&gt; &amp; &quot;C&quot;</copyright>
  </content>
  <content url="/open/">
    <license>
      <permits type="usage">all</permits>
      <payment type="attribution">
      </payment>
    </license>
  </content>
</rsl>
"#;

    #[test]
    fn terms_are_written_as_rsl_and_reservations() {
        let everything = Terms::new()
            .permits([Usage::Search, Usage::AiInput])
            .prohibits([Usage::AiTrain])
            .terms("https://example.com/?a=1&b=2")
            .unwrap();
        let training = Terms::new()
            .permits([Usage::AiTrain])
            .payment(Payment::Training)
            .amount("1500", "EUR")
            .and_then(|terms| terms.custom("https://example.com/deal"))
            .and_then(|terms| terms.server("https://licences.example"))
            .and_then(|terms| terms.copyright("A <B> & \"C\""))
            .and_then(|terms| terms.paths(["/", "/archive/*"]))
            .and_then(|terms| terms.tdm_policy("https://example.com/tdm.json"))
            .unwrap();
        let open = Terms::new()
            .permits([Usage::All])
            .payment(Payment::Attribution)
            .paths(["/open/"])
            .unwrap();
        let licensing = Licensing::new([everything, training, open]).unwrap();
        assert_eq!(licensing.rsl_document(), RSL);
        let reservations: Value = serde_json::from_str(&licensing.tdmrep_document()).unwrap();
        assert_eq!(
            reservations,
            json!([
                {"location": "/archive/*", "tdm-reservation": 1, "tdm-policy": "https://example.com/tdm.json"},
                {"location": "/open/", "tdm-reservation": 0},
                {"location": "/", "tdm-reservation": 1, "tdm-policy": "https://example.com/tdm.json"},
            ])
        );
    }

    #[test]
    fn invalid_terms_are_rejected() {
        let of = |terms: Result<Terms, TermsError>| {
            let made = terms.and_then(|terms| Licensing::new([terms]));
            made.unwrap_err().key()
        };
        let terms = Terms::new;
        let search = || terms().permits([Usage::Search]);
        for (wrong, key) in [
            (Ok(terms()), "permits"),
            (Ok(search().prohibits([Usage::Search])), "prohibits"),
            (search().paths(["articles"]), "path"),
            (search().paths(["/a b"]), "path"),
            (search().amount("1", "EUR"), "amount"),
            (search().payment(Payment::Free).amount("1", "EUR"), "amount"),
            (search().amount("1,50", "EUR"), "amount"),
            (search().amount("1.", "EUR"), "amount"),
            (search().amount("1", "eur"), "currency"),
            (search().custom("https://example.com/"), "payment"),
            (search().terms("/terms"), "terms"),
            (search().server("https://u:p@example.com"), "server"),
            (search().copyright("a\nb"), "copyright"),
        ] {
            assert_eq!(of(wrong), key);
        }
        for path in [
            "",
            "/",
            "license.xml",
            "/a/",
            "/a//b",
            "/a?b",
            "/robots.txt",
            "/a/../b",
        ] {
            let licensing = Licensing::new([search()]).unwrap();
            assert!(licensing.rsl(path).is_err(), "{path}");
        }
    }
}
