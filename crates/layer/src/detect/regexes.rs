//! Compilation of imported regular expressions, such that the expressions run as rarely as
//! possible.

use regex::bytes::Regex;
use regex_syntax::{
    ParserBuilder,
    hir::{Hir, HirKind, Look},
};

use crate::registry::compile_regex;

use super::{
    literals::{self, Literal},
    rules::{Edge, Plain},
};

/// Maximum length of a regular expression, because registries come from external sources.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// Maximum nesting depth of groups in a regular expression.
const MAX_NESTING: u32 = 50;

/// A strategy for matching a regular expression.
#[derive(Debug)]
pub(super) enum Plan {
    /// Matches these literals, which are equivalent to the expression.
    Literals(Vec<(Literal, Plain)>),
    /// Runs the expression only if one of these literals occurs.
    Gated(Regex, Vec<Literal>),
    /// Runs the expression on every User-Agent.
    Always(Regex),
}

impl Plan {
    /// Chooses the strategy for matching a regular expression.
    ///
    /// Returns a short explanation if the expression is rejected.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(format!("the pattern exceeds {MAX_TEXT_BYTES} bytes"));
        }
        let hir = ParserBuilder::new()
            .unicode(false)
            .utf8(false)
            .nest_limit(MAX_NESTING)
            .build()
            .parse(text)
            .map_err(|error| reason(&error))?;
        if let Some(literals) = plain_literals(&hir) {
            return Ok(Self::Literals(literals));
        }
        let regex = compile_regex(text).map_err(|error| error.to_string())?;
        Ok(match literals::gates(&hir) {
            Some(gates) => Self::Gated(regex, gates),
            None => Self::Always(regex),
        })
    }
}

/// Returns literals in their original case, at least one of which occurs in every matching text.
///
/// Returns `None` if the expression requires no literal or is rejected.
pub(super) fn probes(text: &str) -> Option<Vec<Vec<u8>>> {
    match Plan::new(text).ok()? {
        Plan::Literals(literals) => Some(
            literals
                .into_iter()
                .map(|(literal, _)| literal.bytes)
                .collect(),
        ),
        Plan::Gated(_, gates) => Some(gates.into_iter().map(|gate| gate.bytes).collect()),
        Plan::Always(_) => None,
    }
}

/// Returns the last line of an error message, which contains the reason.
fn reason(error: &dyn std::error::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default().trim();
    let last = last.strip_prefix("error: ").unwrap_or(last);
    last.trim_end_matches('.').to_owned()
}

/// Returns the literals to which an expression is equivalent, with the conditions at their edges.
///
/// Returns `None` if the expression is not a plain alternation of literals, or if it can match an
/// empty text.
fn plain_literals(hir: &Hir) -> Option<Vec<(Literal, Plain)>> {
    match hir.kind() {
        HirKind::Capture(capture) => plain_literals(&capture.sub),
        HirKind::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(plain_literals(branch)?);
            }
            Some(all)
        }
        HirKind::Concat(parts) => {
            let (before, parts) = match parts.split_first() {
                Some((first, rest)) if edge(first, Look::Start).is_some() => {
                    (edge(first, Look::Start)?, rest)
                }
                _ => (Edge::Free, parts.as_slice()),
            };
            let (after, parts) = match parts.split_last() {
                Some((last, rest)) if edge(last, Look::End).is_some() => {
                    (edge(last, Look::End)?, rest)
                }
                _ => (Edge::Free, parts),
            };
            edged(&Hir::concat(parts.to_vec()), before, after)
        }
        _ => edged(hir, Edge::Free, Edge::Free),
    }
}

fn edge(hir: &Hir, text: Look) -> Option<Edge> {
    match hir.kind() {
        HirKind::Look(look) if *look == text => Some(Edge::Text),
        HirKind::Look(Look::WordAscii) => Some(Edge::Word),
        _ => None,
    }
}

