//! A host with its certificate and the time of its next certificate order.

use std::{path::PathBuf, time::Duration};

use parking_lot::Mutex;
use rustls::crypto::CryptoProvider;
use tokio::time::Instant;
use tracing::warn;

use super::{
    super::certificate::{Certificate, CertificateFiles, CertificateState, Validity},
    cache::Cache,
    order::OrderError,
};

/// The delay after a certificate authority has refused an order because of its rate limit.
const WAIT_IF_LIMITED: Duration = Duration::from_hours(1);
/// The maximum delay after failed certificate orders.
const MAX_WAIT: Duration = Duration::from_hours(6);
/// The number of consecutive failures between two log lines, which is two days at the longest
/// delay.
const FAILURES_BETWEEN_LOGS: u32 = 8;

/// A host name with the state of its managed certificate.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) name: String,
    file: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    certificate: Option<Certificate>,
    /// The earliest time of the next order, regardless of the certificate's validity.
    not_before: Option<Instant>,
    failures: u32,
    trouble: String,
}

/// The delay after a failed order, and whether to log the failure as an error.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct FailedOrder {
    pub(super) wait: Duration,
    pub(super) is_news: bool,
}

impl Host {
    /// Creates a host, and loads its certificate from the cache if the cached certificate is
    /// usable.
    pub(super) fn new(name: String, cache: &Cache, provider: &CryptoProvider) -> Self {
        let file = cache.certificate_file(&name);
        let mut state = State::default();
        if file.exists() {
            match Certificate::load(&files(file.clone()), provider) {
                Ok(certificate) => state.certificate = Some(certificate),
                Err(error) => {
                    warn!("the cached certificate is unusable, ordering a new one: {error}");
                }
            }
        }
        Self {
            name,
            file,
            state: Mutex::new(state),
        }
    }

    pub(super) fn certificate(&self) -> Option<Certificate> {
        self.state.lock().certificate.clone()
    }

    pub(super) fn is_failing(&self) -> bool {
        self.state.lock().failures > 0
    }

    pub(super) fn state(&self) -> CertificateState {
        let state = self.state.lock();
        CertificateState {
            names: vec![self.name.clone()],
            file: self.file.clone(),
            validity: state.certificate.as_ref().map(|found| found.validity),
            is_ordered: true,
            failures: state.failures,
        }
    }

    /// Returns the time until the host's next certificate order; `now` is in seconds since the Unix
    /// epoch.
    pub(super) fn wait(&self, now: u64) -> Duration {
        let state = self.state.lock();
        let seconds = state.certificate.as_ref().map_or(0, |certificate| {
            renewal_time(certificate.validity).saturating_sub(now)
        });
        let pause = state.not_before.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(Instant::now())
        });
        Duration::from_secs(seconds).max(pause)
    }

    /// Validates a key and an issued certificate in PEM format.
    pub(super) fn validate(
        &self,
        pem: &str,
        provider: &CryptoProvider,
    ) -> Result<Certificate, OrderError> {
        let files = files(self.file.clone());
        let certificate = Certificate::parse(&files, pem.as_bytes(), pem.as_bytes(), provider)
            .map_err(OrderError::Useless)?;
        if certificate.names.contains(&self.name) {
            Ok(certificate)
        } else {
            Err(OrderError::OtherNames)
        }
    }

    pub(super) fn record_success(&self, certificate: Certificate, wait: Duration) {
        *self.state.lock() = State {
            certificate: Some(certificate),
            // The delay also applies to certificates with a short validity, because authorities
            // limit orders.
            not_before: Some(Instant::now() + wait),
            ..State::default()
        };
    }

    pub(super) fn fail(&self, error: &OrderError, wait: Duration) -> FailedOrder {
        let mut state = self.state.lock();
        state.failures = state.failures.saturating_add(1);
        let mut wait = back_off(wait, state.failures);
        if error.is_rate_limited() {
            wait = wait.max(WAIT_IF_LIMITED);
        }
        // Add jitter, so that hosts that failed together do not retry together.
        wait = wait.mul_f64(1.0 + fastrand::f64() / 10.0);
        state.not_before = Some(Instant::now() + wait);
        let trouble = error.to_string();
        let is_news =
            trouble != state.trouble || state.failures.is_multiple_of(FAILURES_BETWEEN_LOGS);
        state.trouble = trouble;
        FailedOrder { wait, is_news }
    }
}

