//! A server whose database is away, gone or damaged serves on, says so, and takes it over again.

mod damaged;
mod gone;
mod postgres;
mod site;