fn edged(inner: &Hir, before: Edge, after: Edge) -> Option<Vec<(Literal, Plain)>> {
    if !inner.properties().look_set().is_empty() {
        return None;
    }
    let texts = literals::all_texts(inner)?;
    let plain = |literal: Literal| {
        // If only some letters are case-sensitive, there is no single spelling to compare with:
        // keep the regular expression.
        let one_case = !(literal.cased && literal.caseless);
        let spelled = literal.cased.then(|| literal.bytes.clone().into());
        (one_case && !literal.bytes.is_empty()).then_some((
            literal,
            Plain {
                before,
                after,
                spelled,
            },
        ))
    };
    texts.into_iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a short description of the matching strategy for a regular expression.
    fn plan(text: &str) -> String {
        let join = |literals: Vec<String>| literals.join(" ");
        let show = |literal: &Literal| String::from_utf8_lossy(&literal.bytes).into_owned();
        match Plan::new(text) {
            Ok(Plan::Literals(literals)) => {
                let show = |(literal, plain): &(Literal, Plain)| {
                    let mark = |edge| match edge {
                        Edge::Free => "",
                        Edge::Text => "|",
                        Edge::Word => "~",
                    };
                    let case = if plain.spelled.is_some() { "=" } else { "" };
                    let (before, after) = (mark(plain.before), mark(plain.after));
                    format!("{case}{before}{}{after}", show(literal))
                };
                format!("literals {}", join(literals.iter().map(show).collect()))
            }
            Ok(Plan::Gated(_, gates)) => {
                format!("gated {}", join(gates.iter().map(show).collect()))
            }
            Ok(Plan::Always(_)) => "always".to_owned(),
            Err(reason) => format!("refused: {reason}"),
        }
    }

    #[test]
    fn regex_runs_as_rarely_as_possible() {
        for (text, expected) in [
            ("Googlebot", "literals =Googlebot"),
            (r"Googlebot\/", "literals =Googlebot/"),
            ("(?i)Googlebot", "literals googlebot"),
            ("[Gg]oogle", "gated google"),
            ("[wW]get[/]1", "gated wget/1"),
            ("^Silk/", "literals =|Silk/"),
            (r"(?i)\bfoo\b", "literals ~foo~"),
            ("^a$|b$|^c", "literals =|a| =b| =|c"),
            (
                "(AdsBot|Media)-Google",
                "literals =AdsBot-Google =Media-Google",
            ),
            ("Goog(le)?bot", "literals =Googbot =Googlebot"),
            ("Google.*Bot", "gated Google"),
            ("Foo(?:-Image)?/[0-9]+", "gated Foo/ Foo-Image/"),
            (
                "(?i)(?:^|[^a-z])yandex(?:bot|images)/",
                "gated yandexbot/ yandeximages/",
            ),
            ("(?:alpha.x|beta.y)", "gated alpha beta"),
            (r"Mozilla/5\.0 \(compatible; .*Zeal", "gated Zeal"),
            (r"^Mozilla/5\.0 \(.*\)$", "gated Mozilla/5.0 ("),
            ("(?:longname)+x*", "gated longname"),
            ("(?:longname)?ab.", "always"),
            ("(?:longname.)*ab", "always"),
            ("(?:longname.)+ab", "gated longname"),
            ("[0-9]{3}[a-z]{3}", "always"),
            (
                "[a-z]+",
                "refused: the regular expression is too general and would match browsers",
            ),
            ("ab.cd", "always"),
            (
                "",
                "refused: the regular expression is too general and would match browsers",
            ),
            (
                "^$",
                "refused: the regular expression is too general and would match browsers",
            ),
            (
                "a?",
                "refused: the regular expression is too general and would match browsers",
            ),
            ("(", "refused: unclosed group"),
            (
                "a(?=b)",
                "refused: look-around, including look-ahead and look-behind, is not supported",
            ),
        ] {
            assert_eq!(plan(text), expected, "{text:?}");
        }
    }

    #[test]
    fn regex_that_needs_too_much_memory_is_rejected() {
        for text in ["[a-z]{1000}{1000}", "(?:.{500}x){500}", &"x".repeat(20_000)] {
            assert!(plan(text).starts_with("refused"), "{}", plan(text));
        }
    }
}
