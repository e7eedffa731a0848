//! Metrics of the listeners.

use std::sync::Arc;

use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};

use crate::listen::{CertificateState, ConnectionCounts, Listener, Tls};

use super::exposition::float;

const OPEN: &str = "robot_detection_connections_open";
const ACCEPTED: &str = "robot_detection_connections_total";
const UNSERVED: &str = "robot_detection_connections_unserved_total";
const UNREADABLE: &str = "robot_detection_unreadable_requests_total";
const EXPIRY: &str = "robot_detection_certificate_expiry_timestamp_seconds";
const FAILURES: &str = "robot_detection_certificate_order_failures";

/// The sources of the listeners' metrics.
#[derive(Clone, Debug, Default)]
pub(super) struct ListenerMetrics {
    /// TLS state shared by all listeners.
    tls: Option<Tls>,
    /// Connection counts for each listener address.
    connections: Vec<(String, Arc<ConnectionCounts>)>,
}

impl ListenerMetrics {
    pub(super) fn new(listeners: &[Listener]) -> Self {
        Self {
            tls: listeners.iter().find_map(|found| found.tls().cloned()),
            connections: listeners
                .iter()
                .map(|found| (found.addr().to_string(), found.counts()))
                .collect(),
        }
    }

    /// Records all listener metrics in the current recorder.
    pub(super) fn record(&self) {
        describe();
        for (listener, counts) in &self.connections {
            connections(listener, counts);
        }
        // If several certificates contain a name, the first certificate is used.
        for state in self.tls.iter().flat_map(Tls::states).rev() {
            certificate(&state);
        }
    }
}

fn describe() {
    describe_gauge!(
        EXPIRY,
        Unit::Seconds,
        "Expiry time of the certificate, by name and source (file or acme); 0 if the certificate has not been issued yet"
    );
    describe_gauge!(
        FAILURES,
        Unit::Count,
        "Consecutive failed requests for a certificate, by name"
    );
    for (name, help) in [
        (ACCEPTED, "Accepted connections, by listener"),
        (
            UNSERVED,
            "Connections that ended before a request, by listener and reason",
        ),
        (
            UNREADABLE,
            "Requests rejected by the listener because of invalid HTTP or an exceeded limit, by listener and status",
        ),
    ] {
        describe_counter!(name, Unit::Count, help);
    }
    describe_gauge!(OPEN, Unit::Count, "Open connections, by listener");
}

fn connections(listener: &str, counts: &ConnectionCounts) {
    let listener = || listener.to_owned();
    gauge!(OPEN, "listener" => listener()).set(float(counts.open()));
    counter!(ACCEPTED, "listener" => listener()).absolute(counts.accepted());
    for (reason, number) in counts.unserved() {
        counter!(UNSERVED, "listener" => listener(), "reason" => reason).absolute(number);
    }
    for (status, number) in counts.refused() {
        counter!(UNREADABLE, "listener" => listener(), "status" => status).absolute(number);
    }
}

/// Records the metrics of a certificate; the number of labels is bounded, because names come from
/// the settings and certificate files.
fn certificate(state: &CertificateState) {
    let source = if state.is_ordered { "acme" } else { "file" };
    let expiry = state.validity.map_or(0, |validity| validity.not_after);
    for name in &state.names {
        let labels = [("name", name.clone()), ("source", source.to_owned())];
        gauge!(EXPIRY, &labels).set(float(expiry));
        if state.is_ordered {
            gauge!(FAILURES, "name" => name.clone()).set(f64::from(state.failures));
        }
    }
}
