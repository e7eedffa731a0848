//! Robot Application Functions, as described in Sun's reference (7.1, chapters 46 to 51).

mod assigning;
mod context;
mod enumerate;
mod extraction;
mod filtering;
mod registry;
mod soif;

pub use context::LogType;
pub(super) use context::{FilterState, FunctionContext, Missing};
pub use registry::Functions;

#[cfg(test)]
mod tests;
