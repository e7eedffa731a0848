//! The flat file format of the Web Robots Database: parser and writer.

mod fields;
mod record;
mod robot;
mod write;

pub(super) use robot::read;
pub use write::write_flat_file;
