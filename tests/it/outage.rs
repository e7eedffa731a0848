//! A server with an unavailable, missing or damaged database serves on, reports it, and recovers.

mod damaged;
mod gone;
mod postgres;
mod site;
