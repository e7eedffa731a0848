//! Starts what watches for alerts.

use super::RobotDetection;
use crate::alerts::{Alert, CertificateEnd, Watcher};
use crate::listen::{CertificateState, Tls};

/// Starts the watcher of alerts, which ends with the jobs of the handle.
///
/// A reload exchanges the alerts; the certificates are those of the listeners.
pub(super) fn watch_alerts(robots: &RobotDetection, alerts: Vec<Alert>, tls: Option<Tls>) {
    let certificates = move || {
        let states = tls.as_ref().map(Tls::states).unwrap_or_default();
        states.iter().filter_map(certificate_end).collect()
    };
    robots.alerts().replace(alerts);
    let watcher = Watcher::new(
        robots.store().clone(),
        robots.clock().clone(),
        robots.alerts().clone(),
        robots.refresher().clone(),
        certificates,
    );
    robots.tasks().spawn(watcher.run(robots.stop()));
}

/// Returns the end of a certificate; one that has not been issued has none.
fn certificate_end(state: &CertificateState) -> Option<CertificateEnd> {
    let names = match &*state.names.join(", ") {
        "" => state.file.display().to_string(),
        names => names.to_owned(),
    };
    Some(CertificateEnd {
        names,
        not_after: i64::try_from(state.validity?.not_after).unwrap_or(i64::MAX),
    })
}
