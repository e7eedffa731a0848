//! The Robot Application Functions of the reference (Sun 7.1, chapters 46 to 51).

mod assign;
mod attributes;
mod context;
mod convert;
mod enumerate;
mod extract_meta;
mod extract_source;
mod extract_text;
mod extract_toc;
mod filter_by;
mod filter_by_max;
mod filter_by_md5;
mod filter_rules;
mod generate_by;
mod generate_dates;
mod generate_md5;
mod harvest;
mod registry;
mod setup;
mod soif;
mod table;

pub use context::LogType;
pub(super) use context::{FilterState, FunctionContext, Missing};
pub use registry::Functions;
pub(super) use table::canonical_name;

#[cfg(test)]
mod tests;