fn files(file: PathBuf) -> CertificateFiles {
    CertificateFiles {
        key_file: file.clone(),
        certificate_file: file,
    }
}

/// Returns the time at which a certificate should be renewed, in seconds since the Unix epoch.
///
/// At this time, a third of the certificate's lifetime is left.
fn renewal_time(validity: Validity) -> u64 {
    let Validity {
        not_before,
        not_after,
    } = validity;
    not_after.saturating_sub(not_after.saturating_sub(not_before) / 3)
}

/// Returns the delay after consecutive failures, which triples with each failure.
fn back_off(wait: Duration, failures: u32) -> Duration {
    let factor = 3_u32.saturating_pow(failures.saturating_sub(1));
    wait.saturating_mul(factor).min(MAX_WAIT.max(wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(directory: &tempfile::TempDir, pem: Option<&str>) -> Host {
        let cache = Cache::new(directory.path(), "https://ca.example/dir");
        if let Some(pem) = pem {
            cache.prepare().unwrap();
            cache.save_certificate("a.example", pem).unwrap();
        }
        let provider = rustls::crypto::ring::default_provider();
        Host::new("a.example".to_owned(), &cache, &provider)
    }

    fn issued(name: &str) -> String {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2020, 1, 31);
        let certificate = params.self_signed(&key).unwrap();
        format!("{}{}", key.serialize_pem(), certificate.pem())
    }

    #[test]
    fn cached_certificate_is_served_until_a_third_of_its_lifetime_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let first_of_2020 = 1_577_836_800;
        let kept = host(&directory, Some(&issued("a.example")));
        assert_eq!(kept.wait(first_of_2020), Duration::from_hours(20 * 24));
        assert_eq!(kept.wait(first_of_2020 * 2), Duration::ZERO);
        assert_eq!(kept.state().validity.unwrap().not_before, first_of_2020);
        let nothing = host(&tempfile::tempdir().unwrap(), None);
        assert_eq!(nothing.wait(first_of_2020), Duration::ZERO);
        assert_eq!(nothing.state().validity, None);
        let broken = host(&directory, Some("rubbish"));
        assert!(broken.certificate().is_none());
    }

    #[test]
    fn wrong_or_broken_certificate_is_not_used() {
        let host = host(&tempfile::tempdir().unwrap(), None);
        let provider = rustls::crypto::ring::default_provider();
        assert!(host.validate(&issued("a.example"), &provider).is_ok());
        let error = host.validate(&issued("b.example"), &provider).unwrap_err();
        assert!(matches!(error, OrderError::OtherNames));
        let error = host.validate("rubbish", &provider).unwrap_err();
        assert!(matches!(error, OrderError::Useless(_)));
    }

    #[test]
    fn repeated_failure_is_logged_once_and_delayed_longer() {
        let host = host(&tempfile::tempdir().unwrap(), None);
        let minute = Duration::from_mins(1);
        let first = host.fail(&OrderError::NoChallenge, minute);
        assert!(first.is_news && first.wait >= minute);
        let second = host.fail(&OrderError::NoChallenge, minute);
        assert!(!second.is_news && second.wait >= 3 * minute);
        assert!(host.wait(0) > 2 * minute);
        assert!(host.fail(&OrderError::OtherNames, minute).is_news);
        assert_eq!(host.state().failures, 3);
    }

    #[test]
    fn renewal_is_due_when_a_third_of_the_lifetime_is_left() {
        for (not_before, not_after, expected) in
            [(0, 90, 60), (1_000, 1_003, 1_002), (5, 5, 5), (9, 3, 3)]
        {
            let validity = Validity {
                not_before,
                not_after,
            };
            assert_eq!(renewal_time(validity), expected);
        }
    }

    #[test]
    fn failures_increase_the_delay_up_to_six_hours() {
        let minute = Duration::from_mins(1);
        let minutes = [1, 2, 3, 4, 5, 6, 7, 100].map(|failures| back_off(minute, failures));
        let expected = [1, 3, 9, 27, 81, 243, 360, 360].map(Duration::from_mins);
        assert_eq!(minutes, expected);
        assert_eq!(back_off(minute, 0), minute);
    }
}
