//! Certificates of the listeners, and what is wrong with them.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwapOption;

const DAY_S: i64 = 24 * 60 * 60;
/// Days before its end from which a certificate is told of: who renews it has had a while by then.
pub const CERTIFICATE_DAYS: u64 = 14;
/// Orders in a row from which failures are told of while an earlier certificate is valid.
///
/// They are tried again within the hour, and an authority may be away for a moment.
const FAILURES: u32 = 3;

/// Certificate that a listener serves, or has ordered.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ServedCertificate {
    /// Names that it is for.
    pub names: String,
    /// Last second, since 1970; `None` until the first has been issued.
    pub not_after: Option<i64>,
    /// Orders in a row that failed.
    pub failures: u32,
}

/// Report of a server, computed on each call.
///
/// Clones share it. It is empty in an application that runs its own server.
#[derive(Clone, Default)]
pub struct Report<T> {
    report: Arc<ArcSwapOption<MakeReport<T>>>,
}

/// Certificates of a process, as its listeners report them.
pub type Certificates = Report<ServedCertificate>;
/// Sentences about what needs an administrator.
pub type Notices = Report<String>;

type MakeReport<T> = Box<dyn Fn() -> Vec<T> + Send + Sync>;

impl<T> Report<T> {
    /// Asks this function from now on.
    pub fn report_by(&self, report: impl Fn() -> Vec<T> + Send + Sync + 'static) {
        self.report.store(Some(Arc::new(Box::new(report))));
    }

    /// Returns the report of now.
    pub fn load(&self) -> Vec<T> {
        let report = self.report.load();
        report.as_ref().map_or_else(Vec::new, |report| report())
    }
}

impl<T> fmt::Debug for Report<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report").finish_non_exhaustive()
    }
}

/// Returns a sentence about each certificate that ends within some days, or cannot be ordered.
pub fn certificate_sentences(
    certificates: &[ServedCertificate],
    days: u64,
    now_ms: i64,
) -> Vec<String> {
    let limit = i64::try_from(days).unwrap_or(i64::MAX / DAY_S);
    let told = |certificate: &ServedCertificate| {
        let sentences = [end(certificate, limit, now_ms), orders(certificate)];
        let sentences: Vec<_> = sentences.into_iter().flatten().collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    };
    certificates.iter().filter_map(told).collect()
}

fn end(certificate: &ServedCertificate, limit: i64, now_ms: i64) -> Option<String> {
    let names = &certificate.names;
    let left = certificate
        .not_after?
        .saturating_sub(now_ms.div_euclid(1_000));
    match left.div_euclid(DAY_S) {
        days if days >= limit => None,
        ..0 => Some(format!("The certificate of {names} has ended.")),
        0 => Some(format!("The certificate of {names} ends today.")),
        1 => Some(format!("The certificate of {names} ends in 1 day.")),
        days => Some(format!("The certificate of {names} ends in {days} days.")),
    }
}

fn orders(certificate: &ServedCertificate) -> Option<String> {
    let names = &certificate.names;
    match (certificate.not_after, certificate.failures) {
        (_, 0) | (Some(_), ..FAILURES) => None,
        (None, 1) => Some(format!(
            "The first order of a certificate for {names} has failed; the log says why."
        )),
        (_, failures) => Some(format!(
            "{failures} orders in a row of a certificate for {names} have failed; the log says why."
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_S: i64 = 1_772_366_400;

    fn told(left_s: Option<i64>, failures: u32) -> String {
        let certificate = ServedCertificate {
            names: "a.example".to_owned(),
            not_after: left_s.map(|left| NOW_S + left),
            failures,
        };
        certificate_sentences(&[certificate], 14, NOW_S * 1_000).join("|")
    }

    #[test]
    fn a_certificate_that_ends_soon_or_has_ended_is_told() {
        assert_eq!(told(Some(-1), 0), "The certificate of a.example has ended.");
        assert_eq!(told(Some(1), 0), "The certificate of a.example ends today.");
        assert_eq!(
            told(Some(DAY_S), 0),
            "The certificate of a.example ends in 1 day."
        );
        assert_eq!(
            told(Some(14 * DAY_S - 1), 0),
            "The certificate of a.example ends in 13 days."
        );
        assert_eq!(told(Some(14 * DAY_S), 0), "");
        assert_eq!(told(Some(i64::MAX - NOW_S), 0), "");
    }

    #[test]
    fn orders_that_fail_are_told_at_once_where_there_is_no_certificate_yet() {
        assert_eq!(told(None, 0), "");
        assert_eq!(
            told(None, 1),
            "The first order of a certificate for a.example has failed; the log says why."
        );
        assert_eq!(told(Some(30 * DAY_S), 2), "");
        assert_eq!(
            told(Some(30 * DAY_S), 3),
            "3 orders in a row of a certificate for a.example have failed; the log says why."
        );
        assert_eq!(
            told(Some(2 * DAY_S), 7),
            "The certificate of a.example ends in 2 days. 7 orders in a row of a certificate for \
             a.example have failed; the log says why."
        );
    }
}
