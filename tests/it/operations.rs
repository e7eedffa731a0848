//! Access log, metrics and `doctor` with a real server process.

mod access_log;
mod doctor;
mod faces;
mod grafana;
mod metrics;
mod open_files;
mod output;
mod own_requests;
mod site;
