//! The registry is downloaded, judged, stored and published.

mod failing;
mod fetching;
mod house;
mod preparing;
mod refreshing;
mod running;
mod scheduling;
