//! What is counted of visitors, and kept in the database.
//!
//! [`Traffic`] counts every request of every site: who asked, what was proven, what was done and
//! why, and how it was answered. No request waits for it: the numbers are atomics in a table that
//! is read without a lock, `/metrics` reads the same ones, and one task carries over what has
//! been added to them, five seconds at a time, into sums by minute, hour and day. Instances of a
//! fleet add to the same sums. No address is among them. Sketches of paths are beside them.
//!
//! Of what was not simply passed more is kept, request by request: the layer describes the visit,
//! a bounded queue takes it, and the same task carries it over. While somebody looks at *Live*
//! the visits of all robots are described.

mod cell;
mod cells;
mod counters;
mod evidence_writer;
mod figures;
mod kept;
mod layer;
mod live;
mod notes;
mod paths;
mod pending;
mod suspects;
mod writer;

pub use cell::decision_word;
pub use cells::Counted;
pub use counters::SiteCounters;
pub use figures::TimesError;
pub use figures::{
    By, Course, Figures, KnownRobots, Line, Moment, NONE_KNOWN, SPARED, Times, TrafficFilter,
    VISITORS, decision_words, is_spared, told, verdict_words,
};
pub use kept::Traffic;
pub use kept::Viewing;
pub use layer::{TrafficBody, TrafficFuture, TrafficLayer, TrafficService};
pub use live::LiveRow;
pub use notes::EvidenceSettings;
pub use paths::{PEOPLE, PathFigure, PathFigures, PathFilter, PathGroup, Ticket, path_csv};
pub use paths::{PathNote, Window, shared_name};
pub use suspects::SuspectFigures;
