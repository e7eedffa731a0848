//! Certificates of the listeners, and their problems.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwapOption;

const DAY_S: i64 = 24 * 60 * 60;
/// Number of days before expiry at which a certificate is first reported; renewal is due much
/// earlier.
pub const CERTIFICATE_DAYS: u64 = 14;
/// Number of consecutive failed orders after which the failure is reported while an earlier
/// certificate is still valid.
///
/// Failed orders are retried within the hour, and the certificate authority may be briefly
/// unavailable.
const FAILURES: u32 = 3;

/// A certificate that a listener serves or has ordered.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ServedCertificate {
    /// Host names in the certificate.
    pub names: String,
    /// Expiry in seconds since 1970; `None` until the first certificate has been issued.
    pub not_after: Option<i64>,
    /// Number of consecutive failed orders of the certificate.
    pub failures: u32,
}

/// Data that a server reports, computed for each call.
///
/// Clones share the function that computes the data. An application that runs its own server
/// reports nothing.
#[derive(Clone, Default)]
pub struct Report<T> {
    report: Arc<ArcSwapOption<MakeReport<T>>>,
}

/// Certificates of a process, as reported by its listeners.
pub type Certificates = Report<ServedCertificate>;
/// Sentences about problems that require an administrator's attention.
pub type Notices = Report<String>;

type MakeReport<T> = Box<dyn Fn() -> Vec<T> + Send + Sync>;

impl<T> Report<T> {
    /// Sets the function that computes the report.
    pub fn set_source(&self, report: impl Fn() -> Vec<T> + Send + Sync + 'static) {
        self.report.store(Some(Arc::new(Box::new(report))));
    }

    /// Computes the report and returns it.
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

/// Returns a sentence for each certificate that expires soon or cannot be ordered.
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
        ..0 => Some(format!("The certificate for {names} has expired.")),
        0 => Some(format!("The certificate for {names} expires today.")),
        1 => Some(format!("The certificate for {names} expires in 1 day.")),
        days => Some(format!(
            "The certificate for {names} expires in {days} days."
        )),
    }
}

fn orders(certificate: &ServedCertificate) -> Option<String> {
    let names = &certificate.names;
    match (certificate.not_after, certificate.failures) {
        (_, 0) | (Some(_), ..FAILURES) => None,
        (None, 1) => Some(format!(
            "The first certificate order for {names} failed; see the log."
        )),
        (_, failures) => Some(format!(
            "{failures} consecutive certificate orders for {names} failed; see the log."
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
    fn expiring_and_expired_certificates_are_reported() {
        assert_eq!(
            told(Some(-1), 0),
            "The certificate for a.example has expired."
        );
        assert_eq!(
            told(Some(1), 0),
            "The certificate for a.example expires today."
        );
        assert_eq!(
            told(Some(DAY_S), 0),
            "The certificate for a.example expires in 1 day."
        );
        assert_eq!(
            told(Some(14 * DAY_S - 1), 0),
            "The certificate for a.example expires in 13 days."
        );
        assert_eq!(told(Some(14 * DAY_S), 0), "");
        assert_eq!(told(Some(i64::MAX - NOW_S), 0), "");
    }

    #[test]
    fn failed_orders_are_reported_immediately_without_a_certificate() {
        assert_eq!(told(None, 0), "");
        assert_eq!(
            told(None, 1),
            "The first certificate order for a.example failed; see the log."
        );
        assert_eq!(told(Some(30 * DAY_S), 2), "");
        assert_eq!(
            told(Some(30 * DAY_S), 3),
            "3 consecutive certificate orders for a.example failed; see the log."
        );
        assert_eq!(
            told(Some(2 * DAY_S), 7),
            "The certificate for a.example expires in 2 days. 7 consecutive certificate orders for \
             a.example failed; see the log."
        );
    }
}
