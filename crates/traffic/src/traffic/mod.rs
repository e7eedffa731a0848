//! Traffic counters and evidence, stored in the database.
//!
//! [`Traffic`] counts every request to every site by visitor, verdict, decision, cause and status.
//! No request waits, because the counters are atomics in a table that is read without a lock.
//! `/metrics` reads the same counters. Every five seconds, a task adds the counts to the sums by
//! minute, hour and day in the database. All instances add to the same sums, which contain no
//! addresses. Sketches of paths are also stored.
//!
//! Requests that were redirected, refused or otherwise handled specially are stored individually:
//! the layer describes the visit, a bounded queue holds the description, and the same task writes
//! the description to the database.

mod cell;
mod cells;
mod counters;
mod evidence_writer;
mod figures;
mod kept;
mod layer;
mod notes;
mod parameters;
mod paths;
mod pending;
mod suspects;
mod writer;

pub use cell::decision_name;
pub use cells::RequestCount;
pub use counters::SiteCounters;
pub use figures::TimesError;
pub use figures::{
    By, Class, Figures, KEPT_FROM_UPSTREAM, KnownRobots, Line, Moment, NONE_KNOWN, TimeRange,
    TimeSteps, TrafficFilter, VISITORS, decision_words, is_spared, reported_range, verdict_words,
};
pub use kept::Traffic;
pub use layer::{TrafficBody, TrafficFuture, TrafficLayer, TrafficService};
pub use notes::EvidenceSettings;
pub use parameters::{Parameter, Parameters, client_network};
pub use paths::{PEOPLE, PathFigure, PathFigures, PathFilter, PathGroup, Ticket, path_csv};
pub use paths::{ShortPath, Window, shared_name};
pub use suspects::{MARKED, SuspectFigures};
