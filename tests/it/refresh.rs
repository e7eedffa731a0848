//! The registry is downloaded, checked, stored and published.

mod failing;
mod fetching;
mod holding;
mod house;
mod leases;
mod preparing;
mod refreshing;
mod running;
mod scheduling;
