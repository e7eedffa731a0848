//! Helpers shared by several tests.

pub(crate) mod browser;
pub(crate) mod eventually;
pub(crate) mod files;
pub(crate) mod front;
pub(crate) mod http;
pub(crate) mod log;
pub(crate) mod mmdb;
pub(crate) mod pipelined;
pub(crate) mod postgres;
pub(crate) mod program;
pub(crate) mod raw;
pub(crate) mod upstream;
