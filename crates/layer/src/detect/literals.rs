//! Extraction of the literals that a text must contain to match a regular expression.

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// Minimum length of a gate literal, which must occur for a regular expression to run; shorter
/// literals occur in too many User-Agents.
const MIN_GATE_BYTES: usize = 3;

/// Maximum number of literals of one regular expression.
const MAX_LITERALS: usize = 64;

/// Maximum length of a literal joined from parts of a regular expression.
const MAX_JOINED_BYTES: usize = 256;

/// Maximum number of bytes in a character class that is expanded; each byte multiplies the
/// literals.
const MAX_CLASS: usize = 4;

/// Maximum repetition count that is expanded, because each repetition adds literals.
const MAX_REPEATS: u32 = 4;

/// Text found in nearly every User-Agent; literals that occur in this text are poor gates because
/// they always match.
const COMMON: &str = "mozilla/5.0 (compatible; ; http:// https:// +http://www. \
    +https://www. .com .org .net .html mozilla/4.0 (compatible; msie \
    (windows nt 10.0; win64; x64) applewebkit/537.36 (khtml, like gecko) \
    chrome/ mobile safari/537.36 (x11; linux x86_64) (linux; android version/ \
    (macintosh; intel mac os x 10_15_7) (iphone; cpu iphone os like mac os x) \
    gecko/20100101 firefox/ edg/ browser user-agent bot/ /bot robot crawler spider";

/// A literal that a regular expression matches or requires.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Literal {
    /// Bytes of the literal; case-insensitive letters are in lower case.
    pub(super) bytes: Vec<u8>,
    /// Whether the literal contains case-sensitive letters.
    pub(super) cased: bool,
    /// Whether the literal contains case-insensitive letters.
    pub(super) caseless: bool,
}

impl Literal {
    fn from_byte(byte: u8, caseless: bool) -> Self {
        Self {
            bytes: vec![byte],
            cased: byte.is_ascii_alphabetic() && !caseless,
            caseless,
        }
    }

    fn then(&self, next: &Self) -> Self {
        Self {
            bytes: [self.bytes.as_slice(), next.bytes.as_slice()].concat(),
            cased: self.cased || next.cased,
            caseless: self.caseless || next.caseless,
        }
    }

    fn is_common(&self) -> bool {
        let lower = self.bytes.to_ascii_lowercase();
        COMMON
            .as_bytes()
            // `windows` panics at a length of 0.
            .windows(lower.len().max(1))
            .any(|window| window == lower)
    }
}

/// Returns all texts that an expression matches, or `None` if there are too many.
///
/// Assertions such as `^` and `\b` are treated as empty; the caller handles them.
pub(super) fn all_texts(hir: &Hir) -> Option<Vec<Literal>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(vec![Literal::default()]),
        HirKind::Literal(literal) => {
            let bytes = literal.0.to_vec();
            let cased = bytes.iter().any(u8::is_ascii_alphabetic);
            let caseless = false;
            let fits = bytes.len() <= MAX_JOINED_BYTES;
            fits.then(|| {
                vec![Literal {
                    bytes,
                    cased,
                    caseless,
                }]
            })
        }
        HirKind::Class(class) => class_texts(class),
        HirKind::Capture(capture) => all_texts(&capture.sub),
        HirKind::Repetition(repetition) => repeated_texts(repetition),
        HirKind::Concat(parts) => parts
            .iter()
            .try_fold(vec![Literal::default()], |all, part| {
                joined(&all, &all_texts(part)?)
            }),
        HirKind::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(all_texts(branch)?);
                if all.len() > MAX_LITERALS {
                    return None;
                }
            }
            Some(all)
        }
    }
}

/// Returns a set of literals, at least one of which occurs in every text that the expression
/// matches.
///
/// Returns `None` if there are no such literals, too many literals, or only short literals.
pub(super) fn gates(hir: &Hir) -> Option<Vec<Literal>> {
    if let Some(texts) = all_texts(hir) {
        return usable(texts);
    }
    match hir.kind() {
        HirKind::Capture(capture) => gates(&capture.sub),
        // An optional part is not a gate.
        HirKind::Repetition(repetition) if repetition.min > 0 => gates(&repetition.sub),
        HirKind::Concat(parts) => concat_gates(parts),
        HirKind::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(gates(branch)?);
            }
            usable(all)
        }
        _ => None,
    }
}

fn usable(literals: Vec<Literal>) -> Option<Vec<Literal>> {
    let long = shortest(&literals) >= MIN_GATE_BYTES;
    (long && literals.len() <= MAX_LITERALS).then_some(literals)
}

/// Returns the length of the shortest literal, or 0 if there are no literals.
pub(super) fn shortest(literals: &[Literal]) -> usize {
    let lengths = literals.iter().map(|literal| literal.bytes.len());
    lengths.min().unwrap_or_default()
}

/// Joins adjacent parts that match few texts, and returns the best gates among the joined texts and
/// the remaining parts.
fn concat_gates(parts: &[Hir]) -> Option<Vec<Literal>> {
    let mut candidates = Vec::new();
    let mut run = vec![Literal::default()];
    for part in parts {
        let texts = all_texts(part);
        if let Some(longer) = texts.as_ref().and_then(|texts| joined(&run, texts)) {
            run = longer;
            continue;
        }
        candidates.extend(usable(run));
        run = texts.unwrap_or_else(|| {
            candidates.extend(gates(part));
            vec![Literal::default()]
        });
    }
    candidates.extend(usable(run));
    candidates.into_iter().max_by_key(|literals| {
        // Prefer rare literals to long ones: a gate that is always open saves nothing.
        let rare = !literals.iter().any(Literal::is_common);
        (rare, shortest(literals), usize::MAX - literals.len())
    })
}

fn joined(left: &[Literal], right: &[Literal]) -> Option<Vec<Literal>> {
    let longest = |side: &[Literal]| side.iter().map(|l| l.bytes.len()).max().unwrap_or(0);
    let few = left.len().saturating_mul(right.len()) <= MAX_LITERALS;
    let short = longest(left) + longest(right) <= MAX_JOINED_BYTES;
    (few && short).then(|| {
        let pairs = left.iter().flat_map(|l| right.iter().map(|r| l.then(r)));
        pairs.collect()
    })
}

fn class_texts(class: &Class) -> Option<Vec<Literal>> {
    let Class::Bytes(class) = class else {
        return None;
    };
    let has = |byte: u8| {
        let mut ranges = class.ranges().iter();
        ranges.any(|range| (range.start()..=range.end()).contains(&byte))
    };
    let mut texts = Vec::new();
    for byte in (0..=u8::MAX).filter(|&byte| has(byte)) {
        let lower = byte.to_ascii_lowercase();
        let upper = byte.to_ascii_uppercase();
        let caseless = lower != upper && has(lower) && has(upper);
        // Both cases of a letter count as one text, in lower case.
        if !(caseless && byte == upper) {
            texts.push(Literal::from_byte(byte, caseless));
        }
        if texts.len() > MAX_CLASS {
            return None;
        }
    }
    Some(texts)
}

fn repeated_texts(repetition: &Repetition) -> Option<Vec<Literal>> {
    let max = repetition.max.filter(|&max| max <= MAX_REPEATS)?;
    let once = all_texts(&repetition.sub)?;
    let mut all = Vec::new();
    let mut times = vec![Literal::default()];
    for count in 0..=max {
        if count >= repetition.min {
            all.extend(times.iter().cloned());
        }
        if count < max {
            times = joined(&times, &once)?;
        }
    }
    (all.len() <= MAX_LITERALS).then_some(all)
}
