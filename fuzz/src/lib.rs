//! Fuzz targets for all parsers of untrusted bytes, each with its invariants.
//!
//! libFuzzer finds inputs (`cargo +nightly fuzz run robots_txt`), and the workspace's tests run
//! each function on the stored inputs and on many variations of them.

#[path = "../../tests/it/support/pipelined.rs"]
mod pipelined;

pub mod access_log;
pub mod address_ranges;
pub mod document;
pub mod filter_conf;
pub mod meta;
pub mod pipelines;
pub mod plain_requests;
pub mod proxy_protocol;
pub mod registry;
pub mod request_headers;
pub mod robots_txt;
pub mod signatures;
pub mod sketches;
pub mod soif;
pub mod suspects;
pub mod upstream_response;
